"""Geometrically exact beams: cost of an implicit step against the number of elements, and beside Exudyn's.

    python benchmarks/beams.py              tables
    python benchmarks/beams.py --json       one JSON object

The case is a soft round cantilever that falls from the horizontal for 0.3 s, by generalized-alpha with spectral radius 0.8
and a fixed step of 1 ms, in both programs. Exudyn's beam is `ObjectBeamGeometricallyExact` (two nodes, mass at the nodes)
on Euler-parameter nodes with its modified Newton method and sparse solver, one thread, which was its quickest setting
here; weight acts on its nodes. Ours is `finite_element` with consistent mass and exact Newton iterations.

The error is the distance of the tip at the end from a fine model with a step of a quarter (`finite_element` with 48 elements). For
equal accuracy the number of elements grows until the error is below the tolerance, up to what the step's own error allows.
Times are the fastest of several runs, because other work on the machine only ever adds time; they include the call from
Python, and not the derivation.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant.rod.finite_element import FiniteElement
from pliant.spec.rod_switch import with_rod_model

LENGTH, RADIUS, YOUNG, POISSON, DENSITY, GRAVITY = 1.0, 0.01, 1e7, 0.5, 1000.0, 9.81
STEP, UNTIL, RADIUS_OF_SPECTRUM = 1e-3, 0.3, 0.8
GROWTH = (10, 30, 100, 300, 1000)
SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32)
TOLERANCE = 5e-3
ROUNDS = 5


def ours(
    elements: int, step: float = STEP, until: float = UNTIL, rounds: int = ROUNDS, **options: Any
) -> dict[str, Any]:
    """Tip at the end [m] and the time of one step [us]."""
    model = FiniteElement(elements=elements, **options)
    eqs = pliant.derive(with_rod_model(pliant.load("cantilever"), "rod", model))
    method = pliant.GeneralizedAlpha(step=step, spectral_radius=RADIUS_OF_SPECTRUM)
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run = pliant.simulate(eqs, until, method=method, parameters={"gravity": GRAVITY}, save_at=[until])
        seconds.append(time.perf_counter() - begin)
    tip = eqs.frame("rod.tip", run.q[-1]).position
    return {"elements": elements, "tip": tip.tolist(), "us_per_step": 1e6 * min(seconds) * step / until}


def exudyn(elements: int, step: float = STEP, until: float = UNTIL, rounds: int = ROUNDS) -> dict[str, Any]:
    """The same by Exudyn."""
    seconds, tip = [], np.zeros(3)
    for _ in range(rounds):
        system, settings, node, container = _exudyn_cantilever(elements, step, until)
        begin = time.perf_counter()
        system.SolveDynamic(settings)
        seconds.append(time.perf_counter() - begin)
        tip = system.GetNodeOutput(node, container.position)
    return {"elements": elements, "tip": list(tip), "us_per_step": 1e6 * min(seconds) * step / until}


def _exudyn_cantilever(elements: int, step: float, until: float) -> tuple[Any, Any, Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import exudyn as exu
        import exudyn.itemInterface as items

        container = exu.SystemContainer()
        system = container.AddSystem()
        area, moment = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
        shear_modulus, factor = YOUNG / (2 * (1 + POISSON)), 6 * (1 + POISSON) / (7 + 6 * POISSON)
        section = exu.BeamSection()
        shear = factor * shear_modulus * area
        bending = YOUNG * moment
        section.stiffnessMatrix = np.diag([YOUNG * area, shear, shear, 2 * shear_modulus * moment, bending, bending])
        section.inertia = DENSITY * np.diag([2 * moment, moment, moment])
        section.massPerLength = DENSITY * area
        part = LENGTH / elements
        nodes = [
            system.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[part * k, 0, 0, 1, 0, 0, 0]))
            for k in range(elements + 1)
        ]
        for k in range(elements):
            system.AddObject(
                items.ObjectBeamGeometricallyExact(
                    nodeNumbers=nodes[k : k + 2], physicsLength=part, sectionData=section
                )
            )
        for k in range(1, elements + 1):
            marker = system.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[k]))
            weight = DENSITY * area * GRAVITY * part * (0.5 if k == elements else 1)
            system.AddLoad(items.Force(markerNumber=marker, loadVector=[0, 0, -weight]))
        ground = system.AddObject(items.ObjectGround())
        ends = [
            system.AddMarker(items.MarkerBodyRigid(bodyNumber=ground)),
            system.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[0])),
        ]
        system.AddObject(items.GenericJoint(markerNumbers=ends))
        system.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = round(until / step)
        settings.timeIntegration.endTime = until
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.generalizedAlpha.spectralRadius = RADIUS_OF_SPECTRUM
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.solutionSettings.writeSolutionToFile = False
        settings.linearSolverType = exu.LinearSolverType.EigenSparse
        settings.parallel.numberOfThreads = 1
    return system, settings, nodes[-1], _Output(exu.OutputVariableType.Position)


class _Output:
    """Names of what is read back."""

    def __init__(self, position: Any) -> None:
        self.position = position


def until_accurate(
    solve: Callable[[int], dict[str, Any]], reference: np.ndarray, tolerance: float
) -> list[dict[str, Any]]:
    """Rows of growing numbers of elements, the last of them within the tolerance (or the finest)."""
    rows = []
    for elements in SIZES:
        row = solve(elements)
        row["error_mm"] = 1e3 * float(np.linalg.norm(np.array(row["tip"]) - reference))
        rows.append(row)
        if row["error_mm"] < 1e3 * tolerance:
            break
    return rows


def measure() -> dict[str, Any]:
    """All figures."""
    growth = [ours(n, until=20 * STEP, rounds=3) for n in GROWTH]
    for row in growth:
        row["us_per_step_and_element"] = row["us_per_step"] / row["elements"]
    reference = np.array(ours(48, step=STEP / 4, rounds=1)["tip"])
    result: dict[str, Any] = {"growth": growth, "tolerance_mm": 1e3 * TOLERANCE, "finite_element": []}
    result["finite_element"] = until_accurate(ours, reference, TOLERANCE)
    try:
        import exudyn as installed

        result["exudyn_version"] = installed.__version__
    except ImportError:
        result["exudyn"] = None
        return result
    result["exudyn"] = until_accurate(exudyn, reference, TOLERANCE)
    result["equal_elements"] = {
        "elements": 10,
        "finite_element": ours(10),
        "fe_lumped": ours(10, mass="lumped"),
        "exudyn": exudyn(10),
    }
    result["speedup_at_equal_accuracy"] = (
        result["exudyn"][-1]["us_per_step"] / result["finite_element"][-1]["us_per_step"]
    )
    equal = result["equal_elements"]
    result["speedup_at_equal_elements"] = equal["exudyn"]["us_per_step"] / equal["finite_element"]["us_per_step"]
    return result


def main() -> None:
    """Print tables, or one JSON object."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    result = measure()
    if arguments.json:
        print(json.dumps(result, indent=2))
        return
    print("elements   us/step   us/step and element")
    for row in result["growth"]:
        print(f"{row['elements']:>8}{row['us_per_step']:>10.0f}{row['us_per_step_and_element']:>14.1f}")
    for name in ("finite_element", "exudyn"):
        if not result[name]:
            print(f"\n{name} is not installed: no comparison")
            continue
        print(f"\n{name}, until the tip is within {result['tolerance_mm']:g} mm\nelements   us/step   error [mm]")
        for row in result[name]:
            print(f"{row['elements']:>8}{row['us_per_step']:>10.0f}{row['error_mm']:>13.3f}")
    if result["exudyn"]:
        equal = result["equal_elements"]
        times = ", ".join(
            f"{name} {equal[name]['us_per_step']:.0f} us" for name in ("finite_element", "fe_lumped", "exudyn")
        )
        print(f"\n10 elements: {times}: {result['speedup_at_equal_elements']:.1f} times as fast")
        print(f"equal accuracy: {result['speedup_at_equal_accuracy']:.1f} times as fast")


if __name__ == "__main__":
    main()
