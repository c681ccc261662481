"""What docs/untrusted-models.md says of strangers' models, watched from inside the interpreter: files, processes, network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import pliant
from pliant.language.limits import Limits

PAGE = Path(__file__).parents[2] / "docs" / "untrusted-models.md"

WATCHING = """
import json, sys
events = []
def watch(name, given):
    if name.startswith(("open", "socket.", "subprocess.", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.system")):
        events.append((name, str(given[0]), str(given[1]) if len(given) > 1 else ""))
from pliant.cli import run
run(["check", "four_bar"])  # what is imported on the way is not of interest
sys.addaudithook(watch)
code = run(["check", "model.yaml", "--json"])
with open(sys.argv[1], "w") as file:
    json.dump([code, events], file)
"""

MODEL = """
pliant: 1
include: [part.yaml]
parameters: {push: {value: 0 N, input: true}}
attach: {other: {model: pendulum, to: rod}}
inputs: {push: {series: {file: series.csv, column: x}}}
surfaces: {hill: {type: height_field, size: [1 m, 1 m], file: heights.txt}}
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "model.yaml").write_text(MODEL)
    (folder / "part.yaml").write_text(
        "pliant: 1\nbodies: {rod: {mass: 1 kg}}\njoints: {hinge: {type: revolute, child: rod}}\n"
    )
    (folder / "series.csv").write_text("t,x\n0,0\n1,1\n")
    (folder / "heights.txt").write_text("0 0\n0 1\n")
    noted = folder / "noted.json"
    subprocess.run([sys.executable, "-c", WATCHING, str(noted)], cwd=folder, check=True, capture_output=True)
    code, events = json.loads(noted.read_text())
    assert code == 0
    return folder, events


def test_checking_starts_no_process_and_uses_no_network(watched) -> None:
    _, events = watched
    assert [event for event in events if event[0] != "open"] == []


def test_checking_reads_the_files_of_the_model_and_writes_none(watched) -> None:
    folder, events = watched
    package = Path(pliant.__file__).parent
    libraries = (sys.prefix, sys.base_prefix, str(package))
    opened = {os.path.join(folder, path): mode for _, path, mode in events if not path.endswith("noted.json")}
    others = {path: mode for path, mode in opened.items() if not path.startswith(libraries) or path.endswith(".yaml")}
    assert {Path(path).name for path in others} == {
        "model.yaml",
        "part.yaml",
        "series.csv",
        "heights.txt",
        "pendulum.yaml",
    }
    assert not any(set(mode) & set("wax+") for mode in others.values())


def test_the_page_lists_the_limits() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _ in rows] == [field.name for field in fields(Limits)]
    for name, shown in rows:
        number, size = re.fullmatch(r"([0-9]+)(MB|GB)?|none", shown).groups()
        unit = {None: 1, "MB": 1e6, "GB": 1e9}[size]
        assert getattr(Limits(), name) == (None if number is None else float(number) * unit)


@pytest.mark.skipif(sys.platform != "linux", reason="the recipe is for Linux")
def test_the_recipe_of_the_page_runs(tmp_path: Path) -> None:
    script = re.search(r"```sh\n(#!/bin/sh.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert script is not None
    cache = os.environ.get("PLIANT_CACHE", str(tmp_path))
    words = {'pliant "$@"': f'{sys.executable} -m pliant "$@"', "/var/cache/pliant": cache}
    text = script[1].replace("OPENBLAS_NUM", f"PYTHONPATH={os.pathsep.join(filter(None, sys.path))} OPENBLAS_NUM")
    for old, new in words.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "serve.sh").write_text(text)
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "model.yaml").write_text("pliant: 1\nbodies: {rod: {mass: =mas}}\n")
    if subprocess.run(["unshare", "--user", "--net", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not allow unsharing namespaces")
    command = ["sh", str(tmp_path / "serve.sh"), str(tmp_path / "job"), "check", "model.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout)["status"] == "faults"
