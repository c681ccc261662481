"""Flattening: repeats, values per instance, attached models."""

from __future__ import annotations

from pathlib import Path

import pytest

from pliant.language.environment import Environment
from pliant.language.faults import SpecError
from pliant.spec import coordinate_table, flatten, load, load_text, structural_parameters

CHAIN = """\
pliant: 1
parameters:
  number: 3
  length: 10 cm
bodies:
  link:
    count: =number
    mass: {each: [1 kg, 2 kg, =3 kg]}
    center_of_mass: [0, 0, =-length*i/count]
    frames: {tip: {position: [0, 0, =-length]}}
joints:
  bend: {type: universal, parent: "link[i-1].tip", first_parent: world, child: link, angle1: {initial: "=10 deg*i"}}
links:
  rope:
    type: axial
    count: =number-1
    between: ["link[i].tip", "link[i+1].tip"]
    spring: 5 N/m
outputs:
  last: {frame: "link[number].tip"}
"""


def test_a_repeated_body_becomes_its_instances() -> None:
    flat = flatten(load_text(CHAIN))
    environment = Environment(flat)
    assert list(flat.bodies) == ["link[1]", "link[2]", "link[3]"]
    masses = [environment.value(body.mass or 0) for body in flat.bodies.values()]
    assert masses == [1.0, 2.0, 3.0]
    centers = [environment.value(body.center_of_mass[2]) for body in flat.bodies.values()]
    assert centers == pytest.approx([-0.1 / 3, -0.2 / 3, -0.1])
    assert [joint.parent for joint in flat.joints.values()] == ["world", "link[1].tip", "link[2].tip"]
    assert [joint.child for joint in flat.joints.values()] == ["link[1]", "link[2]", "link[3]"]
    assert [entry.name for entry in coordinate_table(flat)][:3] == [
        "bend[1].angle1",
        "bend[1].angle2",
        "bend[2].angle1",
    ]
    assert list(flat.links) == ["rope[1]", "rope[2]"]
    assert [end.frame for end in flat.links["rope[2]"].between] == ["link[2].tip", "link[3].tip"]
    assert flat.outputs["last"].frame == "link[3].tip"
    assert structural_parameters(load_text(CHAIN)) == {"number"}


def test_another_count() -> None:
    text = CHAIN.replace("{each: [1 kg, 2 kg, =3 kg]}", "1 kg")
    assert len(flatten(load_text(text, set={"number": 50})).bodies) == 50
    with pytest.raises(SpecError, match="`each` has 3 values for 4 instances"):
        load_text(CHAIN, set={"number": 4})


def test_named_coordinates_of_instances() -> None:
    text = CHAIN.replace("angle1: {", "angle1: {name: q, ")
    names = [entry.name for entry in coordinate_table(flatten(load_text(text)))]
    assert names[::2] == ["q[1]", "q[2]", "q[3]"]


INNER = """\
pliant: 1
parameters:
  length: {value: 1 m, minimum: 0 m}
  half: =length/2
  torque: {value: 0 N*m, input: true}
materials: {wood: {density: 700 kg/m^3}}
bodies:
  rod:
    shape: {type: cylinder, radius: 1 cm, length: =length}
    material: wood
    center_of_mass: [=half, 0, 0]
    frames: {tip: {position: [=length, 0, 0]}}
joints:
  hinge: {type: revolute, child: rod, axis: y, angle: {input: =torque, damper: 0.1}}
loads:
  push: {frame: rod.tip, force: [0, 0, 1 N]}
inputs:
  torque: {sine: {amplitude: 1 N*m, frequency: 1 Hz}}
outputs:
  tip: {frame: rod.tip}
  energy: {energy: total}
variants:
  damped: {joints: {hinge: {angle: {damper: 5}}}}
"""

OUTER = """\
pliant: 1
parameters: {reach: 3 m, drive: {value: 0 N*m, input: true}}
bodies: {cart: {mass: 1 kg, frames: {top: {position: [0, 0, 1 m]}}}}
joints: {rail: {type: prismatic, child: cart}}
attach:
  left: {model: inner.yaml, to: cart.top, position: [=reach, 0, 0], variant: damped}
  right: {model: inner.yaml, parameters: {length: =reach/2, torque: =2*drive}}
links: {rope: {type: axial, between: [left/rod.tip, right/rod.tip], spring: 5}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inner.yaml").write_text(INNER)
    (tmp_path / "outer.yaml").write_text(OUTER)
    return tmp_path


def test_attached_models(folder: Path) -> None:
    flat = flatten(load(folder / "outer.yaml"))
    environment = Environment(flat)
    assert list(flat.bodies) == ["left/world", "left/rod", "right/world", "right/rod", "cart"]
    weld = flat.joints["left/world"]
    assert (weld.type, weld.parent, weld.child) == ("weld", "cart.top", "left/world")
    assert environment.value(weld.position[0]) == 3.0
    assert flat.joints["left/hinge"].parent == "left/world"
    assert flat.joints["left/hinge"].angle.damper.coefficient == 5
    assert environment.value(flat.bodies["left/rod"].center_of_mass[0]) == 0.5
    assert environment.value(flat.bodies["right/rod"].frames["tip"].position[0]) == 1.5
    assert environment.value(flat.bodies["right/rod"].center_of_mass[0]) == 0.75
    assert flat.bodies["left/rod"].material == "left/wood"
    assert flat.loads["left/push"].expressed_in == "left/world"
    assert set(environment.names) == {"reach", "drive", "left/length", "left/half", "left/torque", "right/half"}
    assert set(environment.inputs) == {"drive", "left/torque"}
    assert set(flat.inputs) == {"left/torque"}
    assert set(flat.outputs) == {"left/tip", "right/tip"}
    torque = flat.joints["right/hinge"].angle.input
    assert environment.with_values({"drive": 4.0}).signal(torque) == 8.0


def test_values_from_outside_reach_attached_models(folder: Path) -> None:
    flat = flatten(load(folder / "outer.yaml", set={"left/length": "20 cm", "reach": 1}))
    environment = Environment(flat)
    assert environment.value(flat.bodies["left/rod"].center_of_mass[0]) == 0.1
    assert environment.value(flat.bodies["right/rod"].center_of_mass[0]) == 0.25


def test_attached_within_attached(folder: Path) -> None:
    (folder / "top.yaml").write_text(
        "pliant: 1\nattach:\n  pair: {model: outer.yaml, parameters: {left/length: 7 m, reach: 2 m}}\n"
    )
    flat = flatten(load(folder / "top.yaml"))
    environment = Environment(flat)
    assert "pair/left/rod" in flat.bodies
    assert flat.joints["pair/left/world"].parent == "pair/cart.top"
    assert environment.value(flat.bodies["pair/left/rod"].frames["tip"].position[0]) == 7.0
    assert environment.value(flat.bodies["pair/right/rod"].frames["tip"].position[0]) == 1.0


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("length: -1 m", "'length' is -1, below its minimum of 0"),
        ("length: 3 kg", "expected a length, got a mass"),
        ("width: 3 m", "no parameter 'width'"),
        ("length: =nothing", "unknown parameter 'nothing'"),
        ("deep/length: 3 m", "no parameter 'deep/length'"),
    ],
)
def test_wrong_overrides_are_reported_where_they_stand(folder: Path, override: str, message: str) -> None:
    text = OUTER.replace("length: =reach/2", override)
    with pytest.raises(SpecError) as caught:
        load_text(text, folder=folder, file="outer.yaml")
    fault = caught.value.faults[0]
    assert message in fault.message
    assert (fault.file, fault.line) == ("outer.yaml", 7)


def test_faults_of_attached_models_name_their_file(folder: Path) -> None:
    (folder / "inner.yaml").write_text(INNER.replace("radius: 1 cm", "radius: 1 kg"))
    with pytest.raises(SpecError) as caught:
        load(folder / "outer.yaml")
    fault = caught.value.faults[0]
    assert (fault.file, fault.line, fault.path) == (str(folder / "inner.yaml"), 9, "bodies.rod.shape.radius")


def test_a_repeated_body_inside_an_attached_model(tmp_path: Path) -> None:
    (tmp_path / "chain.yaml").write_text(CHAIN.replace("{each: [1 kg, 2 kg, =3 kg]}", "1 kg"))
    text = "pliant: 1\nparameters: {n: 4}\nattach: {arm: {model: chain.yaml, parameters: {number: =n}}}\n"
    text += 'outputs: {tip: {frame: "arm/link[n].tip"}}\n'
    spec = load_text(text, folder=tmp_path)
    flat = flatten(spec)
    assert "arm/link[4]" in flat.bodies
    assert flat.joints["arm/bend[2]"].parent == "arm/link[1].tip"
    assert flat.outputs["tip"].frame == "arm/link[4].tip"
    assert structural_parameters(spec) == {"n"}
