"""Monitored workers detect all kinds of failures, and failing cases are minimized."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from fuzz_targets import BYTES, Case, Target
from messages import BadMessage, check_words, refusals
from watching import attempt, minimized, outcomes


def behave(case: Case, folder: Path) -> None:
    """Do what the case says."""
    if case.data == b"raise":
        raise KeyError("lost")
    if case.data == b"hang":
        while True:
            time.sleep(0)
    if case.data == b"memory":
        assert np.ones(2 * 10**8).sum() > 0
    if case.data == b"crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if case.data == b"leave":
        os._exit(3)
    if b"x" in case.data and b"z" in case.data:
        raise ValueError("x and z")


TARGET = Target("any", lambda chance: Case(b"", ""), behave, seconds=0.5, pieces=(BYTES,))


def test_what_goes_wrong_is_noticed_and_the_next_case_runs(tmp_path: Path) -> None:
    words = [b"", b"raise", b"", b"hang", b"memory", b"", b"crash", b"leave", b""]
    found = list(outcomes(TARGET, lambda k: Case(words[k], ""), range(len(words)), tmp_path))
    kinds = [None if outcome.problem is None else outcome.problem.kind for outcome in found]
    assert kinds == [None, "KeyError", None, "hang", "memory", None, "SIGSEGV", "exit", None]
    assert [outcome.number for outcome in found] == list(range(len(words)))
    assert "lost" in found[1].problem.text
    assert found[3].seconds > 0.5


def test_a_case_is_made_small(tmp_path: Path) -> None:
    case = Case(b"abcxdefghzijk", "")
    problem = attempt(TARGET, case, tmp_path)
    assert minimized(TARGET, case, problem, tmp_path).data == b"xz"


def test_messages_are_in_words_of_our_own() -> None:
    check_words("the mass of 'a' is negative")
    for text in ("", "operands could not be broadcast together", "'NoneType' object is not iterable"):
        with pytest.raises(BadMessage), refusals(ValueError):
            raise ValueError(text)
    with refusals(ValueError):
        raise ValueError("the number is too large")
    with pytest.raises(KeyError), refusals(ValueError):
        raise KeyError("other")
