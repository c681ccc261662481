"""Linear algebra on one thread within analyses, and the user's number of threads before and after."""

import os
import subprocess
import sys
import threading

import pytest

from pliant import derive, equilibrium, load, modes
from pliant.analysis.linear import eigenmodes
from pliant.analysis.numerics import blas_threads
from pliant.analysis.numerics.blas_threads import on_one_blas_thread, one_blas_thread


class Library:
    """What threadpoolctl gives for a library."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def get_num_threads(self) -> int:
        return self.threads

    def set_num_threads(self, threads: int) -> None:
        self.threads = threads


@pytest.fixture
def library(monkeypatch):
    found = Library(4)
    limit = blas_threads._Limit()
    limit.__dict__["libraries"] = [found]
    monkeypatch.setattr(blas_threads, "_LIMIT", limit)
    return found


def test_the_limit_is_nested_and_lifted(library):
    with one_blas_thread():
        assert library.threads == 1
        with one_blas_thread():
            assert library.threads == 1
        assert library.threads == 1
    assert library.threads == 4


def test_an_exception_lifts_it(library):
    @on_one_blas_thread
    def fails():
        assert library.threads == 1
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert library.threads == 4


def test_threads_that_overlap_lift_it_once(library):
    """The second begins within the first and ends after it: saving and restoring by each would leave the user with one thread."""
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def first():
        with one_blas_thread():
            first_in.set()
            second_in.wait(10)
        first_out.set()

    def second():
        first_in.wait(10)
        with one_blas_thread():
            second_in.set()
            first_out.wait(10)
            seen.append(library.threads)

    both = [threading.Thread(target=job) for job in (first, second)]
    for job in both:
        job.start()
    for job in both:
        job.join(20)
    assert seen == [1]
    assert library.threads == 4


def test_what_the_user_sets_meanwhile_stays(library):
    with one_blas_thread():
        library.set_num_threads(3)
    assert library.threads == 3


def test_analyses_use_it(library, monkeypatch):
    seen = []
    real = eigenmodes.eigenpairs
    monkeypatch.setattr(eigenmodes, "eigenpairs", lambda *a, **k: (seen.append(library.threads), real(*a, **k))[1])
    eqs = derive(load("pendulum"))
    modes(eqs, at=equilibrium(eqs))
    assert seen == [1]
    assert library.threads == 4


def test_a_process_has_its_threads_back():
    """The real library: the previous number is restored afterwards, and it is one within."""
    program = """
from pliant.analysis.numerics.blas_threads import _LIMIT, one_blas_thread
before = [x.get_num_threads() for x in _LIMIT.libraries]
with one_blas_thread():
    assert all(x.get_num_threads() == 1 for x in _LIMIT.libraries)
assert before == [x.get_num_threads() for x in _LIMIT.libraries]
print(max(before))
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("1", "2")  # as many as the machine has
