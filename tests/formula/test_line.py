"""Forces along a line: what they state is what differentiation gives, in a fraction of the operations."""

import casadi as ca
import numpy as np
import pytest

from pliant.equations.kernel import _differentiated_tangent, frame_force_kernels
from pliant.geometry import se3, so3
from pliant.link.axial import axial_force, driven_rope_force, rope_force

KINDS = {
    "spring and damper": (axial_force(with_input=False), [30.0, 0.4, 2.0, 1.5, 0, 0]),
    "one-sided with an input": (axial_force(with_input=True), [30.0, 0.4, 2.0, 1.0, 1, 0.3]),
    "rope": (rope_force(), [30.0, 0.4, 0.1, 1, 0.2]),
    "driven rope": (driven_rope_force(with_input=True), [30.0, 0.4, 0.1, 1, 0.2, 2.0, 1.0]),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_stated_tangent_is_the_derivative(name):
    kind, numbers = KINDS[name]
    rng = np.random.default_rng(5)
    x = [ca.SX.sym(f"x{i}", 12) for i in range(2)]
    poses = [(ca.reshape(e[:9], 3, 3), e[9:]) for e in x]
    twists = [ca.SX.sym(f"V{i}", 6) for i in range(2)]
    c, s = ca.SX.sym("c", kind.constants), ca.SX.sym("s", kind.signals)
    inputs = [ca.vertcat(*x), ca.vertcat(*twists), c, s]
    derived = ca.Function("derived", inputs, list(_differentiated_tangent(kind, poses, twists, c, s)))
    _, tangent = frame_force_kernels(kind).functions
    for _ in range(4):
        placed = [se3.exp(ca.DM(rng.normal(size=6))) for _ in range(2)]
        values = [
            ca.vertcat(*[ca.vertcat(ca.vec(R), p) for R, p in placed]),
            rng.normal(size=12), [*rng.normal(size=6), *numbers], rng.normal(size=kind.signals),
        ]  # fmt: skip
        for found, expected in zip(tangent(*values), derived(*values), strict=True):
            assert np.allclose(found.full(), expected.full(), rtol=1e-10, atol=1e-10)
    assert np.abs(tangent(*values)[0].full()).max() > 1
    assert tangent.n_instructions() < derived.n_instructions() / 3


def test_turning_everything_turns_the_wrenches_along():
    """The convected tangent of a spring without damper, for an increment that is the same for both frames, is zero."""
    kind, numbers = KINDS["spring and damper"]
    pose = [ca.vertcat(ca.vec(so3.exp(ca.DM([0.1, 0.2, k]))), ca.DM([k, 0.3, 1.0])) for k in (0, 1)]
    values = [ca.vertcat(*pose), np.zeros(12), [0.1, 0, 0, 0, 0.2, 0, *numbers[:2], 0.0, 1.0, 0, 0], []]
    K = frame_force_kernels(kind).functions[1](*values)[0].full()
    assert np.abs(K).max() > 1
    assert np.abs(K[:, :6] + K[:, 6:]).max() < 1e-13 * np.abs(K).max() * 10
