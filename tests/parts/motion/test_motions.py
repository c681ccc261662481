"""Every elementary motion: stated against differentiated subspace, kernels against finite differences."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant.parts.motion
from pliant.engine.kernel import coordinate_carrier, has_constant_subspace, motion_kernels
from pliant.parts.geometry import se3, so3
from pliant.parts.motion import Motion, Quaternion
from pliant.parts.rod.gvs import StrainBasis, variable_strain_motion
from pliant.parts.rod.pcs import strain_segment
from pliant.parts.rod.polynomial import Polynomials, polynomial_motion
from pliant.parts.rod.pseudo_rigid import link_joint

JOINT_MOTIONS = {m.name: m for m in vars(pliant.parts.motion).values() if isinstance(m, Motion) and m.parts}
ROD_MOTIONS = {
    m.name: m
    for m in (
        strain_segment("exponential"),
        strain_segment("exponential", (2, 4)),
        strain_segment("exponential", (2, 3, 4, 5), 2),
        strain_segment("published"),
        link_joint("midpoint"),
        link_joint("midpoint", (3, 4, 5), 3),
        link_joint("published"),
        variable_strain_motion(StrainBasis((0, 1, 2, 3, 4, 5), (0, 0, 0, 1, 1, 0), held=False), 2),
        variable_strain_motion(StrainBasis((2, 3, 4), (0, 1, 2), held=True), 2),
        polynomial_motion(Polynomials(2, 2, "four")),
        polynomial_motion(Polynomials(3, 2, "three")),
        polynomial_motion(Polynomials(2, 2, "four", "xz")),
        polynomial_motion(Polynomials(3, 2, "three", "yz")),
    )
}
MOTIONS = JOINT_MOTIONS | ROD_MOTIONS
STEP = 1e-5
STATES = range(4)


def constants(motion: Motion, rng: np.random.Generator) -> np.ndarray:
    """Constants that a motion may have: a screw's axis has unit length and its translation is along it, a rod's are
    lengths and values of polynomials."""
    if motion.name == "screw":
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        return [np.concatenate([0 * axis, axis]), np.concatenate([axis, 0 * axis]), np.concatenate([0.3 * axis, axis])][
            rng.integers(3)
        ]
    return rng.uniform(0.2, 0.6, size=motion.constants)


def position(motion: Motion, rng: np.random.Generator) -> np.ndarray:
    """Any pose of a joint; a rod bends moderately."""
    size, parts = (0.3 if motion.name in ROD_MOTIONS else 2.0), []
    for part in motion.parts:
        if isinstance(part, Quaternion):
            parts.append(np.array(so3.quaternion_exp(ca.DM(size * rng.normal(size=3)))).ravel())
        else:
            parts.append(size * rng.normal(size=part.q_size))
    return np.concatenate(parts)


def moved(motion: Motion, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """q with an increment x applied on the group, part by part."""
    out, at, rate_at = [], 0, 0
    for part in motion.parts:
        old, dx = q[at : at + part.q_size], x[rate_at : rate_at + part.v_size]
        turned = so3.quaternion_product(old, so3.quaternion_exp(dx)) if isinstance(part, Quaternion) else old + dx
        out.append(np.array(ca.DM(turned)).ravel())
        at, rate_at = at + part.q_size, rate_at + part.v_size
    return np.concatenate(out)


def arrays(values: Any) -> list[np.ndarray]:
    values = values if isinstance(values, tuple) else (values,)
    return [np.array(x) for x in values]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array(se3.cross_twist(ca.DM(a), ca.DM(b))).ravel()


@pytest.fixture(params=[(name, state) for name in MOTIONS for state in STATES], ids=lambda x: f"{x[0]}-{x[1]}")
def case(request: pytest.FixtureRequest) -> tuple[Motion, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    name, state = request.param
    rng = np.random.default_rng(state)
    motion = MOTIONS[name]
    k = motion.v_size
    return motion, position(motion, rng), rng.normal(size=k), rng.normal(size=k), constants(motion, rng)


def test_all_motions_are_covered() -> None:
    assert {"screw", "translation", "rotation", "rotation_vector", "free"} <= set(JOINT_MOTIONS)
    assert len(ROD_MOTIONS) == 13


def test_stated_subspace_is_the_differentiated_one(case: Any) -> None:
    motion, q, _, _, c = case
    x, theta = ca.SX.sym("q", motion.q_size), ca.SX.sym("c", motion.constants)
    both = ca.Function("s", [x, theta], [motion.twist_per_rate(x, theta), motion.differentiated_subspace(x, theta)])
    stated, differentiated = arrays(both(q, c))
    assert stated.shape == (6, motion.v_size)
    np.testing.assert_allclose(stated, differentiated, atol=1e-13)


def test_pose_is_a_rigid_motion_that_follows_the_subspace(case: Any) -> None:
    motion, q, v, _, c = case
    kinematics = motion_kernels(motion).functions[0]
    R, p, s, _ = arrays(kinematics(q, v, c))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)

    def flat(h: float) -> np.ndarray:
        R, p, _, _ = arrays(kinematics(moved(motion, q, h * v), v, c))
        return np.concatenate([R.ravel(order="F"), p.ravel()])

    rate = np.array(se3.pose_rates((ca.DM(R), ca.DM(p)))) @ s @ v
    np.testing.assert_allclose(rate, (flat(STEP) - flat(-STEP)) / (2 * STEP), atol=1e-8)


def test_convection(case: Any) -> None:
    motion, q, v, _, c = case
    kinematics = motion_kernels(motion).functions[0]
    convection = arrays(kinematics(q, v, c))[3]
    ends = [arrays(kinematics(moved(motion, q, h * v), v, c))[2] for h in (STEP, -STEP)]
    np.testing.assert_allclose(convection.ravel(), (ends[0] - ends[1]) @ v / (2 * STEP), atol=1e-8)
    assert has_constant_subspace(motion) == (motion.name in {"screw", "translation"})


def test_tangent_outputs(case: Any) -> None:
    """eta_dot = dV - eta x V and eta_ddot = dA - eta_dot x V - eta x A, for a base at rest."""
    motion, q, v, a, c = case
    kinematics, tangent = motion_kernels(motion).functions

    def twist_and_acceleration(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, _, s, convection = arrays(kinematics(q, v, c))
        return s @ v, s @ a + convection.ravel()

    V, A = twist_and_acceleration(q, v)
    s = arrays(kinematics(q, v, c))[2]
    vq, av, aq, _ = arrays(tangent(q, v, a, c, np.zeros(6)))
    for k in range(motion.v_size):
        unit = np.eye(motion.v_size)[k]
        plus, minus = (twist_and_acceleration(moved(motion, q, h * unit), v) for h in (STEP, -STEP))
        dV, dA = ((x - y) / (2 * STEP) for x, y in zip(plus, minus, strict=True))
        eta = s[:, k]
        eta_dot = dV - cross(eta, V)
        np.testing.assert_allclose(vq[:, k], eta_dot, atol=2e-8)
        np.testing.assert_allclose(aq[:, k], dA - cross(eta_dot, V) - cross(eta, A), atol=2e-8)
        plus, minus = (twist_and_acceleration(q, v + h * unit) for h in (STEP, -STEP))
        dV, dA = ((x - y) / (2 * STEP) for x, y in zip(plus, minus, strict=True))
        np.testing.assert_allclose(s[:, k], dV, atol=2e-8)
        np.testing.assert_allclose(av[:, k], dA - cross(dV, V), atol=2e-8)


def test_own_tangent(case: Any) -> None:
    motion, q, v, a, c = case
    kinematics, tangent = motion_kernels(motion).functions
    wrench = np.random.default_rng(9).normal(size=6)
    block = arrays(tangent(q, v, a, c, wrench))[3]
    for k in range(motion.v_size):
        unit = np.eye(motion.v_size)[k]
        ends = [arrays(kinematics(moved(motion, q, h * unit), v, c))[2].T @ wrench for h in (STEP, -STEP)]
        np.testing.assert_allclose(block[:, k], (ends[0] - ends[1]) / (2 * STEP), atol=1e-8)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-4, 0.5 - 1e-9, 0.5 + 1e-9])
def test_rotation_vector_kernels_pass_smoothly_through_zero(angle: float) -> None:
    """Subspace rates and tangents stay finite and equal to those of a neighbouring angle."""
    motion = MOTIONS["rotation_vector"]
    kinematics, tangent = motion_kernels(motion).functions
    axis, v, a = np.array([2.0, -1, 2]) / 3, np.array([0.3, -0.4, 0.5]), np.array([1.0, 2, -1])
    near = angle + 1e-7
    wrench = np.array([0.2, -0.1, 0.4, 1.0, -2.0, 0.5])
    for function, rest in ((kinematics, (v, [])), (tangent, (v, a, [], wrench))):
        here, there = (arrays(function(x * axis, *rest)) for x in (angle, near))
        for x, y in zip(here, there, strict=True):
            assert np.all(np.isfinite(x))
            np.testing.assert_allclose(x, y, atol=1e-6)


def test_bracket_closes_the_loop_of_increments() -> None:
    """d(increment)/dt = dv - Gamma(v) increment: moving then turning against turning then moving."""
    motion = coordinate_carrier((Quaternion(),))
    rng = np.random.default_rng(3)
    q, v, x = position(motion, rng), rng.normal(size=3), rng.normal(size=3)
    h = 1e-4
    # the neighbour q(x) moves with rate v + dv; the increment between both paths keeps the value x when dv = Gamma x
    dv = np.array(ca.DM(motion.bracket(v))) @ x
    eps = 1e-4
    start = moved(motion, q, eps * x)
    ends = [moved(motion, q, h * v), moved(motion, start, h * (v + eps * dv))]
    relative = so3.quaternion_log(so3.quaternion_product(so3.quaternion_conjugate(ends[0]), ends[1]))
    drift = (np.array(relative).ravel() - eps * x) / (eps * h)
    np.testing.assert_allclose(drift, 0, atol=1e-3)
    assert np.linalg.norm(dv) > 0.1
