"""The section of a report on a fit: values with confidence intervals, errors, cross-validation, profiles, and a plot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from pliant.identify.cross_validation import HeldOut, Profile
from pliant.identify.fit import Fit
from pliant.show import plot
from pliant.show.figures import figure_html
from pliant.show.page import table, text


@dataclass(frozen=True)
class FitContent:
    """A fit, with the results of its checks, if they were made."""

    fit: Fit
    held_out: HeldOut | None = None
    profiles: tuple[Profile, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks of the fit."""
        return self.fit.warnings


def fit_html(found: FitContent) -> str:
    """A fit as parts of a page."""
    return "".join(_parts(found))


def fit_tables(fit: Fit) -> str:
    """The tables of a fit: its parameters, their correlations, and errors."""
    return "".join(_tables(fit))


def _tables(fit: Fit) -> Iterator[str]:
    exact = "exact derivatives" if fit.derivatives == "exact" else f"finite differences ({fit.derivatives})"
    yield f"<p>{text(fit.message)}; {fit.evaluations} evaluations with {text(exact)}.</p>"
    yield _values(fit)
    if len(fit.parameters) > 1:
        names = list(fit.parameters)
        rows = [(name, *(f"{x:+.3f}" for x in row)) for name, row in zip(names, fit.correlation, strict=True)]
        yield f"<h3>Correlations of the errors</h3>{table(('', *names), rows)}"
    yield f"<h3>Errors</h3>{_mean_errors(fit)}{_output_errors(fit)}"


def _parts(found: FitContent) -> Iterator[str]:
    fit = found.fit
    yield from _tables(fit)
    words = "measured outputs, and the model before and after the fit"
    yield f'<div class="pictures">{figure_html(partial(plot.fit, fit), words)}</div>'
    if found.held_out is not None:
        yield _held_out(fit, found.held_out)
    if found.profiles:
        yield _profiles(fit, found.profiles)


def _values(fit: Fit) -> str:
    rows = []
    for name, value in fit.parameters.items():
        unit, deviation, moved = fit.units[name], fit.deviations[name], fit.finer_rods.get(name)
        bound = " (at its bound)" if name in fit.at_bounds else ""
        finer = "" if moved is None else unit.plain(moved, "+.2g")
        interval = unit.interval(*fit.intervals[name], deviation)
        found = f"{unit.value(value, deviation)}{bound}"
        rows.append((name, unit.plain(fit.start[name]), found, unit.plain(deviation, ".2g"), interval, finer))
    head = ("parameter", "before", "found", "standard deviation", "95 % interval", "change with finer rods")
    return table(head, rows) if fit.finer_rods else table(head[:-1], [row[:-1] for row in rows])


def _mean_errors(fit: Fit) -> str:
    errors = [("fitted samples", f"{fit.before_mm:.4g}", f"{fit.after_mm:.4g}")]
    if np.isfinite(fit.after_test_mm):
        errors.append(("held-out samples", f"{fit.before_test_mm:.4g}", f"{fit.after_test_mm:.4g}"))
    return table((f"mean error [{fit.unit}]", "before", "after"), errors)


def _output_errors(fit: Fit) -> str:
    rows = [
        (e.measurement, f"{e.output} [{e.unit}]", *(f"{x:.4g}" for x in (e.before_rms, e.after_rms, e.deviation)))
        for e in fit.errors
    ]
    head = ("measurement", "output", "root mean square before", "after", "assumed standard deviation")
    return table(head, rows)


def _held_out(fit: Fit, found: HeldOut) -> str:
    units = {error.output: error.unit for error in fit.errors}
    errors = [(f"{name} [{units[name]}]", f"{rms:.4g}") for name, rms in found.rms.items()]
    head = ("parameter", *(f"without fold {k + 1}" for k in range(len(found.parameters))), "spread")
    rows = [
        (
            name,
            *(fit.units[name].value(x[name], spread) for x in found.parameters),
            fit.units[name].plain(spread, ".2g"),
        )
        for name, spread in found.spread.items()
    ]
    title = f"<h3>Held out and predicted, in {len(found.parameters)} folds</h3>"
    return title + table(("output", "root mean square error"), errors) + table(head, rows)


def _profiles(fit: Fit, profiles: tuple[Profile, ...]) -> str:
    rows = [(x.name, fit.units[x.name].interval(*x.interval, fit.deviations[x.name])) for x in profiles]
    words = "rise of the sum of squares with {} held at other values"
    drawn = "".join(figure_html(partial(plot.likelihood, one), words.format(one.name)) for one in profiles)
    head = ("parameter", "95 % interval by its profile")
    return f'<h3>Profiles</h3>{table(head, rows)}<div class="pictures">{drawn}</div>'
