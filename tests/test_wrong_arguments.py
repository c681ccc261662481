"""Public functions reject wrong arguments with messages of their own, not with those of Python or NumPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pliant
from pliant.language.arguments import ArgumentError

NEED_EQUATIONS: dict[str, Any] = {
    "export_fmu": lambda robot: pliant.export_fmu(robot, "a.fmu"),
    "export_mjcf": lambda robot: pliant.export_mjcf(robot, "a.xml"),
    "export_urdf": lambda robot: pliant.export_urdf(robot, "a.urdf"),
    "sketch": lambda robot: pliant.sketch(robot),
    "film": lambda robot: pliant.film(robot, None, "a.gif"),
    "manipulability": lambda robot: pliant.manipulability(robot, "rod.tip", [0.1]),
    "required_inputs": lambda robot: pliant.required_inputs(robot, [0.1]),
    "fit": lambda robot: pliant.fit(robot, ["length"], []),
}


@pytest.mark.parametrize("name", NEED_EQUATIONS)
def test_a_robot_without_equations(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for robot in (pliant.load("pendulum"), "pendulum", None):
        with pytest.raises(ArgumentError, match=r"needs equations, not .*pliant\.derive"):
            NEED_EQUATIONS[name](robot)


@pytest.fixture(scope="module")
def eqs() -> pliant.Equations:
    return pliant.derive("pendulum")


@pytest.mark.parametrize("file", [None, b"a.xml", "a\0.xml", ""])
def test_files_without_a_name(eqs: pliant.Equations, file: Any) -> None:
    for export in (pliant.export_fmu, pliant.export_mjcf, pliant.export_urdf):
        with pytest.raises(ArgumentError, match="file must be the name of a file"):
            export(eqs, file)


def test_wrong_numbers(eqs: pliant.Equations) -> None:
    for seed in ("x", -1, [None]):
        with pytest.raises(ArgumentError, match="seed must be an integer of at least 0"):
            pliant.equilibria(eqs, starts=2, seed=seed)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="q must have 1 entries"):
        eqs.mass_matrix(10**400)
    for limits in ({"hinge": 1}, {"hinge": "abc"}, {"hinge": (1, 2, 3)}):
        with pytest.raises(ArgumentError, match="limits of 'hinge' are not two numbers"):
            pliant.inverse_kinematics(eqs, "rod.tip", [0.1, 0, -0.4], limits=limits)
    with pytest.raises(ArgumentError, match="limits must map names"):
        pliant.inverse_kinematics(eqs, "rod.tip", [0.1, 0, -0.4], limits="x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="no parameters to fit"):
        pliant.fit(eqs, [], [])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("json", [[], ["--json"]])
def test_output_that_cannot_be_written(json: list[str]) -> None:
    words = [sys.executable, "-m", "pliant", "cite", *json]
    with open("/dev/full", "w") as full:
        full_disk = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert full_disk.returncode == 2
    assert full_disk.stderr.startswith("pliant: cannot write the output: No space left on device")
    assert "Exception" not in full_disk.stderr
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], stderr=subprocess.PIPE, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, "")
