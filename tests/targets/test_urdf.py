"""Robots as URDF, read and evaluated by Pinocchio: the same matrices, forces and frames as here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.io.c_text import ExportError
from pliant.targets.rigid_tree import rigid_tree

pin = pytest.importorskip("pinocchio")

EVERYTHING = """
pliant: 1
name: every joint
world: {gravity: [0.3, -0.2, -9.81 m/s^2]}
parameters: {turn: {value: 0.3 N*m, input: true, minimum: -2 N*m, maximum: 3 N*m}, pull: {value: 4 N, input: true}}
bodies:
  base: {mass: 2 kg, center_of_mass: [1 cm, -2 cm, 3 cm], shape: {type: box, size: [30 cm, 20 cm, 5 cm]},
    inertia: {matrix: [[0.02, 1e-3, -2e-3], [1e-3, 0.03, 5e-4], [-2e-3, 5e-4, 0.025]]},
    frames: {eye: {position: [15 cm, 0, 2 cm], rotation: {axis: y, angle: 30 deg}}}}
  arm: {mass: 0.4 kg, center_of_mass: [10 cm, 0, 0],
    inertia: {principal: [1e-4, 2e-3, 2e-3], rotation: {axis: [1, 2, 3], angle: 40 deg}},
    frames: {tip: {position: [20 cm, 0, 0]}}}
  hand: {mass: 0.2 kg, shape: {type: cylinder, radius: 2 cm, length: 6 cm, axis: x}, center_of_mass: [3 cm, 1 cm, 0]}
  slider: {mass: 0.5 kg, inertia: {principal: [1e-3, 1e-3, 1e-3]}, center_of_mass: [0, 2 cm, 1 cm]}
  kite: {mass: 0.2 kg, inertia: {principal: [1e-3, 2e-3, 1.5e-3]}, center_of_mass: [1 cm, 0, 2 cm]}
  plate: {mass: 0.1 kg, shape: {type: sphere, radius: 3 cm}}
joints:
  sleeve: {type: cylindrical, child: base, axis: y, position: [1 m, 0, 0]}
  shoulder: {type: universal, parent: base.eye, child: arm, position: [0, 0, -2 cm]}
  wrist: {type: revolute, parent: arm.tip, child: hand, axis: [1, 1, 0],
    angle: {spring: {coefficient: 0.4 N*m/rad, rest: 20 deg}, damper: 0.03, input: =turn,
      limits: {minimum: -100 deg, maximum: 90 deg, stiffness: 1e3}}}
  rail: {type: prismatic, parent: base, child: slider, axis: z, position: [0, 10 cm, 0], displacement: {damper: 0.5}}
  odd:
    type: chain
    parent: slider
    child: kite
    transforms:
      - rotate: {axis: x, angle: 25 deg}
      - rotate: {axis: z, angle: {equal_to: {coordinate: wrist, ratio: 2, offset: 0.3 rad}}}
      - translate: [2 cm, free, 3 cm]
      - rotate: {axis_angle: {axis: [1, 1, 0], angle: 10 deg}}
  bracket: {type: weld, parent: kite, child: plate, position: [5 cm, 0, 1 cm], rotation: {axis: y, angle: 70 deg}}
tendons: {string: {type: tension, through: [world, arm.tip], tension: =pull}}
loads: {gust: {frame: hand, force: [1 N, 0, 0]}}
constraints: {loop: {between: [hand, kite], components: position}}
"""


def _read(done: pliant.RigidExport) -> tuple[pin.Model, pin.Data]:
    model = pin.buildModelFromUrdf(str(done.path))
    model.gravity.linear = np.array(done.equations.binding.constants[:3])
    return model, model.createData()


def _state(
    eqs: pliant.Equations, model: pin.Model, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions and rates in Pinocchio, and what rates here are per rate there."""
    there, rates, per_rate = pin.neutral(model), np.zeros(model.nv), np.zeros((len(v), model.nv))
    for joint in rigid_tree(eqs).joints:
        other = model.joints[model.getJointId(joint.name)]
        value = joint.scale * q[joint.q_at]
        there[other.idx_q : other.idx_q + other.nq] = value if other.nq == 1 else (np.cos(value), np.sin(value))
        rates[other.idx_v] = joint.scale * v[joint.v_at]
        per_rate[joint.v_at, other.idx_v] = 1 / joint.scale
    return there, rates, per_rate


def _largest_error(done: pliant.RigidExport, seed: int) -> float:
    """Of the mass matrix, of inertial and gravity forces (URDF has no others but damping), relative; of frames [m, -]."""
    eqs, (model, data) = done.equations, _read(done)
    random = np.random.default_rng(seed)
    q, v = 0.7 * random.standard_normal(len(eqs.coordinates)), random.standard_normal(len(eqs.rates))
    there, rates, per_rate = _state(eqs, model, q, v)
    mass = np.triu(pin.crba(model, data, there))
    mass += np.triu(mass, 1).T
    system, here = eqs.model.system, per_rate.T @ eqs.mass_matrix(q).toarray() @ per_rate
    off = [[False] * len(x) for x in (system.coordinate_forces, system.frame_forces, system.routes)]
    bias = per_rate.T @ eqs.binding.with_forces(off, gravity=True).inverse(0.0, q, v, np.zeros(len(v)))
    errors = [np.abs(mass - here).max() / np.abs(here).max()]
    errors.append(np.abs(pin.nonLinearEffects(model, data, there, rates) - bias).max() / np.abs(bias).max())
    pin.framesForwardKinematics(model, data, there)
    bodies = {model.frames[k].name: k for k in range(model.nframes) if model.frames[k].type == pin.FrameType.BODY}
    for name, frame in eqs.frames(q).items():
        if name != "world":
            pose = data.oMf[bodies.get(f"{name}:frame", bodies.get(name, -1))]
            errors += [np.abs(pose.translation - frame.position).max(), np.abs(pose.rotation - frame.rotation).max()]
    return float(max(errors))


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> pliant.RigidExport:
    eqs = pliant.derive(pliant.load_text(EVERYTHING))
    return pliant.export_urdf(eqs, tmp_path_factory.mktemp("urdf") / "every.urdf")


@pytest.mark.parametrize("seed", range(4))
def test_every_joint(everything: pliant.RigidExport, seed: int) -> None:
    assert _largest_error(everything, seed) < 1e-10


@pytest.mark.parametrize("name", ["pendulum", "cart_pole", "double_pendulum", "four_bar", "cantilever"])
def test_bundled_robots(name: str, tmp_path: Path) -> None:
    done = pliant.export_urdf(pliant.derive(name), tmp_path / "robot.urdf")
    assert _largest_error(done, 0) < 1e-10


def test_limits_damping_and_mimic(everything: pliant.RigidExport) -> None:
    model, _ = _read(everything)
    wrist = model.joints[model.getJointId("wrist")]
    assert np.rad2deg(model.lowerPositionLimit[wrist.idx_q]) == pytest.approx(-100)
    assert np.rad2deg(model.upperPositionLimit[wrist.idx_q]) == pytest.approx(90)
    text = everything.path.read_text()
    assert '<limit lower="-1.7453292519943295" upper="1.5707963267948966" effort="3" velocity="1000000"/>' in text
    assert '<dynamics damping="0.03" friction="0"/>' in text
    assert '<mimic joint="wrist" multiplier="2" offset="0.3"/>' in text


def test_what_urdf_lacks_is_listed(everything: pliant.RigidExport) -> None:
    listed = "\n".join(everything.remarks)
    for words in (
        "springs of the joints wrist, with the numbers below",
        "motors turn",
        "links and tendons string",
        "loads gust.force_x",
        "loops loop: the tree is open there",
    ):
        assert f"omitted, because URDF does not support them: {words}" in listed
    spring = next(line for line in everything.path.read_text().splitlines() if " from " in line and "wrist" in line)
    name, stiffness, _, rest = spring.split()
    assert (name, float(stiffness), float(rest)) == ("wrist:", 0.4, pytest.approx(np.deg2rad(20)))


def test_free_rotations_are_refused(tmp_path: Path) -> None:
    text = """
pliant: 1
bodies: {a: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}}
joints: {socket: {type: spherical, child: a}}
"""
    with pytest.raises(ExportError, match="URDF has no joint for the free rotation socket; export MJCF"):
        pliant.export_urdf(pliant.derive(pliant.load_text(text)), tmp_path / "robot.urdf")


def test_free_bodies_float(tmp_path: Path) -> None:
    done = pliant.export_urdf(pliant.derive("tumbling_body"), tmp_path / "robot.urdf")
    model, data = _read(done)
    assert model.nv == 6
    mass = pin.crba(model, data, pin.neutral(model))
    at_zero = np.r_[np.zeros(3), 1, np.zeros(3)]
    assert np.allclose(np.triu(mass), np.triu(done.equations.mass_matrix(at_zero).toarray()), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "constraint", ["components: x, rate: 1 mm/s", "components: [rx, ry, rz]", "components: x", "components: [x, y, ry]"]
)
def test_constraints_without_a_form_in_any_program_are_listed(constraint: str, tmp_path: Path) -> None:
    text = f"""
pliant: 1
bodies: {{a: {{mass: 1 kg, shape: {{type: sphere, radius: 10 cm}}}}}}
joints: {{float: {{type: free, child: a}}}}
constraints: {{held: {{between: [world, a], {constraint}}}}}
"""
    done = pliant.export_urdf(pliant.derive(pliant.load_text(text)), tmp_path / "robot.urdf")
    assert "omitted, because URDF does not support them: constraint held" in done.remarks
