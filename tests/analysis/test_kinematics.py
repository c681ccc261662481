"""Forward and inverse kinematics against closed forms of planar arms, and round trips of arms in space."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant import (
    derive,
    equilibrium,
    forward_kinematics,
    inverse_dynamics,
    inverse_kinematics,
    load_result,
    load_text,
    manipulability,
    required_inputs,
)
from pliant.cli import run as command
from pliant.control import FramePosition, rest_with
from pliant.engine.core import UnknownName

L1, L2 = 0.4, 0.3

TURRET = """
pliant: 1
defaults: {bodies: {mass: 1 kg, shape: {type: sphere, radius: 5 cm}}}
bodies:
  base: {frames: {top: {position: [0, 0, 0.3]}}}
  upper: {frames: {end: {position: [0.4, 0, 0]}}}
  fore: {frames: {end: {position: [0.35, 0, 0]}}}
  wrist: {}
  hand: {}
  tool: {frames: {tip: {position: [0.1, 0, 0]}}}
joints:
  j1: {type: revolute, child: base, axis: z}
  j2: {type: revolute, parent: base.top, child: upper, axis: y}
  j3: {type: revolute, parent: upper.end, child: fore, axis: y}
  j4: {type: revolute, parent: fore.end, child: wrist, axis: x}
  j5: {type: revolute, parent: wrist, child: hand, axis: y}
  j6: {type: revolute, parent: hand, child: tool, axis: x}
"""


@pytest.fixture(scope="module")
def planar():
    return derive("double_pendulum")


@pytest.fixture(scope="module")
def turret():
    return derive(load_text(TURRET))


def test_forward_kinematics_of_two_links(planar):
    a, b = 0.7, -0.4
    found = forward_kinematics(planar, "lower.tip", [a, b])
    # angle zero hangs down, and a turn about +y moves the tip towards -x
    expected = [-L1 * np.sin(a) - L2 * np.sin(a + b), 0, -L1 * np.cos(a) - L2 * np.cos(a + b)]
    assert found.position == pytest.approx(expected, abs=1e-14)
    seen = forward_kinematics(planar, "lower.tip", [a, b], relative_to="upper.tip")
    assert seen.position == pytest.approx([-L2 * np.sin(b), 0, -L2 * np.cos(b)], abs=1e-14)


def elbow_angles(target):
    """Both closed-form solutions (shoulder, elbow) of the double pendulum, by the law of cosines."""
    x, z = -target[0], -target[2]
    cosine = (x * x + z * z - L1**2 - L2**2) / (2 * L1 * L2)
    out = []
    for elbow in (np.arccos(cosine), -np.arccos(cosine)):
        out.append((np.arctan2(x, z) - np.arctan2(L2 * np.sin(elbow), L1 + L2 * np.cos(elbow)), elbow))
    return out


def test_both_elbows_are_found(planar):
    target = np.array([0.35, 0, -0.4])
    found = inverse_kinematics(planar, "lower.tip", target)
    assert [r.status for r in found] == ["reached", "reached"]
    turned = sorted((np.remainder(r.q + np.pi, 2 * np.pi) - np.pi).tolist() for r in found)
    np.testing.assert_allclose(turned, sorted(map(list, elbow_angles(target))), atol=1e-7)


def test_limits_leave_one_elbow(planar):
    target = np.array([0.35, 0, -0.4])
    found = inverse_kinematics(planar, "lower.tip", target, limits={"elbow": (0, 3), "shoulder": (-3, 3)})
    assert len(found) == 1
    assert found[0].q == pytest.approx(elbow_angles(target)[0], abs=1e-7)
    assert found[0].at_limits == ()


def test_a_target_out_of_reach_is_approached(planar):
    (found,) = inverse_kinematics(planar, "lower.tip", [0, 0, -1.0])
    assert found.status == "not reached"
    # stretched out towards it
    assert found.position_error == pytest.approx(1.0 - L1 - L2, abs=1e-6)
    (held,) = inverse_kinematics(planar, "lower.tip", [0, 0, -0.7], limits={"elbow": (0.5, 2.0)})
    assert held.at_limits == ("elbow",)
    assert held.coordinates["elbow"] == pytest.approx(0.5)
    # the nearest point of the reachable ring
    ring = np.sqrt(L1**2 + L2**2 + 2 * L1 * L2 * np.cos(0.5))
    assert held.position_error == pytest.approx(0.7 - ring, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_six_joints_reach_a_full_pose(turret, seed):
    there = np.random.default_rng(seed).uniform(-1.2, 1.2, 6)
    target = forward_kinematics(turret, "tool.tip", there)
    found = inverse_kinematics(turret, "tool.tip", target.position, target.rotation, starts=12, seed=seed)
    assert len(found) >= 2  # shoulder, elbow and wrist can each be turned over
    for r in found:
        here = forward_kinematics(turret, "tool.tip", r.q)
        np.testing.assert_allclose(here.position, target.position, atol=1e-9)
        np.testing.assert_allclose(here.rotation, target.rotation, atol=2e-8)
        assert r.iterations < 60
        assert r.manipulability.rank <= 6


def test_convergence_is_quadratic_near_the_target(turret):
    there = np.array([0.3, -0.5, 0.8, 0.4, 0.6, -0.2])
    target = forward_kinematics(turret, "tool.tip", there)
    (found,) = inverse_kinematics(turret, "tool.tip", target.position, target.rotation, start=there + 0.05, starts=1)
    assert found.status == "reached"
    assert found.iterations <= 6


def test_a_free_body_goes_anywhere():
    eqs = derive("tumbling_body")
    frame = next(name for name in eqs.frame_names if name != "world")
    rotation = Rotation.from_rotvec([2.0, -1.5, 1.0]).as_matrix()
    (found,) = inverse_kinematics(eqs, frame, [0.3, 0.2, -0.1], rotation, starts=1)
    assert found.status == "reached"
    np.testing.assert_allclose(forward_kinematics(eqs, frame, found.q).rotation, rotation, atol=2e-8)


def test_closed_loops_stay_closed():
    eqs = derive("four_bar")
    start = equilibrium(eqs).q
    moved = eqs.binding.project(0.0, start + np.array([0.2, 0, 0]), np.zeros(3))[0]
    target = eqs.frame("bar1.tip", moved).position
    found = inverse_kinematics(eqs, "bar1.tip", target, start=start, starts=1)
    assert found[0].status == "reached"
    assert np.abs(eqs.constraints(found[0].q).value).max() < 1e-10


def test_a_soft_arm_is_brought_to_a_point():
    eqs = derive("stiff_flop")
    target = np.array([0.01, -0.012, 0.052])
    (found,) = inverse_kinematics(eqs, "tip", target, starts=1)
    assert found.status == "reached"
    np.testing.assert_allclose(eqs.frame("tip", found.q).position, target, atol=1e-9)


def test_a_pose_of_a_soft_arm_that_is_not_at_rest_has_a_remark():
    eqs = derive("stiff_flop")
    target = np.array([0.008, -0.005])
    rest = rest_with(eqs, FramePosition("tip", "xy"), target)
    place = rest.frames["tip"].position
    poses = inverse_kinematics(eqs, "tip", place, starts=1)
    (bent,), (remark,) = poses, poses.remarks
    assert "not an equilibrium" in remark
    assert "rest_with" in remark
    assert "required_inputs" in remark
    assert required_inputs(eqs, bent.q).missing > 0.01  # for no inputs
    held = inverse_kinematics(eqs.at(inputs=rest.inputs), "tip", place, start=rest.q, starts=1)
    assert held.remarks == ()


def test_poses_of_rigid_robots_have_no_remarks(planar):
    assert not inverse_kinematics(planar, "lower.tip", [0.3, 0, -0.4]).remarks


def test_manipulability_of_two_links(planar):
    for elbow in (0.3, 1.2, np.pi):
        found = manipulability(planar, "lower.tip", [0.2, elbow])
        # the plane's two directions: l1 l2 |sin elbow|
        assert np.prod(found.singular_values[:2]) == pytest.approx(L1 * L2 * abs(np.sin(elbow)), abs=1e-12)
        assert found.rank == (2 if elbow < 3 else 1)
        assert found.measure == 0  # it never leaves its plane


def test_a_free_body_moves_alike_in_all_directions():
    eqs = derive("tumbling_body")
    found = manipulability(eqs, eqs.frame_names[-1], eqs.initial_state().q)
    assert found.rank == 3
    assert found.measure > 0


def test_bad_requests_are_refused(planar):
    with pytest.raises(UnknownName, match=r"unknown frame 'lower\.tp'; did you mean"):
        inverse_kinematics(planar, "lower.tp", [0, 0, 0])
    with pytest.raises(UnknownName, match="plain coordinate"):
        inverse_kinematics(planar, "lower.tip", [0, 0, 0], limits={"knee": (0, 1)})
    with pytest.raises(ValueError, match="exclude each other"):
        inverse_kinematics(planar, "lower.tip", [0, 0, 0], limits={"elbow": (1, 0)})
    with pytest.raises(ValueError, match="rotation matrix"):
        inverse_kinematics(planar, "lower.tip", [0, 0, 0], np.ones((3, 3)))
    with pytest.raises(ValueError, match="position"):
        inverse_kinematics(planar, "lower.tip", [0, 0])


def test_prescribed_joints_are_the_reason_why_a_target_is_not_reached():
    text = """
pliant: 1
parameters: {a: {value: 0.3 rad, input: true}}
bodies: {arm: {mass: 1 kg, frames: {end: {position: [0.5, 0, 0]}}}}
joints: {turn: {type: revolute, child: arm, axis: z, angle: {MOTION}}}
"""
    driven, free = (derive(load_text(text.replace("MOTION", words))) for words in ("motion: =a", "input: =a*1 N*m/rad"))
    reach = inverse_kinematics(driven, "arm.end", [0, 0.5, 0])
    assert reach[0].status == "not reached"
    assert "'turn' follows a prescribed motion" in reach.remarks[0]
    assert inverse_kinematics(free, "arm.end", [0, 0.5, 0])[0].status == "reached"
    assert inverse_kinematics(free, "arm.end", [0, 0.9, 0]).remarks == ()


def test_inverse_dynamics_of_two_links_holds_their_weight(planar):
    """At rest the forces are those of gravity, and with accelerations those of inertia are added."""
    pose = {"shoulder": 0.3, "elbow": -0.5}
    held = inverse_dynamics(planar, pose)
    moved = inverse_dynamics(planar, pose, accelerations={"elbow": 2.0})
    q = [pose[name] for name in planar.coordinates]
    np.testing.assert_allclose(held.forces, planar.inverse_dynamics(q, [0, 0], [0, 0]), atol=1e-12)
    column = planar.mass_matrix(q).toarray()[:, planar.rates.index("elbow")]
    np.testing.assert_allclose(moved.forces - held.forces, 2.0 * column, atol=1e-12)
    np.testing.assert_allclose(moved.inertial, 2.0 * column, atol=1e-12)
    with pytest.raises(ValueError, match=r"accelerations\.elbw: there is no rate|accelerations.elbw"):
        inverse_dynamics(planar, pose, accelerations={"elbw": 2.0})


def test_kinematics_as_commands(tmp_path, capsys):
    """The pose of a tip, and the joints that bring it back there."""
    assert (
        command(["forward_kinematics", "double_pendulum", "--frame", "lower.tip", "--at", "elbow=30 deg", "--json"])
        == 0
    )
    place = json.loads(capsys.readouterr().out)["position"]
    words = ["inverse_kinematics", "double_pendulum", "--frame", "lower.tip", "--position", ",".join(map(str, place))]
    assert (
        command([*words, "--limits", "elbow=0,3", "--limits", "shoulder=-3,3", "--out", str(tmp_path / "poses.nc")])
        == 0
    )
    found = load_result(tmp_path / "poses.nc")
    assert found.q[0][found.equations.coordinates.index("elbow")] == pytest.approx(np.pi / 6, abs=1e-6)
    assert "1 pose found" in capsys.readouterr().out
