"""Contacts compared with exact solutions: rest, bounces, sliding, rolling; tangents, momentum, and faults of model files."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.language.faults import SpecError
from pliant.robot import load_text
from pliant.show.tables import text as shown

G = 9.81
PAIRS = {
    "plane": "{type: plane, parent: table, normal: [0.2, -0.1, 1], position: [1 cm, 2 cm, 14 cm]}",
    "sphere": "{type: sphere, parent: table, radius: 22 cm}",
    "capsule": "{type: capsule, parent: table, axis: [1, 0.2, 0.1], radius: 15 cm, length: 40 cm}",
    "box": "{type: box, parent: table, size: [50 cm, 40 cm, 30 cm]}",
}
COLLIDING = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  top: {{mass: 0.3 kg, shape: {{type: sphere, radius: 5 cm}}}}
  table: {{mass: 2 kg, shape: {{type: box, size: [50 cm, 40 cm, 20 cm]}}}}
joints:
  a: {{type: free, child: top, x: {{rate: 0.7}}, z: {{initial: 30 cm, rate: -0.5}}, orientation: {{rate: [3, -2, 5]}}}}
  b: {{type: free, child: table, orientation: {{rate: [0.3, 0.1, -0.2], initial: {{axis: y, angle: 4 deg}}}}}}
surfaces: {{other: {surface}}}
contacts: {{touch: {{between: [top, other], stiffness: 2000, {law}}}}}
outputs: {{push: {{contact: touch}}}}
"""


def colliding(which: str, law: str) -> pliant.Equations:
    return pliant.derive(load_text(COLLIDING.format(surface=PAIRS[which], law=law)))


@pytest.mark.parametrize("which", PAIRS)
@pytest.mark.parametrize("friction", [0.0, 0.1, 30.0], ids=["smooth", "sliding", "sticking"])
@pytest.mark.parametrize("loss", ["dissipation: 0.5 s/m", "restitution: 0.6"], ids=["damped", "impact"])
def test_tangents_are_derivatives(which: str, friction: float, loss: str) -> None:
    """In motion, where friction follows from the sliding velocity: surfaces slide, or would stick. The losses of an impact that
    nothing is remembered of depend on the present velocity."""
    eqs = colliding(which, f"{loss}, friction: {friction}, exponent: 1.2")
    rng, h, none = np.random.default_rng(1), 1e-7, np.zeros(0)
    v, a = 0.3 * rng.normal(size=len(eqs.rates)), rng.normal(size=len(eqs.rates))
    binding, place = eqs.binding, eqs.state({"a.z": 0.19}).q
    v = max((v, -v), key=lambda v: eqs.contacts(place, v).normal_force.min())  # towards each other
    here = eqs.contacts(place, v)
    assert np.all(here.sticks == (friction != 0.1))
    assert here.normal_force.min() > 1
    found = binding.linearized(0.0, place, v, a, none)
    # normal forces of an impact do not depend on the velocity, so without friction differences are round-off of the forces
    round_off = 4 * np.finfo(float).eps * np.abs(binding.inverse(0.0, place, v, a)).max() / h
    for name, moved in (
        ("stiffness", lambda d: (binding.increment(place, d), v)),
        ("damping", lambda d: (place, v + d)),
    ):
        columns = [
            (binding.inverse(0.0, *moved(h * unit), a) - binding.inverse(0.0, *moved(-h * unit), a)) / (2 * h)
            for unit in np.eye(len(v))
        ]
        exact = getattr(found, name).toarray()
        allowed = max(1e-6 * np.abs(exact).max(), round_off)
        np.testing.assert_allclose(exact, np.array(columns).T, rtol=0, atol=allowed)


def momenta(eqs: pliant.Equations, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Linear and angular momentum about the world's origin."""
    total = np.zeros(6)
    ball, box = 0.4 * 0.3 * 0.05**2 * np.eye(3), 2 / 12 * np.diag([0.4**2 + 0.2**2, 0.5**2 + 0.2**2, 0.5**2 + 0.4**2])
    for name, mass, inertia in (("top", 0.3, ball), ("table", 2.0, box)):
        frame = eqs.frame(name, q, v)
        spin = frame.rotation @ inertia @ frame.rotation.T @ frame.angular_velocity
        total += np.concatenate([mass * frame.velocity, spin + mass * np.cross(frame.position, frame.velocity)])
    return total


@pytest.mark.parametrize("which", PAIRS)
@pytest.mark.parametrize("law", ["restitution: 1", "dissipation: 0.5 s/m, friction: 0.4"], ids=["elastic", "rough"])
def test_a_collision_keeps_momentum_and_energy(which: str, law: str) -> None:
    """Linear and angular momentum always; energy without losses; with losses it falls by their amount."""
    eqs = colliding(which, law)
    run = pliant.simulate(eqs, 0.4, rtol=1e-7)
    before, after = (momenta(eqs, run.q[k], run.v[k]) for k in (0, -1))
    np.testing.assert_allclose(after, before, rtol=0, atol=2e-5)
    assert np.linalg.norm(run.v[-1, :3] - run.v[0, :3]) > 0.2
    total, lost = run.energy["total"].values, run.energy["dissipated"].values
    np.testing.assert_allclose(total + lost, total[0], rtol=0, atol=5e-3 * total[0])
    assert lost[-1] / total[0] == pytest.approx(0, abs=1e-12) if law == "restitution: 1" else lost[-1] > 0.02 * total[0]


def test_surfaces_never_pull() -> None:
    """For any depth and rate: k d^p (1 + c rate) or zero, and no work from the dissipation."""
    eqs = ball("z: {initial: 1}", "dissipation: 3 s/m, exponent: 1.5")
    q, v = eqs.initial_state()
    for depth in (-1e-3, 1e-4, 2e-3):
        for rate in (-2.0, -0.2, 0.0, 0.5, 2.0):
            q[2], v[2] = 0.05 - depth, -rate
            found = eqs.contacts(q, v)
            expected = max(0.0, 4000 * depth**1.5 * (1 + 3 * rate)) if depth > 0 else 0.0
            assert found.total_force[0, 2] == pytest.approx(expected, rel=1e-12)
            assert eqs.energy(q, v).dissipation >= 0


BALL = """
pliant: 1
bodies: {ball: {mass: 0.4 kg, shape: {type: sphere, radius: 5 cm}}}
joints: {flight: {type: free, child: ball, COORDINATES}}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [ball, floor], stiffness: 4000, LAW}}
outputs: {push: {contact: ground, component: z}}
"""


def ball(coordinates: str, law: str) -> pliant.Equations:
    return pliant.derive(load_text(BALL.replace("COORDINATES", coordinates).replace("LAW", law)))


def test_a_weight_at_rest_is_as_deep_as_its_weight_says() -> None:
    text = """
pliant: 1
bodies: {block: {mass: 3 kg, shape: {type: box, size: [20 cm, 20 cm, 10 cm]}}}
joints: {flight: {type: prismatic, child: block, axis: z, displacement: {initial: 48 mm, damper: 1}}}
surfaces:
  floor: {type: plane}
  foot1: {type: sphere, parent: block, position: [-8 cm, -8 cm, -5 cm], radius: 0}
  foot2: {type: sphere, parent: block, position: [8 cm, -8 cm, -5 cm], radius: 0}
  foot3: {type: sphere, parent: block, position: [0, 8 cm, -5 cm], radius: 0}
contacts: {feet: {between: [[foot1, foot2, foot3], floor], stiffness: 1 kN/m}}
outputs: {push: {contact: feet}}
"""
    rest = pliant.equilibrium(pliant.derive(load_text(text)))
    assert rest.q[0] == pytest.approx(0.05 - 3 * G / 3000, abs=1e-12)
    np.testing.assert_allclose(rest.outputs["push"], [0, 0, 3 * G], atol=1e-9)


def test_a_bounce_without_loss_takes_the_time_of_a_spring_and_comes_back() -> None:
    """Fall, half a swing on the spring with the weight on it, and up to the same height; exact in time and place."""
    height, omega = 0.2, np.sqrt(4000 / 0.4)
    fall, speed = np.sqrt(2 * height / G), np.sqrt(2 * G * height)
    touching = 2 / omega * (np.pi - np.arctan(speed * omega / G))
    eqs = ball("z: {initial: 25 cm}", "restitution: 1")
    run = pliant.simulate(eqs, 2 * fall + touching, rtol=1e-8)
    assert run.q[-1, 2] == pytest.approx(0.25, abs=1e-5)
    assert run.v[-1, 2] == pytest.approx(0.0, abs=1e-4)
    total = run.energy["total"].values
    assert np.abs(total - total[0]).max() < 1e-4 * total[0]


def test_a_sliding_ball_ends_up_rolling_at_five_sevenths_of_its_speed() -> None:
    """At five sevenths for a ball that is not sunk in; friction acts halfway between the surfaces."""
    sunk = 0.4 * G / 4000
    eqs = ball(f"x: {{rate: 1.4}}, z: {{initial: {0.05 - sunk!r}}}", "friction: 0.25")
    run = pliant.simulate(eqs, 0.4, rtol=1e-7)
    arm = 0.05 - sunk / 2
    share = arm**2 / (arm**2 + 0.4 * 0.05**2)
    assert share == pytest.approx(5 / 7, rel=0.01)
    assert run.v[-1, 0] == pytest.approx(share * 1.4, rel=5e-4)
    assert run.v[-1, 4] == pytest.approx(run.v[-1, 0] / arm, rel=1e-3)


@pytest.mark.parametrize("step", [None, 0.02], ids=["default", "half a radian in a step"])
def test_what_rolls_goes_on_rolling(step: float | None) -> None:
    """Without friction, however far it turns in a step."""
    sunk = 0.4 * G / 4000
    spin = 1.4 / (0.05 - sunk / 2)
    eqs = ball(
        f"x: {{rate: 1.4}}, z: {{initial: {0.05 - sunk!r}}}, orientation: {{rate: [0, {spin!r}, 0]}}", "friction: 0.25"
    )
    run = pliant.simulate(eqs, 2.0, step=step)
    np.testing.assert_allclose(run.v[-1], [1.4, 0, 0, 0, spin, 0], atol=1e-7)
    np.testing.assert_allclose(run.contacts.friction_force, 0, atol=1e-3)  # of the 1 N that there could be


def test_what_sticks_to_something_that_turns_turns_with_it() -> None:
    """A block that lies on a turntable, pulled outwards by less than friction: no creep in twenty turns."""
    text = """
pliant: 1
bodies:
  table: {mass: 1 kg, shape: {type: cylinder, radius: 30 cm, length: 2 cm, axis: z}}
  block: {mass: 0.2 kg, shape: {type: sphere, radius: 2 cm}}
joints:
  turn: {type: revolute, child: table, axis: z, angle: {rate: 3 rad/s}}
  a: {type: planar, child: block, x: {initial: 10 cm}, y: {rate: 0.3 m/s}, angle: {rate: 3 rad/s}, position: [0, 0, 2.99 cm]}
surfaces: {top: {type: plane, parent: table, position: [0, 0, 1 cm]}}
contacts: {lie: {between: [block, top], stiffness: 20 kN/m, friction: 0.8}}
"""
    eqs = pliant.derive(load_text(text))
    run = pliant.simulate(eqs, 40.0, save_every=0.5)
    radius = np.hypot(run["a.x"].values, run["a.y"].values)
    angle = np.unwrap(np.arctan2(run["a.y"].values, run["a.x"].values) - run["turn"].values)
    assert run["turn"].values[-1] > 100
    late = run.time > 2
    assert np.ptp(radius[late]) < 1e-7
    assert np.ptp(angle[late]) < 1e-6
    assert np.all(run.contacts.sticks)


@pytest.mark.parametrize(("friction", "weight", "offset"), [(0.0, 3.0, 2.0), (50.0, 17 / 7, 10 / 7)])
def test_a_ball_leaves_a_cylinder_where_it_must(friction: float, weight: float, offset: float) -> None:
    """From rest at the top, the push is m g (3 cos - 2) for a smooth ball, which leaves at cos = 2/3, and
    m g (17 cos - 10)/7 for a solid one that rolls, which leaves at cos = 10/17."""
    start = 0.1
    R = 0.5 + 0.05
    text = f"""
pliant: 1
bodies: {{ball: {{mass: 0.4 kg, shape: {{type: sphere, radius: 5 cm}}}}}}
joints: {{flight: {{type: free, child: ball, x: {{initial: {R * np.sin(start)}}}, z: {{initial: {R * np.cos(start)}}}}}}}
surfaces: {{barrel: {{type: capsule, axis: y, radius: 50 cm, length: 2 m}}}}
contacts: {{side: {{between: [ball, barrel], stiffness: 200 kN/m, friction: {friction}}}}}
outputs: {{push: {{contact: side}}, place: {{frame: ball, quantity: position}}}}
"""
    run = pliant.simulate(pliant.derive(load_text(text)), 1.0, rtol=1e-6, save_every=2e-3)
    place, push = run["place"].values, run["push"].values
    angle = np.arctan2(place[:, 0], place[:, 2])
    radial = push[:, 0] * np.sin(angle) + push[:, 2] * np.cos(angle)
    # energy from the start at a small angle: cos(start) in the place of 1
    expected = 0.4 * G * (weight * np.cos(angle) - offset * np.cos(start))
    leaves = np.arccos(offset / weight * np.cos(start))
    settled = (run.time > 0.1) & (angle < 0.97 * leaves)
    assert settled.sum() > 50
    np.testing.assert_allclose(radial[settled], expected[settled], rtol=0, atol=0.02 * 0.4 * G)
    assert angle[radial > 0].max() == pytest.approx(leaves, abs=0.02)


def test_tables_show_contacts() -> None:
    text = BALL.replace("COORDINATES", "z: {initial: 1}").replace("LAW", "friction: 1")
    assert "ground" in shown(load_text(text))
    assert "floor" in shown(load_text(text))


BODY = "bodies: {ball: {mass: 1 kg}, pan: {mass: 1 kg, shape: {type: sphere, radius: 1 cm}}}\n"
REST = "joints: {f: {type: free, child: ball}, g: {type: free, child: pan}}\nsurfaces: {floor: {type: plane}}\n"
FAULTS = {
    "stiffness": ("between: [pan, floor], stiffness: -3 N/m", "stiffness must be above zero, but it is -3"),
    "dissipation": ("between: [pan, floor], dissipation: -1 s/m", "dissipation must not be negative"),
    "restitution": ("between: [pan, floor], restitution: 0", "restitution must be above 0 and up to 1"),
    "friction": ("between: [pan, floor], friction: -0.1", "must not be negative"),
    "friction at rest": ("between: [pan, floor], friction: {along: 1, at_rest: 0.5}", "at_rest must be 1 or more"),
    "exponent": ("between: [pan, floor], exponent: 0", "exponent must be above zero"),
    "thing": ("between: [pan, flor], stiffness: 5", "there is no .* 'flor'"),
    "none": ("between: [], stiffness: 5", "between"),
}


@pytest.mark.parametrize("which", FAULTS)
def test_what_is_wrong_is_said(which: str) -> None:
    contact, message = FAULTS[which]
    with pytest.raises(SpecError, match=message) as caught:
        load_text(f"pliant: 1\n{BODY}{REST}contacts: {{ground: {{{contact}}}}}\n")
    assert all("contacts.ground" in fault.path for fault in caught.value.faults)


def test_a_body_without_a_shape_cannot_be_touched() -> None:
    with pytest.raises(SpecError, match="the body 'ball' has no shape"):
        pliant.derive(load_text(f"pliant: 1\n{BODY}{REST}contacts: {{ground: {{between: [ball, floor]}}}}\n"))


def test_the_output_of_a_contact_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError, match="there is no contact 'ground'"):
        load_text(f"pliant: 1\n{BODY}{REST}outputs: {{push: {{contact: ground}}}}\n")
