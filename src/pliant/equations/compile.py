"""C source to loaded libraries: compiled once, kept on disk by content hash.

A library's key covers its source, the flags, the compiler and the processor, so a cache folder can be shared. Files
are written beside their place and renamed, so processes that start together at worst compile twice; a checksum beside
each library tells a damaged file from a good one before it is loaded.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import casadi as ca

from pliant.equations.kernel import Kernels
from pliant.equations.layout import header

RUNTIME_FOLDER = Path(__file__).parent / "runtime"
FLAGS = ("-std=c11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-w")
KERNEL_FLAGS = (*FLAGS[:1], "-O2", *FLAGS[2:])
# Long straight-line code takes -O2 up to six times as long to compile as -O1.
LARGE_KERNEL_FLAGS = (*FLAGS[:1], "-O1", *FLAGS[2:])
LARGE_KERNEL = 8000


class CompileError(RuntimeError):
    """The C compiler refused generated code."""


class NoCompiler(RuntimeError):
    """There is no C compiler on this machine."""


def find_compiler() -> str | None:
    """Path of the C compiler: the environment variable CC, else cc, gcc or clang; None without one."""
    chosen = shlex.split(os.environ.get("CC", ""))[:1]  # without flags that may follow
    if chosen and not shutil.which(chosen[0]):
        warnings.warn(f"the compiler '{chosen[0]}' named by CC is not found; trying cc, gcc and clang", stacklevel=2)
    for name in (*chosen, "cc", "gcc", "clang"):
        if path := shutil.which(name):
            return path
    return None


def cache_folder() -> Path:
    """Where compiled libraries are kept: the environment variable PLIANT_CACHE, else the user's cache folder."""
    if chosen := os.environ.get("PLIANT_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "pliant"


@cache
def _writable_cache(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as reason:
        own = Path(tempfile.mkdtemp(prefix="pliant-"))
        warnings.warn(
            f"the cache folder {folder} cannot be written ({reason.strerror or reason}); compiling into {own} for this "
            "process only. Set PLIANT_CACHE to a folder you can write to.",
            stacklevel=2,
        )
        return own


@cache
def _machine(compiler: str) -> str:
    """What else the compiled code depends on: the compiler's version and the processor's features."""
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    features = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            features = next((line for line in info if line.startswith(("flags", "Features"))), "")
    except OSError:
        pass
    return f"{version}|{platform.machine()}|{platform.system()}|{features}"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_sound(library: Path) -> bool:
    try:
        return library.with_suffix(".sum").read_text(encoding="ascii") == _digest(library)
    except (OSError, UnicodeDecodeError):
        return False


def build_library(name: str, sources: Mapping[str, str], main: Sequence[str], flags: Sequence[str]) -> Path:
    """Path of a shared library made of `main` files among `sources`, compiled unless the cache has it."""
    compiler = find_compiler()
    if compiler is None:
        raise NoCompiler("no C compiler found (tried $CC, cc, gcc, clang)")
    key = hashlib.sha256()
    for part in (_machine(compiler), " ".join(flags), *(f"{k}\0{sources[k]}" for k in sorted(sources))):
        key.update(part.encode())
        key.update(b"\0")
    file_name = f"{name}-{key.hexdigest()[:24]}.so"
    if _is_sound(cache_folder() / file_name):
        return cache_folder() / file_name  # also from a cache that can only be read
    folder = _writable_cache(cache_folder())
    library = folder / file_name
    if _is_sound(library):
        return library
    try:
        return _compile(compiler, name, sources, main, flags, library)
    except OSError as reason:
        raise CompileError(
            f"cannot compile {name} in {folder}: {reason.strerror or reason}. Free some space, or set PLIANT_CACHE to "
            "another folder."
        ) from None


def _compile(
    compiler: str, name: str, sources: Mapping[str, str], main: Sequence[str], flags: Sequence[str], library: Path
) -> Path:
    """Compile in a folder beside the library's place and move it there with its checksum."""
    folder = library.parent
    with tempfile.TemporaryDirectory(dir=folder, prefix="build-") as build:
        for file, text in sources.items():
            Path(build, file).write_text(text, encoding="utf-8")
        output = Path(build, "library.so")
        command = [compiler, *flags, "-shared", "-o", str(output), *main, "-lm"]
        done = subprocess.run(command, cwd=build, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError(f"{compiler} could not compile {name}:\n{done.stderr[:2000]}")
        checksum = Path(build, "library.sum")
        checksum.write_text(_digest(output), encoding="ascii")
        # the library first: a reader that finds it without its checksum compiles for itself
        os.replace(output, library)
        os.replace(checksum, library.with_suffix(".sum"))
    return library


def kernel_source(functions: Sequence[ca.Function], name: str) -> str:
    """C code of CasADi functions, each exported under its own name."""
    generator = ca.CodeGenerator(name, {"with_header": False, "cpp": False, "verbose": False})
    for function in functions:
        generator.add(function)
    return str(generator.dump())


def runtime_sources() -> dict[str, str]:
    """The runtime's C files with the generated header."""
    sources = {p.name: p.read_text(encoding="utf-8") for p in sorted(RUNTIME_FOLDER.glob("*.[ch]"))}
    sources["pl_layout.h"] = header()
    return sources


def load_libraries(kernels: Sequence[Kernels]) -> tuple[ctypes.CDLL, dict[str, int]]:
    """The runtime and the addresses of all kernels' functions, compiled where the cache lacks them."""

    def kernel(k: Kernels) -> Path:
        text = kernel_source(k.functions, "kernels")
        instructions = sum(function.n_instructions() for function in k.functions)
        flags = KERNEL_FLAGS if instructions < LARGE_KERNEL else LARGE_KERNEL_FLAGS
        return build_library(k.name, {"kernels.c": text}, ["kernels.c"], flags)

    def runtime() -> Path:
        sources = runtime_sources()
        return build_library("runtime", sources, [f for f in sources if f.endswith(".c")], FLAGS)

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        future = pool.submit(runtime)
        paths = list(pool.map(kernel, kernels))
        library = ctypes.CDLL(str(future.result()))
    addresses = {}
    for k, path in zip(kernels, paths, strict=True):
        loaded = ctypes.CDLL(str(path))
        for function in k.functions:
            address = ctypes.cast(getattr(loaded, function.name()), ctypes.c_void_p).value
            assert address is not None
            addresses[function.name()] = address
    return library, addresses
