"""A block and a ball on a plane, used by several cases."""

from __future__ import annotations

from pliant.equations.equations import Equations
from pliant.spec.derive import derive
from pliant.spec.reader import load_text

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
  ground: {{between: [block, floor], friction: 0.5}}
outputs:
  friction: {{contact: ground, quantity: friction_force, component: x}}
"""
BALL = """
pliant: 1
world: {{gravity: [{pull}, 0, -9.81]}}
bodies:
  ball: {{mass: 0.1 kg, shape: {{type: sphere, radius: 3 cm}}}}
joints:
  flight: {{type: free, child: ball, z: {{initial: {height} m}}, x: {{rate: {speed} m/s}}}}
surfaces:
  floor: {{type: plane}}
contacts:
  ground: {{between: [ball, floor], {law}}}
"""


def block(angle: float, speed: float = 0.0) -> Equations:
    """A block of 1 kg on a slope [rad] with a coefficient of friction of 0.5, sliding down at a speed [m/s]."""
    return derive(load_text(BLOCK.format(angle=angle, speed=speed)))


def ball(law: str, *, height: float = 0.03, speed: float = 1.0, pull: float = 0.0) -> Equations:
    """A ball of 0.1 kg and 3 cm above a plane [m], with a speed [m/s] and an acceleration along the plane [m/s^2]."""
    return derive(load_text(BALL.format(law=law, height=height, speed=speed, pull=pull)))
