"""Recognition of files that are not models, with the command that reads them.

Robots in other formats are read in a layer above this one. `pliant/__init__.py` registers its functions by name, and they
are imported when such a file is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path as FilePath
from typing import Any

NOT_IMPORTED = "pliant does not import it: URDF and MJCF are read; pliant new --list shows model files to begin with"

_readers: dict[str, str] = {}


def read_by(functions: Mapping[str, str]) -> None:
    """Register functions that read XML files as models: `module:function` by the tag of the root element."""
    _readers.update(functions)


_BEFORE_ROOT = rb"\s++|<\?.*?\?>|<!--.*?-->|<![A-Za-z][^<\[>]*+(?:\[.*?\])?\s*+>"
_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?(?>" + _BEFORE_ROOT + rb")*+<(\w+)", re.DOTALL)
"""The first element of an XML file, after declarations and comments; possessive, so that matching does not backtrack."""


def reader_of(data: bytes) -> Callable[..., Any] | None:
    """The function that reads a file with this content as a model; None if there is none."""
    start = _ROOT.match(data)
    name = start and _readers.get(start[1].decode())
    if not name:
        return None
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


BY_START = (
    (b"\x89HDF", "a netCDF or HDF5 file", "a saved result is shown by pliant view FILE and pliant film FILE"),
    (b"CDF", "a netCDF file", "a saved result is shown by pliant view FILE and pliant film FILE"),
    (b"\x89PNG", "a picture", "give the model that it was drawn from"),
    (b"GIF8", "a film", "give the model that it was made from"),
    (b"PK\x03\x04", "an archive", "unpack it, and give the model in it"),
    (b"#usda", "a USD scene", NOT_IMPORTED),
    (b"PXR-USDC", "a USD scene", NOT_IMPORTED),
    (b"glTF", "a glTF scene", "give the model that it was exported from"),
    (b"solid ", "an STL mesh", ""),
    (b"ply", "a PLY mesh", ""),
)
"""First bytes of a file, its format, and a hint; an empty hint stands for MESH."""

BY_SUFFIX = {
    ".py": ("Python code", "run it with python; pliant.load(...) in it reads model files"),
    ".csv": (
        "a table",
        "pass recordings to pliant fit or pliant compare with --against FILE, and to inputs as {series: {file: ...}}",
    ),
    ".nc": ("a netCDF file", "a saved result is shown by pliant view FILE and pliant film FILE"),
    **dict.fromkeys(
        (
            ".stl",
            ".obj",
            ".ply",
            ".dae",
            ".gltf",
            ".glb",
            ".iges",
            ".igs",
            ".dxf",
            ".msh",
            ".vtk",
            ".vtu",
            ".inp",
            ".mesh",
            ".xdmf",
            ".med",
        ),
        ("a mesh or drawing", ""),
    ),
    ".mat": ("a MATLAB file", "give a model file"),
    ".m": ("MATLAB code", "give a model file"),
    ".html": ("a web page", "give the model that it is a report of"),
}
"""Format and hint by ending; an empty hint stands for MESH."""

MESH = "pliant mesh FILE summarizes it; a model uses it in meshes (`drawing`) or surfaces (`type: mesh`)"


def foreign(path: FilePath, data: bytes) -> tuple[str, str] | None:
    """The format of a file that is not a model, and a hint; None if it may be a model."""
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return _markup(start)
    for first, what, hint in BY_START:
        if data.startswith(first):
            return what, (hint or MESH).replace("FILE", str(path))
    if path.suffix.lower() in BY_SUFFIX:
        what, hint = BY_SUFFIX[path.suffix.lower()]
        return what, (hint or MESH).replace("FILE", str(path))
    return _json(data) if start.startswith(b"{") else None


def _markup(start: bytes) -> tuple[str, str]:
    lower = start.lower()
    if b"<sdf" in lower:
        return "an SDF model", NOT_IMPORTED
    if b"<html" in lower or b"<!doctype html" in lower:
        return BY_SUFFIX[".html"]
    return "XML", NOT_IMPORTED


def _json(data: bytes) -> tuple[str, str] | None:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or "pliant" in content:
        return None
    if "status" in content and "model" in content:
        return "the JSON output of a command", f"its model is {content['model']}"
    return "JSON that is not a model", 'a model begins with `pliant: 1`, in JSON with {"pliant": 1, ...}'
