"""The cache of compiled code: shared, damaged, read-only, and a machine without a compiler."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest
from pliant.equations.compile import CompileError, NoCompiler, build_library, find_compiler, load_libraries

from pliant.equations import compile as cache
from pliant.equations.kernel import motion_kernels
from pliant.motion import SCREW

FLAGS = ("-O0", "-fPIC")


def source(value: int) -> dict[str, str]:
    return {"answer.c": f"int answer(void) {{ return {value}; }}\n"}


def build(value: int) -> Path:
    return build_library("answer", source(value), ["answer.c"], FLAGS)


def answer(path: Path) -> int:
    return int(ctypes.CDLL(str(path)).answer())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh cache folder."""
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_second_build_comes_from_the_cache(folder: Path) -> None:
    first = build(1)
    stamp = first.stat().st_mtime_ns
    assert answer(first) == 1
    assert build(1) == first
    assert first.stat().st_mtime_ns == stamp
    assert sorted(p.suffix for p in folder.iterdir()) == [".so", ".sum"]


def test_source_flags_and_name_are_part_of_the_key(folder: Path) -> None:
    paths = {
        build(1),
        build(2),
        build_library("other", source(1), ["answer.c"], FLAGS),
        build_library("answer", source(1), ["answer.c"], (*FLAGS, "-DX=1")),
    }
    assert len(paths) == 4


@pytest.mark.parametrize("damage", ["truncated", "empty", "wrong checksum", "checksum not text", "no checksum"])
def test_damaged_files_are_compiled_again(folder: Path, damage: str) -> None:
    library = build(3)
    checksum = library.with_suffix(".sum")
    good = library.read_bytes()
    if damage == "truncated":
        library.write_bytes(good[: len(good) // 2])
    elif damage == "empty":
        library.write_bytes(b"")
    elif damage == "wrong checksum":
        checksum.write_text("0" * 64, encoding="ascii")
    elif damage == "checksum not text":
        checksum.write_bytes(b"\xff\xfe\x00")
    else:
        checksum.unlink()
    assert build(3) == library
    assert answer(library) == 3
    stamp = library.stat().st_mtime_ns
    build(3)
    assert library.stat().st_mtime_ns == stamp


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a regular file no folder can be made, not even by root."""
    obstacle = tmp_path / "file"
    obstacle.write_text("in the way", encoding="ascii")
    monkeypatch.setenv("PLIANT_CACHE", str(obstacle / "cache"))
    with pytest.warns(UserWarning, match="PLIANT_CACHE"):
        library = build(4)
    assert answer(library) == 4
    assert obstacle.read_text(encoding="ascii") == "in the way"
    # said once; afterwards the same folder of this process serves
    assert build(4) == library


def test_no_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    assert find_compiler() is None
    with pytest.raises(NoCompiler, match="gcc"):
        build(5)
    with pytest.raises(NoCompiler):
        load_libraries((motion_kernels(SCREW),))


def test_chosen_compiler(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CC comes first, and another compiler is another key."""
    usual = find_compiler()
    assert usual is not None
    before = build(6)
    wrapper = tmp_path / "mycc"
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo mycc 1.0 && exit\ntouch {tmp_path}/used\nexec {usual} "$@"\n',
        encoding="ascii",
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", str(wrapper))
    assert find_compiler() == str(wrapper)
    after = build(6)
    assert (tmp_path / "used").exists()
    assert before != after
    assert answer(after) == 6


def test_refused_code_leaves_nothing_behind(folder: Path) -> None:
    with pytest.raises(CompileError, match="broken"):
        build_library("broken", {"a.c": "int f( {"}, ["a.c"], FLAGS)
    assert list(folder.iterdir()) == []


def run_together(script: str, count: int) -> list[str]:
    """Start processes at once on the same cache folder and return what each prints."""
    processes = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    out = []
    for process in processes:
        printed, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        out.append(printed.strip())
    return out


MODEL = """
import numpy as np
from pliant.equations.compiled import CompiledEngine
from pliant.model.inputs import InputPlan
from pliant.model.system import SystemBuilder
from pliant.geometry import se3
from pliant.motion import SCREW
import casadi as ca
builder = SystemBuilder()
builder.gravity([0, 0, -9.81])
builder.element(0, [(SCREW, se3.identity(), [0, 0, 0, 0, 1, 0])])
builder.mass(1, 2.0, ca.DM([0.5, 0, 0]), ca.DM.zeros(3, 3), se3.identity())
system = builder.build()
engine = CompiledEngine(system, InputPlan())
engine.theta[:] = system.constants.numbers
print(engine.forward(0.0, np.zeros(1), np.zeros(1))[0][0])
"""


def test_two_processes_compile_the_same_model_at_once(folder: Path) -> None:
    """A pendulum held level: its angular acceleration is g / length."""
    for printed in run_together(MODEL, 2):
        assert float(printed) == pytest.approx(9.81 / 0.5, rel=1e-12)
    names = sorted(p.name for p in folder.iterdir())
    assert not [n for n in names if n.startswith("build-")]
    libraries = [p for p in folder.iterdir() if p.suffix == ".so"]
    assert sorted(p.name.split("-")[0] for p in libraries) == ["motion_screw", "runtime"]
    for library in libraries:
        assert cache._is_sound(library)


def test_a_cache_that_can_only_be_read_still_serves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build(7)

    def refuse(place: Path) -> Path:
        raise AssertionError(f"nothing needs to be written, but {place} was asked for")

    monkeypatch.setattr(cache, "_writable_cache", refuse)
    assert build(7) == path


def test_a_full_disk_is_reported_with_a_way_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(CompileError, match=r"No space left on device.*PLIANT_CACHE"):
        build(8)


def test_flags_behind_the_compiler_and_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = find_compiler()
    monkeypatch.setenv("CC", f"{plain} -g")
    assert find_compiler() == plain
    monkeypatch.setenv("CC", "/nowhere/cc")
    with pytest.warns(UserWarning, match=r"'/nowhere/cc' named by CC is not found"):
        assert find_compiler() is not None
