"""Time limits: analyses that check them stop, everything else is ended by the alarm of a command."""

from __future__ import annotations

import threading
import time

import pytest

from pliant.language.limits import GRACE, DeadlineExceeded, alarm_after, time_is_up, time_limit


def test_who_asks_is_told() -> None:
    assert time_is_up() == ""
    with time_limit(0.01):
        assert time_is_up() == ""
        time.sleep(0.02)
        assert time_is_up() == "stopped by the time limit of 0.01 s"
    assert time_is_up() == ""


def test_the_earlier_of_two_limits_holds() -> None:
    with time_limit(0.01), time_limit(100.0):
        time.sleep(0.02)
        assert "0.01 s" in time_is_up()
    with time_limit(100.0):
        with time_limit(0.01):
            time.sleep(0.02)
            assert "0.01 s" in time_is_up()
        assert time_is_up() == ""
        with time_limit(None):
            assert time_is_up() == ""


def test_a_limit_belongs_to_its_thread() -> None:
    said = []
    with time_limit(0.001):
        time.sleep(0.01)
        other = threading.Thread(target=lambda: said.append(time_is_up()))
        other.start()
        other.join()
    assert said == [""]


def test_the_alarm_ends_what_does_not_ask_and_spares_what_does() -> None:
    begin = time.monotonic()

    def compute() -> None:
        with time_limit(0.05) as deadline, alarm_after(deadline):
            while time.monotonic() < begin + 10:
                pass

    with pytest.raises(DeadlineExceeded, match=r"time limit of 0\.05 s"):
        compute()
    assert GRACE < time.monotonic() - begin < 5
    with time_limit(0.01) as deadline, alarm_after(deadline):
        time.sleep(0.02)
        assert time_is_up()
        time.sleep(GRACE + 0.2)  # as long as saving a result takes, say
    with alarm_after(None):
        pass
