"""FMUs, run by FMPy: validated, simulated both ways, and compared with `simulate`."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.io.c_text import ExportError
from pliant.targets.fmu import is_for_exchange, variables

fmpy = pytest.importorskip("fmpy")
validation = pytest.importorskip("fmpy.validation")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

KITE = """
pliant: 1
name: kite <b>&"
world: {gravity: [0, 0, -9.81 m/s^2]}
parameters: {mass: 2 kg, pull: {value: 3 N, input: true}, gust: {value: 0 N, input: true}}
inputs: {gust: {step: {at: 53 ms, after: 20 N}}}
bodies:
  frame: {mass: =mass, inertia: {principal: [0.1, 0.2, 0.3]}, frames: {nose: {position: [0.4 m, 0, 0]}}}
  tail: {mass: 0.3 kg, inertia: {principal: [0.01, 0.01, 0.01]}, center_of_mass: [0.2 m, 0, 0]}
joints:
  fly: {type: free, child: frame, position: [-0.4 m, 0, 0], orientation: {rate: [1 rad/s, 0, 0.5 rad/s]}}
  swing: {type: revolute, parent: frame, child: tail, axis: y, angle: {spring: 2 N*m/rad, damper: 0.05 N*m*s/rad}}
constraints:
  tether: {between: [world, frame.nose], components: [x, y], expressed_in: world}
loads:
  pull: {frame: frame, force: [0, =pull, 0]}
  gust: {frame: tail, force: [=gust, 0, 0]}
outputs:
  nose: {frame: frame.nose}
  total: {energy: total}
"""
TOUCHING = """
pliant: 1
name: dropped
world: {gravity: [0, 0, -9.81 m/s^2]}
bodies:
  ball: {mass: 1 kg, shape: {type: sphere, radius: 0.1 m}}
joints: {fall: {type: free, child: ball, position: [0, 0, 0.15 m]}}
surfaces: {floor: {type: plane, normal: z}}
contacts: {floor: {between: [ball, floor], friction: 0.5, stiffness: 1e4 N/m}}
outputs: {place: {frame: ball}}
"""
STEP = 1e-3


@pytest.fixture(scope="module")
def kite() -> pliant.Equations:
    return pliant.derive(pliant.load_text(KITE))


@pytest.fixture(scope="module")
def files(kite: pliant.Equations, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The kite in both versions of FMI."""
    folder = tmp_path_factory.mktemp("fmu")
    return {x: pliant.export_fmu(kite, folder / f"kite{x[0]}.fmu", version=x, step=STEP).path for x in ("3.0", "2.0")}


def states(eqs: pliant.Equations, rows: np.ndarray) -> np.ndarray:
    return np.column_stack([rows[x.name] for x in variables(eqs.model) if x.is_state])


def names_of_states(eqs: pliant.Equations) -> list[str]:
    return [x.name for x in variables(eqs.model) if x.is_state]


@needs_compiler
@pytest.mark.parametrize("version", ["3.0", "2.0"])
def test_an_fmu_is_valid_and_says_units_and_names(kite, files, version):
    assert validation.validate_fmu(str(files[version])) == []
    description = fmpy.read_model_description(str(files[version]))
    assert description.modelName == 'kite <b>&"'
    by_name = {x.name: x for x in description.modelVariables}
    assert (by_name["mass"].causality, by_name["mass"].unit, float(by_name["mass"].start)) == ("parameter", "kg", 2.0)
    assert (by_name["pull"].causality, by_name["pull"].unit, float(by_name["pull"].start)) == ("input", "N", 3.0)
    assert by_name["nose.x"].causality == "output"
    assert by_name["nose.x"].unit == "m"
    assert {x.name for x in description.unitDefinitions} >= {"kg", "N", "m", "J"}


@needs_compiler
@pytest.mark.parametrize("version", ["3.0", "2.0"])
def test_co_simulation_is_the_simulation_with_the_same_steps(kite, files, version):
    rows = fmpy.simulate_fmu(
        str(files[version]), fmi_type="CoSimulation", stop_time=0.2, step_size=0.01, output_interval=0.01,
        output=[*names_of_states(kite), "nose.x", "total"], start_values={"mass": 2.5, "pull": 4.0},
    )  # fmt: skip
    run = pliant.simulate(
        kite,
        0.2,
        method=pliant.GeneralizedAlpha(step=STEP),
        save_every=0.01,
        parameters={"mass": 2.5},
        inputs={"pull": 4.0},
    )
    assert np.allclose(rows["time"], run.time, atol=1e-12)
    assert np.max(np.abs(states(kite, rows) - np.hstack([run.q, run.v]))) < 1e-9
    assert np.max(np.abs(rows["nose.x"] - run["nose"].values[:, 0])) < 1e-9


@needs_compiler
@pytest.mark.parametrize("version", ["3.0", "2.0"])
def test_model_exchange_meets_the_tolerance_across_a_jump_of_an_input(kite, files, version):
    rows = fmpy.simulate_fmu(
        str(files[version]), fmi_type="ModelExchange", stop_time=0.2, output_interval=0.01, relative_tolerance=1e-9,
        output=names_of_states(kite), record_events=False,
    )  # fmt: skip
    run = pliant.simulate(kite, 0.2, rtol=1e-11, atol=1e-11, save_every=0.01)
    found, right = states(kite, rows), np.hstack([run.q, run.v])
    assert np.max(np.abs(found - right)) < 2e-6 * np.max(np.abs(right))


@needs_compiler
@pytest.mark.parametrize("version", ["3.0", "2.0"])
def test_a_state_that_is_saved_and_set_again_goes_on_as_before(kite, files, version, tmp_path):
    with instance(files[version], version, "CoSimulation") as fmu:
        begin(fmu, version)
        step(fmu, 0.0, 0.05)
        state = fmu.getFMUState() if version == "3.0" else fmu.getFMUstate()
        data = fmu.serializeFMUState(state) if version == "3.0" else fmu.serializeFMUstate(state)
        step(fmu, 0.05, 0.05)
        first = read(fmu, kite)
        if version == "3.0":
            fmu.setFMUState(fmu.deserializeFMUState(data))
        else:
            fmu.setFMUstate(fmu.deSerializeFMUstate(data))
        step(fmu, 0.05, 0.05)
        assert np.max(np.abs(read(fmu, kite) - first)) < 1e-9
        damaged = bytearray(data)
        damaged[len(damaged) // 2] ^= 1
        read_back, take = (
            (fmu.deserializeFMUState, fmu.setFMUState)
            if version == "3.0"
            else (fmu.deSerializeFMUstate, fmu.setFMUstate)
        )
        with pytest.raises(fmpy.fmi1.FMICallException):
            take(read_back(bytes(damaged)))


@needs_compiler
@pytest.mark.parametrize("version", ["3.0", "2.0"])
def test_directional_derivatives_are_those_of_the_accelerations(kite, files, version):
    listed = variables(kite.model)
    number = {x.name: i for i, x in enumerate(listed)}
    rates = [i for i, x in enumerate(listed) if x.is_state][len(kite.model.q_names) :]
    accelerations = [i for i, x in enumerate(listed) if x.derivative_of in rates]
    with instance(files[version], version, "ModelExchange") as fmu:
        begin(fmu, version)
        fmu.enterContinuousTimeMode()
        for known, change in (("pull", {"pull": 3.0}), ("gust", {"gust": 0.0})):
            found = np.array(fmu.getDirectionalDerivative(accelerations, [number[known]], [1.0]))
            run = pliant.simulate(kite, 1e-9)
            base = next(iter(change.values()))
            ahead, behind = (
                kite.at(inputs={known: base + d}).forward_dynamics(run.q[0], run.v[0])[0] for d in (0.5, -0.5)
            )
            assert np.allclose(found, ahead - behind, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
@needs_compiler
def test_an_fmu_starts_with_the_rates_of_the_inputs_that_are_set(tmp_path):
    pushed = {"push": "=3 cm*(1 - cos(60 deg*(i - 1/2)))*t/(1 s)"}  # sliders, which move from the start
    eqs = pliant.derive(pliant.load("parallel_rods").replace(inputs=pushed))
    file = pliant.export_fmu(eqs, tmp_path / "rods.fmu").path
    for start in ({}, dict.fromkeys(eqs.inputs, 0.0)):
        rows = fmpy.simulate_fmu(
            str(file),
            stop_time=0.01,
            step_size=0.01,
            output_interval=0.01,
            output=names_of_states(eqs),
            start_values=start,
        )
        method = pliant.GeneralizedAlpha(step=STEP)
        run = pliant.simulate(eqs, 0.01, method=method, save_every=0.01, inputs=start, controllers=False)
        assert (np.abs(run.v[0]).max() > 0.02) == (not start)
        assert np.max(np.abs(states(eqs, rows)[0] - np.hstack([run.q[0], run.v[0]]))) < 1e-9


SMALL = """
pliant: 1
name: small
world: {gravity: [0, 0, 0]}
bodies: {block: {mass: 1e-12 kg, shape: {type: sphere, radius: 1 um}}, bar: {mass: 1e-12 kg, center_of_mass: [2 um, 0, 0]}}
joints:
  slide: {type: prismatic, child: block, axis: x, displacement: {initial: 1 um, spring: 1e-6 N/m, damper: 1e-12 N*s/m}}
  turn: {type: revolute, parent: block, child: bar, axis: z, angle: {initial: 0.3 rad, spring: 1e-18 N*m/rad}}
"""


@needs_compiler
@pytest.mark.parametrize("version", ["3.0", "2.0"])
def test_nominal_values_make_tolerances_shares_of_a_small_robot(version, tmp_path):
    eqs = pliant.derive(pliant.load_text(SMALL))
    file = pliant.export_fmu(eqs, tmp_path / "small.fmu", version=version).path
    assert validation.validate_fmu(str(file)) == []
    slide = next(x for x in fmpy.read_model_description(str(file)).modelVariables if x.name == "slide")
    assert 1e-6 < float(slide.nominal) < 1e-5  # as far as the robot reaches
    rows = fmpy.simulate_fmu(
        str(file), fmi_type="ModelExchange", stop_time=0.02, output_interval=0.001, relative_tolerance=1e-7,
        output=names_of_states(eqs), record_events=False,
    )  # fmt: skip
    run = pliant.simulate(eqs, 0.02, rtol=1e-10, save_every=0.001)
    found, right = states(eqs, rows), np.hstack([run.q, run.v])
    assert np.all(np.max(np.abs(found - right), axis=0) < 1e-4 * np.max(np.abs(right), axis=0))
    listed = [x.name for x in variables(eqs.model)]
    knowns, unknowns = [listed.index(x) for x in ("slide", "slide.rate")], [listed.index("der(slide.rate)")]
    with instance(file, version, "ModelExchange") as fmu:
        begin(fmu, version)
        fmu.enterContinuousTimeMode()
        for i, at in enumerate(knowns):
            found = fmu.getDirectionalDerivative(unknowns, [at], [1.0])[0]
            moved = [np.array([run.q[0], run.v[0]]) for _ in range(2)]
            step = 1e-9
            moved[0][i, 0] += step
            moved[1][i, 0] -= step
            ahead, behind = (eqs.forward_dynamics(*x)[0][0] for x in moved)
            assert found == pytest.approx((ahead - behind) / (2 * step), rel=1e-5)


@needs_compiler
def test_contacts_are_for_co_simulation_alone(tmp_path):
    eqs = pliant.derive(pliant.load_text(TOUCHING))
    assert not is_for_exchange(eqs.model)
    file = pliant.export_fmu(eqs, tmp_path / "dropped.fmu").path
    assert validation.validate_fmu(str(file)) == []
    assert fmpy.read_model_description(str(file)).modelExchange is None
    rows = fmpy.simulate_fmu(str(file), stop_time=0.3, step_size=0.01, output_interval=0.01, output=["place.z"])
    run = pliant.simulate(eqs, 0.3, method=pliant.GeneralizedAlpha(step=STEP), save_every=0.01)
    assert np.max(np.abs(rows["place.z"] - run["place"].values[:, 2])) < 1e-9
    with instance(file, "3.0", "CoSimulation") as fmu:  # what contacts remember is part of the state
        begin(fmu, "3.0")
        step(fmu, 0.0, 0.15)
        state = fmu.getFMUState()
        step(fmu, 0.15, 0.05)
        first = read(fmu, eqs)
        fmu.setFMUState(state)
        step(fmu, 0.15, 0.05)
        assert np.max(np.abs(read(fmu, eqs) - first)) < 1e-9


@needs_compiler
@pytest.mark.parametrize("version", ["3.0", "2.0"])
def test_sources_have_everything_and_no_warnings(files, version, tmp_path):
    with zipfile.ZipFile(files[version]) as archive:
        archive.extractall(tmp_path)
    sources = tmp_path / "sources"
    listed = re.findall(r'SourceFile name="([^"]+)"', (sources / "buildDescription.xml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(str(x.relative_to(sources)) for x in sources.rglob("*.c"))
    own = [x for x in listed if not x.startswith("runtime/") and not x.endswith("_equations.c")]
    for flag in ([], ["-DKITE_B_FMI_PREFIX"]):
        done = subprocess.run(
            ["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", *flag, *own],
            cwd=sources, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def test_without_a_compiler_there_are_sources_only(kite, tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.targets.fmu.find_compiler", lambda: None)
    with pytest.warns(match="sources only"):
        file = pliant.export_fmu(kite, tmp_path / "kite.fmu").path
    with zipfile.ZipFile(file) as archive:
        assert not any(name.startswith("binaries") for name in archive.namelist())


def test_what_cannot_be_exported_is_refused(kite, tmp_path):
    with pytest.raises(ExportError, match=r"end it in \.fmu"):
        pliant.export_fmu(kite, tmp_path / "kite.zip")
    with pytest.raises(pliant.ArgumentError, match=r"version: expected 3\.0 or 2\.0, got '1\.0'"):
        pliant.export_fmu(kite, tmp_path / "kite.fmu", version="1.0")
    with pytest.raises(ExportError, match="cannot write"):
        pliant.export_fmu(kite, tmp_path / "missing" / "kite.fmu")


# -- FMPy's instances -----------------------------------------------------------------------------------------------------


class instance:
    """An instance of an FMU that is freed at the end."""

    def __init__(self, file: Path, version: str, kind: str) -> None:
        self.file, self.kind = file, kind

    def __enter__(self):
        self.folder = fmpy.extract(str(self.file))
        description = fmpy.read_model_description(self.folder)
        self.fmu = fmpy.simulation.instantiate_fmu(self.folder, description, self.kind)
        return self.fmu

    def __exit__(self, *_):
        self.fmu.freeInstance()
        shutil.rmtree(self.folder)


def begin(fmu, version: str) -> None:
    if version == "2.0":
        fmu.setupExperiment(startTime=0.0)
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()


def step(fmu, t: float, h: float) -> None:
    fmu.doStep(currentCommunicationPoint=t, communicationStepSize=h)


def read(fmu, eqs: pliant.Equations) -> np.ndarray:
    numbers = [i for i, x in enumerate(variables(eqs.model)) if x.is_state]
    return np.array(fmu.getFloat64(numbers) if hasattr(fmu, "getFloat64") else fmu.getReal(numbers))
