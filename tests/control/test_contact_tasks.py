"""Force on a surface and position along it: derivatives, equilibria, hybrid control in simulation, model files, faults."""

import numpy as np
import pytest

import pliant
from pliant.analysis.motion.sampled_control import model_controllers
from pliant.control import (
    ConstraintControl,
    ContactForce,
    FramePosition,
    Limits,
    OutOfReach,
    Pid,
    PidControl,
    PlanePosition,
    Reference,
    Several,
    StaticControl,
    rest_with,
)

TABLE = """surfaces:
  point: {type: sphere, parent: tip, radius: 0}
  board: {type: plane, position: [0, 0, 66 mm], normal: [0.1, 0.05, -1]}
contacts:
  table: {between: [point, board], stiffness: 500 N/m, dissipation: 3 s/m}
outputs:
  press: {contact: table, component: norm}
"""
CONTROL = """
control:
  wipe:
    type: statics
    frame: tip
    contact: table
    path: ["=2 mm*sin(2*pi*t/4 s)", 1 mm]
    force: "=0.3 N + 0.1 N*sin(2*pi*t/3 s)"
    sample_time: 20 ms
    limits: [{input: p1, lower: 0, upper: 2 bar}, {input: p2, lower: 0, upper: 2 bar}, {input: p3, lower: 0, upper: 2 bar}]
"""


def with_table(table=TABLE):
    file = pliant.load("stiff_flop")
    return pliant.dump(file).replace("outputs:\n", table, 1)


@pytest.fixture(scope="module")
def eqs():
    return pliant.derive(pliant.load_text(with_table()))


@pytest.fixture(scope="module")
def task():
    return Several((PlanePosition("tip", "table"), ContactForce("table")))


def test_the_surface_is_found_from_outside_and_pressed_as_asked(eqs, task):
    free = pliant.equilibrium(eqs)
    assert ContactForce("table").motion(eqs, free.q, 0 * free.q, None, None).value[0] == 0
    rest = rest_with(eqs, task, [3e-3, -2e-3, 0.3])
    held = pliant.equilibrium(eqs, inputs=rest.inputs, start=rest.q)
    assert held.outputs["press"] == pytest.approx(0.3, abs=1e-9)
    # the place, from the frame itself
    n = np.array([0.1, 0.05, -1]) / np.linalg.norm([0.1, 0.05, -1])
    e1 = np.array([1, 0, 0]) - n * n[0]
    e1 /= np.linalg.norm(e1)
    away = eqs.frame("tip", held.q).position - [0, 0, 0.066]
    np.testing.assert_allclose([away @ e1, away @ np.cross(n, e1)], [3e-3, -2e-3], atol=1e-9)


def test_jacobians_are_exact(eqs, task):
    rest = rest_with(eqs, task, [3e-3, -2e-3, 0.3])
    rng, n, h, move = np.random.default_rng(5), len(eqs.rates), 1e-7, eqs.binding.increment
    q = move(rest.q, 1e-3 * rng.normal(size=n))
    J = task.jacobian(eqs, q, None)
    for k in range(n):
        e = h * np.eye(n)[k]
        ends = [task.motion(eqs, move(q, x), 0 * q, None, None).value for x in (e, -e)]
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), J[:, k], atol=1e-6 * np.abs(J).max())


MOVING = """
pliant: 1
bodies:
  slide: {mass: 1 kg}
  plate: {mass: 1 kg, shape: {type: box, size: [0.1 m, 0.1 m, 0.1 m]}}
  ball: {mass: 1 kg, shape: {type: sphere, radius: 1 cm}, frames: {mark: {position: [1 cm, 2 cm, 0]}}}
joints:
  q0: {type: prismatic, child: slide, axis: y}
  q1: {type: revolute, parent: slide, child: plate, axis: [1, 2, 3]}
  fly: {type: free, child: ball}
surfaces:
  top: {type: plane, parent: plate, position: [0.1 m, 0, 0.2 m], normal: [1, 0, 1]}
  tube: {type: capsule, parent: plate, radius: 1 cm, length: 10 cm}
contacts:
  lid: {between: [ball, top], stiffness: 100 N/m, friction: 0.2}
  pipe: {between: [ball, tube], stiffness: 100 N/m}
"""


def test_a_place_on_a_moving_plane_has_exact_derivatives():
    eqs = pliant.derive(pliant.load_text(MOVING))
    task, rng, n, h = PlanePosition("ball.mark", "lid"), np.random.default_rng(2), len(eqs.rates), 1e-5
    move = eqs.binding.increment
    q, v, a = move(eqs.initial_state().q, rng.normal(size=n)), rng.normal(size=n), rng.normal(size=n)
    here = task.motion(eqs, q, v, a, None)
    before, after = (task.motion(eqs, move(q, v * t + a * t * t / 2), v + a * t, None, None) for t in (-h, h))
    np.testing.assert_allclose((after.value - before.value) / (2 * h), here.rate, atol=1e-7)
    np.testing.assert_allclose((after.rate - before.rate) / (2 * h), here.acceleration, atol=1e-7)
    np.testing.assert_allclose(task.jacobian(eqs, q, None) @ v, here.rate, atol=1e-12)
    with pytest.raises(ValueError, match="'pipe' has no plane"):
        PlanePosition("ball", "pipe").check(eqs)


@pytest.mark.slow
@pytest.mark.parametrize("stiffness", [1.0, 1.1])
def test_hybrid_control_presses_and_wipes(stiffness):
    """A force that varies along the normal and a path in the tangent plane, also on a module that is stiffer than its model."""
    eqs = pliant.derive(pliant.load_text(with_table() + CONTROL))
    other = {"youngs_modulus": stiffness * eqs.parameters["youngs_modulus"]}
    controllers = model_controllers(eqs)  # designed for the model as it is
    method = pliant.GeneralizedAlpha(step=0.01)
    run = pliant.simulate(eqs, 5.0, method=method, parameters=other, controllers=controllers, save_every=0.05)
    late = run.time > 2.5
    wanted = 0.3 + 0.1 * np.sin(2 * np.pi * run.time / 3)
    assert np.abs(run["press"].values - wanted)[late].max() < (0.005 if stiffness == 1 else 0.03)
    task = PlanePosition("tip", "table")
    path = np.column_stack([2e-3 * np.sin(2 * np.pi * run.time / 4), 1e-3 + 0 * run.time])
    places = np.array([task.motion(eqs, q, v, None, other).value for q, v in zip(run.q, run.v, strict=True)])
    assert np.linalg.norm(places - path, axis=1)[late].max() < (1e-4 if stiffness == 1 else 6e-4)


@pytest.mark.slow
def test_a_constant_force_is_reached_to_tolerance(eqs, task):
    limits = Limits(lower=dict.fromkeys(eqs.inputs, 0.0), upper=dict.fromkeys(eqs.inputs, 2e5))
    controller = StaticControl(eqs, task, Reference.constant([1e-3, 0.0, 0.25]), limits=limits)
    stiffer = {"youngs_modulus": 1.1 * eqs.parameters["youngs_modulus"]}
    method = pliant.GeneralizedAlpha(step=0.01)
    run = pliant.simulate(eqs, 4.5, controllers=controller, method=method, parameters=stiffer, save_every=0.5)
    assert run["press"].values[-1] == pytest.approx(0.25, abs=1e-4)


def test_forces_out_of_reach_are_refused(eqs, task):
    limits = Limits(lower=dict.fromkeys(eqs.inputs, 0.0), upper=dict.fromkeys(eqs.inputs, 3e4))
    with pytest.raises(OutOfReach, match=r"force of table 2.* within their limits"):
        rest_with(eqs, task, [0, 0, 2.0], limits=limits)


def test_forces_are_held_at_rest_only(eqs, task):
    path = Reference.constant([0, 0, 0.1])
    with pytest.raises(ValueError, match="cannot hold the force of table"):
        PidControl(eqs, task, path, Pid(1.0))
    with pytest.raises(ValueError, match="cannot hold the force of table"):
        ConstraintControl(eqs, task, path, Pid.critical(0.1))
    with pytest.raises(ValueError, match="unknown contact 'tabel'"):
        StaticControl(eqs, Several((FramePosition("tip", "xy"), ContactForce("tabel"))), path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    contact: table\n", "", "`force` needs `contact`"),
        ('force: "=0.3 N + 0.1 N*sin(2*pi*t/3 s)"', "", "`contact` needs `force`"),
        (", 1 mm]", ", 1 mm, 0 mm]", "the path has 3 values for 2 components"),
        ("contact: table", "contact: tabel", "tabel"),
        ("0.3 N + 0.1 N", "0.3 m + 0.1 m", "expected a force"),
        ("frame: tip", "frame: tip\n    components: xy", "leave out `components`"),
    ],
)
def test_model_files_are_checked(old, new, message):
    with pytest.raises(pliant.SpecError, match=message):
        pliant.load_text(with_table() + CONTROL.replace(old, new))


def test_a_model_file_is_written_back():
    robot = pliant.load_text(with_table() + CONTROL)
    assert pliant.load_text(pliant.dump(robot)).control == robot.control
