"""Sweeps on disk: they survive kills, full disks and each other."""

import json
import os
import random
import resource
import signal
import time

import numpy as np
import pytest

import pliant
from pliant.analysis.numerics.netcdf_files import ResultFileError
from pliant.study.analyses import Outcome
from pliant.study.folder import JOURNAL, LOCK, MANIFEST, RESULTS, Journal, SweepFolder, records

VARY = {"mass": "0.5:2 kg", "hinge": "-60:60 deg"}
PENDULUM = """
pliant: 1
name: swing
parameters: {mass: 1 kg, length: {value: 0.5 m, minimum: 1 cm}}
bodies:
  bob: {mass: =mass, center_of_mass: [=length, 0, 0], inertia: {principal: [1 g*m^2, 1 g*m^2, 1 g*m^2]},
        frames: {tip: {position: [=length, 0, 0]}}}
joints: {hinge: {type: revolute, axis: y, child: bob, angle: {damper: 0.01 N*m*s/rad}}}
outputs: {tip: {frame: bob.tip}}
"""


@pytest.fixture(scope="module")
def swing():
    return pliant.load_text(PENDULUM)


def swept(robot, folder, count=40, **options):
    return pliant.sweep(robot, VARY, folder, **{"sample": f"sobol:{count}", "until": 0.2, "workers": 2, **options})


def test_a_sweep_is_what_simulate_many_gives(swing, tmp_path):
    found = swept(swing, tmp_path / "runs")
    many = pliant.simulate_many(swing, pliant.cases(VARY, "sobol:40"), 0.2)
    assert many.identical(found)
    assert found.identical(pliant.load_sweep(tmp_path / "runs"))
    told = json.loads((tmp_path / "runs" / MANIFEST).read_text())
    assert told["model"] == "swing"
    assert "damper" in told["structures"][0]["text"]
    assert len(told["structures"][0]["sha256"]) == 64
    assert told["seed"] == 0
    assert told["vary"] == VARY
    assert told["versions"]["pliant"] == pliant.__version__
    import xarray

    with xarray.open_dataset(tmp_path / "runs" / RESULTS, engine="h5netcdf") as file:
        assert np.array_equal(file["output.tip"].values, found["output.tip"].values)


def test_the_same_call_does_what_is_missing(swing, tmp_path, monkeypatch):
    def stop(pulse):
        if pulse.done == 7:
            raise KeyboardInterrupt

    part = swept(swing, tmp_path, workers=1, progress=stop)
    assert (part.status.values == "completed").sum() == 7
    done = []
    whole = swept(swing, tmp_path, progress=lambda pulse: done.append(pulse.done))
    assert sorted(done) == list(range(8, 41))
    assert whole.identical(pliant.simulate_many(swing, pliant.cases(VARY, "sobol:40"), 0.2))
    assert len(list(records(tmp_path / JOURNAL))) == 40


def child(work):
    """A process that does some work and ends; its number."""
    number = os.fork()
    if number == 0:
        try:
            work()
        finally:
            os._exit(0)
    return number


def recorded(journal):
    """Whole records in a journal, which may not be there yet."""
    return len(list(records(journal))) if journal.exists() else 0


def wait_for(condition, seconds=60.0):
    """Wait until something holds, which must not take long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.001)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_sweep_that_is_killed_ten_times_loses_nothing(swing, tmp_path):
    """Killed at random times and restarted each time: all cases are completed in the end, once, as without interruptions."""
    eqs = pliant.derive(swing)
    swept(eqs, tmp_path / "warm", 2)
    random.seed(4)
    written, journal = [], tmp_path / "runs" / JOURNAL
    while len(written) < 10:
        number = child(lambda: swept(eqs, tmp_path / "runs", 1000, until=0.5))
        # sizes are not compared: a kill may leave half a record, which the next run removes and writes again
        wait_for(lambda: recorded(journal) > max([0, *written]))
        time.sleep(0.01 * random.random())
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        written.append(recorded(journal))
    assert written == sorted(written)  # nothing was lost,
    assert len({0, *written}) == 11  # it came further each time,
    assert written[-1] < 1000  # and was never done
    found = swept(eqs, tmp_path / "runs", 1000, until=0.5)
    assert sorted(case for case, _, _ in records(journal)) == list(range(1000))
    assert found.identical(pliant.simulate_many(eqs, pliant.cases(VARY, "sobol:1000"), 0.5))


def test_half_a_record_is_cut_off(tmp_path):
    path = tmp_path / "journal"
    first = Outcome("completed", "µ", {"q": (("time",), np.arange(5.0)), "x": ((), np.array(2.0))}, {"time": ("a",)})
    journal = Journal(path)
    journal.append(3, first)
    journal.append(4, first)
    journal.close()
    whole = path.read_bytes()
    for cut in (1, 30, len(whole) // 2 - 1):
        path.write_bytes(whole[: len(whole) - cut])
        again = Journal(path)
        assert again.done == {3}
        again.append(9, first)
        again.close()
        found = {case: outcome for case, outcome, _ in records(path)}
        assert found.keys() == {3, 9}
        assert np.array_equal(found[9].arrays["q"][1], np.arange(5.0))
        assert found[9].arrays["x"][1] == 2.0
        assert (found[9].message, found[9].labels) == ("µ", {"time": ("a",)})
    path.write_bytes(whole[:-5] + b"?????")  # a damaged one too
    again = Journal(path)
    assert again.done == {3}
    again.close()


def test_damage_inside_a_journal_loses_one_record(tmp_path):
    """For any damaged byte the other records are read, and are kept when the sweep continues."""
    path = tmp_path / "journal"
    outcome = Outcome("completed", "", {"q": (("time",), np.arange(5.0))}, {})
    journal = Journal(path)
    ends = []
    for case in range(4):
        journal.append(case, outcome)
        ends.append(path.stat().st_size)
    journal.close()
    whole = path.read_bytes()
    for at in range(ends[0], ends[1]):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with pytest.warns(UserWarning, match=f"is damaged between its bytes {ends[0]} and {ends[1]}"):
            assert [case for case, _, _ in records(path)] == [0, 2, 3]
    with pytest.warns(UserWarning, match="is damaged"):
        again = Journal(path)
    assert again.done == {0, 2, 3}
    again.append(1, outcome)
    again.close()
    with pytest.warns(UserWarning, match="is damaged"):
        assert [case for case, _, _ in records(path)] == [0, 2, 3, 1]


@pytest.mark.parametrize("name", ["manifest.json", "cases.json"])
def test_damage_of_what_was_asked_for_is_found(swing, tmp_path, name):
    swept(swing, tmp_path, 4)
    file = tmp_path / name
    whole = file.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 300)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x01]) + whole[at + 1 :])
        try:
            pliant.load_sweep(tmp_path)
        except ResultFileError:
            continue
        assert json.loads(file.read_bytes()) == json.loads(whole)  # a digit beyond those that count
    file.write_bytes(whole)
    assert pliant.load_sweep(tmp_path).sizes["case"] == 4


def test_a_full_disk_is_said_and_nothing_is_lost(swing, tmp_path):
    """A limit on the size of files takes the place of a disk that is full."""
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    plain = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, room[1]))
        with pytest.raises(
            ResultFileError, match=r"finished cases are saved; free some space and run the same command"
        ):
            swept(swing, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
        signal.signal(signal.SIGXFSZ, plain)
    there = (pliant.load_sweep(tmp_path).status.values == "completed").sum()
    assert 0 < there < 40
    found = swept(swing, tmp_path)
    assert (found.status.values == "completed").all()
    assert found.identical(pliant.simulate_many(swing, pliant.cases(VARY, "sobol:40"), 0.2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_sweeps_in_one_folder_are_refused(swing, tmp_path):
    swept(swing, tmp_path, 4)
    ready, go = tmp_path.parent / "ready", tmp_path.parent / "go"

    def hold():
        from pliant.study.folder import _Lock

        lock = _Lock(tmp_path / LOCK)
        ready.touch()
        while not go.exists():
            time.sleep(0.01)
        lock.release()

    number = child(hold)
    while not ready.exists():
        time.sleep(0.01)
    with pytest.raises(ResultFileError, match="another sweep is running in"):
        swept(swing, tmp_path, 4)
    go.touch()
    os.waitpid(number, 0)
    swept(swing, tmp_path, 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sample": "sobol:41"}, 'its sample is "sobol:4", not "sobol:41"'),
        ({"seed": 3}, "its seed is 0, not 3"),
        ({"until": 0.3}, "its options"),
        ({"analysis": "equilibrium", "until": None}, "its analysis"),
        ({"keep": ("q",)}, "its keep"),
    ],
)
def test_another_sweep_in_the_folder_is_refused(swing, tmp_path, change, words):
    swept(swing, tmp_path, 4)
    with pytest.raises(ResultFileError) as error:
        swept(swing, tmp_path, 4, **change)
    assert words in str(error.value)


def test_another_model_in_the_folder_is_refused(swing, tmp_path):
    swept(swing, tmp_path, 4)
    with pytest.raises(ResultFileError, match="the model differs"):
        swept(pliant.load_text(PENDULUM.replace("0.01 N*m*s", "0.02 N*m*s")), tmp_path, 4)
    assert len(SweepFolder.open(tmp_path).rows) == 4


def test_a_folder_with_something_else_is_refused(swing, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ResultFileError, match="contains other files"):
        swept(swing, tmp_path)
    with pytest.raises(ResultFileError, match="contains no sweep"):
        pliant.load_sweep(tmp_path)
