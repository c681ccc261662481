"""Geometrically exact beams: a rod released under its weight compared with Exudyn's beams, and the cost of a step over its size.

    python benchmarks/beams.py [--json] [--rounds N] [--growth]

The case is the bundled `cantilever`: a soft round rod of 1 m, clamped at one end, that falls from the horizontal for 1 s. The
error of a setting is the largest distance of its tip from the converged one at 50 times, relative to the rod's length. For both
programs the fastest setting within 1 % and within 0.1 % is searched for: Exudyn over numbers of elements, steps,
numerical damping, solvers and Newton methods, this package over rod models, strains, methods and tolerances. The fastest ones
are then timed alternately, the fastest of several rounds each, on one thread. Times include the call from Python and the path of
the tip, but not the creation of the model. Three of Exudyn's beams are used:

    space   `ObjectBeamGeometricallyExact`, in space; ours may move in space too
    planar  `ObjectBeamGeometricallyExact2D`, with shear; ours `strains: planar` or fewer
    cable   `ObjectANCFCable2D`, without shear; ours `strains: [planar, unshearable]` or fewer

A rod with shear and one without differ by 2 mm, so there are two converged tips. They come from the finest models of both
programs, which have to agree (`reference_gap_mm`). The row `default` is `pliant.simulate` with the bundled rod,
without options.

`growth` is the time of one implicit step (generalized-alpha, 1 ms) of `finite_element` rods against their number of elements, from
the difference of a long and a short run, so that the constant cost of a call cancels.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np

import pliant
from pliant.analysis.integrators import Method
from pliant.parts import Cosserat, FiniteElement, Gvs
from pliant.parts.rod.base import RodModelBase

LENGTH, RADIUS, YOUNG, POISSON, DENSITY, GRAVITY = 1.0, 0.01, 1e7, 0.5, 1000.0, 9.81
UNTIL, SAMPLE = 1.0, 0.02
TIMES = np.arange(1, round(UNTIL / SAMPLE) + 1) * SAMPLE
ACCURACIES = (1e-2, 1e-3)
ROUNDS = 15
FINALISTS = 6
"""The fastest settings of each program, which are timed alternately."""

GROWTH = (20, 100, 300, 1000)
GROWTH_STEP = 1e-3

ALL, PLANAR, UNSHEARABLE = (), ("planar",), ("planar", "unshearable")
BENDING = ("planar", "kirchhoff")
REFERENCES = {"space": PLANAR, "planar": PLANAR, "cable": UNSHEARABLE}
"""Strains of the converged rod that each of Exudyn's beams is measured by: the motion stays in a plane."""


@dataclass(frozen=True)
class Trial:
    """Description of a setting, duration of a run [s], and error of the tip, relative to the length."""

    setting: str
    seconds: float
    error: float
    again: Callable[[], tuple[np.ndarray, float]]


def error(path: np.ndarray, reference: np.ndarray) -> float:
    """Largest distance of two paths of the tip, relative to the length."""
    return float(np.linalg.norm(path - reference, axis=1).max()) / LENGTH


# -- this package ------------------------------------------------------------------------------------------------------


@cache
def equations(key: str) -> pliant.Equations:
    """The cantilever under its weight as the rod of that key, compiled."""
    model, strains = RODS[key]
    spec = pliant.load("cantilever", set={"gravity": GRAVITY})
    rod = spec.rods["rod"].model_copy(update={"model": model, "strains": strains or None})
    eqs = pliant.derive(spec.replace(rods={"rod": rod}))
    pliant.simulate(eqs, 0.01, method="implicit")
    return eqs


RODS: dict[str, tuple[RodModelBase, tuple[str, ...]]] = {}
"""Rod models and free strains by their names in the tables."""


def rod(model: RodModelBase, strains: tuple[str, ...]) -> str:
    """Note a rod; returns its key."""
    options = model.model_dump(exclude_unset=True, exclude={"kind"}, exclude_none=True)
    key = f"{model.kind} {options}".replace("'", "") + (f", strains {', '.join(strains)}" if strains else "")
    RODS[key] = (model, strains)
    return key


def ours(key: str, method: Method) -> tuple[np.ndarray, float]:
    """Path of the tip in the plane (times x 2), and the time that it took [s]."""
    eqs = equations(key)
    begin = time.perf_counter()
    run = pliant.simulate(eqs, UNTIL, method=method, save_at=TIMES, save_between=True)
    path = run["rod.tip"].position
    return path[:, [0, 2]], time.perf_counter() - begin


def bends(order: int, others: dict[str, int], strains: tuple[str, ...], elements: int, **options: int) -> str:
    """A rod whose bending is a polynomial on each element, with the orders of the other strains."""
    return rod(Gvs(order={"bend_y": order, **others}, elements=elements, **options), strains)


def rods_to_try(beam: str) -> Iterator[str]:
    """Candidates for the fastest rod comparable with one of Exudyn's beams."""
    if beam == "space":
        yield from (rod(FiniteElement(elements=n), ALL) for n in (6, 8, 10, 12, 16, 20))
        yield from (rod(Cosserat(elements=n), ALL) for n in (16, 24, 32))
        for n in (3, 4):
            yield bends(2, {"bend_x": 2, "twist": 0}, ("kirchhoff",), n, mass_points=3)
        return
    for n, points in ((3, 2), (3, 3), (4, 2), (4, 3)):
        yield bends(2, {}, BENDING, n, mass_points=points)
    yield bends(5, {}, BENDING, 1)
    for n, points in ((6, 2), (6, 3), (8, 2)):
        yield bends(2, {"stretch": 0}, UNSHEARABLE, n, mass_points=points)
    yield bends(3, {"stretch": 0}, UNSHEARABLE, 4, mass_points=4)
    if beam == "planar":
        for n, points in ((6, 2), (6, 3), (8, 2)):
            yield bends(2, {"stretch": 0, "shear_x": 0}, PLANAR, n, mass_points=points)
        yield from (rod(FiniteElement(elements=n), PLANAR) for n in (8, 12, 16))
        yield from (rod(Cosserat(elements=n), PLANAR) for n in (16, 24, 32))


METHODS: tuple[Method, ...] = (
    *(pliant.GeneralizedAlpha(step=SAMPLE / k) for k in (1, 1.5, 2, 3, 4, 5)),
    *(pliant.Rosenbrock(rtol=rtol, max_step=0.05) for rtol in (1e-1, 3e-2, 1e-2, 5e-3)),
    *(pliant.Rosenbrock(rtol=rtol) for rtol in (3e-3, 2e-3)),
)


def our_trials(beam: str, reference: np.ndarray) -> Iterator[Trial]:
    """All settings of ours, tried once."""
    for key, method in product(list(rods_to_try(beam)), METHODS):

        def again(key: str = key, method: Method = method) -> tuple[np.ndarray, float]:
            return ours(key, method)

        try:
            path, seconds = again()
        except pliant.AnalysisFailed:
            continue
        most = "" if getattr(method, "max_step", None) is None else f", steps up to {method.max_step:g} s"
        yield Trial(f"{key}; {method.describe()}{most}", seconds, error(path, reference), again)


def default_row() -> dict[str, Any]:
    """The default: the bundled rod with `pliant.simulate` without options."""
    eqs = pliant.derive(pliant.load("cantilever", set={"gravity": GRAVITY}))
    pliant.simulate(eqs, 0.01)
    best, path = np.inf, np.zeros((0, 2))
    for _ in range(5):
        begin = time.perf_counter()
        run = pliant.simulate(eqs, UNTIL, save_at=TIMES, save_between=True)
        path = run["rod.tip"].position[:, [0, 2]]
        best = min(best, time.perf_counter() - begin)
    return {"ours_s": best, "setting": f"as bundled; {run.method}", "steps": run.timing.steps, "path": path}


# -- Exudyn ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """Elements and step [s] of a run of Exudyn, spectral radius, solver and Newton's method."""

    elements: int
    step: float
    radius: float = 0.8
    sparse: bool = True
    modified: bool = True
    tolerance: float = 1e-8

    def __str__(self) -> str:
        newton = "modified Newton" if self.modified else "full Newton"
        return (
            f"{self.elements} elements, step {self.step:g} s, spectral radius {self.radius:g}, "
            f"{'sparse' if self.sparse else 'dense'}, {newton} to {self.tolerance:g}"
        )


def exudyn(beam: str, options: Options) -> tuple[np.ndarray, float]:
    """Path of the tip in the plane (times x 2), and the time that it took [s]."""
    import exudyn as exu

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        container = exu.SystemContainer()
        system = container.AddSystem()
        tip, axes = {"space": _space_beam, "planar": _planar_beam, "cable": _cable}[beam](system, options.elements)
        sensor = _sensor(system, tip)
        system.Assemble()
        settings = _settings(options)
        begin = time.perf_counter()
        system.SolveDynamic(settings)
        seconds = time.perf_counter() - begin
        stored = np.asarray(system.GetSensorStoredData(sensor))
    path = np.column_stack([np.interp(TIMES, stored[:, 0], stored[:, 1 + k]) for k in axes])
    return path, seconds


def _settings(options: Options) -> Any:
    import exudyn as exu

    settings = exu.SimulationSettings()
    stepping = settings.timeIntegration
    stepping.numberOfSteps, stepping.endTime, stepping.verboseMode = round(UNTIL / options.step), UNTIL, 0
    stepping.generalizedAlpha.spectralRadius = options.radius
    stepping.newton.useModifiedNewton = options.modified
    stepping.newton.relativeTolerance = options.tolerance
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = SAMPLE
    kinds = exu.LinearSolverType
    settings.linearSolverType = kinds.EigenSparse if options.sparse else kinds.EXUdense
    settings.parallel.numberOfThreads = 1
    return settings


def _sensor(system: Any, node: int) -> int:
    import exudyn as exu
    import exudyn.itemInterface as items

    what = exu.OutputVariableType.Position
    made = items.SensorNode(nodeNumber=node, storeInternal=True, writeToFile=False, outputVariableType=what)
    return int(system.AddSensor(made))


AREA, MOMENT = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
SHEAR_MODULUS = YOUNG / (2 * (1 + POISSON))
SHEAR = 6 * (1 + POISSON) / (7 + 6 * POISSON) * SHEAR_MODULUS * AREA


def _space_beam(system: Any, elements: int) -> tuple[int, tuple[int, int]]:
    """Beams in space; weight acts on their nodes. Returns the node of the tip and the axes of the plane."""
    import exudyn as exu
    import exudyn.itemInterface as items

    section, part, bending = exu.BeamSection(), LENGTH / elements, YOUNG * MOMENT
    section.stiffnessMatrix = np.diag([YOUNG * AREA, SHEAR, SHEAR, 2 * SHEAR_MODULUS * MOMENT, bending, bending])
    section.inertia = DENSITY * np.diag([2 * MOMENT, MOMENT, MOMENT])
    section.massPerLength = DENSITY * AREA
    places = [[part * k, 0, 0, 1, 0, 0, 0] for k in range(elements + 1)]
    nodes = [system.AddNode(items.NodeRigidBodyEP(referenceCoordinates=place)) for place in places]
    for ends in pairwise(nodes):
        beam = items.ObjectBeamGeometricallyExact(nodeNumbers=list(ends), physicsLength=part, sectionData=section)
        system.AddObject(beam)
    for k in range(1, elements + 1):
        marker = system.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[k]))
        weight = DENSITY * AREA * GRAVITY * part * (0.5 if k == elements else 1)
        system.AddLoad(items.Force(markerNumber=marker, loadVector=[0, 0, -weight]))
    ground = system.AddObject(items.ObjectGround())
    ends = [
        system.AddMarker(items.MarkerBodyRigid(bodyNumber=ground)),
        system.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[0])),
    ]
    system.AddObject(items.GenericJoint(markerNumbers=ends))
    return nodes[-1], (0, 2)


def _planar_beam(system: Any, elements: int) -> tuple[int, tuple[int, int]]:
    """Beams with shear in a plane."""
    import exudyn.itemInterface as items

    part = LENGTH / elements
    nodes = [system.AddNode(items.NodeRigidBody2D(referenceCoordinates=[part * k, 0, 0])) for k in range(elements + 1)]
    for ends in pairwise(nodes):
        beam = items.ObjectBeamGeometricallyExact2D(
            nodeNumbers=list(ends), physicsLength=part, physicsMassPerLength=DENSITY * AREA,
            physicsCrossSectionInertia=DENSITY * MOMENT, physicsBendingStiffness=YOUNG * MOMENT,
            physicsAxialStiffness=YOUNG * AREA, physicsShearStiffness=SHEAR,
        )  # fmt: skip
        _add_weight(system, system.AddObject(beam))
    _clamp(system, nodes[0], (0, 1, 2))
    return nodes[-1], (0, 1)


def _cable(system: Any, elements: int) -> tuple[int, tuple[int, int]]:
    """Cables without shear in a plane, in absolute nodal coordinates."""
    import exudyn.itemInterface as items

    part = LENGTH / elements
    nodes = [
        system.AddNode(items.NodePoint2DSlope1(referenceCoordinates=[part * k, 0, 1, 0])) for k in range(elements + 1)
    ]
    for ends in pairwise(nodes):
        cable = items.ObjectANCFCable2D(
            nodeNumbers=list(ends), physicsLength=part, physicsMassPerLength=DENSITY * AREA,
            physicsBendingStiffness=YOUNG * MOMENT, physicsAxialStiffness=YOUNG * AREA,
        )  # fmt: skip
        _add_weight(system, system.AddObject(cable))
    _clamp(system, nodes[0], (0, 1, 3))
    return nodes[-1], (0, 1)


def _add_weight(system: Any, body: int) -> None:
    import exudyn.itemInterface as items

    marker = system.AddMarker(items.MarkerBodyMass(bodyNumber=body))
    system.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, -GRAVITY, 0]))


def _clamp(system: Any, node: int, coordinates: Sequence[int]) -> None:
    import exudyn.itemInterface as items

    ground = system.AddMarker(
        items.MarkerNodeCoordinate(nodeNumber=system.AddNode(items.NodePointGround()), coordinate=0)
    )
    for k in coordinates:
        held = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=k))
        system.AddObject(items.CoordinateConstraint(markerNumbers=[ground, held]))


ELEMENTS = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64)
PARTS = (1, 2, 3, 4, 6)
"""Steps of Exudyn in each interval between two samples: it does not interpolate."""
CLOSE = 6
"""Settings of a planar beam with which its beam in space is tried, for each accuracy."""


def exudyn_trial(beam: str, options: Options, reference: np.ndarray) -> Trial:
    """One run of Exudyn; infinite time if it fails."""
    import exudyn as exu

    exu.config.printToConsole = False

    def again() -> tuple[np.ndarray, float]:
        return exudyn(beam, options)

    try:
        path, seconds = again()
    except exu.SolverError:  # Newton's method does not converge with such long steps
        return Trial(str(options), np.inf, np.inf, again)
    return Trial(str(options), seconds, error(path, reference), again)


@cache
def exudyn_grid(beam: str, strains: tuple[str, ...]) -> list[tuple[Options, Trial]]:
    """Elements, steps and numerical damping in order of their work, up to twice that of the first within the finest accuracy.

    The beam in space is the planar one with more coordinates, and a hundred times as slow: it is tried with the settings that are
    accurate in the plane, or nearly so, the least work first.
    """
    reference, _ = converged(strains)
    if beam == "space":
        near: list[Options] = []
        for accuracy in ACCURACIES:
            near += [x for x, trial in exudyn_grid("planar", strains) if trial.error < 1.2 * accuracy][:CLOSE]
        return [(x, exudyn_trial(beam, x, reference)) for x in dict.fromkeys(near)]
    grid = [Options(n, SAMPLE / k, radius) for n, k, radius in product(ELEMENTS, PARTS, (0.8, 1.0))]
    grid.sort(key=lambda x: x.elements / x.step)
    tried: list[tuple[Options, Trial]] = []
    limit = np.inf
    for options in grid:
        if options.elements / options.step > limit:
            break
        tried.append((options, exudyn_trial(beam, options, reference)))
        if tried[-1][1].error < min(ACCURACIES):
            limit = min(limit, 2 * options.elements / options.step)
    return tried


def exudyn_trials(beam: str, strains: tuple[str, ...]) -> Iterator[Trial]:
    """Settings of Exudyn, and its other solvers and Newton methods at the quickest ones of each accuracy."""
    tried = exudyn_grid(beam, strains)
    yield from (x for _, x in tried)
    for accuracy in ACCURACIES:
        within = sorted((x for x in tried if x[1].error < accuracy), key=lambda x: x[1].seconds)[:2]
        for options, _ in within:
            for sparse, modified, tolerance in product((True, False), (True, False), (1e-8, 1e-5)):
                varied = Options(options.elements, options.step, options.radius, sparse, modified, tolerance)
                if varied != options:
                    yield exudyn_trial(beam, varied, converged(strains)[0])


# -- both --------------------------------------------------------------------------------------------------------------


@cache
def converged(strains: tuple[str, ...]) -> tuple[np.ndarray, float | None]:
    """The converged path of the tip, and the error of the finest model of Exudyn [mm]; None without Exudyn.

    Ours has bending, stretch and shear of third order on eight elements; Exudyn's beam with shear is extrapolated from two sizes,
    as its error falls with the square of them.
    """
    key = rod(Gvs(order=3, elements=8), strains)
    path, _ = ours(key, pliant.Rosenbrock(rtol=1e-4))
    if not has_exudyn():
        return path, None
    if strains == UNSHEARABLE:
        other, _ = exudyn("cable", Options(64, 1e-3))
    else:
        coarse, fine = (exudyn("planar", Options(n, 1e-3))[0] for n in (64, 128))
        other = fine + (fine - coarse) / 3
    return path, 1e3 * LENGTH * error(other, path)


@cache
def has_exudyn() -> bool:
    """Whether Exudyn is installed."""
    try:
        import exudyn  # noqa: F401
    except ImportError:
        return False
    return True


def say(text: str) -> None:
    """Print the progress."""
    print(text, file=sys.stderr, flush=True)


def quickest(trials: Sequence[Trial], accuracy: float) -> list[Trial]:
    """The fastest settings within an accuracy, from their first runs."""
    return sorted((x for x in trials if x.error <= accuracy), key=lambda x: x.seconds)[:FINALISTS]


def timed(groups: Sequence[Sequence[Trial]], rounds: int) -> list[tuple[float, Trial] | None]:
    """The trial with the smallest time [s] of each group, in alternating rounds; None for empty groups."""
    best = {id(x): np.inf for group in groups for x in group}
    for _ in range(rounds):
        for group in groups:
            for x in group:
                best[id(x)] = min(best[id(x)], x.again()[1])
    return [min(((best[id(x)], x) for x in group), key=lambda pair: pair[0], default=None) for group in groups]


def compare(rounds: int) -> dict[str, Any]:
    """Rows of all beams and accuracies, and how well both programs agree when refined."""
    references: dict[tuple[str, ...], np.ndarray] = {}
    gaps: dict[str, float | None] = {}
    for strains in dict.fromkeys(REFERENCES.values()):
        say(f"converged motion, strains {', '.join(strains)}")
        references[strains], gaps[", ".join(strains)] = converged(strains)
    rows = []
    for beam, strains in REFERENCES.items():
        say(f"{beam}: settings of ours")
        mine = list(our_trials(beam, references[strains]))
        say(f"{beam}: {len(mine)} tried; settings of Exudyn")
        theirs = list(exudyn_trials(beam, strains)) if has_exudyn() else []
        say(f"{beam}: {len(theirs)} tried; the quickest in turns")
        for accuracy in ACCURACIES:
            ours_, other = timed((quickest(mine, accuracy), quickest(theirs, accuracy)), rounds)
            row: dict[str, Any] = {"case": beam, "accuracy": accuracy}
            for name, setting, found in (("ours", "setting", ours_), ("exudyn", "exudyn_setting", other)):
                seconds, trial = found or (None, None)
                row |= {f"{name}_s": seconds, setting: trial and trial.setting, f"{name}_error": trial and trial.error}
            row["times_faster"] = other[0] / ours_[0] if ours_ and other else None
            rows.append(row)
    default = default_row()
    default["error"] = error(default.pop("path"), references[PLANAR])
    return {"rows": rows, "default": default, "reference_gap_mm": gaps}


def growth(rounds: int) -> list[dict[str, Any]]:
    """Time of one step [us] of rods of growing size."""
    rows = []
    method = pliant.GeneralizedAlpha(step=GROWTH_STEP)
    for n in GROWTH:
        eqs = equations(rod(FiniteElement(elements=n), ALL))
        few, many = 4, 4 + max(10, 4000 // n)
        best = {few: np.inf, many: np.inf}
        for _, steps in product(range(rounds), best):
            begin = time.perf_counter()
            pliant.simulate(eqs, steps * GROWTH_STEP, method=method, save_at=[steps * GROWTH_STEP])
            best[steps] = min(best[steps], time.perf_counter() - begin)
        per_step = 1e6 * (best[many] - best[few]) / (many - few)
        rows.append({"elements": n, "us_per_step": per_step, "us_per_step_and_element": per_step / n})
    return rows


def print_tables(result: dict[str, Any]) -> None:
    """Print the figures."""
    if "rows" in result:
        for strains, gap in result["reference_gap_mm"].items():
            print(
                f"converged, strains {strains}: Exudyn's finest is {'not there' if gap is None else f'{gap:.2f} mm off'}"
            )
        print("\nbeam     within       ours      Exudyn  faster   settings: ours, Exudyn's")
        for row in result["rows"]:
            times = [row["ours_s"], row["exudyn_s"]]
            words = ["-" if x is None else f"{1e3 * x:.1f} ms" for x in times]
            faster = "-" if row["times_faster"] is None else f"{row['times_faster']:.1f}"
            print(f"{row['case']:<8}{row['accuracy']:>7.1%}{words[0]:>11}{words[1]:>12}{faster:>8}   {row['setting']}")
            print(f"{'':<49}{row['exudyn_setting'] or ''}")
        default = result["default"]
        print(f"\ndefault  {default['error']:>6.2%} off, {1e3 * default['ours_s']:.1f} ms: {default['setting']}")
    print("\nelements   us/step   us/step and element")
    for row in result["growth"]:
        print(f"{row['elements']:>8}{row['us_per_step']:>10.0f}{row['us_per_step_and_element']:>14.1f}")


def main() -> None:
    """Print tables, or one JSON object."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of each timing ({ROUNDS})")
    parser.add_argument("--growth", action="store_true", help="only the cost of a step against the size")
    arguments = parser.parse_args()
    result = {} if arguments.growth else compare(arguments.rounds)
    result["growth"] = growth(max(3, arguments.rounds // 3))
    if has_exudyn():
        import exudyn as installed

        result["exudyn_version"] = installed.__version__
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        print_tables(result)


if __name__ == "__main__":
    main()
