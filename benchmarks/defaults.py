"""Cost of the defaults: bundled robots and models of a folder, simulated without options and by settings picked by hand.

    python benchmarks/defaults.py [--json] [--models FOLDER] [--only NAME ...]

Each robot moves for a second, or as defined in JOBS. Errors are the largest distance of any frame from a reference at any of 101
times, relative to the extent of the motion. The reference is the implicit method at a tolerance three decades below, or
the explicit one. `best_s` is the fastest of the settings tried whose error is no larger than that of the defaults (or below ROUND,
where it is invisible); settings that take longer than the defaults are abandoned. `ratio` is the defaults' time over it. Models
come from FOLDER, from $PLIANT_MODELS, or from ../shared/findings/models next to the checkout. Wall times are the smallest of a
few runs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from pliant.engine.equations import Equations

ROUND = 1e-7
"""Errors below this are equal: hundredths of a millimetre in a hundred metres."""
REFERENCE_LIMIT = 60.0
"""Longest time for a reference [s]."""


@dataclass(frozen=True)
class Job:
    """A motion: model, changes, rod model, end [s] and start."""

    name: str
    model: str
    until: float = 1.0
    set: dict[str, Any] = field(default_factory=dict)
    rod: tuple[str, str] | None = None
    start: str | None = None

    def equations(self) -> Equations:
        """The equations, without the analyses that the model lists."""
        text = Path(self.model).read_text() if self.model.endswith(".yaml") else None
        if text is not None:
            spec = pliant.load_text(re.sub(r"^analyses:\n(?:[ -].*\n?)*", "", text, flags=re.M))
        else:
            spec = pliant.load(self.model, set=self.set)
        return pliant.derive(spec if self.rod is None else spec.with_rod(*self.rod))


JOBS = [
    *(Job(f"released cantilever, {kind}", "cantilever", set={"gravity": 9.81}, rod=("rod", kind))
      for kind in ("fe:12", "eba:36", "ebr:8")),
    Job("rus_leg, not at rest", "rus_leg", 0.02, start="initial"),
    Job("six_leg@pushed, not at rest", "six_leg@pushed", 0.01, start="initial"),
    Job("leg@pretensioned, not at rest", "leg@pretensioned", 0.02, start="initial"),
    Job("leg@pretensioned", "leg@pretensioned", 0.5),
    Job("leg@released", "leg@released", 0.5),
    Job("flexible_four_bar, 0.2 s", "flexible_four_bar", 0.2),
]  # fmt: skip
UNTIL = {"gripper": 4.0}


def settings() -> Iterator[tuple[str, pliant.Rosenbrock | pliant.GeneralizedAlpha | pliant.ExplicitRungeKutta]]:
    """Settings that an expert would try."""
    for rtol in (3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6):
        yield f"implicit, rtol {rtol:g}", pliant.Rosenbrock(rtol=rtol)
    for rtol in (1e-3, 1e-5, 1e-6):
        yield f"explicit, rtol {rtol:g}", pliant.ExplicitRungeKutta(rtol=rtol)
    for radius in (0.8, 0.2):
        for step in (2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4):
            method = pliant.GeneralizedAlpha(step=step, spectral_radius=radius)
            yield f"generalized-alpha, radius {radius:g}, {1e3 * step:g} ms", method


class TooLong(Exception):
    """A run exceeds its time limit."""


@dataclass
class Trial:
    """Places of all frames at 101 times (times x frames x 3), and the wall time [s]."""

    places: np.ndarray
    seconds: float
    method: str = ""


def run(eqs: Equations, job: Job, limit: float, **options: Any) -> Trial | None:
    """A motion; None if it fails or takes longer than `limit` [s]."""
    times = np.linspace(0, job.until, 101)
    begin = time.perf_counter()

    def watch(t: float, end: float, steps: int) -> None:
        if time.perf_counter() - begin > limit:
            raise TooLong

    given = {} if job.start is None else {"start": job.start}
    try:
        result = pliant.simulate(eqs, job.until, save_at=times, save_between=True, progress=watch, **given, **options)
    except (TooLong, pliant.AnalysisFailed):
        return None
    seconds = time.perf_counter() - begin
    places = np.array([eqs.binding.node_poses(q)[1] for q in result.q])
    return Trial(places, seconds, result.method)


def repeated(eqs: Equations, job: Job, limit: float, **options: Any) -> Trial | None:
    """The fastest of a few runs: short ones are repeated more often."""
    found = run(eqs, job, limit, **options)
    for _ in range(0 if found is None else 4 if found.seconds < 0.1 else 2 if found.seconds < 1 else 0):
        again = run(eqs, job, 10 * limit, **options)
        if found is not None and again is not None and again.seconds < found.seconds:
            found = again
    return found


def error(trial: Trial, reference: np.ndarray) -> float:
    """Largest distance from the reference, relative to the extent of the motion [-]."""
    space = float(np.linalg.norm(np.ptp(reference.reshape(-1, 3), axis=0))) or 1.0
    return float(np.linalg.norm(trial.places - reference, axis=2).max()) / space


def reference(eqs: Equations, job: Job) -> tuple[np.ndarray, float] | None:
    """Positions to compare with, and the difference of two references [-]."""
    candidates: list[Callable[[], Any]] = [lambda: pliant.Rosenbrock(rtol=1e-7), lambda: pliant.Rosenbrock(rtol=1e-6)]
    small = eqs.binding.nv <= 40
    for method in ([lambda: pliant.ExplicitRungeKutta(rtol=1e-10)] if small else []) + candidates:
        found = run(eqs, job, 20.0 if small else REFERENCE_LIMIT, method=method())
        if found is not None:
            other = run(eqs, job, REFERENCE_LIMIT, method=pliant.Rosenbrock(rtol=1e-5))
            return found.places, np.nan if other is None else error(other, found.places)
    return None


def measure(job: Job) -> dict[str, Any]:
    """A row of the table."""
    eqs = job.equations()
    pliant.simulate(eqs, job.until / 1000, on_failure="return")  # compile
    row: dict[str, Any] = {"robot": job.name, "rates": eqs.binding.nv, "until": job.until}
    default = repeated(eqs, job, REFERENCE_LIMIT)
    found = reference(eqs, job)
    if default is None or found is None:
        return row | {
            "default_s": None if default is None else default.seconds,
            "status": "no reference" if default else "failed",
        }
    places, doubt = found
    own = error(default, places)
    best, best_error, best_name = default.seconds, own, "the defaults"
    for name, method in settings():
        trial = run(eqs, job, 1.5 * best + 0.05, method=method)
        if trial is None or error(trial, places) > max(own, ROUND):
            continue
        trial = repeated(eqs, job, 2 * best + 0.1, method=method) or trial
        if trial.seconds < best:
            best, best_error, best_name = trial.seconds, error(trial, places), name
    return row | {
        "default_s": default.seconds, "method": default.method, "best_s": best, "best_setting": best_name,
        "ratio": default.seconds / best, "error_default": own, "error_best": best_error, "reference_doubt": doubt,
    }  # fmt: skip


def jobs(folder: Path) -> list[Job]:
    """All of them: bundled robots, models of the folder, and those of JOBS."""
    own = [Job(robot.name, robot.name) for robot in pliant.bundled_robots()]
    files = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
    if not files:
        print(f"no models in {folder}", file=sys.stderr)
    return [*own, *(Job(x.stem, str(x), UNTIL.get(x.stem, 1.0)) for x in files), *JOBS]


def table(rows: list[dict[str, Any]]) -> None:
    """One line per robot."""
    print(f"{'robot':32} {'default':>9} {'best':>9} {'ratio':>6} {'error':>8} {'error':>8}  best setting")
    for row in rows:
        if "ratio" not in row:
            print(f"{row['robot']:32} {row.get('default_s') or float('nan'):8.3f}s  {row['status']}")
            continue
        print(
            f"{row['robot']:32} {row['default_s']:8.3f}s {row['best_s']:8.3f}s {row['ratio']:6.2f} "
            f"{row['error_default']:8.1e} {row['error_best']:8.1e}  {row['best_setting']}"
        )
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        print(f"median ratio {statistics.median(ratios):.2f}, largest {max(ratios):.2f}, of {len(ratios)}")


def main() -> None:
    """Print a table, or one JSON object."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--models", type=Path, help="folder of model files")
    parser.add_argument("--only", nargs="*", help="names, or parts of them")
    arguments = parser.parse_args()
    beside = Path(__file__).resolve().parents[2] / "shared/findings/models"
    folder = arguments.models or Path(os.environ.get("PLIANT_MODELS", beside))
    rows = []
    for job in jobs(folder):
        if arguments.only and not any(part in job.name for part in arguments.only):
            continue
        rows.append(measure(job))
        print(f"{job.name}: {rows[-1].get('ratio', rows[-1].get('status'))}", file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps({"rows": rows}))
    else:
        table(rows)


if __name__ == "__main__":
    main()
