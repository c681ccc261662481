"""What joints, welds, rod bases and constraints carry: statics, inverse dynamics by hand, momentum, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pliant import SpecError, derive, equilibrium, linearize, load_text, simulate
from pliant.engine.outputs import evaluate_outputs
from pliant.engine.state import State

BEAM = """\
pliant: 1
sections: {round: {shape: circle, radius: 5 mm}}
materials: {gum: {density: 1000, youngs_modulus: 5 MPa, poissons_ratio: 0.4}}
bodies: {base: {mass: 1 kg, frames: {out: {position: [0.1 m, 0, 0]}}}, ball: {mass: 10 g}}
joints:
  mount: {type: weld, child: base, position: [0, 0, 1 m], rotation: {axis: z, angle: 30 deg}}
  grip: {type: weld, parent: arm.tip, child: ball}
rods:
  arm:
    {parent: base.out, rotation: {axis: y, angle: 90 deg}, length: 0.3 m, section: round, material: gum, model: MODEL}
loads:
  pull: {type: wrench, frame: arm.tip, force: [0.02 N, 0.03 N, 0.1 N]}
outputs:
  force: {reaction: arm, expressed_in: world}
  moment: {reaction: arm, quantity: moment, expressed_in: world}
  local: {reaction: arm}
  mount: {reaction: mount, quantity: wrench, expressed_in: world}
  grip: {reaction: grip, quantity: wrench, expressed_in: world}
  tip: {frame: arm.tip}
  foot: {frame: arm}
"""
MODELS = (
    "{kind: pcs, elements: 3}",
    "{kind: cosserat, elements: 4}",
    "{kind: finite_element, elements: 3}",
    "{kind: finite_element, elements: 3, mass: lumped}",
    "{kind: polynomial, order: 2}",
    "{kind: pseudo_rigid, elements: 4}",
    "{kind: pcc, sections: 3}",
    "{kind: timoshenko, elements: 2}",
)
PULL, BALL = np.array([0.02, 0.03, 0.1]), np.array([0, 0, -9.81 * 0.01])


@pytest.mark.parametrize("model", MODELS)
def test_a_beam_with_a_tip_load(model):
    """Force and moment at the base are those of statics, for every model of the rod; at the tip too."""
    text = BEAM.replace("MODEL", model)
    found = equilibrium(derive(load_text(text.replace("density: 1000", "density: 1e-9")))).outputs
    arm = np.array(found["tip"]) - found["foot"]
    np.testing.assert_allclose(found["force"], -(PULL + BALL), atol=1e-9)
    np.testing.assert_allclose(found["moment"], -np.cross(arm, PULL + BALL), atol=1e-9)
    np.testing.assert_allclose(found["grip"], [*-BALL, 0, 0, 0], atol=1e-9)
    turn = np.array([[0, 0, -1], [0, 1, 0], [1, 0, 0]]) @ _about_z(-np.pi / 6)
    np.testing.assert_allclose(found["local"], turn @ found["force"], atol=1e-9)
    weight = np.array([0, 0, -9.81])
    carried = np.array(found["force"]) - weight
    np.testing.assert_allclose(found["mount"][:3], carried, atol=1e-9)
    out = np.array(found["foot"]) - [0, 0, 1]
    np.testing.assert_allclose(found["mount"][3:], found["moment"] + np.cross(out, found["force"]), atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_the_base_carries_all_of_a_rods_weight(model):
    found = equilibrium(derive(load_text(BEAM.replace("MODEL", model)))).outputs
    weight = np.array([0, 0, -9.81 * 1000 * np.pi * 0.005**2 * 0.3])
    np.testing.assert_allclose(found["force"], -(PULL + BALL + weight), atol=1e-9)


def _about_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


PENDULUM = """\
pliant: 1
bodies:
  upper:
    {mass: 2 kg, center_of_mass: [0.3 m, 0, 0], inertia: {principal: [1e-2, 2e-2, 3e-2]}, frames: {end: {position: [0.7 m, 0, 0]}}}
  lower: {mass: 1 kg, center_of_mass: [0.4 m, 0, 0], inertia: {principal: [0.01, 0.05, 0.05]}}
joints:
  first: {type: revolute, child: upper, axis: y, angle: {initial: 0.4, rate: 1.3, spring: 2, damper: 0.3}}
  second: {type: revolute, parent: upper.end, child: lower, axis: y, angle: {initial: -0.9, rate: 2.1}}
outputs:
  top: {reaction: first, expressed_in: world}
  top_moment: {reaction: first, quantity: moment}
  middle: {reaction: second, expressed_in: world}
  middle_moment: {reaction: second, quantity: moment, component: y}
  reach: {frame: lower, quantity: acceleration}
"""


def test_a_double_pendulum_by_hand():
    """Newton for each mass, with accelerations of the centres by hand; the springs' moment is carried along the free axis."""
    eqs = derive(load_text(PENDULUM))
    run = simulate(eqs, 1.0, save_every=0.1)
    (p1, p2), (w1, w2) = run.q.T, run.v.T
    a1, a2 = run.dataset["a"].values.T
    angle, rate, turn = p1 + p2, w1 + w2, a1 + a2

    def along(a: Any, w: Any, t: Any, length: float) -> np.ndarray:
        # the acceleration of a point at a distance: a turn about y leads from x to -z
        centre = np.stack([np.cos(a), 0 * a, -np.sin(a)], axis=1)
        across = np.stack([-np.sin(a), 0 * a, -np.cos(a)], axis=1)
        return length * (t[:, None] * across - (w**2)[:, None] * centre)

    gravity = np.array([0, 0, -9.81])
    elbow = along(p1, w1, a1, 0.7)
    lower = 1.0 * (elbow + along(angle, rate, turn, 0.4) - gravity)
    upper = 2.0 * (along(p1, w1, a1, 0.3) - gravity)
    np.testing.assert_allclose(run["middle"].values, lower, atol=1e-9)
    np.testing.assert_allclose(run["top"].values, lower + upper, atol=1e-9)
    np.testing.assert_allclose(run["middle_moment"].values, 0, atol=1e-9)
    np.testing.assert_allclose(run["top_moment"].values[:, 1], -2 * p1 - 0.3 * w1, atol=1e-9)
    np.testing.assert_allclose(run["reach"].values, elbow, atol=1e-9)


ROBOT = """\
pliant: 1
parameters: {push: {value: 0.1 N, input: true}}
sections: {round: {shape: circle, radius: 5 mm}}
materials: {gum: {density: 1000, youngs_modulus: 5 MPa, poissons_ratio: 0.4}}
bodies:
  base: {mass: 1 kg, center_of_mass: [0.05 m, 0, 0], frames: {out: {position: [0.1 m, 0, 0]}}}
  ball: {mass: 10 g}
  floater: {mass: 0.2 kg, inertia: {principal: [2e-4, 3e-4, 4e-4]}}
joints:
  hinge: {type: revolute, child: base, axis: z, position: [0, 0, 1 m], angle: {spring: 3, damper: 0.1, rate: 2}}
  grip: {type: weld, parent: arm.tip, child: ball}
  float: {type: free, child: floater, x: {initial: 0.5 m}}
rods:
  arm: {parent: base.out, rotation: {axis: y, angle: 90 deg}, length: 0.3 m, section: round, material: gum, model: MODEL}
tendons:
  line: {type: elastic, stiffness: 20, rest: 0.3 m, through: [{frame: base, position: [0, 2 cm, 0]}, arm.tip]}
links:
  rope: {type: axial, between: [floater, ball], spring: {coefficient: 5, rest: 0.9 m}, damper: 0.2}
  moor: {type: axial, between: [floater, world], spring: {coefficient: 9, rest: 0.2 m}}
constraints:
  pin: {between: [{frame: world, position: [0.4 m, 0, 1 m]}, ball], components: [z], expressed_in: world}
loads:
  pull: {type: wrench, frame: arm.tip, force: [0.02 N, =push, 0.1 N]}
outputs:
  foot: {reaction: arm}
  axis: {reaction: hinge, quantity: wrench, expressed_in: arm.tip}
  grip: {reaction: grip, quantity: moment}
  held: {reaction: pin, quantity: wrench}
  pin: {constraint: pin}
  ground: {reaction: hinge, expressed_in: world}
  anchor: {link: moor}
  afloat: {frame: floater}
  stored: {energy: elastic, part: arm}
  stretched: {energy: elastic, part: line}
  roped: {energy: elastic, part: rope}
  moored: {energy: elastic, part: moor}
  wound: {energy: elastic, part: hinge}
  whirl: {energy: total, part: base}
  dance: {energy: total, part: ball}
  swim: {energy: total, part: floater}
  flow: {energy: kinetic, part: arm}
  height: {energy: gravity, part: arm}
  all: {energy: total}
"""


@pytest.fixture(scope="module", params=["{kind: pcs, elements: 2}", "{kind: finite_element, elements: 2}"])
def robot(request):
    return derive(load_text(ROBOT.replace("MODEL", request.param)))


@pytest.mark.parametrize("model", ["{kind: pcs, elements: 2}", "{kind: cosserat, elements: 2}"])
def test_ground_reactions_change_the_momentum(model):
    """What acts on the robot from outside adds up to the rate of its momentum, a difference along the motion."""
    eqs = derive(load_text(ROBOT.replace("MODEL", model)))
    masses, bound = eqs.model.system.masses, eqs.binding
    run = simulate(eqs, 0.11, rtol=1e-6)
    q, v = run.q[-1], run.v[-1]
    a, multipliers = bound.forward(0.11, q, v)
    found = evaluate_outputs(eqs.model, bound, 0.11, q, v, a, multipliers, 0.0)

    def momentum(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        (rotations, positions), twists = bound.node_poses(q), bound.node_twists(q, v)
        total = np.zeros(3)
        for node, at in masses.items():
            c = bound.constants[at : at + 10]
            first = c[0] * positions[node] + rotations[node] @ c[1:4]
            total += c[0] * twists[node][:3] + np.cross(twists[node][3:], first)
        return total

    h = 1e-6
    after, before = (momentum(bound.increment(q, s * h * v), v + s * h * a) for s in (1, -1))
    mass = sum(bound.constants[at] for at in masses.values())
    place = np.array(found["afloat"])
    moor = -found["anchor"] * place / np.linalg.norm(place)
    outside = np.array(found["ground"]) + [0, 0, found["pin"]] + moor + [0.02, 0.1, 0.1 - 9.81 * mass]
    np.testing.assert_allclose(outside, (after - before) / (2 * h), atol=1e-7)
    assert np.abs(outside).max() > 0.1


def test_constraint_reactions_are_its_multipliers(robot):
    run = simulate(robot, 0.1, save_every=0.05)
    np.testing.assert_allclose(run["held"].values[:, 2], run["pin"].values, atol=1e-12)
    np.testing.assert_allclose(run["held"].values[:, [0, 1, 3, 4, 5]], 0, atol=1e-12)


def test_energies_of_parts_add_up(robot):
    run = simulate(robot, 0.2, save_every=0.05)
    names = ("stored", "stretched", "roped", "moored", "wound", "whirl", "dance", "swim", "flow", "height")
    total = sum(run[name].values for name in names)
    difference = run["all"].values - total
    np.testing.assert_allclose(difference, difference[0], atol=1e-12)
    assert abs(difference[0]) < 1e-12
    assert all(np.ptp(run[name].values) > 1e-9 for name in names)


def test_derivatives(robot):
    """C and D of the linear system against differences of outputs, in a moving state on the constraint."""
    bound = robot.binding
    random = np.random.default_rng(1)
    q, v = bound.project(0.0, robot.initial_state().q, 0.3 * random.standard_normal(bound.nv))
    space = linearize(robot, at=State(q, v, 0.0))
    chosen = [robot.rates.index(name) for name in space.independent]
    names = [name for name in robot.model.spec.outputs if name != "all"]

    def outputs(q: np.ndarray, v: np.ndarray, push: float = 0.1) -> np.ndarray:
        bound = robot.at(inputs={"push": push}).binding
        found = evaluate_outputs(robot.model, bound, 0.0, q, v, *bound.forward(0.0, q, v), 0.0)
        return np.concatenate([np.ravel(found[name]) for name in names])

    rest = [i for i in range(bound.nv) if i not in chosen]

    def moved(y: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, rates = np.zeros(bound.nv), np.zeros(bound.nv)
        x[chosen], rates[chosen] = y, v[chosen] + r
        for _ in range(8):
            value, _, _, J = bound.constraints(0.0, bound.increment(q, x), v)
            x[rest] -= np.linalg.lstsq(J.toarray()[:, rest], value, rcond=None)[0]
        J = bound.constraints(0.0, bound.increment(q, x), v)[3].toarray()
        rates[rest] = -np.linalg.lstsq(J[:, rest], J[:, chosen] @ rates[chosen], rcond=None)[0]
        return bound.increment(q, x), rates

    h, n = 1e-5, len(chosen)
    way = random.standard_normal(2 * n)
    for step in (way * (np.arange(2 * n) < n), way * (np.arange(2 * n) >= n)):
        up, down = (outputs(*moved(s * h * step[:n], s * h * step[n:])) for s in (1, -1))
        expected = (up - down) / (2 * h)
        np.testing.assert_allclose(space.C @ step, expected, atol=2e-5 * np.abs(expected).max())
    expected = (outputs(q, v, 0.1 + h) - outputs(q, v, 0.1 - h)) / (2 * h)
    np.testing.assert_allclose(space.D[:, 0], expected, atol=1e-8)


def test_models_that_are_attached(tmp_path):
    """Their outputs are included, and the weld that holds them can be used."""
    (tmp_path / "leg.yaml").write_text(PENDULUM)
    text = """\
pliant: 1
attach:
  left: {model: leg.yaml, to: world}
  right: {model: leg.yaml, to: world, position: [0, 1 m, 0]}
outputs:
  mount: {reaction: left/world, expressed_in: world}
  both: {expression: "=`left/top.z` + `right/top.z`"}
"""
    (tmp_path / "pair.yaml").write_text(text)
    from pliant import load

    run = simulate(derive(load(tmp_path / "pair.yaml")), 0.2, save_every=0.1)
    np.testing.assert_allclose(run["mount"].values, run["left/top"].values, atol=1e-9)
    np.testing.assert_allclose(run["both"].values, 2 * run["left/top"].values[:, 2], rtol=1e-9)


def test_superfluous_constraints_are_told():
    pin = "{between: [{frame: world, position: [0.4 m, 0, 1 m]}, ball], components: [z], expressed_in: world}"
    one = BEAM.replace("MODEL", "{kind: pcs, elements: 3}") + f"constraints:\n  pin: {pin}\n"
    said = [equilibrium(derive(load_text(text))).remarks for text in (one, one + f"  again: {pin}\n")]
    assert not any("redundant constraints" in note for note in said[0])
    assert any("redundant constraints" in note and "force, moment" in note for note in said[1])


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("{reaction: hing}", "there is no joint, rod or constraint 'hing'.*did you mean 'hinge'"),
        ("{reaction: hinge, of: rod}", "'hinge' is a joint, not a rod"),
        ("{reaction: hinge, quantity: wrench, component: x}", "choose the quantity `force` or `moment`"),
        ("{reaction: hinge, expressed_in: bse}", "there is no frame 'bse'"),
        ("{reaction: rope}", "there is no joint, rod or constraint 'rope'"),
        ("{energy: elastic}", "the elastic energy is available for parts only"),
        ("{energy: elastic, part: base}", "the body 'base' is rigid"),
        ("{energy: kinetic, part: rope}", "the link 'rope' has no mass"),
        ("{energy: dissipated, part: arm}", "available for the entire robot only"),
    ],
)
def test_what_a_part_does_not_have_is_refused(output, message):
    with pytest.raises(SpecError, match=message):
        load_text(ROBOT.replace("MODEL", "pcs") + f"  wrong: {output}\n")


BRANCHES = """\
pliant: 1
sections: {round: {shape: circle, radius: 5 mm}}
materials: {gum: {density: 1000, youngs_modulus: 5 MPa, poissons_ratio: 0.4}}
bodies:
  base: {mass: 1 kg, center_of_mass: [0.05 m, 0, 0]}
  fork: {mass: 0.1 kg}
  ball: {mass: 10 g}
  bob: {mass: 20 g, center_of_mass: [5 cm, 0, 0]}
joints:
  hinge: {type: universal, child: base}
  neck: {type: weld, parent: base, child: fork, position: [0.1 m, 0, 0]}
  grip: {type: weld, parent: arm.tip, child: ball}
  swing: {type: revolute, parent: ball, child: bob, axis: y, position: [0, 0, 0.1 m]}
rods:
  arm: {parent: fork, rotation: {axis: y, angle: 90 deg}, length: 0.3 m, section: round, material: gum, model: MODEL}
  tail: {parent: fork, length: 0.2 m, section: round, material: gum, model: {kind: pcc}}
tendons:
  line: {type: elastic, stiffness: 20, rest: 0.2 m, through: [base, fork, arm.tip]}
"""
CUTS = "outputs:\n" + "".join(
    f"  r{k}: {{reaction: {name}}}\n" for k, name in enumerate(("neck", "grip", "arm", "tail", "swing", "hinge"))
)


@pytest.mark.parametrize("model", ["{kind: pcs, elements: 2}", "{kind: cosserat, elements: 2}"])
def test_counting_apart_changes_nothing(model):
    """Frames without coordinates, by which welds and rod bases are counted, leave all equations and derivatives as they are."""
    text = BRANCHES.replace("MODEL", model)
    plain, counted = (derive(load_text(given)).binding for given in (text, text + CUTS))
    assert len(counted.system.elements) == len(plain.system.elements) + 4
    random = np.random.default_rng(2)
    start = derive(load_text(text)).initial_state().q
    q = plain.increment(start, 0.2 * random.standard_normal(plain.nv))
    v, a = random.standard_normal((2, plain.nv))
    for one, two in zip(plain.forward(0.0, q, v), counted.forward(0.0, q, v), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-9)
    for one, two in zip(plain.forward_derivatives(0.0, q, v), counted.forward_derivatives(0.0, q, v), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-8, atol=1e-8 * np.abs(one).max())
    here, there = (bound.linearized(0.0, q, v, a, np.zeros(0)) for bound in (plain, counted))
    for name in ("stiffness", "damping", "mass"):
        one, two = getattr(here, name).toarray(), getattr(there, name).toarray()
        np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-10 * np.abs(one).max())


def test_a_rod_in_a_plane_that_is_put_somewhere_by_name():
    text = BEAM.replace("MODEL", "{kind: finite_element, elements: 2}, strains: planar_xz").replace(
        "angle: 30 deg", "angle: 0 deg"
    )
    text = text.replace("0.03 N", "0 N")
    rests = []
    for given in (text, text.partition("outputs:")[0]):
        eqs = derive(load_text(given))
        rests.append(equilibrium(eqs, start={"arm.section[1].x": -0.01}).q)
    np.testing.assert_allclose(rests[0], rests[1], atol=1e-9)


def test_a_weld_of_a_robot_with_one_rate():
    """A single entry is a scalar to CasADi, so that parts without any need care."""
    text = """\
pliant: 1
bodies: {bar: {mass: 1 kg, center_of_mass: [0.2 m, 0, 0]}, eye: {mass: 0.3 kg}}
joints:
  hinge: {type: revolute, child: bar, axis: y, angle: {spring: 3}}
  glue: {type: weld, parent: bar, child: eye, position: [0.4 m, 0, 0]}
outputs: {held: {reaction: glue, expressed_in: world}}
"""
    eqs = derive(load_text(text))
    np.testing.assert_allclose(equilibrium(eqs).outputs["held"], [0, 0, 0.3 * 9.81], atol=1e-12)
    run = simulate(eqs, 0.2)
    # on a circle about the hinge: what holds the eye is its mass times its acceleration, and its weight
    angle, rate, turning = run.q[:, 0], run.v[:, 0], run.dataset["a"].values[:, 0]
    out, down = (
        np.stack(x, axis=1)
        for x in ((np.cos(angle), 0 * angle, -np.sin(angle)), (-np.sin(angle), 0 * angle, -np.cos(angle)))
    )
    expected = 0.3 * (0.4 * (turning[:, None] * down - rate[:, None] ** 2 * out) + [0, 0, 9.81])
    np.testing.assert_allclose(run["held"].values, expected, atol=1e-12)
    assert eqs.text().startswith("Equations of motion")
