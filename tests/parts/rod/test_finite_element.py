"""Kernels of finite elements against those of the general way, which differentiates through everything."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from pliant.engine.kernel import relative_force_kernels, shared_inertia_kernels
from pliant.parts.formula.relative import relative_force
from pliant.parts.geometry import se3
from pliant.parts.rod.chamber import STEADY, VARYING
from pliant.parts.rod.finite_element import ELEMENT, _mean_strain, element_constants, element_effect, element_force
from pliant.parts.rod.section_law import Law


def state(angle: float, length: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pose of the far end, turned by an angle [rad] against the near one, and its relative twist."""
    axis = rng.normal(size=3)
    helix = length * np.array([*0.05 * rng.normal(size=2), 1.1, 0, 0, 0])
    helix[3:] = angle * axis / np.linalg.norm(axis)
    R, p = se3.exp(ca.DM(helix))
    return np.concatenate([np.array(R).T.ravel(), np.array(p).ravel()]), rng.normal(size=6)


def constants(law: Law, length: float, rng: np.random.Generator) -> np.ndarray:
    """Constants after the placements, of sections that differ along the element."""
    fields = element_constants(law)
    section = np.concatenate([rng.uniform(1, 3, 6), rng.uniform(-0.5, 0.5, 2)])
    numbers = {
        "first": np.zeros(12), "second": np.zeros(12), "far_stiffness": section * rng.uniform(0.7, 0.9),
        "stiffness": section[:6], "coupling": section[6:], "rest": 0.05 * rng.normal(size=6),
        "damping": rng.uniform(0.1, 0.2, 6), "power": np.array([1.0, 1.0, 1.5, 1.0, 0.8, 1.0]),
    }  # fmt: skip
    written = fields.write(length=length, **{name: x.tolist() for name, x in numbers.items()})
    return np.array(written, dtype=float)[24:]


@pytest.mark.parametrize(
    ("law", "signals"),
    [("linear", 0), ("linear", STEADY), ("linear", VARYING), ("neo_hookean", 0), ("neo_hookean", STEADY)],
)
def test_kernels_give_what_differentiating_everything_gives(law, signals):
    fields, rng = element_constants(law), np.random.default_rng(3)

    def answer(strain, rate, c, signal):
        return element_effect(strain, rate, c, signal, law)

    general = relative_force(
        "general", constants=fields.size, signals=signals, deformation=_mean_strain(fields), law=answer
    )
    short, long = (relative_force_kernels(kind).functions for kind in (element_force(law, signals=signals), general))
    for angle in (0.0, 1e-7, 0.3, 0.49, 0.51, 2.0, 3.0):
        pose, twist = state(angle, 0.2, rng)
        arguments = (pose, twist, constants(law, 0.2, rng), 0.1 * rng.normal(size=signals))
        for a, b in zip(short, long, strict=True):
            for x, y in zip(a(*arguments), b(*arguments), strict=True):
                x, y = np.array(x), np.array(y)
                np.testing.assert_allclose(x, y, rtol=0, atol=1e-11 * max(1.0, np.abs(y).max(initial=0)))


def test_kernels_are_short():
    value, tangent = relative_force_kernels(element_force("linear")).functions
    assert value.n_instructions() < 1500
    assert tangent.n_instructions() < 5000


def test_stated_forces_of_the_velocities_are_those_of_the_mass_differentiated():
    rng = np.random.default_rng(5)
    short, long = (shared_inertia_kernels(kind).functions for kind in (ELEMENT, replace(ELEMENT, velocity_forces=None)))
    for angle in (0.0, 0.7, 2.5):
        pose, _ = state(angle, 0.2, rng)
        numbers = np.concatenate(
            [[0.2], 0.1 * rng.normal(size=2), [1.0], rng.uniform(1, 2, 3), 0.1 * rng.uniform(1, 2, 4)]
        )
        arguments = (pose, rng.normal(size=12), rng.normal(size=12), numbers)
        for a, b in zip(short, long, strict=True):
            for x, y in zip(a.call(arguments), b.call(arguments), strict=True):
                np.testing.assert_allclose(np.array(x), np.array(y), rtol=0, atol=1e-13)
