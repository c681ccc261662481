"""The C code of kernels, and notes by which compiled code is found without generating its source.

Differentiating formulas takes far longer than loading their compiled code. Therefore a note is stored with the libraries for each
type, under the fingerprint of its formulas: the hash of their C code. If a note is lost or damaged, the code is generated again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from pliant.engine.c_code import HEADER, LANES, SCALAR_FUNCTIONS, kernel_code, lanes_header
from pliant.engine.compiling import KERNEL_FLAGS, LARGE_KERNEL, LARGE_KERNEL_FLAGS, Source, library_name, put_text
from pliant.engine.kernel import Kernels


def kernel_library_source(kernels: Kernels, level: str) -> Source:
    """The source of the library of one type's kernels, for a level of the instruction set."""
    files = {}
    if kernels.single:
        files["kernels.c"] = "\n".join([SCALAR_FUNCTIONS, *map(kernel_code, kernels.single)])
    if kernels.on_lanes:
        on_lanes = (kernel_code(function, LANES) for function in kernels.on_lanes)
        files["lanes.c"] = "\n".join([f'#include "{HEADER}"\n', *on_lanes])
    instructions = sum(function.n_instructions() for function in kernels.functions)
    flags = KERNEL_FLAGS if instructions < LARGE_KERNEL else LARGE_KERNEL_FLAGS
    headers = {HEADER: lanes_header()} if kernels.lanes else {}
    return Source(kernels.name, {**headers, **files}, list(files), flags, level)


@dataclass(frozen=True)
class KernelNote:
    """Data required to load and evaluate the compiled kernels of a type.

    title: of the library. code: hash of its C code. flags: of the compilation. size: of the C code [bytes]. work, integer_work:
    sizes of the real and integer work arrays of CasADi's virtual machine.
    """

    title: str
    code: str
    flags: tuple[str, ...]
    size: int
    work: int
    integer_work: int

    def file_name(self, level: str, flags: Sequence[str] = ()) -> str:
        """The library's file for a level of the instruction set, or that of one compiled with other flags."""
        return library_name(self.title, self.code, flags or self.flags, level)


def made_note(kernels: Kernels, source: Source) -> KernelNote:
    """The note of generated kernels, with the source of their library."""
    size = sum(len(text.encode()) for text in source.files.values())
    work = max(function.sz_w() for function in kernels.functions)
    integer_work = max(function.sz_iw() for function in kernels.functions)
    return KernelNote(source.name, source.code(), tuple(source.flags), size, work, integer_work)


@cache
def note_name(kernels: Kernels) -> str | None:
    """The file of the note about kernels; None if formulas have no fingerprint."""
    key = fingerprint((kernels.name, kernels.purposes, kernels.lanes, kernels.make))
    return None if key is None else f"{kernels.name}-{key}.note"


def read_note(kernels: Kernels, folders: Iterable[Path]) -> KernelNote | None:
    """The note about kernels in one of the folders."""
    name = note_name(kernels)
    for folder in folders if name is not None else ():
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            checksum, _, text = (folder / str(name)).read_text(encoding="utf-8").partition("\n")
            if checksum == _checksum(text):
                found = json.loads(text)
                return KernelNote(**{**found, "flags": tuple(found["flags"])})
    return None


def write_note(kernels: Kernels, note: KernelNote, folder: Path) -> None:
    """Store a note in an existing folder. If it cannot be written, it is generated again next time."""
    name = note_name(kernels)
    if name is None or not folder.is_dir():
        return
    text = json.dumps(asdict(note))
    with contextlib.suppress(OSError):
        put_text(folder / name, f"{_checksum(text)}\n{text}")


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# -- fingerprints of formulas --------------------------------------------------------------------------------------------

PACKAGE = Path(__file__).parents[1]
WITHOUT_FORMULAS = ("analysis", "cli", "control", "identify", "io", "models", "robot", "show")
"""Folders above the equations: kernels must not depend on them."""

KNOWN_PACKAGES = ("builtins", "casadi", "math", "numpy")
"""Packages whose functions are identified by their names, given the packages' versions."""


class _Unknown(Exception):
    """Something that has no fingerprint."""


def fingerprint(formula: Any) -> str | None:
    """The hash of a formula: functions, options and numbers in any nesting. None if it cannot be identified with certainty."""
    sources = formula_sources()
    if sources is None:
        return None
    key = hashlib.sha256(sources.encode())
    try:
        for word in _words(formula, ()):
            key.update(f"{len(word)}:{word}".encode())
    except _Unknown:
        return None
    return key.hexdigest()[:32]


@cache
def formula_sources() -> str | None:
    """Hash of the sources of formulas and their code, and of relevant versions; None without sources."""
    files = sorted(_source_files())
    if not files:
        return None
    key = hashlib.sha256(repr((sys.version_info[:2], ca.CasadiMeta.version(), np.__version__)).encode())
    for name in files:
        text = (PACKAGE / name).read_bytes()
        key.update(f"{name}:{len(text)}:".encode())
        key.update(text)
    return key.hexdigest()


def _source_files() -> Iterator[str]:
    """Sources of formulas, and headers that their code includes, by their paths in the package."""
    for folder, folders, names in os.walk(PACKAGE):
        inside = os.path.relpath(folder, PACKAGE)
        if inside == ".":
            folders[:] = [name for name in folders if name not in WITHOUT_FORMULAS]
        yield from (f"{inside}/{name}" for name in names if name.endswith((".py", ".h")))


def _words(x: Any, within: tuple[int, ...]) -> Iterator[str]:
    """Words that distinguish `x` from everything else. `within`: the objects that contain it."""
    if id(x) in within:
        yield f"<{len(within) - within.index(id(x))} up>"
        return
    if x is None or isinstance(x, (bool, int, str, bytes, complex)) or type(x) is float:
        yield f"{type(x).__name__} {x!r}"
        return
    yield type(x).__qualname__
    within = (*within, id(x))
    for part in _parts(x):
        yield from _words(part, within)
    yield "end"


def _parts(x: Any) -> Iterator[Any]:
    """The components of an object."""
    if isinstance(x, (tuple, list)):
        yield from x
    elif isinstance(x, Mapping):
        yield from x.items()
    elif isinstance(x, (np.ndarray, np.generic)) and x.dtype != object:
        yield from (str(x.dtype), x.shape, x.tobytes())
    elif isinstance(x, ca.DM):
        yield from (x.shape, x.sparsity().row(), x.sparsity().colind(), np.array(x.nonzeros()))
    elif isinstance(x, functools.partial):
        yield from (x.func, x.args, x.keywords)
    elif isinstance(x, types.MethodType):
        yield from (x.__func__, x.__self__)
    elif isinstance(x, (functools._lru_cache_wrapper, types.FunctionType, types.BuiltinFunctionType, type)):
        yield from _of_callable(x)
    elif is_dataclass(x) and _is_ours(type(x)):
        yield type(x)
        yield from (getattr(x, field.name) for field in fields(x))
    elif type(x).__bases__ == (object,) and _is_ours(type(x)) and hasattr(x, "__dict__"):
        yield from (type(x), vars(x))
    else:
        raise _Unknown


def _of_callable(x: Any) -> Iterator[Any]:
    """The components of a function or class, beyond the sources of its module."""
    if isinstance(x, functools._lru_cache_wrapper):
        yield x.__wrapped__
    elif isinstance(x, types.FunctionType) and _is_ours(x):
        yield from (x.__module__, x.__qualname__, x.__defaults__, x.__kwdefaults__)
        yield from _of_code(x.__code__)
        try:
            yield from (cell.cell_contents for cell in x.__closure__ or ())
        except ValueError:  # not filled yet
            raise _Unknown from None
    elif _is_ours(x) or (x.__module__ or "").split(".")[0] in KNOWN_PACKAGES:
        yield from (x.__module__, x.__qualname__)
    else:
        raise _Unknown


def _of_code(code: types.CodeType) -> Iterator[Any]:
    """Distinguishes functions of the same name, such as two lambdas on a line."""
    yield from (code.co_firstlineno, code.co_code, code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _of_code(constant)
        elif isinstance(constant, frozenset):
            yield sorted(map(repr, constant))
        elif constant is not ...:
            yield constant


def _is_ours(x: Any) -> bool:
    """Whether a function or class belongs to this package, and to the sources that are part of every fingerprint."""
    package, _, rest = (x.__module__ or "").partition(".")
    return package == "pliant" and rest.split(".")[0] not in WITHOUT_FORMULAS
