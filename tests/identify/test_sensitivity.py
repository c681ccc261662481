"""Exact derivatives of motions by parameters against closed forms and against differences of tight simulations."""

import numpy as np
import pytest

from pliant import Rosenbrock, derive, equilibrium, load_text, simulate
from pliant.identify.measurement import output_sensitivity, rest_sensitivity, why_not
from pliant.identify.recording import drive
from pliant.language.recording import Recording

TIGHT = Rosenbrock(rtol=1e-10, atol=1e-13)

CART = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {stiffness: 40 N/m, damping: 0.8 N*s/m, mass: 1 kg, offset: 10 cm, height: 3 cm}
bodies: {cart: {mass: =mass, frames: {mast: {position: [0, 0, =height]}}}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {initial: =offset, spring: =stiffness, damper: =damping}}
outputs:
  tip: {frame: cart.mast}
  speed: {coordinate: rail, quantity: rate}
  push: {coordinate: rail, quantity: force}
"""

SPINNING = """
pliant: 1
parameters: {length: 30 cm, inertia: 2e-3 kg*m^2, spin: 20 rad/s}
bodies:
  top:
    mass: 0.5 kg
    center_of_mass: [0, 0, =length/2]
    inertia: {principal: [=inertia, =1.2*inertia, =0.4*inertia]}
    frames: {nose: {position: [0, 0, =length]}}
joints: {ball: {type: spherical, child: top, orientation: {initial: {axis: x, angle: 40 deg}, rate: [0, 0, =spin]}}}
outputs: {tip: {frame: top.nose}}
"""


def differences(eqs, names, times, output, share=3e-5):
    out = []
    for name in names:
        value = eqs.parameters[name]
        sides = [
            simulate(eqs, times[-1], method=TIGHT, save_at=times, parameters={name: value * (1 + sign * share)})[
                output
            ].values
            for sign in (1, -1)
        ]
        out.append((sides[0] - sides[1]) / (2 * share * value))
    return np.stack([x.reshape(len(times), -1) for x in out], axis=2)


def test_a_damped_spring_has_the_derivatives_of_its_closed_form():
    eqs = derive(load_text(CART))
    names, times = ["stiffness", "damping", "mass", "offset"], np.linspace(0, 3, 40)
    found = output_sensitivity(eqs, names, (0, 3), outputs=["tip"], times=times, method=TIGHT)

    def closed(k, c, m, x0):
        decay, turn = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2)
        return x0 * np.exp(-decay * times) * (np.cos(turn * times) + decay / turn * np.sin(turn * times))

    here = np.array([40.0, 0.8, 1.0, 0.1])
    for k in range(4):
        step = 1e-5 * here[k] * np.eye(4)[k]
        expected = (closed(*(here + step)) - closed(*(here - step))) / (2e-5 * here[k])
        np.testing.assert_allclose(found.derivatives[:, 0, k], expected, atol=2e-6 * np.abs(expected).max())
    np.testing.assert_allclose(found.values[:, 0], closed(*here), atol=1e-7)
    # a parameter of the output's own formula
    up = output_sensitivity(eqs, ["height"], (0, 3), outputs=["tip"], times=times, method=TIGHT).derivatives
    np.testing.assert_allclose(up[:, :, 0], np.tile([0, 0, 1.0], (40, 1)), atol=1e-9)


def test_derivatives_of_rates():
    eqs = derive(load_text(CART))
    times = np.linspace(0, 1, 11)
    found = output_sensitivity(eqs, ["stiffness"], (0, 1), outputs=["speed"], times=times, method=TIGHT)
    expected = differences(eqs, ["stiffness"], times, "speed")
    np.testing.assert_allclose(found.derivatives, expected, atol=1e-5 * np.abs(expected).max())


def test_free_rotations_change_on_the_group():
    eqs = derive(load_text(SPINNING))
    names, times = ["length", "inertia", "spin"], np.linspace(0, 0.6, 13)
    found = output_sensitivity(eqs, names, (0, 0.6), outputs=["tip"], times=times, method=TIGHT)
    expected = differences(eqs, names, times, "tip")
    size = np.abs(expected).max(axis=(0, 1))
    np.testing.assert_allclose(found.derivatives / size, expected / size, atol=5e-5)


def test_the_error_falls_with_the_tolerance():
    eqs = derive(load_text(SPINNING))
    times = np.linspace(0, 0.6, 13)
    expected = differences(eqs, ["length"], times, "tip")
    errors = []
    for step in (0.02, 0.01, 0.005):
        method = Rosenbrock(step=step)
        found = output_sensitivity(eqs, ["length"], (0, 0.6), outputs=["tip"], times=times, method=method)
        errors.append(np.abs(found.derivatives - expected).max())
    # the method is of order 3
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] == pytest.approx(3, abs=0.5)


def test_soft_arm_at_rest_under_pressure():
    time = np.array([0.0, 1.0, 2.0])
    pressures = {"p1": np.full(3, 40e3), "p2": np.zeros(3), "p3": np.full(3, 10e3)}
    eqs, _ = drive(derive("stiff_flop"), Recording("made", time, pressures))
    names = ["youngs_modulus", "chamber_offset", "length"]
    found = rest_sensitivity(eqs, names, [1.0], outputs=["tip"], parameters={"density": 1000.0})
    assert found is not None
    for k, name in enumerate(names):
        value = eqs.parameters[name]
        sides = [
            np.array(equilibrium(eqs, time=1.0, parameters={"density": 1000.0, name: value * s}).outputs["tip"])
            for s in (1 + 1e-4, 1 - 1e-4)
        ]
        expected = (sides[0] - sides[1]) / (2e-4 * value)
        assert np.abs(expected).max() > 0
        np.testing.assert_allclose(found[1][0, :, k], expected, atol=1e-6 * np.abs(expected).max())


HANGING = """
pliant: 1
start: equilibrium
parameters: {stiffness: 40 N/m, damping: 0.8 N*s/m, mass: 1 kg, push: {value: 0 N, input: true}}
bodies: {weight: {mass: =mass}}
joints:
  rail: {type: prismatic, child: weight, axis: z, displacement: {spring: =stiffness, damper: =damping, input: =push}}
inputs: {push: "=3 N*sin(4*t/1 s)"}
outputs: {tip: {frame: weight, component: z}}
"""


def test_motions_that_start_at_rest_change_with_where_that_is():
    eqs = derive(load_text(HANGING))
    names, times = ["stiffness", "damping", "mass"], np.linspace(0, 2, 21)
    found = output_sensitivity(eqs, names, (0, 2), outputs=["tip"], times=times, method=TIGHT)
    assert found.derivatives[0, 0, 0] == pytest.approx(9.81 / 40**2, rel=1e-6)
    assert found.derivatives[0, 0, 2] == pytest.approx(-9.81 / 40, rel=1e-6)
    expected = differences(eqs, names, times, "tip")
    size = np.abs(expected).max(axis=(0, 1))
    np.testing.assert_allclose(found.derivatives / size, expected / size, atol=5e-5)


def test_where_there_are_none_it_says_why():
    assert why_not(derive(load_text(CART)), ["tip"]) == ""
    assert "not a smooth function of positions and velocities" in why_not(derive(load_text(CART)), ["push"])
    assert "constraints" in why_not(derive("four_bar"), ["crank"])
    touching = (
        CART
        + """
surfaces:
  wall: {type: plane, normal: x, position: [-1 m, 0, 0]}
  point: {type: sphere, parent: cart.mast, radius: 1 cm}
contacts: {bump: {between: [point, wall]}}
"""
    )
    assert "contacts, whose forces depend on their history" in why_not(derive(load_text(touching)), ["tip"])
