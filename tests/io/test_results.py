"""Results on disk: complete or absent, and the same when read back."""

import errno
import json

import numpy as np
import pytest

import pliant
from pliant import (
    Event,
    ExplicitRungeKutta,
    GeneralizedAlpha,
    SpecError,
    bundled_robots,
    continuation,
    derive,
    load,
    load_result,
    load_text,
    simulate,
)
from pliant.analysis.numerics.netcdf_files import ResultFileError


@pytest.fixture(scope="module")
def run():
    return simulate(derive(load("four_bar")), 0.5, save_every=0.05)


def test_a_saved_result_reads_back_the_same(run, tmp_path):
    path = tmp_path / "run.nc"
    run.save(path)
    again = load_result(path)
    np.testing.assert_array_equal(again.q, run.q)
    np.testing.assert_array_equal(again["bar1.tip"].position, run["bar1.tip"].position)
    np.testing.assert_array_equal(again["bar1.tip"].quaternion, run["bar1.tip"].quaternion)
    np.testing.assert_array_equal(again["pin"].values, run["pin"].values)
    assert again.status == run.status
    assert again.timing == run.timing
    assert again.method == run.method
    assert again.frame_names == run.frame_names


EVERY_ROBOT = [(robot.name, variant) for robot in bundled_robots() for variant in (None, *load(robot.name).variants)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant"), EVERY_ROBOT, ids=lambda x: x or "-")
def test_every_bundled_robot_saves_and_loads(name, variant, tmp_path):
    """Three short steps from the initial pose: the saved result has all names of the robot."""
    eqs = derive(load(name, variant=variant))
    run = simulate(eqs, 3e-6, start="initial", method=GeneralizedAlpha(step=1e-6), save_every=1e-6, controllers=())
    run.save(tmp_path / "run.nc")
    again = load_result(tmp_path / "run.nc")
    assert again.output_names == run.output_names == tuple(eqs.model.spec.outputs)
    assert list(again.inputs) == list(eqs.inputs)
    assert set(again.dataset.variables) == set(run.dataset.variables)
    for name in (*run.output_names, *run.frame_names, *eqs.coordinates):
        np.testing.assert_array_equal(again[name].values, run[name].values)


def test_outputs_of_attached_models_have_names_that_other_programs_read(tmp_path):
    import xarray

    text = """
        pliant: 1
        attach: {left: {model: pendulum}}
        parameters: {load: {value: 0 N, input: true}}
        loads: {side: {frame: left/rod, force: [=load, 0, 0]}}
    """
    eqs = derive(load_text(text))
    (output,) = [x for x in eqs.model.spec.outputs if x.startswith("left/")][:1]
    run = simulate(eqs, 1e-3)
    run.save(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as file:
        plain = file["output." + output.replace("/", "::")].values
    np.testing.assert_array_equal(plain, run[output].values)
    followed = continuation(eqs, parameter="load", to=1.0)
    followed.save(tmp_path / "path.nc")
    np.testing.assert_array_equal(load_result(tmp_path / "path.nc")[output], followed[output])


def test_the_file_carries_model_settings_and_versions(run, tmp_path):
    run.save(tmp_path / "run.nc")
    attributes = load_result(tmp_path / "run.nc").dataset.attrs
    spec = load_text(attributes["model_text"])
    assert spec.bodies.keys() == load("four_bar").bodies.keys()
    assert "pliant" in json.loads(attributes["versions"])
    assert json.loads(attributes["parameters"])["length2"] == 0.5


def test_named_access(run):
    fine = simulate(derive(load("four_bar")), 0.1, rtol=1e-9, save_every=1e-3)
    tip = fine["bar1.tip"]
    assert tip.position.shape == (len(fine.time), 3)
    speed = np.gradient(tip.position, fine.time, axis=0, edge_order=2)
    np.testing.assert_allclose(tip.velocity[1:-1], speed[1:-1], atol=2e-3)
    with pytest.raises(KeyError, match=r"did you mean 'bar1\.tip'"):
        run["bar1.top"]


def test_a_full_disk_leaves_the_old_file_and_no_rubbish(run, tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    run.save(path)
    before = path.read_bytes()

    def no_space(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(ResultFileError, match=r"No space left on device.*unchanged"):
        run.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_a_real_full_device_is_reported(run, tmp_path):
    """A file-size limit simulates a full disk: the write itself fails half-way."""
    resource = pytest.importorskip("resource")
    import signal

    assert run.dataset is not None  # what it contains is computed before the disk is full, not while it is written
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(ResultFileError, match="cannot write"):
            run.save(tmp_path / "run.nc")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_reported(run, tmp_path):
    with pytest.raises(ResultFileError, match="cannot write"):
        run.save(tmp_path / "nowhere" / "run.nc")


def test_an_interrupted_run_leaves_a_readable_file(run, tmp_path):
    path, part = tmp_path / "run.nc", tmp_path / "run.partial.nc"
    run.save(path)
    before = path.read_bytes()

    def interrupt(t, end, steps):
        if t > 0.2:
            raise KeyboardInterrupt

    done = simulate(
        derive(load("four_bar")),
        100.0,
        method=ExplicitRungeKutta(step=1e-4),
        save_every=0.01,
        progress=interrupt,
        out=path,
    )
    with pytest.warns(UserWarning, match="is partial"):
        again = load_result(part)
    assert done.status == again.status == "stopped"
    assert done.interrupted
    assert done.message.endswith(f"results so far are in {part}")
    assert len(again.time) > 10
    assert path.read_bytes() == before  # the earlier result is not replaced
    simulate(derive(load("four_bar")), 0.1, out=path)
    assert path.read_bytes() != before
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]  # and its result so far represents the part


def test_a_failing_run_does_not_replace_a_good_result(run, tmp_path):
    path, part = tmp_path / "run.nc", tmp_path / "run.partial.nc"
    run.save(path)
    before = path.read_bytes()
    text = """
        pliant: 1
        bodies: {cart: {mass: 1 kg}}
        joints: {rail: {type: prismatic, child: cart, displacement: {initial: 1 m, spring: 1e8 N/m}}}
    """
    diverging = ExplicitRungeKutta(step=0.1)
    failed = simulate(derive(load_text(text)), 100.0, method=diverging, start="initial", out=path, on_failure="return")
    assert failed.status == "failed"
    assert failed.message.endswith(f"Results so far are in {part}.")
    assert path.read_bytes() == before
    with pytest.warns(UserWarning, match=r"run\.partial\.nc is partial"):
        assert load_result(part).status == "failed"


def test_a_run_that_an_event_ends_is_whole(tmp_path):
    eqs = derive(load("pendulum"))
    done = simulate(eqs, 5.0, events=[Event(lambda now: now.t - 0.3, stop=True)], out=tmp_path / "run.nc")
    assert (done.status, done.is_partial) == ("stopped", False)
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]
    assert load_result(tmp_path / "run.nc").time[-1] == pytest.approx(0.3)


@pytest.mark.parametrize("content", [b"", b"not a netCDF file", b"\x89HDF\r\n\x1a\n" + bytes(100)])
def test_files_that_are_no_results_are_refused(tmp_path, content):
    path = tmp_path / "x.nc"
    path.write_bytes(content)
    with pytest.raises(ResultFileError, match=r"x\.nc"):
        load_result(path)
    with pytest.raises(ResultFileError, match="there is no file"):
        load_result(tmp_path / "missing.nc")


def test_another_netcdf_file_is_refused(tmp_path):
    import xarray

    xarray.Dataset({"x": ("t", [1.0, 2.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ResultFileError, match="not a result"):
        load_result(tmp_path / "other.nc")


def test_format_name_is_part_of_the_file(run, tmp_path):
    run.save(tmp_path / "run.nc")
    assert load_result(tmp_path / "run.nc").dataset.attrs["format"] == "pliant-result-2"


def test_a_run_that_dies_leaves_what_it_had_saved(tmp_path, monkeypatch):
    """Files are written during the run: after a program is killed the last of them is complete."""
    from pliant.analysis.motion import run as module

    monkeypatch.setattr(module, "PACE", module.Pace(least_save_cost=0.0))
    path, part = tmp_path / "run.nc", tmp_path / "run.partial.nc"

    class Killed(Exception):
        pass

    def die(t, end, steps):
        if part.exists():
            raise Killed

    with pytest.raises(Killed):
        simulate(
            derive(load("four_bar")),
            1000.0,
            method=ExplicitRungeKutta(step=1e-3),
            save_every=0.1,
            progress=die,
            out=path,
        )
    assert not path.exists()
    with pytest.warns(UserWarning, match="is partial"):
        kept = load_result(part)
    assert "still running" in kept.message
    assert len(kept.time) >= 1


REPEATED_AND_DRAWN = """
pliant: 1
parameters: {push: {count: 2, value: 0 N, input: true}}
bodies: {ball: {count: 2, mass: 1 kg, shape: {type: sphere, radius: 1 cm}}, cover: {parent: world}}
joints: {slide: {type: prismatic, child: ball, axis: z, displacement: {input: "=push[i]"}}}
attach: {left: {model: pendulum}}
meshes:
  web:
    type: membrane
    drawing: {file: web.dxf, unit: mm, scale: 2}
    sets: {rim: {label: rim}}
    held: {rim: cover}
    mass: 1 g
    stiffness: 1 N
surfaces:
  floor: {type: mesh, file: floor.stl, closed: false, parent: world}
  rock: {type: convex, file: floor_points.stl, parent: world}
  ground: {type: height_field, size: [1, 1], file: heights.txt, parent: world}
inputs: {push: {series: {file: push.csv, column: force}}}
"""


def _files_of_the_robot(folder):
    points = [(0, 0, 0), (10, 0, 0), (0, 10, 0), (-10, -10, 0)]
    lines = [(points[0], points[k], "0" if k < 2 else "rim") for k in (1, 2, 3)]
    text = "0\nSECTION\n2\nENTITIES\n"
    for (x, y, z), (u, v, w), layer in lines:
        text += f"0\nLINE\n8\n{layer}\n10\n{x}\n20\n{y}\n30\n{z}\n11\n{u}\n21\n{v}\n31\n{w}\n"
    (folder / "web.dxf").write_text(text + "0\nENDSEC\n0\nEOF\n")
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((1, 1, 0.1)).export(folder / "floor.stl")
    trimesh.creation.icosphere(1).export(folder / "floor_points.stl")
    (folder / "heights.txt").write_text("0 1 0\n0 2 0\n")
    (folder / "push.csv").write_text("t [ms],force [mN]\n0,0\n1,500\n3,100\n")
    (folder / "robot.yaml").write_text(REPEATED_AND_DRAWN)
    return folder / "robot.yaml"


def test_the_model_in_a_result_needs_no_other_file(tmp_path):
    """A result of a robot with repeated and attached parts, drawings and recordings can be derived again from its text alone."""
    path = _files_of_the_robot(tmp_path)
    eqs = derive(load(path))
    run = simulate(eqs, 2e-3)
    run.save(tmp_path / "run.nc")
    again = derive(load_text(load_result(tmp_path / "run.nc").recorded.attributes["model_text"]))
    assert again.coordinates == eqs.coordinates
    assert again.model.text == eqs.model.text
    assert ".stl" not in eqs.model.text
    repeated = simulate(again, 2e-3)
    np.testing.assert_array_equal(repeated.dataset.q, run.dataset.q)


@pytest.mark.parametrize("damage", ["bodies: {ball: {mass: 1 kg", "wrist[0]: 1", "a//b: {}"])
def test_a_damaged_model_of_a_result_is_refused(damage):
    with pytest.raises(SpecError):
        load_text(f"pliant: 1\nflat: true\nbodies: {{}}\nparameters: {{{damage}}}\n")


@pytest.mark.parametrize("ending", ["xlsx", "h5", "txt"])
def test_a_file_of_another_format_is_not_written_as_netcdf(tmp_path, ending):
    eqs = pliant.derive("pendulum")
    for found in (pliant.simulate(eqs, 0.1), pliant.modes(eqs, at="equilibrium")):
        if not hasattr(found, "save"):
            continue
        with pytest.raises(ValueError, match="cannot determine the format"):
            found.save(tmp_path / f"a.{ending}")
    assert list(tmp_path.iterdir()) == []
