"""Contacts of rigid bodies: friction at rest and with directions, energy of bounces, stacks, threads, units."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pliant

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


def derived(text: str, **values: object) -> pliant.Equations:
    return pliant.derive(pliant.load_text(text.format(**values)))


def block(angle: float, friction: str = "0.5", speed: float = 0.0) -> pliant.Equations:
    return derived(BLOCK, angle=angle, friction=friction, speed=speed)


# -- a block on a slope ---------------------------------------------------------------------------------------------------


def test_a_block_on_a_slope_stays_with_equal_steps() -> None:
    run = pliant.simulate(block(0.4), 3.0, save_every=0.1, method="generalized_alpha", step=1e-3)
    place = np.asarray(run.q)[:, :3]
    assert np.ptp(place[10:], axis=0).max() < 1e-6


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


# -- a ball -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restitution", [0.8, 1.0])
@pytest.mark.parametrize("options", [{}, {"method": "explicit"}], ids=str)
def test_a_ball_that_bounces_gains_no_energy(restitution: float, options: dict) -> None:
    eqs = derived(BALL, height="53 cm", law=f"restitution: {restitution}, stiffness: 2 MN/m")
    run = pliant.simulate(eqs, 1.6, save_every=1e-3, **options)
    height, speed = np.asarray(run.q)[:, 2] - 0.03, np.asarray(run.v)[:, 2]
    assert np.sum((speed[:-1] > 0) & (speed[1:] <= 0)) >= 2
    energy = 0.1 * (G * height + 0.5 * speed**2)
    flying = height > 0
    assert np.diff(energy[flying]).max() < 2e-4 * energy[0]
    total = np.asarray(run.energy["total"])
    assert total.max() <= total[0] * (1 + 2e-4)


# -- friction with directions, stacks ---------------------------------------------------------------------------------


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
