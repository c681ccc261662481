"""Chambers with braids and chambers whose area grows: forces, volumes and power, against their geometry."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

from pliant import SpecError, derive, dump, equilibrium, load_text, simulate
from pliant.parts.geometry import se3
from pliant.parts.rod.chamber import VARYING, actuation, chamber_signals
from pliant.robot.rod_switch import with_rod_model

E, RADIUS, LENGTH, BORE = 200e3, 0.015, 0.3, 0.006
AREA, SECOND = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
INSIDE = np.pi * BORE**2
KINDS = ["pcs:3", "cosserat:3", "finite_element:3", "pseudo_rigid:12", "polynomial:2", "pcc:3"]

ROD = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{pressure: {{value: 0 kPa, input: true}}, angle: 40 deg}}
sections: {{round: {{shape: circle, radius: {RADIUS}}}}}
materials: {{rubber: {{density: 1000, youngs_modulus: {E}, poissons_ratio: 0.5}}}}
rods:
  arm:
    length: {LENGTH}
    section: round
    material: rubber
    damping: [0.1, 0.1, 0.1, 1e-5, 1e-5, 1e-5]
    chambers: {{one: {{pressure: =pressure, radius: {BORE}, positions: [PLACE], WALL}}}}
"""


def rod(word, wall, place="[0, 0]"):
    text = ROD.replace("WALL", wall).replace("PLACE", place)
    return derive(with_rod_model(load_text(text), "arm", word))


def thread(angle):
    """Volume per undeformed length of a braid of threads of fixed length, from one turn of a thread around it."""
    turn = 2 * np.pi * BORE / np.tan(angle)  # length of the chamber in which a thread goes round once
    long = np.hypot(turn, 2 * np.pi * BORE)
    return lambda m: m * (long**2 - (m * turn) ** 2) / (4 * np.pi)


@pytest.mark.parametrize("degrees", [25, 54.735610317, 75, 90])
def test_the_push_of_a_braid_is_the_slope_of_its_volume(degrees):
    angle, p, h = np.radians(degrees), 5e4, 1e-5
    volume = thread(angle)
    c0, c1, c2 = p * INSIDE / np.sin(angle) ** 2, 0, -3 * p * INSIDE / np.tan(angle) ** 2
    for m in (0.75, 1.0, 1.1):
        slope = p * (volume(m + h) - volume(m - h)) / (2 * h)
        wrench = actuation(ca.SX([0, 0, m - 1, 0, 0, 0]), ca.SX(ca.vertcat(*chamber_signals(0, 0, (c0, c1, c2)))))
        assert float(ca.DM(wrench)[2]) == pytest.approx(slope, rel=1e-7, abs=1e-6)
        # as published for muscles: pull p A (a (1 - contraction)^2 - b)
        pull = p * INSIDE * (3 / np.tan(angle) ** 2 * m**2 - 1 / np.sin(angle) ** 2)
        assert slope == pytest.approx(-pull, rel=1e-7, abs=1e-6)


def test_forces_of_chambers_off_the_axis_are_slopes_of_one_potential():
    rng = np.random.default_rng(2)
    signal, chambers = np.zeros(VARYING), rng.normal(size=(3, 5))
    for x, y, *c in chambers:
        signal += np.array(chamber_signals(x, y, c), dtype=float)
    strain, step = 0.3 * rng.normal(size=6), 1e-6

    def potential(strain):
        total = 0.0
        for x, y, *c in chambers:
            m = 1 + strain[2] + y * strain[3] - x * strain[4]
            total += c[0] * m + c[1] * m**2 / 2 + c[2] * m**3 / 3
        return total

    found = np.array(ca.DM(actuation(ca.DM(strain), ca.DM(signal)))).ravel()
    for k in range(6):
        way = step * np.eye(6)[k]
        assert found[k] == pytest.approx((potential(strain + way) - potential(strain - way)) / (2 * step), abs=1e-7)


@pytest.mark.parametrize("word", KINDS)
def test_a_muscle_off_the_axis_shortens_and_bends_every_kind(word):
    p, angle, x = 3e4, np.radians(40), 0.008
    found = equilibrium(rod(word, "braid_angle: =angle", f"[{x}, 0]"), inputs={"pressure": p})
    a, b = 3 / np.tan(angle) ** 2, 1 / np.sin(angle) ** 2

    def push(m):
        return p * INSIDE * (b - a * m**2)

    # one stretch m of the muscle says both strains of the rod
    m = brentq(lambda m: 1 + push(m) * (1 / (E * AREA) + x**2 / (E * SECOND)) - m, 0.5, 1.5)
    assert m < 0.95
    stretch, bend = push(m) / (E * AREA), -x * push(m) / (E * SECOND)
    R, place = se3.exp(ca.DM([0, 0, 1 + stretch, 0, bend, 0]) * LENGTH)
    tip = found.frames["arm.tip"]
    assert tip.position == pytest.approx(np.asarray(place).ravel(), abs=2e-3 * LENGTH)
    assert tip.position[0] > 0.02
    if word.startswith(("pcs", "cosserat", "finite", "pcc")):
        assert tip.position == pytest.approx(np.asarray(place).ravel(), abs=1e-9)
        assert tip.rotation == pytest.approx(np.asarray(R), abs=1e-8)


def test_angles_of_braids_decide_which_way_they_push():
    eqs = rod("pcs:1", "braid_angle: =angle")
    ends = [
        equilibrium(eqs, inputs={"pressure": 2e4}, parameters={"angle": np.radians(x)}).frames["arm.tip"].position[2]
        for x in (30, 54.735610317, 80, 90)
    ]
    kept = equilibrium(rod("pcs:1", ""), inputs={"pressure": 2e4}).frames["arm.tip"].position[2]
    assert ends[0] < 0.95 * LENGTH
    assert ends[1] == pytest.approx(LENGTH, abs=1e-9)
    assert LENGTH < ends[2] < ends[3]
    assert ends[3] == pytest.approx(kept, abs=1e-12)  # windings around it


def test_an_area_that_grows():
    p, growth = 4e4, 1e-5
    found = equilibrium(rod("pcs:1", f"area_growth: {growth} 1/Pa"), inputs={"pressure": p})
    m = found.frames["arm.tip"].position[2] / LENGTH
    assert p * INSIDE * (1 + growth * p * m) == pytest.approx(E * AREA * (m - 1), rel=1e-9)


@pytest.mark.parametrize(("word", "wall"), [("pcs:1", "braid_angle: =angle"), ("cosserat:2", "area_growth: 1e-5 1/Pa")])
def test_power_is_what_pressure_does_to_the_volume(word, wall):
    """Held at a pressure: what is supplied is p times the change of volume, or its work on the rod beside a wall that gives."""
    p = 3e4
    run = simulate(rod(word, wall), 0.05, inputs={"pressure": p}, rtol=1e-8)
    energy = run.energy
    balance = (energy.total + energy.dissipated - energy.supplied).values
    assert np.ptp(balance) < 1e-6 * float(energy.supplied.max())
    if wall.startswith("braid"):
        m = 1 + run.dataset["q"].sel(coordinate="arm.stretch[1]").values
        volume = LENGTH * thread(np.radians(40))(m)
        assert energy.supplied.values == pytest.approx(p * (volume - volume[0]), rel=1e-5, abs=1e-9)


def test_threads_that_would_be_longer_than_straight():
    text = (
        ROD.replace("WALL", "braid_angle: 20 deg").replace("PLACE", "[0, 0]")
        + "loads: {pull: {frame: arm.tip, force: [0, 0, 15]}}"
    )
    found = equilibrium(derive(with_rod_model(load_text(text), "arm", "pcs:1")))
    assert "threads of its braid are straight at 1.064" in found.remarks[0]


@pytest.mark.parametrize(
    ("wall", "message"),
    [
        ("braid_angle: 0 deg", "braid_angle must be above 0 and up to 90 deg"),
        ("braid_angle: 100 deg", "up to 90 deg, but it is 100 deg"),
        ("area_growth: -1e-6 1/Pa", "area_growth must not be negative"),
        ("area_growth: 3 kPa", "expected a growth per pressure"),
        ("braid_angle: 30 deg, area_growth: 1e-6 1/Pa", "threads of a braid keep their length"),
    ],
)
def test_walls_that_make_no_sense(wall, message):
    with pytest.raises(SpecError, match=message):
        load_text(ROD.replace("WALL", wall).replace("PLACE", "[0, 0]"))


def test_a_force_has_no_wall_and_walls_are_written_back():
    with pytest.raises(SpecError, match="a force needs no braid_angle"):
        load_text(
            ROD.replace(f"pressure: =pressure, radius: {BORE}", "force: 1 N")
            .replace("WALL", "braid_angle: 1")
            .replace("PLACE", "[0, 0]")
        )
    spec = load_text(ROD.replace("WALL", "braid_angle: =angle").replace("PLACE", "[0, 0]"))
    assert load_text(dump(spec)) == spec
