"""The C code of kernels, and notes by which compiled code is found without generating its source.

Differentiating formulas takes far longer than loading their compiled code. Therefore a note is stored with the libraries for each
type, under the fingerprint of its formulas: the hash of their C code. If a note is lost or damaged, the code is generated again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from pliant.engine.c_code import HEADER, LANES, SCALAR_FUNCTIONS, kernel_code, lanes_header
from pliant.engine.compiling import KERNEL_FLAGS, LARGE_KERNEL, LARGE_KERNEL_FLAGS, Source, library_name, put_text
from pliant.engine.fingerprint import fingerprint
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
