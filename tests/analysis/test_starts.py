"""Initial states: carried nodes move with their carriers, motions set their coordinates, specified values are kept or reported."""

import numpy as np
import pytest

import pliant
from pliant import State, derive, equilibrium, load, load_text, simulate
from pliant.analysis.numerics.state import assemble

KINDS = ("pcs", "finite_element", "cosserat", "pcc", "pseudo_rigid", "polynomial", "timoshenko")
MASS, LENGTH, RADIUS, BODY = 1000 * np.pi * 0.01**2 * 0.4, 0.4, 0.01, 0.3

CARRIED = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {wire: {shape: circle, radius: 1 cm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
bodies: {base: {mass: 0.3 kg, inertia: {principal: [1e-3, 1e-3, 1e-3]}}}
joints: {move: {type: JOINT, child: base, HOW}}
rods: {rod: {parent: base, length: 0.4 m, section: wire, material: rubber, model: {kind: KIND}}}
"""


def carried(kind, joint, how):
    kind, _, strains = kind.partition(" as ")
    text = CARRIED.replace("JOINT", joint).replace("HOW", how)
    return derive(load_text(text.replace("KIND", kind).replace("model:", f"strains: {strains or 'null'}, model:")))


def started(eqs, start="initial"):
    """State at the start of a run, its warnings, and its kinetic and potential energy [J]."""
    run = simulate(eqs, 1e-6, start=start, method="explicit", step=1e-6, save_at=[0.0])
    return run.q[0], run.v[0], run.remarks, run.energy["kinetic"].values[0], run.energy["potential"].values[0]


# -- rates -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["rate: 1 m/s", 'motion: "=1 m/s*t"', 'motion: "=sin(1 rad/s*t) * 1 m"'])
@pytest.mark.parametrize("kind", [*KINDS, "finite_element as planar_xz", "finite_element, mass: lumped"])
def test_a_rod_starts_with_the_speed_of_its_base(kind, how):
    eqs = carried(kind, "prismatic", f"axis: x, displacement: {{{how}}}")
    state = eqs.initial_state()
    assert eqs.energy(state).kinetic == pytest.approx(0.5 * (BODY + MASS), rel=1e-12)
    q, v, warnings, kinetic, _ = started(eqs)
    assert warnings == ()
    assert kinetic == pytest.approx(0.5 * (BODY + MASS), rel=1e-9)
    assert eqs.frame("rod.tip", q, v).velocity == pytest.approx([1, 0, 0], abs=1e-9)


@pytest.mark.parametrize("how", ["initial: 0.3 rad, rate: 2 rad/s", 'motion: "=0.3 + 2 rad/s*t"'])
@pytest.mark.parametrize("kind", ["pcs", "finite_element", "cosserat", "finite_element as planar_yz"])
def test_a_rod_starts_with_the_turn_of_its_base(kind, how):
    eqs = carried(kind, "revolute", f"axis: x, angle: {{{how}}}")
    q, v, warnings, kinetic, potential = started(eqs)
    inertia = 1e-3 + MASS * (LENGTH**2 / 3 + RADIUS**2 / 4)
    # lumped masses and their pieces have more or less of it, by the square of their length
    assert kinetic == pytest.approx(0.5 * inertia * 2**2, rel=1e-3)
    assert potential == pytest.approx(0, abs=1e-12)
    tip = eqs.frame("rod.tip", q, v)
    assert tip.position == pytest.approx([0, -LENGTH * np.sin(0.3), LENGTH * np.cos(0.3)], abs=1e-12)
    assert tip.velocity == pytest.approx(np.cross([2, 0, 0], tip.position), abs=1e-9)
    assert warnings == ()


MESH = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {strip: {shape: rectangle, width: 10 mm, height: 1 mm}}
materials: {metal: {density: 1000 kg/m^3, youngs_modulus: 1 GPa, poissons_ratio: 0.3}}
bodies: {ring: {mass: 1 kg, inertia: {principal: [0.1, 0.1, 0.1]}, frames: {top: {position: [0, 0, 20 cm]}}}}
joints: {spin: {type: revolute, child: ring, axis: z, angle: {initial: 20 deg, rate: 3 rad/s}}}
meshes:
  net:
    type: TYPE
    PARENT
    drawing: {rectangle: [30 cm, 20 cm], cells: [3, 2]}
    sets: {edge: {nodes: [1, 4]}}
    held: {edge: ring.top}
    section: strip
    material: metal
"""


@pytest.mark.parametrize("parent", ["parent: ring", "ends: free"])
@pytest.mark.parametrize("kind", ["membrane", "shell"])
def test_the_nodes_of_a_mesh_start_with_what_holds_them(kind, parent):
    eqs = derive(load_text(MESH.replace("TYPE", kind).replace("PARENT", parent)))
    for start, rate in (("initial", 3.0), ({"spin": 1.0, "d(spin)/dt": -2.0}, -2.0)):
        q, v, _, _, potential = started(eqs, start)
        assert potential == pytest.approx(0, abs=1e-12)
        for name in ("net.n2", "net.n7", "net.n12"):
            frame = eqs.frame(name, q, v)
            assert frame.velocity == pytest.approx(np.cross([0, 0, rate], frame.position), abs=1e-12)


# -- positions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["finite_element", "cosserat", "finite_element as planar_yz"])
def test_a_start_by_name_takes_along_what_is_carried(kind):
    eqs = carried(kind, "revolute", "axis: x, angle: {initial: 0.3 rad}")
    state = eqs.state({"move": 2.0, "d(move)/dt": 1.5})
    assert eqs.energy(state).potential == pytest.approx(0, abs=1e-20)
    tip = eqs.frame("rod.tip", state)
    assert tip.position == pytest.approx([0, -LENGTH * np.sin(2), LENGTH * np.cos(2)], abs=1e-12)
    assert tip.velocity == pytest.approx(np.cross([1.5, 0, 0], tip.position), abs=1e-12)


def test_what_is_given_of_a_carried_section_stays():
    eqs = carried("cosserat", "prismatic", "axis: x, displacement: {}")
    plain = eqs.state({"move": 0.1})
    state = eqs.state({"move": 0.1, "rod.section[10].y": 0.02, "d(rod.section[10].x)/dt": 4.0})
    q = dict(zip(eqs.coordinates, state.q, strict=True))
    assert q["rod.section[10].x"] == pytest.approx(0.1)
    assert q["rod.section[10].y"] == 0.02
    assert state.v[eqs.rates.index("rod.section[10].x")] == 4.0
    assert state.v[eqs.rates.index("rod.section[9].x")] == 0.0
    assert np.count_nonzero(state.q != plain.q) == 1


def test_a_rod_on_a_rod_on_a_moving_base_goes_along():
    text = (
        CARRIED.replace("JOINT", "revolute")
        .replace("HOW", "axis: y, angle: {}")
        .replace("KIND", "finite_element, elements: 3")
    )
    second = "{parent: rod.tip, rotation: {axis: x, angle: 40 deg}, length: 20 cm, section: wire, material: rubber, "
    second += "model: {kind: cosserat, elements: 4}}"
    text = text.rstrip().removesuffix("}") + f", second: {second}}}\n"
    eqs = derive(load_text(text))
    state = eqs.state({"move": 1.2, "d(move)/dt": 2.0})
    assert eqs.energy(state).potential == pytest.approx(0, abs=1e-20)
    tip = eqs.frame("second.tip", state)
    assert tip.velocity == pytest.approx(np.cross([0, 2, 0], tip.position), abs=1e-12)
    assert np.linalg.norm(tip.position) == pytest.approx(
        np.hypot(0.4 + 0.2 * np.cos(np.radians(40)), 0.2 * np.sin(np.radians(40)))
    )


def test_a_motion_sets_its_coordinate_and_no_other():
    """Joint angles of a swimmer are prescribed, and are not zero at the start."""
    text = """
pliant: 1
defaults: {bodies: {mass: 1 kg, shape: {type: box, size: [20 cm, 2 cm, 2 cm]}}}
bodies: {a: {}, b: {}}
joints:
  root: {type: planar, child: a}
  bend: {type: revolute, parent: a, child: b, axis: z, position: [10 cm, 0, 0], angle: {motion: "=0.7 + 3 rad/s*t"}}
"""
    eqs = derive(load_text(text))
    q, v, warnings, _, _ = started(eqs)
    assert q == pytest.approx([0, 0, 0, 0.7], abs=1e-15)
    assert v == pytest.approx([0, 0, 0, 3], abs=1e-15)
    assert warnings == ()
    late = eqs.initial_state(t=0.1)
    assert late.q[-1] == pytest.approx(1.0)
    # a value that contradicts the motion is reported
    _, _, (note,), _, _ = started(eqs, {"bend": 0.1})
    assert "requested values" in note
    assert "bend from 0.1 to 0.7" in note


def test_a_spring_that_is_free_as_at_start_is_free_where_its_motion_starts():
    text = """
pliant: 1
parameters: {way: 20 cm, drive: {value: 5 cm, input: true}}
bodies: {a: {mass: 1 kg}, b: {mass: 1 kg}}
joints:
  one: {type: prismatic, child: a, axis: x, displacement: {motion: "=way + drive + 1 m/s*t"}}
  two: {type: prismatic, child: b, axis: x, displacement: {initial: 1 m}}
links: {spring: {type: axial, between: [a, b], spring: {coefficient: 100 N/m, rest: as at start}}}
"""
    eqs = derive(load_text(text))
    _, _, warnings, _, potential = started(eqs)
    assert potential == pytest.approx(0, abs=1e-20)
    assert warnings == ()
    other = eqs.initial_state({"way": 0.5})
    assert other.q.tolist() == [0.55, 1.0]
    assert other.v.tolist() == [1.0, 0.0]
    assert eqs.at(inputs={"drive": 0.1}).initial_state().q[0] == pytest.approx(0.3)


def test_a_frame_that_is_driven_takes_its_rod_along():
    """A body on a free joint follows a prescribed frame; the sections of the rod on it have their own poses."""
    text = CARRIED.replace("JOINT", "free").replace("HOW", "z: {}").replace("KIND", "finite_element")
    text += """
constraints:
  drive: {between: [world, base], components: all, position: ["=0.1 m + 2 m/s*t", 0, 0, 0, 0, "=0.3 + 1 rad/s*t"]}
"""
    eqs = derive(load_text(text))
    q, v, _, kinetic, potential = started(eqs)
    assert potential == pytest.approx(0, abs=1e-12)
    spin = 0.5 * (1e-3 + MASS * RADIUS**2 / 2)
    assert kinetic == pytest.approx(0.5 * (BODY + MASS) * 4 + spin, rel=1e-9)
    tip = eqs.frame("rod.tip", q, v)
    assert tip.position == pytest.approx([0.1, 0, LENGTH], abs=1e-9)
    assert tip.velocity == pytest.approx([2, 0, 0], abs=1e-8)
    assert tip.angular_velocity == pytest.approx([0, 0, 1], abs=1e-8)


def test_a_bent_rod_at_rest_on_a_base_that_is_driven_starts_as_one():
    text = CARRIED.replace("gravity: [0, 0, 0]", "gravity: [0, 9.81, 0]").replace("JOINT", "prismatic")
    text = text.replace("HOW", 'axis: x, displacement: {motion: "=0.5 m/s*t"}').replace("KIND", "finite_element")
    eqs = derive(load_text(text))
    rest = equilibrium(eqs)
    q, v, _, kinetic, _ = started(eqs, rest)
    assert q == pytest.approx(rest.q, abs=1e-15)
    assert kinetic == pytest.approx(0.5 * (BODY + MASS) * 0.25, rel=1e-9)
    assert eqs.frame("rod.tip", q, v).velocity == pytest.approx([0.5, 0, 0], abs=1e-9)


# -- loops -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def four_bar():
    return derive(load("four_bar"))


def test_what_was_asked_for_stays_while_loops_close(four_bar):
    q, v, warnings, _, _ = started(four_bar, {"q1": 0.2, "d(q1)/dt": 1.0})
    assert q[0] == 0.2
    assert v[0] == 1.0
    terms = four_bar.constraints(q, v)
    assert np.abs(terms.value).max() < 1e-11
    assert np.abs(terms.rate).max() < 1e-11
    assert any("values of the model" in note and "q2 from 1.777 to 1.599" in note for note in warnings)
    assert any("violated the constraints by 0.0976" in note and "d(q2)/dt from 0 to" in note for note in warnings)


def test_what_cannot_be_kept_is_said(four_bar):
    q, v, warnings, _, _ = started(four_bar, {"q1": 0.2, "q2": 0.5, "d(q1)/dt": 1.0, "d(q2)/dt": 7.0})
    assert np.abs(four_bar.constraints(q, v).value).max() < 1e-11
    note = next(note for note in warnings if "requested values" in note)
    for name, value in (("q1", q[0]), ("q2", q[1]), ("d(q1)/dt", v[0]), ("d(q2)/dt", v[1])):
        assert f"{name} from" in note
        assert f"to {value:.4g}" in note


def test_rods_keep_their_shape_where_joints_can_give_way():
    """The coupler of a four-bar is soft: its other joints adapt to the requested one, and it stays straight."""
    eqs = derive(load("flexible_four_bar"))
    stiff = started(derive(load("four_bar")), {"q1": 0.2})[0]
    q, _, _, _, _ = started(eqs, {"q1": 0.2})
    found = dict(zip(eqs.coordinates, q, strict=True))
    assert [found[name] for name in ("q1", "elbow", "q3")] == pytest.approx(stiff, abs=1e-9)


def test_given_positions_and_rates_in_a_tie_are_kept():
    text = """
pliant: 1
bodies: {a: {mass: 1 kg}, b: {mass: 100 kg}}
joints:
  one: {type: prismatic, child: a, axis: x, displacement: {equal_to: {coordinate: two, ratio: 2, offset: 1 cm}}}
  two: {type: prismatic, child: b, axis: x, displacement: {}}
"""
    eqs = derive(load_text(text))
    q, v, _, _, _ = started(eqs, {"one": 0.11, "d(one)/dt": 3.0})
    assert q == pytest.approx([0.11, 0.05], abs=1e-12)
    assert v == pytest.approx([3.0, 1.5], abs=1e-12)
    q, v, _, _, _ = started(eqs, {"two": 0.2, "d(two)/dt": 1.0})
    assert q == pytest.approx([0.41, 0.2], abs=1e-12)
    assert v == pytest.approx([2.0, 1.0], abs=1e-12)


def test_a_state_that_is_closed_stays_as_it_is(four_bar):
    state = four_bar.initial_state()
    made = assemble(four_bar, four_bar.binding, 0.0, state.q, state.v, state.given)
    assert np.array_equal(made.q, state.q)
    assert np.array_equal(made.v, state.v)
    assert made.remarks == ()


# -- constraints without effect -------------------------------------------------------------------------------------

SWINGING = """
pliant: 1
bodies: {top: {mass: 0.2 g, center_of_mass: [-0.4, -0.3, 0.4], shape: {type: cylinder, radius: 0.3, length: 1.5}}}
joints: {ball: {type: spherical, child: top, position: [-0.34, -0.83, 0.59], orientation: {initial: {axis: x, angle: 0.59}}}}
"""
HELD_AT_ITS_PIVOT = """
constraints:
  idle: {between: [{frame: world, position: [-0.18, 0.44, 0.81], rotation: {axis: x, angle: 0.6}}, top], components: [z],
         holds: as at start}
"""


def test_a_constraint_on_a_point_that_cannot_move_holds_nothing():
    """Its Jacobian is round-off, which once held the whole body in its place."""
    free = simulate(derive(load_text(SWINGING)), 0.3)
    held = simulate(derive(load_text(SWINGING + HELD_AT_ITS_PIVOT)), 0.3)
    assert held.remarks == ("ineffective constraints switched off: idle.z (no coordinate affects them)",)
    assert held.q == pytest.approx(free.q, abs=1e-9)
    assert np.ptp(free.q, axis=0).max() > 0.1


def test_a_constraint_between_things_that_are_fixed_holds_nothing():
    text = SWINGING.replace("bodies: {", "bodies: {post: {mass: 1 kg}, ").replace(
        "joints: {", "joints: {fix: {type: weld, child: post}, "
    )
    held = simulate(derive(load_text(text + HELD_AT_ITS_PIVOT.replace("top]", "post]").replace("[z]", "[x, rz]"))), 0.3)
    assert "ineffective constraints switched off: idle.x, idle.rz" in held.remarks[0]
    assert held.q == pytest.approx(simulate(derive(load_text(SWINGING)), 0.3).q, abs=1e-9)


def test_a_start_in_a_singular_pose_says_that_a_constraint_does_not_hold_later():
    """At the dead centre the slider's guide holds nothing that the bars do not, and the motion leaves it."""
    text = """
pliant: 1
bodies:
  crank: {mass: 1 kg, center_of_mass: [0.5, 0, 0], shape: {type: box, size: [1, 0.1, 0.1]}, frames: {tip: {position: [1, 0, 0]}}}
joints: {pivot: {type: revolute, child: crank, axis: y, angle: {rate: 1 rad/s}}}
constraints: {wall: {between: [{frame: world, position: [1, 0, 0]}, crank.tip], components: [x]}}
"""
    run = simulate(derive(load_text(text)), 0.2)
    assert "ineffective constraints switched off: wall.x" in run.remarks[0]
    (said,) = [note for note in run.remarks if "are violated during the motion" in note]
    gap = 1 - np.cos(run.q[:, 0]).min()
    assert f"wall.x by {gap:.3g}" in said


# -- numbers that cannot be computed with ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"hinge": 1e200}, "start.hinge: the value is too large"),
        ({"d(hinge)/dt": -1e200}, r"start.d\(hinge\)/dt: the value is too large"),
        ({"hinge": float("nan")}, "start.hinge: expected a finite number"),
        ([float("inf")], "not finite"),
        ([1e300], "the start of 'hinge'"),
    ],
)
def test_starts_beyond_all_numbers_are_refused(start, message):
    with pytest.raises(pliant.ArgumentError, match=message):
        simulate(derive("pendulum"), 0.1, start=start)


def test_an_initial_value_beyond_all_numbers_is_a_fault():
    text = """
pliant: 1
bodies: {m: {mass: 1 kg}}
joints: {x: {type: prismatic, child: m, axis: x, displacement: {initial: 1e200 m, spring: 100 N/m}}}
"""
    with pytest.raises(pliant.SpecError, match="too large to compute with"):
        load_text(text)


def test_rates_that_contradict_the_constraints_are_said():
    eqs = derive("four_bar")
    q = eqs.initial_state().q
    (note,) = simulate(eqs, 0.01, start=State(q, np.array([1.0, 0.0, 0.0]))).remarks
    assert note.startswith("the rates of the start contradict the constraints and were changed: d(q2)/dt from 0 to")
    allowed = simulate(eqs, 0.01, start={"d(q1)/dt": 1.0}).final
    assert simulate(eqs, 0.01, start={"d(q1)/dt": 1.0}).remarks == ()
    assert simulate(eqs, 0.01, start=allowed).remarks == ()


@pytest.mark.parametrize("multipliers", [np.zeros(1), np.zeros(7), np.array([1.0, np.nan])])
def test_multipliers_of_a_start_have_the_size_of_the_constraints(multipliers):
    eqs = derive("four_bar")
    state = eqs.initial_state()
    with pytest.raises(ValueError, match="multipliers of start"):
        simulate(eqs, 0.01, start=State(state.q, state.v, 0.0, multipliers))
