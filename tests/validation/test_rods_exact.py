"""Every rod model against exact solutions."""

import numpy as np
import pytest
from rod_cases import BENDING, STIFF, arm, cantilever, static

from pliant import derive, load_text, modes
from pliant.spec.rod_switch import with_rod_model

FINE = ["pcs:20", "cosserat:20", "finite_element:5", "pseudo_rigid:25", "polynomial:6"]

# P L^2 / EI: deflection and shortening over length, angle [rad]
ELASTICA = {
    1: (0.301721, 0.056433, 0.461352),
    2: (0.493457, 0.160642, 0.781750),
    5: (0.713792, 0.387628, 1.215368),
    10: (0.810609, 0.554996, 1.430286),
}


def tip(eqs, q, parameters, name="rod.tip"):
    return eqs.frame(name, q, parameters=parameters)


@pytest.mark.parametrize("word", FINE)
def test_elastica(word):
    eqs = cantilever(word)
    for load, expected in ELASTICA.items():
        q = static(eqs, STIFF, {"tip_force": load * BENDING})
        frame = tip(eqs, q, STIFF)
        tangent = frame.rotation[:, 2]
        found = (-frame.position[2], 1 - frame.position[0], np.arctan2(-tangent[2], tangent[0]))
        assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("word", ["pcs:8", "cosserat:8", "finite_element:3", "pseudo_rigid:8", "polynomial:6"])
@pytest.mark.parametrize("turns", [0.3, 1.0])
def test_a_tip_moment_rolls_the_rod_up(word, turns):
    eqs = cantilever(word)
    q = static(eqs, STIFF, {"tip_moment": 2 * np.pi * turns * BENDING}, steps=40)
    angle = 2 * np.pi * turns
    expected = np.array([np.sin(angle), 0, (1 - np.cos(angle))]) / angle
    found = tip(eqs, q, STIFF)
    # links are chords of the circle, second order in angle / N
    tolerance = {"pseudo_rigid:8": angle**2 / (16 * 64), "polynomial:6": 2e-4}.get(word, 1e-9)
    assert found.position == pytest.approx(expected, abs=tolerance)
    assert found.rotation[:, 2] == pytest.approx([np.cos(angle), 0, np.sin(angle)], abs=max(1e-8, tolerance))


@pytest.mark.parametrize(
    "word", ["pcs:30", "cosserat:30", "finite_element:8", "pseudo_rigid:30", "polynomial:6", "timoshenko:8"]
)
def test_frequencies_of_a_clamped_beam(word):
    found = modes(cantilever(word), parameters=STIFF, count=6).frequencies
    b = np.array([1.875104, 4.694091, 7.854757])
    expected = b**2 * np.sqrt(BENDING / (1000 * np.pi * 0.01**2)) / (2 * np.pi)
    # both planes
    assert found[0::2] == pytest.approx(expected, rel=5e-3)
    assert found[1::2] == pytest.approx(expected, rel=5e-3)


SHAFT = """
pliant: 1
world: {gravity: [0, 0, -9.81]}
parameters: {torque: 0 N*m, mass: 0 kg}
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 100 kPa, poissons_ratio: 0.25}}
rods:
  arm: {rotation: [{axis: x, angle: 180 deg}], length: 40 cm, section: round, material: rubber}
bodies: {weight: {mass: =mass}}
joints: {hook: {type: weld, parent: arm.tip, child: weight}}
loads: {twist: {frame: arm.tip, moment: [0, 0, =torque]}}
"""


@pytest.mark.parametrize(
    "word", ["pcs:6", "cosserat:6", "finite_element:6", "pseudo_rigid:6", "polynomial:3", "timoshenko:6"]
)
def test_shaft_twist_and_hanging_stretch(word):
    eqs = arm(word, SHAFT)
    L, r, E, G, g = 0.4, 0.02, 100e3, 40e3, 9.81
    A, J = np.pi * r**2, np.pi * r**4 / 2
    torque, mass = 0.02, 0.1
    # small steps of the torque keep the twist of a soft shaft below half a turn in each
    q = static(eqs, {}, {"torque": torque, "mass": mass})
    frame = eqs.frame("arm.tip", q)
    expected = mass * g * L / (E * A) + 1000 * g * L**2 / (2 * E)
    # half the own weight of lumped masses is one element's length off at most; the sum is exact for all
    assert -frame.position[2] - L == pytest.approx(expected, rel=1e-6)
    angle = torque * L / (G * J)
    # seen from below: x axis turned about +z
    assert np.arctan2(frame.rotation[1, 0], frame.rotation[0, 0]) == pytest.approx(angle, rel=1e-3)


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
def test_a_stiff_rod_on_a_moving_body_is_a_compound_pendulum(word):
    eqs = derive(with_rod_model(load_text(HINGED.replace("START", "0")), "arm", word))
    # at rest, not at the start: where sections have absolute poses, the pull of the weight is what brings them back
    found = modes(eqs, at=static(eqs, steps=1), count=1).frequencies[0]
    mass, near, length, radius = 1000 * np.pi * 0.01**2 * 0.6, 0.1, 0.6, 0.01
    center = near + length / 2
    inertia = mass * (center**2 + length**2 / 12 + radius**2 / 4) + 0.2 * 0.05**2
    expected = np.sqrt(9.81 * (mass * center + 0.2 * 0.05) / inertia) / (2 * np.pi)
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "word", ["pcs:4", "cosserat:4", "finite_element:4", "pseudo_rigid:4", "polynomial:2", "timoshenko:4"]
)
def test_a_rod_starts_where_its_moving_base_is(word):
    eqs = derive(with_rod_model(load_text(HINGED.replace("START", "90 deg")), "arm", word))
    q = eqs.initial_state().q
    # the hub's -z axis points along -x after a quarter turn about y
    assert eqs.frame("arm.tip", q).position == pytest.approx([-0.7, 0, 0], abs=1e-12)
