"""One robot, several rod models, one recording: accuracy and cost side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pliant.equations.equations import Equations, derive
from pliant.rod.switch import with_rod_model
from pliant.solve.equilibrium import equilibrium
from pliant.solve.integrator import Method, Rosenbrock
from pliant.solve.recording import Recording, RecordingError, drive, plateaus
from pliant.solve.saving import At
from pliant.solve.simulate import simulate
from pliant.spec.robot import RobotSpec

# A recording is compared to a fraction of a millimetre: tighter steps change no digit that matters there.
DEFAULT_METHOD = Rosenbrock(rtol=1e-4, atol=1e-5)


@dataclass(frozen=True)
class Comparison:
    """One rod model against a recording (or the finest model).

    rod: `kind:number`; states: coordinates and rates; times [s]; realtime_factor: simulated over wall time; errors: distance of
    the compared point [mm], its mean as a share of `scale` [%].
    """

    rod: str
    states: int
    derive_s: float
    compile_s: float
    static_s: float
    run_s: float
    realtime_factor: float
    mean_error_mm: float
    max_error_mm: float
    static_mean_error_mm: float
    mean_error_percent: float
    time: np.ndarray
    path: np.ndarray


def compare(
    robot: RobotSpec,
    rod: str,
    kinds: Sequence[str],
    recording: Recording | None = None,
    *,
    output: str = "tip",
    columns: Sequence[str] = ("x", "y", "z"),
    window: tuple[float, float] | None = None,
    until: float = 1.0,
    method: Method | None = None,
) -> list[Comparison]:
    """Simulate the robot with each rod model and compare an output (a point) with the recording's columns.

    Without a recording, the models are compared with the last (finest) of them over `until` seconds from the model's start.
    """
    if output not in robot.outputs:
        raise RecordingError(f"the model has no output '{output}'; it has {', '.join(robot.outputs) or 'none'}")
    begin, end = window or ((recording.time[0], recording.time[-1]) if recording is not None else (0.0, until))
    times = np.linspace(0.0, until, 201) if recording is None else recording.time
    runs = []
    for kind in kinds:
        eqs = derive(with_rod_model(robot, rod, kind))
        driven: tuple[str, ...] = ()
        if recording is not None:
            eqs, driven = drive(eqs, recording)
        runs.append((kind, eqs, *_run(eqs, output, times, recording, driven, method or DEFAULT_METHOD)))
    if recording is not None:
        measured = np.stack([recording.column(name) for name in columns], axis=1)
    else:
        measured = runs[-1][3]
    return [
        _row(kind, eqs, timing, path, static, measured, times, (begin, end), recording)
        for kind, eqs, timing, path, static in runs
    ]


def _run(
    eqs: Equations,
    output: str,
    times: np.ndarray,
    recording: Recording | None,
    driven: tuple[str, ...],
    method: Method,
) -> tuple[tuple[float, float, float], np.ndarray, list[tuple[float, np.ndarray]]]:
    engine = eqs.bind()
    start = time.perf_counter()
    static = []
    for t in plateaus(recording, driven) if recording is not None and driven else [0.0]:
        found = equilibrium(eqs, t=t)
        if found.status == "converged":
            static.append((t, np.atleast_1d(found.outputs[output])))
    static_s = time.perf_counter() - start
    run = simulate(eqs, (float(times[0]), float(times[-1])), method=method, save=At(times.tolist()))
    if run.status != "completed":
        raise RecordingError(f"the simulation failed: {run.message}")
    path = np.asarray(run[output].values).reshape(len(run.time), -1)
    return (engine.compile_seconds, static_s, run.timing.run_s), path, static


def _row(
    kind: str,
    eqs: Equations,
    timing: tuple[float, float, float],
    path: np.ndarray,
    static: list[tuple[float, np.ndarray]],
    measured: np.ndarray,
    times: np.ndarray,
    window: tuple[float, float],
    recording: Recording | None,
) -> Comparison:
    compile_s, static_s, run_s = timing
    distance = 1e3 * np.linalg.norm(path - measured, axis=1)
    inside = (times >= window[0] - 1e-9) & (times <= window[1] + 1e-9)
    at_rest = [
        1e3 * np.linalg.norm(point - np.array([np.interp(t, times, measured[:, k]) for k in range(measured.shape[1])]))
        for t, point in static
    ]
    scale = 1e3 * np.linalg.norm(measured[0])
    mean = float(distance[inside].mean())
    return Comparison(
        rod=kind,
        states=len(eqs.coordinates) + len(eqs.rates),
        derive_s=eqs.derive_seconds + eqs.engine.table_seconds,
        compile_s=compile_s,
        static_s=static_s,
        run_s=run_s,
        realtime_factor=float((times[-1] - times[0]) / run_s),
        mean_error_mm=mean,
        max_error_mm=float(distance[inside].max()),
        static_mean_error_mm=float(np.mean(at_rest)) if recording is not None and at_rest else float("nan"),
        mean_error_percent=float(100 * mean / scale) if scale else float("nan"),
        time=times,
        path=path,
    )
