"""Atomic writing of files, and files that will be written."""

import contextlib
import glob
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

ABANDONED = 3600.0
"""Age [s] after which a partial file is assumed to be left by a killed process."""

_to_write: ContextVar[tuple[str, ...]] = ContextVar("to_write", default=())


@contextlib.contextmanager
def files_to_write(names: Sequence[str]) -> Iterator[None]:
    """Name the files that the enclosed code writes at its end, so that a model that reads one of them is refused at its start."""
    token = _to_write.set(tuple(names))
    try:
        yield
    finally:
        _to_write.reset(token)


def will_be_written(path: Path) -> bool:
    """Whether a file that exists is one of `files_to_write`, by any name."""
    return any(is_same_file(name, path) for name in _to_write.get())


def is_same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two names denote the same existing file."""
    try:
        return os.path.isfile(other) and os.path.samefile(one, other)
    except (OSError, ValueError):  # one of them does not exist, or cannot be the name of a file
        return False


def write_whole(target: Path, *content: bytes | memoryview) -> None:
    """Write a file atomically; an existing one is replaced only at the end, and keeps its permissions.

    Links are preserved and their target is written; devices and pipes are written directly. A process that is killed
    while writing leaves nothing behind if the system has unnamed files (Linux). Elsewhere it may leave a hidden
    `.NAME.*.part`, which is removed when NAME is written an hour later or more.
    """
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            file.writelines(content)
        return
    target = Path(os.path.realpath(target)) if target.is_symlink() else target
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        if not _write_nameless(part, content):
            _sweep(target)
            # opened like any new file, so that its permissions follow the umask
            with open(part, "xb") as file:
                _fill(file, content)
        if target.exists():
            os.chmod(part, target.stat().st_mode & 0o777)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _fill(file: BinaryIO, content: Sequence[bytes | memoryview]) -> None:
    file.writelines(content)
    file.flush()
    os.fsync(file.fileno())


def _write_nameless(part: Path, content: Sequence[bytes | memoryview]) -> bool:
    """Write a file that gets its name when it is complete; False if the system or the file system does not support this."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    try:
        number = os.open(part.parent, os.O_WRONLY | os.O_TMPFILE, 0o666)
    except OSError:
        return False
    with open(number, "wb") as file:
        _fill(file, content)
        try:
            own = os.open("/proc/self/fd", os.O_RDONLY)
            try:
                os.link(str(number), part, src_dir_fd=own)  # with `src_dir_fd`, the symbolic link in /proc is followed
            finally:
                os.close(own)
        except OSError:
            return False
    return True


def _sweep(target: Path) -> None:
    """Remove old partial files of this file."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED:
                left.unlink()
