"""Energies, constraint errors, frames and outputs at every saved state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from pliant.equations.binding import Batch, Binding
from pliant.equations.equations import Equations
from pliant.equations.outputs import carrying_nodes, output_function, output_names
from pliant.geometry import quaternion

NUMBERS_PER_FRAME = 60
"""Numbers that are held at once for each frame and state while frames are worked out."""
CHUNK_BYTES = 64_000_000
"""States are worked on in groups that need about this much at once: a net of ten thousand nodes has megabytes per state."""


@dataclass(frozen=True)
class SavedStates:
    """Saved states: time n, q n x nq, v and a n x nv, multipliers n x m, work n x 2 (dissipated, supplied) [J]."""

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    multipliers: np.ndarray
    work: np.ndarray

    def between(self, begin: int, end: int) -> SavedStates:
        """The saved states from one index up to another."""
        parts = (self.time, self.q, self.v, self.a, self.multipliers, self.work)
        return SavedStates(*(x[begin:end] for x in parts))


@dataclass(frozen=True)
class ActiveBinding:
    """The binding that is in force from a time on [s]."""

    time: float
    bound: Binding


@dataclass(frozen=True)
class DerivedQuantities:
    """Quantities at saved states, one row each; `lowest_signals` is the minimum of each signal over them."""

    lowest_signals: np.ndarray
    inputs: np.ndarray
    energies: np.ndarray
    constraint_error: np.ndarray
    frames: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]

    def tables(self) -> list[np.ndarray]:
        """All arrays with one row per state."""
        return [self.inputs, self.energies, self.constraint_error, *self.frames.values(), *self.outputs.values()]

    def mapped(self, change: Callable[[np.ndarray], np.ndarray]) -> DerivedQuantities:
        """The same with every table changed."""
        frames, outputs = ({name: change(x) for name, x in part.items()} for part in (self.frames, self.outputs))
        inputs, energies, error = (change(x) for x in (self.inputs, self.energies, self.constraint_error))
        return DerivedQuantities(self.lowest_signals, inputs, energies, error, frames, outputs)


def derive_quantities(eqs: Equations, motion: SavedStates, history: Sequence[ActiveBinding]) -> DerivedQuantities:
    """Energies (n x 4: kinetic, potential, dissipated, supplied), inputs, constraint errors, frames and outputs.

    `history`: the bindings that were in force, in order of time.
    """
    return _filled(_parts(eqs, motion, history), len(motion.time))


def _parts(eqs: Equations, motion: SavedStates, history: Sequence[ActiveBinding]) -> Iterator[DerivedQuantities]:
    """The same for a few saved states at a time, which bounds the memory for intermediate results."""
    starts = np.searchsorted(motion.time, [x.time for x in history[1:]], side="left")
    per_state = 8 * NUMBERS_PER_FRAME * (len(eqs.model.system.nodes) + len(eqs.model.frames))
    at_once = max(1, CHUNK_BYTES // per_state)
    empty = True
    for since, begin, end in zip(history, [0, *starts], [*starts, len(motion.time)], strict=True):
        if end > begin or empty:
            for first in range(begin, max(end, begin + 1), at_once):
                yield _derive_part(eqs, since.bound, motion.between(first, min(first + at_once, end)))
            empty = False


def _filled(parts: Iterator[DerivedQuantities], count: int) -> DerivedQuantities:
    """The parts joined, `count` states in all; each part is released before the next is computed."""
    whole: DerivedQuantities | None = None
    lowest: np.ndarray | None = None
    at = 0
    for part in parts:
        lowest = part.lowest_signals if lowest is None else np.minimum(lowest, part.lowest_signals)
        size = len(part.energies)
        if whole is None:
            if size == count:
                whole = part
            else:
                whole = part.mapped(lambda x: np.empty((count, *x.shape[1:])))
        if whole is not part:
            for there, here in zip(whole.tables(), part.tables(), strict=True):
                there[at : at + size] = here
        at += size
    assert whole is not None
    assert lowest is not None
    return replace(whole, lowest_signals=lowest)


def _derive_part(eqs: Equations, bound: Binding, motion: SavedStates) -> DerivedQuantities:
    batch = bound.batch(motion.time, motion.q, motion.v)
    energies = np.column_stack([batch.energies[:, :2], motion.work])
    frames, outputs = _frames(eqs, bound, batch), _outputs(eqs, bound, motion, batch, energies)
    lowest = batch.signals.min(axis=0, initial=np.inf)
    return DerivedQuantities(
        lowest, batch.inputs[:, : len(eqs.inputs)], energies, batch.energies[:, 4], frames, outputs
    )


def _frames(eqs: Equations, bound: Binding, batch: Batch) -> dict[str, np.ndarray]:
    entries = list(eqs.model.frames.values())
    nodes = [entry.node for entry in entries]
    placements = np.array([bound.constants[e.constants : e.constants + 12] for e in entries])
    local = placements[:, :9].reshape(-1, 3, 3).transpose(0, 2, 1)
    R, p, V = batch.rotations[:, nodes], batch.positions[:, nodes], batch.twists[:, nodes]
    rotation = R @ local
    position = p + np.einsum("tfij,fj->tfi", R, placements[:, 9:])
    angular = V[..., 3:]
    velocity = V[..., :3] + np.cross(angular, position)
    return {
        "position": position,
        "quaternion": quaternion.from_matrix(rotation),
        "velocity": velocity,
        "angular_velocity": angular,
    }


def evaluate_rows(function: ca.Function, count: int, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Results of a function of vectors, count x size each; an argument is one vector, or a table with a row for each.

    The function reads the rows where they lie: tables of all arguments side by side would take longer to make than to use.
    """
    results = [np.zeros((count, function.numel_out(i))) for i in range(function.n_out())]
    buffer: Any
    buffer, evaluate = function.buffer()
    given: list[Any] = [np.ascontiguousarray(x, dtype=float) for x in arguments]
    for i, x in enumerate(given):
        if x.ndim == 1:
            buffer.set_arg(i, memoryview(x))
    for k in range(count):
        for i, x in enumerate(given):
            if x.ndim == 2:
                buffer.set_arg(i, memoryview(x[k]))
        for i, result in enumerate(results):
            buffer.set_res(i, memoryview(result[k]))
        evaluate()
    return results


def _outputs(
    eqs: Equations, bound: Binding, motion: SavedStates, batch: Batch, energies: np.ndarray
) -> dict[str, np.ndarray]:
    if not eqs.model.spec.outputs:
        return {}
    states = (motion.q, motion.v, motion.a, motion.multipliers)
    carried: np.ndarray = np.zeros(0)
    if nodes := carrying_nodes(eqs.model):
        carried = bound.carried(motion.time, *states, nodes).reshape(len(motion.time), -1)
    arguments = (*states, bound.constants, batch.signals, batch.signal_rates, carried, energies[:, :3])
    values = evaluate_rows(output_function(eqs.model), len(motion.time), arguments)
    return {name: x[:, 0] if x.shape[1] == 1 else x for name, x in zip(output_names(eqs.model), values, strict=True)}
