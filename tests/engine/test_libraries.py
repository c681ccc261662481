"""Where code comes from: a cache that is shared, damaged or read-only, compilers in the background, CasADi's virtual machine."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from pliant.analysis.derivation.derive import derive
from pliant.engine import compiling, libraries
from pliant.engine.c_code import kernel_code
from pliant.engine.compiling import KERNEL_FLAGS, Source, is_sound
from pliant.engine.kernel import Kernels, frame_force_kernels, motion_kernels
from pliant.engine.layout import KernelStruct
from pliant.engine.libraries import (
    CompileError,
    KernelCode,
    NoCompiler,
    build_library,
    find_compiler,
    kernel_library_source,
    load_kernels,
    note_name,
)
from pliant.engine.tables import build_tables
from pliant.parts.external_load import DEAD, WRENCH
from pliant.parts.motion import SCREW
from pliant.robot.reader import bundled_robots, load

FLAGS = ("-O0",)
SLOW = {"slow.c": "int answer(void) { return 1; }\n"}


def source(value: int) -> dict[str, str]:
    return {"answer.c": f"int answer(void) {{ return {value}; }}\n"}


def build(value: int) -> Path:
    return build_library("answer", source(value), ["answer.c"], FLAGS)


def answer(path: Path) -> int:
    return int(ctypes.CDLL(str(path)).answer())


def small_kernels(name: str = "small", factor: float = 2.0) -> Kernels:
    """Two kernels that are not used elsewhere."""
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y")
    moved = factor * x * ca.sin(y)
    value = ca.Function(f"{name}_value", [x, y], [moved, ca.fmax(x[0], y)])
    return Kernels.of(name, value, ca.Function(f"{name}_tangent", [x, y], [ca.densify(ca.jacobian(moved, y))]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A new cache folder and a process without loaded or requested code."""
    libraries.runtime_library()
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(libraries, "PREBUILT_KERNELS", tmp_path / "prebuilt")
    monkeypatch.setattr(libraries, "_registry", {})
    monkeypatch.setattr(libraries, "_asked_for", set())
    monkeypatch.setattr(libraries, "_jobs", [])
    yield tmp_path / "cache"
    for job, _ in libraries._jobs:
        job.wait(timeout=60)


@pytest.fixture
def compiled_runtime() -> list[Path]:
    """What the usual cache has of the runtime, which takes long to compile."""
    libraries.runtime_library()
    usual = libraries.cache_folder()
    return [file for name in ("runtime", "processor", "calls") for file in usual.glob(f"{name}-*.s*")]


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any compiler."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(compiling.importlib.util, "find_spec", lambda name: None)


def wrapper(path: Path, script: str) -> str:
    """A compiler that is a shell script in front of the usual one (`$real`)."""
    usual = find_compiler()
    assert usual is not None
    path.write_text(f"#!/bin/sh\nreal={usual[0]}\n{script}\n", encoding="ascii")
    path.chmod(0o755)
    return str(path)


def until(condition: object, seconds: float = 60.0) -> bool:
    """Wait for something to come true."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


# -- the cache --------------------------------------------------------------------------------------------------------------


def test_second_build_comes_from_the_cache(folder: Path) -> None:
    first = build(1)
    stamp = first.stat().st_mtime_ns
    assert answer(first) == 1
    assert build(1) == first
    assert first.stat().st_mtime_ns == stamp
    assert sorted({p.suffix for p in folder.iterdir()} - {".lock"}) == [compiling.SUFFIX, ".sum"]


def test_source_flags_and_name_are_part_of_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {
        build(1),
        build(2),
        build_library("other", source(1), ["answer.c"], FLAGS),
        build_library("answer", source(1), ["answer.c"], (*FLAGS, "-DX=1")),
    }
    compiler = find_compiler()
    assert compiler is not None
    monkeypatch.setenv("CC", f"{compiler[0]} -g")
    assert len({*paths, build(1)}) == 5


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
    # warned once; afterwards the same folder of this process is used
    assert build(4) == library


def test_a_cache_that_can_only_be_read_still_serves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build(7)

    def refuse(place: Path) -> Path:
        raise AssertionError(f"nothing needs to be written, but {place} was requested")

    monkeypatch.setattr(libraries, "writable_cache", refuse)
    assert build(7) == path


def test_a_full_disk_is_reported_with_a_way_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(CompileError, match=r"No space left on device.*PLIANT_CACHE"):
        build(8)


def test_refused_code_leaves_nothing_behind(folder: Path) -> None:
    with pytest.raises(CompileError, match="broken"):
        build_library("broken", {"a.c": "int f( {"}, ["a.c"], FLAGS)
    assert [p.suffix for p in folder.iterdir()] == [".lock"]


# -- compilers --------------------------------------------------------------------------------------------------------------


def test_no_compiler(folder: Path, no_compiler: None) -> None:
    assert find_compiler() is None
    with pytest.raises(NoCompiler, match="gcc"):
        build(5)


def test_the_compiler_of_a_package(no_compiler: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling.importlib.util, "find_spec", lambda name: name == "ziglang")
    assert find_compiler() == [sys.executable, "-m", "ziglang", "cc"]


def test_the_chosen_compiler_comes_first_with_its_arguments(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = wrapper(tmp_path / "my cc", f'echo "$@" > "{tmp_path}/used"; exec $real "$@"')
    monkeypatch.setenv("CC", f"'{mine}' -DX=1 '-DY=a b'")
    assert find_compiler() == [mine, "-DX=1", "-DY=a b"]
    assert answer(build(6)) == 6
    assert (tmp_path / "used").read_text(encoding="ascii").startswith("-DX=1 -DY=a b")
    monkeypatch.setenv("CC", mine)  # spaces and all
    assert find_compiler() == [mine]
    monkeypatch.setenv("CC", "/nowhere/cc -g")
    with pytest.warns(UserWarning, match=r"'/nowhere/cc' named by CC is not found"):
        assert find_compiler() is not None


# -- processes together -----------------------------------------------------------------------------------------------------


def run_together(script: str, count: int, **environment: str) -> list[str]:
    """Start processes at once on the same cache folder and return what each prints."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        for _ in range(count)
    ]
    out = []
    for process in processes:
        printed, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        out.append(printed.strip())
    return out


TOGETHER = """
import ctypes
from pliant.engine.libraries import build_library
path = build_library("answer", {"answer.c": "int answer(void) { return 9; }"}, ["answer.c"], ("-O0",))
print(ctypes.CDLL(str(path)).answer())
"""


def test_processes_that_start_together_compile_once(folder: Path, tmp_path: Path) -> None:
    compiler = wrapper(tmp_path / "cc", f'echo x >> "{tmp_path}/count"; sleep 1; exec $real "$@"')
    assert run_together(TOGETHER, 3, CC=compiler) == ["9", "9", "9"]
    assert (tmp_path / "count").read_text(encoding="ascii").split() == ["x"]
    assert sorted({p.suffix for p in folder.iterdir()} - {".lock"}) == [compiling.SUFFIX, ".sum"]


def test_the_lock_of_a_killed_process_frees_itself(folder: Path) -> None:
    folder.mkdir()
    made = Source("answer", source(10), ["answer.c"], FLAGS, compiling.levels()[0])
    lock = (folder / made.file_name()).with_suffix(".lock")
    compiler = find_compiler()
    assert compiler is not None
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import fcntl, time; f = open({str(lock)!r}, 'w'); fcntl.flock(f, 2); print(flush=True); "
         "time.sleep(60)"], stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None
    holder.stdout.readline()
    assert not compiling.build(compiler, made, folder / made.file_name(), wait=False)  # another process is compiling
    holder.kill()
    holder.wait()
    assert answer(build(10)) == 10  # at once: no time has to pass


def test_a_lock_is_held_by_one_at_a_time(folder: Path) -> None:
    """Many threads, each with the file of the lock open for itself."""
    folder.mkdir()
    inside, most, done = [0], [0], [0]

    def work() -> None:
        while done[0] < 300:
            with compiling._claimed(folder / "x.so") as is_ours:
                if is_ours:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    done[0] += 1
                    time.sleep(0)
                    inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == [1]
    assert done[0] >= 300


def test_what_killed_processes_leave_is_swept(folder: Path) -> None:
    for name in ("build-old", "build-new"):
        (folder / name).mkdir(parents=True)
        (folder / name / "kernels.c").touch()
    old = time.time() - 2 * compiling.ABANDONED
    os.utime(folder / "build-old", (old, old))
    build(11)
    assert [p.name for p in folder.glob("build-*")] == ["build-new"]


# -- a cache that others can write to ---------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="permissions")
@pytest.mark.parametrize("whose", ["folder", "parent", "owner"])
def test_a_folder_that_others_can_write_to_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    path = build(20)
    if whose == "folder":
        folder.chmod(0o775)
    elif whose == "parent":
        folder.parent.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    else:
        pytest.skip("only root can give a folder away")
    compiling._say_untrusted.cache_clear()
    compiling.writable_cache.cache_clear()
    with pytest.warns(UserWarning, match=r"is not used: .*PLIANT_CACHE"):
        other = build(20)
    assert answer(other) == 20
    assert other.parent != path.parent
    assert other.parent.name.startswith("pliant-cache-")
    assert compiling.why_not_private(other.parent) is None
    compiling.writable_cache.cache_clear()


@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_a_library_that_others_can_write_to_is_compiled_again(folder: Path) -> None:
    path = build(21)
    assert not path.stat().st_mode & 0o022
    path.chmod(0o775)
    written = path.stat().st_mtime_ns
    assert build(21) == path
    assert path.stat().st_mtime_ns != written
    assert not path.stat().st_mode & 0o022


@pytest.mark.parametrize("mask", [0o002, 0o000])
@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_new_folders_are_for_their_user_alone(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, mask: int
) -> None:
    folder = tmp_path / "new" / "cache" / "pliant"
    monkeypatch.setenv("PLIANT_CACHE", str(folder))
    before = os.umask(mask)
    try:
        path = build(22)
    finally:
        os.umask(before)
    assert path.parent == folder
    for new in (folder, folder.parent, folder.parent.parent):
        assert new.stat().st_mode & 0o777 == 0o700
    assert compiling.is_sound(path, private=True)


UNUSABLE = """
import warnings, sys
warnings.simplefilter("ignore")
from pliant.engine.libraries import build_library
path = build_library("answer", {"answer.c": "int answer(void) { return 9; }"}, ["answer.c"], ("-O0",))
print(path, flush=True)
sys.stdin.read()
"""


def test_an_unusable_cache_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    """At the end of a process."""
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "PLIANT_CACHE": str(tmp_path / "file" / "cache"), "TMPDIR": str(tmp_path / "tmp")}
    process = subprocess.Popen(
        [sys.executable, "-c", UNUSABLE], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert Path(process.stdout.readline().strip()).parent.parent == tmp_path / "tmp"
    (there,) = (tmp_path / "tmp").glob("pliant-cache-*")
    assert f"-{process.pid}-" in there.name
    process.communicate()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_full_disk_is_said_in_words(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the compiler says about it, and where it has not been able to say anything."""
    for words in ("/usr/bin/ld: final link failed: No space left on device", "File size limit exceeded", ""):
        monkeypatch.setenv("CC", wrapper(tmp_path / "cc", f"echo '{words}'; exit 1"))
        monkeypatch.setattr(compiling, "LEAST_SPACE", 0 if words else 1 << 62)
        with pytest.raises(
            CompileError, match=r"^cannot compile answer in .*: No space left on device\. Free some space"
        ):
            build(23)
    monkeypatch.setenv("PLIANT_COMPILE", "background")
    libraries._say_unwritten.cache_clear()
    monkeypatch.setenv("CC", wrapper(tmp_path / "cc", "echo 'No space left on device'; exit 1"))
    code = load_kernels((small_kernels("full"),))
    with pytest.warns(UserWarning, match=r"cannot compile in .*: No space left on device; kernels run in CasADi"):
        assert until(lambda: not code.refresh() and not libraries._jobs)
    assert not list(folder.glob("build-*"))


# -- kernels ----------------------------------------------------------------------------------------------------------------


class Caller:
    """Calls one function by address and number, with numbers in and out."""

    def __init__(self, function: ca.Function) -> None:
        self.inputs = [np.zeros(function.nnz_in(i)) for i in range(function.n_in())]
        self.outputs = [np.full(function.nnz_out(i), np.nan) for i in range(function.n_out())]
        self.w, self.iw = np.zeros(function.sz_w() + 1), np.zeros(function.sz_iw() + 1, dtype=np.int64)
        self._arg = (ctypes.c_void_p * max(1, function.sz_arg()))(*(x.ctypes.data for x in self.inputs))
        self._res = (ctypes.c_void_p * max(1, function.sz_res()))(*(x.ctypes.data for x in self.outputs))

    def __call__(self, entry: tuple[int, int]) -> np.ndarray:
        p = ctypes.c_void_p
        call = ctypes.CFUNCTYPE(ctypes.c_int, p, p, p, p, ctypes.c_int)(entry[0])
        assert call(self._arg, self._res, self.iw.ctypes.data, self.w.ctypes.data, entry[1]) == 0
        return np.concatenate([*self.outputs, np.zeros(0)])


def kinds(robot: str) -> tuple[Kernels, ...]:
    model = derive(load(robot)).model
    return build_tables(model.system, model.plan).libraries


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal in every bit, except which NaN it is and the sign of zeros: older versions of CasADi interpret max(0, -0) as either."""
    return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b))))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "mode"),
    [("trunk", "wait"), ("six_leg", "wait"), ("cc_arm_2", "wait"), ("sleeve", "wait"), ("trunk", "quick")],
)
def test_compiled_and_interpreted_kernels_agree_bit_for_bit(
    robot: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In states of many magnitudes, with zeros of both signs among them; optimized and not."""
    rng = np.random.default_rng(3)
    monkeypatch.setenv("PLIANT_COMPILE", mode)
    native = load_kernels(kinds(robot))
    assert native.is_native
    monkeypatch.setattr(libraries, "_registry", {})
    monkeypatch.setattr(libraries._Library, "look", lambda self, folders: False)
    monkeypatch.setenv("PLIANT_COMPILE", "never")
    virtual = load_kernels(kinds(robot))
    assert not virtual.is_native
    for function in (f for kind in kinds(robot) if not kind.lanes for f in kind.functions):
        caller, name = Caller(function), function.name()
        for trial in range(30):
            for x in caller.inputs:
                x[:] = rng.normal(size=x.size) * 10.0 ** rng.integers(-9, 4)
                x[rng.random(x.size) < trial / 29] = rng.choice([0.0, -0.0])
            compiled = caller(native.entry(name)).copy()
            assert same_bits(compiled, caller(virtual.entry(name))), name


def test_without_a_compiler_kernels_run_in_the_virtual_machine(folder: Path, no_compiler: None) -> None:
    kind = small_kernels()
    code = load_kernels((kind,))
    assert not code.is_native
    assert not code.refresh()
    assert code.compile_seconds == 0
    caller = Caller(kind.functions[0])
    caller.inputs[0][:], caller.inputs[1][:] = [1.0, 3.0], 0.5
    assert caller(code.entry("small_value")) == pytest.approx([2 * np.sin(0.5), 6 * np.sin(0.5), 1.0])
    assert not folder.exists()


def test_two_kernels_of_one_name_and_other_content(folder: Path, no_compiler: None) -> None:
    for factor in (2.0, 5.0, 2.0):
        kind = small_kernels(factor=factor)
        caller = Caller(kind.functions[1])
        caller.inputs[0][:] = [1.0, 0.0]
        assert caller(load_kernels((kind,)).entry("small_tangent"))[0] == factor
    assert len(libraries._registry) == 2


def test_quick_takes_optimized_code_that_is_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for mode, others in (("quick", 0), ("wait", 1), ("quick", 1)):
        monkeypatch.setenv("PLIANT_COMPILE", mode)
        monkeypatch.setattr(libraries, "_registry", {})
        code = load_kernels((small_kernels(),))
        assert code.is_native
        optimized = kernel_library_source(small_kernels(), libraries.processor_level()).file_name()
        assert (optimized in libraries._registry) == (others == 1)
        assert (folder / optimized).exists() == (others == 1)
    assert code.compile_seconds == 0
    assert len(list(folder.glob("small-*.sum"))) == 2


@pytest.mark.parametrize("mode", ["wait", "quick"])
def test_waiting_for_the_compiler_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setenv("PLIANT_COMPILE", mode)
    code = load_kernels((small_kernels(),))
    assert code.is_native
    assert code.refresh()
    assert code.compile_seconds > 0
    assert load_kernels((small_kernels(),)).compile_seconds == 0


def test_never_compiled_and_unknown_modes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_COMPILE", "never")
    assert not load_kernels((small_kernels(),)).is_native
    assert not folder.exists()
    monkeypatch.setenv("PLIANT_COMPILE", "soon")
    with pytest.raises(ValueError, match="background, wait, quick or never"):
        load_kernels((small_kernels(),))


def test_prebuilt_kernels_need_no_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_COMPILE", "wait")
    kind = small_kernels()
    made = kernel_library_source(kind, libraries.processor_level())
    compiler = find_compiler()
    assert compiler is not None
    libraries.PREBUILT_KERNELS.mkdir()
    compiling.build(compiler, made, libraries.PREBUILT_KERNELS / made.file_name())
    monkeypatch.setattr(libraries, "find_compiler", lambda: None)
    assert load_kernels((kind,)).is_native
    assert not load_kernels((small_kernels(factor=3.0),)).is_native  # other content


def test_code_compiled_in_the_background_is_swapped_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_COMPILE", "background")
    kind = small_kernels()
    code = load_kernels((kind, motion_kernels(SCREW)))
    seen: dict[str, int] = {}
    code.watch(lambda name, address: seen.update({name: address}))
    row = code.slots(["small_tangent", "small_value", "small_tangent"])
    before = [(slot.call, slot.number) for slot in row]
    assert len({call for call, _ in before}) == 1
    assert not code.is_native
    assert until(code.refresh)
    assert code.compile_seconds == 0
    assert [slot.number for slot in row] == [number for _, number in before]
    assert [slot.call for slot in row] == [code.entry(n)[0] for n in ("small_tangent", "small_value", "small_tangent")]
    assert seen["small_value"] == row[1].call
    assert row[0].call != before[0][0]
    late = code.slots(["small_value"])
    assert late[0].call == row[1].call
    assert ctypes.sizeof(late) == ctypes.sizeof(KernelStruct)
    assert until(lambda: not list(folder.glob("build-*")))


def test_a_job_goes_on_when_its_process_ends(compiled_runtime: list[Path], folder: Path, tmp_path: Path) -> None:
    compiler = wrapper(tmp_path / "cc", 'sleep 1; exec $real "$@"')
    script = """
from pliant.engine.kernel import motion_kernels
from pliant.engine.libraries import load_kernels
from pliant.parts.motion import SCREW
print(load_kernels((motion_kernels(SCREW),)).is_native)
"""
    folder.mkdir()
    for file in compiled_runtime:  # where the package has none for its sources
        shutil.copy(file, folder)
    printed = run_together(script, 2, CC=compiler, PLIANT_COMPILE="background")
    assert set(printed) <= {"False", "True"}
    if "False" in printed:  # else prebuilt in a release
        assert until(lambda: len(list(folder.glob("motion_screw-*.sum"))) == 1)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_killed_job_blocks_nobody(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    made = Source("slow", SLOW, ["slow.c"], FLAGS, compiling.levels()[0])
    sleeper = wrapper(tmp_path / "cc", "exec sleep 30")
    job = compiling.start_job([sleeper], [made], folder)
    assert job is not None
    assert until(lambda: list(folder.glob("build-*")))
    assert until(lambda: list(folder.glob("*.lock")))
    os.killpg(job.pid, signal.SIGKILL)
    job.wait(timeout=20)
    path = build_library("slow", SLOW, ["slow.c"], FLAGS)
    assert answer(path) == 1


def test_code_refused_in_the_background_is_said_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", wrapper(tmp_path / "cc", "echo no such luck >&2; exit 1"))
    monkeypatch.setenv("PLIANT_COMPILE", "background")
    code = load_kernels((small_kernels("refused"),))

    def ended() -> bool:
        return not code.refresh() and not libraries._jobs

    with pytest.warns(UserWarning, match=r"no such luck\s[\s\S]*virtual machine"):
        assert until(ended)
    assert not code.is_native
    libraries._registry.clear()
    libraries._asked_for.clear()
    load_kernels((small_kernels("refused"),))
    assert not libraries._jobs  # not tried again today


def test_one_job_takes_two_libraries_at_a_time(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    log = tmp_path / "log"
    compiler = wrapper(tmp_path / "cc", f'echo + >> "{log}"; sleep 0.3; echo - >> "{log}"; exec $real "$@"')
    sources = [Source(f"a{i}", source(i), ["answer.c"], FLAGS, compiling.levels()[0]) for i in range(5)]
    job = compiling.start_job([compiler], sources, folder)
    assert job is not None
    assert job.wait(timeout=60) == 0
    assert all(is_sound(folder / made.file_name()) for made in sources)
    depth = np.cumsum([1 if mark == "+" else -1 for mark in log.read_text(encoding="ascii").split()])
    assert max(depth) == 2


def test_threads_share_interpreted_kernels(folder: Path, no_compiler: None) -> None:
    """Several threads evaluate one function while others are loaded: each gets the numbers of its own state."""
    kind = kinds("cc_arm_2")[0]
    function, code = kind.functions[1], load_kernels((kind,))
    entry = code.entry(function.name())
    rng = np.random.default_rng(0)
    wrong: list[int] = []

    def work(number: int, caller: Caller, expected: np.ndarray) -> None:
        for _ in range(400):
            if not same_bits(caller(entry), expected):
                wrong.append(number)

    callers = []
    for _ in range(4):
        caller = Caller(function)
        for x in caller.inputs:
            x[:] = rng.normal(size=x.size)
        callers.append((caller, caller(entry).copy()))
    threads = [threading.Thread(target=work, args=(i, *c)) for i, c in enumerate(callers)]
    for thread in threads:
        thread.start()
    for number in range(60):
        more = small_kernels("more", 1.0 + number)
        load_kernels((more,)).entry("more_value")
    for thread in threads:
        thread.join()
    assert wrong == []


def test_looking_often_costs_nothing(folder: Path, no_compiler: None) -> None:
    code: KernelCode = load_kernels((small_kernels(),))
    code.refresh()
    start = time.perf_counter()
    for _ in range(10000):
        code.refresh()
    assert time.perf_counter() - start < 0.2


def test_generated_code_says_nothing_of_versions() -> None:
    """Else a new CasADi would make all compiled code old."""
    text = kernel_code(motion_kernels(SCREW).functions[0])
    assert "casadi" not in text
    assert text.startswith("int motion_screw_kinematics(")
    assert "-ffp-contract=off" in KERNEL_FLAGS


def test_the_background_program_needs_only_the_standard_library() -> None:
    script = f"import sys; sys.path = [p for p in sys.path if 'site-packages' not in p]; import runpy; \
runpy.run_path({str(Path(compiling.__file__))!r}); import json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)
    assert not {"numpy", "casadi", "pliant"} & set(json.loads(done.stdout))


# -- notes of kernels -------------------------------------------------------------------------------------------------------


@pytest.fixture
def refuse_to_make(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """After this call, kernels cannot be created, and this process has loaded nothing."""

    def refuse(kernels: Kernels) -> None:
        raise AssertionError(f"{kernels.name} was made")

    def forget() -> None:
        monkeypatch.setattr(libraries, "_registry", {})
        monkeypatch.setattr(Kernels, "functions", property(refuse))

    return forget


def wrench_kernels() -> Kernels:
    """Kernels of a kind, not made yet."""
    return frame_force_kernels.__wrapped__(WRENCH)


@pytest.mark.parametrize("mode", ["quick", "wait"])
def test_compiled_code_is_found_without_making_its_kernels(
    folder: Path, monkeypatch: pytest.MonkeyPatch, refuse_to_make: Callable[[], None], mode: str
) -> None:
    monkeypatch.setenv("PLIANT_COMPILE", mode)
    made = load_kernels((wrench_kernels(),))
    refuse_to_make()
    found = load_kernels((wrench_kernels(),))
    assert found.is_native
    assert (found.source_size, found.work_sizes) == (made.source_size, made.work_sizes)
    assert found.work_sizes["kernel_w"] > 0
    assert found.compile_seconds == 0


def test_notes_serve_relative_forces_and_inertia_on_lanes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, refuse_to_make: Callable[[], None]
) -> None:
    monkeypatch.setenv("PLIANT_COMPILE", "quick")
    eqs = derive(load("leaf_spring"))
    state = eqs.initial_state()
    expected = eqs.forward_dynamics(state)[0]
    assert np.any(expected)
    refuse_to_make()
    again = derive(load("leaf_spring"))
    assert np.array_equal(again.forward_dynamics(state)[0], expected)


@pytest.mark.parametrize("damage", ["library", "note", "number", "both"])
def test_what_notes_do_not_lead_to_is_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    monkeypatch.setenv("PLIANT_COMPILE", "quick")
    sizes = load_kernels((wrench_kernels(),)).work_sizes
    (note,) = folder.glob("force_wrench-*.note")
    (library,) = folder.glob(f"force_wrench-*{compiling.SUFFIX}")
    good = note.read_text()
    if damage in ("library", "both"):
        library.unlink()
    if damage in ("note", "both"):
        note.write_text(good[: len(good) // 2])
    if damage == "number":  # one that evaluations would trust
        note.write_text(good.replace('"work": ', '"work": 1'))
    monkeypatch.setattr(libraries, "_registry", {})
    code = load_kernels((wrench_kernels(),))
    assert code.is_native
    assert code.work_sizes == sizes
    assert note.read_text() == good
    assert library.exists()


def test_without_a_fingerprint_there_is_no_note(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_COMPILE", "quick")
    load_kernels((small_kernels(),))
    assert not list(folder.glob("*.note"))


OF_A_MODEL = ("inputs", "signals", "round_off")
"""Kernels made of a model's own expressions, which have no fingerprint."""


@pytest.mark.slow
def test_each_kind_has_a_note_of_its_own() -> None:
    """Kinds of all bundled robots, and one with another option: what differs in code differs in the name of its note."""
    found = {k for robot in bundled_robots() for k in kinds(robot.name) if k.name not in OF_A_MODEL}
    names = [note_name(kind) for kind in found]
    assert None not in names
    assert len(set(names)) == len(found) == len({kind.name for kind in found})
    changed = replace(WRENCH, effect=DEAD.effect)
    assert note_name(frame_force_kernels(changed)) not in names


@pytest.mark.skipif(sys.platform == "win32", reason="has no limit on the size of files")
def test_no_space_for_the_virtual_machine_is_reported(capfd):
    import resource

    x = ca.SX.sym("x")
    libraries.virtual_kernel(ca.Function("first", [x], [x]))
    terms = ca.vertcat(*(ca.sin(k * x) for k in range(1000)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(libraries.CompileError, match=r"temporary file .* TMPDIR"):
            libraries.virtual_kernel(ca.Function("large", [x], [terms]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert capfd.readouterr().err == ""
