"""Rests of rods of every kind, from the straight state: slender, under tendons and chambers, on moving arms, near instability."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipe, ellipk

import pliant
from pliant.cli import run
from pliant.robot.rod_switch import with_rod_model

TENDON = """
pliant: 1
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
sections:
  core: {shape: circle, radius: 5 mm}
bodies:
  hub: {mass: 1 kg, frames: {side: {position: [5 cm, 0, 0]}}}
joints:
  turn: {type: revolute, child: hub, axis: z}
rods:
  arm: {parent: hub.side, length: 20 cm, section: core, material: rubber}
tendons:
  flexor: {type: tension, through: [{rod: arm, offset: [8 mm, 0]}], tension: 1 N}
"""


@pytest.mark.filterwarnings("ignore:the rod")
@pytest.mark.parametrize("word", ["pcs:4", "pcs:8", "pcc:2", "pseudo_rigid:8", "cosserat:8", "finite_element:4"])
def test_a_strong_tendon_on_a_rubber_rod(word):
    eqs = pliant.derive(with_rod_model(pliant.load_text(TENDON), "arm", word))
    rest = pliant.equilibrium(eqs)
    assert rest.status == "converged"
    assert rest.iterations < 40
    assert rest.residual < 1e-9
    tip = eqs.frames(rest.q)["arm.tip"].position
    # the hub is free to turn, so only the distance and the height of the tip are determined; kinds differ by their coarseness
    assert [np.hypot(*tip[:2]), tip[2]] == pytest.approx([0.096, -0.081], abs=0.016)


ARM = """
pliant: 1
materials: {steel: {density: 7850 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
sections: {wire: {shape: circle, radius: 2 mm}}
bodies:
  upper: {mass: 8 kg, center_of_mass: [0, 0, 0.2], inertia: {principal: [0.2, 0.2, 0.01]}, frames: {end: {position: [0, 0, 0.4]}}}
  fore: {mass: 2 kg, center_of_mass: [0, 0, 0.2], inertia: {principal: [0.05, 0.05, 0.01]}, frames: {end: {position: [0, 0, 0.4]}}}
  payload: {mass: 50 g, shape: {type: sphere, radius: 15 mm}}
joints:
  shoulder: {type: revolute, child: upper, axis: y, angle: {initial: 30 deg}}
  elbow: {type: revolute, parent: upper.end, child: fore, axis: y, angle: {initial: 60 deg}}
  grip: {type: weld, parent: rod.tip, child: payload}
rods:
  rod: {parent: fore.end, rotation: {axis: y, angle: 40 deg}, length: 50 cm, section: wire, material: steel}
"""


@pytest.mark.parametrize("word", ["pcs:4", "cosserat:6", "finite_element:4", "polynomial:2"])
def test_an_arm_falls_with_the_rod_that_it_carries(word):
    rest = pliant.equilibrium(pliant.derive(with_rod_model(pliant.load_text(ARM), "rod", word)))
    assert (rest.status, rest.stable) == ("converged", True)
    assert rest.iterations < 120
    assert rest.frames["payload"].position[2] < -1.0
    assert rest.frames["fore.end"].position == pytest.approx([0.011, 0, -0.8], abs=0.02)


SLENDER = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {pressure: {value: 0 Pa, input: true}, moment: 0 N*m, pull: {value: 0 N, input: true}}
sections: {round: {shape: circle, radius: 2 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
rods:
  rod:
    length: 1 m
    section: round
    material: rubber
    damping: 1e-6
    chambers: {one: {pressure: =pressure, radius: 0.5 mm, positions: [[1.2 mm, 0]]}}
    model: {kind: KIND}
loads: {tip: {frame: rod.tip, moment: [0, =moment, 0]}}
tendons: {line: {type: tension, through: [{rod: rod, offset: [20 mm, 0]}], tension: =pull}}
"""
BENDING = 1e6 * np.pi / 4 * 2e-3**4


@pytest.mark.filterwarnings("ignore:the rod")
@pytest.mark.parametrize(
    ("kind", "most"), [("pcs, elements: 8", 10), ("finite_element, elements: 8", 45), ("cosserat, elements: 16", 20)]
)
def test_a_slender_rod_bends_by_three_radians(kind, most):
    """E A L^2 / E I = 10^6. Under a chamber and a moment the rod is an arc of three radians."""
    eqs = pliant.derive(pliant.load_text(SLENDER.replace("KIND", kind)))
    area = np.pi * 0.5e-3**2
    blown = pliant.equilibrium(eqs, inputs={"pressure": 3 * BENDING / (area * 1.2e-3)})
    turned = pliant.equilibrium(eqs, parameters={"moment": 3 * BENDING}, stability="any")
    pulled = pliant.equilibrium(eqs, inputs={"pull": 3 * BENDING / 20e-3})
    assert (blown.status, blown.stable) == ("converged", True)
    assert blown.iterations < most
    assert turned.iterations < 10
    assert pulled.iterations < 10
    assert pulled.stable is True
    exact = np.array([(1 - np.cos(3)) / 3, 0, np.sin(3) / 3])
    np.testing.assert_allclose(turned.frames["rod.tip"].position, exact, atol=2e-4)
    # the chamber's push also stretches the rod, and bends it to the other side
    stretched = 1 + 3 * BENDING / 1.2e-3 / (1e6 * np.pi * 2e-3**2)
    np.testing.assert_allclose(blown.frames["rod.tip"].position, stretched * exact * [-1, 1, 1], atol=1e-3)
    # between its eyelets the line takes straight shortcuts, so it bends less; all kinds have the same ten spans
    assert pulled.frames["rod.tip"].position[0] == pytest.approx(0.5836, abs=2e-3)


@pytest.mark.parametrize("word", ["finite_element:10", "pcs:10", "cosserat:10"])
def test_the_four_bar_with_a_flexible_coupler_hangs(word):
    rest = pliant.equilibrium(pliant.derive(with_rod_model(pliant.load("flexible_four_bar"), "coupler", word)))
    assert (rest.status, rest.stable) == ("converged", True)
    assert rest.iterations < 20
    assert rest.outputs["crank"] == pytest.approx(-1.61478, abs=1e-5)
    rigid = pliant.equilibrium(pliant.derive("four_bar"))
    assert rest.outputs["crank"] == pytest.approx(rigid.coordinates["q1"], abs=0.05)


@pytest.fixture(scope="module")
def balloon():
    """The soft module with the published update of stiffness, which softens until it can hold no more pressure."""
    text = (Path(pliant.__file__).parent / "models" / "stiff_flop.yaml").read_text()
    return pliant.load_text(text.replace("law: neo_hookean", "law: mean_stretch"))


@pytest.mark.slow
@pytest.mark.parametrize("word", ["pcs:3", "polynomial:2", "finite_element:3", "cosserat:3"])
def test_a_module_near_its_highest_pressure_and_its_mirror_image(balloon, word):
    eqs = pliant.derive(with_rod_model(balloon, "arm", word))
    left, right = (pliant.equilibrium(eqs, inputs={name: 120e3}) for name in ("p2", "p3"))
    assert left.stable is right.stable is True
    assert left.iterations < 60
    tip = np.array(left.outputs["tip"])
    np.testing.assert_allclose(tip, np.array(right.outputs["tip"]) * [-1, 1, 1], atol=1e-8)
    np.testing.assert_allclose(tip, [-43.65e-3, 25.2e-3, 25.9e-3], atol=4e-4)


@pytest.mark.parametrize("word", ["pcs:3", "polynomial:2"])
def test_beyond_its_highest_pressure_no_rest_is_reported(balloon, word):
    eqs = pliant.derive(with_rod_model(balloon, "arm", word))
    with pytest.raises(pliant.AnalysisFailed, match="no equilibrium found") as failed:
        pliant.equilibrium(eqs, inputs={"p2": 150e3})
    assert failed.value.result.status == "failed"


def test_a_column_far_beyond_its_buckling_load_leans_over():
    """A tip load of 12 times the first buckling load, exactly along the rod: Euler's elastica, whose tip is below its base."""
    text = SLENDER.replace("KIND", "finite_element, elements: 16").replace(
        "=moment, 0]", "0, 0], force: [0, 0, =-moment/1 m]"
    )
    eqs = pliant.derive(pliant.load_text(text))
    rest = pliant.equilibrium(eqs, parameters={"moment": 30 * BENDING})
    assert (rest.status, rest.stable) == ("converged", None)  # it can turn about the load's line
    assert "passed an unstable pose" in rest.remarks[0]
    assert rest.iterations < 60
    m = brentq(lambda m: ellipk(m) ** 2 - 30, 0.5, 1 - 1e-12)
    assert rest.frames["rod.tip"].position[2] == pytest.approx(2 * ellipe(m) / ellipk(m) - 1, abs=1e-3)


def test_the_command_shows_an_unstable_pose_and_fails(capsys):
    common = ["equilibrium", "cantilever", "--set", "tip_moment=0.4 N*m", "--json"]
    assert run(common) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "failed"
    assert answer["stable"] is False
    assert "stability='any'" in answer["message"]
    assert run([*common, "--stability", "any"]) == 0
    assert json.loads(capsys.readouterr().out)["stable"] is False


@pytest.mark.parametrize("joint", ["revolute, axis: z", "revolute, axis: [1, 2, 3]", "spherical", "universal"])
@pytest.mark.parametrize(
    "place", ["position: [0.058, -0.051, 0.03]", "position: [1 m, 0, 0.3], rotation: {axis: [1, 2, 3], angle: 0.7}"]
)
def test_a_balanced_wheel_is_at_rest(joint: str, place: str) -> None:
    """All moments of its weight are round-off, and so is their stiffness: no pose balances that."""
    text = f"""
pliant: 1
world: {{gravity: [6.87, 5.13, 8.31]}}
bodies: {{wheel: {{mass: 45 g, inertia: {{principal: [1e-4, 1e-4, 1e-4]}}}}}}
joints: {{axle: {{type: {joint}, child: wheel, {place}}}}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    rest = pliant.equilibrium(eqs)
    assert (rest.status, rest.stable) == ("converged", None)  # it can turn
    assert np.array_equal(rest.q, eqs.initial_state().q)


def test_a_wheel_on_an_arm_is_at_rest() -> None:
    text = """
pliant: 1
bodies:
  arm: {mass: 1 kg, center_of_mass: [0.2, 0, 0], frames: {tip: {position: [0.377, 0.11, 0.05]}}}
  wheel: {mass: 45 g}
joints:
  shoulder: {type: revolute, child: arm, axis: y, position: [0.058, -0.051, 0.03], angle: {spring: 30}}
  axle: {type: revolute, child: wheel, parent: arm.tip, axis: x}
"""
    rest = pliant.equilibrium(pliant.derive(pliant.load_text(text)))
    assert rest.stable is None
    moment = 9.81 * (0.2 + 0.045 * 0.377) * np.cos(rest.q[0]) + 9.81 * 0.045 * 0.05 * np.sin(rest.q[0])
    assert 30 * rest.q[0] == pytest.approx(moment, rel=1e-8)
