"""Force and stiffness from the motion: unbiased if the model is exact, with realistic deviations if not; errors have clear
messages."""

import numpy as np
import pytest

import pliant
from pliant.control import ContactObserver, StiffnessEstimate

HEAD = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters:
  push: {value: 0 N, input: true}
  spring: 80 N/m
"""
FORCES = """  fx: {value: 0 N, input: true}
  fy: {value: 0 N, input: true}
  fz: {value: 0 N, input: true}
"""
MASS = """
bodies: {x: {mass: 0}, y: {mass: 0}, tip: {mass: 0.3 kg}}
joints:
  qx: {type: prismatic, child: x, axis: x, displacement: {spring: =spring, damper: 4}}
  qy: {type: prismatic, parent: x, child: y, axis: y, displacement: {spring: =spring, damper: 4}}
  qz: {type: prismatic, parent: y, child: tip, axis: z, displacement: {spring: =spring, damper: 4, input: =push}}
outputs:
  place: {frame: tip}
"""
LOAD = """
loads:
  touch: {frame: tip, force: [=fx, =fy, =fz]}
"""
CONTACT = """
surfaces:
  point: {type: sphere, parent: tip, radius: 0}
  board: {type: plane, position: [0, 0, 1 cm], normal: [0, 0, -1]}
contacts:
  wall: {between: [point, board], stiffness: 200 N/m, dissipation: 0}
"""
NOISE = 2e-5


@pytest.fixture(scope="module")
def model():
    return pliant.derive(pliant.load_text(HEAD + FORCES + MASS + LOAD))


@pytest.fixture(scope="module")
def touching():
    return pliant.derive(pliant.load_text(HEAD + MASS + CONTACT))


def observer(model, **changes):
    given = {"normal": (0, 0, -1), "sample_time": 0.02, "drift": 0.3, "threshold": 0.2}
    return ContactObserver(model, "tip", ("fx", "fy", "fz"), ("place",), {"place": NOISE}, **(given | changes))


def test_a_constant_force_is_estimated_without_bias(model):
    """The robot equals the model: the mean error is that of the noise over many samples, and the filter predicts its size."""
    watch = observer(model)
    truth = {"fx": 0.4, "fy": -0.2, "fz": 0.7}
    hidden = pliant.simulate(model, 8.0, inputs=truth, controllers=watch, save_every=1.0)
    assert hidden.status == "completed"
    late = np.array(watch.time) > 2
    errors = np.array(watch.force)[late] - list(truth.values())
    spread = errors.std(axis=0)
    # errors of neighbouring samples are alike over about a third of a second
    assert np.all(np.abs(errors.mean(axis=0)) < 4 * spread / np.sqrt(late.sum() / 16))
    said = np.array(watch.deviation)[-1]
    assert np.all((spread / said < 2) & (spread / said > 0.05))


def test_force_and_stiffness_of_a_wall(model, touching):
    """Pressed slowly and released: the force follows that of the simulated contact, the slope is the wall's stiffness."""
    watch = observer(model)
    push = {"push": lambda t: 1.4 * np.sin(np.pi * t / 6) ** 2 + 0.3 * np.sin(2 * t)}
    run = pliant.simulate(touching, 6.0, inputs=push, controllers=watch, save_every=0.02)
    n = len(watch.time)
    force = 200 * np.maximum(0, run["place"].values[:n, 2] - 0.01)
    estimate = -np.array(watch.force)[:, 2]
    on = force > 0.2
    assert on.sum() > 50
    assert np.sqrt(np.mean((estimate - force)[on] ** 2)) < 0.03
    assert watch.surface.stiffness == pytest.approx(200, rel=0.05)
    assert watch.surface.place == pytest.approx(0.01, abs=3e-4)
    assert np.abs(np.mean(watch.force, axis=0)[:2]).max() < 0.01


def test_a_wrong_model_shows_as_a_force_and_an_offset_takes_off_what_is_there_at_first(model, touching):
    stiff = {"spring": 100.0}
    push = {"push": lambda t: 0.5 * min(t, 1.0)}
    raw, tared = observer(model), observer(model, free_until=2.0)
    for watch in (raw, tared):
        pliant.simulate(touching, 3.0, inputs=push, parameters=stiff, controllers=watch, save_every=1.0)
    # the spring holds 0.5 N at 5 mm, where the model's holds 0.4 N
    last = np.array(raw.time) > 2
    assert np.mean(raw.force, axis=0, where=last[:, None])[2] == pytest.approx(-0.1, abs=0.01)
    assert np.mean(tared.force, axis=0, where=last[:, None])[2] == pytest.approx(0.0, abs=0.01)
    assert tared.offset[2] == pytest.approx(-0.1, abs=0.01)


def test_recursive_least_squares_is_the_straight_line_through_the_samples():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1e-2, 60)
    force = 300 * (x - 2e-3) + 0.01 * rng.normal(size=60)
    estimate = StiffnessEstimate(threshold=0.3)
    taken = [estimate.update(*pair) for pair in zip(x, force, strict=True)]
    on = force > 0.3
    assert taken == on.tolist()
    fit, covariance = np.polyfit(x[on], force[on], 1, cov="unscaled")
    assert estimate.stiffness == pytest.approx(fit[0], rel=1e-9)
    assert estimate.place == pytest.approx(-fit[1] / fit[0], rel=1e-9)
    left = np.sum((force[on] - np.polyval(fit, x[on])) ** 2) / (on.sum() - 2)
    assert estimate.deviation == pytest.approx(np.sqrt(left * covariance[0, 0]), rel=1e-6)


def test_forgetting_follows_a_surface_that_changes():
    estimate = StiffnessEstimate(forgetting=0.9)
    assert np.isnan(estimate.stiffness)
    for k, stiffness in ((60, 100.0), (60, 300.0)):
        for x in np.linspace(1e-3, 5e-3, k):
            estimate.update(x, stiffness * x)
    assert estimate.stiffness == pytest.approx(300, rel=2e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normal": (0, 0, 0)}, "normal of the surface is zero"),
        ({"drift": 0.0}, "positive"),
        ({"threshold": -1.0}, "threshold"),
        ({"forgetting": 1.5}, "forgetting"),
    ],
)
def test_what_makes_no_sense_is_refused(model, change, message):
    with pytest.raises(ValueError, match=message):
        observer(model, **change)


def test_inputs_that_are_not_the_force_are_refused(model):
    with pytest.raises(ValueError, match="are not the force on 'tip' in world axes"):
        ContactObserver(model, "tip", ("fx", "fz", "fy"), ("place",), {"place": NOISE})
    with pytest.raises(ValueError, match="unknown input 'f'"):
        ContactObserver(model, "tip", ("fx", "f", "fz"), ("place",), {"place": NOISE})
    with pytest.raises(ValueError, match="noise of output 'place' must be above zero"):
        ContactObserver(model, "tip", ("fx", "fy", "fz"), ("place",), {})
