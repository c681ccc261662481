"""Names of outputs: an output, a component of one (`tip.x`), or all instances of a repeated one (`pinch`, `tip.x`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.language.names import instances_of


@dataclass(frozen=True)
class OutputColumn:
    """An output, or one of its components."""

    output: str
    component: int | None = None


def outputs_named(name: str, known: Collection[str], parts: Callable[[str], Sequence[str]]) -> tuple[OutputColumn, ...]:
    """The outputs and components that a name stands for; empty if it is unknown. parts: names of the components of an output."""
    if name in known:
        return (OutputColumn(name),)
    base, _, label = name.rpartition(".")
    if base in known and name in parts(base):
        return (OutputColumn(base, [*parts(base)].index(name)),)
    if instances := instances_of(name, known):
        return tuple(map(OutputColumn, instances))
    listed = {x: [*parts(x)] for x in instances_of(base, known)}
    if listed and all(f"{x}.{label}" in names for x, names in listed.items()):
        return tuple(OutputColumn(x, names.index(f"{x}.{label}")) for x, names in listed.items())
    return ()


def stacked(columns: Sequence[OutputColumn], values: Callable[[str], Any], axis: int) -> np.ndarray:
    """Values of columns: those of one, or of several instances along a new axis. values: those of an output, with components
    along that axis."""
    found = [np.asarray(values(x.output)) for x in columns]
    found = [a if x.component is None else a.take(x.component, axis) for x, a in zip(columns, found, strict=True)]
    return found[0] if len(found) == 1 else np.stack(found, axis)
