"""Bundled robots against numbers that beam theory gives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import pliant

WEIGHTLESS = {"gravity": [0, 0, 0]}


def test_a_tendon_of_the_tendon_robot_bends_its_segment_evenly() -> None:
    """A tension at a distance from the backbone is a constant moment along the segment, and none beyond it."""
    eqs = pliant.derive(pliant.load("tendon_robot").replace(world=WEIGHTLESS))
    rest = pliant.equilibrium(eqs, inputs={"lower[1]": 0.2})
    bending = 54e9 * np.pi / 4 * 0.0005**4
    angle = 0.2 * eqs.parameters["hole"] * 0.12 / bending
    for frame in ("lower.tip", "upper.tip"):
        axis = eqs.frame(frame, rest.q).rotation[:, 2]
        assert np.arctan2(axis[0], axis[2]) == pytest.approx(angle, rel=5e-3)  # towards the tendon, along x
    discs = [eqs.frame(f"lower_disc[{k}]", rest.q).position for k in range(1, 7)]
    assert np.linalg.norm(np.diff(discs, axis=0), axis=1) == pytest.approx(0.02, rel=1e-4)


def test_the_magnetic_catheter_bends_as_an_elastica_in_the_field_of_a_dipole() -> None:
    """The magnet is in the catheter's plane; the elastica by shooting, without shear and stretch, with the field in closed form."""
    eqs = pliant.derive("magnetic_catheter")
    shoulder = np.radians(25)
    elbow = np.pi - np.arcsin((0.18 - 0.14 * np.sin(shoulder)) / 0.14) - shoulder
    rest = pliant.equilibrium(eqs, inputs={"shoulder": shoulder, "elbow": elbow, "wrist": 0.0})
    hand = rest.frames["magnet"]
    magnet = hand.position + hand.rotation @ np.array([0.02, 0, 0])
    assert abs(magnet[1]) < 1e-12
    moment, mu_0 = np.array([0, 0, 1.3 * 0.04**3]) / (4e-7 * np.pi), 4e-7 * np.pi
    L, area, EI = 0.06, np.pi * 1e-6, 1.5e6 * np.pi / 4 * 1e-12

    def field(place: np.ndarray) -> np.ndarray:
        way = np.array([place[0], 0.0, place[1]]) - magnet
        r = np.linalg.norm(way)
        return np.asarray(mu_0 / (4 * np.pi) * (3 * way * (moment @ way) / r**5 - moment / r**3))

    def energy(place: np.ndarray, angle: float) -> float:
        return -1e5 * area * float(np.array([np.cos(angle), 0, np.sin(angle)]) @ field(place))

    def slopes(s: float, y: np.ndarray) -> list[float]:
        x, z, angle, bend, n_x, n_z = y
        push, turn, h = np.zeros(2), 0.0, 1e-6
        if s > 0.75 * L:
            place = np.array([x, z])
            push = np.array([-(energy(place + e, angle) - energy(place - e, angle)) / (2 * h) for e in h * np.eye(2)])
            turn = -(energy(place, angle + h) - energy(place, angle - h)) / (2 * h)
        moved = n_x * np.sin(angle) - n_z * np.cos(angle)
        return [np.cos(angle), np.sin(angle), bend, (moved - turn) / EI, -push[0], -push[1]]

    def run(start: np.ndarray) -> np.ndarray:
        y = np.array([0.0, 0.0, 0.0, start[0] / L, *(start[1:] * EI / L**2)])
        for ends in ((0, 0.75 * L), (0.75 * L, L)):
            y = scipy.integrate.solve_ivp(slopes, ends, y, rtol=1e-9, atol=1e-12).y[:, -1]
        return np.asarray(y)

    found = scipy.optimize.root(lambda x: run(x)[3:] * [L, L**2 / EI, L**2 / EI], np.zeros(3), tol=1e-10)
    assert found.success
    tip = run(found.x)
    assert tip[1] > 0.1 * L
    assert np.asarray(rest.outputs["tip"])[[0, 2]] == pytest.approx(tip[:2], abs=1e-3 * L)


def beam(length: float, E: float, G: float, radius: float) -> np.ndarray:
    """Stiffness (6 x 6) of the tip of a clamped round beam along z: three forces, three moments."""
    area, bend = np.pi * radius**2, np.pi * radius**4 / 4
    k = np.diag(
        [12 * E * bend / length**3] * 2 + [E * area / length] + [4 * E * bend / length] * 2 + [2 * G * bend / length]
    )
    k[0, 4] = k[4, 0] = -6 * E * bend / length**2
    k[1, 3] = k[3, 1] = 6 * E * bend / length**2
    return k


def test_the_platform_on_six_rods_yields_as_a_frame_of_beams() -> None:
    eqs = pliant.derive(pliant.load("parallel_rods").replace(world=WEIGHTLESS))
    p, still = eqs.parameters, {f"push[{k}]": 0.0 for k in range(1, 7)}
    rest = pliant.equilibrium(eqs, inputs=still)
    middle, stiffness = eqs.frame("platform", rest.q).position, np.zeros((6, 6))
    first = [eqs.frame(name, rest.q).position for name in ("leg[1]", "leg[1].tip")]
    length = float(np.linalg.norm(first[1] - first[0]))
    local = beam(length, 207e9, 207e9 / 2.6, 0.0007)
    for k in range(1, 7):
        foot, top = (eqs.frame(name, rest.q) for name in (f"leg[{k}]", f"platform.clamp[{k}]"))
        assert np.linalg.norm(top.position - foot.position) == pytest.approx(length)
        assert np.hypot(*foot.position[:2]) == pytest.approx(p["base_radius"])
        turn, arm = np.kron(np.eye(2), foot.rotation.T), np.eye(6)
        x, y, z = top.position - middle
        arm[:3, 3:] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
        stiffness += arm.T @ turn.T @ local @ turn @ arm
    expected = np.linalg.solve(stiffness, [1e-3, 0, 0, 0, 0, 0])
    moved = pliant.equilibrium(eqs, inputs={**still, "load": 1e-3}).outputs
    assert np.asarray(moved["place"]) - middle == pytest.approx(expected[:3], rel=0.01, abs=1e-9)
    assert np.asarray(moved["turn"]) == pytest.approx(expected[3:], rel=0.01, abs=1e-8)


def test_the_regulator_of_the_arm_damps_the_rod_that_it_holds() -> None:
    eqs = pliant.derive("arm_with_rod")
    run = pliant.simulate(eqs, 0.7, save_every=0.005)
    time, bend = np.asarray(run.time), run["bend"].values
    bending, tilt = 200e9 * np.pi / 4 * 0.002**4, np.sin(np.radians(120))
    line = 7850 * np.pi * 0.002**2 * 9.81 * tilt
    sag = 0.05 * 9.81 * tilt * 0.5**3 / (3 * bending) + line * 0.5**4 / (8 * bending)
    assert bend[time < 0.2][-1, 0] == pytest.approx(
        sag, rel=0.05
    )  # the rod points down a little, and its weight draws it straight
    first, last = (np.abs(bend[(time >= start) & (time < start + 0.1), 1]).max() for start in (0.3, 0.6))
    assert first > 0.02
    assert last < 0.35 * first  # by itself it would keep 96 % in that time
