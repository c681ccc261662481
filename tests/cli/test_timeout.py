"""Time and memory limits of commands."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pliant.cli import COMMANDS, WITHOUT_END, command, run


def test_every_command_that_computes_has_a_limit() -> None:
    for name in ("check", "simulate", "sweep", "models"):
        assert name in COMMANDS
        options = {option for parameter in command(name).params for option in parameter.opts}
        assert ("--timeout" in options) == (name not in WITHOUT_END)


def test_a_simulation_stops_in_good_order(tmp_path, capsys) -> None:
    out = tmp_path / "run.nc"
    assert run(["simulate", "pendulum", "--until", "1e6", "--timeout", "0.2", "--out", str(out)]) == 124
    assert "stopped by the time limit of 0.2 s at t =" in " ".join(capsys.readouterr().out.split())


def test_what_does_not_ask_is_ended(monkeypatch, capsys) -> None:
    monkeypatch.setenv("PLIANT_LIMITS", "time=0.05")
    monkeypatch.setattr("pliant.cli.models.load_model", _never_ends)
    assert run(["show", "four_bar"]) == 124
    assert "pliant: stopped by the time limit of 0.05 s (allow more with --timeout" in capsys.readouterr().err


def _never_ends(*given, **more):
    while True:
        pass


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_wrong_times_are_refused(seconds: str, capsys) -> None:
    assert run(["check", "four_bar", "--timeout", seconds]) == 2
    assert "--timeout must be a number of seconds above zero" in capsys.readouterr().err


def test_wrong_limits_are_said(monkeypatch, capsys) -> None:
    monkeypatch.setenv("PLIANT_LIMITS", "elemnts=3")
    assert run(["check", "four_bar"]) == 2
    said = capsys.readouterr().err
    assert "PLIANT_LIMITS has 1 fault" in said
    assert "did you mean 'elements'?" in said


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
def test_memory_is_limited(tmp_path) -> None:
    code = "from pliant.cli import limit_memory; limit_memory(); import numpy; numpy.zeros(10**9)[:] = 1"
    environment = {**os.environ, "PLIANT_LIMITS": "memory=1GB"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "MemoryError" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["equilibria", "cantilever", "--starts", "100000"],
        ["validate", "catenary", "pendulum_period", "beam_frequencies"],
        ["optimize", "stiff_flop", "--minimize", "tip.x", "--vary", "p1=0:100 kPa", "--evaluations", "100000"],
        ["run", "stiff_flop@circling"],
    ],
    ids=lambda words: words[0],
)
def test_commands_of_many_analyses_end_with_the_first_that_is_stopped(words, tmp_path, monkeypatch, capsys) -> None:
    """Each analysis stops cleanly, which is not a failure, and no further ones are started."""
    monkeypatch.chdir(tmp_path)
    clock = iter(range(10**9))
    monkeypatch.setattr("pliant.language.limits.time.monotonic", lambda: float(next(clock)))  # a second for each look
    monkeypatch.setattr("pliant.language.limits.signal.setitimer", lambda *given: None)  # and no alarm
    assert run([*words, "--timeout", "5"]) == 124
    said = capsys.readouterr()
    assert "stopped by the time limit of 5 s" in " ".join((said.out + said.err).split())
    assert next(clock) < 200
