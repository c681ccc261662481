"""What users do with a model: analyses, files, exports, displays and commands. Each gives right numbers or refuses in words.

A surface is a function of a `Subject`: a model and an empty folder. It raises nothing but the package's own errors, whose words
are checked, and asserts that surfaces which must agree do.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from messages import check_words, refusals, run_words
from valid_models import write_files

import pliant
from pliant.analysis.base import analysis
from pliant.analysis.numerics.loop_closure import AssemblyError
from pliant.analysis.numerics.netcdf_files import ResultFileError
from pliant.engine.compiling import CompileError
from pliant.engine.equations import Equations
from pliant.engine.program import EvaluationError
from pliant.io.c_text import ExportError, robot_identifier
from pliant.robot import RobotSpec, load_text
from pliant.robot.analyses import analysis_names
from pliant.show.report import report
from pliant.show.tables import html

WORDED = (
    pliant.SpecError, pliant.ArgumentError, pliant.AnalysisFailed, ExportError, ResultFileError, EvaluationError, CompileError,
    AssemblyError,
)  # fmt: skip
"""The package's errors."""
STEP, STEPS = 1e-3, 8
PATIENCE = 0.5
"""Seconds for a method that does not suit a robot: an explicit one takes a billion steps for a stiff one."""
LARGE = 60
"""Coordinates above which a robot goes through the cheap surfaces only."""
COMPILED = 12
"""Coordinates above which the code of a fleet takes a compiler ten seconds."""
CLOSE = 1e-9
"""Difference of two motions relative to their size that is round-off."""


@dataclass(frozen=True)
class Subject:
    """A model as text, and a folder for what is written."""

    text: str
    folder: Path
    found: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def spec(self) -> RobotSpec:
        return load_text(self.text, folder=self.folder)

    @cached_property
    def eqs(self) -> Equations:
        return pliant.derive(self.spec)

    @cached_property
    def file(self) -> Path:
        path = self.folder / "robot.json.yaml"
        path.write_text(self.text, encoding="utf-8")
        return path

    @property
    def run(self) -> pliant.Result:
        return self.once("run", lambda: self.simulated(STEP * STEPS, save_every=2 * STEP))

    def simulated(self, until: float, **options: Any) -> pliant.Result:
        """A motion, or its beginning: some robots vibrate a million times in a millisecond."""
        return pliant.simulate(self.eqs, until, timeout=4 * PATIENCE, on_failure="return", **options)

    @property
    def rest(self) -> pliant.Equilibrium:
        return self.once("rest", lambda: pliant.equilibrium(self.eqs, timeout=8 * PATIENCE))

    def once(self, name: str, made: Callable[[], Any]) -> Any:
        """What several surfaces use, or the error that it ended with: a search that fails may have taken seconds."""
        if name not in self.found:
            try:
                self.found[name] = made()
            except WORDED as error:
                self.found[name] = error
        if isinstance(self.found[name], Exception):
            raise self.found[name]
        return self.found[name]

    def motion(self, method: Any) -> pliant.Result:
        """A motion with fixed steps, without controllers, as fleets and exported C make it."""
        return pliant.simulate(self.eqs, STEP * STEPS, method=method, save_every=STEP, controllers=())


def go_through(text: str, names: list[str], folder: Path) -> None:
    """Put a model through the surfaces named. Models that are refused are none of theirs."""
    write_files(folder)
    subject = Subject(text, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assert subject.eqs is not None
        except WORDED as error:
            check_words(str(error))
            return
    for name in names:
        if name in CHEAP or len(subject.eqs.coordinates) <= LARGE:
            with said():
                SURFACES[name](subject)


@contextmanager
def said() -> Iterator[None]:
    """Warnings are in words of ours; those of computations are errors; so are foreign exceptions."""
    with (
        warnings.catch_warnings(record=True) as notes,
        refusals(*WORDED),
        np.errstate(divide="warn", over="warn", invalid="warn"),
    ):
        warnings.simplefilter("always")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            yield
        except (ValueError, RuntimeError) as error:
            if isinstance(error, WORDED) or not raised_in_words(error):
                raise
            check_words(str(error))
    for note in notes:
        if issubclass(note.category, UserWarning):
            check_words(str(note.message))


def raised_in_words(error: BaseException) -> bool:
    """Whether a line of the package has raised an error, rather than what it called: that of a design of a controller, say."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.sep}pliant{os.sep}" in last.filename and str(last.line).startswith("raise ")


def same(found: Any, expected: Any, what: str, *, close: float = CLOSE, size: float = 1.0) -> None:
    """Assert that numbers are equal up to `close` of their size, at least `size`."""
    one, other = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    assert one.shape == other.shape, f"{what}: shapes {one.shape} and {other.shape}"
    if one.size:
        assert np.array_equal(np.isfinite(one), np.isfinite(other)), f"{what}: finite in one only"
        scale = max(size, float(np.abs(np.nan_to_num(other)).max()))
        error = float(np.abs(np.nan_to_num(one) - np.nan_to_num(other)).max()) / scale
        assert error <= close, f"{what} differ by {error:.1e}"


def finite(values: Any, what: str) -> None:
    """Assert that numbers are finite."""
    assert np.isfinite(np.asarray(values, dtype=float)).all(), f"{what}: a number is not finite"


# -- texts -----------------------------------------------------------------------------------------------------------------


def texts(subject: Subject) -> None:
    spec = subject.spec
    for shown in (
        str(spec),
        repr(spec),
        html(spec),
        spec._repr_html_(),
        str(subject.eqs),
        repr(subject.eqs),
        subject.eqs._repr_html_(),
    ):
        assert "Traceback" not in shown
        assert "internal error" not in shown
    again = load_text(pliant.dump(spec), folder=subject.folder)
    assert again == spec, "a model that is written back must be the same"
    flat = pliant.flatten(spec)
    assert load_text(pliant.dump(flat), folder=subject.folder) == flat, (
        "a flat model that is written back must be the same"
    )
    accelerations(pliant.derive(again), subject.eqs, "written back")
    accelerations(pliant.derive(flat), subject.eqs, "flat")


def accelerations(other: Equations, eqs: Equations, what: str) -> None:
    """The equations give the same accelerations at the start."""
    start = eqs.initial_state()
    same(
        other.forward_dynamics(start)[0],
        eqs.forward_dynamics(start)[0],
        f"accelerations of the model {what}",
        close=1e-12,
    )


def pickled(subject: Subject) -> None:
    again = pickle.loads(pickle.dumps(subject.eqs))
    accelerations(again, subject.eqs, "pickled")
    assert pickle.loads(pickle.dumps(subject.spec)) == subject.spec


def dynamics(subject: Subject) -> None:
    eqs = subject.eqs
    start = eqs.initial_state()
    a, multipliers = eqs.forward_dynamics(start)
    finite(a, "accelerations")
    if not multipliers.size and a.size:
        size = max(
            1e-9, *(np.abs(eqs.bias(start.q, start.v))), float(np.abs(eqs.mass_matrix(start.q)).max() * np.abs(a).max())
        )
        same(eqs.inverse_dynamics(start.q, start.v, a, t=0.0) / size, np.zeros(len(a)), "inverse dynamics", close=1e-7)
    energy = eqs.energy(start)
    finite([float(energy.total)], "energy")
    for name in eqs.frame_names[:3]:
        pliant.forward_kinematics(eqs, name, start.q)
        finite(eqs.frame_jacobian(name, start.q), "a Jacobian")


def equations_text(subject: Subject) -> None:
    if len(subject.eqs.coordinates) <= 2:  # SymPy takes a minute for some with more
        assert subject.eqs.text()


# -- analyses ----------------------------------------------------------------------------------------------------------------


def shown(result: Any) -> None:
    for text in (str(result), repr(result)):
        assert "internal error" not in text


def equilibrium(subject: Subject) -> None:
    rest = subject.rest
    shown(rest)
    finite(rest.q, "an equilibrium")


def modes(subject: Subject) -> None:
    for at in ("initial", "rest"):
        with refusals(*WORDED):
            found = pliant.modes(subject.eqs, at=subject.rest if at == "rest" else at)
            shown(found)
            finite(np.abs(found.eigenvalues), "eigenvalues")


def linearize(subject: Subject) -> None:
    for at in ("initial", "rest"):
        with refusals(*WORDED):
            found = pliant.linearize(subject.eqs, at=subject.rest if at == "rest" else at)
            shown(found)
            for name in "ABCD":
                finite(getattr(found, name), f"matrix {name}")


def other_analyses(subject: Subject) -> None:
    """Analyses without a surface of their own."""
    for name in analysis_names():
        kind = analysis(name)
        if name in SURFACES or any(field.is_required() for field in kind.model_fields.values()):
            continue
        with refusals(*WORDED):
            found = getattr(pliant, name)(subject.eqs, timeout=PATIENCE, on_failure="return")
            shown(found)
            if found.message or found.status != "completed":
                check_words(found.message)
            assert json.dumps(found.as_json(), default=lambda x: np.asarray(x).tolist())


def simulate(subject: Subject) -> None:
    run = subject.run
    shown(run)
    if run.status == "completed":
        finite(run.q, "coordinates")
        finite(run.v, "rates")
        for name in run.energy_names:
            finite(run.energy[name], f"energy {name}")
        for name in run.output_names:
            output = subject.spec.outputs.get(name.partition("[")[0])
            if getattr(output, "contact", None) is None:
                finite(run[name], f"output {name}")


def pages(subject: Subject) -> None:
    """The report and the notebook's views of all results. One mode: each is a film of its own."""
    found: list[Any] = [subject.run]
    for function in (lambda eqs, at: at, partial(pliant.modes, count=1), pliant.linearize):
        with refusals(*WORDED):
            found.append(function(subject.eqs, at=subject.rest))
    missing: list[str] = []
    page = report(subject.eqs, found, missing)
    assert not missing, f"the report lacks {missing[0]}"
    for text in (page, *(x._repr_html_() for x in found if hasattr(x, "_repr_html_"))):
        assert "internal error" not in text
        assert "Traceback" not in text


def saved(subject: Subject) -> None:
    run, path = subject.run, subject.folder / "run.nc"
    run.save(path)
    again = pliant.load_result(path)
    same(again.q, run.q, "coordinates of the saved run", close=0.0)
    for name in run.output_names:
        same(again[name], run[name], f"the saved output {name}", close=1e-12)
    shown(again)


def other_methods(subject: Subject) -> None:
    for method in ("explicit", "implicit", "generalized_alpha", "newmark", "semi_implicit", "symplectic_euler"):
        with refusals(*WORDED):
            step = None if method in ("explicit", "implicit") else STEP
            run = pliant.simulate(subject.eqs, 3 * STEP, method=method, step=step, save_every=STEP, timeout=PATIENCE)
            finite(run.q, method)


def reduced(subject: Subject) -> None:
    if subject.eqs.constraint_names:
        run = subject.simulated(3 * STEP, formulation="reduced", save_every=STEP)
        finite(run.q, "the reduced formulation")


def path(subject: Subject) -> None:
    names = [*subject.eqs.inputs, *subject.eqs.parameters]
    for name in names[:2]:
        with refusals(*WORDED):
            value = float(subject.eqs.parameters.get(name, 0.0)) or 1.0
            found = pliant.continuation(subject.eqs, parameter=name, to=1.05 * value, max_points=10)
            shown(found)


def many(subject: Subject) -> None:
    for name in [*subject.eqs.parameters][:1]:
        value = float(subject.eqs.parameters[name])
        for result in pliant.equilibrium_many(subject.eqs, {name: [value, 1.01 * value]}, threads=1):
            assert result is not None


# -- the same motion elsewhere -------------------------------------------------------------------------------------------------


def fleet(subject: Subject) -> None:
    if len(subject.eqs.coordinates) > COMPILED:
        return
    robots = pliant.Fleet(subject.eqs, 2, method="semi_implicit", step=STEP, threads=1)
    robots.step(n=STEPS)
    run = subject.motion(pliant.SemiImplicit(step=STEP))
    if run.status == "completed" and not robots.failed.any():
        alike(np.asarray(robots.q)[0], run.q[-1], "a fleet and simulate", subject, pliant.SemiImplicit(step=STEP))
        same(robots.q[1], robots.q[0], "two robots of a fleet", close=0.0)


def alike(found: np.ndarray, expected: np.ndarray, what: str, subject: Subject, method: Any) -> None:
    """Two motions agree to round-off, as far as the motion here is not sensitive to it."""
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    if found.size == 0 or float(np.abs(found - expected).max()) <= CLOSE * scale:
        return
    start = subject.motion(method).state_at(0.0)
    bound = CLOSE * scale
    random = np.random.default_rng(0)
    for _ in range(8):
        values = {
            n: x + 1e-12 * max(abs(x), 1e-3) * random.standard_normal()
            for n, x in zip(subject.eqs.coordinates, start.q, strict=True)
        }
        with suppress(*WORDED):
            other = pliant.simulate(
                subject.eqs,
                STEP * STEPS,
                start=subject.eqs.state(values),
                method=method,
                save_every=STEP,
                controllers=(),
            )
            plain = pliant.simulate(
                subject.eqs, STEP * STEPS, start=subject.eqs.state(dict(zip(subject.eqs.coordinates, start.q, strict=True))),
                method=method, save_every=STEP, controllers=(),
            )  # fmt: skip
            bound = max(bound, 30.0 * float(np.abs(other.q[-1] - plain.q[-1]).max()))
    if bound / 30 > 1e-3 * scale:
        return  # a motion without a digit that would be the same twice
    error = float(np.abs(found - expected).max())
    assert error <= bound, f"{what} differ by {error:.1e}, where starts that differ by 1e-12 make {bound / 30:.1e}"


_objects: dict[str, bytes] = {}
"""Object files by the text that they are made from, most of all the runtime's."""


def exported_c(subject: Subject) -> None:
    compiler = shutil.which("tcc")
    if compiler is None:
        return
    folder = subject.folder / "c"
    eqs = pliant.derive(subject.spec if subject.spec.name else subject.spec.replace(name="robot"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pliant.export_c(eqs, folder, method="semi_implicit", step=STEP)
    assert robot_identifier(eqs.model.spec.title)
    headers = "".join(file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.h")))
    sources = [file for file in sorted(folder.rglob("*.c")) if "example" not in file.name]
    for file in sources:
        key = headers + file.read_text(encoding="utf-8")
        target = file.with_suffix(".o")
        if key not in _objects:
            _run_program(compiler, "-c", f"-I{folder}", f"-I{folder / 'runtime'}", "-o", str(target), str(file))
            if len(_objects) < 300:
                _objects[key] = target.read_bytes()
        else:
            target.write_bytes(_objects[key])
    program = folder / "program"
    _run_program(compiler, "-o", str(program), *(str(file.with_suffix(".o")) for file in sources), "-lm")
    done = subprocess.run(
        [program, f"{STEP * STEPS:g}", f"{STEPS}"], capture_output=True, text=True, check=False, timeout=60
    )
    rows = [[float(x) for x in line.split()] for line in done.stdout.splitlines() if not line.startswith("#")]
    run = subject.motion(pliant.SemiImplicit(step=STEP))
    if done.returncode == 0 and run.status == "completed":
        alike(
            np.array(rows[-1][1 : 1 + run.q.shape[1]]),
            run.q[-1],
            "exported C and simulate",
            subject,
            pliant.SemiImplicit(step=STEP),
        )
    else:
        assert (done.returncode == 0) == (run.status == "completed"), f"exported C ends with: {done.stderr}"


def _run_program(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:500]


def exports(subject: Subject) -> None:
    for write, name in ((pliant.export_mjcf, "robot.xml"), (pliant.export_urdf, "robot.urdf")):
        with refusals(*WORDED):
            made = write(subject.eqs, subject.folder / name)
            for remark in made.remarks:
                check_words(str(remark))
            text = (subject.folder / name).read_text(encoding="utf-8")
            assert not re.search(r"[\"' ](nan|inf|-inf)[\"' ]", text), f"{name}: a number is not finite"
    pliant.export_gltf(subject.eqs, subject.folder / "robot.glb")


def fmu(subject: Subject) -> None:
    for version in ("2.0", "3.0"):
        with refusals(*WORDED), compiled_by("tcc"):
            pliant.export_fmu(subject.eqs, subject.folder / f"robot{version}.fmu", version=version)


@contextmanager
def compiled_by(name: str) -> Iterator[None]:
    """FMUs are compiled by another compiler, quickly."""
    kept = os.environ.get("CC")
    if shutil.which(name):
        os.environ["CC"] = name
    try:
        yield
    finally:
        os.environ.pop("CC", None)
        if kept is not None:
            os.environ["CC"] = kept


def picture(subject: Subject) -> None:
    pliant.sketch(subject.eqs).figure.savefig(subject.folder / "robot.png", dpi=30)
    import matplotlib.pyplot as plt

    plt.close("all")


# -- derivatives -----------------------------------------------------------------------------------------------------------------


def gradients(subject: Subject) -> None:
    """Derivatives of a motion against differences of the same motion, where two differences agree on them."""
    eqs = subject.eqs
    numbers = [name for name, output in eqs.model.spec.outputs.items() if name]
    names = [name for name in eqs.parameters if name not in eqs.inputs][:2]
    for output in numbers[:2]:
        for name in names:
            with refusals(*WORDED):
                f = pliant.differentiable(eqs, of=output, by=name, until=5 * STEP, method="semi_implicit", step=STEP)
                values, pullback = f.vjp()
                weights = np.ones_like(values[output])
                found = float(np.sum(pullback({output: weights})[name]))
                at = float(eqs.parameters[name])

                def value(x: float, f: Any = f, name: str = name, output: str = output) -> float:
                    return float(np.sum(f({name: x})[output]))

                slopes = [
                    (value(at + h) - value(at - h)) / (2 * h)
                    for h in (1e-5 * (abs(at) or 1.0), 3e-6 * (abs(at) or 1.0))
                ]
                size = max(
                    abs(slopes[0]), abs(found), 1e-9 * max(1.0, float(np.abs(values[output]).max())) / (abs(at) or 1.0)
                )
                if abs(slopes[0] - slopes[1]) <= 1e-4 * size:
                    error = abs(found - slopes[1]) / size
                    assert error < 1e-2, f"d {output} / d {name} is {found:.6g}, and {slopes[1]:.6g} by differences"


# -- commands ----------------------------------------------------------------------------------------------------------------------


def commands(subject: Subject) -> None:
    for words in (["check"], ["show"], ["equilibrium"], ["modes"], ["linearize"], ["simulate", "--until", "0.004"]):
        out = run_words([*words, str(subject.file), "--json"], {"PLIANT_DEBUG": ""})
        if out.strip():
            strict(out, words[0])


def run_command(subject: Subject) -> None:
    if subject.spec.analyses:
        run_words(["run", str(subject.file), "--out", str(subject.folder / "out")], {"PLIANT_DEBUG": ""})


def strict(text: str, what: str) -> Mapping[str, Any]:
    """JSON without NaN and Infinity, which other readers refuse."""

    def refuse(word: str) -> float:
        raise AssertionError(f"the JSON of `{what}` contains {word}")

    return dict(json.loads(text, parse_constant=refuse))


def environments(subject: Subject) -> None:
    from pliant import gym

    for name in subject.spec.task:
        envs = gym.make(subject.spec, count=2, task=name)
        envs.reset(seed=0)
        observed, reward, *_ = envs.step(envs.action_space.sample())
        finite(observed, "observations")
        finite(reward, "rewards")
        envs.close()


SURFACES: dict[str, Callable[[Subject], None]] = {
    function.__name__: function
    for function in (
        texts, pickled, dynamics, equations_text, equilibrium, modes, linearize, simulate, saved, pages, other_methods, reduced,
        path, other_analyses, many, fleet, exported_c, exports, fmu, picture, gradients, commands, run_command, environments,
    )
}  # fmt: skip
CHEAP = ("texts", "dynamics", "equilibrium", "modes", "linearize", "simulate", "saved")
"""Surfaces that every model goes through; of the others some, by lot."""
