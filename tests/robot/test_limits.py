"""Files that try to hurt: too large, too deep, exploding, circular, reaching outside, running code."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from pliant import derive, dump, simulate
from pliant.analysis.derivation.check import check
from pliant.language.faults import ExpressionError, SpecError
from pliant.language.syntax import parse
from pliant.robot.reader import load, load_text

HEAD = "pliant: 1\nbodies:\n  rod: {mass: 1 kg}\njoints:\n  hinge: {type: revolute, child: rod}\n"


def refused(text: str, **options: str) -> str:
    """The faults of a model that must be refused within the time limit."""
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        load_text(text, **options)
    assert time.process_time() - start < 5
    return str(caught.value)


def bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bomb(), "too many values"),
        ("[" * 100_000, "nested too deeply"),
        ("{a: " * 100_000, "nested too deeply"),
        ("- " * 100_000, "nested too deeply"),
        ("".join(" " * depth + "a:\n" for depth in range(1000)), "nested too deeply"),
        (f"a: [{'1,' * 490_000}]", "too many values"),
        ("a: '" + "x" * 900_000 + "'", "text is too long"),
        ("a" * 1000 + " " * 900_000 + ": 1", "not valid YAML"),
        ("x" * 10_000_000, "too large"),
        ("&a [*a]", "unknown YAML anchor"),
        (HEAD + "x: !!python/object/apply:os.system [ls]", "tags"),
        (HEAD + "x: !include /etc/passwd", "tags"),
        (HEAD + "<<: {pliant: 1}", "unknown key '<<'"),
        (HEAD.replace("1 kg", "\0"), "not valid YAML"),
    ],
    ids=lambda value: value[:20].strip() if isinstance(value, str) else None,
)
def test_hostile_yaml_is_refused(text: str, message: str) -> None:
    assert message in refused(text)


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(10_000_000)
    assert "too large (10.0 MB)" in str(check(path)[0])


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for name in (tmp_path, tmp_path / "pipe.yaml", tmp_path / "missing.yaml", "\0", "a" * 5000, "/dev/zero"):
        assert "cannot" in str(check(name)[0])


NAMED = (
    "include: [{}.yaml]",
    "attach: {{x: {{model: {}.yaml}}}}",
    "meshes: {{net: {{type: membrane, drawing: {{file: {}.stl}}, mass: 1 g, stiffness: 1 N}}}}",
    "surfaces: {{rock: {{type: mesh, file: {}.stl}}}}",
    "surfaces: {{hill: {{type: height_field, size: [1 m, 1 m], file: {}.csv}}}}",
    "parameters: {{u: {{value: 0 N, input: true}}}}\ninputs: {{u: {{series: {{file: {}.csv, column: x}}}}}}",
)
"""Everywhere where a model names a file."""


@pytest.mark.parametrize("key", NAMED)
def test_a_file_that_a_model_names_is_called_what_it_is(key: str, tmp_path: Path) -> None:
    for suffix in (".yaml", ".stl", ".csv"):
        os.mkfifo(tmp_path / f"pipe{suffix}")
        (tmp_path / f"folder{suffix}").mkdir()
        with (tmp_path / f"huge{suffix}").open("wb") as file:
            file.truncate(3_000_000_000)
    for name, words in (("pipe", "it is a pipe"), ("folder", "it is a folder"), ("huge", "too large (3000.0 MB)")):
        assert words in refused(HEAD + key.format(name), folder=str(tmp_path))
    assert "there is no file" in refused(HEAD + key.format("missing"), folder=str(tmp_path))


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(HEAD)
    monkeypatch.setattr("pliant.language.source.os.access", lambda path, mode: False)  # the tests may be run as root
    assert "permission denied" in str(check(tmp_path / "a.yaml")[0])


def test_limits_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_LIMITS", "parts=5,elements=30,model=200")
    assert "more than 5 parts" in refused(HEAD.replace("mass", "count: 6, mass"))
    rods = "rods: {a: {length: 1 m, section: s, material: m, model: {kind: cosserat, elements: 31}}}"
    assert "have 31 elements" in refused(f"pliant: 1\nsections: {{s: {{shape: circle, radius: 1 cm}}}}\n{rods}")
    net = "meshes: {net: {type: membrane, drawing: {rectangle: [1, 1], cells: [5, 5]}, mass: 1, stiffness: 1}}"
    assert "the mesh has 36 nodes" in refused(f"pliant: 1\n{net}")
    assert "too large" in refused(HEAD + "#" * 200)


def test_binary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_bytes(b"\xff\xfe\x00pliant: 1")
    assert "not UTF-8" in str(check(path)[0])


@pytest.mark.parametrize(
    "expression",
    [
        "=__import__('os')",
        "=__import__('os').system('ls')",
        "=exec('1')",
        "=eval(1)",
        "=open('/etc/passwd')",
        "=().__class__",
        "=length.real",
        "=lambda x: x",
        "=[x for x in y]",
        "=x if y else z",
        "={1: 2}",
        "='a'*1000",
        "=1;2",
        "=a[0][1]",
        "=a[:]",
        "=a := 1",
        "=\\x41",
        "=${HOME}",
        "=`length",
    ],
)
def test_expressions_can_only_calculate(expression: str) -> None:
    with pytest.raises(ExpressionError):
        parse(expression)


@pytest.mark.parametrize(
    "expression",
    ["=" + "(" * 200 + "1" + ")" * 200, "=" + "-" * 900 + "1", "=" + "1+" * 400 + "1", "=" + "2^" * 100 + "2",
     "=" + "sin(" * 100 + "1" + ")" * 100, "=" + "9" * 2000],
)  # fmt: skip
def test_expressions_are_limited(expression: str) -> None:
    start = time.process_time()
    with pytest.raises(ExpressionError):
        parse(expression)
    assert time.process_time() - start < 1


def test_huge_powers_cost_nothing() -> None:
    message = refused(HEAD.replace("1 kg", "=9^9^9^9^9"))
    assert "too large" in message


@pytest.mark.parametrize(
    "name",
    ["../x", "a/b", "a b", "a;b", "a-b", 'a"', "a'", "a\\n", "_a", "1a", "ä", "a" * 65, "a.b", "a[1]", "x);//", "${x}",
     "world"],
)  # fmt: skip
def test_names_are_plain_words(name: str) -> None:
    import json

    quoted = json.dumps(name)
    for collection in ("parameters", "bodies", "joints", "outputs", "materials"):
        message = refused(f"pliant: 1\n{collection}:\n  {quoted}: {{}}\n")
        assert "cannot be a name" in message or "is reserved" in message
    coordinate = HEAD.replace("child: rod", f"child: rod, angle: {{name: {quoted}}}")
    message = refused(coordinate)
    assert "cannot be a name" in message or "is reserved" in message


@pytest.mark.parametrize("name", ["t", "i", "pi", "e", "sin", "min", "step"])
def test_words_of_expressions_name_parts_but_no_parameters_and_outputs(name: str) -> None:
    for collection in ("parameters", "outputs", "inputs"):
        assert "is reserved (it has a meaning in expressions)" in refused(f"pliant: 1\n{collection}: {{{name}: 1}}\n")
    text = f"""
pliant: 1
parameters: {{length: 30 cm, free: {{value: 0 N*m, input: true}}}}
bodies: {{{name}: {{mass: 1 kg, center_of_mass: [0, 0, "=-length*e/2"], frames: {{{name}: {{position: [0, 0, =-length]}}}}}}}}
joints: {{{name}: {{type: revolute, child: {name}, axis: y, angle: {{initial: 1 rad, spring: =e*1 N*m, input: =free*t/1 s}}}}}}
loads: {{{name}: {{frame: {name}.{name}, force: [=cos(t/1 s)*1 N, 0, =e*1 N]}}}}
outputs: {{end: {{frame: {name}.{name}}}, turn: {{coordinate: {name}}}, both: {{expression: =end.x*e + t*1 m/s}}}}
"""
    robot = load_text(text)
    assert load_text(dump(robot)) == robot
    run = simulate(derive(robot), 0.1, inputs={"free": 0.3})
    other = simulate(derive(load_text(renamed(text, name))), 0.1, inputs={"free": 0.3})
    for output in ("end", "turn", "both"):
        assert (run.recorded[f"output.{output}"] == other.recorded[f"output.{output}"]).all()


def renamed(text: str, name: str) -> str:
    """The text with another name of its parts: as a key, the child of the joint, or in a reference."""
    return re.sub(rf"(?<=[{{. ]){name}(?=[:.}},])", "part", text).replace("=end.x*part", "=end.x*e")


def test_includes_in_a_circle(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.yaml").write_text(f"pliant: 1\ninclude: [{other}.yaml]\n")
    faults = check(tmp_path / "a.yaml")
    assert "a.yaml -> b.yaml -> c.yaml -> a.yaml" in faults[0].message
    assert faults[0].file == str(tmp_path / "c.yaml")
    assert faults[0].line == 2


def test_includes_that_branch_without_end(tmp_path: Path) -> None:
    for level in range(12):
        both = f"include: [{level + 1}.yaml, {level + 1}.yaml]" if level < 11 else ""
        (tmp_path / f"{level}.yaml").write_text(f"pliant: 1\n{both}\n")
    start = time.process_time()
    assert "too many files" in str(check(tmp_path / "0.yaml"))
    assert time.process_time() - start < 5


def test_models_that_attach_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(HEAD + "attach: {x: {model: b.yaml}}\n")
    (tmp_path / "b.yaml").write_text(HEAD + "attach: {x: {model: a.yaml}}\n")
    assert "circular attachment of models" in str(check(tmp_path / "a.yaml"))


def test_attached_models_that_branch_without_end(tmp_path: Path) -> None:
    for level in range(12):
        both = f"attach: {{x: {{model: {level + 1}.yaml}}, y: {{model: {level + 1}.yaml}}}}" if level < 11 else ""
        (tmp_path / f"{level}.yaml").write_text(HEAD + both + "\n")
    start = time.process_time()
    assert "too many models are attached" in str(check(tmp_path / "0.yaml"))
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret.yaml", "sub/../../secret.yaml", "link.yaml"])
@pytest.mark.parametrize("key", ["include: [{}]", "attach: {{x: {{model: {}}}}}"])
def test_files_outside_the_folder_are_not_read(name: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(HEAD)
    inner = tmp_path / "inner"
    (inner / "sub").mkdir(parents=True)
    (inner / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    path = inner / "model.yaml"
    path.write_text(HEAD + key.format(name) + "\n")
    assert "outside the folder" in str(check(path)[0])
    if name != "/etc/passwd" and key.startswith("include"):
        assert load(path, folders=[tmp_path]).bodies


def test_many_instances_are_refused_quickly() -> None:
    start = time.process_time()
    for count in ("10001", "1000000000", "=1e40", "=10^9"):
        message = refused(HEAD.replace("mass", f"count: {count}, mass"))
        assert "more than 10000 parts" in message
    assert time.process_time() - start < 5


def test_text_cannot_move_the_cursor() -> None:
    message = refused(HEAD.replace("rod:", '"rod\\e[2J":'))
    assert "\x1b" not in message
    assert "\\x1b" in message


def test_too_many_parts_are_one_fault(tmp_path):
    path = tmp_path / "model.yaml"
    path.write_text(
        "pliant: 1\nbodies: {rod: {count: =10^9, mass: 1 kg, inertia: {principal: [1, 1, 1]}}}\n"
        "joints: {j: {type: revolute, parent: world, child: rod, axis: y}}\n"
        "outputs: {z: {frame: rod}, y: {frame: 'rod[3]'}}\n"
    )
    assert [fault.path for fault in check(path)] == ["bodies.rod.count"]
