"""Dependence of a fit on the discretization of rods: the same prediction with twice as many elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pliant.equations.equations import Equations
from pliant.identify.fit_values import written_units
from pliant.identify.search import Search, Solution, Target, least_squares_step
from pliant.language.arguments import ArgumentError
from pliant.language.faults import SpecError
from pliant.spec.derive import derive_with_rods
from pliant.spec.rod_switch import with_fineness

ALIKE = 2.0
"""Sum of squares with finer rods, relative to that of the fit, up to which the first-order change suffices."""


def finer_rods(eqs: Equations) -> tuple[Equations, dict[str, str]]:
    """Equations whose rods have twice as many elements each (or twice the order), and their models by rod."""
    models, words = {}, {}
    for name, rod in eqs.model.spec.rods.items():
        count = 2 * int(eqs.model.rod_elements.get(name) or getattr(rod.model, rod.model.fineness))
        if stated := [x for x in eqs.model.stated if x.startswith((f"{name}.", f"d({name}."))]:
            raise ArgumentError(f"the start of '{stated[0]}' is given for its present number of elements")
        models[name], words[name] = with_fineness(rod.model, count), f"{rod.model.kind}:{count}"
    return derive_with_rods(eqs, models), words


def moved_by(search: Search, found: Solution, finer: Sequence[Target]) -> np.ndarray | None:
    """Change of the free unknowns if the targets are predicted by the finer model [SI], or None if that cannot be simulated there.

    The difference of the predictions is fitted with the derivatives of the best fit. If it is not small, this is only the
    start of a fit to the finer predictions: an error in frequency is no longer linear in the modulus after a radian, and
    would be attributed to damping.
    """
    other = Search(search.unknowns, finer, None)
    paths = [target.prediction.values(other.values_for(target, found.x)) for target in finer]
    if any(path is None for path in paths):
        return None
    left = search.residual_of(paths, found)
    inside = ~found.on_bound  # values at a bound stay there
    moved = np.zeros(len(found.free))
    moved[inside] = -least_squares_step(found.jacobian[:, inside], left - found.residual)
    rest = left + found.jacobian @ moved
    if np.all(np.abs(moved) <= np.sqrt(np.diag(found.covariance))) and rest @ rest <= ALIKE * max(found.cost, 1.0):
        return moved
    start = found.x.copy()
    start[found.free] += moved
    start = np.clip(start, search.unknowns.low, search.unknowns.high)
    there = [target.prediction.values(other.values_for(target, start)) for target in finer]
    if any(path is None for path in there) or np.sum(search.residual_of(there, found) ** 2) > left @ left:
        start = found.x
    refitted = other.solve(start, free=found.free, deviations=found.deviations)
    return np.asarray((refitted.x - found.x)[found.free]) if refitted.success else moved


def discretization_of(
    eqs: Equations, search: Search, found: Solution, targets: Callable[[Equations], Sequence[Target]]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Change of each fitted value with finer rods [SI], and a remark if it exceeds its standard deviation.

    targets: those of the fit for other equations.
    """
    if not eqs.model.spec.rods:
        return {}, ()
    labels = [search.unknowns.labels[k] for k in found.free]
    try:
        finer, models = finer_rods(eqs)
        moved = moved_by(search, found, targets(finer))
    except (SpecError, ValueError) as reason:
        return {}, (f"the dependence of the fit on the number of rod elements was not checked: {reason}",)
    if moved is None:
        return {}, ("the dependence of the fit on the number of rod elements was not checked: with twice as many "
                    "the model cannot be simulated at the fitted values",)  # fmt: skip
    deviation = np.sqrt(np.diag(found.covariance))
    far = [k for k in range(len(labels)) if abs(moved[k]) > deviation[k]]
    if not far:
        return dict(zip(labels, moved.tolist(), strict=True)), ()
    units, x = written_units(eqs, labels), found.x[found.free]
    values = ", ".join(
        f"{labels[k]} from {units[labels[k]].number(x[k], deviation[k])} to about "
        f"{units[labels[k]].value(x[k] + moved[k], deviation[k])}"
        for k in far
    )
    rods = " ".join(f"--rod {name}={model}" for name, model in models.items())
    remark = (
        f"the intervals do not include the discretization error of the rods: with twice as many elements the fit would change"
        f" {values}, by more than the standard deviation. Fit a finer model ({rods})"
    )
    return dict(zip(labels, moved.tolist(), strict=True)), (remark,)
