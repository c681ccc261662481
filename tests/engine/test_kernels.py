"""Kernels of forces and constraints: virtual work, energy and tangents against finite differences."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

from pliant.engine.kernel import constraint_kernels, coordinate_force_kernels, frame_force_kernels
from pliant.parts.constraint import frame_constraint
from pliant.parts.external_load import WRENCH
from pliant.parts.formula.base import CoordinateForce, FrameConstraint, FrameForce, one_sided, power_law
from pliant.parts.geometry import se3, so3
from pliant.parts.joint.coordinate import ORIENTATION_FORCE, coordinate_force
from pliant.parts.link import axial_force, beam_force
from pliant.parts.mesh.base import edge_force
from pliant.parts.motion import Quaternion

STEP = 1e-6


def rotation(rng: np.random.Generator) -> np.ndarray:
    return np.array(so3.exp(ca.DM(rng.normal(size=3))))


def placement(rng: np.random.Generator) -> list[float]:
    return [*rotation(rng).ravel(order="F"), *rng.normal(size=3)]


def axial_constants(rng: np.random.Generator) -> list[float]:
    """Two points, stiffness, rest, damping coefficient and power, direction, smoothing width."""
    return [*rng.normal(size=6), 40.0, 0.4, 3.0, 1.5, 1.0, 0.1]


def beam_constants(rng: np.random.Generator) -> list[float]:
    laws: list[Any] = [
        rng.uniform(-1, 1, 6),
        rng.uniform(10, 90, 6),
        rng.uniform(1, 3, 6),
        [1, 2, 1, 1.5, 1, 0.5],
        [0, 1, -1, 0, 0, 1],
    ]
    return [*placement(rng), *placement(rng), *(float(x) for law in laws for x in law)]


def edge_constants(rng: np.random.Generator) -> list[float]:
    """Ends, length, stiffness and coupling, damping time, damping of the length and its power."""
    springs = [*rng.uniform(10, 90, 6), 5.0, -4.0]
    return [*placement(rng), *placement(rng), 0.8, *springs, 0.02, 2.0, 1.5]


FORCES: list[tuple[FrameForce, Any]] = [
    (axial_force(with_input=False), axial_constants),
    (axial_force(with_input=True), axial_constants),
    *((beam_force(map=m, with_input=w), beam_constants) for m in ("midpoint", "published") for w in (False, True)),
    *((edge_force(with_power=w, with_input=w), edge_constants) for w in (False, True)),
    (WRENCH, lambda rng: [*rng.normal(size=3), *rotation(rng).ravel(order="F")]),
]
ROWS = [
    (("x",), False),
    (("x", "y", "z"), False),
    (("x", "y", "z", "rx", "ry", "rz"), False),
    (("rx", "rz"), False),
    (("ry",), False),
    (("z", "rx", "ry", "rz"), True),
]


@cache
def moved_pose() -> ca.Function:
    """A pose after a world-side increment, as one function: evaluated by the thousand."""
    eta, R, p = ca.SX.sym("eta", 6), ca.SX.sym("R", 3, 3), ca.SX.sym("p", 3)
    return ca.Function("moved_pose", [eta, R, p], list(se3.compose(se3.exp(eta), (R, p))))


class Frames:
    """Random poses, twists and accelerations of k frames, and the same after a world-side increment."""

    def __init__(self, count: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.poses = [(rotation(rng), rng.normal(size=3)) for _ in range(count)]
        self.V, self.A = rng.normal(size=6 * count), rng.normal(size=6 * count)
        self.count = count

    def pose_vector(self, eta: np.ndarray | None = None) -> np.ndarray:
        out = []
        for i, (R, p) in enumerate(self.poses):
            if eta is not None:
                R, p = (np.array(x) for x in moved_pose()(eta[6 * i : 6 * i + 6], R, p))
            out += [R.ravel(order="F"), p.ravel()]
        return np.concatenate(out)

    @staticmethod
    def cross(eta: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Frame by frame eta x twist."""
        (v, w), (a, b) = ((y.reshape(-1, 6)[:, :3], y.reshape(-1, 6)[:, 3:]) for y in (eta, x))
        return np.hstack([np.cross(w, a) + np.cross(v, b), np.cross(w, b)]).ravel()

    @staticmethod
    def cross_wrench(eta: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Frame by frame eta x* wrench."""
        (v, w), (f, n) = ((y.reshape(-1, 6)[:, :3], y.reshape(-1, 6)[:, 3:]) for y in (eta, x))
        return np.hstack([np.cross(w, f), np.cross(w, n) + np.cross(v, f)]).ravel()


def flat(x: Any) -> np.ndarray:
    return np.array(x).ravel()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("kind", "make"), FORCES, ids=lambda x: getattr(x, "name", ""))
def test_force_tangent(kind: FrameForce, make: Any, seed: int) -> None:
    frames = Frames(kind.frames, seed)
    c, s = make(frames.rng), frames.rng.normal(size=kind.signals)
    value, tangent = frame_force_kernels(kind).functions

    def wrench(eta: np.ndarray, eta_dot: np.ndarray, ds: np.ndarray) -> np.ndarray:
        V = frames.V + eta_dot + frames.cross(eta, frames.V)
        return flat(value(frames.pose_vector(eta), V, c, s + ds)[0])

    n = 6 * kind.frames
    zero, no_signal = np.zeros(n), np.zeros(kind.signals)
    F = wrench(zero, zero, no_signal)
    K, C, S = (np.array(x) for x in tangent(frames.pose_vector(), frames.V, c, s))
    scale = max(1.0, np.abs(K).max(), np.abs(C).max())
    for k in range(n):
        unit = np.eye(n)[k]
        dF = (wrench(STEP * unit, zero, no_signal) - wrench(-STEP * unit, zero, no_signal)) / (2 * STEP)
        np.testing.assert_allclose(K[:, k], dF - frames.cross_wrench(unit, F), atol=2e-7 * scale)
        dF = (wrench(zero, STEP * unit, no_signal) - wrench(zero, -STEP * unit, no_signal)) / (2 * STEP)
        np.testing.assert_allclose(C[:, k], dF, atol=2e-7 * scale)
    for k in range(kind.signals):
        unit = np.eye(kind.signals)[k]
        dF = (wrench(zero, zero, STEP * unit) - wrench(zero, zero, -STEP * unit)) / (2 * STEP)
        np.testing.assert_allclose(S[:, k], dF, atol=2e-7 * scale)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("kind", "make"), FORCES, ids=lambda x: getattr(x, "name", ""))
def test_power_of_a_force_is_accounted_for(kind: FrameForce, make: Any, seed: int) -> None:
    """Power of the wrenches = supply - dissipation - d(energy)/dt."""
    frames = Frames(kind.frames, seed)
    c, s = make(frames.rng), frames.rng.normal(size=kind.signals)
    value = frame_force_kernels(kind).functions[0]
    F, scalars = value(frames.pose_vector(), frames.V, c, s)
    energies = [flat(value(frames.pose_vector(h * frames.V), frames.V, c, s)[1])[0] for h in (STEP, -STEP)]
    stored = (energies[0] - energies[1]) / (2 * STEP)
    _, dissipation, supply = flat(scalars)
    assert flat(F) @ frames.V == pytest.approx(supply - dissipation - stored, rel=1e-6, abs=1e-6)
    assert dissipation >= 0


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("rows", "prescribed"), ROWS, ids=lambda x: "".join(x) if isinstance(x, tuple) else str(x))
def test_constraint_kernels(rows: tuple[str, ...], prescribed: bool, seed: int) -> None:
    kind: FrameConstraint = frame_constraint(rows, prescribed=prescribed)
    frames = Frames(kind.frames, seed)
    rng = frames.rng
    c = [*placement(rng), *placement(rng), *rotation(rng).ravel(order="F"), *rng.normal(size=3)]
    multipliers = rng.normal(size=kind.size)
    value, tangent = constraint_kernels(kind).functions
    n = 6 * kind.frames
    V, A = frames.V, frames.A

    def at(eta: np.ndarray, V: np.ndarray = V) -> list[np.ndarray]:
        return [np.array(x) for x in value(frames.pose_vector(eta), V, c)]

    e, G, gamma = at(np.zeros(n))
    # along the motion: rate and acceleration of the value
    plus, minus = at(STEP * V), at(-STEP * V)
    np.testing.assert_allclose((plus[0] - minus[0]).ravel() / (2 * STEP), G @ V, atol=1e-8)
    np.testing.assert_allclose((plus[1] - minus[1]) @ V / (2 * STEP), gamma.ravel(), atol=1e-7)
    K, Eq, Ev = (np.array(x) for x in tangent(frames.pose_vector(), V, A, c, multipliers))
    for k in range(n):
        unit = np.eye(n)[k]
        plus, minus = at(STEP * unit), at(-STEP * unit)
        np.testing.assert_allclose(G[:, k], (plus[0] - minus[0]).ravel() / (2 * STEP), atol=1e-8)
        dF = (plus[1] - minus[1]).T @ multipliers / (2 * STEP)
        np.testing.assert_allclose(K[:, k], dF - frames.cross_wrench(unit, G.T @ multipliers), atol=1e-7)

        def acceleration(eta: np.ndarray, eta_dot: np.ndarray) -> np.ndarray:
            moved_V = V + eta_dot + frames.cross(eta, V)
            moved_A = A + frames.cross(eta_dot, V) + frames.cross(eta, A)
            _, G, gamma = at(eta, moved_V)
            return G @ moved_A + gamma.ravel()

        zero = np.zeros(n)
        dq = (acceleration(STEP * unit, zero) - acceleration(-STEP * unit, zero)) / (2 * STEP)
        dv = (acceleration(zero, STEP * unit) - acceleration(zero, -STEP * unit)) / (2 * STEP)
        np.testing.assert_allclose(Eq[:, k], dq, atol=3e-7)
        np.testing.assert_allclose(Ev[:, k], dv, atol=3e-7)
    assert e.shape == (kind.size, 1)


@pytest.mark.parametrize("mapping", ["midpoint", "published"])
@pytest.mark.parametrize("angle", [0.3, 1.4, 1.7, 2.8])
def test_beams_answer_turns_to_both_sides_alike(mapping: str, angle: float) -> None:
    """Up to a half turn the restoring moment is opposite for opposite angles, about any axis."""
    value = frame_force_kernels(beam_force(map=mapping, with_input=False)).functions[0]
    here = [*np.eye(3).ravel(), 0.0, 0.0, 0.0]
    constants = [*here, *here, *np.zeros(6), *np.ones(6), *np.zeros(6), *np.ones(6), *np.zeros(6)]
    for axis in np.eye(3):
        moments = []
        for turn in (angle, -angle):
            pose = [*np.array(so3.axis_rotation(axis, turn)).ravel(order="F"), 0, 0, 0]
            moments.append(flat(value([*here, *pose], np.zeros(12), constants, [])[0])[9:12] @ axis)
        assert moments[0] == pytest.approx(-moments[1], rel=1e-12)
        assert moments[0] < 0


COORDINATE = [
    (coordinate_force(with_input=False), [30.0, 0.2, 2.0, 1.0, 0.0, 0.0]),
    (coordinate_force(with_input=True), [30.0, 0.2, 2.0, 1.5, 1.0, 0.5]),
    (coordinate_force(with_input=True), [30.0, 0.2, 2.0, 0.5, -1.0, 0.5]),
    (ORIENTATION_FORCE, [7.0, 5.0, 2.0, 0.8, 0.3, 0.1, 0.8, 0.0, 0.6, 0.0]),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kind", "c"), COORDINATE, ids=lambda x: getattr(x, "name", ""))
def test_coordinate_force(kind: CoordinateForce, c: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    turns = isinstance(kind.parts[0], Quaternion)
    k = 3 if turns else 1
    v, s = rng.normal(size=k), rng.normal(size=kind.signals)
    q = flat(so3.quaternion_exp(ca.DM(rng.normal(size=3)))) if turns else rng.normal(size=1)
    value, tangent = coordinate_force_kernels(kind).functions

    def moved(x: np.ndarray) -> np.ndarray:
        return flat(so3.quaternion_product(q, so3.quaternion_exp(ca.DM(x)))) if turns else q + x

    def at(x: np.ndarray, dv: np.ndarray, ds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        force, scalars = value(moved(x), v + dv, c, s + ds)
        return flat(force), flat(scalars)

    zero, no_signal = np.zeros(k), np.zeros(kind.signals)
    blocks = [np.array(x).reshape(k, -1) for x in tangent(q, v, c, s)]
    for block, size in zip(blocks, (k, k, kind.signals), strict=True):
        for i in range(size):
            args = [zero, zero, no_signal]
            which = next(n for n, x in enumerate(blocks) if x is block)
            ends = []
            for h in (STEP, -STEP):
                args[which] = h * np.eye(size)[i]
                ends.append(at(*args)[0])
            np.testing.assert_allclose(block[:, i], (ends[0] - ends[1]) / (2 * STEP), atol=1e-7)
    force, (_, dissipation, supply) = at(zero, zero, no_signal)
    stored = (at(STEP * v, zero, no_signal)[1][0] - at(-STEP * v, zero, no_signal)[1][0]) / (2 * STEP)
    assert force @ v == pytest.approx(supply - dissipation - stored, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("direction", [0, 1, -1])
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_one_sided_force_is_the_gradient_of_its_energy(direction: int, width: float) -> None:
    x = ca.SX.sym("x")
    counted, energy, share = one_sided(x, 0.0, direction, width)
    f = ca.Function("f", [x], [counted, ca.jacobian(energy, x), share, ca.jacobian(counted, x)])
    for point in (-2.0, -0.31, -0.29, -0.1, 0.1, 0.29, 0.31, 2.0):
        counted, slope, share, tangent = (float(y) for y in f(point))
        assert counted == pytest.approx(slope, abs=1e-15)
        assert share == pytest.approx(tangent, abs=1e-15)
        assert 0 <= share <= 1
        if direction and abs(point) > width:
            assert share == (point * direction > 0)


def test_power_law_is_odd_and_exact_for_power_one() -> None:
    for power in (0.5, 1.0, 2.0):
        for rate in (0.3, 4.0):
            force = float(power_law(ca.DM(rate), 2.0, power))
            assert force == pytest.approx(2 * rate**power, rel=1e-9)
            assert float(power_law(ca.DM(-rate), 2.0, power)) == -force
    assert float(power_law(ca.DM(1e-9), 2.0, 1.0)) == 2e-9
    assert float(power_law(ca.DM(1e-9), 2.0, 2.0)) == 2e-18
    slope = ca.SX.sym("r")
    at_rest = ca.Function("d", [slope], [ca.jacobian(power_law(slope, 2.0, 0.5), slope)])(0.0)
    assert np.isfinite(float(at_rest))
