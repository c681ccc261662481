"""Progress lines of commands: one that is redrawn on terminals, one for each stage elsewhere."""

from __future__ import annotations

import io

import pytest

from pliant.analysis.base import analysis
from pliant.cli import common
from pliant.cli.common import ProgressLine


class Terminal(io.StringIO):
    """A stream that can be drawn over."""

    def isatty(self) -> bool:
        return True


def search(stream: io.StringIO) -> str:
    with ProgressLine(stream) as line:
        for stage, count in (("fit", 3), ("profile of stiff", 1)):
            for k in range(count):
                line(stage, f"mean error {k} mm")
    with ProgressLine(stream):
        pass
    return stream.getvalue()


def test_each_stage_of_a_search_leaves_one_line() -> None:
    assert search(io.StringIO()).splitlines() == [
        "fit: 3 evaluations, mean error 2 mm",
        "profile of stiff: 1 evaluation, mean error 0 mm",
    ]


def test_on_a_terminal_the_line_is_drawn_anew_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "TERMINAL_AFTER", 0.0)
    monkeypatch.setattr(common, "TERMINAL_EVERY", 0.0)
    written = search(Terminal())
    assert written.count("\n") == 2
    assert "\rfit: 1 evaluation, mean error 0 mm" in written
    blank = " " * len("fit: 3 evaluations, mean error 2 mm")
    assert f"\r{blank}\rfit: 3 evaluations, mean error 2 mm\n" in written


def test_the_time_left_of_a_run_is_told_from_its_second_report_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100, 10))
    monkeypatch.setattr(common.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(common.ProgressLine, "is_due", lambda self: True)
    stream = io.StringIO()
    line = common.ProgressLine(stream)
    monkeypatch.setattr(line, "show", lambda text: stream.write(text + "\n"))
    for t, steps in ((0.1, 5), (0.2, 9), (0.2, 11), (1.0, 20)):
        line("simulating", f"{steps} steps", t)
    told = [text.rpartition("steps, ")[2] for text in stream.getvalue().splitlines()]
    assert told == ["time left unknown", "80 s left", "hardly any progress", "finished"]


def test_the_bar_of_a_run_that_begins_late_starts_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common.ProgressLine, "is_due", lambda self: True)
    run = analysis("simulate").of({"begin": 10.0, "until": 11.0})
    line, shown = common.ProgressLine(io.StringIO()), list[str]()
    line.terminal = True
    monkeypatch.setattr(line, "show", shown.append)
    for t in (10.0, 10.5, 11.0):
        line(*run.reported(t, 11.0, 1))
    assert [text.count("#") for text in shown] == [0, 15, 30]
