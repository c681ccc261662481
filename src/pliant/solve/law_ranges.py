"""Where the laws of rods and their chambers end: stretches at which chains, threads or nothing at all are left."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pliant.equations.binding import Binding
from pliant.equations.workspace import EvaluationError
from pliant.model.model import Model
from pliant.rod.rod import Rod
from pliant.section.fibre_law import FIBRE_LAWS, FibreLaw
from pliant.solve.rod_strains import Poses, parameter_values, strains_times_length

LEAST_ROOM = 0.1
"""Share of a limit that is left where a law is called near its end; also the stretch from which on a rod is called flat."""

BEYOND = "it cannot be there, as its law has no meaning beyond"


def law_range_notes(model: Model, bound: Binding, poses: Sequence[Poses]) -> Iterator[str]:
    """A sentence for each rod whose law or chambers come near their end in any of the poses of all nodes."""
    value = parameter_values(model, bound)
    for name, rod in model.spec.rods.items():
        stations = model.rod_stations.get(name, ())
        if len(stations) < 2:
            continue
        law = FIBRE_LAWS.get(rod.law)
        braids = [chamber for chamber in rod.chambers.values() if chamber.braid_angle is not None]
        if law is None and not braids and rod.law != "mean_stretch":
            continue
        length = value(rod.length)
        strains = np.array([strains_times_length(bound, stations, pose) / length for pose in poses])
        if not strains.size:
            continue
        if law is not None or rod.law == "mean_stretch":
            yield from _law_notes(model, name, rod, law, strains[..., 2], value)
        for chamber in braids:
            yield from _braid_notes(name, chamber, strains, value)


def refuse_outside_laws(model: Model, bound: Binding, q: np.ndarray) -> None:
    """Raise EvaluationError, in words, where a rod is beyond what its law can describe."""
    if all(rod.law == "linear" for rod in model.spec.rods.values()) or not np.all(np.isfinite(q)):
        return
    for note in law_range_notes(model, bound, [bound.node_poses(q)]):
        if BEYOND in note:
            raise EvaluationError(note)


def _law_notes(
    model: Model, name: str, rod: Rod, law: FibreLaw | None, stretches: np.ndarray, value: Callable[[Any], float]
) -> Iterator[str]:
    """The law of a rod against its stretches, which still count what is there without stress."""
    at_rest = 0.0 if rod.shape is not None and rod.stress_free else value(rod.rest[2])
    shortest, longest = (float(x) - at_rest for x in (np.min(stretches), np.max(stretches)))
    if shortest <= LEAST_ROOM:
        yield f"the rod '{name}' is compressed to {shortest:.3g} of its length" + (
            f": {BEYOND}" if shortest <= 0 else f", where its law '{rod.law}' holds no longer for any material"
        )
        return
    if law is None or law.room is None:
        return
    for material in rod.material:
        numbers = law.numbers_of(model.spec.materials[material], value)
        x = min((shortest, longest), key=lambda x: law.room(x, numbers))  # type: ignore[misc]
        left = float(law.room(x, numbers))
        if left <= LEAST_ROOM:
            way = "stretched" if x > 1 else "compressed"
            shown = " and ".join(f"{number:g}" for number in numbers)
            text = f"the rod '{name}' is {way} to {x:.4g} of its length, with {max(left, 0):.2g} left of the limit of its law "
            text += f"'{rod.law}' ({law.key} {shown})"
            yield text + (f": {BEYOND}" if left <= 0 else "; check its load and the limit of its material")
            return


def _braid_notes(name: str, chamber: Any, strains: np.ndarray, value: Callable[[Any], float]) -> Iterator[str]:
    """Threads of a braid cannot be longer than straight."""
    longest = 1 / max(math.cos(value(chamber.braid_angle)), 1e-12)
    for x, y in chamber.positions:
        stretch = float(np.max(strains[..., 2] + value(y) * strains[..., 3] - value(x) * strains[..., 4]))
        if stretch >= 0.95 * longest:
            yield (
                f"a chamber of the rod '{name}' is stretched to {stretch:.4g} of its length, where the threads of its braid are "
                f"straight at {longest:.4g}; beyond, its force has no meaning"
            )
            return
