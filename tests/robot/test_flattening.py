"""Flattening: repeats, values per instance, attached models."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from pliant import derive
from pliant.language.faults import SpecError
from pliant.language.parameter import Environment
from pliant.language.source import bundled
from pliant.robot import coordinate_table, flatten, load, load_text, structural_parameters

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
    environment = Environment(flat.parameters)
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
    environment = Environment(flat.parameters)
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
    environment = Environment(flat.parameters)
    assert environment.value(flat.bodies["left/rod"].center_of_mass[0]) == 0.1
    assert environment.value(flat.bodies["right/rod"].center_of_mass[0]) == 0.25


def test_attached_within_attached(folder: Path) -> None:
    (folder / "top.yaml").write_text(
        "pliant: 1\nattach:\n  pair: {model: outer.yaml, parameters: {left/length: 7 m, reach: 2 m}}\n"
    )
    flat = flatten(load(folder / "top.yaml"))
    environment = Environment(flat.parameters)
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


ALONG = """\
pliant: 1
parameters:
  number: 3
  pull: {count: =number, value: {each: [1 N, 2 N, =3 N]}, input: true, maximum: =10 N*i}
  hole: 8 mm
  height: 1 m
materials: {wire: {density: 6450 kg/m^3, youngs_modulus: 54 GPa, poissons_ratio: 0.33}}
sections: {round: {shape: circle, radius: =0.5 mm, count: 2}}
defaults: {rods: {material: wire}}
bodies:
  disc: {count: 4, along: backbone, mass: 1 g, rotation: {axis: z, angle: =i*10 deg}}
  clip: {count: 2, along: {rod: backbone, at: =2 cm*i}, mass: 1 g}
  plate:
    parent: world
    position: [0, 0, =-height]
    mass: 1 kg
    frames: {hole: {count: =number, around: z, position: [=hole, 0, 0]}}
rods:
  backbone: {length: =2*height, section: "round[1]", frames: {mark: {count: 2, at: "=i*1 cm"}}}
  link: {count: 3, parent: "link[i-1].tip", first_parent: "plate.hole[2]", length: =i*1 cm, section: "round[2]"}
tendons:
  line: {type: tension, count: =number, tension: "=2*pull[i] + pull[count - i + 1]", through: ["plate.hole[i]", "disc[i]"]}
  wave: {type: tension, tension: 1 N, through: [plate, disc, {frame: link.tip, position: [0, 0, 1 mm]}]}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [link, floor]}}
inputs:
  pull: "=i*1 N + count*2 N"
  pull[2]: {ramp: {end: =i*1 s, after: 5 N}}
outputs:
  tension: {count: =number, tendon: "line[i]"}
  place: {frame: "link[2].tip"}
  sum: {count: 2, expression: "=tension[i] + tension[i+1] + place.x*pull[1]/(1 m)"}
"""


def test_rods_parameters_frames_inputs_and_outputs_are_repeated() -> None:
    flat = flatten(load_text(ALONG))
    environment = Environment(flat.parameters)
    assert environment.inputs == ("pull[1]", "pull[2]", "pull[3]")
    assert [environment.values[name] for name in environment.inputs] == [1.0, 2.0, 3.0]
    assert [environment.value(flat.parameters[name].maximum) for name in environment.inputs] == [10.0, 20.0, 30.0]
    assert [rod.parent for rod in flat.rods.values()] == ["world", "plate.hole[2]", "link[1].tip", "link[2].tip"]
    assert [environment.value(rod.length) for rod in flat.rods.values()] == pytest.approx([2.0, 0.01, 0.02, 0.03])
    assert flat.rods["link[2]"].section == ("round[2]",)
    assert list(flat.bodies["plate"].frames) == ["hole[1]", "hole[2]", "hole[3]"]
    tensions = [environment.signal(flat.tendons[f"line[{i}]"].tension) for i in (1, 2, 3)]
    assert tensions == [2 * 1 + 3, 2 * 2 + 2, 2 * 3 + 1]
    points = [point.frame for point in flat.tendons["wave"].through]
    assert points == ["plate", *(f"disc[{i}]" for i in range(1, 5)), *(f"link[{i}].tip" for i in range(1, 4))]
    assert flat.contacts["ground"].between == (("link[1]", "link[2]", "link[3]"), ("floor",))
    assert [environment.value(flat.inputs[f"pull[{i}]"]) for i in (1, 3)] == [7.0, 9.0]
    assert environment.value(flat.inputs["pull[2]"].ramp.end) == 2.0
    assert [output.tendon for output in list(flat.outputs.values())[:3]] == ["line[1]", "line[2]", "line[3]"]
    assert flat.outputs["sum[2]"].expression == "=tension[2] + tension[3] + place.x * pull[1] / 1 m"
    assert structural_parameters(load_text(ALONG)) == {"number"}


def test_bodies_along_a_rod_are_welded_to_it() -> None:
    flat = flatten(load_text(ALONG))
    environment = Environment(flat.parameters)
    welds = [flat.joints[f"disc[{i}]"] for i in range(1, 5)]
    assert [weld.parent for weld in welds] == [
        "backbone.disc[1]",
        "backbone.disc[2]",
        "backbone.disc[3]",
        "backbone.tip",
    ]
    frames = flat.rods["backbone"].frames
    assert [environment.value(frames[f"disc[{i}]"].at) for i in (1, 2, 3)] == pytest.approx([0.5, 1.0, 1.5])
    assert [environment.value(frames[f"clip[{i}]"].at) for i in (1, 2)] == pytest.approx([0.02, 0.04])
    assert [environment.value(frames[f"mark[{i}]"].at) for i in (1, 2)] == pytest.approx([0.01, 0.02])
    assert environment.value(welds[2].rotation[0].angle) == pytest.approx(math.radians(30))
    plate = flat.joints["plate"]
    assert (plate.type, plate.parent, environment.value(plate.position[2])) == ("weld", "world", -1.0)


AROUND = """\
pliant: 1
bodies:
  hub:
    parent: world
    mass: 1 kg
    frames:
      even: {count: 3, around: z, position: [2 m, 0, 1 m]}
      pairs: {count: 4, around: x, mirror: z, position: [0, 1 m, 0.5 m], rotation: {z_along: [0, 3 m, 4 m]}}
      given: {around: {axis: [0, 0, 2], angle: 90 deg}, position: [1 m, 0, 0]}
      image: {mirror: y, position: [1 m, 2 m, 3 m], rotation: {axis: x, angle: 30 deg}}
"""


def test_places_around_an_axis_and_mirrored() -> None:
    eqs = derive(load_text(AROUND))
    found = {name: eqs.frame(f"hub.{name}", eqs.initial_state().q) for name in ("even[1]", "even[2]", "even[3]")}
    for k, place in enumerate(found.values()):
        angle = 2 * math.pi * k / 3
        assert place.position == pytest.approx([2 * math.cos(angle), 2 * math.sin(angle), 1.0])
        assert place.rotation[:, 0] == pytest.approx([math.cos(angle), math.sin(angle), 0.0])  # x points outwards
    q = eqs.initial_state().q
    pairs = [eqs.frame(f"hub.pairs[{i}]", q) for i in range(1, 5)]
    places = [[0, 1, 0.5], [0, 1, -0.5], [0, -1, -0.5], [0, -1, 0.5]]
    axes = [[0, 0.6, 0.8], [0, -0.6, 0.8], [0, -0.6, -0.8], [0, 0.6, -0.8]]  # a mirrored z axis, reversed
    for frame, place, axis in zip(pairs, places, axes, strict=True):
        assert frame.position == pytest.approx(place)
        assert frame.rotation[:, 2] == pytest.approx(axis)
        assert frame.rotation.T @ frame.rotation == pytest.approx(np.eye(3))
        assert np.linalg.det(frame.rotation) == pytest.approx(1.0)
    assert eqs.frame("hub.given", q).position == pytest.approx([0, 1, 0])
    image = eqs.frame("hub.image", q)
    assert image.position == pytest.approx([1, -2, 3])
    assert image.rotation[:, 2] == pytest.approx([0, 0.5, math.cos(math.radians(30))])  # mirrored at y = 0


INLINE = """\
pliant: 1
parameters: {size: 3 cm}
models:
  finger:
    parameters: {length: 1 m, push: {count: 2, value: 0 N, input: true}}
    bodies: {bone: {mass: 1 kg, frames: {tip: {position: [0, 0, =length]}}}}
    joints: {knuckle: {type: revolute, child: bone, axis: y}}
    attach: {nail: {model: nail, to: bone.tip}}
    loads: {push: {count: 2, frame: bone, force: ["=push[i]", 0, 0]}}
  nail:
    bodies: {plate: {mass: 1 g, parent: world}}
attach:
  hand: {count: 3, model: finger, around: z, position: [=size, 0, 0], parameters: {length: =size*i, "push[1]": =i*1 N}}
links:
  band: {type: axial, count: 2, between: ["hand[i]/bone.tip", "hand[i+1]/nail/plate"], spring: 5 N/m}
"""


def test_models_within_the_text_are_attached_several_times() -> None:
    flat = flatten(load_text(INLINE))
    environment = Environment(flat.parameters)
    assert [name for name in flat.bodies if name.endswith("bone")] == [f"hand[{i}]/bone" for i in (1, 2, 3)]
    tips = [flat.bodies[f"hand[{i}]/bone"].frames["tip"].position[2] for i in (1, 2, 3)]
    assert [environment.value(tip) for tip in tips] == pytest.approx([0.03, 0.06, 0.09])
    assert flat.joints["hand[2]/nail/world"].parent == "hand[2]/bone.tip"
    assert environment.value(flat.joints["hand[2]/world"].around.angle) == pytest.approx(2 * math.pi / 3)
    assert [end.frame for end in flat.links["band[2]"].between] == ["hand[2]/bone.tip", "hand[3]/nail/plate"]
    assert environment.value(flat.loads["hand[3]/push[1]"].force[0]) == 3.0
    assert set(environment.inputs) == {f"hand[{i}]/push[2]" for i in (1, 2, 3)}
    assert load_text(load_text(INLINE).to_yaml()) == load_text(INLINE)
    assert load_text(load_text(ALONG).to_yaml()) == load_text(ALONG)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bodies: {a: {mass: 1 kg, parent: world}}", "no bodies that are fixed without a joint"),
        ("bodies: {a: {mass: 1 kg, count: 2}}", "no repeated parts"),
        ("attach: {left: {model: pendulum}}", "no attached models"),
    ],
)
def test_a_flat_model_has_nothing_to_expand(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        load_text(f"pliant: 1\nflat: true\n{text}\n")


FIXED = """
pliant: 1
materials: {steel: {density: 7850 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
sections: {wire: {shape: circle, radius: 1 mm}}
rods: {rod: {length: 20 cm, section: wire, material: steel, model: {kind: pcs, elements: 2}}}
bodies:
  disc: {count: 4, along: rod, mass: 2 g, rotation: {axis: x, angle: 30 deg}}
  foot: {parent: world, position: [1 cm, 2 cm, 0], mass: 1 kg, mirror: y}
  hand: {parent: rod.tip, position: [0, 0, 1 cm], mass: 3 g, around: z, count: 2}
"""


@pytest.mark.slow
@pytest.mark.parametrize("robot", [*bundled(), "fixed bodies"])
def test_the_text_of_a_flat_model_is_the_same_model(robot):
    """Results contain this text, from which films and reports draw the robot."""
    spec = load_text(FIXED) if robot == "fixed bodies" else load(robot)
    flat = derive(spec).model.text
    again = derive(load_text(flat))
    assert again.model.text == flat


def test_a_changed_model_may_still_read_its_additional_folders(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "inner").mkdir()
    (tmp_path / "shared" / "sub.yaml").write_text(CHAIN)
    file = tmp_path / "inner" / "model.yaml"
    file.write_text("pliant: 1\nattach: {chain: {model: ../shared/sub.yaml}}\n")
    robot = load(file, folders=[tmp_path / "shared"]).replace(description="changed")
    assert "chain/link[2]" in flatten(robot).bodies


def test_a_parameter_that_the_number_of_instances_hides_is_refused() -> None:
    text = "pliant: 1\nparameters: {count: 5 kg}\nbodies: {b: {count: 3, mass: =count}}\njoints: {j: {type: free, child: b}}\n"
    with pytest.raises(
        SpecError, match="`count` is the number of instances here, 3, but there is also a parameter 'count'"
    ):
        load_text(text)
