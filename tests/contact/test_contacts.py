"""Contacts against exact answers: rest, bounces, sliding, rolling; tangents, engines, momentum, and what is wrong in a file."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.contact.law import CONSTANTS, contact_law
from pliant.language.faults import SpecError
from pliant.spec import load_text
from pliant.view.tables import text as shown

G = 9.81
SURFACES = {
    "plane": "type: plane, normal: [0.2, -0.1, 1]",
    "cylinder": "type: cylinder, axis: [1, 0.2, 0.1], radius: 20 cm",
    "side of a capsule": "type: capsule, axis: [1, 0.2, 0.1], radius: 20 cm, length: 40 cm",
    "end of a capsule": "type: capsule, axis: [0.1, 0.2, 1], radius: 15 cm, length: 10 cm",
}
COLLIDING = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  top: {{mass: 0.3 kg, shape: {{type: box, size: [10 cm, 6 cm, 4 cm]}}}}
  table: {{mass: 2 kg, shape: {{type: box, size: [50 cm, 40 cm, 20 cm]}}}}
joints:
  a: {{type: free, child: top, x: {{rate: 0.7}}, z: {{initial: 30 cm, rate: -0.5}}, orientation: {{rate: [3, -2, 5]}}}}
  b: {{type: free, child: table, orientation: {{rate: [0.3, 0.1, -0.2], initial: {{axis: y, angle: 4 deg}}}}}}
contacts:
  touch: {{{surface}, points: [top, {{frame: top, position: [2 cm, 1 cm, -1 cm]}}], point_radius: 5 cm, parent: table,
          position: [1 cm, 2 cm, {height}], stiffness: 2 kN/m, damper: {damper}, friction: {friction}, smoothing: 5 mm,
          slip_speed: 5 cm/s}}
outputs:
  push: {{contact: touch}}
"""


def colliding(which: str, friction: float, damper: float = 10.0) -> str:
    height = "22 cm" if which == "plane" else "8 cm" if which == "end of a capsule" else "2 cm"
    return COLLIDING.format(surface=SURFACES[which], friction=friction, damper=damper, height=height)


@pytest.mark.parametrize("which", SURFACES)
@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_engines_agree_and_tangents_are_derivatives(which: str, friction: float) -> None:
    """Pressed in and on the way in, pressed in and on the way out, and where the contact fades in."""
    spec = load_text(colliding(which, friction))
    eqs, other = (pliant.derive(spec, engine=engine) for engine in ("compiled", "interpreted"))
    engine, (_, v) = eqs.bind(), eqs.initial_state()
    rng = np.random.default_rng(1)
    v = v + 0.1 * rng.normal(size=len(v))
    a, none, h = rng.normal(size=len(v)), np.zeros(0), 1e-6
    pushes = []
    for lower, speed in ((0.05, -0.5), (0.05, 0.5), (0.03, -0.5), (0.1, 0.02)):
        place = eqs.state({"a.z": 0.3 - lower}).q
        v[2] = speed
        pushes.append(np.linalg.norm(eqs.forces(place, v)["touch"]))
        ours, theirs = (x.linearization(place, v, a=a, multipliers=none) for x in (eqs, other))
        np.testing.assert_allclose(ours.residual, theirs.residual, rtol=0, atol=1e-11 * np.abs(theirs.residual).max())
        for name, moved in (
            ("stiffness", lambda d, place=place: (engine.increment(place, d), v)),
            ("damping", lambda d, place=place: (place, v + d)),
        ):
            exact = getattr(ours, name).toarray()
            scale = np.abs(exact).max()
            np.testing.assert_allclose(exact, getattr(theirs, name).toarray(), rtol=0, atol=1e-11 * scale)
            columns = [
                (engine.inverse(0.0, *moved(h * unit), a) - engine.inverse(0.0, *moved(-h * unit), a)) / (2 * h)
                for unit in np.eye(len(v))
            ]
            np.testing.assert_allclose(exact, np.array(columns).T, rtol=0, atol=3e-7 * scale)
        assert eqs.energy(place, v).total == pytest.approx(other.energy(place, v).total, rel=1e-12)
    assert min(pushes) > 1e-3


def momenta(eqs: pliant.Equations, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Linear and angular momentum about the world's origin."""
    total = np.zeros(6)
    sizes = {"top": (0.3, (0.1, 0.06, 0.04)), "table": (2.0, (0.5, 0.4, 0.2))}
    for name, (mass, (x, y, z)) in sizes.items():
        frame = eqs.frame(name, q, v)
        inertia = mass / 12 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
        spin = frame.rotation @ inertia @ frame.rotation.T @ frame.angular_velocity
        total += np.concatenate(
            [mass * frame.velocity, spin + mass * np.cross(frame.position, frame.velocity)],
        )
    return total


@pytest.mark.parametrize("which", SURFACES)
@pytest.mark.parametrize(("friction", "damper"), [(0.0, 0.0), (0.4, 10.0)])
def test_a_collision_keeps_momentum_and_energy(which: str, friction: float, damper: float) -> None:
    """Linear and angular momentum always; energy without dampers and friction; with them it falls by what they take."""
    eqs = pliant.derive(load_text(colliding(which, friction, damper)))
    run = pliant.simulate(eqs, 0.4, rtol=1e-9)
    before, after = (momenta(eqs, np.asarray(run.q)[k], np.asarray(run.v)[k]) for k in (0, -1))
    np.testing.assert_allclose(after, before, rtol=0, atol=2e-6)
    assert abs(np.asarray(run.v)[-1, 2] - np.asarray(run.v)[0, 2]) > 0.2
    energy = {name: np.asarray(run.energy[name]) for name in ("total", "dissipated")}
    change = energy["total"] - energy["total"][0]
    np.testing.assert_allclose(change, -energy["dissipated"], rtol=0, atol=1e-6 * energy["total"][0])
    lost = energy["dissipated"][-1] / energy["total"][0]
    assert lost > 0.05 if friction else lost == 0.0


def test_a_surface_never_pulls() -> None:
    """Whatever the depth and its rate: no force below zero, none outside, no work from the damper; continuous in both."""
    c = ca.DM.zeros(CONSTANTS)
    c[12:15] = ca.DM([1000.0, 30.0, 1e-3])
    depth, rate = ca.SX.sym("depth"), ca.SX.sym("rate")
    law = ca.Function("law", [depth, rate], list(contact_law(depth, rate, c)))
    depths, rates = np.meshgrid(np.linspace(-3e-3, 8e-3, 111), np.linspace(-2, 2, 81))
    force, energy, lost = (np.array(x) for x in law(depths, rates))
    assert force.min() >= 0
    assert lost.min() >= -1e-15
    assert np.all(force[depths <= -1e-3] == 0)
    inside = (depths >= 1e-3) & (rates >= 0)
    np.testing.assert_allclose(force[inside], (1000 * depths + 30 * rates)[inside], rtol=1e-12)
    still = force[40]
    assert rates[40, 0] == 0
    # the energy is the integral of the force at rest: Simpson's rule is exact for the parabola and the line
    slopes = (energy[40, 2:] - energy[40, :-2]) / (depths[40, 2:] - depths[40, :-2])
    mean = (still[:-2] + 4 * still[1:-1] + still[2:]) / 6
    smooth = np.abs(np.abs(depths[40, 1:-1]) - 1e-3) > 0.5e-4
    np.testing.assert_allclose(slopes[smooth], mean[smooth], rtol=0, atol=1e-9)


BALL = """
pliant: 1
bodies: {ball: {mass: 0.4 kg, shape: {type: sphere, radius: 5 cm}}}
joints: {flight: {type: free, child: ball, COORDINATES}}
contacts: {ground: {type: plane, points: ball, point_radius: 5 cm, stiffness: 4 kN/m, LAW}}
outputs: {push: {contact: ground, component: z}}
"""


def ball(coordinates: str, law: str) -> pliant.Equations:
    return pliant.derive(load_text(BALL.replace("COORDINATES", coordinates).replace("LAW", law)))


def test_a_weight_at_rest_is_as_deep_as_its_weight_says() -> None:
    text = """
pliant: 1
bodies: {block: {mass: 3 kg, shape: {type: box, size: [20 cm, 20 cm, 10 cm]}}}
joints: {flight: {type: prismatic, child: block, axis: z, displacement: {initial: 48 mm, damper: 1}}}
contacts:
  feet: {type: plane, stiffness: 1 kN/m, points: [{frame: block, position: [-8 cm, -8 cm, -5 cm]},
         {frame: block, position: [8 cm, -8 cm, -5 cm]}, {frame: block, position: [0, 8 cm, -5 cm]}]}
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
    eqs = ball("z: {initial: 25 cm}", "smoothing: 0")
    run = pliant.simulate(eqs, 2 * fall + touching, rtol=1e-10)
    q, v = np.asarray(run.q)[-1], np.asarray(run.v)[-1]
    assert q[2] == pytest.approx(0.25, abs=1e-7)
    assert v[2] == pytest.approx(0.0, abs=1e-6)
    total = np.asarray(run.energy["total"])
    assert np.abs(total - total[0]).max() < 1e-8 * total[0]


def test_sliding_is_slowed_by_friction_times_weight_and_ends_where_it_must() -> None:
    """The block cannot turn: v = v0 - mu g t until it stops, v0^2 / (2 mu g) further on."""
    text = f"""
pliant: 1
bodies: {{rail: {{}}, block: {{mass: 2 kg}}}}
joints:
  slide: {{type: prismatic, child: rail, axis: x, displacement: {{rate: 1.5}}}}
  lift: {{type: prismatic, parent: rail, child: block, axis: z, displacement: {{initial: {-2 * G / 5000}}}}}
contacts: {{ground: {{type: plane, points: block, stiffness: 5 kN/m, damper: 50, friction: 0.3, slip_speed: 1 mm/s}}}}
"""
    eqs = pliant.derive(load_text(text))
    stop = 1.5 / (0.3 * G)
    run = pliant.simulate(eqs, 0.8 * stop, rtol=1e-9)
    # the regularization takes (slip speed / speed)^2 / 2 off the friction: below 6e-6 here
    assert np.asarray(run.v)[-1, 0] == pytest.approx(1.5 - 0.3 * G * 0.8 * stop, rel=1e-4)
    run = pliant.simulate(eqs, 1.5 * stop, rtol=1e-9)
    assert np.asarray(run.q)[-1, 0] == pytest.approx(1.5**2 / (2 * 0.3 * G), rel=2e-3)
    assert abs(np.asarray(run.v)[-1, 0]) < 1e-4


def test_a_sliding_ball_ends_up_rolling_at_five_sevenths_of_its_speed() -> None:
    sunk = 0.4 * G / 4000
    eqs = ball(f"x: {{rate: 1.4}}, z: {{initial: {0.05 - sunk!r}}}", "damper: 20, friction: 0.25")
    run = pliant.simulate(eqs, 0.4, rtol=1e-8)
    v = np.asarray(run.v)[-1]
    assert v[0] == pytest.approx(5 / 7 * 1.4, rel=1e-6)
    assert np.linalg.norm(v[3:]) == pytest.approx(v[0] / 0.05, rel=1e-6)


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
contacts: {{barrel: {{type: cylinder, axis: y, radius: 50 cm, points: ball, point_radius: 5 cm, stiffness: 200 kN/m,
           damper: 300, friction: {friction}, smoothing: 1 um}}}}
outputs: {{push: {{contact: barrel}}, place: {{frame: ball, quantity: position}}}}
"""
    eqs = pliant.derive(load_text(text))
    run = pliant.simulate(eqs, 1.0, rtol=1e-8, save_every=2e-3)
    place, push = np.asarray(run["place"]), np.asarray(run["push"])
    angle = np.arctan2(place[:, 0], place[:, 2])
    radial = push[:, 0] * np.sin(angle) + push[:, 2] * np.cos(angle)
    # energy from the start at a small angle: cos(start) in the place of 1
    expected = 0.4 * G * (weight * np.cos(angle) - offset * np.cos(start))
    leaves = np.arccos(offset / weight * np.cos(start))
    settled = (np.asarray(run.time) > 0.05) & (angle < 0.97 * leaves)
    assert settled.sum() > 50
    np.testing.assert_allclose(radial[settled], expected[settled], rtol=0, atol=0.005 * 0.4 * G)
    last = angle[radial > 0].max()
    assert last == pytest.approx(leaves, abs=0.02)


def test_a_cloth_lies_on_a_bar_and_the_bar_carries_it() -> None:
    text = """
pliant: 1
meshes:
  cloth: {type: membrane, drawing: {rectangle: [30 cm, 30 cm], cells: [4, 4]}, position: [-15 cm, -15 cm, 11 cm], mass: 60 g,
          stiffness: 20 N, damping_time: 20 ms, ends: free, sets: {edge: {plane: x}}}
contacts:
  bar: {type: cylinder, points: {mesh: cloth}, axis: x, radius: 10 cm, stiffness: 100 N/m, damper: 0.5, friction: 0.5}
outputs: {push: {contact: bar}}
"""
    eqs = pliant.derive(load_text(text))
    run = pliant.simulate(eqs, 3.0, method=pliant.GeneralizedAlpha(step=5e-3))
    assert run.status == "completed"
    np.testing.assert_allclose(np.asarray(run["push"])[-1], [0, 0, 0.06 * G], atol=0.02 * 0.06 * G)
    nodes = np.asarray(run.q)[-1].reshape(-1, 3)
    depth = 0.1 - np.hypot(nodes[:, 1], nodes[:, 2])
    assert depth.max() < 3e-3
    assert nodes[:, 2].min() < 0.06 < nodes[:, 2].max()


def test_tables_show_contacts() -> None:
    assert "stiffness: 4 kN/m" in shown(
        load_text(BALL.replace("COORDINATES", "z: {initial: 1}").replace("LAW", "friction: 1"))
    )


BODY = "bodies: {ball: {mass: 1 kg}, pan: {mass: 1 kg}}\njoints: {f: {type: free, child: ball}, g: {type: free, child: pan}}"
MESH = "meshes: {net: {type: membrane, drawing: {rectangle: [1, 1], cells: [2, 2]}, mass: 1 kg, stiffness: 5 N}}"
FAULTS = {
    "stiffness": ("type: plane, points: ball, stiffness: -3 N/m", "stiffness must be above zero, but it is -3"),
    "no stiffness": ("type: plane, points: ball", "stiffness"),
    "damper": ("type: plane, points: ball, stiffness: 5, damper: -1", "damper must not be below zero"),
    "friction": ("type: plane, points: ball, stiffness: 5, friction: -0.1", "friction must not be below zero"),
    "slip": ("type: plane, points: ball, stiffness: 5, slip_speed: 0", "slip_speed must be above zero"),
    "frame": ("type: plane, points: [ball, bal.tip], stiffness: 5", "there is no frame 'bal.tip'"),
    "parent": ("type: plane, points: ball, parent: tray, stiffness: 5", "there is no frame 'tray'"),
    "none": ("type: plane, points: [], stiffness: 5", "points"),
    "normal": ("type: plane, points: ball, normal: [0, 0, 0], stiffness: 5", "`normal` is a direction and cannot be"),
    "axis": ("type: cylinder, points: ball, radius: 1, axis: [0, 0, 0], stiffness: 5", "`axis` is a direction"),
    "radius": ("type: cylinder, points: ball, radius: 0, stiffness: 5", "radius must be above zero, but it is 0"),
    "length": ("type: capsule, points: ball, radius: 1, length: 0, stiffness: 5", "length must be above zero"),
    "unit": ("type: plane, points: ball, stiffness: 5 N*s/m", "stiffness"),
    "mesh": ("type: plane, points: {mesh: nets}, stiffness: 5", "there is no mesh 'nets'"),
    "set": ("type: plane, points: {mesh: net, set: rim}, stiffness: 5", "the mesh 'net' has no set 'rim'"),
    "empty set": (
        "type: plane, points: {mesh: net, set: ends}, stiffness: 5",
        "the set 'ends' of the mesh 'net' has no",
    ),
    "type": ("type: ball, points: ball, stiffness: 5", "unknown contact type 'ball'"),
}


@pytest.mark.parametrize("which", FAULTS)
def test_what_is_wrong_is_said(which: str) -> None:
    contact, message = FAULTS[which]
    with pytest.raises(SpecError, match=message) as caught:
        load_text(f"pliant: 1\n{BODY}\n{MESH}\ncontacts: {{ground: {{{contact}}}}}\n")
    assert all("contacts.ground" in fault.path for fault in caught.value.faults)


def test_a_point_of_the_surface_itself_is_refused() -> None:
    text = f"pliant: 1\n{BODY}\ncontacts: {{ground: {{type: plane, parent: pan, points: pan, stiffness: 5}}}}\n"
    with pytest.raises(SpecError, match="'pan' is fixed to the surface"):
        pliant.derive(load_text(text))


def test_the_output_of_a_contact_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError, match="there is no contact 'ground'"):
        load_text(f"pliant: 1\n{BODY}\noutputs: {{push: {{contact: ground}}}}\n")
