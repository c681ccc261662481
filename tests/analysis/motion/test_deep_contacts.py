"""Contacts that are too soft for a motion: parts that are entered by more than their thickness have a remark."""

from __future__ import annotations

import pytest

import pliant


@pytest.mark.parametrize(("speed", "wall", "remark"), [(1, 0.01, False), (500, 0.001, True), (2000, 0.001, True)])
def test_a_ball_that_enters_a_wall_deeper_than_it_is_thick_has_a_remark(
    speed: float, wall: float, remark: bool
) -> None:
    text = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  ball: {{mass: 0.1 kg, shape: {{type: sphere, radius: 1 cm}}}}
  plate: {{mass: 1 kg, shape: {{type: box, size: [1 m, 1 m, {wall}]}}, parent: world}}
joints: {{flight: {{type: free, child: ball, z: {{initial: 10 cm, rate: -{speed}}}}}}}
contacts: {{hit: {{between: [ball, plate]}}}}
"""
    run = pliant.simulate(pliant.derive(pliant.load_text(text)), 0.1 / speed + 0.01)
    said = [note for note in run.remarks if "the contact is too soft" in note]
    assert bool(said) == remark
    assert all("'plate'" in note and "0.001 m thick" in note for note in said)
