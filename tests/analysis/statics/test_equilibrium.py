"""Equilibria compared with statics in closed form, and clear messages if there is none."""

import json

import numpy as np
import pytest

from pliant import AnalysisFailed, continuation, derive, equilibria, equilibrium, load_result, load_text
from pliant.analysis.numerics.state import AssemblyError


def robot(text):
    return derive(load_text("pliant: 1\n" + text))


HANGING = """
parameters: {mass: 2 kg, stiffness: 300 N/m}
bodies: {weight: {mass: =mass}}
joints: {slide: {type: prismatic, child: weight, axis: z, displacement: {spring: =stiffness}}}
"""

PENDULUM = """
bodies: {rod: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m]}}
joints: {hinge: {type: revolute, child: rod, axis: y, angle: {initial: START}}}
"""


def test_hanging_weight_stretches_by_weight_over_stiffness():
    eqs = robot(HANGING)
    for mass, stiffness in ((2.0, 300.0), (5.0, 80.0)):
        found = equilibrium(eqs, parameters={"mass": mass, "stiffness": stiffness})
        assert found.status == "converged"
        assert found.stable is True
        assert found.coordinates["slide"] == pytest.approx(-mass * 9.81 / stiffness, rel=1e-12)
        assert found.stiffness == pytest.approx(stiffness, rel=1e-12)


@pytest.mark.parametrize("start", ["3 deg", "100 deg", "179 deg", "-120 deg"])
def test_a_pendulum_settles_hanging_from_anywhere(start):
    found = equilibrium(robot(PENDULUM.replace("START", start)))
    assert found.status == "converged"
    assert found.stable is True
    assert np.cos(found.coordinates["hinge"]) == pytest.approx(1.0, abs=1e-12)


def test_an_exactly_upright_pendulum_falls_unless_any_pose_will_do():
    eqs = robot(PENDULUM.replace("START", "180 deg"))
    found = equilibrium(eqs)
    assert (found.status, found.stable) == ("converged", True)
    assert np.cos(found.coordinates["hinge"]) == pytest.approx(1.0, abs=1e-12)
    assert "side on which 'hinge' grows" in found.remarks[0]
    upright = equilibrium(eqs, stability="any")
    assert (upright.status, upright.stable, upright.iterations) == ("converged", False, 0)
    assert upright.coordinates["hinge"] == pytest.approx(np.pi)
    assert "unstable" in upright.message
    assert upright.remarks == ()


def test_several_starts_find_both_poses_of_the_pendulum():
    found = equilibria(robot(PENDULUM.replace("START", "180 deg")), starts=12, seed=1, stability="any")
    assert [e.stable for e in found] == [True, False]


def test_a_body_that_only_falls_has_no_equilibrium():
    eqs = robot("bodies: {stone: {mass: 1 kg}}\njoints: {fall: {type: prismatic, child: stone, axis: z}}")
    with pytest.raises(AnalysisFailed, match=r"no equilibrium found.*'fall'.*no equilibrium") as failed:
        equilibrium(eqs)
    found = equilibrium(eqs, on_failure="return")
    assert found.status == failed.value.result.status == "failed"
    assert found.message == str(failed.value)


def test_a_body_in_a_weightless_world_is_neutral():
    eqs = robot("world: {gravity: [0, 0, 0]}\nbodies: {stone: {mass: 1 kg}}\njoints: {f: {type: free, child: stone}}")
    found = equilibrium(eqs)
    assert found.status == "converged"
    assert found.stable is None
    assert "neutral" in found.message


LOOP = """
bodies:
  left: {mass: 1 kg, center_of_mass: [0.5 m, 0, 0], frames: {tip: {position: [1 m, 0, 0]}}}
  right: {mass: 1 kg, center_of_mass: [-0.5 m, 0, 0], frames: {tip: {position: [-1 m, 0, 0]}}}
joints:
  a: {type: revolute, child: left, axis: y, angle: {initial: 20 deg}}
  b: {type: revolute, child: right, axis: y, position: [SPAN, 0, 0], angle: {initial: -20 deg}}
constraints:
  pin: {between: [left.tip, right.tip], components: COMPONENTS, expressed_in: world}
"""


def test_two_bars_sag_into_a_symmetric_v_with_the_horizontal_thrust_of_statics():
    text = LOOP.replace("SPAN", "1.6 m").replace("COMPONENTS", "[x, z]")
    found = equilibrium(robot(text))
    angle = np.arccos(0.8)
    assert found.status == "converged"
    assert found.coordinates["a"] == pytest.approx(angle, abs=1e-10)
    assert found.coordinates["b"] == pytest.approx(-angle, abs=1e-10)
    # each bar: weight at its middle, moment about its pivot balanced by the thrust at the pin
    thrust = found.multipliers[0]
    assert abs(thrust) == pytest.approx(9.81 * 0.5 * 0.8 / 0.6, rel=1e-9)
    assert found.multipliers[1] == pytest.approx(0.0, abs=1e-9)


def test_a_loop_that_cannot_close_is_refused_with_the_distance():
    with pytest.raises(AssemblyError, match=r"cannot be closed.*'pin\.x' stays 0\.[45]"):
        equilibrium(robot(LOOP.replace("SPAN", "2.5 m").replace("COMPONENTS", "[x, z]")))


def test_redundant_constraints_are_switched_off_and_named():
    found = equilibrium(robot(LOOP.replace("SPAN", "1.6 m").replace("COMPONENTS", "[x, y, z]")))
    assert found.status == "converged"
    assert "ineffective constraints switched off: pin.y" in found.remarks[0]


def test_a_tie_and_a_prescribed_motion_hold_in_equilibrium():
    eqs = robot("""
bodies: {one: {mass: 1 kg}, two: {mass: 1 kg}, three: {mass: 1 kg}}
joints:
  x: {type: prismatic, child: one, axis: x, displacement: {spring: {coefficient: 10, rest: 1 m}}}
  y: {type: prismatic, child: two, axis: x, displacement: {equal_to: {coordinate: x, ratio: 2, offset: 10 cm}, spring: 5}}
  z: {type: prismatic, child: three, axis: x, displacement: {motion: 30 cm}}
""")
    found = equilibrium(eqs)
    x, y, z = (found.coordinates[name] for name in "xyz")
    assert y == pytest.approx(2 * x + 0.1, abs=1e-12)
    assert z == pytest.approx(0.3, abs=1e-12)
    # minimum of 5 (x - 1)^2 + 2.5 y^2 along the tie
    assert 10 * (x - 1) + 2 * 5 * y == pytest.approx(0.0, abs=1e-9)


def test_a_snapping_arch_needs_load_steps_and_finds_them():
    """A shallow truss under a load beyond its limit point: the only equilibrium is on the far side."""
    eqs = robot("""
world: {gravity: [0, 0, 0]}
parameters: {load: 200 N}
bodies: {apex: {mass: 1 kg}}
joints: {rise: {type: prismatic, child: apex, axis: z, displacement: {initial: 0.2 m}}}
links: {bar: {type: axial, between: [{frame: world, position: [1 m, 0, 0]}, apex], spring: 20 kN/m}}
loads: {push: {frame: apex, force: [0, 0, =-load]}}
""")
    found = equilibrium(eqs)
    height = found.coordinates["rise"]
    rest = np.hypot(1, 0.2)
    length = np.hypot(1, height)
    assert found.status == "converged"
    assert height < -0.2
    assert 20e3 * (length - rest) * height / length == pytest.approx(-200, rel=1e-9)


def test_a_start_without_stiffness_does_not_spin_the_robot():
    # rods held out sideways have no stiffness along one direction; the step there must not be many turns long
    found = equilibrium(derive("double_pendulum"))
    assert found.status == "converged"
    assert found.stable
    np.testing.assert_allclose(found.q, 0, atol=2 * np.pi + 1e-6)
    np.testing.assert_allclose(found.outputs["tip"], [0, 0, -0.7], atol=1e-8)


def test_a_tip_moment_rolls_a_rod_into_a_circle():
    eqs = derive("cantilever")
    bending = 10e6 * np.pi / 4 * 0.01**4  # E I [N m^2]
    values = {"tip_moment": 2 * np.pi * bending, "stretch_factor": 1e3, "shear_factor": 1e3}
    found = equilibrium(eqs, parameters=values, stability="any")
    assert found.status == "converged"
    assert found.iterations < 12
    np.testing.assert_allclose(found.frames["rod.tip"].position, 0, atol=1e-6)


def test_forces_passed_on_the_way_do_not_excuse_an_imbalance():
    # from its start, held out sideways, the fabric is slack: Newton's steps throw it far away before it hangs
    found = equilibrium(derive("sleeve"), parameters={"grip": 0.0})
    assert found.status == "converged"
    assert found.stable
    assert found.residual < 1e-9
    assert found.outputs["arm"] == pytest.approx(-np.radians(85), abs=1e-9)  # arm and fabric hang straight down
    held = equilibrium(derive("sleeve"))  # by friction, a little aside
    assert abs(held.outputs["arm"] + np.radians(85)) < 0.02
    assert "friction supports the pose" in held.remarks[0]


def test_a_time_limit_ends_a_search():
    eqs = robot(HANGING)
    late = equilibrium(eqs, timeout=1e-9, on_failure="return")
    assert late.status == "failed"
    assert late.message.startswith("stopped by the time limit of 1e-09 s: no equilibrium found")
    with pytest.raises(AnalysisFailed, match="time limit"):
        equilibrium(eqs, timeout=1e-9)
    assert equilibrium(eqs, timeout=60).status == "converged"


def test_rates_of_prescribed_motions_are_not_part_of_an_equilibrium():
    """A pendulum on a turntable: at rest it hangs, but turning at 10 rad/s it would rise."""
    text = """
pliant: 1
bodies: {table: {mass: 1 kg, inertia: {principal: [0.1, 0.1, 0.1]}}, bob: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m]}}
joints:
  turn: {type: revolute, child: table, axis: z, angle: {motion: "=ROTATION"}}
  hinge: {type: revolute, parent: table, child: bob, axis: y, position: [0.2 m, 0, 0]}
"""
    turning = equilibrium(derive(load_text(text.replace("ROTATION", "10 rad/s*t"))))
    still = equilibrium(derive(load_text(text.replace("ROTATION", "0.3 rad"))))
    assert any("'turn' is driven at 10" in note for note in turning.remarks)
    assert not still.remarks


@pytest.mark.parametrize("analysis", ["equilibrium", "equilibria", "path"])
def test_results_are_saved_with_contacts_outputs_and_remarks(analysis, tmp_path):
    eqs = derive("gripper")
    if analysis == "equilibrium":
        found = equilibrium(eqs, inputs={"pressure": "=60 kPa/s*t"}, time=2.0)
    elif analysis == "equilibria":
        found = equilibria(eqs, starts=1, inputs={"pressure": 120e3})
    else:
        found = continuation(eqs, parameter="pressure", to=20e3)
    found.save(tmp_path / "found.nc")
    again = load_result(tmp_path / "found.nc")
    assert repr(again) == repr(found)
    assert again.remarks == found.remarks
    for name in found.variables():
        if name != "contacts":
            np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    np.testing.assert_array_equal(again.contacts.rows, found.contacts.rows)
    assert json.dumps(again.as_json(), default=np.ndarray.tolist)
