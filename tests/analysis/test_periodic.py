"""Periodic orbits: exact periods, published limit cycles, folds of a frequency response, stability tongues, flutter."""

import numpy as np
import pytest
import scipy.special
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar, root

import pliant
from pliant import derive, load, load_text, periodic

VAN_DER_POL = """
pliant: 1
name: van_der_pol
world: {gravity: [0, 0, 0]}
parameters: {mu: 1}
bodies: {mass: {mass: 1 kg}}
joints:
  x:
    type: prismatic
    child: mass
    axis: x
    displacement: {initial: 0.1 m, spring: 1 N/m, damper: "=mu*((displacement/1 m)^2 - 1)*1 N*s/m"}
"""
DUFFING = """
pliant: 1
name: duffing
world: {gravity: [0, 0, 0]}
parameters: {frequency: 0.5 rad/s, amplitude: 0.3 N, drive: {value: 0 N, input: true}}
bodies: {mass: {mass: 1 kg}}
joints:
  x:
    type: prismatic
    child: mass
    axis: x
    displacement: {spring: "=(1 + (displacement/1 m)^2)*1 N/m", damper: 0.1 N*s/m, input: =drive}
inputs: {drive: "=amplitude*cos(frequency*t)"}
"""
SHAKEN_PENDULUM = """
pliant: 1
name: shaken_pendulum
world: {gravity: [0, 0, -9.81]}
parameters: {length: 2 m, stroke: 0.1 m, rate: 4 rad/s}
bodies: {cart: {mass: 1 kg}, bob: {mass: 1 kg, center_of_mass: [0, 0, =-length]}}
joints:
  pivot: {type: prismatic, child: cart, axis: z, displacement: {motion: "=stroke*cos(rate*t)"}}
  swing: {type: revolute, parent: cart, child: bob, axis: y}
"""
FOLLOWER = """
pliant: 1
name: follower_column
world: {gravity: [0, 0, 0]}
parameters: {push: 22 N}
sections: {unit: {shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1}}
rods:
  column:
    length: 1 m
    section: unit
    strains: bend_y
    model: {kind: gvs, order: 4, elements: 2}
    rayleigh: {alpha: 1 1/s, beta: 10 ms}
loads: {end: {frame: column.tip, force: [0, 0, =-push], expressed_in: column.tip}}
"""


# -- limit cycles ------------------------------------------------------------------------------------------------------


def test_van_der_pol_has_the_published_cycle():
    """Period and amplitude to fourteen digits, as P. Amore, J. P. Boyd and F. M. Fernandez compute them by recurrences."""
    found = periodic(derive(load_text(VAN_DER_POL)), tolerance=1e-9)
    assert found.kind == "limit cycle"
    assert found.stable.all()
    np.testing.assert_allclose(found.period, 6.6632868593231301, rtol=1e-10)
    np.testing.assert_allclose(found.largest, 2.0086198608748431, rtol=1e-8)
    # Liouville: the product of the multipliers is that of the divergence over a period
    x = found.q[0, :-1, 0]
    np.testing.assert_allclose(found.multipliers[0, 0], np.exp(-found.period * np.mean(x**2 - 1)), rtol=1e-6)
    np.testing.assert_allclose(found.multipliers[0, 1], 1, atol=1e-8)


def test_relaxation_is_resolved_by_default():
    """Of large mu: A. A. Dorodnitsyn's asymptotics of the period (J. A. Zonneveld 1966), and a motion of solve_ivp."""
    mu = 10.0
    found = periodic(derive(load_text(VAN_DER_POL)), parameters={"mu": mu})

    def turns(t, y):
        return y[1]

    turns.direction = -1
    run = solve_ivp(
        lambda t, y: [y[1], -mu * (y[0] ** 2 - 1) * y[1] - y[0]], (0, 120), [2, 0], method="DOP853", rtol=1e-11,
        atol=1e-12, events=turns,
    )  # fmt: skip
    np.testing.assert_allclose(found.period, np.diff(run.t_events[0])[-1], rtol=1e-6)
    np.testing.assert_allclose(found.largest, run.y_events[0][-1][0], rtol=1e-5)
    asymptotic = (3 - 2 * np.log(2)) * mu + 7.014322 * mu ** (-1 / 3) - np.log(mu) / (3 * mu) - 1.3246 / mu
    np.testing.assert_allclose(found.period, asymptotic, rtol=0.03)


@pytest.mark.filterwarnings("ignore:.*the rod is 3.46 m thick")
def test_follower_load_makes_the_column_flutter_in_a_cycle():
    eqs = derive(load_text(FOLLOWER))
    found = periodic(eqs)
    assert found.stable.all()
    assert found.kind == "limit cycle"
    run = pliant.simulate(eqs, 5 * found.period, start=found.start(), rtol=1e-8, save_at=[5 * found.period])
    np.testing.assert_allclose(run.q[-1], found.q[0, 0], atol=2e-5 * found.largest[0])
    damped = periodic(eqs, parameters={"push": 2.0}, on_failure="return")
    assert damped.status == "failed"
    assert "stable equilibrium" in damped.message


def test_turning_over_the_top_is_periodic():
    """A driven wheel with an eccentric mass turns on: its angle grows by a turn in each period."""
    text = """
pliant: 1
bodies: {wheel: {mass: 1 kg, center_of_mass: [0.1, 0, 0], shape: {type: slender_rod, length: 20 cm, axis: x}}}
joints: {axle: {type: revolute, child: wheel, axis: y, angle: {rate: 20 rad/s, damper: 0.05 N*m*s/rad, input: 1 N*m}}}
"""
    eqs = derive(load_text(text))
    found = periodic(eqs)
    np.testing.assert_allclose(np.ptp(found.q[0, :, 0]), 2 * np.pi, rtol=1e-9)
    run = pliant.simulate(eqs, found.period, start=found.start(), rtol=1e-9, save_at=[found.period])
    np.testing.assert_allclose(run.q[-1] - found.q[0, 0], 2 * np.pi, rtol=1e-6)
    # the mean power of the torque is dissipated
    np.testing.assert_allclose(0.05 * np.mean(found.v[0, :-1] ** 2), 2 * np.pi / found.period, rtol=1e-6)


# -- robots without damping --------------------------------------------------------------------------------------------


def test_pendulum_has_the_exact_period():
    found = periodic(derive(load("pendulum")))
    exact = 4 * np.sqrt(2 * 0.5 / (3 * 9.81)) * scipy.special.ellipk(np.sin(np.pi / 12) ** 2)
    np.testing.assert_allclose(found.period, exact, rtol=1e-8)
    np.testing.assert_allclose(found.largest, np.pi / 6, rtol=1e-6)
    assert found.kind == "undamped"
    assert any("family" in x for x in found.remarks)


def test_family_is_followed_in_the_energy():
    found = periodic(derive(load("pendulum")), "energy", 0.3)
    swing = np.arccos(-found.energies / (0.2 * 9.81 * 0.25))
    exact = 4 * np.sqrt(2 * 0.5 / (3 * 9.81)) * scipy.special.ellipk(np.sin(swing / 2) ** 2)
    np.testing.assert_allclose(found.periods, exact, rtol=1e-6)
    np.testing.assert_allclose(found.energies, found.values, atol=1e-9)


def test_quaternions_swing_like_an_angle():
    text = """
pliant: 1
bodies: {bob: {mass: 1 kg, center_of_mass: [0, 0, -1], inertia: {principal: [0.1, 0.1, 0.05]}}}
joints: {ball: {type: spherical, child: bob, orientation: {initial: {axis: [1, 2, 0], angle: 60 deg}}}}
"""
    found = periodic(derive(load_text(text)))
    exact = 4 * np.sqrt(1.1 / 9.81) * scipy.special.ellipk(np.sin(np.pi / 6) ** 2)
    np.testing.assert_allclose(found.period, exact, rtol=1e-7)


def test_closed_loops_stay_closed():
    eqs = derive(load("four_bar"))
    found = periodic(eqs)
    run = pliant.simulate(eqs, found.period, start=found.start(), rtol=1e-9, save_at=[found.period])
    np.testing.assert_allclose(run.q[-1], found.q[0, 0], atol=1e-5)
    assert max(np.abs(eqs.constraints(q).value).max() for q in found.q[0]) < 1e-5


# -- driven motions ----------------------------------------------------------------------------------------------------


def duffing_response(lowest, highest):
    """Fold of the response by collocation of a trigonometric polynomial: the extreme of the frequency over x(0)."""
    count = 64
    phase = 2 * np.pi * np.arange(count) / count
    wave = np.fft.fftfreq(count, 1 / count)

    def frequency(start, guess):
        def residual(z):
            x, w = z[:count], z[count]
            slope = np.fft.ifft(1j * wave * np.fft.fft(x)).real
            bend = np.fft.ifft(-(wave**2) * np.fft.fft(x)).real
            return [*(w**2 * bend + 0.1 * w * slope + x + x**3 - 0.3 * np.cos(phase)), x[0] - start]

        return root(residual, guess, tol=1e-13)

    return frequency, phase, lowest, highest


@pytest.mark.slow
def test_duffing_folds_where_harmonic_balance_does():
    found = periodic(derive(load_text(DUFFING)), "frequency", 2.0)
    folds = [k for k, name in enumerate(found.bifurcations) if name == "fold"]
    assert len(folds) == 2
    frequency, phase, *_ = duffing_response(0, 0)
    for k, sign in zip(folds, (-1, 1), strict=True):
        here = np.interp(phase, 2 * np.pi * found.phase, found.q[k, :, 0])
        guess = np.append(here, found.values[k])
        start = found.q[k, 0, 0]
        exact = minimize_scalar(
            lambda s: sign * frequency(s, guess).x[-1],  # noqa: B023
            bounds=(start - 0.05, start + 0.05), method="bounded", options={"xatol": 1e-6},
        )  # fmt: skip
        np.testing.assert_allclose(found.values[k], sign * exact.fun, rtol=1e-6)
    inside = (found.values > found.values[folds[1]]) & (found.values < found.values[folds[0]])
    between = inside & (np.arange(len(found)) > folds[0]) & (np.arange(len(found)) < folds[1])
    assert not found.stable[between].any()
    assert found.stable[~between].all()
    run = solve_ivp(
        lambda t, y: [y[1], 0.3 * np.cos(2 * t) - 0.1 * y[1] - y[0] - y[0] ** 3], (0, 120 * np.pi), [0, 0],
        method="DOP853", rtol=1e-10, atol=1e-12, dense_output=True,
    )  # fmt: skip
    late = run.sol(run.t[-1] - np.linspace(0, np.pi, 2000))[0]
    np.testing.assert_allclose(found.largest[-1], np.ptp(late) / 2, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("stroke", [0.1, 0.4])
def test_shaken_pendulum_loses_stability_at_the_characteristic_values_of_mathieu(stroke):
    eqs = derive(load_text(SHAKEN_PENDULUM))
    found = periodic(eqs, "rate", 8.0, parameters={"stroke": stroke, "rate": 3.0}, max_step=0.05)
    edges = found.values[np.array(found.bifurcations) == "period doubling"]
    q = stroke  # theta'' + (a - 2 q cos 2 tau) theta = 0 with tau = rate t / 2
    exact = [np.sqrt(4 * 9.81 / 2.0 / f(1, q)) for f in (scipy.special.mathieu_a, scipy.special.mathieu_b)]
    np.testing.assert_allclose(edges, sorted(exact), rtol=1e-8)


def test_inputs_given_as_text_have_their_period():
    eqs = derive(load_text(DUFFING))
    found = periodic(eqs, inputs={"drive": "(0.01*cos(0.6*t) + 0.02*sin(1.5*t))*1 N"})
    np.testing.assert_allclose(found.period, 2 * np.pi / 0.3, rtol=1e-12)
    same = periodic(
        eqs, inputs={"drive": lambda t: 0.01 * np.cos(0.6 * t) + 0.02 * np.sin(1.5 * t)}, period=found.period
    )
    np.testing.assert_allclose(same.q, found.q, atol=1e-6)


def test_subharmonic_motion_takes_several_cycles():
    found = periodic(derive(load_text(DUFFING)), cycles=2)
    np.testing.assert_allclose(found.period, 2 * 2 * np.pi / 0.5, rtol=1e-12)


# -- what follows for all analyses -------------------------------------------------------------------------------------


def test_orbits_are_saved_and_read(tmp_path):
    found = periodic(derive(load("pendulum")))
    found.save(tmp_path / "orbit.nc")
    read = pliant.load_result(tmp_path / "orbit.nc")
    assert repr(read) == repr(found)
    np.testing.assert_array_equal(read.q, found.q)


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("pendulum@damped", {}, "comes to rest"),
        ("double_pendulum", {}, "does not repeat"),
        ("pendulum", {"parameter": "length"}, "belong together"),
        ("hopper", {}, "period is not known"),
    ],
)
def test_what_has_no_orbit_is_said(model, options, words):
    eqs = derive(load(model))
    with pytest.raises((pliant.ArgumentError, pliant.AnalysisFailed), match=words):
        periodic(eqs, **options)
