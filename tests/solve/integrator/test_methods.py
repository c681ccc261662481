"""Methods as objects: options, their checks, lookup by name."""

import dataclasses

import numpy as np
import pytest
from integrator_systems import setup
from pliant.solve.integrator.interpolation import Ends, interpolate

from pliant.solve.integrator import (
    METHODS,
    ExplicitRungeKutta,
    GeneralizedAlpha,
    Method,
    Newmark,
    Rosenbrock,
    SemiImplicit,
    Status,
    method_by_name,
)
from pliant.solve.integrator.explicit_runge_kutta import NODES
from pliant.solve.integrator.explicit_runge_kutta import A as DORMAND_PRINCE
from pliant.solve.integrator.group import Group


def test_methods_are_found_by_the_names_of_the_command_line():
    assert list(METHODS) == ["explicit", "implicit", "generalized_alpha", "newmark", "semi_implicit"]
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
        (GeneralizedAlpha, {"step": 1e-3, "max_step": 1e-2}, "a fixed step leaves no use for max_step"),
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
    assert (method.relative_tolerance, method.absolute_tolerance) == (1e-6, 1e-8)
    assert not method.fixed
    assert method.largest_step(10.0) == pytest.approx(0.2)
    assert ExplicitRungeKutta(max_step=3.0).largest_step(10.0) == 3.0
    assert Rosenbrock(rtol=1e-4, atol=1e-9).absolute_tolerance == 1e-9


def test_coefficients_satisfy_the_conditions_of_second_order_and_of_optimal_damping():
    for rho in (0.0, 0.3, 0.8, 1.0):
        alpha_m, alpha_f, beta, gamma = GeneralizedAlpha(spectral_radius=rho).coefficients
        assert gamma == pytest.approx(0.5 - alpha_m + alpha_f)
        assert alpha_m <= alpha_f <= 0.5
        assert beta == pytest.approx(0.25 * (gamma + 0.5) ** 2)
        # at infinite frequency the two eigenvalues of the averages meet at -rho
        assert alpha_f / (alpha_f - 1) == pytest.approx(-rho)
    assert Newmark().coefficients == (0.0, 0.0, 0.25, 0.5)


def test_stages_stand_at_their_nodes():
    np.testing.assert_allclose(DORMAND_PRINCE.sum(axis=1), NODES, atol=1e-15)


def test_every_status_has_a_meaning():
    assert [status.value for status in Status] == list(range(9))
    assert len({status.meaning for status in Status}) == 9


# -- positions as a group --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def group():
    return Group(setup("top").engine.system)


def random_state(group, rng, size=1.0):
    q = group.normalized(rng.normal(size=group.nq))
    return q, size * rng.normal(size=group.nv)


def test_increments_are_those_of_the_engine(group):
    engine, rng = setup("top").engine, np.random.default_rng(3)
    for size in (1e-9, 1e-3, 1.0, 2.5):
        q, x = random_state(group, rng, size)
        np.testing.assert_allclose(group.increment(q, x), engine.increment(q, x), atol=1e-15)


@pytest.mark.parametrize("size", [1e-6, 0.05, 0.17, 0.18, 1.0, 2.0])
def test_the_rate_of_an_increment_inverts_the_tangent_of_the_exponential(group, size):
    rng = np.random.default_rng(4)
    q, x = random_state(group, rng)
    x *= size / np.linalg.norm(x[3:])
    v = rng.normal(size=group.nv)
    step = 1e-5
    # moving x at the rate B(x) v moves the configuration at the rate v
    ends = [group.increment(q, x + s * step * group.increment_rate(x, v)) for s in (-1, 1)]
    here = group.increment(q, x)
    np.testing.assert_allclose((ends[1] - ends[0]) / (2 * step), group.rates(here, v), atol=1e-9)
    np.testing.assert_allclose(group.increment_matrix(x) @ v, group.increment_rate(x, v), atol=1e-14)


def test_rates_and_accelerations_are_recovered_from_moving_positions(group):
    rng = np.random.default_rng(5)
    q, v = random_state(group, rng)
    a = rng.normal(size=group.nv)
    found = group.motion(1.3 * q, 1.3 * group.rates(q, v), 1.3 * group.second_rates(q, v, a))
    mixed = np.r_[1.3 * v[:3], v[3:]], np.r_[1.3 * a[:3], a[3:]]
    np.testing.assert_allclose(found, mixed, atol=1e-13)


def test_interpolation_is_exact_for_quintics_and_at_both_ends(group):
    rng = np.random.default_rng(6)
    coefficients = rng.normal(size=(6, group.nv))
    unit, h = np.array([1.0, 0, 0, 0]), 0.7

    def state(t):
        q, v, a = (np.polynomial.polynomial.polyval(t, _derivative(coefficients, k)) for k in range(3))
        keep = [0, 1, 2]
        return Ends(np.r_[q[keep], unit], *(np.r_[x[keep], 0, 0, 0] for x in (v, a)), *np.zeros((3, 0)))

    for x in (0.0, 0.3, 0.8, 1.0):
        q, v, a = interpolate(group, state(0.0), state(h), h, x)
        expected = state(x * h)
        for found, right in ((q, expected.q), (v, expected.v), (a, expected.a)):
            np.testing.assert_allclose(found, right, atol=1e-12)


def _derivative(coefficients, times):
    return np.polynomial.polynomial.polyder(coefficients, times) if times else coefficients
