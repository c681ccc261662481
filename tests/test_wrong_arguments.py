"""Public functions reject wrong arguments with messages of their own, not with those of Python or NumPy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant import control
from pliant.language.arguments import ArgumentError

NEED_EQUATIONS: dict[str, Any] = {
    "export_fmu": lambda robot: pliant.export_fmu(robot, "a.fmu"),
    "export_mjcf": lambda robot: pliant.export_mjcf(robot, "a.xml"),
    "export_urdf": lambda robot: pliant.export_urdf(robot, "a.urdf"),
    "sketch": lambda robot: pliant.sketch(robot),
    "film": lambda robot: pliant.film(robot, None, "a.gif"),
    "write_report": lambda robot: pliant.write_report(robot, "a.html", []),
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
        with pytest.raises(ArgumentError, match="seed: expected"):
            pliant.equilibria(eqs, starts=2, seed=seed)  # type: ignore[arg-type]
    for limits in ({"hinge": 1}, {"hinge": "abc"}, {"hinge": (1, 2, 3)}):
        with pytest.raises(ArgumentError, match="limits"):
            pliant.inverse_kinematics(eqs, "rod.tip", [0.1, 0, -0.4], limits=limits)
    with pytest.raises(ArgumentError, match="limits"):
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


class _Odd:
    """An object that no argument accepts."""


ODD: tuple[Any, ...] = (b"x", -1, float("nan"), 1 + 2j, [None], [[1], [2, 3]], np.array([1.0, 2.0]), _Odd())
"""Values that are no name, no mapping and no file."""
FILES: dict[str, Any] = {
    "save": lambda file: pliant.save(pliant.load("pendulum"), file),
    "load_result": pliant.load_result,
    "load_sweep": pliant.load_sweep,
    "read_recording": pliant.read_recording,
    "load_text": lambda file: pliant.load_text("pliant: 1", folder=file),
    "sweep": lambda file: pliant.sweep("pendulum", {"length": [0.3]}, file),
    "simulate": lambda file: pliant.simulate(pliant.derive("pendulum"), 0.01, out=file),
    "Fmu": lambda file: pliant.Fmu(file, {}, {}),
}


@pytest.mark.parametrize("name", FILES)
def test_names_of_files(name: str) -> None:
    for file in (*ODD, "a\0b"):
        with pytest.raises(ArgumentError, match="must be the name of a file"):
            FILES[name](file)


def _recording() -> pliant.Recording:
    times = np.linspace(0, 0.2, 11)
    return pliant.Recording("r", times, {"height": np.full(11, -0.4)}, {"height": "m"})


def _fit(**options: Any) -> Any:
    given: dict[str, Any] = {"parameters": ["length"], "measurements": _recording(), "output": "height"} | options
    return pliant.fit(pliant.derive("pendulum"), **given)


def _measured(**options: Any) -> Any:
    return _fit(measurements=pliant.Measurement(_recording(), **{"outputs": {"height": None}, **options}))


def _compare(**options: Any) -> Any:
    return pliant.compare(**{"eqs": pliant.derive("pendulum"), "recording": _recording(), "output": "height"} | options)


def _path(**options: Any) -> Any:
    return pliant.continuation(pliant.derive("cantilever"), **{"parameter": "force", "to": 1.0} | options)


def _simulate(**options: Any) -> Any:
    return pliant.simulate(pliant.derive("pendulum"), **{"until": 0.01} | options)


def _sweep(**options: Any) -> Any:
    return pliant.sweep(**{"robot": "pendulum", "vary": {"length": [0.3]}, "folder": "unused"} | options)


def _linear() -> Any:
    return pliant.linearize(pliant.derive("cart_pole"))


def _cart(**options: Any) -> Any:
    return pliant.required_inputs(pliant.derive("cart_pole"), [0, 0], **options)


def _group() -> Any:
    return control.Group(inputs=("force",), states=("rail",))


def _plan(**options: Any) -> Any:
    given = {"intervals": 4, "iterations": 1} | options
    return control.plan(pliant.derive("cart_pole"), 0.5, control.Goal(coordinates={"rail": 0.1}), **given)


class _Sampled:
    """A controller without commands."""

    def __init__(self, *, sample_time: Any = 0.01, delay: Any = 0.0, seed: Any = 0) -> None:
        self.sample_time, self.delay, self.seed = sample_time, delay, seed

    def start(self, now: pliant.Now) -> None:
        pass

    def command(self, now: pliant.Now) -> dict[str, float]:
        return {}


def _sampled(**options: Any) -> Any:
    return _simulate(controllers=[_Sampled(**options)])


ARGUMENTS: dict[str, Any] = {
    "load: variant": lambda x: pliant.load("pendulum", variant=x),
    "load: set": lambda x: pliant.load("pendulum", set=x),
    "load: names in set": lambda x: pliant.load("pendulum", set={1: 2}),  # type: ignore[dict-item]
    "load: folders": lambda x: pliant.load("pendulum", folders=x),
    "check: set": lambda x: pliant.check("pendulum", set=x),
    "load_text: text": pliant.load_text,
    "load_text: file": lambda x: pliant.load_text("pliant: 1", file=x),
    "flatten": pliant.flatten,
    "dump": pliant.dump,
    "save": lambda x: pliant.save(x, "unused.yaml"),
    "forward_kinematics": lambda x: pliant.forward_kinematics(x, "rod.tip", [0.1]),
    "forward_kinematics: frame": lambda x: pliant.forward_kinematics(pliant.derive("pendulum"), x, [0.1]),
    "forward_kinematics: relative_to": lambda x: pliant.forward_kinematics(
        pliant.derive("pendulum"), "rod.tip", [0.1], relative_to=x
    ),
    "inverse_kinematics: rotation": lambda x: pliant.inverse_kinematics(
        pliant.derive("pendulum"), "rod.tip", [0.1, 0, -0.4], rotation=x
    ),
    "inverse_kinematics: seed": lambda x: pliant.inverse_kinematics(
        pliant.derive("pendulum"), "rod.tip", [0.1, 0, -0.4], seed=x
    ),
    "required_inputs: use": lambda x: _cart(use=x),
    "required_inputs: limits": lambda x: _cart(limits=x),
    "required_inputs: forces": lambda x: _cart(forces=[x, 0.0]),
    "required_inputs: metric": lambda x: _cart(metric=x),
    "required_inputs: preferred": lambda x: _cart(preferred={"force": x}),
    "required_inputs: inputs": lambda x: _cart(inputs=x),
    "linearize: independent": lambda x: pliant.linearize(pliant.derive("cart_pole"), independent=x),
    "linearize: input_names": lambda x: pliant.linearize(pliant.derive("cart_pole"), input_names=x),
    "simulate: until": lambda x: _simulate(until=x),
    "simulate: rtol": lambda x: _simulate(rtol=x),
    "simulate: events": lambda x: _simulate(events=x),
    "simulate: mid_step": lambda x: _simulate(mid_step=x),
    "simulate: progress": lambda x: _simulate(progress=x),
    "event": lambda x: pliant.Event(x),
    "continuation: parameter": lambda x: _path(parameter=x),
    "continuation: imperfection": lambda x: _path(imperfection=x),
    "continuation: stop": lambda x: _path(stop={"tip.z": x}),
    "continuation: branch": lambda x: _path(branch=x),
    "compare: equations": lambda x: _compare(eqs=x),
    "compare: rods": lambda x: _compare(rods=x),
    "compare: recording": lambda x: _compare(recording=x),
    "compare: begin": lambda x: _compare(begin=x),
    "compare: rest_at": lambda x: _compare(rest_at=x),
    "differentiable: of": lambda x: pliant.differentiable(pliant.derive("pendulum"), x, "length"),
    "optimize: subject_to": lambda x: pliant.optimize(
        pliant.derive("pendulum"), "height", {"length": (0.2, 0.5)}, subject_to=x
    ),
    "workspace: progress": lambda x: pliant.workspace(pliant.derive("pendulum"), progress=x),
    "periodic: progress": lambda x: pliant.periodic(pliant.derive("pendulum"), progress=x),
    "optimize: progress": lambda x: pliant.optimize(
        pliant.derive("pendulum"), "height", {"length": (0.2, 0.5)}, progress=x
    ),
    "fit: parameters": lambda x: _fit(parameters=x),
    "fit: measurements": lambda x: _fit(measurements=x),
    "fit: priors": lambda x: _fit(priors=x),
    "fit: a prior": lambda x: _fit(priors={"length": [x, 1.0]}),
    "fit: bounds": lambda x: _fit(bounds=x),
    "fit: output": lambda x: _fit(output=x),
    "fit: rest_at": lambda x: _fit(rest_at=[x]),
    "measurement: outputs": lambda x: _measured(outputs=x),
    "measurement: own": lambda x: _measured(own=x),
    "measurement: deviations": lambda x: _measured(deviations=x),
    "measurement: label": lambda x: _measured(label=x),
    "sweep: vary": lambda x: _sweep(vary=x),
    "sweep: seed": lambda x: _sweep(seed=x),
    "sweep: keep": lambda x: _sweep(keep=x),
    "sweep: option": lambda x: _sweep(unknown=x),
    "equilibrium_many: inputs": lambda x: pliant.equilibrium_many("pendulum", {"length": [0.3]}, inputs=x),
    "equilibrium_many: time": lambda x: pliant.equilibrium_many("pendulum", {"length": [0.3]}, time=x or "x"),
    "many: executor": lambda x: pliant.equilibrium_many("pendulum", {"length": [0.3]}, executor=x),
    "film: run": lambda x: pliant.film(pliant.derive("pendulum"), x, "unused.gif"),
    "Fleet": lambda x: pliant.Fleet(x, 2),
    "Fleet: threads": lambda x: pliant.Fleet(pliant.derive("pendulum"), 2, step=1e-3, threads=x),
    "Fleet: parameters": lambda x: pliant.Fleet(pliant.derive("pendulum"), 2, step=1e-3, parameters={"hinge": [1, 2]}),
    "lqr: states": lambda x: control.lqr(_linear(), states={"rail": x}),
    "lqr: inputs": lambda x: control.lqr(_linear(), inputs=x),
    "kalman: disturbances": lambda x: control.kalman(_linear(), disturbances=[x]),
    "luenberger: poles": lambda x: control.luenberger(_linear(), x),
    "state space: select": lambda x: _linear().select(inputs=x),
    "state feedback: regulator": lambda x: control.StateFeedback(pliant.derive("cart_pole"), x),
    "state feedback: limits": lambda x: control.StateFeedback(
        pliant.derive("cart_pole"), control.lqr(_linear()), limits=x, period=0.01
    ),
    "limits": lambda x: control.Limits(lower={"force": [x]}).bounds(("force",)),
    "Fleet: step": lambda x: pliant.Fleet(pliant.derive("pendulum"), 2, step=1e-3).step([[x], [x, x]]),
    "objective": lambda x: pliant.differentiable(
        pliant.derive("pendulum"), "height", "length", until=0.01
    ).value_and_gradient(x),
    "result": lambda x: _simulate()[x],
    "result: save": lambda x: _simulate().save(x),
    "recording: save": lambda x: _recording().save(x),
    "at_each": lambda x: pliant.derive("pendulum").at_each([x]),
    "frames": lambda x: pliant.derive("pendulum").frames([0.1], names=x),
    "casadi": lambda x: pliant.derive("pendulum").casadi(x),
    "simulate: save_between": lambda x: _simulate(save_between=x),
    "simulate: controllers: sample_time": lambda x: _sampled(sample_time=x),
    "simulate: controllers: delay": lambda x: _sampled(delay=x),
    "simulate: controllers: seed": lambda x: _sampled(seed=x),
    "simulate: time of the start": lambda x: _simulate(start=pliant.State(np.zeros(1), np.zeros(1), x)),
    "simulate: contacts of the start": lambda x: _simulate(start=pliant.State(np.zeros(1), np.zeros(1), contacts=x)),
    "required_inputs: time": lambda x: _cart(time=x),
    "optimize: seed": lambda x: pliant.optimize(pliant.derive("pendulum"), "height", {"length": (0.2, 0.5)}, seed=x),
    "lqr of groups: system": lambda x: control.decentralized_lqr(x, {"a": _group()}),
    "lqr of groups": lambda x: control.decentralized_lqr(_linear(), x),
    "lqr of groups: group": lambda x: control.decentralized_lqr(_linear(), {"a": x}),
    "lqr of groups: reduction": lambda x: control.decentralized_lqr(_linear(), {"a": _group()}, reduction=x),
    "group: inputs": lambda x: control.Group(inputs=x, states=("rail",)),
    "group: priority": lambda x: control.Group(inputs=("force",), states=("rail",), priority=x),
    "system_modes: A": control.system_modes,
    "system_modes: B": lambda x: control.system_modes(_linear().A, x),
    "system_modes: C": lambda x: control.system_modes(_linear().A, None, x),
    "allocate: effect": lambda x: control.allocate(x, np.ones(3), -np.ones(3), np.ones(3)),
    "allocate: wanted": lambda x: control.allocate(np.eye(3), x, -np.ones(3), np.ones(3)),
    "allocate: lower": lambda x: control.allocate(np.eye(3), np.ones(3), x, np.ones(3)),
    "allocate: preferred": lambda x: control.allocate(np.eye(3), np.ones(3), -np.ones(3), np.ones(3), preferred=x),
    "limits: lower": lambda x: control.Limits(lower=x),
    "rest_with: task": lambda x: control.rest_with(pliant.derive("cart_pole"), x, [0.1]),
    "rest_with: value": lambda x: control.rest_with(pliant.derive("cart_pole"), control.FramePosition("cart"), x),
    "plan: goal": lambda x: control.plan(pliant.derive("cart_pole"), 0.5, x),
    "plan: effort": lambda x: _plan(effort=x),
    "plan: time_weight": lambda x: _plan(time_weight=x),
    "plan: obstacles": lambda x: _plan(obstacles=[x]),
    "plan: guess": lambda x: _plan(guess=x),
    "plan: intervals": lambda x: _plan(intervals=x),
    "plan: iterations": lambda x: _plan(iterations=x),
    "sphere: frames": lambda x: control.Sphere((0, 0, 5), 0.1, x),
    "goal: at_rest": lambda x: control.Goal(at_rest=x),
    "state feedback: guess": lambda x: control.StateFeedback(
        pliant.derive("cart_pole"), control.lqr(_linear()), guess=x, period=0.01
    ),
    "state feedback: share": lambda x: control.StateFeedback(
        pliant.derive("cart_pole"), control.lqr(_linear()), share=x, period=0.01
    ),
    "sketch: labels": lambda x: pliant.sketch(pliant.derive("pendulum"), labels=x),
    "export_c: controller": lambda x: pliant.export_c(pliant.derive("pendulum"), "unused", controller=x),
    "declared_bounds": lambda x: pliant.derive("pendulum").declared_bounds(x),
}
SOME_ARE_VALID = {"simulate: until", "continuation: stop", "continuation: branch", "fit: a prior", "fit: rest_at", "load: folders",
                  "required_inputs: forces", "required_inputs: preferred", "equilibrium_many: time", "compare: rest_at",
                  "simulate: rtol", "compare: begin", "lqr: states", "required_inputs: time", "plan: effort", "plan: time_weight",
                  "simulate: time of the start"}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ARGUMENTS)
def test_wrong_arguments(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for value in ODD:
        if name in SOME_ARE_VALID and isinstance(value, int | np.ndarray):
            continue
        with pytest.raises((ArgumentError, pliant.SpecError)) as raised:
            ARGUMENTS[name](value)
        assert not re.search("ambiguous|inhomogeneous|could not convert", str(raised.value))
    assert not list(tmp_path.iterdir())


def test_none_means_none(eqs: pliant.Equations) -> None:
    assert pliant.simulate(eqs, 0.01, events=None).status == "completed"
    assert pliant.load("pendulum", folders=None).title == "pendulum"  # type: ignore[arg-type]


def test_values_of_events(eqs: pliant.Equations) -> None:
    for value in (float("nan"), None, "x", [[1], [2, 3]], np.array([1.0, 2.0]), np.array([np.nan])):
        with pytest.raises(ArgumentError, match="the value of the event"):
            pliant.simulate(eqs, 0.01, events=[pliant.Event(lambda now, value=value: value)])
    crossing = pliant.Event(lambda now: np.array([now.t - 0.005]))
    assert pliant.simulate(eqs, 0.01, events=[crossing]).time[-1] == pytest.approx(0.005, abs=1e-9)


def test_arrays_without_dimensions_complex_numbers_and_none(eqs: pliant.Equations) -> None:
    half = np.array(0.5)
    for wrong in (lambda: pliant.linearize(eqs, independent=half), lambda: pliant.fit(eqs, half, _recording()),  # type: ignore[arg-type]
                  lambda: pliant.fit(eqs, ["length"], half), lambda: _simulate(events=half)):  # fmt: skip
        with pytest.raises(ArgumentError):
            wrong()
    assert pliant.simulate(eqs, 0.01, rtol=np.array(1e-5), atol=np.array(1e-8)).status == "completed"  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="must have 1 entries"):
        eqs.mass_matrix(np.array([1 + 2j]))
    with pytest.raises(ArgumentError, match="lower of input 'force' must be a number, not nothing"):
        control.Limits(lower={"force": None}).bounds(("force",))  # type: ignore[dict-item]
    with pytest.raises(ArgumentError, match="parameters"):
        _fit(parameters={"length": 0.3})


def test_numbers_without_end(eqs: pliant.Equations) -> None:
    with pytest.raises(ArgumentError, match="starts: expected at most"):
        pliant.equilibria(eqs, starts=10**9)
    with pytest.raises(ArgumentError, match="starts: expected at most"):
        pliant.inverse_kinematics(eqs, "rod.tip", [0.1, 0, -0.4], starts=10**9)
    with pytest.raises(ArgumentError, match="more than 10,000,000 samples"):
        _sampled(sample_time=1e-320)
    with pytest.raises(ArgumentError, match="fps must be a number at least"):
        pliant.film(eqs, _simulate(), "unused.gif", fps=1e-320)
    with pytest.raises(ArgumentError, match="evaluations"):
        pliant.optimize(eqs, "height", {"length": (0.2, 0.5)}, evaluations=10**12)


def test_none_is_no_bound_and_no_goal() -> None:
    assert control.Limits(None, None, None).bounds(("force",)) == (-np.inf, np.inf)  # type: ignore[arg-type]
    assert control.Goal(None, {"rod.tip": [0, 0, 0]}, orientations=None).frames == ("rod.tip",)  # type: ignore[arg-type]
