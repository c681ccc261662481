"""Each remark in a case where it must appear and in one where it must not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import pliant
from pliant import Equations, derive, equilibrium, load_text, modes, periodic, simulate, workspace

SLIDER = """
parameters:
  force: {value: 0 N, input: true, minimum: -2 N, maximum: 5 N}
  pull: {value: 1 N, input: true, minimum: PULL}
  stiffness: 10 N/m
bodies: {cart: {mass: 1 kg, frames: {tip: {}}}}
joints: {rail: {type: prismatic, child: cart, axis: x, displacement: {input: "=force - pull", spring: =stiffness, damper: 1}}}
"""
LINE = """
parameters: {pull: {value: 5 N, input: true}}
world: {gravity: [0, 0, 0]}
bodies: {cart: {mass: 1 kg}}
joints: {rail: {type: prismatic, child: cart, axis: x, position: [0.5, 0, 0], displacement: {spring: 100, damper: 1}}}
tendons: {line: {type: tension, through: [{frame: world, position: [0, 0, -0.5]}, world, cart], tension: =pull, FRICTION}}
"""
LOOP = """
bodies:
  left: {mass: 1 kg, center_of_mass: [0.5 m, 0, 0], frames: {tip: {position: [1 m, 0, 0]}}}
  right: {mass: 1 kg, center_of_mass: [-0.5 m, 0, 0], frames: {tip: {position: [-1 m, 0, 0]}}}
joints:
  a: {type: revolute, child: left, axis: y, angle: {initial: 20 deg}}
  b: {type: revolute, child: right, axis: y, position: [1.6 m, 0, 0], angle: {initial: -20 deg}}
constraints: {pin: {between: [left.tip, right.tip], components: COMPONENTS, expressed_in: world}}
outputs: {hold: {constraint: pin}}
"""
TAUT = """
bodies: {block: {mass: 1 kg, frames: {hook: {position: [10 cm, 0, 0]}}}}
joints: {slide: {type: prismatic, axis: x, child: block, displacement: {spring: 100 N/m}}}
tendons: {line: {type: elastic, through: [world, block.hook], stiffness: 300 N/m, rest: REST}}
"""
TURNTABLE = """
bodies: {table: {mass: 1 kg, inertia: {principal: [0.1, 0.1, 0.1]}}, bob: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m]}}
joints:
  turn: {type: revolute, child: table, axis: z, angle: {motion: "=TURN"}}
  hinge: {type: revolute, parent: table, child: bob, axis: y, position: [0.2 m, 0, 0], angle: {initial: START}}
"""
SPHERES = """
world: {gravity: [0, 0, 0]}
parameters: {distance: 6 cm}
bodies: {a: {mass: 1 kg, inertia: {principal: [1e-2, 1e-2, 1e-2]}}, b: {mass: 1 kg, inertia: {principal: [1e-2, 1e-2, 1e-2]}}}
joints: {a: {type: free, child: a}, b: {type: free, child: b, position: [=distance, 0, 0]}}
surfaces: {one: {type: sphere, parent: a, radius: 3 cm}, two: {type: sphere, parent: b, radius: 2 cm}}
contacts: {touch: {between: [one, two]}}
"""
BLOCK = """
world: {gravity: ["=9.81 m/s^2*sin(slope)", 0, "=-9.81 m/s^2*cos(slope)"]}
parameters: {slope: 0.4, height: 1 cm}
bodies: {block: {mass: 1 kg, inertia: {principal: [1e-3, 1e-3, 1e-3]}}}
joints: {flight: {type: free, child: block, z: {initial: =height}}}
surfaces:
  floor: {type: plane}
  foot: {count: 3, type: sphere, parent: block, position: ["=5 cm*cos(i*120 deg)", "=5 cm*sin(i*120 deg)", 0], radius: 1 cm}
contacts: {ground: {between: [foot, floor], friction: 0.5}}
"""
BALL = """
bodies: {ball: {mass: 0.1 kg, inertia: {principal: [1e-5, 1e-5, 1e-5]}}}
joints: {fall: {type: prismatic, child: ball, axis: z, displacement: {initial: 0.2 m}}}
surfaces: {floor: {type: plane}, skin: {type: sphere, parent: ball, radius: 1 cm}}
contacts: {touch: {between: [floor, skin], stiffness: 1e7 N/m, restitution: 0.9}}
"""
OSCILLATOR = """
world: {gravity: [0, 0, 0]}
parameters: {push: {value: 0 N, input: true}}
bodies: {mass: {mass: 1 kg}}
joints:
  x:
    type: prismatic
    child: mass
    axis: x
    displacement: {initial: 0.1 m, input: =push, spring: 1 N/m, damper: "=((displacement/1 m)^2 - 1)*1 N*s/m"}
"""
FLOOR = """
surfaces: {floor: {type: plane, position: [0, 0, -1 m]}, ball: {type: sphere, parent: mass, radius: 1 cm}}
contacts: {touch: {between: [floor, ball], friction: FRICTION}}
"""
CONTROL = """
control: {hold: {type: pid, coordinates: [x], path: [0 m], inputs: [push], proportional: 1 N/m, sample_time: 10 ms}}
"""
TURNED_ROD = """
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.49}}
sections: {round: {shape: circle, radius: 4 mm}}
bodies: {hub: {mass: 1 kg, frames: {tip: {position: [0.1, 0, 0]}}}}
joints: {turn: {type: revolute, child: hub, axis: z}}
"""
ROD = "rods: {arm: {length: 20 cm, section: round, material: rubber, parent: hub, model: {kind: pcs, elements: 2}}}"


def robot(text: str, **values: str) -> Equations:
    """The robot of a text, in which names in capitals are replaced by values."""
    for name, value in values.items():
        text = text.replace(name, value)
    return derive(load_text(f"pliant: 1\n{text}"))


def bent(moment: float) -> Any:
    """A rubber rod under a moment at its tip [N m]."""
    return equilibrium(derive("cantilever"), parameters={"tip_moment": moment}, stability="any")


def held(eqs: Equations, **changed: Any) -> Any:
    """A motion that begins at an equilibrium with other values."""
    return simulate(eqs, 0.01, start=equilibrium(eqs, **changed))


def blocked(*pairs: str) -> Any:
    """An equilibrium whose search passed through pairs of surfaces."""
    return replace(equilibrium(robot(SPHERES), stability="any"), crossed=pairs)


BOUNDED, UNBOUNDED = robot(SLIDER, PULL="0 N, maximum: 4 N"), robot(SLIDER, PULL="0 N")
SLACK, PULLED = robot(LINE, FRICTION="friction: 0.3"), robot(LINE, FRICTION="friction: 0.3, at_rest: pulled")
REDUNDANT, PINNED = robot(LOOP, COMPONENTS="[x, y, z]"), robot(LOOP, COMPONENTS="[x, z]")

CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    # equilibria
    "moved_onto_constraints": (lambda: equilibrium(PINNED), lambda: equilibrium(PINNED, start=equilibrium(PINNED))),
    "prescribed_motions_held": (
        lambda: equilibrium(robot(TURNTABLE, TURN="10 rad/s*t", START="0 deg")),
        lambda: equilibrium(robot(TURNTABLE, TURN="0.3 rad", START="0 deg")),
    ),
    "slack_tendons": (lambda: equilibrium(SLACK, inputs={"pull": -3}), lambda: equilibrium(SLACK)),
    "inputs_beyond_limits": (
        lambda: equilibrium(BOUNDED, inputs={"force": 3, "pull": 5}),
        lambda: equilibrium(BOUNDED, inputs={"force": 5, "pull": 0}),
    ),
    "left_unstable_pose": (
        lambda: equilibrium(robot(TURNTABLE, TURN="0.3 rad", START="180 deg")),
        lambda: equilibrium(robot(TURNTABLE, TURN="0.3 rad", START="179 deg")),
    ),
    "passed_through_surfaces": (lambda: blocked("a and b"), lambda: blocked()),
    "beyond_range": (lambda: bent(4.0), lambda: bent(2.0)),
    "friction_of_tendons_at_rest": (lambda: equilibrium(SLACK), lambda: equilibrium(PULLED)),
    "reactions_not_unique": (lambda: equilibrium(REDUNDANT), lambda: equilibrium(PINNED)),
    "overlapping_parts": (
        lambda: equilibrium(robot(SPHERES), parameters={"distance": 0}, on_failure="return"),
        lambda: equilibrium(robot(SPHERES)),
    ),
    "friction_supports": (
        lambda: equilibrium(robot(BLOCK)),
        lambda: equilibrium(robot(BLOCK), parameters={"slope": 0}),
    ),
    "stable_with_damping": (
        lambda: equilibrium(derive("cantilever"), parameters={"tip_moment": 0.2}),
        lambda: equilibrium(derive("cantilever"), parameters={"tip_moment": 0}),
    ),
    # small motions
    "friction_of_tendons_linearized": (lambda: modes(SLACK), lambda: modes(PULLED)),
    "contacts_linearized": (lambda: modes(robot(BLOCK), at="equilibrium"), lambda: modes(PULLED)),
    "unbalanced_pose": (lambda: modes(BOUNDED, at={"rail": 1.0}), lambda: modes(BOUNDED, at="equilibrium")),
    "kinked_pose": (lambda: modes(robot(TAUT, REST="10 cm")), lambda: modes(robot(TAUT, REST="9.99 cm"))),
    # orbits
    "controllers_left_out": (lambda: periodic(robot(OSCILLATOR + CONTROL)), lambda: periodic(robot(OSCILLATOR))),
    "friction_by_velocity": (
        lambda: periodic(robot(OSCILLATOR + FLOOR, FRICTION="0.5")),
        lambda: periodic(robot(OSCILLATOR + FLOOR, FRICTION="0")),
    ),
    "orbit_not_resolved": (lambda: periodic(robot(OSCILLATOR), tolerance=1e-13), lambda: periodic(robot(OSCILLATOR))),
    "one_of_a_family": (lambda: periodic(derive("pendulum")), lambda: periodic(robot(OSCILLATOR))),
    # workspaces
    "inputs_not_varied": (lambda: workspace(UNBOUNDED, samples=4), lambda: workspace(BOUNDED, samples=4)),
    "samples_without_a_pose": (
        lambda: workspace(derive("four_bar"), samples=20),
        lambda: workspace(derive("four_bar"), samples=20, lower={"q1": -1.0}, upper={"q1": 0.2}),
    ),
    "set_is_curved": (lambda: workspace(robot(TURNED_ROD), samples=20), lambda: workspace(BOUNDED, samples=20)),
    "rods_as_at_the_start": (
        lambda: workspace(robot(TURNED_ROD + ROD), samples=4),
        lambda: workspace(robot(TURNED_ROD), samples=4),
    ),
    # motions
    "held_with_other_values": (lambda: held(BOUNDED, parameters={"stiffness": 20}), lambda: held(BOUNDED)),
    "overlapping_start": (
        lambda: simulate(robot(SPHERES), 1e-4, parameters={"distance": 0.0499}),
        lambda: simulate(robot(SPHERES), 1e-4),
    ),
    "brief_impacts": (
        lambda: simulate(robot(BALL), 0.3, method=pliant.Newmark(step=1e-3)),
        lambda: simulate(robot(BALL), 0.3),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_remark_appears_where_it_must_and_nowhere_else(name: str) -> None:
    appears, absent = CASES[name]
    assert name in [x.name for x in appears().remarks]
    assert name not in [x.name for x in absent().remarks]


@pytest.mark.parametrize(
    "name", ["slack_tendons", "inputs_beyond_limits", "reactions_not_unique", "moved_onto_constraints"]
)
def test_motions_have_the_remarks_of_poses(name: str) -> None:
    values = {"pull": -3.0} if name in ("slack_tendons", "inputs_beyond_limits") else None
    eqs = {"slack_tendons": SLACK, "inputs_beyond_limits": BOUNDED}.get(name, REDUNDANT)
    found = (x for x in simulate(eqs, 0.01, inputs=values).remarks if x.name == name)
    known = (x for x in equilibrium(eqs, inputs=values).remarks if x.name == name)
    assert next(found).replace(" at t = 0 s", "") == next(known)


def test_every_input_beyond_its_limits_is_named() -> None:
    (text,) = equilibrium(BOUNDED, inputs={"force": -3, "pull": 5}).remarks
    assert text.count("is applied as given") == 2
    assert "'force' is -3 N, below its minimum of -2 N" in text
    assert "'pull' is 5 N, above its maximum of 4 N" in text
