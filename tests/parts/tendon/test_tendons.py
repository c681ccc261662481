"""Tendons in complete robots: work, energy, slackness, agreement of types, display."""

import numpy as np
import pytest
from oracle import Oracle

from pliant import (
    ExplicitRungeKutta,
    SpecError,
    derive,
    differentiable,
    equilibrium,
    linearize,
    load,
    load_text,
    modes,
    simulate,
)
from pliant.analysis.integrators import Rosenbrock
from pliant.robot.rod_switch import with_rod_model
from pliant.show.scene import make_scene
from pliant.show.tables import text

MIXED = """
pliant: 1
parameters: {pull: {value: 1.5 N, input: true}, wound: {value: 8 mm, input: true}, length: 0.3 m}
sections: {round: {shape: circle, radius: 10 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
bodies:
  base: {mass: 0.2 kg, shape: {type: sphere, radius: 3 cm}}
  hand: {mass: 30 g, shape: {type: sphere, radius: 1 cm}, frames: {hook: {position: [2 cm, 0, 1 cm]}}}
joints:
  turn: {type: revolute, child: base, axis: y, angle: {spring: 2, damper: 0.01}}
  hold: {type: weld, parent: arm.tip, child: hand}
rods:
  arm: {parent: base, length: =length, section: round, material: rubber, damping: [0, 0, 0, 1e-4, 1e-4, 1e-4]}
tendons:
  given: {type: tension, through: [{rod: arm, radius: 12 mm, turns: 0.3, eyelets: 7}, hand.hook], tension: =pull}
  line:
    type: elastic
    through: [{frame: world, position: [-5 cm, 2 cm, 0]}, {rod: arm, offset: [-12 mm, 3 mm], eyelets: 4}]
    stiffness: 3 kN/m
    shortening: =wound
    damper: 2 N*s/m
outputs:
  given_length: {tendon: given, quantity: length}
  given_rate: {tendon: given, quantity: rate}
  given_tension: {tendon: given}
  line_length: {tendon: line, quantity: length}
  line_rate: {tendon: line, quantity: rate}
  line_tension: {tendon: line, quantity: tension}
"""
KINDS = ["pcs:3", "gvs:1", "cosserat:3", "pseudo_rigid:3", "polynomial:2", "finite_element:2"]


@pytest.fixture(scope="module", params=KINDS)
def mixed(request):
    return derive(with_rod_model(load_text(MIXED), "arm", request.param))


def some_state(eqs, size=0.02, seed=3):
    """A state near the initial pose, moving."""
    rng = np.random.default_rng(seed)
    q, v = eqs.initial_state()
    q = eqs.binding.increment(q, size * rng.normal(size=len(v)))
    return q, size * rng.normal(size=len(v))


def outputs(eqs, q, v, **given):
    """The model's outputs in a state."""
    from pliant.engine.outputs import evaluate_outputs

    zero = np.zeros(len(v))
    return evaluate_outputs(eqs.model, eqs.at(**given).binding, 0.0, q, v, zero, zero[:0], 0.0)


def test_a_tendon_works_on_its_length(mixed):
    """Its generalized force is minus its tension times the gradient of its length, taken by differences."""
    q, v = some_state(mixed)
    here, forces = outputs(mixed, q, v), mixed.forces(q, v)
    step = 1e-6
    for name in ("given", "line"):
        gradient = []
        for direction in np.eye(len(v)):
            ahead, behind = (
                outputs(mixed, mixed.binding.increment(q, s * step * direction), v)[f"{name}_length"] for s in (1, -1)
            )
            gradient.append((ahead - behind) / (2 * step))
        assert here[f"{name}_tension"] > 0.5
        scale = np.abs(forces[name]).max()
        assert forces[name] == pytest.approx(-here[f"{name}_tension"] * np.array(gradient), abs=1e-7 * scale)
        assert here[f"{name}_rate"] == pytest.approx(np.array(gradient) @ v, rel=1e-6)


@pytest.mark.slow
def test_robots_with_tendons_are_as_casadi_says(mixed):
    q, v = some_state(mixed)
    ours, exact, zero = mixed.binding, Oracle(mixed.binding), np.zeros(len(v))
    energies = [x.energies(0.0, q, v) for x in (ours, exact)]
    tangents = [x.input_tangent(0.0, q, v) for x in (ours, exact)]
    ours, theirs = (x.linearized(0.0, q, v, zero, zero[:0]) for x in (ours, exact))
    for name in ("residual", "stiffness", "damping"):
        a, b = (np.asarray(getattr(x, name).toarray() if name != "residual" else x.residual) for x in (ours, theirs))
        assert np.abs(a - b).max() < 1e-10 * np.abs(b).max(), name
    assert np.abs(tangents[0] - tangents[1]).max() < 1e-10 * np.abs(tangents[1]).max()
    assert energies[0] == pytest.approx(energies[1], rel=1e-12)


def test_energy_is_conserved_while_a_winch_turns():
    """Total energy changes by what the tension and the winch supply and the dampers take, and by nothing else."""
    spec = with_rod_model(load_text(MIXED), "arm", "pcs:3").replace(
        inputs={"wound": "=6 mm + 3 mm*sin(9*t)", "pull": "=1.5 N*(1 + 0.5*cos(7*t))"}
    )
    run = simulate(derive(spec), 0.05, method=Rosenbrock(rtol=1e-8))
    assert run.status == "completed"
    energy = run.energy
    change = energy["total"] - energy["total"][0]
    gain = energy["supplied"] - energy["dissipated"]
    size = float(np.abs(energy["supplied"]).max())
    assert size > 1e-4
    assert float(np.abs(change - gain).max()) < 1e-5 * size


def test_wound_in_or_pulled_at_the_same_tension_is_the_same_pose():
    eqs = derive(load_text(MIXED))
    wound = equilibrium(eqs)
    tension = wound.outputs["line_tension"]
    assert wound.status == "converged"
    assert tension > 0.5
    tendons = {**eqs.model.spec.tendons}
    tendons["line"] = {"type": "tension", "through": tendons["line"].through, "tension": tension}
    pulled = equilibrium(derive(load_text(MIXED).replace(tendons=tendons)))
    assert pulled.q == pytest.approx(wound.q, abs=1e-7)


# -- between frames ------------------------------------------------------------------------------------------------------

FRAMES = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies:
  ball: {mass: 0.5 kg, shape: {type: sphere, radius: 5 cm}}
  other: {mass: 0.2 kg, shape: {type: sphere, radius: 5 cm}}
joints:
  a: {type: free, child: ball, x: {initial: 0.4}}
  b: {type: free, parent: world, child: other, z: {initial: 0.3}}
"""
ENDS = "[{frame: ball, position: [0.1, 0.02, 0]}, {frame: other, position: [0, 0.03, -0.1]}]"
LAW = "direction: tension, smoothing: 5 mm"


def test_a_tendon_through_two_points_is_a_link_that_pulls():
    tendon = "stiffness: 200, rest: REST, damper: {coefficient: 3, power: 1.5}, smoothing: 5 mm"
    link = f"spring: {{coefficient: 200, rest: REST}}, damper: {{coefficient: 3, power: 1.5}}, {LAW}"
    rng = np.random.default_rng(0)
    for rest in ("0.3", "0.9"):  # taut and slack
        one = derive(
            load_text(FRAMES + f"tendons: {{it: {{type: elastic, through: {ENDS}, {tendon}}}}}".replace("REST", rest))
        )
        two = derive(
            load_text(FRAMES + f"links: {{it: {{type: axial, between: {ENDS}, {link}}}}}".replace("REST", rest))
        )
        q, v = one.initial_state()
        q, v = one.binding.increment(q, 0.05 * rng.normal(size=12)), 0.1 * rng.normal(size=12)
        zero = np.zeros(12)
        x, y = (eqs.linearization(q, v, a=zero, multipliers=zero[:0]) for eqs in (one, two))
        assert (np.abs(x.residual).max() > 1) == (rest == "0.3")
        for a, b in ((x.residual, y.residual), (x.stiffness.toarray(), y.stiffness.toarray())):
            assert a == pytest.approx(b, abs=1e-12 * max(1, np.abs(b).max()))
        assert x.damping.toarray() == pytest.approx(y.damping.toarray(), abs=1e-12)
        for quantity in ("total", "dissipation", "supply"):
            assert getattr(one.energy(q, v), quantity) == pytest.approx(getattr(two.energy(q, v), quantity), rel=1e-12)


PULLEY = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {weight: {mass: 2 kg}}
joints: {slide: {type: prismatic, child: weight, axis: x, displacement: {rate: 1.5 m/s}}}
tendons:
  rope:
    type: elastic
    through: [{frame: world, position: [0, 0, 0.4 m]}, world, weight]
    rest: 0.5 m
    stiffness: 800 N/m
    DAMPER
outputs: {rope: {tendon: rope}, length: {tendon: rope, quantity: length}}
"""


SHORT_STEPS = ExplicitRungeKutta(rtol=1e-9, max_step=1e-3)
"""Energies between two steps are interpolated, which a rope that catches within one of them disturbs."""


def test_a_slack_line_lets_go_and_catches():
    """Free flight for 0.1 m, half a swing on the rope, and back: m, k and speed say all."""
    eqs = derive(load_text(PULLEY.replace("DAMPER", "")))
    fly, swing = 0.1 / 1.5, np.pi * np.sqrt(2 / 800)
    run = simulate(eqs, 2 * fly + swing, method=SHORT_STEPS)
    at = run.time
    assert run["slide"].values[-1] == pytest.approx(0, abs=1e-6)
    assert run["slide"].rate[-1] == pytest.approx(-1.5, rel=1e-6)
    tension = np.asarray(run["rope"])
    free = (at < fly) | (at > fly + swing)
    assert np.all(tension[free] == 0)
    expected = 1.5 * np.sqrt(2 * 800) * np.sin(np.sqrt(800 / 2) * (at - fly))
    assert tension[~free] == pytest.approx(expected[~free], abs=1e-3)
    assert np.asarray(run["length"]) == pytest.approx(0.4 + np.abs(run["slide"].values), abs=1e-7)  # points that meet
    assert float(run.energy["total"].max() - run.energy["total"].min()) < 1e-6


def test_a_damped_line_never_pushes():
    """While a stretched line shortens fast its damper would push; it goes slack instead, and energy still balances."""
    eqs = derive(load_text(PULLEY.replace("DAMPER", "damper: 60\n    smoothing: 2 mm")))
    run = simulate(eqs, 0.6, method=SHORT_STEPS)
    tension, length = np.asarray(run["rope"]), np.asarray(run["length"])
    assert tension.min() == 0
    pushes = (length > 0.502) & (800 * (length - 0.5) + 60 * run["slide"].rate < 0)
    assert pushes.any()
    assert np.all(tension[pushes] == 0)
    energy = run.energy
    assert float(np.abs(energy["total"] - energy["total"][0] + energy["dissipated"]).max()) < 1e-5 * 2.25
    assert all(eqs.energy(q, v).dissipation >= 0 for q, v in zip(run.q, run.v, strict=True))


def test_newton_finds_rest_from_slack_and_from_taut():
    """A weight on a soft spring, and a rope that holds it first at 0.1 m: from either side of the switch."""
    model = PULLEY.replace("gravity: [0, 0, 0]", "gravity: [9.81, 0, 0]").replace("DAMPER", "")
    model = model.replace("rate: 1.5 m/s", "initial: START, spring: {coefficient: 20 N/m, rest: 0}")
    expected = (2 * 9.81 + 800 * 0.1) / 820
    for start in ("-0.3", "0.1", "0.3"):
        found = equilibrium(derive(load_text(model.replace("START", start))))
        assert found.status == "converged"
        assert found.q[0] == pytest.approx(expected, rel=1e-9)
        assert found.outputs["rope"] == pytest.approx(800 * (expected - 0.1), rel=1e-8)


def test_axial_stiffness_is_that_of_the_rest_length():
    one, two = (
        derive(load_text(PULLEY.replace("DAMPER", "").replace("stiffness: 800 N/m", word)))
        for word in ("stiffness: 800 N/m", "axial_stiffness: 400 N")
    )
    assert one.bias([0.3], [0.0]) == pytest.approx(two.bias([0.3], [0.0]), rel=1e-12)
    assert one.bias([0.3], [0.0])[0] == pytest.approx(160)


def test_a_tendon_commanded_to_push_is_slack_with_a_warning():
    model = PULLEY.replace("DAMPER", "").replace("type: elastic", "type: tension").replace("rest: 0.5 m", "tension: =u")
    model = model.replace("    stiffness: 800 N/m\n", "").replace(
        "bodies:", "parameters: {u: {value: 1, input: true}}\nbodies:"
    )
    eqs = derive(load_text(model + "inputs: {u: =1 - 10*t}\n"))
    run = simulate(eqs, 0.3, rtol=1e-9)
    assert any("'rope' was commanded to -2 N" in note for note in run.remarks)
    assert float(run["rope"].min()) == 0
    # from 0.1 s on nothing acts: x = 1.5 t and before it 2 a = -(1 - 10 t)
    assert run["slide"].rate[-1] == pytest.approx(1.5 - 0.05 / 2, rel=1e-6)
    assert any("was commanded to -3 N" in remark for remark in equilibrium(eqs, inputs={"u": -3.0}).remarks)
    assert not simulate(eqs, 0.05).remarks


# -- in models -----------------------------------------------------------------------------------------------------------


def test_eyelets_are_shared_and_no_frames_of_the_model():
    spec = load("trunk")
    eqs, bare = derive(spec), derive(spec.replace(tendons={}, outputs={}))
    assert eqs.frame_names == bare.frame_names
    # nine eyelets inside each rod serve all six tendons
    assert len(eqs.model.system.nodes) - len(bare.model.system.nodes) == 18


def test_a_tendon_of_an_attached_model():
    inner = equilibrium(derive("trunk"), inputs={"near1": 4.0})
    outer = load_text("pliant: 1\nattach: {left: {model: trunk, position: [1 m, 0, 0], parameters: {near1: 4 N}}}")
    found = equilibrium(derive(outer))
    tip = found.frames["left/gripper.tip"].position
    assert tip == pytest.approx(inner.frames["gripper.tip"].position + [1, 0, 0], abs=1e-9)
    assert found.outputs["left/near1_tension"] == 4.0


def test_trunk_bends_to_the_side_that_is_pulled():
    eqs = derive("trunk")
    hanging = equilibrium(eqs)
    assert hanging.stable
    assert hanging.outputs["tip"] == pytest.approx([0, 0, -0.42], abs=3e-3)
    for tendon, angle in (("near1", 0), ("near2", 120), ("near3", 240), ("far1", 0), ("far2", 120), ("far3", 240)):
        tip = equilibrium(eqs, inputs={tendon: 4.0, "shoulder_torque": 0.0}).frames["gripper.tip"]
        side = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle)), 0])
        # the shoulder turns freely about y, which takes some of a tilt along x away
        assert tip.rotation[:, 2] @ side > 0.05, tendon
    frequencies = modes(eqs).frequencies[:4]
    assert np.all(frequencies > 0.5)
    assert np.all(np.diff(frequencies) > 0)


def test_trunk_in_all_rod_models():
    """Five segments or their like: the tip within a millimetre of that of fine finite elements."""
    tips = {}
    for word in ("finite_element:8", "pcs:5", "cosserat:5", "pseudo_rigid:8", "polynomial:2"):
        spec = with_rod_model(with_rod_model(load("trunk"), "upper", word), "lower", word)
        found = equilibrium(derive(spec), inputs={"near1": 5.0, "far2": 3.0})
        tips[word] = np.array(found.outputs["tip"])
    assert np.linalg.norm(tips["finite_element:8"] - [0, 0, -0.42]) > 0.03
    for word, tip in tips.items():
        assert np.linalg.norm(tip - tips["finite_element:8"]) < 1e-3, word


def test_trunk_wound_in_moves_and_its_linearization_has_inputs():
    eqs = derive(load("trunk", variant="wound"))
    assert linearize(eqs, at=equilibrium(eqs).state).B.shape[1] == len(eqs.inputs)
    run = simulate(eqs, 0.05, inputs={"wound_near2": 6e-3}, rtol=1e-4)
    assert run.status == "completed"
    # the gripper lags behind by its inertia; where the tendon ends the rod has moved to its side
    assert run["upper.tip"].position[-1][1] > 5e-4


def test_tendons_are_shown_and_drawn():
    shown = text(load("trunk"))
    assert "upper (11 eyelets), lower (11 eyelets)" in " ".join(shown.split())
    eqs = derive("trunk")
    scene = make_scene(eqs, eqs.initial_state().q, inputs={"near1": 2.0})
    marks = {mark.name: mark for mark in scene.tendons}
    assert [name for name, mark in marks.items() if not mark.slack] == ["near[1]"]
    assert marks["near[1]"].points.shape == (11, 3)
    assert marks["far[1]"].points.shape == (22, 3)
    assert marks["near[1]"].points[-1] == pytest.approx([0.013, 0, -0.22], abs=1e-9)


def test_a_stretch_of_no_length_is_refused() -> None:
    with pytest.raises(SpecError, match="the stretch ends where it starts"):
        load_text(MIXED.replace("offset: [-12 mm, 3 mm], eyelets: 4", "offset: [-12 mm, 3 mm], end: 0"))


TWO_RODS = """
pliant: 1
world: {gravity: [0, 0, 1]}
parameters: {aside: 0.4, pull: 3 mm, offset: 8 mm}
sections: {wire: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
rods:
  arm: {length: 15 cm, rotation: {axis: y, angle: =aside}, section: wire, material: rubber}
  hand: {parent: arm.tip, length: 15 cm, section: wire, material: rubber}
PART
outputs: {tip: {frame: hand.tip}}
"""
ROUTES = {
    "stretches of two rods": "tendons: {line: {type: elastic, through: [{rod: arm, offset: [=offset, 0]},"
    " {rod: hand, offset: [=offset, 0]}], stiffness: 2 kN/m, shortening: =pull}}",
    "the same point twice": "tendons: {line: {type: elastic, through: [{frame: arm, position: [=offset, 0, 0]},"
    " {frame: arm.tip, position: [=offset, 0, 0]}, {frame: hand, position: [=offset, 0, 0]},"
    " {frame: hand.tip, position: [=offset, 0, 0]}], axial_stiffness: 600 N, shortening: =pull}}",
    "rods held together by a constraint": "bodies: {hub: {mass: 10 g}}\n"
    "joints: {j: {type: free, child: hub, x: {initial: '=15 cm*sin(aside)'}, z: {initial: '=15 cm*cos(aside)'},"
    " orientation: {initial: {axis: y, angle: =aside}}}}\n"
    "constraints: {c: {between: [hub, arm.tip], components: [x, y, z, rx, ry, rz]}}\ntendons: {line: {type: elastic, through:"
    " [{rod: arm, offset: [=offset, 0]}, {rod: hand, offset: [=offset, 0]}], stiffness: 2 kN/m, shortening: =pull}}",
    "a link that begins at no length": "links: {line: {type: axial, between: [arm.tip,"
    " {frame: hand, position: [=pull-pull, 0, 0]}], spring: 100 N/m}}\n"
    "loads: {push: {frame: hand.tip, force: [\"=1 N/m*(pull + offset)\", 0, 0]}}",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "model", ["{kind: pcs, elements: 3}", "{kind: finite_element, elements: 2}"], ids=["pcs", "fe"]
)
def test_initial_lengths_have_derivatives_where_points_coincide(route: str, model: str) -> None:
    """The last eyelet of one rod is the first of the next: that span has no length."""
    base = TWO_RODS.replace("parent: arm.tip", "parent: hub") if "hub" in ROUTES[route] else TWO_RODS
    text = base.replace("PART", ROUTES[route]).replace("material: rubber}", f"material: rubber, model: {model}}}")
    f = differentiable(derive(load_text(text)), "tip", ["aside", "pull", "offset"], analysis="equilibrium")
    pullback = f.vjp()[1]
    weights = np.array([1.0, 0.2, 0.3])
    gradient = pullback({"tip": weights})
    for name, value in f.initial.items():
        h = 1e-3 * value
        down_2, down, up, up_2 = (f({name: value + k * h})["tip"] @ weights for k in (-2, -1, 1, 2))
        difference = (8 * (up - down) - (up_2 - down_2)) / (12 * h)
        assert abs(difference) > 1e-3, f"nothing changes with {name}"
        assert float(gradient[name]) == pytest.approx(difference, rel=3e-5), name
