"""The C compiler and compiled shared libraries, which are cached by their content.

Only the standard library is used here: the build of the package loads this file by its path, and as a program (`python compiling.py
FOLDER`, with the sources on stdin) it compiles kernels in the background, detached from the process that started it.

A library's file name contains the hash of everything that determines its code (source, flags, level of the instruction set,
platform), so a folder of libraries can be shared and is never out of date. Files are written to a temporary name and renamed; a
checksum next to each library detects damaged files. A process that compiles a library holds the lock of `<library>.lock`, which the
system releases when the process ends for any reason. Code is loaded only from folders and files that only the user (or the
administrator) can write to; without such a cache folder a process compiles for itself.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import hashlib
import importlib.util
import json
import os
import platform
import shlex
import shutil
import stat
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

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
"""Suffix of shared libraries on this system."""

FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-w")
RUNTIME_FLAGS = FLAGS if sys.platform == "win32" else (*FLAGS, "-DPL_WITH_THREADS", "-pthread")
KERNEL_FLAGS = (*FLAGS[:1], "-O2", *FLAGS[2:])
"""Each operation is rounded separately and in the written order: interpreted kernels compute the same numbers, bit for bit."""

LARGE_KERNEL_FLAGS = (*FLAGS[:1], "-O1", "-fexpensive-optimizations", *FLAGS[2:])
"""Long straight-line code takes twice as long to compile with -O2, with little gain. Without its expensive optimizations GCC would
spill registers where a rare branch calls a function, which makes kernels on lanes three times slower."""

QUICK_FLAGS = (*FLAGS[:1], "-O0", *FLAGS[2:])
"""A quarter of the time to compile, about four times the time to evaluate, the same numbers."""

LARGE_KERNEL = 2000
"""Number of instructions above which a kernel is large."""

AT_ONCE = min(4, os.cpu_count() or 2)
"""Number of libraries that are compiled concurrently."""

ABANDONED = 3600.0
"""Seconds after which the folder of a compilation is that of a killed process."""

LEAST_SPACE = 1 << 16
"""Free bytes below which a disk is treated as full."""

OTHERS_WRITE = 0o022
"""Permissions that allow other users to change a file."""

RETRY_AFTER = 24 * 3600.0
"""Seconds until rejected code is compiled again."""


class CompileError(RuntimeError):
    """The C compiler rejected generated code."""


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
    return find_zig()


def find_zig() -> list[str] | None:
    """Command of the C compiler of Zig, which compiles for other machines too: that of the environment variable CC, of the package
    `ziglang`, or of an installation; None without one."""
    chosen = _chosen()
    if chosen and _is_zig(chosen) and (path := shutil.which(chosen[0])):
        return [path, *chosen[1:]]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    path = shutil.which("zig")
    return [path, "cc"] if path else None


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


def _level_flags(compiler: Sequence[str], level: str, *, fused: bool = False) -> list[str]:
    """Flags for a level, without fused multiply-add unless requested: GCC 12 fuses even with options against it
    (-ffp-contract=off)."""
    if not level:
        return []
    if fused:
        return [f"-mcpu={level.replace('-', '_')}" if _is_zig(compiler) else f"-march={level}"]
    has_fused = level != "x86-64"
    if _is_zig(compiler):
        return [f"-mcpu={level.replace('-', '_')}{'-fma' if has_fused else ''}"]
    # tuned for wide loads and stores, which generic tuning splits
    return [f"-march={level}", *(["-mno-fma", "-mtune=znver2"] if has_fused else [])]


# -- libraries --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """Input of the compilation of a library: files by name, those passed to the compiler, flags, level of the instruction set,
    folders with external headers, and whether multiplications may be fused with additions."""

    name: str
    files: Mapping[str, str]
    main: Sequence[str]
    flags: Sequence[str]
    level: str = ""
    headers: Sequence[str] = ()
    fused: bool = False

    def code(self) -> str:
        """Hash of the code itself."""
        key = hashlib.sha256()
        for part in (" ".join(self.main), *(f"{name}\0{self.files[name]}" for name in sorted(self.files))):
            key.update(part.encode())
            key.update(b"\0")
        return key.hexdigest()

    def file_name(self) -> str:
        """Name of the library's file."""
        return library_name(self.name, self.code(), self.flags, self.level, fused=self.fused)


def library_name(name: str, code: str, flags: Sequence[str], level: str, *, fused: bool = False) -> str:
    """Name of the file of a library, with the hash of everything that determines its content: code (`Source.code`), flags, level.

    The compiler itself and folders of headers are excluded, so that a library compiled on one machine can be used on another
    without a compiler; arguments given with CC are included.
    """
    decisive = (
        sysconfig.get_platform(),
        " ".join(_chosen()[1:]),
        " ".join([*flags, *_level_flags(("cc",), level, fused=fused)]),
        code,
    )
    key = hashlib.sha256("\0".join(decisive).encode()).hexdigest()
    return f"{name}{f'-{level}' if level else ''}-{key[:24]}{SUFFIX}"


def digest(path: Path) -> str:
    """Checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_sound(library: Path, *, private: bool = False) -> bool:
    """Whether a library exists and is undamaged; `private`: and cannot have been written by another user."""
    try:
        stated = library.with_suffix(".sum").read_text(encoding="ascii")
        return (not private or why_not_private(library) is None) and stated == digest(library)
    except (OSError, UnicodeDecodeError):
        return False


def why_not_private(path: Path) -> str | None:
    """How another user than the owner and the administrator could have written a file or folder; None if impossible.

    Raises OSError if it does not exist. On Windows each user has a separate folder.
    """
    if os.name == "nt":
        return None
    found = path.stat()
    if found.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    if found.st_mode & OTHERS_WRITE:
        return "others can write to it"
    return None


def why_not_trusted(folder: Path) -> str | None:
    """Why no code is loaded from a folder: another user can write to it, or replace it.

    None if that is impossible, or if the folder does not exist.
    """
    try:
        if why := why_not_private(folder):
            return why
        for parent in folder.resolve().parents if os.name != "nt" else ():
            mode = parent.stat().st_mode
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                return f"everybody can write to {parent}"
    except FileNotFoundError:
        return None
    except OSError as reason:
        return reason.strerror or str(reason)
    return None


def refusal(library: Path) -> str | None:
    """The message of the compiler about this library's code, if it was rejected recently."""
    note = library.with_suffix(".failed")
    try:
        if time.time() - note.stat().st_mtime < RETRY_AFTER:
            return note.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        pass
    return None


def note_refusal(library: Path, refused: CompileError) -> None:
    """Record that the compiler has rejected a library's code, so that it is not compiled again immediately."""
    with contextlib.suppress(OSError):
        put_text(library.with_suffix(".failed"), str(refused))


def build(compiler: Sequence[str], source: Source, library: Path, *, wait: bool = True) -> bool:
    """Compile a library unless it exists; returns whether it exists.

    If another process is compiling it, wait for that process, or with `wait` False return immediately. Raises CompileError if the
    compiler rejects the code, OSError if the folder is full or cannot be written to.
    """
    while not is_sound(library, private=True):
        with _claimed(library) as is_ours:
            if is_ours:
                if not is_sound(library, private=True):
                    _compile(compiler, source, library)
            elif not wait:
                return False
            else:
                time.sleep(0.05)
    return True


# -- locks ----------------------------------------------------------------------------------------------------------


def lock_file(file: int) -> bool:
    """Take the lock of an open file; False if another process holds it. The system releases it when the file is closed, and when
    the process ends for any reason."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as reason:
        # a disk without locks: two processes may then do the same work, in separate folders
        return reason.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
    return True


@contextlib.contextmanager
def _claimed(library: Path) -> Iterator[bool]:
    """Hold the library's lock; False while another process holds it. Its file remains: two processes could hold it otherwise."""
    file = os.open(library.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield lock_file(file)
    finally:
        os.close(file)


def put_text(target: Path, text: str) -> None:
    """Write a file of the cache atomically, which other users may read but not write."""
    handle, part = tempfile.mkstemp(dir=target.parent, prefix="part-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(part, 0o644)
        os.replace(part, target)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


# -- running the compiler ---------------------------------------------------------------------------------------------------


def _compile(compiler: Sequence[str], source: Source, library: Path) -> None:
    """Compile in a temporary folder and move the library to its place with its checksum; the caller holds the lock."""
    for left in [*library.parent.glob("build-*"), *library.parent.glob("part-*")]:
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    folder = Path(tempfile.mkdtemp(dir=library.parent, prefix="build-"))
    try:
        for file, text in source.files.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        output = folder / f"library{SUFFIX}"
        system = [] if os.name == "nt" else ["-fPIC", "-lm"]
        stripped = ["-s"] if sys.platform == "linux" else []
        headers = [f"-I{place}" for place in source.headers]
        flags = [*source.flags, *_level_flags(compiler, source.level, fused=source.fused), *headers, *system[:1]]
        command = [*compiler, *flags, "-shared", *stripped, "-o", str(output), *source.main, *system[1:]]
        code, said = _run(command, folder)
        if code < 0:  # terminated, not rejected: it may be tried again
            raise InterruptedError(f"the compiler was killed by signal {-code}")
        if code and _is_full(folder, said):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if code:
            raise CompileError(f"{shlex.join(compiler)} could not compile {source.name}:\n{said[:2000]}")
        output.chmod(output.stat().st_mode & ~OTHERS_WRITE)
        checksum = digest(output)
        # the library first: without its checksum it is not used
        os.replace(output, library)
        put_text(library.with_suffix(".sum"), checksum)
        library.with_suffix(".failed").unlink(missing_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_full(folder: Path, said: str) -> bool:
    """Whether a compiler has failed because the disk is full; its messages vary, and may not have been written either."""
    words = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT), os.strerror(errno.EFBIG), "File size limit exceeded")
    return any(word in said for word in words) or shutil.disk_usage(folder).free < LEAST_SPACE


def compiler_environment(command: Sequence[str], cache: Path, folder: Path) -> dict[str, str]:
    """Environment variables of a compiler that works in a folder: Zig keeps its own system libraries, next to our cache."""
    if not _is_zig(command):
        return {}
    ours = {"ZIG_GLOBAL_CACHE_DIR": str(cache / "zig"), "ZIG_LOCAL_CACHE_DIR": str(folder / "zig")}
    return {name: value for name, value in ours.items() if name not in os.environ}


def _run(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run the compiler; its temporary files are in the folder too."""
    environment = os.environ | {"TMPDIR": str(folder)} | compiler_environment(command, folder.parent, folder)
    said = folder / "messages.txt"
    with open(said, "wb") as messages:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages
        )
        try:
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
    return code, said.read_text(encoding="utf-8", errors="replace")


# -- in the background ------------------------------------------------------------------------------------------------------


def start_job(compiler: Sequence[str], sources: Sequence[Source], folder: Path) -> subprocess.Popen[bytes] | None:
    """Start compiling libraries into a folder, detached and at low priority; None if that is impossible."""
    if "python" not in Path(sys.executable or "").name.lower():
        return None  # embedded in another program
    options: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":
        # detached, in a separate group, below normal priority, without a window
        options = {"creationflags": 0x00000008 | 0x00000200 | 0x00004000}
    null = subprocess.DEVNULL
    command = [sys.executable, "-I", str(Path(__file__).resolve()), str(folder)]
    with tempfile.TemporaryFile("w+", dir=folder, encoding="utf-8") as wanted:
        json.dump({"compiler": list(compiler), "sources": [asdict(source) for source in sources]}, wanted)
        wanted.seek(0)
        try:
            return subprocess.Popen(command, stdin=wanted, stdout=null, stderr=null, cwd=folder, **options)
        except OSError:
            return None


def _work(compiler: Sequence[str], source: Source, folder: Path) -> int:
    """Compile a library; returns the error number if the folder could not be written to."""
    library = folder / source.file_name()
    try:
        build(compiler, source, library, wait=False)
    except CompileError as refused:
        note_refusal(library, refused)
    except OSError as reason:
        return reason.errno or errno.EIO
    return 0


def main(folder: Path) -> None:
    """Compile the libraries that are described on stdin into a folder."""
    wanted = json.load(sys.stdin)
    if hasattr(os, "nice"):
        os.nice(19)
    sources = [Source(**source) for source in wanted["sources"]]
    sources.sort(key=lambda source: -sum(map(len, source.files.values())))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failed = max(pool.map(lambda source: _work(wanted["compiler"], source, folder), sources), default=0)
    sys.exit(failed)  # the process that requested it may still exist, and report it


# -- the cache folder --------------------------------------------------------------------------------------------------

PRIVATE = "pliant-cache-"
"""Prefix of the names of folders that are used by one process, before its number."""


def cache_folder() -> Path:
    """The folder of compiled libraries: the environment variable PLIANT_CACHE, else the user's cache folder."""
    if chosen := os.environ.get("PLIANT_CACHE"):
        return Path(chosen)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "pliant" / "cache"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "pliant"


def trusted_cache() -> list[Path]:
    """The cache folder, or None if another user could have written to it, with a single warning."""
    folder = cache_folder()
    if why := why_not_trusted(folder):
        _say_untrusted(folder, why)
        return []
    return [folder]


@cache
def _say_untrusted(folder: Path, why: str) -> None:
    warnings.warn(
        f"compiled code in the cache folder {folder} is not used: {why}. Remove the permission of others to write there "
        "(chmod go-w), or set PLIANT_CACHE to a folder that only you can write to.",
        stacklevel=2,
    )


@cache
def writable_cache(folder: Path) -> Path:
    """The folder, created if necessary; if it is not writable or not trusted, a temporary one of this process, with a warning."""
    try:
        _make_private(folder)
        if why := why_not_trusted(folder):
            _say_untrusted(folder, why)
            return _private_folder()
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as reason:
        own = _private_folder()
        warnings.warn(
            f"the cache folder {folder} cannot be written ({reason.strerror or reason}); compiling into {own} for this "
            "process only. Set PLIANT_CACHE to a folder you can write to.",
            stacklevel=2,
        )
        return own


def _make_private(folder: Path) -> None:
    """Create a folder and missing parents for the user alone: with a umask of 0, others could replace a folder in the parents."""
    if not folder.parent.exists():
        _make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _private_folder() -> Path:
    """A folder for the code of this process only, removed when it ends."""
    own = Path(tempfile.mkdtemp(prefix=f"{PRIVATE}{os.getpid()}-"))
    atexit.register(_remove, own, os.getpid())
    return own


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not by a forked process
        shutil.rmtree(folder, ignore_errors=True)


# -- libraries of the package --------------------------------------------------------------------------------------------

EQUATIONS = Path(__file__).parent
RUNTIME_FOLDER = EQUATIONS / "runtime"
BINARY_FOLDER = EQUATIONS / "binary"
"""Libraries built with the package; prebuilt kernels in its folder `kernels`."""


@cache
def runtime_files(layout: str) -> Mapping[str, str]:
    """The runtime's C files by name, with this text as the header `pl_layout.h`."""
    files = {p.name: p.read_text(encoding="utf-8") for p in sorted(RUNTIME_FOLDER.glob("*.[ch]"))}
    return {**files, "pl_layout.h": layout}


def runtime_source(layout: str, level: str) -> Source:
    """The runtime for a level of the instruction set."""
    files = runtime_files(layout)
    return Source("runtime", files, [name for name in files if name.endswith(".c")], RUNTIME_FLAGS, level)


def processor_source() -> Source:
    """The library that detects this processor's level; it is compiled for the lowest."""
    text = (EQUATIONS / "processor.c").read_text(encoding="utf-8")
    return Source("processor", {"processor.c": text}, ["processor.c"], FLAGS, levels()[0])


def extension_headers() -> dict[str, str]:
    """Folders with the headers of Python and of NumPy by name (`numpy1` or `numpy2`, whose code also runs with NumPy 1); those
    that are not available for compiling an extension module of this Python are missing."""
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
    """The extension module that calls the runtime (`calls.py`), with one binary interface for Python 3.11 and later."""
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
