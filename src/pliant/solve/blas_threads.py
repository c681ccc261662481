"""Linear algebra on one thread while an analysis runs.

NumPy and SciPy hand matrices to OpenBLAS, which starts a thread per core from some hundred rows on. Matrices of robots are too
small for that to pay: the threads wait for each other, longest on a machine that has other work.
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
    """The one limit of the process: set by the first of several threads that need it, and lifted by the last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.before: list[tuple[Any, int]] = []

    @functools.cached_property
    def libraries(self) -> list[Any]:
        """BLAS libraries of NumPy and SciPy; looked for once."""
        _load_blas_of_scipy()
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
            if library.get_num_threads() == 1:  # otherwise someone else has set it meanwhile, and it is theirs
                library.set_num_threads(threads)
        self.before = []

    def forget(self) -> None:
        """In a forked process: the threads that needed the limit are not there."""
        self.lock, self.users = threading.Lock(), 0
        self._lift()


def _load_blas_of_scipy() -> None:
    """Load the library that SciPy's parts will use, which can only be limited once it is there.

    Wheels bring one beside the package; elsewhere it is NumPy's. Importing `scipy.linalg` would do it too, in fifty times as long.
    """
    package = Path(scipy.__path__[0])
    for folder in (package.with_name("scipy.libs"), package / ".dylibs"):
        for library in folder.glob("*openblas*"):
            with suppress(OSError):  # it will be loaded, or rejected, by who needs it
                ctypes.CDLL(str(library))


_LIMIT = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIMIT.forget)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one thread within; the number from before afterwards. Any number of threads may be within at once."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


def on_one_blas_thread(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Decorator of a function whose linear algebra is to run on one thread."""

    @functools.wraps(function)
    def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Answer:
        with one_blas_thread():
            return function(*arguments, **keywords)

    return call
