"""URDF robots: as in Pinocchio, as text that loads to the same robot, and rejected with clear messages if invalid."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
from beside_pinocchio import pinocchio_error

import pliant
from pliant.cli import run

ROBOTS = Path(__file__).parent / "robots"
FEATURES = ROBOTS / "features.urdf"

ARM = """\
<robot name="arm">
  <link name="base"/>
  <link name="rod">
    <inertial><origin xyz="0 0 0.5"/><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="hinge" type="revolute">
    <parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="30" velocity="2"/>
  </joint>
</robot>
"""


def written(folder: Path, text: str | bytes, name: str = "arm.urdf") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def faults(file: Path) -> list[pliant.Fault]:
    with pytest.raises(pliant.SpecError) as caught:
        pliant.load(file)
    return list(caught.value.faults)


def test_the_equations_are_those_of_pinocchio() -> None:
    pytest.importorskip("pinocchio")
    error, bodies, rates = pinocchio_error(FEATURES, 4)
    assert (bodies, rates) == (10, 6 + 6 + 3)
    assert error < 1e-10


def test_the_text_is_the_same_robot(tmp_path: Path) -> None:
    found = pliant.import_robot(FEATURES)
    assert found.robot == pliant.load(FEATURES)
    assert pliant.load_text(found.text()) == found.robot
    found.save(tmp_path / "features.yaml")
    assert pliant.load(tmp_path / "features.yaml") == found.robot


def test_joints_carry_what_the_file_says() -> None:
    robot = pliant.load(FEATURES)
    eqs = pliant.derive(robot)
    assert eqs.inputs == ("shoulder_torque", "elbow_torque", "slide_force", "grip_torque")
    assert eqs.declared_bounds("shoulder_torque") == (-50, 50)
    assert eqs.initial_state().q[2] == 0.05
    tied = robot.joints["grip_too"].angle.equal_to
    assert (tied.coordinate, tied.ratio, tied.offset) == ("grip", -0.5, 0.1)
    stop = robot.joints["slide"].displacement.limits
    assert stop.stiffness * 2e-3 == pytest.approx(20)  # holds the effort two millimetres deep
    shoulder = robot.joints["shoulder"].angle
    assert (shoulder.damper.coefficient, shoulder.friction.torque) == (0.7, 0.4)


def test_what_is_left_out_is_listed_with_its_line() -> None:
    found = pliant.import_robot(FEATURES)
    notes = {(note.line, note.path): note.message for note in found.notes}
    assert notes[66, "joint elbow"] == "<safety_controller> has no counterpart"
    assert notes[23, ""] == "the link '2nd-arm' was renamed to 'link_2nd_arm'"
    assert notes[75, "joint spin"] == "a joint without an effort limit has no input"
    assert notes[92, ""] == "<sensor> has no counterpart"
    speeds = [remark for remark in pliant.load(FEATURES).remarks if "velocity" in remark.message]
    assert [remark.message for remark in speeds] == [
        "the velocity limit of a joint has no counterpart (4 times; pliant import lists them)"
    ]
    assert "66     joint elbow      <safety_controller> has no counterpart" in str(found)


def test_commands_take_such_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, ARM)
    assert run(["import", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["parts"] == {"parameters": 1, "bodies": 2, "joints": 1}
    assert answer["notes"][0]["line"] == 8
    assert pliant.load_text(answer["text"]) == pliant.load(file)
    assert run(["import", str(file), "--out", str(tmp_path / "arm.yaml")]) == 0
    assert run(["check", str(tmp_path / "arm.yaml")]) == 0
    assert run(["simulate", str(file), "--until", "0.1", "--json"]) == 0


def test_a_model_attaches_or_includes_such_a_file(tmp_path: Path) -> None:
    written(tmp_path, ARM)
    attached = written(
        tmp_path, "pliant: 1\nattach: {arm: {model: arm.urdf}}\nbodies: {hand: {mass: 1, parent: arm/rod}}", "a.yaml"
    )
    robot = pliant.load(attached)
    assert pliant.derive(robot).coordinates == ("arm/hinge",)
    assert any("velocity" in remark.message for remark in robot.remarks)
    included = written(tmp_path, "pliant: 1\ninclude: arm.urdf\nbodies: {rod: {mass: 3}}", "b.yaml")
    robot = pliant.load(included)
    assert robot.bodies["rod"].mass == 3
    assert any("velocity" in remark.message for remark in robot.remarks)


CUBE = "\n".join(f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)) + "\nf 1 2 3\nf 6 7 8\nf 4 5 6\n"


def with_mesh(name: str, scale: str = "1 1 1") -> str:
    shape = f'<collision><geometry><mesh filename="{name}" scale="{scale}"/></geometry></collision>'
    return ARM.replace('<link name="base"/>', f'<link name="base">{shape}</link>')


def test_meshes_are_surfaces_from_declared_folders_only(tmp_path: Path) -> None:
    package = tmp_path / "packages" / "arm_description"
    package.mkdir(parents=True)
    (package / "cube.obj").write_text(CUBE)
    (tmp_path / "robot").mkdir()
    file = written(tmp_path / "robot", with_mesh("package://arm_description/cube.obj", "0.1 0.1 0.1"))
    (refused,) = (note for note in pliant.import_robot(file).notes if "mesh" in note.message)
    assert refused.message == "a mesh is not imported: its file is in none of the declared folders"
    assert refused.line == 2
    for folder in (tmp_path / "packages", package):
        surface = pliant.load(file, folders=[folder]).surfaces["base_collision"]
        assert (surface.type, surface.scale) == ("convex", 0.1)
    found = pliant.import_robot(file, folders=[package])
    found.save(tmp_path / "arm.yaml")
    assert pliant.load(tmp_path / "arm.yaml").surfaces["base_collision"].file == "packages/arm_description/cube.obj"


def test_results_hold_the_hulls_of_meshes(tmp_path: Path) -> None:
    (tmp_path / "cube.obj").write_text(CUBE)
    eqs = pliant.derive(pliant.load(written(tmp_path, with_mesh("cube.obj", "0.1 0.1 0.1"))))
    run = pliant.simulate(eqs, 0.01)
    again = pliant.load_text(run.recorded.attributes["model_text"]).surfaces["base_collision"]
    assert (again.file, again.scale, len(again.points)) == (None, 0.1, 8)


@pytest.mark.parametrize(
    "name", ["../cube.obj", "{above}/cube.obj", "file://{above}/cube.obj", "package://../cube.obj"]
)
def test_no_path_leads_out_of_the_folders(name: str, tmp_path: Path) -> None:
    (tmp_path / "cube.obj").write_text(CUBE)
    (tmp_path / "robot").mkdir()
    file = written(tmp_path / "robot", with_mesh(name.format(above=tmp_path)))
    assert not pliant.load(file).surfaces
    assert any("none of the declared folders" in note.message for note in pliant.import_robot(file).notes)


def test_mirrored_meshes_have_their_points_in_the_model(tmp_path: Path) -> None:
    (tmp_path / "cube.obj").write_text(CUBE)
    surface = pliant.load(written(tmp_path, with_mesh("cube.obj", "1 -2 1"))).surfaces["base_collision"]
    assert np.min(surface.points, axis=0).tolist() == [0, -2, 0]
    note = pliant.import_robot(written(tmp_path, with_mesh("cube.wrl"))).notes[0]
    assert note.message == "a mesh is not imported: meshes of the format .wrl are not supported"


WRONG = {
    "entities": (ARM.replace("<robot", '<!DOCTYPE r [<!ENTITY a "b">]><robot', 1), "document types and entities"),
    "external": (ARM.replace("<robot", '<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot', 1), "document types"),
    "cut short": (ARM[:200], "not well formed"),
    "NaN": (ARM.replace('value="2"', 'value="nan"'), "'nan' is not a finite number"),
    "infinite": (ARM.replace('value="2"', 'value="1e999"'), "is not a finite number"),
    "negative mass": (ARM.replace('value="2"', 'value="-2"'), "the mass cannot be negative"),
    "negative inertia": (ARM.replace('ixx="0.1"', 'ixx="-0.1"'), "a moment of inertia cannot be negative"),
    "two numbers": (ARM.replace("0 0 0.5", "0 0.5"), "expected 3 finite numbers"),
    "a macro": (ARM.replace("0 0 0.5", "0 0 ${length}"), "expand macros with xacro"),
    "no axis": (ARM.replace("0 1 0", "0 0 0"), "the axis has no length"),
    "duplicate": (ARM.replace('"rod">', '"base">'), "there are two links 'base'"),
    "unknown parent": (ARM.replace('parent link="base"', 'parent link="bse"'), "did you mean 'base'?"),
    "no parent": (ARM.replace('<parent link="base"/>', ""), "has no <parent>"),
    "its own parent": (ARM.replace('parent link="base"', 'parent link="rod"'), "form a loop"),
    "no such type": (ARM.replace('"revolute"', '"revolut"'), "did you mean 'revolute'?"),
    "follows nothing": (ARM.replace("<axis", '<mimic joint="hing"/><axis'), "did you mean 'hinge'?"),
    "no robot": ("<robot/>", "the robot has no links"),
    "two roots": (ARM.replace("</robot>", '<link name="alone"/></robot>'), "2 links are not the child of any joint"),
    "held twice": (
        ARM.replace(
            "</robot>", '<joint name="too" type="fixed"><parent link="base"/><child link="rod"/></joint></robot>'
        ),
        "is the child of two joints",
    ),
    "too deep": ("<robot>" + "<a>" * 5000, "nested too deeply"),
    "not text": (b"<robot\x00\xff", "not well formed"),
    "other encoding": (b'<?xml version="1.0" encoding="klingon"?><robot/>', "encoding"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_words(case: str, tmp_path: Path) -> None:
    text, said = WRONG[case]
    file = written(tmp_path, text)
    assert any(said in str(fault) for fault in faults(file)), [str(fault) for fault in faults(file)]
    assert run(["check", str(file)]) == 2


def test_a_circle_of_links_apart_from_the_root(tmp_path: Path) -> None:
    around = "".join(
        f'<link name="{a}"/><joint name="j{a}" type="fixed"><parent link="{b}"/><child link="{a}"/></joint>'
        for a, b in ("pq", "qp")
    )
    (fault,) = faults(written(tmp_path, ARM.replace("</robot>", f"{around}</robot>")))
    assert "the joints form a loop through 'p'" in fault.message


@pytest.mark.parametrize("count", [1000, 10_000])
def test_thousands_of_links_are_refused_soon(count: int, tmp_path: Path) -> None:
    links = "".join(f'<link name="a{k}"/>' for k in range(count))
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="a{k}"/><child link="a{k + 1}"/></joint>'
        for k in range(count - 1)
    )
    file, began = written(tmp_path, f"<robot>{links}{joints}</robot>"), time.process_time()
    found = pliant.check(file)
    assert time.process_time() - began < 20
    assert not found if count == 1000 else "too" in found[0].message
