"""Strains and section forces along a rod: arc length on the x axis, one line for each time or point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.equations.outputs import output_axes, output_units
from pliant.view.plot.style import axes, key, label, prefixed, styled

if TYPE_CHECKING:
    from pliant.solve.result import Result
    from pliant.solve.statics.equilibrium import Equilibrium

LINES = 5
"""Number of lines if no times are given."""


@styled
def profile(
    found: Result | Equilibrium, name: str | None = None, *, times: Sequence[float] | None = None, ax: Any = None
) -> Any:
    """An output with `stations` along its rod, of a motion or of an equilibrium.

    name: the output; the first profile by default. times: those of a motion to draw [s], each replaced by the nearest saved
    one; five from its start to its end by default.
    """
    known = profile_names(found)
    if name is None and not known:
        raise ValueError("there is no profile to plot: give an output of a rod a number of `stations`")
    name = known[0] if name is None else name
    if name not in known:
        raise ValueError(f"'{name}' is not a profile along a rod; profiles: {', '.join(known) or 'none'}")
    arc_length, unit, lines = _lines(found, name, times)
    unit, factor = prefixed(unit, np.concatenate([values for _, values in lines]))
    length_unit, length_factor = prefixed("m", arc_length)
    ax = axes(ax)
    for words, values in lines:
        ax.plot(length_factor * arc_length, factor * values, label=words)
    ax.set_xlabel(label("arc length", length_unit))
    ax.set_ylabel(label(name, unit))
    key(ax)
    return ax


def profile_names(found: Any) -> list[str]:
    """Outputs of a motion, a path or an equilibrium that are profiles along a rod."""
    if hasattr(found, "dataset"):
        names = [f"output.{name}.arc_length" in found.recorded.labels for name in found.output_names]
        return [name for name, is_profile in zip(found.output_names, names, strict=True) if is_profile]
    return list(output_axes(found.equations.model, found.equations.binding))


def _lines(
    found: Any, name: str, times: Sequence[float] | None
) -> tuple[np.ndarray, str, list[tuple[str | None, np.ndarray]]]:
    """Arc lengths [m], unit, and the lines with their labels."""
    if not hasattr(found, "dataset"):
        if times is not None:
            raise ValueError("an equilibrium has no times: omit `times`")
        model = found.equations.model
        at = output_axes(model, found.equations.binding)[name]
        return at, output_units(model)[name], [(None, np.asarray(found.outputs[name], dtype=float))]
    track = found[name]
    if times is None:
        rows = np.unique(np.linspace(0, len(found.time) - 1, min(LINES, len(found.time))).astype(int))
    else:
        rows = np.array([int(np.argmin(np.abs(found.time - t))) for t in times])
    return track.arc_length, track.unit, [(f"{found.time[k]:.4g} s", track.values[k]) for k in rows]
