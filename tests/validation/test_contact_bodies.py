"""Contacts of rigid bodies against exact solutions: rest, sliding, rolling, bounces, stacks, momentum."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pliant
from pliant.solve.status import AnalysisFailed

G = 9.81
BLOCK = """
pliant: 1
world: {{gravity: ["=9.81 m/s^2*sin(angle)", 0, "=-9.81 m/s^2*cos(angle)"]}}
parameters: {{angle: {angle}}}
bodies:
  block: {{mass: 1 kg, shape: {{type: box, size: [10 cm, 10 cm, 4 cm]}}}}
joints:
  flight: {{type: free, child: block, z: {{initial: 2 cm}}, x: {{rate: {speed} m/s}}}}
surfaces:
  floor: {{type: plane}}
contacts:
  ground: {{between: [block, floor], friction: {friction}}}
outputs:
  friction: {{contact: ground, quantity: friction_force, component: x}}
"""
BALL = """
pliant: 1
bodies:
  ball: {{mass: 0.1 kg, shape: {{type: sphere, radius: 3 cm}}}}
joints:
  flight: {{type: free, child: ball, z: {{initial: {height}}}, x: {{rate: 1 m/s}}}}
surfaces:
  floor: {{type: plane}}
contacts:
  ground: {{between: [ball, floor], {law}}}
"""
LADDER = """
pliant: 1
world: {{gravity: [0, -9.81, 0]}}
parameters: {{angle: {angle}}}
bodies:
  ladder: {{mass: 10 kg, shape: {{type: slender_rod, length: 4 m, axis: x}}}}
joints:
  pose:
    type: planar
    child: ladder
    x: {{initial: "=-2 m*cos(angle)"}}
    y: {{initial: "=2 m*sin(angle)"}}
    angle: {{initial: =angle}}
surfaces:
  floor: {{type: plane, normal: y}}
  wall: {{type: plane, normal: [-1, 0, 0]}}
  foot: {{type: sphere, parent: ladder, position: [-2 m, 0, 0], radius: 0}}
  head: {{type: sphere, parent: ladder, position: [2 m, 0, 0], radius: 0}}
contacts:
  ground: {{between: [foot, floor], friction: 0.4, stiffness: 10 MN/m}}
  side: {{between: [head, wall], friction: 0.3, stiffness: 10 MN/m}}
"""
SLED = """
pliant: 1
bodies:
  sled: {{mass: 1 kg, shape: {{type: cylinder, radius: 1 cm, length: 20 cm, axis: x}}}}
joints:
  flight: {{type: free, child: sled, z: {{initial: 1 cm}}, x: {{rate: {x}}}, y: {{rate: {y}}}, orientation: {{damper: 100}}}}
surfaces:
  floor: {{type: plane}}
  runner: {{type: capsule, parent: sled, axis: x, radius: 1 cm, length: 20 cm}}
contacts:
  ground: {{between: [runner, floor], friction: {{along: 0.2, across: 0.6}}}}
outputs:
  friction: {{contact: ground, quantity: friction_force}}
  load: {{contact: ground, quantity: normal_force}}
"""
COLLIDING = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  top: {{mass: 0.3 kg, shape: {{type: box, size: [10 cm, 6 cm, 4 cm]}}}}
  table: {{mass: 2 kg, shape: {{type: box, size: [50 cm, 40 cm, 20 cm]}}}}
joints:
  a: {{type: free, child: top, x: {{rate: 0.7}}, z: {{initial: 17 cm, rate: -0.5}}, orientation: {{rate: [3, -2, 5]}}}}
  b: {{type: free, child: table, orientation: {{rate: [0.3, 0.1, -0.2], initial: {{axis: y, angle: 4 deg}}}}}}
contacts:
  touch: {{between: [top, table], stiffness: 20000, {law}}}
"""
SIZES = {"top": (0.3, (0.1, 0.06, 0.04)), "table": (2.0, (0.5, 0.4, 0.2))}
STACK = f"""
pliant: 1
bodies:
{"".join(f"  box{k}: {{{{mass: 1 kg, shape: {{{{type: box, size: [20 cm, 20 cm, 10 cm]}}}}}}}}" + chr(10) for k in range(10))}
joints:
{"".join(f"  flight{k}: {{{{type: free, child: box{k}, z: {{{{initial: {10 * k + 5} cm}}}}}}}}" + chr(10) for k in range(10))}
surfaces:
  floor: {{{{type: plane}}}}
contacts:
  touch: {{{{between: all, friction: 0.5}}}}
"""
CRITICAL = np.arctan((1 - 0.4 * 0.3) / (2 * 0.4))
"""Angle of the ladder above which it stands [rad]."""
METHODS = [{}, {"method": "implicit"}, {"method": "explicit"}, {"method": "generalized_alpha", "step": 1e-3}]


def derived(text: str, **values: object) -> pliant.Equations:
    return pliant.derive(pliant.load_text(text.format(**values)))


def block(angle: float, friction: str = "0.5", speed: float = 0.0) -> pliant.Equations:
    return derived(BLOCK, angle=angle, friction=friction, speed=speed)


# -- a block on a slope ---------------------------------------------------------------------------------------------------


def test_a_block_on_a_slope_stays_for_an_hour() -> None:
    """At the defaults: less than a micrometre between the first second and the end of the hour."""
    run = pliant.simulate(block(0.4), 3600.0, save_every=1.0)
    place = np.asarray(run.q)[:, :3]
    assert np.ptp(place[1:], axis=0).max() < 1e-6
    run = pliant.simulate(block(0.4), 3.0, save_every=0.1, method="generalized_alpha", step=1e-3)
    place = np.asarray(run.q)[:, :3]
    assert np.ptp(place[10:], axis=0).max() < 1e-6


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_a_block_slides_with_the_exact_acceleration(options: dict) -> None:
    run = pliant.simulate(block(0.6), 1.0, save_every=0.1, **options)
    speed, time = np.asarray(run.v)[:, 0], np.asarray(run.time)
    exact = G * (np.sin(0.6) - 0.5 * np.cos(0.6))
    assert (speed[-1] - speed[5]) / (time[-1] - time[5]) == pytest.approx(exact, rel=1e-3)
    assert run["friction"].values[-1] == pytest.approx(-0.5 * G * np.cos(0.6), rel=1e-3)


def test_a_block_at_the_angle_of_friction_sticks_below_and_slides_above() -> None:
    for share, moves in ((0.998, False), (1.002, True)):
        run = pliant.simulate(block(float(np.arctan(0.5 * share))), 2.0, save_every=0.5)
        assert (np.asarray(run.v)[-1, 0] > 1e-3) is np.bool_(moves), share


def test_a_block_that_slides_comes_to_rest_after_the_exact_way() -> None:
    """v^2 / (2 mu g) on level ground; afterwards it has no friction left to hold it against."""
    run = pliant.simulate(block(0.0, speed=1.0), 1.0, save_every=0.05)
    assert np.asarray(run.q)[-1, 0] == pytest.approx(1 / (2 * 0.5 * G), rel=2e-3)
    assert abs(np.asarray(run.v)[-1, 0]) < 1e-6


def test_friction_at_rest_above_that_of_sliding() -> None:
    """A force that grows moves the block when it exceeds friction at rest; then the friction of sliding holds it back."""
    text = BLOCK.format(angle=0, friction="{along: 0.4, at_rest: 1.5}", speed=0)
    text += """
loads:
  pull: {frame: block, force: [=5 N/s*t, 0, 0], position: [0, 0, -2 cm]}
"""
    run = pliant.simulate(pliant.derive(pliant.load_text(text)), 1.6, save_every=0.002)
    time, speed, friction = np.asarray(run.time), np.asarray(run.v)[:, 0], -run["friction"].values
    at_rest, sliding = 0.6 * G, 0.4 * G
    assert friction.max() == pytest.approx(at_rest, rel=5e-3)
    assert time[speed > 1e-3][0] == pytest.approx(at_rest / 5, rel=5e-3)
    begun = np.flatnonzero(speed > 1e-3)[0]
    np.testing.assert_allclose(friction[begun + 5 :], sliding, rtol=1e-3)


# -- a ladder against a wall ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.995, 1.005])
def test_a_ladder_stands_above_its_critical_angle(share: float) -> None:
    """By equilibrium and by motion, with friction at both ends."""
    angle = float(np.arctan(np.tan(CRITICAL) * share))
    eqs = derived(LADDER, angle=angle)
    turned = np.ptp(np.asarray(pliant.simulate(eqs, 3.0, save_every=0.5).q)[:, 2])
    if share > 1:
        assert turned < 1e-4
        assert pliant.equilibrium(eqs).q[2] == pytest.approx(angle, abs=1e-4)
    else:
        assert turned > 0.02
        with pytest.raises(AnalysisFailed):
            pliant.equilibrium(eqs)


# -- a ball -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_a_ball_rolls_with_five_sevenths_of_its_sliding_speed(options: dict) -> None:
    run = pliant.simulate(derived(BALL, height="3 cm", law="friction: 0.3"), 2.0, save_every=0.1, **options)
    assert np.asarray(run.v)[-1, 0] == pytest.approx(5 / 7, rel=1e-3)
    assert np.asarray(run.v)[-1, 4] == pytest.approx(5 / 7 / 0.03, rel=1e-3)


@pytest.mark.parametrize("restitution", [0.8, 1.0])
@pytest.mark.parametrize("options", [{}, {"method": "explicit"}], ids=str)
def test_a_ball_bounces_for_the_exact_times_and_gains_no_energy(restitution: float, options: dict) -> None:
    """Times of the tops of its flights: each lasts `restitution` times as long as the last one, and bounces half a period."""
    eqs = derived(BALL, height="53 cm", law=f"restitution: {restitution}, stiffness: 2 MN/m")
    run = pliant.simulate(eqs, 1.6, save_every=1e-3, **options)
    time, height, speed = np.asarray(run.time), np.asarray(run.q)[:, 2] - 0.03, np.asarray(run.v)[:, 2]
    tops = np.flatnonzero((speed[:-1] > 0) & (speed[1:] <= 0))
    at = time[tops] + speed[tops] / G
    first = np.sqrt(2 * 0.5 / G)
    flights = first * restitution ** np.arange(len(tops) + 1)
    exact = np.cumsum(flights[:-1] + flights[1:])
    impact = np.pi * np.sqrt(0.1 / 2e6)
    np.testing.assert_allclose(at, exact + impact * np.arange(1, len(tops) + 1), atol=4e-3 * exact[-1])
    assert len(tops) >= 2
    energy = 0.1 * (G * height + 0.5 * speed**2)
    flying = height > 0
    assert np.diff(energy[flying]).max() < 2e-4 * energy[0]
    total = np.asarray(run.energy["total"])
    assert total.max() <= total[0] * (1 + 2e-4)


def test_a_ball_is_pressed_in_as_hertz_says() -> None:
    """With exponent 1.5 the depth under a load is (load / stiffness)^(2/3), at rest and where it settles."""
    law = "exponent: 1.5, stiffness: 1 MN, dissipation: 200 s/m".replace("1 MN", "=1e6 N/m^1.5")
    eqs = derived(BALL, height="3 cm", law=law)
    exact = (0.1 * G / 1e6) ** (2 / 3)
    assert 0.03 - pliant.equilibrium(eqs).q[2] == pytest.approx(exact, rel=1e-6)
    assert 0.03 - np.asarray(pliant.simulate(eqs, 0.5, save_every=0.5).q)[-1, 2] == pytest.approx(exact, rel=1e-3)


# -- friction with directions, momentum, stacks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", [0.0, 0.3, 0.8, 1.2, np.pi / 2])
def test_friction_along_and_across_an_axis(heading: float) -> None:
    """Sliding at an angle to the axis: -N (along cos, across sin), the force on the ellipse that dissipates most."""
    eqs = derived(SLED, x=np.cos(heading), y=np.sin(heading))
    run = pliant.simulate(eqs, 0.05, save_every=0.05)
    load = 1.0 * G
    vx, vy = np.asarray(run.v)[-1, :2] / np.hypot(*np.asarray(run.v)[-1, :2])
    exact = -load * np.array([0.2 * vx, 0.6 * vy, 0.0])
    np.testing.assert_allclose(run["friction"].values[-1], exact, atol=2e-3 * load)
    assert run["load"].values[-1] == pytest.approx(load, rel=1e-3)


def momenta(eqs: pliant.Equations, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Linear and angular momentum about the world's origin [kg m/s, kg m^2/s]."""
    total = np.zeros(6)
    for name, (mass, (x, y, z)) in SIZES.items():
        frame = eqs.frame(name, q, v)
        inertia = mass / 12 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
        spin = frame.rotation @ inertia @ frame.rotation.T @ frame.angular_velocity
        total += np.concatenate([mass * frame.velocity, spin + mass * np.cross(frame.position, frame.velocity)])
    return total


@pytest.mark.parametrize(
    "law", ["friction: 0, dissipation: 0", "friction: 0.5", "friction: {along: 0.5, at_rest: 1.3}, exponent: 1.5"]
)
def test_free_bodies_that_collide_keep_their_momentum(law: str) -> None:
    """Linear and angular momentum, whatever the law; energy without losses, and with them it falls by what they take."""
    eqs = derived(COLLIDING, law=law)
    run = pliant.simulate(eqs, 0.4, save_every=0.01, rtol=1e-7)
    q, v = np.asarray(run.q), np.asarray(run.v)
    np.testing.assert_allclose(momenta(eqs, q[-1], v[-1]), momenta(eqs, q[0], v[0]), rtol=0, atol=2e-6)
    assert abs(v[-1, 2] - v[0, 2]) > 0.2
    total, lost = (np.asarray(run.energy[name]) for name in ("total", "dissipated"))
    np.testing.assert_allclose(total + lost, total[0], rtol=5e-3)
    assert total[-1] + lost[-1] == pytest.approx(total[0], rel=2e-4)
    assert abs(lost[-1]) < 1e-9 if "dissipation: 0" in law else lost[-1] > 0.05 * total[0]


def test_ten_boxes_stand_for_a_minute() -> None:
    run = pliant.simulate(derived(STACK), 60.0, save_every=1.0)
    place = np.array([run[f"box{k}"].position for k in range(10)])
    assert np.ptp(place[:, 1:], axis=1).max() < 1e-6
    np.testing.assert_allclose(place[:, -1, :2], 0.0, atol=1e-6)


def test_results_have_the_same_bits_in_all_threads() -> None:
    eqs = derived(COLLIDING, law="friction: 0.5")
    runs = list(ThreadPoolExecutor(3).map(lambda _: pliant.simulate(eqs, 0.3, save_every=0.1), range(6)))
    for run in runs[1:]:
        np.testing.assert_array_equal(np.asarray(run.q), np.asarray(runs[0].q))


def test_other_units_give_the_same_motion() -> None:
    """Sliding, rolling and pressing of a ball with all numbers in other units."""
    law = "friction: 0.3, stiffness: 20 kN/m, dissipation: 5 s/m"
    text = BALL.format(height="31 mm", law=law)
    other = (
        text.replace("0.1 kg", "100 g").replace("3 cm", "0.03").replace("31 mm", "3.1 cm").replace("1 m/s", "3.6 km/h")
    )
    other = other.replace("20 kN/m", "20 N/mm").replace("5 s/m", "5 ms/mm")
    assert other.count("100 g") == other.count("3.6 km/h") == other.count("ms/mm") == 1
    runs = [pliant.simulate(pliant.derive(pliant.load_text(x)), 0.3, save_every=0.1) for x in (text, other)]
    np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0, atol=1e-7)
