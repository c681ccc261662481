"""Mesh files that refer to other files, which are rejected because a model may read files of declared folders only, and those whose
data are much larger than the file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pliant.language.limits import limits
from pliant.mesh.formats.wireframe import MeshProblem

GROWTH = 4
"""Maximum size of unpacked data, relative to the maximum size of a file."""

_DECLARATION = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
"""XML constructs that could change the meaning of the text, or make it grow without limit."""
_OTHER_FORMAT = re.compile(rb"\bFormat\s*=\s*(?!\"XML\"|'XML')", re.IGNORECASE)
"""Data of an XDMF file that are stored in other files."""
_INCLUDE = re.compile(rb"^\s*\*[\s*]*include\b", re.IGNORECASE | re.MULTILINE)


def refuse_other_files(path: Path, what: str) -> None:
    """Raise MeshProblem if reading a file would open others, or if it declares entities; `what`: its name in messages."""
    suffix = path.suffix.lower()
    if suffix == ".med":
        _refuse_links(path, what)
        return
    data = path.read_bytes() if suffix in (".xdmf", ".vtu", ".inp") else b""
    if suffix in (".xdmf", ".vtu") and (_DECLARATION.search(data) or b"\0" in data[:200]):
        raise MeshProblem(f"{what} declares XML entities, or is not UTF-8", "export it again, as plain XML in UTF-8")
    if suffix == ".xdmf" and _OTHER_FORMAT.search(data):
        raise MeshProblem(f"{what} has its data in another file", "export it with the data in it (Format XML)")
    if suffix == ".inp" and _INCLUDE.search(data):
        raise MeshProblem(f"{what} includes another file", "put its content in place of *INCLUDE")


def _refuse_links(path: Path, what: str) -> None:
    """The same for an HDF5 file: links to other files, data that are stored in them, and data that exist in its header only."""
    import h5py

    seen: set[int] = set()
    left = GROWTH * limits().drawing

    def look(group: Any) -> None:
        nonlocal left
        place = h5py.h5o.get_info(group.id).addr
        if place in seen:  # groups may contain each other
            return
        seen.add(place)
        for name in group:
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise MeshProblem(f"{what} has its data in another file", "export it with the data in it")
            if isinstance(link, h5py.SoftLink):
                continue  # to another object of this file, which is examined separately
            entry = group[name]
            if isinstance(entry, h5py.Group):
                look(entry)
            elif isinstance(entry, h5py.Dataset):
                if entry.external or entry.is_virtual:
                    raise MeshProblem(f"{what} has its data in another file", "export it with the data in it")
                left -= entry.nbytes
                if left < 0:
                    raise MeshProblem(f"{what} is too large when unpacked", "use a coarser mesh")

    try:
        with h5py.File(path, "r") as file:
            look(file)
    except MeshProblem:
        raise
    except Exception:  # any exception of HDF5 on a damaged file, in its own words
        raise MeshProblem(f"{what} is broken, or does not have the format of its suffix", "export it again") from None
