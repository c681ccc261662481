"""Observers of model files: their noise and disturbances, against the Riccati equation solved by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import pliant
from pliant.analysis.motion.sampled_control import model_controllers
from pliant.control import closed_loop, discretize, kalman

MODEL = """
pliant: 1
parameters:
  force: {value: 0 N, input: true}
  push: {value: 0 N*m, input: true}
bodies:
  cart: {mass: 1 kg}
  pole: {mass: 100 g, center_of_mass: [0, 0, 0.5 m], shape: {type: slender_rod, length: 1 m, axis: z}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {input: =force}}
  hinge: {type: revolute, parent: cart, child: pole, axis: y}
loads:
  push: {frame: pole, moment: [0, =push, 0]}
outputs:
  cart: {coordinate: rail}
  pole: {coordinate: hinge}
control:
  balance:
    type: lqr
    about: initial
    sample_time: 20 ms
    DELAY
    coordinate_weights: [{coordinate: rail, value: 10, rate: 1}, {coordinate: hinge, value: 50, rate: 1}]
    sensors: [SENSORS]
    TUNING
"""
SENSORS = "{output: cart, noise: 1 mm}, {output: pole, noise: 2e-3}"
T = 0.02


def designed(tuning: str = "", *, sensors: str = SENSORS, delay: str = "delay: 0 s"):
    text = MODEL.replace("TUNING", tuning).replace("SENSORS", sensors).replace("DELAY", delay)
    eqs = pliant.derive(pliant.load_text(text))
    (controller,) = model_controllers(eqs)
    return eqs, controller


def plant(eqs: pliant.Equations):
    linear = pliant.linearize(eqs, at="initial")
    A, B, C = (np.asarray(x) for x in (linear.A, linear.B, linear.C))
    whole = scipy.linalg.expm(T * np.block([[A, B], [np.zeros((2, 6))]]))  # zero-order hold of both inputs
    assert linear.inputs == ("force", "push")
    assert linear.states == ("rail", "hinge", "d(rail)/dt", "d(hinge)/dt")
    return whole[:4, :4], whole[:4, 4:], C


def steady_gain(A: np.ndarray, C: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    P = scipy.linalg.solve_discrete_are(A.T, C.T, Q, R)
    return np.asarray(P @ C.T @ np.linalg.inv(C @ P @ C.T + R))


def test_by_default_the_commanded_inputs_have_one_unit():
    eqs, controller = designed()
    A, G, C = plant(eqs)
    expected = steady_gain(A, C, G[:, :1] @ G[:, :1].T, np.diag([1e-6, 4e-6]))
    np.testing.assert_allclose(controller.observer.gain, expected, rtol=1e-6)


def test_disturbances_and_process_noise_are_those_of_the_file():
    tuning = (
        "disturbances: [{input: force, deviation: 0.5 N}, {input: push, deviation: 30 N*mm}]\n"
        "    process_noise: [{coordinate: hinge, value: 0.1 deg, rate: 0.02 rad/s}, {coordinate: rail, rate: 1 mm/s}]"
    )
    eqs, controller = designed(tuning)
    A, G, C = plant(eqs)
    Q = G @ np.diag([0.25, 9e-4]) @ G.T + np.diag([0.0, np.deg2rad(0.1) ** 2, 1e-6, 4e-4])
    np.testing.assert_allclose(controller.observer.gain, steady_gain(A, C, Q, np.diag([1e-6, 4e-6])), rtol=1e-6)
    assert closed_loop(controller).largest < 1


def test_the_observer_may_assume_other_noise_than_the_simulated_one():
    sensors = "{output: cart, noise: 0 m, design_noise: 5 mm}, {output: pole, noise: 1e-3, design_noise: 4e-3}"
    eqs, controller = designed(sensors=sensors)
    A, G, C = plant(eqs)
    expected = steady_gain(A, C, G[:, :1] @ G[:, :1].T, np.diag([25e-6, 16e-6]))
    np.testing.assert_allclose(controller.observer.gain, expected, rtol=1e-6)
    assert controller.noise == {"cart": 0.0, "pole": 1e-3}
    run = pliant.simulate(eqs, 0.5, start=eqs.state({"hinge": 0.02}))
    assert np.abs(run.q[-1]).max() < 0.1


@pytest.mark.parametrize("delay", ["5 ms", "20 ms", "50 ms"])
def test_delays_of_commands_do_not_delay_disturbances(delay):
    """The estimates of the robot's states are those without delay: past commands are known."""
    _, late = designed(delay=f"delay: {delay}")
    _, prompt = designed()
    np.testing.assert_allclose(late.observer.gain[:4], prompt.observer.gain, rtol=1e-6)
    np.testing.assert_allclose(late.observer.gain[4:], 0, atol=1e-12)


def test_disturbances_of_a_reduced_design_act_on_its_modes():
    tuning = "disturbances: [{input: push, deviation: 0.1 N*m}]\n    process_noise: [{coordinate: rail, rate: 1 mm/s}]"
    _, full = designed(tuning)
    _, reduced = designed(tuning + "\n    below: 100 Hz")  # all modes: the same filter in other states
    shown = full.observer.linear.C @ full.observer.gain
    np.testing.assert_allclose(reduced.observer.linear.C @ reduced.observer.gain, shown, rtol=1e-5)
    np.testing.assert_allclose(np.sort(np.abs(reduced.observer.poles)), np.sort(np.abs(full.observer.poles)), rtol=1e-5)


def test_python_and_files_share_one_design():
    eqs, controller = designed("disturbances: [{input: push, deviation: 0.1 N*m}]")
    linear = pliant.linearize(eqs, at="initial")
    sampled = discretize(linear.select(inputs="force"), T)
    found = kalman(sampled, process=0.0, inputs=1.0, disturbances=0.1 * linear.B[:, 1], outputs=[1e-6, 4e-6])
    np.testing.assert_allclose(controller.observer.gain, found.gain, rtol=1e-9)
    with pytest.raises(ValueError, match="4 x k finite numbers"):
        kalman(sampled, disturbances=np.ones(3))
    with pytest.raises(ValueError, match="takes a linear system"):
        kalman(eqs)


@pytest.mark.parametrize(
    ("tuning", "sensors", "fault"),
    [
        ("disturbances: [{input: push, deviation: 0.1 N*m}]", "", "tunes the observer"),
        ("process_noise: [{coordinate: rail, rate: 1 mm/s}]", "", "tunes the observer"),
        ("disturbances: [{input: push, deviation: -0.1 N*m}]", SENSORS, "must not be negative"),
        ("process_noise: [{coordinate: rail, rate: -1 mm/s}]", SENSORS, "must not be negative"),
        ("process_noise: [{coordinate: rail, rate: 1 mm}]", SENSORS, "rate"),
        ("process_noise: [{coordinate: rial, rate: 1 mm/s}]", SENSORS, "did you mean"),
        ("", "{output: cart, noise: 0 m}", "must be above zero"),
        ("", SENSORS + ", {output: cart, noise: 2 mm}", "'cart' has an entry in `sensors` before"),
        (
            "limits: [{input: force, upper: 3 N}, {input: force, upper: 9 N}]",
            SENSORS,
            "'force' has an entry in `limits` before",
        ),
        ("input_weights: [{input: force, weight: 1}, {input: force, weight: 3}]", SENSORS, "`input_weights` before"),
        ("", "{output: cart, noise: 1 mm, design_noise: 0 m}", "must be above zero"),
    ],
)
def test_faults(tuning, sensors, fault):
    with pytest.raises(pliant.SpecError, match=fault):
        designed(tuning, sensors=sensors)
