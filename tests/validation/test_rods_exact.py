"""Rods that a moment rolls up, in models that are not exact then, and where rods on moving bodies start."""

import numpy as np
import pytest
from rod_cases import BENDING, STIFF, cantilever, static

from pliant import derive, load_text
from pliant.robot.rod_switch import with_rod_model


def tip(eqs, q, parameters, name="rod.tip"):
    return eqs.frame(name, q, parameters=parameters)


@pytest.mark.parametrize("word", ["pseudo_rigid:8", "polynomial:6"])
@pytest.mark.parametrize("turns", [0.3, 1.0])
def test_a_tip_moment_rolls_the_rod_up(word, turns):
    eqs = cantilever(word)
    q = static(eqs, STIFF, {"tip_moment": 2 * np.pi * turns * BENDING}, steps=40)
    angle = 2 * np.pi * turns
    expected = np.array([np.sin(angle), 0, (1 - np.cos(angle))]) / angle
    found = tip(eqs, q, STIFF)
    # links are chords of the circle, second order in angle / N
    tolerance = {"pseudo_rigid:8": angle**2 / (16 * 64), "polynomial:6": 2e-4}[word]
    assert found.position == pytest.approx(expected, abs=tolerance)
    assert found.rotation[:, 2] == pytest.approx([np.cos(angle), 0, np.sin(angle)], abs=tolerance)


HINGED = """
pliant: 1
world: {gravity: [0, 0, -9.81]}
sections: {round: {shape: circle, radius: 1 cm}}
materials: {steel: {density: 1000, youngs_modulus: 20 GPa, poissons_ratio: 0.3}}
bodies: {hub: {mass: 0.2 kg, center_of_mass: [0, 0, -5 cm], frames: {below: {position: [0, 0, -10 cm]}}}}
joints: {hinge: {type: revolute, child: hub, axis: y, angle: {initial: START}}}
rods: {arm: {parent: hub.below, rotation: [{axis: x, angle: 180 deg}], length: 60 cm, section: round, material: steel}}
"""


@pytest.mark.parametrize(
    "word", ["pcs:4", "cosserat:4", "finite_element:4", "pseudo_rigid:4", "polynomial:2", "timoshenko:4"]
)
def test_a_rod_starts_where_its_moving_base_is(word):
    eqs = derive(with_rod_model(load_text(HINGED.replace("START", "90 deg")), "arm", word))
    q = eqs.initial_state().q
    # the hub's -z axis points along -x after a quarter turn about y
    assert eqs.frame("arm.tip", q).position == pytest.approx([-0.7, 0, 0], abs=1e-12)
