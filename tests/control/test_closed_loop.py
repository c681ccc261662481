"""The check of the whole sampled loop: against theory where there is one, and against motions of the nonlinear robot."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import pliant
from pliant.analysis.linearize import StateSpace
from pliant.analysis.motion.sampled_control import model_controllers
from pliant.control import StateFeedback, closed_loop, discretize, kalman, lqr, reduce
from pliant.control.discrete import system_modes
from pliant.control.feedback import ClosedLoop, mode_of_motion

SAMPLE = 0.02
WEIGHTS = {"states": [10.0, 50.0, 1.0, 1.0], "inputs": 0.1}


@pytest.fixture(scope="module")
def eqs() -> pliant.Equations:
    return pliant.derive("cart_pole")


@pytest.fixture(scope="module")
def upright(eqs: pliant.Equations) -> StateSpace:
    return pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge")).select(outputs=("cart", "pole"))


def largest_first(values: np.ndarray) -> np.ndarray:
    values = values[np.abs(values) > 1e-6]  # commands that are no longer remembered leave zeros
    return np.array(sorted(values, key=lambda x: (-round(abs(x), 9), x.imag)))


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.03])
def test_poles_are_those_of_regulator_and_observer_together(
    eqs: pliant.Equations, upright: StateSpace, delay: float
) -> None:
    """The separation principle: the design is complete, so the loop has both sets of poles."""
    sampled = discretize(upright, SAMPLE, delay=delay)
    regulator = lqr(sampled, **WEIGHTS)
    known = closed_loop(StateFeedback(eqs, regulator))
    np.testing.assert_allclose(largest_first(known.poles), largest_first(regulator.poles), atol=1e-9)
    observer = kalman(sampled, process=1e-6, inputs=1.0, outputs=1e-6)
    loop = closed_loop(StateFeedback(eqs, regulator, observer=observer))
    both = np.concatenate([regulator.poles, observer.poles])
    np.testing.assert_allclose(largest_first(loop.poles), largest_first(both), atol=1e-8)
    assert loop.stable
    assert loop.warning == ""


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.02])
def test_sensors_that_feel_the_input_see_the_command_before(delay: float) -> None:
    """An accelerometer on the cart shows the force at once; at a sample that is the force of the last command."""
    text = pliant.dump(pliant.load("cart_pole")) + "\n"
    text = text.replace("outputs:", "outputs:\n  jerked: {frame: cart, quantity: acceleration}", 1)
    eqs = pliant.derive(pliant.load_text(text))
    linear = pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge"))
    linear = linear.select(outputs=("cart", "pole", "jerked.x"))
    assert np.abs(linear.D).max() > 0.1
    sampled = discretize(linear, SAMPLE, delay=delay)
    regulator, observer = lqr(sampled, **WEIGHTS), kalman(sampled, process=1e-6, inputs=1.0, outputs=1e-6)
    loop = closed_loop(StateFeedback(eqs, regulator, observer=observer))
    both = np.concatenate([regulator.poles, observer.poles])
    np.testing.assert_allclose(largest_first(loop.poles), largest_first(both), atol=1e-7)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.033, 0.05])
def test_growth_is_that_of_the_motion(eqs: pliant.Equations, upright: StateSpace, delay: float) -> None:
    """A design without delay, run with one: the nonlinear motion decays or grows like the largest pole."""
    regulator = lqr(discretize(upright, SAMPLE), states=[10.0, 50.0, 1.0, 1.0], inputs=1e-3)
    controller = StateFeedback(eqs, regulator)
    controller.delay = delay
    loop = closed_loop(controller)
    assert loop.stable == (delay < 0.03)
    small = pliant.State(np.array([0.0, 1e-7]), np.zeros(2))
    samples = 60
    run = pliant.simulate(
        eqs, samples * SAMPLE, start=small, controllers=controller, save_every=SAMPLE, rtol=1e-10, atol=1e-18
    )
    if loop.stable:
        assert np.abs(run.q[-10:]).max() < np.abs(run.q[:10]).max()
        return
    assert fitted_pole(run.q[-30:, 1]) == pytest.approx(
        np.abs(loop.poles[0].real) + 1j * abs(loop.poles[0].imag), rel=1e-3
    )
    assert "a motion of the loop at" in loop.warning
    assert "grows" in loop.warning


def fitted_pole(x: np.ndarray) -> complex:
    """The pole (of a pair) of a motion that one pair has taken over: x[k+2] = a x[k+1] + b x[k]."""
    a, b = np.linalg.lstsq(np.column_stack([x[1:-1], x[:-2]]), x[2:], rcond=None)[0]
    return complex(max(np.roots([1, -a, -b]), key=lambda z: z.imag))


LEG = """
control:
  damp:
    type: lqr
    sample_time: 2 ms
    keep: 3
    output_weights: [{output: middle, weight: WEIGHT}]
    input_weights: [{input: hold, weight: 1}]
    sensors: [{output: middle, noise: 0.001 mm}]
"""


@pytest.mark.parametrize("weight", [10.0, 1e9])
def test_what_feedback_does_to_a_mode_that_the_design_leaves_out_is_seen(weight: float) -> None:
    """High gains excite vibrations of the leg's spring that the regulator neglects; the motion has the reported pole."""
    text = pliant.dump(pliant.load("leg@pretensioned")) + LEG.replace("WEIGHT", f"{weight:g}")
    eqs = pliant.derive(pliant.load_text(text))
    rest = pliant.equilibrium(eqs)
    (controller,) = model_controllers(eqs)
    controller.noise = {}
    step = pliant.GeneralizedAlpha(step=1e-4)
    push = pliant.simulate(eqs, 0.002, start=rest, inputs={"hold": 1.2 + 1e-5}, controllers=(), method=step)
    start = pliant.State(push.final.q, push.final.v)
    run = pliant.simulate(eqs, 0.24, start=start, controllers=controller, method=step, save_every=2e-3)
    away = run["middle"].values[:, 0] - rest.outputs["middle"][0]
    loop = closed_loop(controller)
    if loop.stable:
        assert not run.remarks
        assert np.abs(away).max() < 1e-7
        return
    assert np.abs(away).max() > 1e-6
    assert weight > 10
    (warning,) = run.remarks
    assert f"largest pole {loop.largest:.6g}" in warning
    pole = loop.poles[0]
    assert fitted_pole(away[-20:]) == pytest.approx(pole.real + 1j * abs(pole.imag), rel=0.01)


def test_modes_left_out_are_named() -> None:
    text = pliant.dump(pliant.load("leg@pretensioned")) + LEG.replace("WEIGHT", "1e7")
    (controller,) = model_controllers(pliant.derive(pliant.load_text(text)))
    (warning,) = controller.remarks
    assert "the mode at 169.2 Hz" in warning
    assert "which the design neglects, grows (by " in warning
    assert "include that mode in the design" in warning


def test_the_published_regulator_of_the_leg_leaves_no_mode_to_grow() -> None:
    """Modes, sampling and observer together; without the observer's side effects `spillover` sees nothing either."""
    eqs = pliant.derive("leg@pretensioned")
    slow = reduce(pliant.linearize(eqs, at=pliant.equilibrium(eqs)).select(outputs=("middle",)), keep=3)
    sampled = discretize(slow.linear, 2e-3)
    regulator = lqr(sampled, states=np.diag([0.0, 0.1, 0.1, 1.0, 1.0]), inputs=300.0)
    observer = kalman(sampled, process=0.0, inputs=1.0, outputs=1e-8)
    controller = StateFeedback(eqs, regulator, slow, observer)
    assert 0.9995 < closed_loop(controller).largest < 1
    assert slow.spillover(regulator.gain).stable
    controller.delay = 0.012  # a delay that the design does not contain
    late = closed_loop(controller)
    assert late.largest > 1
    assert late.mode is not None
    assert late.mode.frequency == pytest.approx(slow.kept[-1].frequency)
    assert not late.neglected


def test_a_motion_that_costs_nothing_is_said_to_want_a_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cart without friction, whose position has no weight: the regulator lets it roll."""
    free = pliant.derive(
        pliant.load_text("""
pliant: 1
parameters: {force: {value: 0 N, input: true}}
bodies: {cart: {mass: 1 kg}, pole: {mass: 100 g, center_of_mass: [0, 0, 50 cm]}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {input: =force}}
  hinge: {type: revolute, parent: cart, child: pole, axis: y}
""")
    )
    linear = pliant.linearize(free, at=np.zeros(2))
    with pytest.raises(ValueError, match=r"the weights do not include .* \(mostly rail\)"):
        lqr(discretize(linear, SAMPLE), states={"hinge": 50.0})
    monkeypatch.setattr(sys.modules["pliant.control.lqr"], "check_weighted", lambda *arguments, **options: None)
    design, refusal = None, ""
    try:
        design = lqr(discretize(linear, SAMPLE), states={"hinge": 50.0})
    except ValueError as reason:  # round-off decides whether the Riccati solver takes this limiting case
        refusal = str(reason)
    if design is None:
        assert "add weights on every mode that does not decay by itself" in refusal
    else:
        loop = closed_loop(StateFeedback(free, design))
        assert loop.largest == pytest.approx(1.0, abs=1e-6)
        assert "(mostly rail) does not decay" in loop.warning
        assert "Add a weight on the states that it moves" in loop.warning
    assert not closed_loop(StateFeedback(free, lqr(discretize(linear, SAMPLE), states={"rail": 1.0}))).warning


RULER = """
pliant: 1
parameters: {torque: {value: 0 N*m, input: true}}
materials: {steel: {density: 7850 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
sections: {wire: {shape: circle, radius: 2 mm}}
bodies: {hub: {mass: 1 kg, inertia: {principal: [1e-3, 1e-3, 1e-3]}}}
joints: {hinge: {type: revolute, child: hub, axis: y, angle: {input: =torque, spring: 1 N*m/rad, damper: 0.1 N*m*s/rad}}}
rods:
  rod: {parent: hub, length: 60 cm, section: wire, material: steel, strains: [planar, unshearable], model: {kind: pcs, elements: 2}}
outputs: {hinge: {coordinate: hinge}}
"""


def test_modes_above_half_the_sampling_frequency_keep_their_own() -> None:
    """Sampled, such a mode is seen at another frequency; either of its two poles may turn the way that its shape does."""
    whole = pliant.linearize(pliant.derive(pliant.load_text(RULER)))
    sample = 0.002
    modes = system_modes(whole.A, names=whole.states)
    assert sum(mode.frequency * sample > 0.5 for mode in modes) >= 2
    for mode in modes:
        pole = complex(np.exp(mode.eigenvalue * sample))
        for one, shape in ((pole, mode.right), (pole.conjugate(), mode.right.conj())):
            found = mode_of_motion(whole, one, shape, sample)
            assert found is not None
            assert found.eigenvalue == mode.eigenvalue
    fast = modes[-1]
    loop = ClosedLoop(np.exp([fast.eigenvalue * sample]), fast, True, (), sample)
    seen = abs(fast.frequency - np.round(fast.frequency * sample) / sample)
    assert f"the mode at {fast.frequency:.4g} Hz" in loop.warning
    assert f"which aliases to {seen:.4g} Hz and which the design neglects," in loop.warning
    assert repr(loop).startswith("ClosedLoop: not stable, 1 poles per sample of 0.002 s, largest ")
    assert f"by {abs(np.log(loop.largest)) / sample:.4g} 1/s); in the open loop the mode at" in repr(loop)


def test_designs_are_printed_on_a_few_lines(eqs: pliant.Equations, upright: StateSpace) -> None:
    slow = reduce(upright, keep=3)
    sampled = discretize(slow.linear, SAMPLE, delay=SAMPLE)
    regulator = lqr(sampled, inputs=0.1)
    observer = kalman(sampled, process=1e-6, inputs=1.0, outputs=1e-6)
    controller = StateFeedback(eqs, regulator, slow, observer)
    loop, beyond = closed_loop(controller), slow.spillover(regulator.gain[:, :3])
    for thing, begin in (
        (slow, "Reduction: 3 of 4 modes, 3 states of 4\nfastest kept: the mode "),
        (beyond, "Spillover: "),
        (loop, f"ClosedLoop: not stable, 8 poles per sample of 0.02 s, largest {loop.largest:.6g} ("),
        (
            sampled,
            "DiscreteStateSpace: 4 states, 1 inputs, 2 outputs; samples of 0.02 s, delay 0.02 s, 1 past commands",
        ),
        (regulator, "Regulator: 1 x 4 gain, largest of 4 poles "),
        (observer, "Observer: 4 x 2 gain, largest of "),
        (controller, "StateFeedback 'state feedback': inputs force on 3 modes; observer of "),
    ):
        assert repr(thing).startswith(begin)
        assert len(repr(thing)) < 400
