"""Immersed parts of solids: against numerical integration, the energy, and known positions of floating bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
import scipy

from pliant.parts.field import immersion

Solid = Callable[[Any, Any], immersion.Immersed]
SEMI_AXES, RADIUS, LENGTH, EDGES = np.array([0.5, 0.3, 0.2]), 0.3, 1.1, np.array([0.9, 0.6, 0.4])
CORNERS = np.array([[0.3, 0.1, -0.2], [-0.4, 0.3, 0.1], [0.1, -0.5, 0.2], [0.2, 0.2, 0.6]]).T


def ellipsoid(h: Any, n: Any) -> immersion.Immersed:
    return immersion.ellipsoid(ca.DM(SEMI_AXES), h, n)


def cylinder(h: Any, n: Any) -> immersion.Immersed:
    return immersion.cylinder(RADIUS, LENGTH, h, n)


def tetrahedron(h: Any, n: Any) -> immersion.Immersed:
    return immersion.tetrahedron(ca.DM(CORNERS), h, n)


def box(h: Any, n: Any) -> immersion.Immersed:
    parts = [immersion.tetrahedron(ca.DM((part * EDGES / 2).T), h, n) for part in immersion.BOX_PARTS]
    return immersion.Immersed(sum(p.volume for p in parts), sum(p.moment for p in parts))


SOLIDS: dict[str, tuple[Solid, Callable[[np.ndarray], np.ndarray], float]] = {
    "ellipsoid": (ellipsoid, lambda x: np.sum((x / SEMI_AXES[:, None]) ** 2, axis=0) < 1, 0.5),
    "cylinder": (cylinder, lambda x: (x[0] ** 2 + x[1] ** 2 < RADIUS**2) & (np.abs(x[2]) < LENGTH / 2), 0.64),
    "box": (box, lambda x: np.all(np.abs(x) < EDGES[:, None] / 2, axis=0), 0.6),
    "tetrahedron": (
        tetrahedron,
        lambda x: np.all(
            np.linalg.solve(np.vstack([CORNERS, np.ones(4)]), np.vstack([x, np.ones(x.shape[1])])) > 0, axis=0
        ),
        0.7,
    ),
}
DIRECTIONS = [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, 1, 0], [1, 1, 1], [0.3, -0.5, 0.2], [1, 0.2, 1e-3], [1e-7, 0, 1]]


def function(solid: Solid) -> ca.Function:
    """Volume, moments, depth integral; the derivatives of the last; and those of all by height and direction."""
    h, n = ca.SX.sym("h"), ca.SX.sym("n", 3)
    part = solid(h, n)
    state, values = ca.vertcat(h, n), ca.vertcat(part.volume, part.moment)
    depth = part.depth(h, n)
    return ca.Function("part", [h, n], [values, depth, -ca.gradient(depth, state), ca.jacobian(values, state)])


def heights(reach: float) -> np.ndarray:
    return np.array([-1.3, -0.7, -0.31, 0.0, 0.2, 0.62, 1.3]) * reach


@pytest.mark.parametrize("name", SOLIDS)
def test_volumes_and_moments_are_those_of_points_below_the_surface(name: str) -> None:
    solid, inside, reach = SOLIDS[name]
    x = reach * (2 * scipy.stats.qmc.Sobol(3, seed=0).random(2**18).T - 1)
    cell, at = (2 * reach) ** 3 / x.shape[1], function(solid)
    x = x[:, inside(x)]
    for direction in DIRECTIONS:
        n = np.array(direction) / np.linalg.norm(direction)
        for h in heights(reach):
            depth = -h - n @ x
            below = depth > 0
            values, integral, _, _ = at(h, n)
            expected = cell * np.array([below.sum(), *x[:, below].sum(axis=1)])
            np.testing.assert_allclose(np.array(values).ravel(), expected, atol=3e-3 * reach**3)
            np.testing.assert_allclose(float(integral), cell * depth[below].sum(), atol=3e-3 * reach**4)


@pytest.mark.parametrize("name", SOLIDS)
def test_the_integral_of_depth_is_the_potential_of_volume_and_moments(name: str) -> None:
    """Also where faces are parallel to the surface, corners lie in it, or a cylinder begins to be immersed."""
    solid, _, reach = SOLIDS[name]
    at, rng = function(solid), np.random.default_rng(1)
    directions = [*DIRECTIONS, *rng.normal(size=(20, 3))]
    for direction in directions:
        n = np.array(direction) / np.linalg.norm(direction)
        for h in [*heights(reach), *rng.uniform(-reach, reach, 5), RADIUS, -RADIUS, LENGTH / 2, *(EDGES / 2)]:
            values, integral, gradient, tangent = at(h, n)
            assert np.isfinite(np.array(tangent)).all()
            np.testing.assert_allclose(np.array(gradient), np.array(values), atol=3e-9 * reach**3)
            # for directions of any length it is homogeneous, so both agree along n alone; the tangent is symmetric
            np.testing.assert_allclose(
                float(integral), -h * float(values[0]) - n @ np.array(values[1:]).ravel(), atol=1e-14
            )


@pytest.mark.parametrize("name", SOLIDS)
def test_tangents_are_those_of_differences(name: str) -> None:
    solid, _, reach = SOLIDS[name]
    at, rng, step = function(solid), np.random.default_rng(2), 1e-6
    for direction in [[1, 0.2, 0.3], [1, 0, 1e-3], *rng.normal(size=(10, 3))]:
        n = np.array(direction) / np.linalg.norm(direction)
        for h in rng.uniform(-reach / 2, reach / 2, 5):
            tangent = np.array(at(h, n)[3])
            for k in range(4):
                d = step * np.eye(4)[k]
                ahead, behind = (np.array(at(h + s * d[0], n + s * d[1:])[0]).ravel() for s in (1, -1))
                np.testing.assert_allclose((ahead - behind) / (2 * step), tangent[:, k], atol=2e-5)


def test_a_lying_cylinder_is_the_same_by_quadrature_and_by_differences() -> None:
    at = function(cylinder)
    for h in (-0.29, -0.1, 0.0, 0.15, 0.29):
        for slope in (0.0, 0.9, 1.1):
            tilt = slope * immersion.LEVEL * RADIUS / LENGTH
            n = np.array([np.cos(tilt), 0, np.sin(tilt)])
            expected, _ = scipy.integrate.quad(
                lambda z, tilt=tilt, h=h: segment((-h - np.sin(tilt) * z) / np.cos(tilt)), -LENGTH / 2, LENGTH / 2,
                epsabs=1e-13, epsrel=1e-12, limit=200,
            )  # fmt: skip
            np.testing.assert_allclose(float(at(h, n)[0][0]), expected, atol=1e-10)


def segment(depth: float) -> float:
    """Area of the part of a disc below a chord."""
    u = np.clip(depth / RADIUS, -1, 1)
    return float(RADIUS**2 * (np.arccos(-u) + u * np.sqrt(1 - u * u)))


def test_wholly_immersed_solids_displace_their_volume() -> None:
    volumes = {
        "ellipsoid": 4 / 3 * np.pi * np.prod(SEMI_AXES), "cylinder": np.pi * RADIUS**2 * LENGTH, "box": np.prod(EDGES),
    }  # fmt: skip
    for name, volume in volumes.items():
        at = function(SOLIDS[name][0])
        for depth in (1.0, 1e4):
            values, integral, _, _ = at(-depth, [0.6, 0.0, 0.8])
            np.testing.assert_allclose(np.array(values).ravel(), [volume, 0, 0, 0], atol=1e-14)
            np.testing.assert_allclose(float(integral), depth * volume, rtol=1e-14)
