"""The matrix C(q, v): by Christoffel's symbols, in plain coordinates and in rates of rotations, against differences of M."""

import warnings

import numpy as np
import pytest

from pliant import derive, load, simulate

PLAIN = ("double_pendulum", "three_section_arm", "cc_arm_2@out_of_plane")
ROTATIONS = ("tumbling_body", "stiff_flop", "four_bar", "cart_pole")


def state(name: str):
    """Equations and a random state of a robot; soft rods in absolute poses, so that free rotations carry masses off their axes."""
    spec = load(name)
    if name == "stiff_flop":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec = spec.with_rod("arm", "cosserat:2")
    eqs = derive(spec)
    rng = np.random.default_rng(8)
    q, v = eqs.initial_state()
    scale = 0.02 if name == "three_section_arm" else 0.3
    q = increment(eqs, q, scale * rng.normal(size=len(v)))
    return eqs, q, scale * rng.normal(size=len(v))


def increment(eqs, q, dq):
    return eqs.binding.increment(np.asarray(q, dtype=float), np.asarray(dq, dtype=float))


def mass_along(eqs, q, direction, h=1e-5):
    """Derivative of M along a direction of rates, of fourth order."""

    def mass(s):
        return eqs.mass_matrix(increment(eqs, q, s * h * direction)).toarray()

    return (8 * (mass(1) - mass(-1)) - (mass(2) - mass(-2))) / (12 * h)


@pytest.mark.parametrize("name", [*PLAIN, *ROTATIONS])
def test_velocity_forces_and_skew_symmetry(name):
    eqs, q, v = state(name)
    C = eqs.coriolis_matrix(q, v).toarray()
    forces = sum(eqs.forces(q, v).values())
    np.testing.assert_allclose(C @ v - forces, eqs.bias(q, v), atol=1e-9 * max(1, np.abs(eqs.bias(q, v)).max()))
    rate = mass_along(eqs, q, v)
    scale = max(np.abs(C).max(), 1e-12)
    assert np.abs(rate - C - C.T).max() < 1e-6 * scale + 1e-10
    # linear in v
    np.testing.assert_allclose(eqs.coriolis_matrix(q, -3 * v).toarray(), -3 * C, atol=1e-9 * scale)


@pytest.mark.parametrize("name", PLAIN)
def test_symbols_of_christoffel_in_plain_coordinates(name):
    """Entry by entry, as published: 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) v_k."""
    eqs, q, v = state(name)
    n = len(v)
    D = np.array([mass_along(eqs, q, unit) for unit in np.eye(n)])  # D[k] = dM/dq_k
    by_hand = 0.5 * (np.einsum("kij,k->ij", D, v) + np.einsum("jik,k->ij", D, v) - np.einsum("ijk,k->ij", D, v))
    C = eqs.coriolis_matrix(q, v).toarray()
    np.testing.assert_allclose(C, by_hand, atol=1e-7 * np.abs(C).max())


def test_a_turning_body():
    """1/2 (hat(w) I - hat(I w) + I hat(w)): what structure coefficients make of a constant M."""
    eqs, q, v = state("tumbling_body")
    w_at = next(at for _, at in eqs.model.system.quaternions())
    w = v[w_at : w_at + 3]
    block = slice(w_at, w_at + 3)
    inertia = eqs.mass_matrix(q).toarray()[block, block]

    def hat(x):
        return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])

    expected = 0.5 * (hat(w) @ inertia - hat(inertia @ w) + inertia @ hat(w))
    np.testing.assert_allclose(eqs.coriolis_matrix(q, v).toarray()[block, block], expected, atol=1e-12)


def test_the_power_of_velocity_forces_is_that_of_the_mass():
    """v' C v = 1/2 d/dt(v' M v) at constant v, along a motion."""
    eqs = derive("double_pendulum")
    run = simulate(eqs, 0.5, save_every=0.1)
    assert np.abs(run.v[-1]).min() > 0.1
    for q, v in zip(run.q[1:], run.v[1:], strict=True):
        power = v @ eqs.coriolis_matrix(q, v) @ v
        assert power == pytest.approx(0.5 * v @ mass_along(eqs, q, v) @ v, abs=1e-8)
