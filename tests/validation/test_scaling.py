"""The same robot in other units moves, rests and vibrates alike: no solver contains a length, a mass or a time.

The environment variable PLIANT_SCALED_ROBOTS names other robots than the few that run by default, or `all` of the bundled ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scaling import Units, scaled

import pliant
from pliant.language import dimension as dim
from pliant.parts import contact
from pliant.robot.reader import bundled_robots

SAME = 1e-8
"""Largest difference, relative to the robot's size or to the fastest eigenvalue."""
UNITS = {
    "nanometres": Units(length=4.0**-13, mass=4.0**-39),
    "micrometres and micrograms": Units(length=4.0**-10, mass=4.0**-15),
    "kilometres and tonnes": Units(length=4.0**5, mass=4.0**5),
    "milliseconds": Units(time=4.0**-5),
    "all": Units(length=4.0**-5, mass=4.0**3, time=4.0**4),
}
FEW = (
    "pendulum@damped", "four_bar", "cantilever", "tumbling_body", "leg@released", "cart_pole", "hopper", "gripper", "leaf_spring",
)  # fmt: skip
UNTIL = 0.2


def robots() -> tuple[str, ...]:
    """Those of the environment, or a few."""
    chosen = os.environ.get("PLIANT_SCALED_ROBOTS")
    if chosen != "all":
        return tuple(chosen.split(",")) if chosen else FEW
    names = [robot.name for robot in bundled_robots()]
    return tuple(full for name in names for full in (name, *(f"{name}@{x}" for x in pliant.load(name).variants)))


@pytest.fixture(scope="module", params=robots())
def robot(request: pytest.FixtureRequest) -> pliant.RobotSpec:
    return pliant.load(request.param)


@pytest.fixture(scope="module")
def plain(robot: pliant.RobotSpec) -> pliant.Equations:
    """The robot in its own units, as the tool writes it."""
    return pliant.derive(scaled(robot, Units()))


def in_units(robot: pliant.RobotSpec, units: Units, monkeypatch: pytest.MonkeyPatch) -> pliant.Equations:
    # the modulus of things without a material is a number of the language, not of a solver
    rigid = contact.DEFAULTS.rigid * units.of(dim.PRESSURE)
    monkeypatch.setattr(contact, "DEFAULTS", replace(contact.DEFAULTS, rigid=rigid))
    return pliant.derive(scaled(robot, units))


def motion(eqs: pliant.Equations, units: Units, **options: object) -> np.ndarray:
    """Paths of all frames, in the robot's own units."""
    if "step" in options:
        options["step"] = float(options["step"]) * units.time  # type: ignore[arg-type]
    run = pliant.simulate(eqs, UNTIL * units.time, controllers=False, **options)  # type: ignore[arg-type]
    return np.asarray(run.recorded["frame_position"]) / units.length


def amplified(eqs: pliant.Equations) -> float:
    """Largest change of the paths [m] if round-off is added to the start: stiff parts amplify it, and steps are chosen from it."""
    run = pliant.simulate(eqs, UNTIL, controllers=False)
    noise = np.random.default_rng(1).standard_normal(run.q.shape[1])
    start = pliant.State(run.q[0] * (1 + 4 * np.finfo(float).eps * noise), run.v[0])
    return float(np.abs(motion(eqs, Units(), start=start) - run.recorded["frame_position"]).max())


def by_generalized_alpha(eqs: pliant.Equations, units: Units) -> np.ndarray:
    return motion(eqs, units, method="generalized_alpha", step=2e-3)


def by_semi_implicit(eqs: pliant.Equations, units: Units) -> np.ndarray:
    return motion(eqs, units, method="semi_implicit", step=1e-3)


def at_rest(eqs: pliant.Equations, units: Units) -> np.ndarray:
    """Places of all nodes at rest, or where a search that finds no stable pose ends."""
    places = eqs.binding.node_poses(pliant.equilibrium(eqs, on_failure="return").q)[1]
    return np.sort(places, axis=0) / units.length  # nodes within an element of a rod may have another order


def eigenvalues(eqs: pliant.Equations, units: Units) -> np.ndarray:
    """Their magnitudes in order: real parts of what is hardly damped are round-off."""
    return np.asarray(np.sort(np.abs(pliant.modes(eqs, at="initial").eigenvalues) * units.time))


@pytest.mark.slow
@pytest.mark.parametrize("answer", [motion, by_generalized_alpha, by_semi_implicit, at_rest, eigenvalues])
@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_robot_in_other_units_answers_alike(
    robot: pliant.RobotSpec,
    plain: pliant.Equations,
    units: Units,
    answer: Callable[[pliant.Equations, Units], np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected, found = answer(plain, Units()), answer(in_units(robot, units, monkeypatch), units)
    assert found.shape == expected.shape
    largest, allowed = np.abs(found - expected).max(), SAME * np.abs(expected).max()
    assert largest <= allowed or (answer is motion and largest <= 2 * amplified(plain))


def test_units_change_every_value_but_pure_numbers() -> None:
    units = Units(length=4.0, mass=16.0, time=64.0)
    robot = scaled(pliant.load("cantilever"), units)
    original = scaled(pliant.load("cantilever"), Units())
    density = units.of(dim.DENSITY)
    for name, material in robot.materials.items():
        value = pliant.derive(robot).model.environment.value
        assert value(material.density) == pytest.approx(density * value(original.materials[name].density))
        assert value(material.poissons_ratio) == value(original.materials[name].poissons_ratio)
