"""Standard output and error that are closed, full, or in an encoding that lacks characters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="uses a shell of Unix")
PLIANT = f"{sys.executable} -m pliant"


def _shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, cwd=folder, env={**os.environ, **environment}, check=False
    )


def test_a_closed_stderr_leaves_only_the_object_on_stdout(tmp_path):
    done = _shell(f"{PLIANT} simulate pendulum --until 0.1 --out run.nc --json 2>&-", tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "completed"
    failed = _shell(f"{PLIANT} modes nosuch --json 2>&-", tmp_path)
    assert failed.returncode == 2
    assert json.loads(failed.stdout)["status"] == "faults"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is always full")
def test_a_full_stderr_does_not_change_the_exit_code(tmp_path):
    assert _shell(f"{PLIANT} check nosuch 2>/dev/full", tmp_path).returncode == 2
    assert _shell(f"{PLIANT} simulate pendulum --until 0.1 --out run.nc 2>/dev/full", tmp_path).returncode == 0
    assert (tmp_path / "run.nc").is_file()


@pytest.mark.parametrize("words", ["--help", "show --help", "schema", "show pendulum --json"])
def test_a_reader_that_leaves_is_no_error(tmp_path, words):
    done = _shell(f"{PLIANT} {words} | true; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")


MODEL = r"""
pliant: 1
description: "Gelenk für \x9b31m\u202e"
bodies: {a: {mass: 1 kg}}
joints: {j: {type: prismatic, parent: world, child: a, axis: [0, 0, 1]}}
"""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8:strict"])
def test_every_encoding_gets_one_object(tmp_path, encoding):
    (tmp_path / "m.yaml").write_text(MODEL)
    done = _shell(f"{PLIANT} show m.yaml --json", tmp_path, PYTHONIOENCODING=encoding)
    assert done.returncode == 0
    assert json.loads(done.stdout.decode("utf-8"))["description"] == "Gelenk für \x9b31m\u202e"
    text = _shell(f"{PLIANT} show m.yaml", tmp_path, PYTHONIOENCODING=encoding)
    assert (text.returncode, text.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["ascii", "utf-8:strict"])
def test_a_file_name_that_is_not_utf8(tmp_path, encoding):
    done = _shell(rf"{PLIANT} check $'\xff.yaml' --json", tmp_path, PYTHONIOENCODING=encoding)
    assert done.returncode == 2
    assert json.loads(done.stdout.decode("utf-8"))["model"] == os.fsdecode(b"\xff.yaml")
    assert b"Traceback" not in done.stderr


def test_files_cannot_control_the_terminal(tmp_path):
    (tmp_path / "m.yaml").write_text(MODEL)
    (tmp_path / "a.obj").write_text("g a\x1b[31mb\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (tmp_path / "a.csv").write_text("t [s],a\x1b[31m [m]\n0,1\n1,2\n")
    for words in ("show m.yaml --json", "mesh a.obj", "compare pendulum --against a.csv --output height --columns a"):
        done = _shell(f"{PLIANT} {words}", tmp_path)
        for stream in (done.stdout, done.stderr):
            assert all(letter.isprintable() or letter == "\n" for letter in stream.decode()), words


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is always full")
def test_an_error_that_cannot_be_printed_has_its_exit_code(tmp_path):
    done = _shell(f"{PLIANT} modes nosuch --json >/dev/full", tmp_path)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"nosuch" in done.stderr
