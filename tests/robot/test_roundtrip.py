"""Text and Python are one to one: a spec writes back to text that loads to an equal spec."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from generated import robots
from hypothesis import HealthCheck, given, settings

import pliant
from pliant.analysis.simulate import Simulate
from pliant.language.faults import SpecError
from pliant.language.parameter import Environment, Parameter
from pliant.language.placement import AxisRotation, Placement
from pliant.language.source import MODEL_FOLDER, bundled
from pliant.parts.body import Body, SlenderRod
from pliant.parts.input import Sine, SineInput
from pliant.parts.joint import Chain, Revolute
from pliant.parts.joint.coordinate import AngleCoordinate, AngleSpring
from pliant.parts.link import Axial
from pliant.robot.reader import load, load_text
from pliant.robot.robot import RobotSpec
from pliant.robot.writer import dump, save

relaxed = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@given(robots())
@relaxed
def test_a_generated_robot_writes_back(data: dict[str, Any]) -> None:
    spec = RobotSpec(**data)
    text = dump(spec)
    again = load_text(text)
    assert again == spec
    assert dump(again) == text
    assert load_text(text, variant="other").parameters["length"].value == 2 if spec.variants else True


@given(robots())
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_generated_robot_shows_and_evaluates(data: dict[str, Any]) -> None:
    spec = RobotSpec(**data)
    assert str(spec)
    assert "<table>" in spec._repr_html_()
    flat = pliant.flatten(spec)
    assert Environment(flat.parameters).values["length"] == pytest.approx(0.3)


@pytest.mark.parametrize("name", bundled())
def test_a_bundled_robot_writes_back(name: str) -> None:
    spec = load(name)
    assert load_text(dump(spec), folder=MODEL_FOLDER) == spec


PYTHON = RobotSpec(
    name="arm",
    parameters={"length": Parameter(value="50 cm"), "drive": Parameter(value="0 N*m", input=True)},
    bodies={
        "rod": Body(
            mass="200 g",
            center_of_mass=(0, 0, "=-length/2"),
            shape=SlenderRod(length="=length", axis="z"),
            frames={"tip": Placement(position=(0, 0, "=-length"), rotation=(AxisRotation(axis="x", angle=1),))},
        ),
        "hand": Body(mass=0.1),
    },
    joints={
        "hinge": Revolute(
            child="rod",
            axis="y",
            angle=AngleCoordinate(initial="30 deg", spring=AngleSpring(coefficient=2), input="=drive"),
        ),
        "wrist": Chain(parent="rod.tip", child="hand", transforms=({"rotate": {"axis": "x", "angle": "free"}},)),
    },
    links={"rope": Axial(between=("world", "rod.tip"), spring="3 N/m")},
    inputs={"drive": SineInput(sine=Sine(amplitude="1 N*m", frequency="2 Hz"))},
    analyses=(Simulate(until="5 s"),),
)

TEXT = """\
pliant: 1
name: arm
parameters:
  length: 50 cm
  drive: {value: 0 N*m, input: true}
bodies:
  rod:
    mass: 200 g
    center_of_mass: [0, 0, =-length/2]
    shape: {type: slender_rod, length: =length, axis: z}
    frames:
      tip: {position: [0, 0, =-length], rotation: {axis: x, angle: 1}}
  hand: {mass: 0.1}
joints:
  hinge:
    type: revolute
    child: rod
    axis: y
    angle: {initial: 30 deg, spring: 2, input: =drive}
  wrist: {type: chain, parent: rod.tip, child: hand, transforms: [{rotate: {axis: x, angle: free}}]}
links:
  rope: {type: axial, between: [world, rod.tip], spring: 3 N/m}
inputs:
  drive: {sine: {amplitude: 1 N*m, frequency: 2 Hz}}
analyses:
  - simulate: {until: 5 s}
"""


def test_python_and_text_say_the_same() -> None:
    assert load_text(TEXT) == PYTHON
    assert load_text(dump(PYTHON)) == PYTHON


def test_python_gets_the_same_faults_as_text() -> None:
    text = "pliant: 1\nbodies: {rod: {mass: 5 mm, mas: 1}}\njoints: {hinge: {type: revolute, child: rd}}\n"
    with pytest.raises(SpecError) as from_text:
        load_text(text)
    with pytest.raises(SpecError) as from_python:
        RobotSpec(bodies={"rod": {"mass": "5 mm", "mas": 1}}, joints={"hinge": Revolute(child="rd")})
    in_text = [(fault.path, fault.message, fault.hint) for fault in from_text.value.faults]
    in_python = [(fault.path, fault.message, fault.hint) for fault in from_python.value.faults]
    assert in_text == in_python
    assert [fault.line for fault in from_python.value.faults] == [None] * len(in_python)


def test_a_spec_cannot_be_changed_but_replaced() -> None:
    with pytest.raises(Exception, match="frozen"):
        PYTHON.name = "other"
    assert PYTHON.replace(name="other").name == "other"
    with pytest.raises(SpecError, match="has no joint"):
        PYTHON.replace(joints={})


def test_defaults_are_written_once_and_can_be_removed() -> None:
    text = """\
pliant: 1
defaults:
  bodies: {mass: 1 kg}
  joints: {type: revolute, angle: {damper: 0.1, spring: 3}}
bodies: {a: {}, b: {mass: 2 kg}}
joints:
  one: {child: a}
  two: {parent: a, child: b, angle: {damper: null, initial: 1}}
"""
    spec = load_text(text)
    assert spec.bodies["a"].mass == "1 kg"
    assert spec.joints["two"].angle.damper is None
    assert spec.joints["two"].angle.spring.coefficient == 3
    written = dump(spec)
    assert written.count("1 kg") == 1
    assert load_text(written) == spec


def test_saving_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "arm.yaml"
    save(PYTHON, path)
    assert load(path) == PYTHON
    before = path.read_text()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save(PYTHON.replace(name="other"), path)
    assert path.read_text() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["arm.yaml"]


@pytest.mark.parametrize("name", ["cloth", "net", "spider_web", "tissue_block"])
def test_flat_meshes_are_compared_and_written_back(name: str) -> None:
    """The nodes and edges that flattening computes do not count: they follow from the drawing, and are arrays."""
    flat = pliant.flatten(pliant.load(name))
    assert flat == pliant.flatten(pliant.load(name))
    assert pliant.load_text(pliant.dump(flat), folder=MODEL_FOLDER).meshes == flat.meshes
    mesh = next(iter(flat.meshes))
    assert flat != flat.replace(
        meshes={**flat.meshes, mesh: flat.meshes[mesh].model_copy(update={"damping_time": 1.0})}
    )


def test_recorded_inputs_and_solids_are_compared() -> None:
    text = """
pliant: 1
parameters: {u: {value: 0 N, input: true}}
bodies: {a: {mass: 1 kg}}
joints: {j: {type: prismatic, child: a, displacement: {input: =u}}}
surfaces: {hull: {type: convex, points: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, LAST]]}}
inputs: {u: {series: {times: [0, 1, 2], values: [0, 1, END]}}}
"""
    one = text.replace("LAST", "1").replace("END", "2")
    flat = pliant.flatten(pliant.load_text(one))
    assert flat == pliant.flatten(pliant.load_text(one))
    assert flat == pliant.load_text(pliant.dump(flat))
    assert flat != pliant.flatten(pliant.load_text(text.replace("LAST", "2").replace("END", "2")))
    assert flat != pliant.flatten(pliant.load_text(text.replace("LAST", "1").replace("END", "3")))
