"""Bundled robots that grasp, slither and hop, each compared with numbers that are computed without contact simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from slithering import progress

import pliant

MODELS = Path(pliant.__file__).parent / "models"
HELD = """
pliant: 1
include: [gripper.yaml]
joints:
  flight:
    type: prismatic
    axis: z
    position: [0, 0, =ball_radius]
    displacement: {motion: 0}
    x: null
    y: null
    z: null
    orientation: null
"""
G = 9.81


def moved_in_hand(variant: str, until: float) -> tuple[pliant.Result, np.ndarray]:
    """A run, and where the ball is in the hand at whole periods of shaking after the fifth second [m]."""
    run = pliant.simulate(pliant.derive(pliant.load(variant)), until, save_every=0.5)
    return run, run["in_hand"].values[np.asarray(run.time) >= 5]


def test_the_gripper_holds_its_ball_for_a_minute() -> None:
    run, place = moved_in_hand("gripper", 65.0)
    assert np.ptp(place, axis=0).max() < 1e-6
    assert run["ball"].values[-1, 2] > 0.075


def test_the_gripper_holds_its_ball_while_it_is_shaken_for_a_minute() -> None:
    run, place = moved_in_hand("gripper@shaken", 65.0)
    assert np.ptp(place, axis=0).max() < 1e-4
    assert run["ball"].values[-1, 2] > 0.075


def test_the_gripper_drops_its_ball_at_the_pressure_that_friction_foretells() -> None:
    """Normal forces on a ball that is held, without friction: what they carry upwards and what friction adds at most."""
    eqs = pliant.derive(pliant.load("gripper"))
    held = pliant.derive(pliant.load_text(HELD, folder=MODELS))
    friction, weight = eqs.parameters["friction"], eqs.parameters["ball_mass"] * G

    def spare(pressure: float) -> float:
        inputs = {"pressure": pressure, "lift": 0.0, "shake": 0.0}
        found = pliant.equilibrium(held, inputs=inputs, parameters={"friction": 0.0}).outputs
        normal, up = float(found["grip"]), float(found["carried"])
        return up + friction * np.sqrt(max(0.0, normal**2 - up**2)) - weight

    foretold = brentq(spare, 40e3, 80e3, xtol=100.0)
    run = pliant.simulate(pliant.derive(pliant.load("gripper@released")), 9.0, save_every=0.01)
    time, height = np.asarray(run.time), run["in_hand"].values[:, 2]
    falls = time[(time > 2) & (height < height[time > 2][0] - 1e-3)][0]
    assert 120e3 * (12 - falls) / 10 == pytest.approx(foretold, rel=0.05)


def travelled(parameters: dict[str, float]) -> float:
    """How far the snake comes in the third wave [m]."""
    eqs = pliant.derive(pliant.load("snake"))
    run = pliant.simulate(eqs, 6.0, save_every=2.0, parameters=parameters)
    place = run["head"].values
    return float(place[-1, 0] - place[-2, 0])


def test_the_snake_travels_as_far_as_friction_alone_carries_its_shape() -> None:
    """With tenfold modulus and pressure friction hardly deforms it. As it is, it yields, and loses a tenth of its way."""
    p = pliant.derive(pliant.load("snake")).parameters
    bend = (
        2
        * np.pi
        * p["chamber_radius"] ** 2
        * p["chamber_offset"]
        / (p["youngs_modulus"] * np.pi / 4 * p["radius"] ** 4)
    )
    segment = np.arange(1, 9)
    length = 8 * p["segment_length"]
    foretold = progress(
        lambda t: p["amplitude"] * bend * np.sin(2 * np.pi * (t / p["period"] - segment / 8)),
        length, p["period"], p["along"], p["across"], 0.01 / (1070 * np.pi * p["radius"] ** 2 * length),
    )  # fmt: skip
    stiff = {name: 10 * p[name] for name in ("amplitude", "youngs_modulus")}
    assert travelled(stiff) == pytest.approx(foretold, rel=0.02)
    assert travelled({}) == pytest.approx(0.88 * foretold, rel=0.03)


def test_a_snake_with_the_same_friction_in_all_directions_gets_nowhere() -> None:
    assert abs(travelled({"along": 0.3, "across": 0.3})) < 2e-3


def test_the_leg_of_the_hopper_yields_as_a_bowed_strip() -> None:
    """On slippery ground, against the elastica from the foot up, which ends at the trunk in the direction of its clamp."""
    eqs = pliant.derive(pliant.load("hopper"))
    p = eqs.parameters
    length, half, line = p["leg_length"], p["bow"] / 2, 1900 * 4e-5 * G
    bending = 20e9 * 0.02 * 0.002**3 / 12

    def leg(foot_angle: float) -> np.ndarray:
        """Way of the trunk from the foot to the side and up, angle and moment there; what stands above a section bends it."""

        def slope(s: float, y: np.ndarray) -> list[float]:
            load = p["trunk_mass"] * G + line * (length - s)
            return [np.sin(y[2]), np.cos(y[2]), -2 * half / length - y[3] / bending, load * np.sin(y[2])]

        return solve_ivp(slope, (0, length), [0, 0, foot_angle, 0], rtol=1e-9, atol=1e-12).y[:, -1]

    foot_angle = brentq(lambda angle: leg(angle)[2] + half, half, half + 0.5)
    rest = pliant.equilibrium(eqs, inputs={"pull": 0.0}, parameters={"friction": 0.0}).outputs
    straight = 2 * length / (2 * half) * np.sin(half) + p["foot_radius"]
    yields = straight - leg(foot_angle)[1] - p["foot_radius"]
    assert straight - float(rest["height"]) == pytest.approx(yields, rel=0.03)
    assert -float(rest["foot"][0]) == pytest.approx(leg(foot_angle)[0], rel=0.03)


def test_the_hopper_hops() -> None:
    """In flight its centre of mass falls with g, and what it has done with the string's work is accounted for."""
    run = pliant.simulate(pliant.derive(pliant.load("hopper")), 1.0, save_every=1e-3)
    time, foot = np.asarray(run.time), run["foot"].values
    energy = {name: np.asarray(run.energy[name]) for name in ("total", "dissipated", "supplied", "potential")}
    balance = energy["total"] + energy["dissipated"] - energy["supplied"]
    landed = (time > 0.6) & (run["push"].values > 0)
    before = time < time[landed][0] - 2e-3
    np.testing.assert_allclose(balance[before], balance[0], atol=1e-3 * energy["supplied"].max())
    np.testing.assert_allclose(balance, balance[0], atol=1e-2 * energy["supplied"].max())
    free = energy["total"][time > 0.51]
    assert np.max(free - np.minimum.accumulate(free)) < 1e-3 * energy["supplied"].max()
    top = int(np.argmax(foot[:, 2]))
    assert foot[top, 2] > 0.05
    flying = (np.abs(time - time[top]) < 0.04) & (run["push"].values == 0)
    weight = energy["potential"] - run["stored"].values
    mass = 0.3 + 0.01 + 1900 * 0.22 * 4e-5
    fall = np.polyfit(time[flying], weight[flying] / (mass * G), 2)[0]
    assert fall == pytest.approx(-G / 2, rel=2e-3)
