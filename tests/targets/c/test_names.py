"""Names of the model in C: valid, different, and out of the way of others."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_export import WARNINGS, Export, exported, gcc, needs_gcc, numbers, reference
from hypothesis import given
from hypothesis import strategies as st

from pliant.engine.c_code import literal
from pliant.io.c_text import comment, identifiers, robot_identifier, string

HOSTILE = """
pliant: 1
name: 'int main(void) */ "x" ??/'
parameters: {double: 1, M_PI: 2, a_b: 0.3, EOF: {value: 0, input: true}, struct: {value: 0.1, input: true}}
defaults: {bodies: {inertia: {principal: [0.1, 0.1, 0.1]}}}
bodies:
  a: {mass: =double, frames: {b: {position: [=a_b, 0, 0]}, b_2: {position: [1, 0, 0]}}}
  a_b: {mass: =M_PI, count: 2, frames: {tip: {position: [0.1, 0, 0]}}}
  a_b_1_tip: {mass: 1}
joints:
  for: {type: prismatic, child: a, axis: x, displacement: {input: =EOF}}
  while: {type: revolute, parent: a.b, child: a_b, axis: y, angle: {input: =struct}}
  pl_forward: {type: revolute, parent: "a_b[1].tip", child: a_b_1_tip, axis: z}
"""


@pytest.mark.slow
@needs_gcc
def test_hostile_names(tmp_path: Path) -> None:
    export = exported(HOSTILE, tmp_path / "c")
    assert export.name == "int_main_void_x"
    found = numbers(export.build(), "0.05", "1", "double=1.5", "struct=0.2")
    header = (export.folder / f"{export.name}.h").read_text(encoding="utf-8")
    frames = re.findall(r"INT_MAIN_VOID_X_FRAME_(\w+),", header)
    assert len(frames) == len(set(frames)) == len(export.equations.frame_names)
    parameters = {"double": 1.5}
    expected = reference(export, found[:, 0], parameters=parameters, inputs={"struct": 0.2})
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_names_become_different_identifiers() -> None:
    names = ["a.b", "a_b", "a[b]", "left/bar", "a_b_2", "link[3].tip", "..", "/"]
    assert identifiers(names) == [
        "a_b_3", "a_b", "a_b_4", "left_bar", "a_b_2", "link_3_tip", "unnamed", "unnamed_2"
    ]  # fmt: skip


@given(st.lists(st.text(alphabet="ab_.[]/1", max_size=6), unique=True, max_size=12))
def test_identifiers_are_valid_and_unique(names: list[str]) -> None:
    found = identifiers(names)
    assert len(set(found)) == len(names)
    assert all(re.fullmatch(r"\w+", word, re.ASCII) for word in found)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("four_bar", "four_bar"),
        ("My Arm (v2)", "my_arm_v2"),
        ("", "robot"),
        ("机器人", "robot"),
        ("3 bar", "robot_3_bar"),
        ("math", "math_robot"),
        ("main", "main_robot"),
        ("test", "test_robot"),
        ("pl", "robot_pl"),
        ("pl_linear", "robot_pl_linear"),
        ("x" * 100, "x" * 40),
    ],
)
def test_a_robot_is_called_by_a_name_that_nothing_else_has(title: str, name: str) -> None:
    assert robot_identifier(title) == name


@given(st.text())
def test_any_text_fits_into_strings_and_comments(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    literal = string(text)
    assert literal.isascii()
    assert "??" not in literal
    body = re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]), literal[1:-1].encode())
    assert body == text.encode()
    assert "*/" not in comment(text)
    assert "\n" not in comment(text)


@given(st.floats())
def test_numbers_read_back_exactly(value: float) -> None:
    text = literal(value)
    if np.isfinite(value):
        assert float(text) == value
    else:
        assert text in ("NAN", "INFINITY", "-INFINITY")


@needs_gcc
def test_two_robots_in_one_program(flier: Export, four_bar: Export, tmp_path: Path) -> None:
    both = tmp_path / "both.c"
    both.write_text(
        '#include "flier.h"\n#include "robot.h"\n#include <stdio.h>\n'
        "int main(void) {\n  flier_robot *a = flier_new();\n  robot_robot *b = robot_new();\n"
        "  const int bad = flier_step(a, 1e-3) | robot_step(b, 1e-3);\n  flier_free(a);\n  robot_free(b);\n"
        "  return bad;\n}\n",
        encoding="utf-8",
    )
    flags = [f"-I{flier.folder}", f"-I{four_bar.folder}"]
    program = tmp_path / "both"
    gcc(*WARNINGS, *flags, "-o", program, both, *flier.objects, *four_bar.objects, "-lm")
    subprocess.run([program], check=True)


@needs_gcc
def test_all_public_symbols_carry_the_name_of_the_robot(flier: Export) -> None:
    done = subprocess.run(["nm", "-g", "--defined-only", *flier.objects], capture_output=True, text=True, check=True)
    symbols = [line.split()[-1] for line in done.stdout.splitlines() if len(line.split()) == 3]
    assert len(symbols) > 50
    assert [s for s in symbols if not s.startswith("flier_")] == []


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_header_is_good_for_cpp(flier: Export, tmp_path: Path) -> None:
    source = tmp_path / "node.cpp"
    source.write_text('#include "flier.h"\nint main() { return flier_new() == nullptr; }\n', encoding="utf-8")
    flags = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{flier.folder}"]
    subprocess.run(["g++", *flags, source], check=True)
