"""Restrict linear algebra to one thread while an analysis runs.

NumPy and SciPy call OpenBLAS, which uses one thread per core for matrices of more than a few hundred rows. The matrices of robots
are too small for this to be faster: the threads wait for each other, in particular on a busy machine.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import scipy
from threadpoolctl import ThreadpoolController

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class _Limit:
    """The limit of the process: set by the first of several threads that need it, and removed by the last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.before: list[tuple[Any, int]] = []

    @functools.cached_property
    def libraries(self) -> list[Any]:
        """BLAS libraries of NumPy and SciPy, located once."""
        # load the library that SciPy uses: it can be limited only after it is loaded. Wheels ship one with the
        # package; otherwise SciPy uses NumPy's. Importing `scipy.linalg` would also load it, but takes fifty times as
        # long
        package = Path(scipy.__path__[0])
        for folder in (package.with_name("scipy.libs"), package / ".dylibs"):
            for library in folder.glob("*openblas*"):
                with suppress(OSError):  # loaded, or rejected, by the code that needs it
                    ctypes.CDLL(str(library))
        return list(ThreadpoolController().select(user_api="blas").lib_controllers)

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                found = [(library, library.get_num_threads()) for library in self.libraries]
                self.before = [(library, threads) for library, threads in found if threads is not None and threads > 1]
                for library, _ in self.before:
                    library.set_num_threads(1)
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self._lift()

    def _lift(self) -> None:
        for library, threads in self.before:
            if (
                library.get_num_threads() == 1
            ):  # otherwise other code has set it in the meantime, and that value is kept
                library.set_num_threads(threads)
        self.before = []

    def forget(self) -> None:
        """Reset the count in a forked process, in which the threads that needed the limit do not exist."""
        self.lock, self.users = threading.Lock(), 0
        self._lift()


_LIMIT = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIMIT.forget)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra on one thread within the context, and restore the previous number afterwards. Threads may enter it
    concurrently."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


def on_one_blas_thread(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Decorator of functions whose linear algebra runs on one thread."""

    @functools.wraps(function)
    def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Answer:
        with one_blas_thread():
            return function(*arguments, **keywords)

    return call
