"""Coefficients of bodies in a fluid: exact solutions, and the tables that they come from."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import scipy

from pliant.parts.field import hydrodynamics


def numbers(entries: list[object]) -> np.ndarray:
    return np.array([float(ca.DM(x)) for x in entries])


@pytest.mark.parametrize("arguments", [(1.0, 2.0, 3.0), (1e-6, 1.0, 1.0), (1.0, 1.0, 1e-6), (0.3, 0.3, 0.3)])
def test_the_elliptic_integral_is_that_of_scipy(arguments: tuple[float, float, float]) -> None:
    found = float(ca.DM(hydrodynamics.carlson(*map(ca.SX, arguments))))
    assert found == pytest.approx(scipy.special.elliprd(*arguments), rel=1e-13)


def test_a_sphere_has_half_its_volume_as_added_mass_and_stokes_resistance() -> None:
    hull = hydrodynamics.ellipsoid([0.3] * 3)
    volume = 4 / 3 * np.pi * 0.3**3
    np.testing.assert_allclose(numbers(hull.added), [*[volume / 2] * 3, 0, 0, 0], rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(numbers(hull.viscous), [*[6 * np.pi * 0.3] * 3, *[8 * np.pi * 0.3**3] * 3], rtol=1e-13)
    np.testing.assert_allclose(numbers(hull.drag), [*[0.5 * 0.42 * np.pi * 0.3**2] * 3, 0, 0, 0], rtol=1e-13)


@pytest.mark.parametrize(
    ("slenderness", "along", "across", "turning"),
    [(1.5, 0.305, 0.621, 0.094), (2.51, 0.156, 0.763, 0.367), (4.99, 0.059, 0.895, 0.701), (9.97, 0.021, 0.960, 0.883)],
)
def test_spheroids_have_the_coefficients_that_lamb_lists(
    slenderness: float, along: float, across: float, turning: float
) -> None:
    """Lamb, Hydrodynamics, article 115; to the digits printed there (its proportions are rounded)."""
    hull = hydrodynamics.ellipsoid([slenderness, 1.0, 1.0])
    volume = float(hull.volume)
    square = (slenderness**2 + 1) / 5
    expected = [along, across, across, 0, turning, turning]
    found = numbers(hull.added) / (volume * np.array([1, 1, 1, square, square, square]))
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_discs_and_needles_are_limits_of_ellipsoids() -> None:
    disc = hydrodynamics.ellipsoid([1.0, 1.0, 1e-3])
    np.testing.assert_allclose(numbers(disc.added)[[2, 3]], [8 / 3, 16 / 45], rtol=3e-3)
    np.testing.assert_allclose(numbers(disc.viscous)[[0, 2, 3]], [32 / 3, 16, 32 / 3], rtol=3e-3)
    needle = hydrodynamics.ellipsoid([100.0, 1.0, 1.0])
    slender = 4 * np.pi * 100 / (np.log(200) - 0.5)
    np.testing.assert_allclose(numbers(needle.viscous)[0], slender, rtol=3e-3)


def test_ellipsoids_with_almost_equal_axes_are_exact_too() -> None:
    about = [numbers(hydrodynamics.ellipsoid([0.5, 1.0 + d, 1.0]).added)[3] for d in (1e-3, 1e-6, 0.0)]
    # of second order in the difference; the coefficient is that of a wider one
    np.testing.assert_allclose(about[1], about[0] * 1e-6, rtol=2e-3)
    assert about[2] == 0


def test_boxes_and_cylinders_have_the_coefficients_of_the_tables() -> None:
    """DNV-RP-H103, table A-2: plates, square prisms, and long cylinders."""
    plate = numbers(hydrodynamics.box([0.5, 1.0, 1e-9]).added)
    assert plate[2] == pytest.approx(0.757 * np.pi / 4 * 0.25, rel=1e-6)
    for length, coefficient in ((1, 0.68), (2, 0.36), (5, 0.15)):
        prism = numbers(hydrodynamics.box([1.0, 1.0, float(length)]).added)
        assert prism[2] == pytest.approx(coefficient * length, rel=1e-3)
    for length, coefficient in ((2.5, 0.78), (5, 0.90), (9, 0.96)):
        hull = hydrodynamics.cylinder(0.5, length, 2)
        assert numbers(hull.added)[0] == pytest.approx(coefficient * float(hull.volume), rel=0.025)
    disc = numbers(hydrodynamics.cylinder(1.0, 1e-3, 2).added)
    np.testing.assert_allclose(disc[[2, 3]], [8 / 3, 16 / 45], rtol=5e-3)
    slender = numbers(hydrodynamics.cylinder(0.01, 1.0, 0).added)
    np.testing.assert_allclose(slender[[1, 5]], np.pi * 1e-4 * np.array([1, 1 / 12]), rtol=1e-2)


def test_the_moment_of_a_long_plate_about_its_axis_is_that_of_an_ellipse() -> None:
    plate = numbers(hydrodynamics.box([1e-9, 1.0, 100.0]).added)
    assert plate[5] == pytest.approx(np.pi / 8 * 0.5**4 * 100, rel=0.02)


def test_coefficients_are_live_in_parameters() -> None:
    a = ca.SX.sym("a")
    for hull in (
        hydrodynamics.ellipsoid([a, 0.3, 0.2]), hydrodynamics.box([a, 0.3, 0.2]), hydrodynamics.cylinder(a, 0.7, 1),
    ):  # fmt: skip
        values = ca.vertcat(hull.volume, *hull.added, *hull.viscous, *hull.drag)
        at = ca.Function("at", [a], [values, ca.jacobian(values, a)])
        for size in (0.2, 0.25, 0.3, 0.55):
            slope = np.array(at(size)[1]).ravel()
            assert np.isfinite(slope).all()
        step = 1e-6
        differences = (np.array(at(0.27 + step)[0]) - np.array(at(0.27 - step)[0])) / (2 * step)
        np.testing.assert_allclose(differences, np.array(at(0.27)[1]), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("reynolds", "coefficient"), [(0.01, 2400), (1, 27.6), (100, 1.09), (1000, 0.44), (1e5, 0.5)])
def test_the_drag_of_spheres_goes_from_stokes_to_newton(reynolds: float, coefficient: float) -> None:
    """Against the standard curve (Clift, Grace and Weber 1978)."""
    slow, fast = hydrodynamics.sphere_wake(reynolds)
    assert 24 / reynolds * slow + 0.42 * fast == pytest.approx(coefficient, rel=0.08)
