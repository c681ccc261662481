"""Limits of the laws of rods and chambers: stretches beyond which a law is not defined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pliant.analysis.numerics.rod_strains import (
    CaseValues,
    Poses,
    model_strains,
    parameter_values,
    strains_times_length,
)
from pliant.engine.binding import Binding
from pliant.engine.model.model import Model
from pliant.engine.workspace import EvaluationError
from pliant.parts.rod.rod import Rod
from pliant.parts.section.base import OneSection
from pliant.parts.section.material import FIBRE_LAWS, FibreLaw

LEAST_ROOM = 0.1
"""Remaining fraction of a limit below which a law is reported as close to it; also the stretch below which a rod is reported as
flat."""

BEYOND = "the law is not defined beyond its limit"


def law_range_texts(
    model: Model, bound: Binding, states: Sequence[np.ndarray], poses: Sequence[Poses] | None = None
) -> Iterator[str]:
    """A text on each rod whose law or chambers come close to their limit in any of the states (positions).

    poses: of all nodes in these states, if they are known.
    """
    watched = _watched(model)
    if not watched or not len(states):
        return
    value = parameter_values(model, bound)
    poses = [bound.node_poses(q) for q in states] if poses is None else poses
    stacked = np.stack([x[0] for x in poses]), np.stack([x[1] for x in poses])
    for name in watched:
        strains = strains_times_length(bound.constants, model.rod_stations[name], stacked) / value(
            model.spec.rods[name].length
        )
        yield from _confirmed(model, bound, name, strains, value, states)


def _confirmed(
    model: Model,
    bound: Binding,
    name: str,
    strains: np.ndarray,
    value: Callable[[Any], float],
    states: Sequence[np.ndarray],
) -> list[str]:
    """Texts on one rod from strains between its stations; those of the model itself decide."""
    texts = list(_texts(model, name, strains, value))
    if not texts or name not in model.strain_samples:
        return texts
    exact = [model_strains(model, bound, name, q) for q in states]
    along, turning = (np.stack([one[k] for one in exact]) for k in (0, 1))
    if along.shape != turning.shape:  # forces and moments of finite elements are sampled at different points
        return texts
    return list(_texts(model, name, np.concatenate([along, turning], axis=-1), value))


def _watched(model: Model) -> tuple[str, ...]:
    """Rods whose law or chambers have a limit."""
    return model.once("rods_with_law_ranges", lambda: tuple(name for name in model.spec.rods if _has_end(model, name)))


def _has_end(model: Model, name: str) -> bool:
    rod = model.spec.rods[name]
    if len(model.rod_stations.get(name, ())) < 2:
        return False
    return rod.law in FIBRE_LAWS or rod.law == "mean_stretch" or bool(_braids(rod))


def _braids(rod: Rod) -> list[Any]:
    return [chamber for chamber in rod.chambers.values() if chamber.braid_angle is not None]


def _texts(model: Model, name: str, strains: np.ndarray, value: Callable[[Any], float]) -> Iterator[str]:
    """Texts on one rod; strains: in some poses, between its stations (poses x n x 6)."""
    if not strains.size:
        return
    rod = model.spec.rods[name]
    law = FIBRE_LAWS.get(rod.law)
    if law is not None or rod.law == "mean_stretch":
        yield from _law_texts(model, name, rod, law, strains, value)
    for chamber in _braids(rod):
        yield from _braid_texts(name, chamber, strains, value)


def refuse_outside_laws(model: Model, bound: Binding, q: np.ndarray) -> None:
    """Raise EvaluationError if a rod is beyond the limit of its law."""
    linear = model.once("has_linear_laws", lambda: all(rod.law == "linear" for rod in model.spec.rods.values()))
    if linear or not np.all(np.isfinite(q)):
        return
    for text in law_range_texts(model, bound, [q]):
        if BEYOND in text:
            raise EvaluationError(text)


def outside_laws(model: Model, cases: Sequence[tuple[Binding, np.ndarray]]) -> list[EvaluationError | None]:
    """The messages of `refuse_outside_laws` for several bindings of a model with positions q, computed together."""
    errors: list[EvaluationError | None] = [None] * len(cases)
    watched = _watched(model)
    if not watched or not cases:
        return errors
    placed = [bound.node_poses(q) for bound, q in cases]
    poses = np.stack([x[0] for x in placed]), np.stack([x[1] for x in placed])
    constants = np.stack([bound.constants for bound, _ in cases])
    values = CaseValues(model, np.stack([bound.parameters for bound, _ in cases]))
    for name in watched:
        strains = strains_times_length(constants, model.rod_stations[name], poses)
        for k in _near_an_end(model, name, strains, values.all):
            if errors[k] is not None or not np.all(np.isfinite(cases[k][1])):
                continue
            value = values.of(k)
            own = strains[k] / value(model.spec.rods[name].length)
            texts = _confirmed(model, cases[k][0], name, own, value, [cases[k][1]])
            beyond = [text for text in texts if BEYOND in text]
            errors[k] = EvaluationError(beyond[0]) if beyond else None
    return errors


def _near_an_end(model: Model, name: str, strains: np.ndarray, value: Callable[[Any], np.ndarray]) -> np.ndarray:
    """Cases in which a rod may be close to the limit of its law; if the limit concerns the entire rod, only those."""
    rod = model.spec.rods[name]
    law = FIBRE_LAWS.get(rod.law)
    if _braids(rod) or (law is not None and law.room is not None) or not strains.size:
        return np.arange(len(strains))
    length = np.reshape(value(rod.length), (-1, 1, 1))
    _, shortest, _ = _stretches(model, rod, strains / length, lambda scalar: np.reshape(value(scalar), (-1, 1)))
    return np.flatnonzero(~(shortest.min(axis=1) > LEAST_ROOM))


def _stretches(model: Model, rod: Rod, strains: np.ndarray, value: Callable[[Any], Any]) -> tuple[np.ndarray, ...]:
    """Stretches of the axis, and of the shortest and the longest fibre; strains: between stations (... x 6).

    They are those of the axis if the law does not depend on fibres, or if the bends at rest follow from a shape.
    """
    shaped = rod.shape is not None and rod.stress_free
    x = strains[..., 2] - (0.0 if shaped else value(rod.rest[2]))
    sections = [model.spec.sections[name] for name in rod.section]
    sections = [model.spec.sections[name] for s in sections for _, name in s.stations_by_arc_length()] or sections
    if shaped or rod.law not in FIBRE_LAWS or not all(isinstance(s, OneSection) and s.fibres(value) for s in sections):
        return x, x, x
    by_x, by_y = (strains[..., k] - value(rod.rest[k]) for k in (3, 4))
    strain = np.zeros_like(x)
    for section in sections:
        assert isinstance(section, OneSection)
        corners = section.outline(value)
        every = [np.abs(by_x * v - by_y * u) for u, v in corners]
        every = every or [np.hypot(by_x, by_y) * section.half_sizes(value)[0]]
        strain = np.maximum(strain, np.max(every, axis=0))
    strain = strain / np.sqrt(
        np.maximum(x, 1e-6)
    )  # sections become thinner; an axis without length is reported as such
    return x, x - strain, x + strain


def _law_texts(
    model: Model, name: str, rod: Rod, law: FibreLaw | None, strains: np.ndarray, value: Callable[[Any], float]
) -> Iterator[str]:
    """Compare the law of a rod with the stretches of its axis and its fibres; the strains still include the stress-free ones."""
    axis, low, high = _stretches(model, rod, strains, value)
    shortest, longest = float(low.min()), float(high.max())
    whole = f"the rod '{name}' is {{}} to {{:.4g}} of its length"
    fibre = f"the rod '{name}' is bent so that fibres at its surface are {{}} to {{:.4g}} of their length"
    if shortest <= LEAST_ROOM:
        squeezed = axis.min() <= LEAST_ROOM
        text = (whole if squeezed else fibre).format("compressed", axis.min() if squeezed else shortest)
        beyond = f", beyond the range of its law '{rod.law}' for any material"
        yield text + (f": {BEYOND}" if shortest <= 0 else beyond)
        return
    if law is None or law.room is None:
        return
    for material in rod.material:
        numbers = law.numbers_of(model.spec.materials[material], value)
        x = min((shortest, longest), key=lambda x: law.room(x, numbers))  # type: ignore[misc]
        left = float(law.room(x, numbers))
        if left <= LEAST_ROOM:
            shown = " and ".join(f"{number:g}" for number in numbers)
            along = min((float(axis.min()), float(axis.max())), key=lambda x: law.room(x, numbers))  # type: ignore[misc]
            text = whole if law.room(along, numbers) <= LEAST_ROOM else fibre
            text = text.format("stretched" if x > 1 else "compressed", along if text is whole else x)
            text += f", with {max(left, 0):.2g} left of the limit of its law '{rod.law}' ({law.key} {shown})"
            yield text + (f": {BEYOND}" if left <= 0 else "; check its load and the limit of its material")
            return


def _braid_texts(name: str, chamber: Any, strains: np.ndarray, value: Callable[[Any], float]) -> Iterator[str]:
    """The threads of a braided chamber limit its length."""
    longest = 1 / max(math.cos(value(chamber.braid_angle)), 1e-12)
    for x, y in chamber.positions:
        stretch = float(np.max(strains[..., 2] + value(y) * strains[..., 3] - value(x) * strains[..., 4]))
        if stretch >= 0.95 * longest:
            yield (
                f"a chamber of the rod '{name}' is stretched to {stretch:.4g} of its length, where the threads of its braid are "
                f"straight at {longest:.4g}; beyond that, its force is not defined"
            )
            return
