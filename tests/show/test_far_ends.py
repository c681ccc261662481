"""Long links that only push are drawn at their ends, so that the robot is not a dot in its picture."""

import numpy as np
import pytest

import pliant
from pliant.show.scene import make_scene


@pytest.mark.parametrize("variant", ["docking", "docking_target"])
def test_a_port_that_turns_about_a_distant_point_does_not_make_the_picture_larger(variant):
    alone = pliant.derive("six_leg")
    size = np.ptp(make_scene(alone, alone.initial_state().q).outline_points(), axis=0).max()
    eqs = pliant.derive(f"six_leg@{variant}")
    scene = make_scene(eqs, eqs.initial_state().q)
    assert np.ptp(scene.outline_points(), axis=0).max() < 1.5 * size
    assert all(np.linalg.norm(b - a) < size for solid in scene.solids for a, b in solid.arms)
    (port,) = scene.links
    assert 0.1 * size < np.linalg.norm(port.ends[1] - port.ends[0]) < 0.5 * size
    away = port.ends[0] - port.ends[1]
    assert away[2] / np.linalg.norm(away) == pytest.approx(np.cos(np.radians(7.5)), abs=5e-3)  # its direction is kept


LIFTED = """
pliant: 1
name: lifted
bodies: {load: {mass: 1 kg, shape: {type: sphere, radius: 5 cm}}}
joints: {flight: {type: free, child: load}}
links:
  cable: {type: axial, between: [{frame: world, position: [0, 0, 10 m]}, load], spring: 1 kN/m, direction: DIRECTION}
"""


@pytest.mark.parametrize(("direction", "length"), [("tension", 10.0), ("both", 10.0), ("compression", 0.03)])
def test_cables_and_springs_keep_their_length(direction, length):
    eqs = pliant.derive(pliant.load_text(LIFTED.replace("DIRECTION", direction)))
    (cable,) = make_scene(eqs, eqs.initial_state().q).links
    assert np.linalg.norm(cable.ends[1] - cable.ends[0]) == pytest.approx(length)
