"""Methods as objects: options, their checks, lookup by name."""

import dataclasses
from typing import get_args

import numpy as np
import pytest
from integrator_systems import setup
from scipy.spatial.transform import Rotation

from pliant.analysis.integrators import (
    METHODS,
    ExplicitRungeKutta,
    GeneralizedAlpha,
    Method,
    Newmark,
    Rosenbrock,
    SemiImplicit,
    method_by_name,
)
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.analysis.simulate import Simulate
from pliant.engine.layout import RuntimeStatus


def test_methods_are_found_by_the_names_of_the_command_line():
    names = get_args(Simulate.model_fields["method"].annotation)[0]
    assert tuple(METHODS) == get_args(names)
    for name in METHODS:
        method = method_by_name(name, step=1e-3)
        assert isinstance(method, Method)
        assert method.name == name
        assert method.fixed
        assert "0.001 s" in method.describe()


def test_options_that_are_none_keep_their_default():
    assert method_by_name("explicit", step=None, rtol=1e-8, atol=None) == ExplicitRungeKutta(rtol=1e-8)
    assert method_by_name("newmark", beta=0.3, gamma=0.6, step=0.1) == Newmark(beta=0.3, gamma=0.6, step=0.1)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("explict", {}, ["'explict'", "did you mean 'explicit'", "semi_implicit"]),
        ("generalised_alpha", {}, ["did you mean 'generalized_alpha'"]),
        ("euler", {}, ["unknown method 'euler'", "known: explicit, implicit"]),
        ("generalized_alpha", {"spectral_radios": 0.5}, ["no option 'spectral_radios'", "'spectral_radius'"]),
        ("semi_implicit", {"step": 1e-3, "rtol": 1e-6}, ["'semi_implicit' has no option 'rtol'"]),
        ("semi_implicit", {}, ["'semi_implicit' needs the option 'step'"]),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(name, options, words):
    with pytest.raises(ValueError) as error:
        method_by_name(name, **options)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        (ExplicitRungeKutta, {"rtol": 0}, "ExplicitRungeKutta: rtol must be a number between"),
        (ExplicitRungeKutta, {"rtol": 1}, "rtol must be a number between"),
        (ExplicitRungeKutta, {"rtol": float("nan")}, "rtol must be a number between"),
        (Rosenbrock, {"atol": -1e-9}, "Rosenbrock: atol must be a positive number, not -1e-09"),
        (Rosenbrock, {"step": 0.0}, "step must be a positive number"),
        (Rosenbrock, {"step": True}, "step must be a positive number"),
        (GeneralizedAlpha, {"step": 1e-3, "max_step": 1e-2}, "max_step has no effect with a fixed step"),
        (GeneralizedAlpha, {"max_step": float("inf")}, "max_step must be a positive number"),
        (GeneralizedAlpha, {"spectral_radius": 1.2}, "spectral_radius must be a number between 0"),
        (Newmark, {"beta": 0.0}, "beta must be a number above 0"),
        (Newmark, {"gamma": 0.4}, "gamma must be a number between 0.5 and 1, not 0.4"),
        (SemiImplicit, {"step": -1.0}, "SemiImplicit: step must be a positive number, not -1.0"),
    ],
)
def test_options_out_of_range_are_refused(method, options, words):
    with pytest.raises(ValueError) as error:
        method(**options)
    assert words in str(error.value)


def test_methods_are_values():
    assert GeneralizedAlpha() == GeneralizedAlpha()
    assert len({ExplicitRungeKutta(), ExplicitRungeKutta(), ExplicitRungeKutta(rtol=1e-7)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        GeneralizedAlpha().step = 1e-3  # type: ignore[misc]
    with pytest.raises(TypeError):
        SemiImplicit()  # type: ignore[call-arg]


def test_tolerances_and_largest_step_have_defaults():
    method = ExplicitRungeKutta()
    assert (method.relative_tolerance, method.absolute_tolerance) == pytest.approx((1e-6, 1e-12))
    assert Rosenbrock().relative_tolerance == GeneralizedAlpha().relative_tolerance == 1e-3
    assert not method.fixed
    assert method.largest_step(10.0) == pytest.approx(0.2)
    assert ExplicitRungeKutta(max_step=3.0).largest_step(10.0) == 3.0
    assert Rosenbrock(rtol=1e-4, atol=1e-9).absolute_tolerance == 1e-9


def test_coefficients_satisfy_the_conditions_of_second_order_and_of_optimal_damping():
    for rho in (0.0, 0.3, 0.8, 1.0):
        given = GeneralizedAlpha(spectral_radius=rho).coefficients
        alpha_m, alpha_f, beta, gamma = (given[name] for name in ("alpha_m", "alpha_f", "beta", "gamma"))
        assert gamma == pytest.approx(0.5 - alpha_m + alpha_f)
        assert alpha_m <= alpha_f <= 0.5
        assert beta == pytest.approx(0.25 * (gamma + 0.5) ** 2)
        # at infinite frequency the two eigenvalues of the averages meet at -rho
        assert alpha_f / (alpha_f - 1) == pytest.approx(-rho)
    assert Newmark().coefficients == {"beta": 0.25, "gamma": 0.5}, "without averages"


def test_every_status_has_a_meaning_and_says_why_an_evaluation_fails():
    assert [status.value for status in RuntimeStatus] == list(range(11))
    assert len({status.meaning for status in RuntimeStatus}) == 11
    assert all(status.failure.endswith(".") for status in RuntimeStatus)


# -- positions as a group --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def binding():
    return setup("top").binding


@pytest.fixture(scope="module")
def group(binding):
    return ConfigurationGroup(binding.system)


def random_state(binding, rng):
    """A position with a unit quaternion, rates and accelerations."""
    q, v, a = (rng.normal(size=n) for n in (binding.nq, binding.nv, binding.nv))
    return binding.increment(q, 0 * v), v, a


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 2.5])
def test_an_increment_and_its_difference_are_inverse(binding, group, size):
    rng = np.random.default_rng(3)
    q, _, x = random_state(binding, rng)
    x *= size / np.linalg.norm(x[3:])
    moved = binding.increment(q, x)
    np.testing.assert_allclose(group.difference(q, moved), x, atol=1e-14)
    # the same rotation written with the other sign
    np.testing.assert_allclose(group.difference(q, np.r_[moved[:3], -moved[3:]]), x, atol=1e-14)
    # rotations compose on the right: R(moved) = R(q) exp(x)
    R, R_moved = (Rotation.from_quat(p[[4, 5, 6, 3]]) for p in (q, moved))
    np.testing.assert_allclose((R.inv() * R_moved).as_rotvec(), x[3:], atol=1e-14)


def test_rates_are_derivatives_along_increments(binding, group):
    rng, h = np.random.default_rng(4), 1e-5
    q, v, _ = random_state(binding, rng)
    slope = (binding.increment(q, h * v) - binding.increment(q, -h * v)) / (2 * h)
    np.testing.assert_allclose(group.rates(q, v), slope, atol=1e-9)
    np.testing.assert_allclose(group.rate_matrix(q) @ v, group.rates(q, v), atol=1e-15)


def test_rates_and_accelerations_are_recovered_from_moving_positions(binding, group):
    """From the derivatives of q along a motion, the quaternion of a length that is not one."""
    q, v, a = random_state(binding, np.random.default_rng(5))
    first, h = group.rates(q, v), 1e-4

    def rates_at(s):
        # v changes by a; to second order positions change by the increment s v + s^2 a / 2
        return group.rates(binding.increment(q, s * v + 0.5 * s * s * a), v + s * a)

    second = (rates_at(h) - rates_at(-h)) / (2 * h)
    found = group.motion(1.3 * q, 1.3 * first, 1.3 * second)
    mixed = np.r_[1.3 * v[:3], v[3:]], np.r_[1.3 * a[:3], a[3:]]
    np.testing.assert_allclose(found, mixed, atol=1e-7)
