"""Runs in one call are bitwise identical to those of `simulate`; runs that need more are left to it."""

import numpy as np
import pytest

import pliant
from pliant.analysis.motion.uninterrupted_runs import ONE_CALL, UninterruptedRuns
from pliant.analysis.simulate import Simulate

KEPT = ("q", "v", "a", "multiplier")


def new_room(name, axes, shape):
    return np.empty(shape)


def run_whole(eqs, kept=KEPT, **options):
    request = Simulate.of(options).request()
    quick = UninterruptedRuns(request, eqs, kept)
    assert quick.possible
    state = eqs.initial_state(t=request.begin)
    rate = float(quick.rates([(eqs.binding, state)])[0])
    run = quick.ready(eqs, state, rate, new_room)
    quick.go([run])
    return quick, run


@pytest.mark.parametrize(
    ("robot", "inputs", "options"),
    [
        ("stiff_flop", {"p1": 2e4}, {"until": 1.0}),
        ("stiff_flop", {"p1": ([0, 0.3, 0.4], [0, 2e4, 1e4])}, {"until": 0.5, "begin": 0.1, "save_at": [0.2, 0.45]}),
        ("double_pendulum", {}, {"until": 0.5}),
        ("four_bar", {}, {"until": 0.3, "method": "generalized_alpha", "step": 1e-3}),
        ("cart_pole", {}, {"until": 0.3, "controllers": False, "method": "explicit"}),
        ("spring_mass_chain", {}, {"until": 0.2}),
    ],
)
def test_they_are_the_runs_of_simulate(robot, inputs, options):
    eqs = pliant.derive(robot).at(inputs=inputs)
    outputs = tuple(f"output.{name}" for name in eqs.model.spec.outputs)
    plain = UninterruptedRuns(Simulate.of(options).request(), eqs, (*KEPT, *outputs)).possible
    quick, found = run_whole(eqs, (*KEPT, *outputs) if plain else KEPT, **options)
    expected = pliant.simulate(eqs, **options)
    assert found.t == pytest.approx(options["until"])
    for name, (axes, values) in quick.kept_of(found).items():
        assert axes == expected.recorded.variables[name][0]
        assert np.array_equal(values, expected.recorded[name]), name


def test_a_run_whose_method_is_looked_at_again_is_left_to_others():
    quick, found = run_whole(pliant.derive("stiff_flop"), until=0.5, rtol=1e-6)
    assert pliant.simulate(pliant.derive("stiff_flop"), 0.5, rtol=1e-6).timing.steps > 100
    assert found.t is None
    assert (quick.tried, quick.ended) == (1, 0)
    quick.tried = ONE_CALL.tried
    assert not quick.worthwhile
    quick.ended = int(ONE_CALL.ended * ONE_CALL.tried)
    assert quick.worthwhile


@pytest.mark.parametrize(
    ("robot", "kept", "options"),
    [
        ("stiff_flop", ("kinetic",), {}),
        ("stiff_flop", KEPT, {"mid_step": lambda now: None}),
        ("stiff_flop", KEPT, {"progress": lambda *given: None}),
        ("four_bar", KEPT, {"formulation": "reduced"}),
        ("hopper", KEPT, {}),
    ],
)
def test_what_needs_python_on_its_way_is_none(robot, kept, options):
    assert not UninterruptedRuns(Simulate(until=0.1, **options).request(), pliant.derive(robot), kept).possible
