"""Code of the runtime and of kernels, loaded: from the cache, from the package, from the compiler or from CasADi.

The runtime ships compiled, for several levels of the instruction set. A kernel's code comes from the user's cache, else prebuilt
from the package, else from the compiler; until it is available, CasADi's virtual machine evaluates the kernel inside the same
runtime, with the same results bit for bit. The compiler runs in the background, so that no call has to wait for it, and `refresh`
activates its code. The environment variable PLIANT_COMPILE selects: `background` (this behaviour), `wait` (compile before the
first evaluation), `quick` (likewise, without optimization: for many small robots, as in tests) or `never`.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from pliant.engine import compiling, ctypes_calls
from pliant.engine.c_code import HEADER, LANES, SCALAR_FUNCTIONS, kernel_code, lanes_header
from pliant.engine.compiling import (
    BINARY_FOLDER,
    KERNEL_FLAGS,
    LARGE_KERNEL,
    LARGE_KERNEL_FLAGS,
    PRIVATE,
    QUICK_FLAGS,
    CompileError,
    NoCompiler,
    Source,
    cache_folder,
    extension_headers,
    extension_source,
    find_compiler,
    is_sound,
    levels,
    library_name,
    note_refusal,
    processor_source,
    put_text,
    refusal,
    runtime_source,
    trusted_cache,
    writable_cache,
)
from pliant.engine.kernel import Kernels
from pliant.engine.layout import STRUCTURES, KernelStruct, header


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


MODES = ("background", "wait", "quick", "never")
PREBUILT_KERNELS = BINARY_FOLDER / "kernels"
LOOK_AGAIN = 0.25
"""Seconds between checks for compiled code."""

RESERVED = 8192
"""Capacity of CasADi's list of loaded functions, up to which it is not moved; see `_VirtualMachine`."""


def compile_mode() -> str:
    """The value of the environment variable PLIANT_COMPILE: one of `MODES`."""
    mode = os.environ.get("PLIANT_COMPILE") or MODES[0]
    if mode not in MODES:
        possible = f"{', '.join(MODES[:-1])} or {MODES[-1]}"
        raise ValueError(f"the environment variable PLIANT_COMPILE is '{mode}'; it can be {possible}")
    return mode


# -- libraries compiled in the foreground --------------------------------------------------------------------------------


def build_library(name: str, sources: Mapping[str, str], main: Sequence[str], flags: Sequence[str]) -> Path:
    """Path of a shared library compiled from the `main` files among `sources`, unless it is in the cache."""
    return _build(Source(name, dict(sources), list(main), list(flags), levels()[0]))


def build_fast_library(name: str, sources: Mapping[str, str], main: Sequence[str], flags: Sequence[str]) -> Path:
    """The same for this processor's level of the instruction set, with fused operations."""
    return _build(Source(name, dict(sources), list(main), list(flags), processor_level(), fused=True))


def _build(source: Source) -> Path:
    file_name = source.file_name()
    for folder in trusted_cache():  # also a read-only one
        if is_sound(folder / file_name, private=True):
            return folder / file_name
    compiler = find_compiler()
    if compiler is None:
        raise NoCompiler("no C compiler found (tried $CC, cc, gcc, clang and the package ziglang)")
    folder = writable_cache(cache_folder())
    try:
        compiling.build(compiler, source, folder / file_name)
    except OSError as reason:
        raise CompileError(
            f"cannot compile {source.name} in {folder}: {reason.strerror or reason}. Free some space, or set PLIANT_CACHE to "
            "another folder."
        ) from None
    return folder / file_name


# -- the runtime ------------------------------------------------------------------------------------------------------------


@cache
def processor_level() -> str:
    """The highest level of the instruction set that this processor supports; "" if there is only one."""
    if len(levels()) == 1:
        return levels()[0]
    try:
        source = processor_source()
        shipped = BINARY_FOLDER / source.file_name()
        return compiling.ask_level(shipped if is_sound(shipped) else _build(source))
    except (OSError, NoCompiler, CompileError):
        return levels()[0]


@cache
def runtime_library() -> ctypes.CDLL:
    """The compiled runtime: the best of the package's variants, else compiled from the sources into the cache.

    Raises NoCompiler when the package has none for its sources and there is no compiler.
    """
    possible = levels()[: levels().index(processor_level()) + 1]
    for level in reversed(possible):
        shipped = BINARY_FOLDER / runtime_source(header(), level).file_name()
        if is_sound(shipped) and (library := _load(shipped)):
            return library
    try:
        return ctypes.CDLL(str(_build(runtime_source(header(), possible[-1]))))
    except NoCompiler:
        raise NoCompiler(
            f"this installation has no compiled runtime in {BINARY_FOLDER} and there is no C compiler to make it. Install "
            "Pliant with pip, or install a compiler: pip install 'pliant[compiler]'"
        ) from None


def _load(library: Path) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(str(library))
    except OSError:
        return None  # for another system, or with missing libraries


# -- calls of the runtime -----------------------------------------------------------------------------------------------------


@cache
def extension_module() -> Any:
    """The module that calls evaluations: compiled (`extension.c`), or `ctypes_calls` if it is neither available nor can be
    compiled."""
    headers = extension_headers()
    numpy = "numpy1" if "numpy1" in headers else "numpy2"
    shipped = BINARY_FOLDER / extension_source(header(), "numpy2", {}).file_name()
    if is_sound(shipped) and (module := _import(shipped)):
        return module
    if len(headers) < 2:
        return ctypes_calls
    source = extension_source(header(), numpy, headers)
    if path := _built_extension(source):
        return _import(path) or ctypes_calls
    return ctypes_calls


def _built_extension(source: Source) -> Path | None:
    """The extension module in the cache; None if it cannot be compiled."""
    paths = [folder / source.file_name() for folder in trusted_cache()]
    there = any(is_sound(path, private=True) for path in paths)
    if not there and (compile_mode() == "never" or any(map(refusal, paths))):
        return None
    try:
        return _build(source)
    except CompileError as refused:
        for path in paths:
            note_refusal(path, refused)
    except (NoCompiler, OSError):
        pass
    return None


def _import(path: Path) -> Any:
    loader = importlib.machinery.ExtensionFileLoader("_pliant_calls", str(path))
    try:
        spec = importlib.util.spec_from_file_location("_pliant_calls", path, loader=loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except (ImportError, RuntimeError):
        return None  # for another system, or another NumPy
    return module


# -- functions of the runtime ------------------------------------------------------------------------------------------

_P, _D, _I, _L = ctypes.c_void_p, ctypes.c_double, ctypes.c_int, ctypes.c_long

FUNCTIONS: dict[str, tuple[object, list[object]]] = {
    "pl_layout_size": (ctypes.c_size_t, [_I]),
    "pl_work_new": (_P, [_P]),
    "pl_work_free": (None, [_P]),
    "pl_bind": (None, [_P, _P]),
    "pl_evaluations": (_L, [_P]),
    "pl_work_bytes": (ctypes.c_size_t, [_P]),
    "pl_batch": (_I, [_P, _I, *[_P] * 12]),
    "pl_batch_carried": (_I, [_P, _I, *[_P] * 7, _I, _P, _P]),
    "pl_batch_contact_sums": (_I, [_P, _I, *[_P] * 5, _I, *[_P] * 4]),
    "pl_rows": (_I, [_P, _I, _I, _P, _P, _I, _P, _P, _P]),
    "pl_fastest_rates": (_I, [_P, _I, _P, _D, _P, _P, _P]),
    "pl_run_whole": (_I, [_P, _P, _P, _L, _P, _I, _P, _P, _P]),
    "pl_run_new": (_P, [_P, _I]),
    "pl_run_free": (None, [_P]),
    "pl_run_start": (_I, [_P]),
    "pl_run_advance": (_I, [_P, _L]),
    "pl_run_go_to": (_I, [_P, _D, _P, _P]),
    "pl_contacts_at": (_I, [_P, _D, _P, _P, _I, _P]),
    "pl_contact_gap": (_D, [_P, _P, _I, _P]),
    "pl_contact_entries": (_I, [_P, _I, _P, _P, _P, _P]),
    "pl_run_contacts": (None, [_P, _P, _P]),
    "pl_run_contacts_now": (_I, [_P, _I, _P]),
    "pl_run_record": (_I, [_P, ctypes.c_size_t]),
    "pl_run_recorded": (_L, [_P, _P]),
    "pl_run_adjoint": (_I, [_P, _L, _L, _P, _I, *[_P] * 12]),
    "pl_run_follow": (_I, [_P, _I, *[_P] * 7]),
}
"""Return type and argument types by name."""


@cache
def runtime() -> ctypes.CDLL:
    """The runtime's library, with the types of its functions declared."""
    library = runtime_library()
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    for index, structure in enumerate(STRUCTURES):
        size = library.pl_layout_size(index)
        if size != ctypes.sizeof(structure):
            raise RuntimeError(
                f"the runtime library {library._name} does not fit this version of Pliant: {structure.__name__} has {size} "
                f"bytes there and {ctypes.sizeof(structure)} here. Install Pliant again."
            )
    return library


def address(name: str) -> int:
    """The address of one of the runtime's functions."""
    return function_address(getattr(runtime(), name))


# -- kernels ----------------------------------------------------------------------------------------------------------------


class _VirtualMachine:
    """CasADi's interpreter through its C interface; functions are identified by number, each loaded once.

    Evaluations may run in several threads: an SX function has no state, and all its numbers are in the caller's work array.
    Functions may be loaded at the same time, because memory for CasADi's list of functions is reserved at first, so that it never
    moves.
    """

    def __init__(self) -> None:
        self._library = self._find()
        self._lock = threading.Lock()
        runtime = runtime_library()
        runtime.pl_use_virtual_machine.argtypes = [ctypes.c_void_p]
        runtime.pl_use_virtual_machine(function_address(self._library.casadi_c_eval_id))
        self.address = function_address(runtime.pl_virtual_machine)
        x = ca.SX.sym("x")
        self.load([ca.Function("room", [x], [x])] * RESERVED)
        self._library.casadi_c_pop()

    @staticmethod
    def _find() -> ctypes.CDLL:
        """The library loaded by the casadi package."""
        extension = Path(str(sys.modules["casadi._casadi"].__file__))
        others = (
            p for end in ("so", "so.*", "*.dylib", "dll") for p in sorted(extension.parent.glob(f"*casadi.{end}"))
        )
        for path in (extension, *others):
            library = _load(path)
            if library is not None and hasattr(library, "casadi_c_eval_id"):
                return library
        raise RuntimeError(f"the library of casadi in {extension.parent} lacks its C interface; reinstall casadi")

    def load(self, functions: Sequence[ca.Function]) -> list[int]:
        """Numbers by which the functions can be evaluated from now on."""
        serializer = ca.StringSerializer()
        serializer.pack(list(functions))
        with _temporary_file(serializer.encode().encode("latin-1")) as path, self._lock:
            first = int(self._library.casadi_c_n_loaded())
            if self._library.casadi_c_push_file(os.fsencode(path)):
                raise RuntimeError(f"casadi cannot load {functions[0].name()} into its virtual machine")
            return list(range(first, first + len(functions)))


@contextlib.contextmanager
def _temporary_file(content: bytes) -> Iterator[str]:
    """The path of a file with this content, which is removed afterwards; raises CompileError if it cannot be written."""
    path = ""
    try:
        handle, path = tempfile.mkstemp(prefix="pliant-", suffix=".casadi")
        with open(handle, "wb") as file:
            file.write(content)
        yield path
    except OSError as reason:
        place = os.path.dirname(path) or "any of the usual folders"
        raise CompileError(
            f"cannot write a temporary file in {place}: {reason.strerror}. Free some space, or set TMPDIR to another folder."
        ) from None
    finally:
        if path:
            os.unlink(path)


_virtual_machine = cache(_VirtualMachine)


def virtual_kernel(function: ca.Function) -> KernelStruct:
    """A CasADi function (SX) as a kernel evaluated by its virtual machine, in any number of threads."""
    runtime_library()
    with _registry_lock:
        machine = _virtual_machine()
        return KernelStruct(machine.address, machine.load([function])[0], None)


def function_address(function: Any) -> int:
    """The address of a library's function."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


class _Library:
    """Code of one type's kernels in this process, shared by all robots that use them.

    `source`: the source of its compilation; not needed if the code was found by its note.
    """

    def __init__(self, kernels: Kernels, note: KernelNote, file_name: str, source: Source | None) -> None:
        self.kernels, self.note, self.file_name, self.source = kernels, note, file_name, source
        self.native: dict[str, int] | None = None
        """Addresses of compiled functions by name."""
        self._numbers: dict[str, int] | None = None
        self._is_noted = False

    def look(self, folders: Iterable[Path]) -> bool:
        """Load compiled code if one of the folders has it."""
        for folder in folders:
            path = folder / self.file_name
            is_shipped = folder == PREBUILT_KERNELS
            if (
                path.with_suffix(".sum").exists()
                and is_sound(path, private=not is_shipped)
                and (library := _load(path))
            ):
                names = self.kernels.function_names
                self.native = {name: function_address(getattr(library, name)) for name in names}
                return True
        return False

    def keep_note(self) -> None:
        """Store the note of generated kernels, so that their code is found without generating it again."""
        if self.source is not None and not self._is_noted:
            for folder in trusted_cache():
                write_note(self.kernels, self.note, folder)
            self._is_noted = True

    def entry(self, name: str) -> tuple[int | None, int, int | None]:
        """Address of the code, the number to pass to it, and the address of code for several instances at once."""
        if self.native is not None:
            return (None, 0, self.native[name]) if self.kernels.is_on_lanes(name) else (self.native[name], 0, None)
        if self._numbers is None:
            numbers = _virtual_machine().load(self.kernels.functions)
            self._numbers = dict(zip(self.kernels.function_names, numbers, strict=True))
        return _virtual_machine().address, self._numbers[name], None


class KernelCode:
    """Code of a robot's kernels: compiled if available, else evaluated by CasADi's virtual machine until it is.

    `compile_seconds`: time spent waiting for the compiler. `source_size`: of its C code [bytes]. `work_sizes`: counts of the
    runtime's tables that evaluations need. Safe to use from several threads.
    """

    def __init__(self, libraries: Sequence[_Library], compile_seconds: float) -> None:
        self.compile_seconds = compile_seconds
        notes = [library.note for library in libraries]
        self.source_size = sum(note.size for note in notes)
        self.work_sizes = {
            "kernel_w": max((note.work for note in notes), default=0),
            "kernel_iw": max((note.integer_work for note in notes), default=0),
        }
        self._home = {name: library for library in libraries for name in library.kernels.function_names}
        self._pending = [library for library in libraries if library.native is None]
        self._lock = threading.Lock()
        self._look_at = 0.0
        self._watchers: list[Callable[[str, int], None]] = []

    @property
    def is_native(self) -> bool:
        """Whether all kernels are compiled code."""
        return not self._pending

    def entry(self, name: str) -> tuple[int | None, int, int | None]:
        """Address of a function's code, the number to call it with (ignored by compiled code), and the address of code that
        evaluates several instances at once, if there is any: such functions are compiled in this form only."""
        with _registry_lock:
            return self._home[name].entry(name)

    def slots(self, names: Sequence[str]) -> ctypes.Array[KernelStruct]:
        """An array of kernels (`pl_kernel`) of these functions, updated by `refresh`. Its length is at least one."""
        row = (KernelStruct * max(1, len(names)))(*(KernelStruct(*self.entry(name)) for name in names))

        def write(name: str, address: int) -> None:
            field = "lanes" if self._home[name].kernels.is_on_lanes(name) else "call"
            for slot, own in zip(row, names, strict=False):
                if own == name:
                    setattr(slot, field, address)

        self.watch(write)
        return row

    def watch(self, write: Callable[[str, int], None]) -> None:
        """Register `write(name, address)`, called for every function whose compiled code becomes available; its number is
        unchanged.

        The address must be replaced in a single write: other threads may be evaluating.
        """
        with self._lock:
            self._watchers.append(write)
            for name, library in self._home.items():
                if library.native is not None:
                    write(name, library.native[name])  # it may have become available since its address was requested

    def refresh(self) -> bool:
        """Activate compiled code that has become available; True if all code is compiled. Cheap: it checks a few times per
        second."""
        if not self._pending:
            return True
        now = time.monotonic()
        if now < self._look_at or not self._lock.acquire(blocking=False):
            return False
        try:
            self._look_at = now + LOOK_AGAIN
            waiting = []
            for library in self._pending:
                with _registry_lock:
                    native = library.native is not None or library.look(_folders())
                if not native:
                    waiting.append(library)
                    continue
                for name, address in (library.native or {}).items():
                    for write in self._watchers:
                        write(name, address)
            self._pending = waiting
            _reap()
            return not waiting
        finally:
            self._lock.release()


_registry: dict[str, _Library] = {}
_registry_lock = threading.RLock()
_jobs: list[tuple[subprocess.Popen[bytes], list[Path]]] = []
_asked_for: set[Path] = set()
"""Libraries by file name; jobs of this process and their libraries; all requested libraries."""


def _folders() -> list[Path]:
    """Folders of compiled kernels, in the order of the search."""
    own = [writable_cache(cache_folder())] if _asked_for else []
    return list(dict.fromkeys([*trusted_cache(), *own, PREBUILT_KERNELS]))


def load_kernels(kernels: Sequence[Kernels]) -> KernelCode:
    """Code of all kernels: compiled if available, else evaluated by CasADi's virtual machine while the compiler runs in the
    background.

    With PLIANT_COMPILE=wait or quick all code is compiled before this returns, if there is a compiler. Raises CompileError if the
    compiler rejects the code or cannot write it.
    """
    mode = compile_mode()
    runtime_library()
    if mode in ("wait", "quick"):
        libraries, waited = _wait_for(kernels, quick=mode == "quick")
    else:
        with _registry_lock:
            libraries, waited = [_library(k, quick=False) for k in kernels], 0.0
        missing = [library for library in libraries if library.native is None]
        if missing and mode != "never" and (compiler := find_compiler()):
            _start(compiler, missing)
    if mode != "never":
        for library in libraries:
            library.keep_note()
    return KernelCode(libraries, waited)


def _wait_for(kernels: Sequence[Kernels], *, quick: bool) -> tuple[list[_Library], float]:
    """Libraries of kernels, compiled if there is a compiler, which starts while kernels are generated; and the elapsed time [s]."""
    libraries: list[_Library] = []
    jobs: dict[_Library, Future[Path]] = {}
    start = time.perf_counter()
    with ThreadPoolExecutor(compiling.AT_ONCE) as pool:
        for one in kernels:
            with _registry_lock:
                library = _library(one, quick=quick)
            libraries.append(library)
            if library.native is None and library.source is not None and find_compiler():
                jobs[library] = pool.submit(_build, library.source)
        folders = [job.result().parent for job in jobs.values()]
    with _registry_lock:
        for library in jobs:
            library.look(folders)
    return libraries, time.perf_counter() - start if jobs else 0.0


def _library(kernels: Kernels, *, quick: bool) -> _Library:
    """The library of one type's kernels, loaded if its code is available; `quick`: to be compiled without optimization, unless an
    optimized one is available."""
    level = processor_level()
    if (note := read_note(kernels, _folders())) and (library := _compiled(kernels, note, level, None, quick=quick)):
        return library
    source = kernel_library_source(kernels, level)
    note = made_note(kernels, source)
    if library := _compiled(kernels, note, level, source, quick=quick):
        return library
    source = replace(source, flags=QUICK_FLAGS) if quick else source
    name = source.file_name()
    return _registry.get(name) or _registry.setdefault(name, _Library(kernels, note, name, source))


def _compiled(kernels: Kernels, note: KernelNote, level: str, source: Source | None, *, quick: bool) -> _Library | None:
    """The library of a note, if its compiled code is available."""
    for flags in (note.flags, QUICK_FLAGS) if quick else (note.flags,):
        name = note.file_name(level, flags)
        library = _registry.get(name) or _Library(kernels, note, name, source)
        if library.native is not None or library.look(_folders()):
            return _registry.setdefault(name, library)
    return None


def _start(compiler: list[str], missing: Sequence[_Library]) -> None:
    """Compile kernels in the background, unless this was requested before or rejected."""
    folder = writable_cache(cache_folder())
    sources = []
    with _registry_lock:
        for library in missing:
            path = folder / library.file_name
            if path in _asked_for:
                continue
            _asked_for.add(path)
            if said := refusal(path):
                _say_refused(said)
            elif library.source is not None:
                sources.append(library.source)
    if not sources:
        return
    try:
        job = compiling.start_job(compiler, sources, folder)
    except OSError as reason:
        _say_unwritten(folder, reason.strerror or str(reason))
        return
    if job is not None:
        if folder.name.startswith(PRIVATE):
            atexit.register(_end_job, job)  # before the folder is removed
        with _registry_lock:
            _jobs.append((job, [folder / source.file_name() for source in sources]))


def _end_job(job: subprocess.Popen[bytes]) -> None:
    """Terminate a job whose result will not be used."""
    if job.poll() is None:
        job.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(timeout=5)


def _reap() -> None:
    """Remove completed jobs, and report code that the compiler rejected."""
    with _registry_lock:
        ended = [job for job in _jobs if job[0].poll() is not None]
        for job in ended:
            _jobs.remove(job)
    for process, libraries in ended:
        if process.returncode > 0:
            _say_unwritten(libraries[0].parent, os.strerror(process.returncode))
        for said in filter(None, map(refusal, libraries)):
            _say_refused(said)


@cache
def _say_unwritten(folder: Path, why: str) -> None:
    warnings.warn(
        f"cannot compile in {folder}: {why}; kernels run in CasADi's virtual machine, which is slower. "
        "Free some space, or set PLIANT_CACHE to another folder.",
        stacklevel=2,
    )


@cache
def _say_refused(said: str) -> None:
    warnings.warn(f"{said}\nThese kernels run in CasADi's virtual machine: the same results, but slower.", stacklevel=2)
