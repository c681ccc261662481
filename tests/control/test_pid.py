"""PID control compared with exact responses and static balances, and arms that must come to rest at their targets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import pliant
from pliant.control import Coordinates, DesignError, FramePosition, Limits, Pid, PidControl, Reference

MASS, LENGTH, GRAVITY = 2.0, 0.5, 9.81
TARGET = 0.6
JOINT = f"""
pliant: 1
parameters: {{torque: {{value: 0 N*m, input: true}}}}
bodies:
  arm: {{mass: {MASS} kg, center_of_mass: [{LENGTH / 2} m, 0, 0], shape: {{type: slender_rod, length: {LENGTH} m, axis: x}}}}
joints: {{hinge: {{type: revolute, child: arm, axis: y, angle: {{input: =torque}}}}}}
outputs: {{angle: {{coordinate: hinge}}}}
"""
INERTIA = MASS * LENGTH**2 / 3
WEIGHT = MASS * GRAVITY * LENGTH / 2
"""Torque of gravity about the hinge while the arm is level [N m]."""


@pytest.fixture(scope="module")
def joint() -> pliant.Equations:
    return pliant.derive(pliant.load_text(JOINT))


def hold(joint: pliant.Equations, gains: Pid, compensation: str = "measured", **more: object) -> PidControl:
    options = {"sample_time": 0.005} | more
    return PidControl(joint, Coordinates(("hinge",)), Reference.constant([TARGET]), gains, compensation, **options)


def test_a_joint_with_gravity_compensated_answers_as_a_spring_and_a_damper(joint: pliant.Equations) -> None:
    """I e'' + kd e' + kp e = 0 exactly, up to the delay of half a sample that held commands have."""
    kp, kd = 30.0, 4.0
    poles = np.roots([INERTIA, kd, kp])
    parts = np.linalg.solve([[1, 1], poles], [-TARGET, 0])
    worst = []
    for sample in (0.002, 0.001):
        run = pliant.simulate(
            joint, 0.6, controllers=hold(joint, Pid(kp, kd), sample_time=sample), save_every=0.02, rtol=1e-9
        )
        exact = (np.exp(np.outer(run.time, poles)) @ parts).real
        worst.append(np.abs(run.q[:, 0] - TARGET - exact).max())
    assert worst[0] < 0.01 * TARGET
    assert worst[0] / worst[1] == pytest.approx(2, rel=0.1)


def test_without_compensation_gravity_leaves_its_share_and_the_integral_takes_it(joint: pliant.Equations) -> None:
    kp, kd = 30.0, 6.0
    sagging = brentq(lambda q: kp * (TARGET - q) + WEIGHT * np.cos(q), 0, 2)
    last = {}
    for compensation in ("none", "measured", "reference"):
        run = pliant.simulate(joint, 2.5, controllers=hold(joint, Pid(kp, kd), compensation, sample_time=0.01))
        last[compensation] = run.q[-1, 0]
    assert last["none"] == pytest.approx(sagging, abs=1e-6)
    assert abs(last["none"] - TARGET) > 0.1
    assert last["measured"] == pytest.approx(TARGET, abs=1e-6)
    assert last["reference"] == pytest.approx(TARGET, abs=1e-6)
    integrated = pliant.simulate(joint, 4.5, controllers=hold(joint, Pid(kp, kd, 60.0), "none", sample_time=0.01))
    assert integrated.q[-1, 0] == pytest.approx(TARGET, abs=1e-5)
    # what the integral holds is the weight in that pose
    assert integrated.inputs["torque"][-1] == pytest.approx(-WEIGHT * np.cos(TARGET), rel=1e-4)


def test_reference_and_measured_compensation_differ_off_the_path(joint: pliant.Equations) -> None:
    """The first command, at q = 0: the weight in the pose where it is, or in the pose where it should be."""
    kp, kd = 30.0, 6.0
    for compensation, angle in (("measured", 0.0), ("reference", TARGET)):
        run = pliant.simulate(joint, 0.01, controllers=hold(joint, Pid(kp, kd), compensation), save_every=0.005)
        assert run.inputs["torque"][0] == pytest.approx(kp * TARGET - WEIGHT * np.cos(angle), rel=1e-6)


def test_errors_that_limits_keep_are_not_integrated(joint: pliant.Equations) -> None:
    limits = Limits(lower={"torque": -7.0}, upper={"torque": 7.0})
    gains = Pid(30.0, 5.0, 80.0)

    class Winding:
        """The same feedback with only its commands saturated."""

        sample_time = 0.005

        def start(self, now: pliant.Now) -> None:
            self.sum = 0.0

        def command(self, now: pliant.Now) -> dict[str, float]:
            error = -1.5 - now.q[0]
            torque = 30.0 * error - 5.0 * now.v[0] + 80.0 * self.sum - WEIGHT * np.cos(now.q[0])
            self.sum += self.sample_time * error
            return {"torque": float(np.clip(torque, -7.0, 7.0))}

    there = Reference.constant([-1.5])  # upwards, against gravity
    ours = PidControl(joint, Coordinates(("hinge",)), there, gains, sample_time=0.005, limits=limits)
    beyond = {}
    for name, controller, until in (("winding", Winding(), 8.0), ("ours", ours, 4.0)):
        run = pliant.simulate(joint, until, controllers=controller, save_every=0.01)
        beyond[name] = -1.5 - run.q[:, 0].min()
        assert abs(run.inputs["torque"]).max() <= 7.0
        assert run.q[-1, 0] == pytest.approx(-1.5, abs=1e-3)
        if name == "ours":
            assert any("inputs were saturated" in note for note in run.remarks)
            assert any("the input 'torque'" in note and "lower limit of -7 N*m" in note for note in run.remarks)
    assert beyond["winding"] > 0.3
    assert beyond["ours"] < 0.3 * beyond["winding"]


ARM = """
pliant: 1
parameters: {t1: {value: 0 N*m, input: true}, t2: {value: 0 N*m, input: true}, t3: {value: 0 N*m, input: true}}
defaults: {bodies: {mass: 0.5 kg, center_of_mass: [15 cm, 0, 0], frames: {end: {position: [30 cm, 0, 0]}}}}
bodies:
  upper: {shape: {type: slender_rod, length: 30 cm, axis: x}}
  lower: {shape: {type: slender_rod, length: 30 cm, axis: x}}
  hand: {shape: {type: slender_rod, length: 30 cm, axis: x}}
joints:
  shoulder: {type: revolute, child: upper, axis: y, angle: {initial: -30 deg, damper: 0.2 N*m*s, input: =t1}}
  elbow: {type: revolute, parent: upper.end, child: lower, axis: y, angle: {initial: 60 deg, damper: 0.2 N*m*s, input: =t2}}
  wrist: {type: revolute, parent: lower.end, child: hand, axis: y, angle: {initial: 10 deg, damper: 0.2 N*m*s, input: =t3}}
outputs: {tip: {frame: hand.end}}
"""


def test_a_frame_is_drawn_by_a_force_and_the_weight_is_carried() -> None:
    eqs = pliant.derive(pliant.load_text(ARM))
    q, _ = eqs.initial_state()
    place = eqs.frame("hand.end", q).position[[0, 2]]
    goal = place + [-0.1, 0.15]
    gains = Pid([80.0, 60.0], [12.0, 10.0])
    controller = PidControl(eqs, FramePosition("hand.end", "xz"), Reference.constant(goal), gains, sample_time=0.005)
    run = pliant.simulate(eqs, 3.0, controllers=controller, save_every=0.05)
    np.testing.assert_allclose(run["tip"].values[-1, [0, 2]], goal, atol=1e-5)
    # the first command: gravity's torques, and those of the force on the tip
    force = np.array([80.0, 60.0]) * (goal - place)
    torques = eqs.inverse_dynamics(q, np.zeros(3), np.zeros(3)) + eqs.frame_jacobian("hand.end", q)[[0, 2]].T @ force
    np.testing.assert_allclose([run.inputs[name][0] for name in ("t1", "t2", "t3")], torques, rtol=1e-7)
    for change, error, message in (
        ({"inputs": ("t2",)}, DesignError, r"2 components and 1 inputs .* 1 independent directions"),
        ({"gains": Pid([1.0, 2.0, 3.0])}, ValueError, "3 values for 2 components"),
        ({"gains": Pid(-1.0)}, ValueError, "nonnegative"),
    ):
        with pytest.raises(error, match=message):
            pliant.simulate(eqs, 0.1, controllers=replace(controller, **change))
    with pytest.raises(ValueError, match="none, measured or reference"):
        PidControl(eqs, FramePosition("hand.end", "xz"), Reference.constant(goal), gains, "gravity")  # type: ignore[arg-type]


ARC = """
pliant: 1
parameters: {p1: {value: 50 kPa, input: true}, p2: {value: 50 kPa, input: true}, p3: {value: 50 kPa, input: true}}
sections: {tube: {shape: circle, radius: 1 cm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 0.5 MPa, poissons_ratio: 0.49}}
rods:
  arm:
    length: 15 cm
    section: tube
    material: rubber
    damping: [0, 0, 0.2, 1e-3, 1e-3, 0]
    chambers:
      c1: {pressure: =p1, area: 0.5 cm^2, positions: [[6 mm, 0]]}
      c2: {pressure: =p2, area: 0.5 cm^2, positions: [[-3 mm, 5.2 mm]]}
      c3: {pressure: =p3, area: 0.5 cm^2, positions: [[-3 mm, -5.2 mm]]}
    model: {kind: pcc, sections: 1, coordinates: strains}
outputs: {tip: {frame: arm.tip}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("compensation", "until"), [("none", 2.0), ("measured", 6.0), ("reference", 2.0)])
def test_an_arc_comes_to_rest_on_its_place_if_elasticity_is_compensated(compensation: str, until: float) -> None:
    eqs = pliant.derive(pliant.load_text(ARC))
    rest = pliant.equilibrium(eqs)
    goal = rest.frames["arm.tip"].position + [0.02, -0.01, 0.001]
    controller = PidControl(eqs, FramePosition("arm.tip"), Reference.constant(goal), Pid(5.0, 0.3), compensation, 0.005)
    run = pliant.simulate(eqs, until, start=rest, controllers=controller, rtol=1e-5)
    error = np.linalg.norm(run["tip"].values[-1] - goal)
    if compensation == "none":
        assert error > 1e-3
        return
    assert error < 1e-5
    # the pressures at the end are those of an equilibrium with its tip there
    again = pliant.equilibrium(eqs, start=run.final, inputs={name: run.inputs[name][-1] for name in eqs.inputs})
    np.testing.assert_allclose(again.frames["arm.tip"].position, goal, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("compensation", ["measured", "reference"])
def test_a_soft_arm_of_many_coordinates_and_three_pressures_reaches_its_place(compensation: str) -> None:
    soft = pliant.derive("stiff_flop")
    goal = np.array([0.008, -0.005])
    limits = Limits(lower=dict.fromkeys(soft.inputs, 0.0), upper=dict.fromkeys(soft.inputs, 2e5))
    controller = PidControl(
        soft, FramePosition("tip", "xy"), Reference.constant(goal), Pid(50.0, 1.0), compensation, 0.01, limits=limits
    )
    run = pliant.simulate(soft, 1.5, controllers=controller, method=pliant.GeneralizedAlpha(step=0.005))
    assert np.linalg.norm(run["tip"].values[-1, :2] - goal) < 1e-6
    assert min(values.min() for values in run.inputs.values()) >= 0


def test_actuators_do_what_they_can_of_the_force() -> None:
    """At rest the task moves by the projection of what the force would do: symmetric, never against it, never beyond it."""
    soft = pliant.derive("stiff_flop")
    pressures, zero = dict.fromkeys(soft.inputs, 3e4), np.zeros(len(soft.rates))
    rest = pliant.equilibrium(soft, inputs=pressures)
    task = FramePosition("tip", "xy")
    here = task.motion(soft, rest.q, zero, None, None).value
    now = pliant.Now(0.0, rest.q, zero, soft, pressures, {})

    def moved(metric: str) -> np.ndarray:
        """Change of the tip at rest per force (2 x 2), found by equilibria with the inputs that are commanded."""
        columns = []
        for direction in np.eye(2):
            controller = PidControl(soft, task, Reference.constant(here + 1e-3 * direction), Pid(1.0))
            controller.start(now)
            if metric == "mass":
                controller._metric = None
            after = pliant.equilibrium(soft, start=rest, inputs=controller.command(now))
            columns.append((task.motion(soft, after.q, zero, None, None).value - here) / 1e-3)
        return np.array(columns).T

    ours, by_mass = moved("compliance"), moved("mass")
    K = soft.linearization(rest.q, zero, inputs=pressures).stiffness.toarray()
    T = task.jacobian(soft, rest.q, None)
    own = T @ np.linalg.solve(K, T.T)
    np.testing.assert_allclose(ours, ours.T, atol=1e-3 * np.abs(ours).max())
    assert np.linalg.eigvalsh(ours).min() > 0
    assert np.linalg.eigvalsh(own - ours).min() > 0
    assert np.linalg.eigvalsh(ours - by_mass).min() > 0
    np.testing.assert_allclose(
        [own[0, 0], ours[0, 0], by_mass[0, 0]], [0.054, 0.044, 0.010], atol=5e-4
    )  # as in the docs


def test_a_closed_loop_is_held_against_its_weight() -> None:
    text = pliant.dump(pliant.load("four_bar"))
    motor = "parameters:\n  drive: {value: 0 N*m, input: true}"
    text = text.replace("parameters:", motor, 1) + "\nloads:\n  motor: {frame: bar1, moment: [0, 0, =drive]}\n"
    eqs = pliant.derive(pliant.load_text(text))
    start = pliant.equilibrium(eqs)
    name = eqs.coordinates[0]
    goal = float(start.q[0]) + 0.2
    controller = PidControl(eqs, Coordinates((name,)), Reference.constant([goal]), Pid(6.0, 0.6), sample_time=0.002)
    run = pliant.simulate(eqs, 2.0, start=start, controllers=controller)
    assert run.q[-1, 0] == pytest.approx(goal, abs=1e-4)
    held = pliant.required_inputs(eqs, run.q[-1], np.zeros(3), np.zeros(3))
    assert run.inputs["drive"][-1] == pytest.approx(held.inputs["drive"], rel=1e-2)


IN_A_FILE = (
    JOINT
    + """
control:
  raise:
    type: pid
    coordinates: hinge
    path: =0.6 + 0.1*sin(t/1 s)
    proportional: 30 N*m/rad
    derivative: 6 N*m*s/rad
    integral: 60 N*m/s
    sample_time: 5 ms
"""
)


def test_a_model_file_describes_it() -> None:
    eqs = pliant.derive(pliant.load_text(IN_A_FILE))
    run = pliant.simulate(eqs, 4.0)
    wanted = 0.6 + 0.1 * np.sin(run.time)
    assert np.abs(run.q[:, 0] - wanted)[run.time > 3].max() < 5e-3
    for old, new, message in (
        ("proportional: 30 N*m/rad", "proportional: 30 N/m", r"torque or energy"),
        ("proportional: 30 N*m/rad", "proportional: [30, 20]", r"2 values for 1 components"),
        ("derivative: 6 N*m*s/rad", "derivative: -6 N*m*s/rad", r"must not be negative"),
        ("path: =0.6 + 0.1*sin(t/1 s)", "path: 20 cm", r"a length"),
    ):
        assert old in IN_A_FILE
        with pytest.raises(pliant.SpecError, match=message):
            pliant.load_text(IN_A_FILE.replace(old, new))


@pytest.mark.parametrize("kind", ["pid", "constraint"])
def test_a_controller_commands_forces_beside_a_joint_whose_motion_is_prescribed(kind: str) -> None:
    """An arm on a turning column, against its equation with the centrifugal moment."""
    gains = {
        "pid": "path: -60 deg, proportional: 30 N*m/rad, derivative: 6 N*m*s/rad, compensation: none, sample_time: 1 ms",
        "constraint": "path: '=0.5*sin(pi*t/1 s)', settling: 50 ms, sample_time: 1 ms",
    }
    text = f"""
pliant: 1
parameters: {{torque: {{value: 0 N*m, input: true}}, turn: {{value: 0 rad, input: true}}}}
bodies:
  column: {{mass: 1 kg, shape: {{type: sphere, radius: 5 cm}}}}
  arm: {{mass: 1 kg, center_of_mass: [0.5 m, 0, 0], shape: {{type: slender_rod, length: 1 m, axis: x}}}}
joints:
  spin: {{type: revolute, axis: z, child: column, angle: {{motion: =turn}}}}
  hinge: {{type: revolute, parent: column, child: arm, axis: y, angle: {{input: =torque}}}}
control: {{hold: {{type: {kind}, coordinates: hinge, {gains[kind]}}}}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    run = pliant.simulate(eqs, 2.0, inputs={"turn": "=2 rad*sin(2*t/1 s)"}, save_every=0.02)
    angle = run["hinge"].values
    if kind == "constraint":
        assert np.abs(angle - 0.5 * np.sin(np.pi * run.time))[50:].max() < 1e-3
        return

    def rates(t: float, x: np.ndarray) -> list[float]:
        q, w = x
        torque = 30 * (np.radians(-60) - q) - 6 * w
        return [w, 3 * (torque + 9.81 / 2 * np.cos(q)) - (4 * np.cos(2 * t)) ** 2 * np.sin(q) * np.cos(q)]

    exact = solve_ivp(rates, (0, 2), [0, 0], rtol=1e-9, atol=1e-11, t_eval=run.time).y[0]
    assert np.abs(angle - exact).max() < 5e-3
