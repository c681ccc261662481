"""The cache folder of compiled code, used only if no other user can write to it."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

from pliant.engine.compiling import is_running, why_not_trusted

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
    """A folder for the code of this process only, removed when it ends; those of killed processes are removed too."""
    for left in Path(tempfile.gettempdir()).glob(f"{PRIVATE}*"):
        number = left.name.removeprefix(PRIVATE).partition("-")[0]
        if number.isdecimal() and _is_ours(left) and not is_running(int(number)):
            shutil.rmtree(left, ignore_errors=True)
    own = Path(tempfile.mkdtemp(prefix=f"{PRIVATE}{os.getpid()}-"))
    atexit.register(_remove, own, os.getpid())
    return own


def _is_ours(folder: Path) -> bool:
    return os.name != "nt" and folder.lstat().st_uid == os.geteuid()


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not by a forked process
        shutil.rmtree(folder, ignore_errors=True)
