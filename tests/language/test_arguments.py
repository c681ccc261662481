"""Arguments in Python: wrong values are rejected by one type of error with the reason, the location and a suggestion."""

import numpy as np
import pytest

import pliant
from pliant import ArgumentError, derive, load_text

LIMITED = """
pliant: 1
parameters:
  stiffness: {value: 100 N/m, minimum: 10 N/m, maximum: =hardest}
  hardest: 1000 N/m
  mass: {value: 1 kg, minimum: 0.1 kg}
  push: {value: 0 N, input: true}
bodies: {block: {mass: =mass}}
joints: {slide: {type: prismatic, child: block, axis: z, displacement: {spring: =stiffness, damper: 5, input: =push}}}
outputs: {place: {coordinate: slide}}
"""


@pytest.fixture(scope="module")
def slider():
    return derive(load_text(LIMITED))


ANALYSES = {
    "simulate": lambda eqs, **more: pliant.simulate(eqs, 0.1, **more),
    "equilibrium": lambda eqs, **more: pliant.equilibrium(eqs, **more),
    "equilibria": lambda eqs, **more: pliant.equilibria(eqs, starts=1, **more),
    "modes": lambda eqs, **more: pliant.modes(eqs, **more),
    "linearize": lambda eqs, **more: pliant.linearize(eqs, **more),
    "continuation": lambda eqs, **more: pliant.continuation(eqs, parameter="push", to=1.0, **more),
    "energy": lambda eqs, **more: eqs.energy([0.0], [0.0], **more),
    "forward_dynamics": lambda eqs, **more: eqs.forward_dynamics([0.0], [0.0], **more),
}


@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"parameters": {"stiffness": 1.0}}, "'stiffness' is 1, below its minimum of 10"),
        ({"parameters": {"stiffness": 5000.0}}, "'stiffness' is 5000, above its maximum of 1000"),
        ({"parameters": {"stiffness": 800.0, "hardest": 500.0}}, "above its maximum of 500"),
        ({"parameters": {"mass": "2 kg"}}, r"'mass' must be a finite number, not '2 kg' \(a value in SI units"),
        ({"parameters": {"mass": None}}, "'mass' must be a finite number, not nothing"),
        ({"parameters": {"mass": float("nan")}}, "'mass' must be a finite number, not nan"),
        ({"parameters": {"mass": np.complex128(1)}}, "'mass' must be a finite number"),
        ({"parameters": [1.0]}, "parameters must map names to numbers"),
        ({"inputs": {"push": "a lot"}}, "the input 'push': cannot read 'a lot' as a value"),
        ({"inputs": {"pull": 1.0}}, "unknown input 'pull'"),
        ({"inputs": 3.0}, "inputs must map names to numbers"),
    ],
)
def test_values_of_parameters_and_inputs_are_checked_by_every_analysis(slider, analysis, given, words):
    with pytest.raises(ArgumentError, match=words):
        ANALYSES[analysis](slider, **given)


def test_values_on_and_within_the_limits_are_taken(slider):
    soft = pliant.equilibrium(slider, parameters={"stiffness": 10.0})
    assert soft.q[0] == pytest.approx(-0.981)
    wide = pliant.equilibrium(slider, parameters={"stiffness": 2000.0, "hardest": 3000.0})
    assert wide.q[0] == pytest.approx(-9.81 / 2000)
    assert pliant.equilibrium(slider, parameters={"stiffness": np.array([20.0])}).q[0] == pytest.approx(-9.81 / 20)
    # the limit also applies to an earlier value
    slider.at(parameters={"stiffness": 5000.0}, within_limits=False).binding.mass_matrix([0.0])
    with pytest.raises(ArgumentError, match="above its maximum"):
        pliant.equilibrium(slider, parameters={"stiffness": 5000.0})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda eqs: pliant.modes(eqs, count=-1), "count: expected at least 1, got -1"),
        (lambda eqs: pliant.modes(eqs, count=1.5), "count: expected an integer, got 1.5"),
        (lambda eqs: pliant.modes(eqs, at=3), r"at must be a State.*at=pliant.equilibrium\(eqs\)"),
        (lambda eqs: pliant.modes(eqs, at=[0.0, 1.0]), "at must have 1 entries"),
        (lambda eqs: pliant.linearize(eqs, at="start"), "at: expected initial or equilibrium, got 'start'"),
        (lambda eqs: pliant.linearize(eqs, at=[float("nan")]), "not finite at index 0"),
        (lambda eqs: pliant.equilibrium(eqs, start="there"), "start: expected initial, got 'there'"),
        (lambda eqs: pliant.equilibrium(eqs, tolerance=0), "tolerance must be above zero"),
        (lambda eqs: pliant.equilibria(eqs, starts=0), "starts: expected at least 1, got 0"),
        (lambda eqs: pliant.simulate(eqs, 0.1, start=3.0), "start must be a State"),
        (lambda eqs: pliant.simulate(eqs, 0.1, start=["x"]), "start must have 1 entries"),
        (lambda eqs: pliant.simulate(eqs, 0.1, save_every="often"), "save_every: cannot read 'often' as a value"),
        (lambda eqs: pliant.simulate(eqs, 0.1, save_at=["late"]), "cannot read 'late' as a value"),
        (lambda eqs: pliant.simulate(eqs, 0.1, t_eval=[0.1]), r"no argument 't_eval' \(write `save_at`\)"),
        (lambda eqs: pliant.continuation(eqs, parameter="stiffness", to=1.0), "below its minimum"),
        (lambda eqs: pliant.continuation(eqs, parameter="push", to="far"), "to: "),
        (
            lambda eqs: pliant.continuation(eqs, parameter="push", to=1.0, max_points=0),
            "max_points: expected at least 2, got 0",
        ),
        (lambda eqs: pliant.continuation(eqs, parameter="push", to=1.0, imperfection={"slide": "x"}), "imperfection"),
        (lambda eqs: pliant.inverse_kinematics(eqs, "block", "there"), "position"),
        (lambda eqs: pliant.inverse_kinematics(eqs, "block", [0, 0, 0], starts=0), "starts"),
        (lambda eqs: eqs.mass_matrix("q"), "q must have 1 entries in one dimension, not be 'q'"),
        (lambda eqs: derive(3), "a robot cannot be 3"),
        (
            lambda eqs: pliant.simulate("pendulum", 1.0),
            r"an analysis needs equations, not 'pendulum' \(write pliant.derive",
        ),
        (lambda eqs: pliant.modes("pendulum"), "an analysis needs equations"),
        (lambda eqs: pliant.equilibrium("pendulum"), "an analysis needs equations"),
        (lambda eqs: pliant.linearize(None), "an analysis needs equations"),
        (lambda eqs: pliant.modes(eqs, time="now"), "time: cannot read 'now' as a value"),
        (lambda eqs: pliant.modes(eqs, parameters={"mas": 1.0}), r"unknown parameter 'mas' \(did you mean 'mass'"),
        (lambda eqs: pliant.simulate(eqs, 0.1, events=[3]), "an event cannot be 3"),
        (lambda eqs: pliant.Event("place", direction="up"), "unknown direction of an event 'up'"),
        (
            lambda eqs: pliant.continuation(eqs, parameter="push", to=1.0, branch=1, mode=0),
            "mode: expected at least 1, got 0",
        ),
    ],
)
def test_wrong_values_are_refused_with_what_to_do(slider, call, words):
    with pytest.raises(ArgumentError, match=words):
        call(slider)


def test_one_independent_coordinate_needs_no_tuple():
    four_bar = derive("four_bar")
    assert pliant.linearize(four_bar, independent="q1").independent == ("q1",)
    run = pliant.simulate(four_bar, 0.1, formulation="reduced", independent="q1")
    assert run.method.startswith("reduced to q1")


def test_an_equilibrium_or_a_run_says_where(slider):
    rest = pliant.equilibrium(slider)
    run = pliant.simulate(slider, 0.1)
    assert pliant.modes(slider, at=rest).state.q == pytest.approx(rest.q)
    hard = pliant.equilibrium(slider, parameters={"stiffness": 400.0})
    assert pliant.modes(slider, at=hard).frequencies == pytest.approx(2 * pliant.modes(slider).frequencies)
    assert pliant.linearize(slider, at=run).state.v == pytest.approx(run.v[-1])
    assert pliant.equilibrium(slider, start=run).q == pytest.approx(rest.q)


def test_an_equilibrium_or_a_run_brings_its_time_along():
    """The torque of a pendulum grows with time: what rests at 5 s is at rest there, and nowhere else."""
    pendulum = derive(
        load_text("""
pliant: 1
parameters: {torque: {value: 0 N*m, input: true}}
inputs: {torque: {ramp: {start: 0 s, end: 10 s, before: 0 N*m, after: 4 N*m}}}
bodies: {rod: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m], shape: {type: slender_rod, length: 1 m, axis: z}}}
joints: {hinge: {type: revolute, child: rod, axis: y, angle: {input: =torque}}}
""")
    )
    rest = pliant.equilibrium(pendulum, time=5.0)
    assert rest.q == pytest.approx([np.arcsin(2 / (9.81 * 0.5))])
    inertia = 1 / 3
    linear = pliant.linearize(pendulum, at=rest)
    assert linear.residual == pytest.approx(0, abs=1e-9)
    assert linear.input_values == pytest.approx([2.0])
    assert pliant.linearize(pendulum, at=rest, time=0.0).residual == pytest.approx(2 / inertia)
    assert pliant.modes(pendulum, at=rest).state.t == 5.0
    run = pliant.simulate(pendulum, 6.0, begin=5.0, start=rest)
    assert pliant.linearize(pendulum, at=run).input_values == pytest.approx([2.4])
