"""Runs that do not get on: given up with a reason, ended by Ctrl-C, and seen while they last."""

import io
import json
from dataclasses import dataclass

import pytest

from pliant import ArgumentError, derive, load_text, simulate
from pliant.analysis.base import analysis
from pliant.analysis.integrators import ExplicitRungeKutta, chosen_method
from pliant.analysis.motion import run as runs
from pliant.analysis.motion.run import PACE, ProgressMonitor
from pliant.cli import run as command
from pliant.cli.common import ProgressLine, duration_text

STIFF = """
pliant: 1
bodies: {m: {mass: 1 kg}}
joints: {x: {type: prismatic, child: m, axis: x, displacement: {name: slide, initial: 1 mm, spring: 1e12 N/m}}}
"""


def test_a_run_of_too_many_steps_is_given_up_with_what_was_computed():
    """A mode of 159 kHz over 100 s needs some 1e8 explicit steps; the limit is set below that."""
    eqs = derive(load_text(STIFF))
    run = simulate(eqs, 100.0, method=ExplicitRungeKutta(max_steps=1e6), on_failure="return")
    assert run.status == "failed"
    for word in ("too small to continue", "'slide' moves fastest", "max_steps", "results so far are kept"):
        assert word in run.message
    assert 0 < run.time[-1] < 1
    assert PACE.judged <= run.timing.steps + run.timing.rejected < 20 * PACE.judged


def test_a_run_within_the_limit_goes_on_and_fixed_steps_have_none():
    eqs = derive(load_text(STIFF))
    assert simulate(eqs, 0.05, method=ExplicitRungeKutta(max_steps=1e6)).status == "completed"
    assert simulate(eqs, 0.05, method=ExplicitRungeKutta(step=1e-7)).status == "completed"
    with pytest.raises(ArgumentError, match="max_steps has no effect with a fixed step"):
        ExplicitRungeKutta(step=1e-7, max_steps=10)


@dataclass
class Fake:
    t: float = 0.0
    steps: int = 0
    rejected: int = 0


def test_a_short_hard_stretch_is_no_reason_to_give_up():
    going = Fake()
    judged = ProgressMonitor(going, end=1.0, most_steps=1e8)
    going.steps, going.t = PACE.judged - 1, 1e-9
    assert judged.check() == ""
    going.steps, going.t = 2 * PACE.judged, 0.5
    assert judged.check() == ""
    going.rejected, going.t = PACE.judged, 0.5
    assert "the end cannot be reached" in judged.check()


def test_laps_grow_until_a_look_costs_nothing_and_shrink_when_they_take_long(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(runs.time, "perf_counter", lambda: clock[0])
    judged = ProgressMonitor(Fake(), end=1.0, most_steps=1e8)
    for _ in range(8):
        judged.begin()
        judged.check()
    assert judged.chunk == 256
    judged.begin()
    clock[0] += 1.0
    judged.check()
    assert judged.chunk == 128


def test_progress_is_shown_on_a_terminal_and_in_a_file(monkeypatch):
    clock, reported = [0.0], analysis("simulate").of({"until": 10.0}).reported
    monkeypatch.setattr("pliant.cli.common.time.perf_counter", lambda: clock[0])

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, lines in ((Terminal(), 3), (io.StringIO(), 1)):
        clock[0] = 0.0
        with ProgressLine(stream) as line:
            line(*reported(0.0, 10.0, 1))
            assert stream.getvalue() == ""  # a moment needs no bar
            for k in range(3):
                clock[0] = 10.0 + k
                line(*reported(1.0 + 0.1 * k, 10.0, 500 + k))
        assert stream.getvalue().count(" of 10 s, 50") == lines
        assert "t = 1 of 10 s, 500 steps" in stream.getvalue()
        assert " left" in stream.getvalue()
    assert [duration_text(x) for x in (12.3, 300, 20000, 1e6)] == ["12 s", "5 min", "5.56 h", "11.6 days"]


@pytest.mark.parametrize("arguments", [["simulate", "four_bar"], ["run", "four_bar"]])
def test_ctrl_c_says_what_was_computed_and_ends_with_130(capsys, monkeypatch, arguments):
    def interrupt(self, *report):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "__call__", interrupt)
    assert command([*arguments, "--json"]) == 130
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "stopped"
    last = answer["analyses"][-1] if "analyses" in answer else answer
    assert last["message"].startswith("stopped by Ctrl-C at t = ")
    assert last["samples"]


def test_ctrl_c_outside_of_a_run_gives_one_json_object(capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.analysis.equilibrium.FindEquilibrium.run", interrupt)
    assert command(["equilibrium", "pendulum", "--json"]) == 130
    assert json.loads(capsys.readouterr().out)["message"] == "interrupted"


def test_ctrl_c_ends_the_reduced_formulation_as_any_other():
    eqs = derive("four_bar")

    def interrupt(t, end, steps):
        if t > 0.2:
            raise KeyboardInterrupt

    run = simulate(eqs, 2.0, formulation="reduced", progress=interrupt)
    assert run.interrupted
    assert 0 < run.time[-1] <= 0.3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rtol": 0}, "rtol must be a number between"),
        ({"rtol": -1e-6}, "rtol must be a number between"),
        ({"atol": 0}, "atol must be a positive number"),
        ({"method": "explict"}, "did you mean 'explicit'?"),
        ({"method": 3}, "the method cannot be 3"),
        ({"method": ExplicitRungeKutta(), "rtol": 1e-9}, r"write method=ExplicitRungeKutta\(rtol=1e-09\)"),
        ({"method": "semi_implicit"}, "needs the option 'step'"),
        ({"independent": ("q1",)}, "apply to the formulation 'reduced'"),
        ({"formulation": "reduce"}, "did you mean 'reduced'?"),
        ({"formulation": "reduced", "method": "explicit"}, "has its own method"),
        ({"until": "soon"}, "until: cannot read 'soon' as a value"),
        ({"until": None}, "until: expected a value .* got nothing"),
        ({"until": (0, 1)}, "until: expected a value .* got a list of 2"),
    ],
)
def test_settings_that_would_be_ignored_are_refused(options, words):
    options = {"until": 0.1, **options}
    with pytest.raises(ArgumentError, match=words):
        simulate(derive("four_bar"), options.pop("until"), **options)


def test_a_method_may_be_given_by_name():
    run = simulate(derive("four_bar"), 0.1, method="implicit", rtol=1e-4)
    assert run.method == "implicit Rosenbrock method of order 4, rtol 0.0001 (chosen by the caller)"
    assert chosen_method(None) is None
    assert chosen_method(None, step=0.01).name == "generalized_alpha"


def test_the_reduced_formulation_needs_loops():
    with pytest.raises(ArgumentError, match="this robot has none"):
        simulate(derive("pendulum"), 0.1, formulation="reduced")
