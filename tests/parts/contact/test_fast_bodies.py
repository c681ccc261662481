"""Fast bodies do not pass through others within a step."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant

WALL = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies: {{b: {{mass: 10 g, shape: {{type: sphere, radius: 1 cm}}}}}}
joints: {{j: {{type: prismatic, child: b, axis: x, displacement: {{initial: -1 m, rate: {speed} m/s}}}}}}
surfaces: {{wall: {{type: box, size: [{thickness} m, 1 m, 1 m]}}}}
contacts: {{g: {{between: [b, wall], restitution: 0.9, stiffness: 1 MN/m}}}}
"""
PLATE = """
pliant: 1
bodies: {b: {mass: 10 g, shape: {type: sphere, radius: 1 cm}}}
joints: {j: {type: free, child: b, z: {initial: 2 m}}}
surfaces: {table: {type: box, size: [1 m, 1 m, 5 mm]}}
contacts: {g: {between: [b, table], restitution: 0.8, stiffness: 100 kN/m}}
"""
BALLS = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 10 g, shape: {type: sphere, radius: 1 cm}}
  b: {mass: 10 g, shape: {type: sphere, radius: 1 cm}}
joints:
  j: {type: free, child: a, x: {initial: -1 m, rate: 1 m/s}, y: {initial: 1 cm}}
  k: {type: free, child: b}
contacts: {g: {between: [a, b], restitution: 1, stiffness: 1 MN/m}}
"""


def run(folder: Path, text: str, until: float) -> Any:
    path = folder / "robot.yaml"
    path.write_text(text)
    return pliant.simulate(pliant.derive(str(path)), until)


@pytest.mark.parametrize(("speed", "thickness", "until"), [(1, 0.002, 5.0), (50, 0.002, 10.0), (50, 0.1, 10.0)])
def test_a_ball_rebounds_from_a_wall(tmp_path: Path, speed: float, thickness: float, until: float) -> None:
    result = run(tmp_path, WALL.format(speed=speed, thickness=thickness), until)
    assert result.v[-1][0] == pytest.approx(-0.9 * speed, rel=1e-3)


@pytest.mark.parametrize("until", [1.0, 5.0, 20.0])
def test_a_ball_stays_on_a_thin_plate(tmp_path: Path, until: float) -> None:
    assert run(tmp_path, PLATE, until)["j.z"].values.min() > 0.0025


def test_balls_meet_off_centre(tmp_path: Path) -> None:
    """The struck ball leaves along the line of centres, 30 degrees from the velocity."""
    result = run(tmp_path, BALLS, 10.0)
    np.testing.assert_allclose(result.v[-1][6:8], [0.75, -np.sqrt(3) / 4], atol=0.01)
