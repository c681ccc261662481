"""Measures of the cases of a study: one number for each case and quantity."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.language.arguments import ArgumentError
from pliant.language.message_text import suggestion

if TYPE_CHECKING:
    import xarray

MOST_PARTS = 24
"""Maximum number of components of a quantity that are listed individually."""

ROUNDING = 1e-9
"""Relative difference below which numbers are equal."""


USUAL = re.compile(
    r"equilibrium found in \d+ iterations?|it is stable( with a little damping)?|simulated to t = \S+ s|"
)
"""Parts of messages that are no remarks."""
MOST_REMARKS = 12
"""Maximum number of different remarks that are listed."""


@dataclass(frozen=True)
class Table:
    """Varied values and measures of all cases, each with a number or text for every case; units by name (SI)."""

    varied: dict[str, np.ndarray]
    measures: dict[str, np.ndarray]
    units: dict[str, str]
    status: np.ndarray
    message: np.ndarray

    def measure(self, name: str | None) -> tuple[str, np.ndarray]:
        """The measure of this name, or the first one in which cases differ."""
        if not self.measures:
            raise ArgumentError("no numbers were saved for these cases", "use --keep outputs")
        if name is None:
            name = next((x for x in self.measures if self._differs(x)), next(iter(self.measures)))
        if name not in self.measures and (
            several := [x for x in self.measures if re.match(rf"{re.escape(name)}[.\[]", x)]
        ):
            listed = ", ".join(several[:6])
            raise ArgumentError(f"'{name}' is not one number per case", f"choose one of {listed}")
        if name not in self.measures:
            hint = suggestion(name, self.measures, f"there are {', '.join(list(self.measures)[:12])}")
            raise ArgumentError(f"the sweep has no measure '{name}'", hint)
        return name, self.measures[name]

    def _differs(self, name: str) -> bool:
        """Whether cases differ in a measure by more than rounding errors of numbers of its unit."""
        alike = [x for other, x in self.measures.items() if self.units.get(other) == self.units.get(name)]
        size = max(np.max(np.abs(x), where=np.isfinite(x), initial=0.0) for x in alike)
        known = self.measures[name][np.isfinite(self.measures[name])]
        return len(known) > 1 and bool(np.ptp(known) > ROUNDING * size)

    def remarks(self) -> list[str]:
        """The remarks on cases that did not fail: one line for those that differ in numbers and names only, with the number of
        cases and the text of the first."""
        found: dict[str, list[tuple[int, str]]] = {}
        for k in np.flatnonzero(self.status != "failed"):
            for part in str(self.message[k]).split("; "):
                if not USUAL.fullmatch(part):
                    kind = re.sub(r"\d\S*|'[^']*'", "", part.partition(":")[0])
                    found.setdefault(kind, []).append((int(k), part))
        lines: list[tuple[list[int], str]] = []
        for items in found.values():
            cases, text = list(dict.fromkeys(k for k, _ in items)), items[0][1]
            if lines and lines[-1][0] == cases:  # parts of one remark
                lines[-1] = cases, f"{lines[-1][1]}; {text}"
            else:
                lines.append((cases, text))
        count = len(self.status)
        out = [f"{len(cases)} of {count} cases, as in case {cases[0]}: {text}" for cases, text in lines[:MOST_REMARKS]]
        return out + [f"{len(lines) - MOST_REMARKS} more remarks are in results.nc"] * (len(lines) > MOST_REMARKS)

    def ranked(self, name: str | None, *, largest: bool = False) -> list[int]:
        """Cases that have the measure, best first: the smallest, or the largest."""
        values = self.measure(name)[1]
        order = np.argsort(-values if largest else values, kind="stable")
        return [int(k) for k in order if np.isfinite(values[k])]


def measured(found: xarray.Dataset) -> Table:
    """The table of a study's dataset. For time-dependent quantities the final value is used; outputs come first."""
    varied = {str(n): x.values for n, x in found.coords.items() if x.dims == ("case",) and n != "case"}
    units = {str(n): str(x.attrs.get("units", "")) for n, x in found.variables.items()}
    measures: dict[str, np.ndarray] = {}
    names = sorted((str(n) for n in found.data_vars), key=lambda name: not name.startswith("output."))
    for name in names:
        values = found[name]
        if values.dtype.kind != "f" or values.ndim > 3:
            continue
        if "time" in values.dims:
            values = values.isel(time=-1)
        if values.ndim > 2 or (values.ndim == 2 and values.shape[1] > MOST_PARTS):
            continue
        short = name.removeprefix("output.")
        for part, column in _columns(values):
            measures[f"{short}{part}"] = column
            units[f"{short}{part}"] = units[name]
    return Table(varied, measures, units, found["status"].values, found["message"].values)


def _columns(values: xarray.DataArray) -> list[tuple[str, np.ndarray]]:
    if values.ndim == 1:
        return [("", values.values)]
    axis = values.dims[1]
    if axis in values.coords:
        labels = [f"[{x}]" for x in values[axis].values]
    else:
        usual = {3: "xyz", 4: "wxyz"}.get(values.shape[1])
        labels = [f".{usual[k]}" if usual else f"[{k + 1}]" for k in range(values.shape[1])]
    return list(zip(labels, values.values.T, strict=True))
