"""Limits of the laws of rods and chambers: stretches beyond which a law is not defined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
import scipy

from pliant.engine.binding import Binding
from pliant.engine.model.model import Model
from pliant.engine.program import EvaluationError
from pliant.parts.assembly.entries import RodStation
from pliant.parts.rod.rod import Rod
from pliant.parts.section.base import OneSection
from pliant.parts.section.material import FIBRE_LAWS, FibreLaw

Poses: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Rotations and positions of all nodes."""


def parameter_values(model: Model, bound: Binding) -> Callable[[object], float]:
    """Values of the model's fields at the current parameters."""
    parameters = dict(zip(model.parameter_names, bound.parameters.tolist(), strict=True))
    environment = model.environment.with_values(parameters)
    return lambda scalar: float(environment.value(scalar))  # type: ignore[arg-type]


def model_strains(model: Model, bound: Binding, name: str, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strains of a rod where its model has them most accurately, from its own formulas: three translational, 1 for an unstretched
    rod in the third (n x 3), and three rotational [1/m] (m x 3).

    They are right however far the rod turns between two stations, from whose poses alone turns are known up to half a revolution;
    but they are evaluated one by one, so they only confirm what `strains_times_length` suggests.
    """
    system, samples = model.system, model.strain_samples[name]
    poses = bound.node_poses(q)
    strains = []
    for sample in samples:
        on: Any = (system.frame_forces if sample.on_frames else system.coordinate_forces)[sample.force]
        at: list[Any]
        if sample.on_frames:
            at = [[(ca.SX(poses[0][n]), ca.SX(poses[1][n])) for n in on.nodes], [ca.SX.zeros(6) for _ in on.nodes]]
        else:
            q_size = sum(part.q_size for part in on.kind.parts)
            at = [ca.SX(q[on.q_at : on.q_at + q_size]), ca.SX.zeros(on.size)]
        constants = ca.SX(bound.constants[on.constants : on.constants + on.kind.constants])
        state: Any = sample.state
        section = state(*at, constants, ca.SX.zeros(on.kind.signals))
        strains.append(np.array(ca.evalf(section.strain)).ravel())
    six = np.array(strains) + (0, 0, 1, 0, 0, 0)
    return (
        six[[k for k, sample in enumerate(samples) if sample.of_force], :3],
        six[[k for k, sample in enumerate(samples) if sample.of_moment], 3:],
    )


def strains_times_length(constants: np.ndarray, stations: Sequence[RodStation], poses: Poses) -> np.ndarray:
    """Mean strains between neighbouring stations of a rod, times its length: three translational, three rotational (n - 1 x 6).

    For several configurations at once: poses of all nodes (... x nodes x 3 x 3 and 3), and current constants, of all (N) or of
    each (... x N).
    """
    at = [station.node for station in stations]
    rotations, positions = poses[0][..., at, :, :], poses[1][..., at, :]
    placed = np.stack([constants[..., x.constants : x.constants + 12] for x in stations], axis=-2)
    R = rotations @ placed[..., :9].reshape(*placed.shape[:-1], 3, 3).swapaxes(-1, -2)
    p = positions + (rotations @ placed[..., 9:, None])[..., 0]
    share = np.diff([station.x for station in stations])
    apart = share > 1e-9
    back = R[..., :-1, :, :].swapaxes(-1, -2)
    turns = scipy.spatial.transform.Rotation.from_matrix((back @ R[..., 1:, :, :]).reshape(-1, 3, 3)).as_rotvec()
    moved = (back @ np.diff(p, axis=-2)[..., None])[..., 0]
    helix = helices(turns.reshape(moved.shape), moved)
    return np.asarray(helix[..., apart, :] / share[apart, None])


def helices(turn: np.ndarray, position: np.ndarray) -> np.ndarray:
    """The helix from one frame to another, the logarithm of their relative pose (... x 6): three translations [m] and three
    rotations [rad], the same in both frames.

    turn, position (... x 3): rotation vector [rad] and position [m] of the second frame in the first.
    """
    square = np.sum(turn**2, axis=-1, keepdims=True)
    half = np.sqrt(np.maximum(square, 1e-8)) / 2  # below, the result is that of no rotation to 1e-12
    factor = (1 - half / np.tan(half)) / (4 * half**2)
    across = np.cross(turn, position)
    return np.concatenate([position - across / 2 + factor * np.cross(turn, across), turn], axis=-1)


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
