"""Robots as MJCF, read and evaluated by MuJoCo: the same matrices, forces and frames as here; rods by refinement."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.cli import run as command
from pliant.io.c_text import ExportError
from pliant.targets.mjcf import MujocoLimits
from pliant.targets.rigid_tree import rigid_tree

mujoco = pytest.importorskip("mujoco")

EVERYTHING = """
pliant: 1
name: every joint <&-->
world: {gravity: [0.3, -0.2, -9.81 m/s^2]}
parameters:
  turn: {value: 0.3 N*m, input: true, minimum: -2 N*m, maximum: 2 N*m}
  pull: {value: 4 N, input: true}
  wind: {value: 0.5 N, input: true}
bodies:
  drone: {mass: 1.2 kg, center_of_mass: [1 cm, -2 cm, 3 cm], shape: {type: box, size: [30 cm, 20 cm, 5 cm]},
    inertia: {matrix: [[0.02, 1e-3, -2e-3], [1e-3, 0.03, 5e-4], [-2e-3, 5e-4, 0.025]]},
    frames: {eye: {position: [15 cm, 0, 2 cm], rotation: {axis: y, angle: 30 deg}}}}
  arm: {mass: 0.4 kg, center_of_mass: [10 cm, 0, 0],
    inertia: {principal: [1e-4, 2e-3, 2e-3], rotation: {axis: [1, 2, 3], angle: 40 deg}},
    frames: {tip: {position: [20 cm, 0, 0]}}}
  hand: {mass: 0.2 kg, shape: {type: cylinder, radius: 2 cm, length: 6 cm, axis: x}, center_of_mass: [3 cm, 1 cm, 0]}
  ball: {mass: 0.3 kg, shape: {type: sphere, radius: 3 cm}, center_of_mass: [0, 0, -5 cm]}
  slider: {mass: 0.5 kg, inertia: {principal: [1e-3, 1e-3, 1e-3]}, center_of_mass: [0, 2 cm, 1 cm]}
  pin: {mass: 0.2 kg, inertia: {principal: [1e-3, 2e-3, 1.5e-3]}}
  puck: {mass: 0.2 kg, inertia: {principal: [1e-3, 2e-3, 1.5e-3]}, center_of_mass: [1 cm, 0, 0]}
  kite: {mass: 0.2 kg, inertia: {principal: [1e-3, 2e-3, 1.5e-3]}, center_of_mass: [1 cm, 0, 2 cm]}
  plate: {mass: 0.1 kg, inertia: {principal: [1e-3, 2e-3, 1.5e-3]}}
joints:
  flight: {type: free, child: drone, position: [0.1 m, 0.2 m, 0.3 m]}
  shoulder: {type: universal, parent: drone.eye, child: arm, position: [0, 0, -2 cm]}
  wrist: {type: revolute, parent: arm.tip, child: hand, axis: [1, 1, 0],
    angle: {spring: {coefficient: 0.4 N*m/rad, rest: 20 deg}, damper: 0.03, input: =turn, initial: 10 deg, armature: 2e-3}}
  socket: {type: spherical, parent: arm.tip, child: ball, rotation: {axis: x, angle: 50 deg},
    orientation: {spring: 0.2 N*m/rad, damper: 0.01, armature: 3e-3}}
  rail: {type: prismatic, parent: drone, child: slider, axis: z, position: [0, 10 cm, 0],
    displacement: {spring: {coefficient: 30 N/m, rest: 2 cm}, damper: 0.5, armature: 0.4 kg,
      limits: {minimum: -30 m, maximum: 40 m, stiffness: 1e4 N/m}}}
  sleeve: {type: cylindrical, child: pin, axis: y, position: [1 m, 0, 0]}
  table: {type: planar, child: puck, position: [0, 1 m, 0], rotation: {axis: x, angle: 20 deg}}
  odd:
    type: chain
    parent: slider
    child: kite
    transforms:
      - translate: [1 cm, free, 2 cm]
      - rotate: {axis: x, angle: 25 deg}
      - rotate: {axis: z, angle: {damper: 0.02}}
      - translate: [2 cm, 0, 3 cm]
      - rotate: {axis_angle: {axis: [1, 1, 0], angle: 10 deg}}
      - rotate: {quaternion: free}
      - translate: [0, 4 cm, 0]
  bracket: {type: weld, parent: kite, child: plate, position: [5 cm, 0, 1 cm], rotation: {axis: y, angle: 70 deg}}
links:
  strut: {type: axial, between: [drone.eye, {frame: pin, position: [1 cm, 0, 0]}],
    spring: {coefficient: 20 N/m, rest: 0.8 m}, damper: 0.3}
tendons:
  string: {type: tension, through: [world, drone, arm.tip, puck], tension: =pull}
  band: {type: elastic, through: [world, slider, {frame: ball, position: [0, 1 cm, 0]}], stiffness: 15 N/m, rest: 5 cm}
loads:
  gust: {frame: hand, position: [1 cm, 0, 0], force: [=wind, 0, 0.2 N], moment: [0, 0.01 N*m, 0]}
  jet: {frame: ball, force: [0, 0.4 N, 0], expressed_in: ball}
"""


class InMujoco:
    """An exported robot in MuJoCo, in states of its equations here; v = rates @ qvel."""

    def __init__(self, done: pliant.RigidExport) -> None:
        self.equations, self.model = done.equations, mujoco.MjModel.from_xml_path(str(done.path))
        self.data = mujoco.MjData(self.model)
        tree = rigid_tree(done.equations)
        self.joints = {
            j.name: (link, j) for link in tree.links for whole in link.joints for j in (whole, *whole.parts())
        }

    def put(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Set a state, with the commands of the start; returns what rates here are per rate there."""
        model, data = self.model, self.data
        mujoco.mj_resetDataKeyframe(model, data, 0)
        rates = np.zeros((len(v), model.nv))
        for k in range(model.njnt):
            link, joint = self.joints[mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, k)]
            nq, nv = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}[int(model.jnt_type[k])]
            at, v_at = model.jnt_qposadr[k], model.jnt_dofadr[k]
            data.qpos[at : at + nq] = joint.scale * q[joint.q_at : joint.q_at + nq]
            if nq == 7:
                data.qpos[at : at + 3] += link.placement[:3, 3]
            data.qvel[v_at : v_at + nv] = joint.scale * v[joint.v_at : joint.v_at + nv]
            rates[joint.v_at : joint.v_at + nv, v_at : v_at + nv] = np.eye(nv) / joint.scale
        mujoco.mj_forward(model, data)
        return rates

    def errors(self, q: np.ndarray, v: np.ndarray) -> dict[str, float]:
        """Relative differences of matrices, forces and accelerations without constraints, and of frames [m, -]."""
        eqs, model, data = self.equations, self.model, self.data
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        rates = self.put(q, v)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        bias = data.qfrc_bias - data.qfrc_passive - data.qfrc_actuator
        here = eqs.mass_matrix(q).toarray()
        found = {
            "mass": _difference(mass, rates.T @ here @ rates),
            "bias": _difference(bias, rates.T @ eqs.bias(q, v)),
            "acceleration": _difference(rates @ data.qacc, np.linalg.solve(here, -eqs.bias(q, v))),
        }
        for name, frame in eqs.frames(q).items():
            site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, name)
            found[name] = np.abs(data.site_xpos[site] - frame.position).max()
            found[f"{name} turned"] = np.abs(data.site_xmat[site].reshape(3, 3) - frame.rotation).max()
        return found


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def _random(eqs: pliant.Equations, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    q = eqs.initial_state().q + 0.5 * random.standard_normal(len(eqs.coordinates))
    for at, _ in eqs.model.system.quaternions():
        q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
    return q, random.standard_normal(len(eqs.rates))


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> pliant.RigidExport:
    eqs = pliant.derive(pliant.load_text(EVERYTHING))
    return pliant.export_mjcf(eqs, tmp_path_factory.mktemp("mjcf") / "every.xml")


@pytest.mark.parametrize("seed", range(4))
def test_every_joint_and_force(everything: pliant.RigidExport, seed: int) -> None:
    robot = InMujoco(everything)
    assert max(robot.errors(*_random(everything.equations, seed)).values()) < 1e-10


def test_armature_of_a_floating_body(tmp_path: Path) -> None:
    """MuJoCo's free joints have none, so it becomes three slides and a ball. URDF lists it as omitted."""
    text = """
pliant: 1
bodies: {b: {mass: 1 kg, center_of_mass: [1 cm, 0, 0], shape: {type: box, size: [10 cm, 20 cm, 30 cm]}}}
joints: {fly: {type: free, child: b, x: {armature: 0.5 kg}, orientation: {armature: 0.01}}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    exported = pliant.export_mjcf(eqs, tmp_path / "b.xml")
    assert exported.remarks == ()
    assert max(InMujoco(exported).errors(*_random(eqs, 1)).values()) < 1e-10
    assert any(
        "armature of the joints fly" in remark for remark in pliant.export_urdf(eqs, tmp_path / "b.urdf").remarks
    )


def test_only_stops_differ(everything: pliant.RigidExport) -> None:
    assert everything.remarks[0] == "rail: its stops have the stiffness of the other program"
    assert not any("left out" in remark for remark in everything.remarks)
    assert "every joint &lt;&amp;--&gt;" in everything.path.read_text()


def test_limits_inputs_and_start(everything: pliant.RigidExport) -> None:
    robot = InMujoco(everything)
    model = robot.model
    assert model.joint("rail").range.tolist() == [-30, 40]
    assert model.actuator("turn").ctrlrange.tolist() == [-2, 2]
    assert model.key_ctrl[0][model.actuator("turn").id] == 0.3
    assert model.key_ctrl[0][model.actuator("pull").id] == 4
    assert model.key_qpos[0][model.joint("wrist").qposadr[0]] == pytest.approx(np.deg2rad(10))


def test_links_without_mass_are_joined(everything: pliant.RigidExport) -> None:
    """A universal joint is two hinges of one body: MuJoCo takes no body without mass between them."""
    model = InMujoco(everything).model
    assert model.joint("shoulder.angle1").bodyid == model.joint("shoulder.angle2").bodyid == model.body("arm").id


@pytest.mark.parametrize(
    "name", ["pendulum", "cart_pole", "double_pendulum", "four_bar", "spring_mass_chain", "tumbling_body"]
)
def test_bundled_rigid_robots(name: str, tmp_path: Path) -> None:
    done = pliant.export_mjcf(pliant.derive(name), tmp_path / "robot.xml")
    assert done.rods is None
    for seed in range(3):
        assert max(InMujoco(done).errors(*_random(done.equations, seed)).values()) < 1e-10


def test_ties(tmp_path: Path) -> None:
    text = """
pliant: 1
bodies: {a: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}, b: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}}
joints:
  first: {type: revolute, child: a, angle: {initial: 0.2 rad}}
  second: {type: revolute, child: b, angle: {equal_to: {coordinate: first, ratio: -3, offset: 0.1 rad}}}
"""
    done = pliant.export_mjcf(pliant.derive(pliant.load_text(text)), tmp_path / "robot.xml")
    model = InMujoco(done).model
    assert model.eq_data[0][:2].tolist() == [0.1, -3]
    first, second = (model.key_qpos[0][model.joint(name).qposadr[0]] for name in ("first", "second"))
    assert (first, second) == (pytest.approx(0.2), pytest.approx(0.1 - 3 * 0.2))


def test_a_planar_loop_moves_as_here(tmp_path: Path) -> None:
    """MuJoCo holds a loop softly; over a short time its motion is that of the constraint."""
    eqs = pliant.derive("four_bar")
    done = pliant.export_mjcf(eqs, tmp_path / "robot.xml")
    assert not any("constraint" in remark for remark in done.remarks)
    robot = InMujoco(done)
    mujoco.mj_resetDataKeyframe(robot.model, robot.data, 0)
    robot.model.opt.timestep = 1e-4
    for _ in range(3000):
        mujoco.mj_step(robot.model, robot.data)
    run = pliant.simulate(eqs, 0.3, save_every=0.3)
    there = [robot.data.joint(name).qpos[0] for name in eqs.coordinates]
    assert np.abs(run.q[-1] - there).max() < 2e-3 * np.abs(run.q[-1] - run.q[0]).max()


def test_hinges_close_loops_by_two_points(tmp_path: Path) -> None:
    text = """
pliant: 1
bodies: {a: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}, b: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}}
joints:
  one: {type: free, child: a}
  two: {type: free, child: b}
constraints:
  hinge: {between: [a, b], components: [position, rx, ry]}
  welded: {between: [world, {frame: a, position: [1 m, 0, 0]}], components: all, holds: as at start}
  turned: {between: [world, b], components: [rz]}
"""
    done = pliant.export_mjcf(pliant.derive(pliant.load_text(text)), tmp_path / "robot.xml")
    model = InMujoco(done).model
    names = {model.equality(k).name: int(model.eq_type[k]) for k in range(model.neq)}
    connect, weld = int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)
    assert names == {"hinge": connect, "hinge.axis": connect, "welded": weld}
    assert done.remarks == ("constraint turned: omitted: it constrains rotations only",)
    data = InMujoco(done).data
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() < 1e-12  # closed as they are here, "as at start" included
    data.qpos[7:10] += [0, 0, 0.1]
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() == pytest.approx(0.1)


ROD = """
pliant: 1
world: {gravity: [0, 0, -9.81 m/s^2]}
parameters: {squeeze: {value: 3 kPa, input: true}}
sections: {round: {shape: circle, radius: 8 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.48}}
rods:
  arm: {length: 30 cm, section: round, material: rubber, rayleigh: {alpha: 0 1/s, beta: 10 ms},
    model: {kind: finite_element, elements: 12},
    chambers: {side: {positions: [[4 mm, 0]], radius: 2 mm, pressure: =squeeze}},
    rotation: {axis: y, angle: 60 deg}, frames: {middle: 13 cm}}
bodies: {weight: {mass: 5 g, parent: arm.tip, shape: {type: sphere, radius: 5 mm}}}
"""


def test_rods_by_refinement(tmp_path: Path) -> None:
    """Errors of a rod that bends and twists alone, as its links do, fall by four from twice as many links."""
    text = ROD.replace("{kind: finite_element, elements: 12}", "{kind: pcs, elements: 60}, strains: kirchhoff")
    eqs = pliant.derive(pliant.load_text(text))
    errors = {}
    for links in (6, 12, 24):
        done = pliant.export_mjcf(eqs, tmp_path / "robot.xml", links=links)
        assert done.rods is not None
        errors[links] = (done.rods.frequency_error, done.rods.distance)
        assert f"rods as {links} links" in done.path.read_text()
        assert max(InMujoco(done).errors(*_random(done.equations, links)).values()) < 1e-9
    assert errors[24][0] < 0.01
    for fine, coarse in ((12, 6), (24, 12)):
        assert errors[fine] < tuple(x / 3 for x in errors[coarse])


def test_a_rod_moves_in_mujoco_as_here(tmp_path: Path) -> None:
    """With the default links and step, under weight and pressure."""
    eqs = pliant.derive(pliant.load_text(ROD))
    done = pliant.export_mjcf(eqs, tmp_path / "robot.xml")
    robot = InMujoco(done)
    mujoco.mj_resetDataKeyframe(robot.model, robot.data, 0)
    start = eqs.frame("arm.tip", eqs.initial_state().q).position
    while robot.data.time < 0.3 - 1e-9:
        mujoco.mj_step(robot.model, robot.data)
    mujoco.mj_forward(robot.model, robot.data)
    tip = robot.data.site("arm.tip").xpos
    with_links, with_rod = (
        one.frame("arm.tip", pliant.simulate(one, 0.3, save_every=0.3).q[-1]).position for one in (done.equations, eqs)
    )
    moved = np.linalg.norm(with_rod - start)
    assert moved > 0.05
    assert np.linalg.norm(tip - with_links) < 2e-3 * moved
    assert np.linalg.norm(tip - with_rod) < 0.05 * moved


def test_stout_rods_stretch_and_slender_ones_do_not(tmp_path: Path) -> None:
    eqs = pliant.derive(pliant.load_text(ROD))
    slender = pliant.export_mjcf(eqs, tmp_path / "robot.xml").equations.coordinates
    stout = pliant.load_text(ROD.replace("length: 30 cm", "length: 4 cm").replace("middle: 13 cm", "middle: 1 cm"))
    short = pliant.export_mjcf(pliant.derive(stout), tmp_path / "robot.xml").equations.coordinates
    assert "arm.twist[3]" in slender
    assert "arm.stretch[3]" not in slender
    assert "arm.stretch[3]" in short


@pytest.mark.slow
def test_the_inputs_of_the_comparison_are_named(tmp_path: Path) -> None:
    """The error at rest holds for one pose: that of a straight rod does not hold for a bent one."""
    eqs = pliant.derive("stiff_flop")
    for inputs, words in (({}, "the inputs are 0,"), ({"p2": 2e4}, "the inputs are p2 = 2e+04,")):
        rods = pliant.export_mjcf(eqs.at(inputs=inputs), tmp_path / "robot.xml").rods
        assert words in str(rods)
        assert rods.facts()["inputs"] == {"p1": 0.0, "p2": inputs.get("p2", 0.0), "p3": 0.0}


def test_what_is_left_out_is_listed(tmp_path: Path) -> None:
    text = """
pliant: 1
bodies:
  ball: {mass: 1 kg, shape: {type: sphere, radius: 0.1 m}}
  bar: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}
joints:
  fall: {type: free, child: ball, orientation: {damper: [1, 2, 3]}}
  swing: {type: revolute, child: bar, angle: {spring: {coefficient: "=2 N*m*(1 + angle^2)"},
    damper: {coefficient: 0.1, power: 2}, input: "=sin(t/1 s) * 1 N*m"}}
surfaces: {floor: {type: plane, normal: z}}
contacts: {floor: {between: [ball, floor], stiffness: 1e4 N/m}}
links: {rope: {type: axial, between: [world, bar], spring: 2 N/m, direction: tension, smoothing: 1 mm, damper: 1}}
tendons: {line: {type: elastic, through: [world, bar, ball], stiffness: 10 N/m, rest: 1 m, friction: 0.2, shortening: 1 cm}}
constraints:
  guide: {between: [world, ball], components: [x, rx]}
  led: {between: [world, ball], components: [y], position: "=sin(t/1 s) * 1 cm"}
loads: {push: {frame: ball, force: [1 N, 0, 0], expressed_in: bar}}
"""
    done = pliant.export_mjcf(pliant.derive(pliant.load_text(text)), tmp_path / "robot.xml")
    listed = "\n".join(done.remarks)
    for words in (
        "fall.orientation: its damping differs between axes",
        "swing: its spring, damper or input is nonlinear",
        "motor swing: its command is a formula",
        "surface floor: omitted: of surfaces only spheres, capsules, cylinders, boxes and ellipsoids are exported",
        "contact floor: omitted: geometry is only shown",
        "link rope: its damper is replaced by a viscous one",
        "link rope: its spring has no `smoothing`",
        "tendon line: its friction is omitted",
        "tendon line: its wound-in length is constant, 0.01 m",
        "constraint guide: omitted: its components x, rx",
        "constraint led: omitted: its motion is prescribed",
        "load push: omitted: it is in the axes of another moving body",
    ):
        assert words in listed
    inside = " ".join(done.path.read_text().split())
    for remark in done.remarks:
        assert f"* {remark}" in inside
    mujoco.MjModel.from_xml_path(str(done.path))


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExportError, match="the mesh 'cloth' cannot be written"):
        pliant.export_mjcf(pliant.derive("cloth"), tmp_path / "robot.xml")
    with pytest.raises(ExportError, match=r"cannot determine the format of .*; end it in \.xml"):
        pliant.export_mjcf(pliant.derive("pendulum"), tmp_path / "robot.mjcf")
    with pytest.raises(ExportError, match="cannot write"):
        pliant.export_mjcf(pliant.derive("pendulum"), tmp_path / "none" / "robot.xml")
    with pytest.raises(pliant.ArgumentError, match="links: expected at least 1, got 0"):
        pliant.export_mjcf(pliant.derive("pendulum"), tmp_path / "robot.xml", links=0)
    bent = """
pliant: 1
bodies: {a: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}}
joints: {j: {type: chain, child: a, transforms: [{rotate: {vector: [free, free, 0]}}]}}
"""
    with pytest.raises(ExportError, match=r"'j\.rx' moves by 'rotation_vector_01'"):
        pliant.export_mjcf(pliant.derive(pliant.load_text(bent)), tmp_path / "robot.xml")
    monkeypatch.setattr("pliant.targets.mjcf.MUJOCO", MujocoLimits(deepest=20))
    with pytest.raises(ExportError, match=r"a chain of 30 bodies, and MuJoCo supports up to 20"):
        pliant.export_mjcf(pliant.derive("cantilever"), tmp_path / "robot.xml", links=30)
    assert not (tmp_path / "robot.xml").exists()


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "robot.xml"
    assert command(["export", "cantilever", "--mjcf", str(file), "--links", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rods"]["links"] == {"rod": 5}
    assert 0 < found["rods"]["frequency_error"] < 0.1
    assert mujoco.MjModel.from_xml_path(str(file)).nv == 15
    assert command(["export", "four_bar", "--urdf", str(tmp_path / "robot.urdf")]) == 0
    said = capsys.readouterr().out
    assert "3 degrees of freedom in" in said
    assert "loops pin: the tree is open there" in said


def test_surfaces_are_geoms(tmp_path):
    text = """
pliant: 1
bodies: {b: {mass: 1 kg, inertia: {principal: [0.1, 0.1, 0.1]}, frames: {tip: {position: [0, 0, 1]}}}}
joints: {h: {type: revolute, child: b, axis: y}}
surfaces:
  ball: {type: sphere, parent: b.tip, radius: 3 cm, position: [0.1, 0, 0]}
  pill: {type: capsule, parent: b, radius: 2 cm, length: 10 cm, axis: x, rotation: {axis: z, angle: 30 deg}}
  drum: {type: cylinder, parent: b, radius: 2 cm, length: 10 cm, axis: [1, 1, 0]}
  brick: {type: box, size: [1, 2, 3]}
  ground: {type: plane}
"""
    exported = pliant.export_mjcf(pliant.derive(pliant.load_text(text)), tmp_path / "robot.xml")
    assert [remark for remark in exported.remarks if "surface" in str(remark)] == [
        "surface ground: omitted: of surfaces only spheres, capsules, cylinders, boxes and ellipsoids are exported"
    ]
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.geom("ball").xpos == pytest.approx([0.1, 0, 1])
    for name, along in (("pill", [np.cos(np.pi / 6), 0.5, 0]), ("drum", [0.5**0.5, 0.5**0.5, 0])):
        assert data.geom(name).xmat.reshape(3, 3)[:, 2] == pytest.approx(along, abs=1e-12)
        assert model.geom(name).size[:2] == pytest.approx([0.02, 0.05])
    assert model.geom("brick").size == pytest.approx([0.5, 1, 1.5])
