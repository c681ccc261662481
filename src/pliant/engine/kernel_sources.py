"""The C code of kernels, and notes by which compiled code is found without generating its source.

Differentiating formulas takes far longer than loading their compiled code. Therefore a note is stored with the libraries for each
type, under the fingerprint of its formulas: the hash of their C code. If a note is lost or damaged, the code is generated again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import pickle
import sys
import types
from collections.abc import Iterable, Sequence
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
FORMULAS = ("engine", "language", "parts")
"""Folders of formulas and of their code: kernels must not depend on others."""

KNOWN_PACKAGES = ("builtins", "casadi", "functools", "math", "numpy")
"""Packages whose functions are identified by their names, given the packages' versions."""


def fingerprint(formula: Any) -> str | None:
    """The hash of a formula: functions, options and numbers in any nesting. None if it cannot be identified with certainty."""
    if (sources := formula_sources()) is None:
        return None
    words = io.BytesIO()
    try:
        _Identity(words).dump(formula)
    except (pickle.PicklingError, TypeError, ValueError, AttributeError, RecursionError):
        return None
    return hashlib.sha256(sources.encode() + words.getvalue()).hexdigest()[:32]


@cache
def formula_sources() -> str | None:
    """Hash of the sources of formulas and their code, and of relevant versions; None without sources."""
    walks = (os.walk(PACKAGE / folder) for folder in FORMULAS)
    files = sorted(os.path.join(folder, name) for walk in walks for folder, _, names in walk for name in names)
    files = [name for name in files if name.endswith((".py", ".h"))]
    if not files:
        return None
    key = hashlib.sha256(repr((sys.version_info[:2], ca.CasadiMeta.version(), np.__version__)).encode())
    for name in files:
        text = Path(name).read_bytes()
        key.update(f"{os.path.relpath(name, PACKAGE)}:{len(text)}:".encode())
        key.update(text)
    return key.hexdigest()


class _Identity(pickle.Pickler):
    """Writes what distinguishes an object from all others, given the sources: of functions also their code and closures."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.fast = True  # equal objects are written alike, whether they are one or two

    def reducer_override(self, x: Any) -> Any:
        """The parts of functions and of objects of this package; raises PicklingError for what is not known to be the same next
        time."""
        if isinstance(x, functools._lru_cache_wrapper):
            return tuple, ((x.__wrapped__,),)
        named = isinstance(x, (types.FunctionType, types.BuiltinFunctionType, type))
        if isinstance(x, (ca.SX, ca.MX, ca.Function)) or not _is_known(x if named else type(x)):
            raise pickle.PicklingError("cannot be identified")
        if isinstance(x, types.FunctionType) and _is_ours(x):
            closure = tuple(cell.cell_contents for cell in x.__closure__ or ())
            name = x.__module__, x.__qualname__, x.__defaults__, x.__kwdefaults__
            return tuple, ((*name, *_of_code(x.__code__), closure),)
        if is_dataclass(x) and not isinstance(x, type):
            return tuple, ((type(x), *(getattr(x, field.name) for field in fields(x))),)
        return NotImplemented


def _of_code(code: types.CodeType) -> tuple[Any, ...]:
    """Distinguishes functions of the same name, such as two lambdas on a line."""
    constants = (
        _of_code(x) if isinstance(x, types.CodeType) else sorted(map(repr, x)) if isinstance(x, frozenset) else x
        for x in code.co_consts
        if x is not ...
    )
    return code.co_firstlineno, code.co_code, code.co_names, *constants


def _is_ours(x: Any) -> bool:
    """Whether a function or class belongs to this package, and to the sources that are part of every fingerprint."""
    package, _, rest = (x.__module__ or "").partition(".")
    return package == "pliant" and rest.partition(".")[0] in FORMULAS


def _is_known(x: Any) -> bool:
    """Whether a function or class is ours, or is identified by its name."""
    return _is_ours(x) or (x.__module__ or "").partition(".")[0] in KNOWN_PACKAGES
