"""The C compiler and what it makes: shared libraries, compiled once and kept by their content.

Only the standard library is used here: the build of the package loads this file by its path, and as a program
(`python compiling.py job-....json`) it compiles kernels in the background, detached from the process that asked.

A library's file name carries the hash of all that decides its code (source, flags, level of the instruction set, platform), so
a folder of libraries can be shared and is never out of date. Files are written beside their place and renamed; a checksum
beside each library tells a damaged file from a good one. `<library>.lock` says that somebody is at work on it: its time is
renewed every few seconds, so the lock of a killed process frees itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.util
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
"""How this system's shared libraries end."""

FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-w")
RUNTIME_FLAGS = FLAGS if sys.platform == "win32" else (*FLAGS, "-DPL_WITH_THREADS", "-pthread")
KERNEL_FLAGS = (*FLAGS[:1], "-O2", *FLAGS[2:])
"""Each operation is rounded for itself and in the order written: interpreted kernels give the same numbers, bit for bit."""

LARGE_KERNEL_FLAGS = (*FLAGS[:1], "-O1", "-fexpensive-optimizations", *FLAGS[2:])
"""Long straight-line code takes -O2 twice as long to compile, and gains little by it. Without the expensive ones among the
optimizations GCC's registers would spill where a rare branch calls a function, which makes kernels on lanes three times as slow."""

QUICK_FLAGS = (*FLAGS[:1], "-O0", *FLAGS[2:])
"""A quarter of the time to compile, some four times that to evaluate, the same numbers."""

LARGE_KERNEL = 2000
"""Instructions from which a kernel counts as large."""

AT_ONCE = min(4, os.cpu_count() or 2)
"""Libraries that are compiled at a time."""

HEARTBEAT = 2.0
STALE_LOCK = 30.0
STALE_FOLDER = 600.0
"""Seconds between signs of life, and without any until a lock or a folder counts as abandoned."""

RETRY_AFTER = 24 * 3600.0
"""Seconds until code that a compiler has refused is tried again."""


class CompileError(RuntimeError):
    """The C compiler refused generated code."""


class NoCompiler(RuntimeError):
    """There is no C compiler on this machine."""


def find_compiler() -> list[str] | None:
    """Command of the C compiler: the environment variable CC with its arguments, else cc, gcc or clang, else the compiler of
    the package `ziglang`; None without one."""
    if chosen := _chosen():
        if path := shutil.which(chosen[0]):
            return [path, *chosen[1:]]
        warnings.warn(f"the compiler '{chosen[0]}' named by CC is not found; trying cc, gcc and clang", stacklevel=2)
    for name in ("cc", "gcc", "clang"):
        if path := shutil.which(name):
            return [path]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    return None


def _chosen() -> list[str]:
    text = os.environ.get("CC", "").strip()
    if not text or shutil.which(text):
        return [text] if text else []  # also a path with spaces
    return [word.strip('"') for word in shlex.split(text, posix=os.name != "nt")]


def _is_zig(compiler: Sequence[str]) -> bool:
    return any(Path(word).stem in ("zig", "ziglang") for word in compiler)


# -- levels of the instruction set ----------------------------------------------------------------------------------------


def levels() -> tuple[str, ...]:
    """Levels of the instruction set that code is compiled for on this platform, the lowest first ("" is the only one)."""
    is_x86 = platform.machine().lower() in ("x86_64", "amd64") and sys.maxsize > 2**32
    return ("x86-64", "x86-64-v3") if is_x86 else ("",)


def _level_flags(compiler: Sequence[str], level: str) -> list[str]:
    """Flags for a level, without fused multiply-add: GCC 12 fuses even where it is told not to (-ffp-contract=off)."""
    if not level:
        return []
    has_fused = level != "x86-64"
    if _is_zig(compiler):
        return [f"-mcpu={level.replace('-', '_')}{'-fma' if has_fused else ''}"]
    # tuned for wide loads and stores, which generic tuning splits
    return [f"-march={level}", *(["-mno-fma", "-mtune=znver2"] if has_fused else [])]


# -- libraries --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """What a library is compiled from: files by name, those given to the compiler, flags, level of the instruction set, and
    folders with headers of others."""

    name: str
    files: Mapping[str, str]
    main: Sequence[str]
    flags: Sequence[str]
    level: str = ""
    headers: Sequence[str] = ()

    def code(self) -> str:
        """Hash of the code itself."""
        key = hashlib.sha256()
        for part in (" ".join(self.main), *(f"{name}\0{self.files[name]}" for name in sorted(self.files))):
            key.update(part.encode())
            key.update(b"\0")
        return key.hexdigest()

    def file_name(self) -> str:
        """Name of the library's file."""
        return library_name(self.name, self.code(), self.flags, self.level)


def library_name(name: str, code: str, flags: Sequence[str], level: str) -> str:
    """Name of the file of a library, with the hash of all that decides what is in it: its code (`Source.code`), flags, level.

    The compiler itself and folders of headers are left out, so that what one machine has compiled serves one without a
    compiler; arguments given with CC are not.
    """
    decisive = (
        sysconfig.get_platform(),
        " ".join(_chosen()[1:]),
        " ".join([*flags, *_level_flags(("cc",), level)]),
        code,
    )
    key = hashlib.sha256("\0".join(decisive).encode()).hexdigest()
    return f"{name}{f'-{level}' if level else ''}-{key[:24]}{SUFFIX}"


def digest(path: Path) -> str:
    """Checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_sound(library: Path) -> bool:
    """Whether a library is there and as it was written."""
    try:
        return library.with_suffix(".sum").read_text(encoding="ascii") == digest(library)
    except (OSError, UnicodeDecodeError):
        return False


def refusal(library: Path) -> str | None:
    """What the compiler said of this library's code, if it has refused it lately."""
    note = library.with_suffix(".failed")
    try:
        if time.time() - note.stat().st_mtime < RETRY_AFTER:
            return note.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        pass
    return None


def build(compiler: Sequence[str], source: Source, library: Path, *, wait: bool = True) -> bool:
    """Compile a library unless it is there; returns whether it is there.

    If another process is at work on it, wait for that one, or with `wait` False leave it to that one. Raises CompileError
    when the compiler refuses, OSError when the folder cannot be written.
    """
    while not is_sound(library):
        with _claimed(library) as lock:
            if lock is None:
                if not wait:
                    return False
                time.sleep(0.05)
            elif not is_sound(library):
                _compile(compiler, source, library, lock)
    return True


@contextlib.contextmanager
def _claimed(library: Path) -> Iterator[Path | None]:
    """Hold the library's lock; None while another process holds it."""
    lock = library.with_suffix(".lock")
    if not _is_alive(lock, STALE_LOCK):
        lock.unlink(missing_ok=True)
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except (FileExistsError, PermissionError):  # Windows refuses a file that is about to vanish
        if not lock.parent.is_dir() or not os.access(lock.parent, os.W_OK):
            raise
        yield None
        return
    _at_work.append(lock)
    try:
        yield lock
    finally:
        lock.unlink(missing_ok=True)
        _at_work.remove(lock)


_at_work: list[Path] = []
"""Locks and folders of this process, to remove when it is told to end."""


def _is_alive(path: Path, limit: float) -> bool:
    try:
        return abs(time.time() - path.stat().st_mtime) < limit
    except OSError:
        return False


def sweep(folder: Path) -> None:
    """Remove what killed processes have left in a folder of libraries."""
    for left in [*folder.glob("build-*"), *folder.glob("job-*.json"), *folder.glob("*.lock")]:
        if not _is_alive(left, STALE_FOLDER):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    left.unlink(missing_ok=True)


def _compile(compiler: Sequence[str], source: Source, library: Path, lock: Path) -> None:
    """Compile in a folder beside the library's place and move it there with its checksum."""
    sweep(library.parent)
    folder = Path(tempfile.mkdtemp(dir=library.parent, prefix="build-"))
    _at_work.append(folder)
    try:
        for file, text in source.files.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        output = folder / f"library{SUFFIX}"
        system = [] if os.name == "nt" else ["-fPIC", "-lm"]
        stripped = ["-s"] if sys.platform == "linux" else []
        headers = [f"-I{place}" for place in source.headers]
        flags = [*source.flags, *_level_flags(compiler, source.level), *headers, *system[:1]]
        command = [*compiler, *flags, "-shared", *stripped, "-o", str(output), *source.main, *system[1:]]
        code, said = _run(command, folder, lock)
        if code < 0:  # not refused, but ended: somebody may try again
            raise InterruptedError(f"the compiler was ended by signal {-code}")
        if code:
            raise CompileError(f"{shlex.join(compiler)} could not compile {source.name}:\n{said[:2000]}")
        checksum = folder / "library.sum"
        checksum.write_text(digest(output), encoding="ascii")
        # the library first: a reader that finds it without its checksum does not take it
        os.replace(output, library)
        os.replace(checksum, library.with_suffix(".sum"))
        library.with_suffix(".failed").unlink(missing_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _at_work.remove(folder)


def _run(command: Sequence[str], folder: Path, lock: Path) -> tuple[int, str]:
    """Run the compiler, with signs of life; end it when its folder is taken away."""
    environment = {**os.environ}
    if _is_zig(command):  # its own cache of system libraries, where ours is
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(folder.parent / "zig"))
        environment.setdefault("ZIG_LOCAL_CACHE_DIR", str(folder / "zig"))
    said = folder / "messages.txt"
    with open(said, "wb") as messages:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages
        )
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(timeout=HEARTBEAT)
                    break
                os.utime(lock)
                os.utime(folder)
        except BaseException:
            process.kill()
            process.wait()
            raise
    return code, said.read_text(encoding="utf-8", errors="replace")


# -- in the background ------------------------------------------------------------------------------------------------------


def start_job(compiler: Sequence[str], sources: Sequence[Source], folder: Path) -> subprocess.Popen[bytes] | None:
    """Start compiling libraries into a folder, detached and at low priority; None where that cannot be done."""
    if "python" not in Path(sys.executable or "").name.lower():
        return None  # inside another program
    handle, job = tempfile.mkstemp(dir=folder, prefix="job-", suffix=".json")
    with open(handle, "w", encoding="utf-8") as file:
        json.dump({"compiler": list(compiler), "sources": [asdict(source) for source in sources]}, file)
    options: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":
        # detached, in a group of its own, below normal priority, without a window
        options = {"creationflags": 0x00000008 | 0x00000200 | 0x00004000}
    null = subprocess.DEVNULL
    command = [sys.executable, "-I", str(Path(__file__).resolve()), job]
    try:
        return subprocess.Popen(command, stdin=null, stdout=null, stderr=null, cwd=folder, **options)
    except OSError:
        Path(job).unlink(missing_ok=True)
        return None


def _work(compiler: Sequence[str], source: Source, folder: Path) -> None:
    library = folder / source.file_name()
    try:
        build(compiler, source, library, wait=False)
    except CompileError as refused:
        with contextlib.suppress(OSError):
            library.with_suffix(".failed").write_text(str(refused), encoding="utf-8")
    except OSError:
        pass  # no space, or the folder is gone: nobody waits for an answer


def _end(number: int, frame: object) -> None:
    """Leave nothing behind when told to end."""
    for left in list(_at_work):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)  # a session of our own, with the compilers in it
    os._exit(1)


def main(job: Path) -> None:
    """Compile what a job's file asks for."""
    folder = job.parent
    wanted = json.loads(job.read_text(encoding="utf-8"))
    job.unlink(missing_ok=True)
    if hasattr(os, "getpgrp") and os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, _end)
    if hasattr(os, "nice"):
        os.nice(19)
    sources = [Source(**source) for source in wanted["sources"]]
    sources.sort(key=lambda source: -sum(map(len, source.files.values())))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda source: _work(wanted["compiler"], source, folder), sources))
    sweep(folder)


# -- what ships with the package --------------------------------------------------------------------------------------------

EQUATIONS = Path(__file__).parent
RUNTIME_FOLDER = EQUATIONS / "runtime"
BINARY_FOLDER = EQUATIONS / "binary"
"""Libraries built with the package; prebuilt kernels in its folder `kernels`."""


@cache
def runtime_files(layout: str) -> Mapping[str, str]:
    """The runtime's C files by name, with the header `pl_layout.h` of this text."""
    files = {p.name: p.read_text(encoding="utf-8") for p in sorted(RUNTIME_FOLDER.glob("*.[ch]"))}
    return {**files, "pl_layout.h": layout}


def runtime_source(layout: str, level: str) -> Source:
    """The runtime for a level of the instruction set."""
    files = runtime_files(layout)
    return Source("runtime", files, [name for name in files if name.endswith(".c")], RUNTIME_FLAGS, level)


def processor_source() -> Source:
    """The library that knows this processor's level; itself it needs the lowest."""
    text = (EQUATIONS / "processor.c").read_text(encoding="utf-8")
    return Source("processor", {"processor.c": text}, ["processor.c"], FLAGS, levels()[0])


def extension_headers() -> dict[str, str]:
    """Folders with the headers of Python and of NumPy by name (`numpy1` or `numpy2`, whose code also runs with NumPy 1); what an
    extension module of this Python cannot be compiled with is missing."""
    found = {}
    python = Path(sysconfig.get_paths()["include"])
    is_usual = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
    if is_usual and os.name != "nt" and (python / "Python.h").is_file():  # Windows would link with Python's library
        found["python"] = str(python)
    numpy = importlib.util.find_spec("numpy")
    for name, folder in (("numpy2", "_core"), ("numpy1", "core")):
        place = Path(str(numpy.origin)).parent / folder / "include" if numpy else Path()
        if (place / "numpy" / "arrayobject.h").is_file():
            found[name] = str(place)
            break
    return found


def extension_source(layout: str, numpy: str, headers: Mapping[str, str]) -> Source:
    """The extension module that calls the runtime (`calls.py`), of one binary interface for all versions of Python from 3.11."""
    text = (EQUATIONS / "extension.c").read_text(encoding="utf-8")
    flags = (*KERNEL_FLAGS, *(["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []))
    places = [headers[name] for name in ("python", numpy) if name in headers]
    files = {"extension.c": text, "pl_layout.h": layout}
    return Source(f"calls-{numpy}", files, ["extension.c"], flags, levels()[0], places)


def ask_level(library: Path) -> str:
    """This processor's level, from the compiled `processor.c`."""
    level = ctypes.CDLL(str(library)).pl_processor_level()
    return {1: "x86-64", 3: "x86-64-v3"}.get(level, "")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
