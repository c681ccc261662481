"""Equilibria with holding inputs: round-off of inputs, searches that diverge, and remarks of runs that start there."""

from __future__ import annotations

import pytest

import pliant
from pliant.control import Coordinates, rest_with

ARM = """
pliant: 1
parameters: {torque: {count: 3, value: 0 N*m, input: true}, payload: {value: 300 g, minimum: 0 g}}
bodies:
  turret: {mass: 2 kg, center_of_mass: [0, 0, 5 cm], shape: {type: cylinder, radius: 6 cm, length: 10 cm}}
  upper: {mass: 300 g, center_of_mass: [0, 0, 20 cm], shape: {type: slender_rod, length: 40 cm, axis: z}}
  fore: {mass: 200 g, center_of_mass: [0, 0, 15 cm], shape: {type: slender_rod, length: 30 cm, axis: z}}
  load: {parent: fore, position: [0, 0, 30 cm], mass: =payload, shape: {type: sphere, radius: 2 cm}}
joints:
  waist: {type: revolute, axis: z, child: turret, angle: {input: "=torque[1]", damper: 0.02}}
  shoulder: {type: revolute, axis: y, parent: turret, child: upper, angle: {input: "=torque[2]", damper: 0.02}}
  elbow: {type: revolute, axis: y, position: [0, 0, 40 cm], parent: upper, child: fore,
    angle: {input: "=torque[3]", damper: 0.02}}
"""
JOINTS = ("waist", "shoulder", "elbow")


@pytest.fixture(scope="module")
def arm() -> pliant.Equations:
    return pliant.derive(pliant.load_text(ARM))


@pytest.fixture(scope="module")
def pose(arm: pliant.Equations) -> pliant.Equilibrium:
    return rest_with(arm, Coordinates(JOINTS), [0.3, 0.5, 1.0])


@pytest.mark.parametrize("left", [0.0, 2.3e-16, 1e-12])
def test_round_off_of_an_input_along_a_neutral_coordinate_is_no_force(
    arm: pliant.Equations, pose: pliant.Equilibrium, left: float
) -> None:
    assert pose.inputs["torque[1]"] == 0.0
    assert abs(pose.inputs["torque[2]"]) > 1.0
    found = pliant.equilibrium(arm, inputs=pose.inputs | {"torque[1]": left}, start=pose, stability="any")
    assert found.q == pytest.approx(pose.q, abs=1e-6)
    assert found.iterations < 5


def test_a_real_torque_along_a_neutral_coordinate_is_unbalanced(
    arm: pliant.Equations, pose: pliant.Equilibrium
) -> None:
    with pytest.raises(pliant.AnalysisFailed, match="on 'waist' remains unbalanced"):
        pliant.equilibrium(arm, inputs=pose.inputs | {"torque[1]": 1e-6}, start=pose, stability="any")


CRANE = """
pliant: 1
parameters: {torque: {count: 3, value: 0 N*m, input: true}}
materials:
  aluminium: {density: 2700 kg/m^3}
  steel: {density: 7850 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}
sections: {wire: {shape: circle, radius: 3 mm}}
bodies:
  turret: {mass: 2 kg, center_of_mass: [0, 0, 5 cm], shape: {type: cylinder, radius: 6 cm, length: 10 cm}}
  upper:
    shape: {type: tube, outer_radius: 25 mm, inner_radius: 22 mm, length: 40 cm}
    material: aluminium
    center_of_mass: [0, 0, 20 cm]
  fore:
    shape: {type: tube, outer_radius: 20 mm, inner_radius: 18 mm, length: 30 cm}
    material: aluminium
    center_of_mass: [0, 0, 15 cm]
  load: {parent: rod.tip, mass: 300 g, shape: {type: sphere, radius: 2 cm}}
joints:
  waist: {type: revolute, axis: z, child: turret, angle: {input: "=torque[1]"}}
  shoulder: {type: revolute, axis: y, position: [0, 0, 10 cm], parent: turret, child: upper, angle: {input: "=torque[2]"}}
  elbow: {type: revolute, axis: y, position: [0, 0, 40 cm], parent: upper, child: fore, angle: {input: "=torque[3]"}}
rods:
  rod: {parent: fore, position: [0, 0, 30 cm], length: 60 cm, section: wire, material: steel, strains: kirchhoff}
"""


def test_a_search_that_diverges_goes_in_smaller_steps() -> None:
    """From the upright pose, where the stiffness is nearly singular, Newton's method overflows."""
    with pytest.warns(UserWarning, match="is also free in"):
        eqs = pliant.derive(pliant.load_text(CRANE).with_rod("rod", "cosserat:10"))
    found = rest_with(eqs, Coordinates(JOINTS), [0.3, 0.5, 1.0])
    assert [found.coordinates[name] for name in JOINTS] == pytest.approx([0.3, 0.5, 1.0], abs=1e-6)
    assert found.residual < 1e-6


def test_a_run_that_does_not_use_the_inputs_of_its_start_says_so(
    arm: pliant.Equations, pose: pliant.Equilibrium
) -> None:
    run = pliant.simulate(arm, 0.02, start=pose)
    (said,) = [note for note in run.remarks if "equilibrium with other inputs" in note]
    assert f"torque[2] = {pose.inputs['torque[2]']:.4g} N m" in said
    assert "give inputs=pose.inputs to hold it" in said
    for inputs in (pose.inputs, {"torque[2]": 0.0, "torque[3]": 0.0}):
        quiet = pliant.simulate(arm, 0.02, start=pose, inputs=inputs)
        assert not [note for note in quiet.remarks if "other inputs" in note]


def test_a_run_with_other_parameters_than_its_start_says_so(arm: pliant.Equations) -> None:
    heavy = rest_with(arm, Coordinates(JOINTS), [0.3, 0.5, 1.0], parameters={"payload": 0.5})
    run = pliant.simulate(arm, 0.02, start=heavy, inputs=heavy.inputs)
    assert any("other parameters: payload = 0.5 kg" in note for note in run.remarks)


def test_a_start_far_from_the_pose_of_a_controller_is_remarked() -> None:
    held = """
control:
  hold:
    type: lqr
    about: {coordinates: [{coordinate: shoulder, value: 0.5}, {coordinate: elbow, value: 1.0}, {coordinate: waist, value: 0}]}
    sample_time: 5 ms
    coordinate_weights: [{coordinate: waist, value: 10}, {coordinate: shoulder, value: 10}, {coordinate: elbow, value: 10}]
"""
    eqs = pliant.derive(pliant.load_text(ARM + held))
    run = pliant.simulate(eqs, 0.01)
    assert any(
        "the start is 1 (m or rad, 'elbow') from the pose that the controller 'hold' holds" in x for x in run.remarks
    )
    near = pliant.simulate(eqs, 0.01, start={"shoulder": 0.4, "elbow": 0.9})
    assert not any("from the pose that" in x for x in near.remarks)


def test_an_equilibrium_shows_its_holding_inputs(pose: pliant.Equilibrium) -> None:
    shown = f"{pose.inputs['torque[2]']:.6g} N m"
    assert f"torque[2]  {shown}" in repr(pose)
    html = pose._repr_html_()
    assert shown in html
    assert html.index(shown) < html.index("coordinate</th>")
