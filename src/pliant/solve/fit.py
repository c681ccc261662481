"""Parameter identification: physical parameters from a recording, by bounded least squares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from pliant.equations.equations import Equations, UnknownName
from pliant.solve.compare import DEFAULT_METHOD
from pliant.solve.integrator import Method
from pliant.solve.recording import Recording, RecordingError, drive
from pliant.solve.saving import At
from pliant.solve.simulate import simulate

# Parameters are varied in units of their start value; this change is far above round-off and far below what matters.
DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Fit:
    """Parameters found from a recording.

    Attributes:
        parameters: values found (SI units).
        deviations: standard deviations from the curvature of the fit, assuming independent errors.
        before_mm, after_mm: mean distance over the samples that were fitted.
        before_test_mm, after_test_mm: the same over the samples that were held out (NaN without any).
        evaluations: simulations made.
        message: what the solver said.
    """

    parameters: Mapping[str, float]
    deviations: Mapping[str, float]
    before_mm: float
    after_mm: float
    before_test_mm: float
    after_test_mm: float
    evaluations: int
    message: str


def fit(
    eqs: Equations,
    parameters: Sequence[str],
    recording: Recording,
    *,
    output: str = "tip",
    columns: Sequence[str] = ("x", "y", "z"),
    use: np.ndarray | None = None,
    window: tuple[float, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    method: Method | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fit parameters so that an output follows the recording.

    use: which samples to fit (True) and which to hold out (False); all by default. bounds: per parameter, a tenth to ten times
    its start value by default.
    """
    for name in parameters:
        if name not in eqs.parameters:
            raise UnknownName("parameter", name, tuple(eqs.parameters))
    driven, _ = drive(eqs, recording)
    measured = np.stack([recording.column(name) for name in columns], axis=1)
    begin, end = window or (recording.time[0], recording.time[-1])
    inside = (recording.time >= begin - 1e-9) & (recording.time <= end + 1e-9)
    chosen = inside & (np.ones(len(recording.time), dtype=bool) if use is None else np.asarray(use, dtype=bool))
    held_out = inside & ~chosen
    start = np.array([eqs.parameters[name] for name in parameters])
    if np.any(start == 0):
        raise RecordingError("a parameter to fit must not start at zero: its scale is not known")
    limits = [(bounds or {}).get(name, (0.1 * x, 10 * x)) for name, x in zip(parameters, start, strict=True)]
    count = 0

    def path(x: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        values = dict(zip(parameters, (x * start).tolist(), strict=True))
        span = (float(recording.time[0]), float(recording.time[-1]))
        run = simulate(
            driven, span, method=method or DEFAULT_METHOD, save=At(recording.time.tolist()), parameters=values
        )
        if run.status != "completed":
            return np.full_like(measured, 1e3)
        found = np.asarray(run[output].values)
        if progress is not None:
            progress(count, float(1e3 * np.linalg.norm(found - measured, axis=1)[chosen].mean()))
        return found

    def residual(x: np.ndarray) -> np.ndarray:
        return 1e3 * (path(x) - measured)[chosen].ravel()

    low, high = (np.array([limit[k] for limit in limits]) / start for k in (0, 1))
    first = path(np.ones(len(start)))
    found = least_squares(
        residual,
        np.ones(len(start)),
        bounds=(np.minimum(low, high), np.maximum(low, high)),
        diff_step=DIFFERENCE,
        x_scale="jac",
    )
    last = path(found.x)
    degrees = max(1, found.fun.size - found.x.size)
    covariance = np.linalg.pinv(found.jac.T @ found.jac) * (found.fun @ found.fun) / degrees

    def mean(p: np.ndarray, which: np.ndarray) -> float:
        return float(1e3 * np.linalg.norm(p - measured, axis=1)[which].mean()) if which.any() else float("nan")

    return Fit(
        dict(zip(parameters, (found.x * start).tolist(), strict=True)),
        dict(zip(parameters, (np.sqrt(np.diag(covariance)) * np.abs(start)).tolist(), strict=True)),
        mean(first, chosen),
        mean(last, chosen),
        mean(first, held_out),
        mean(last, held_out),
        count,
        str(found.message),
    )


def cycles(recording: Recording, inputs: Sequence[str], *, share: float = 0.05) -> np.ndarray:
    """Number of the loading cycle each sample belongs to (from 1): a cycle begins when an input rises after all were low."""
    values = np.array([recording.columns[name] for name in inputs])
    loaded = np.any(np.abs(values) > share * np.abs(values).max(), axis=0)
    starts = loaded & ~np.concatenate([[False], loaded[:-1]])
    return np.maximum(1, np.cumsum(starts))
