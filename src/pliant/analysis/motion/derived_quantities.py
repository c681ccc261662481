"""Energies, constraint errors, frames and outputs at every saved state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pliant.engine.binding import Batch, Binding
from pliant.engine.contact_sums import model_sums
from pliant.engine.contacts import Contacts
from pliant.engine.equations import Equations
from pliant.engine.outputs import carrying_nodes, energy_outputs, output_names, output_rows
from pliant.parts.geometry import arrays

NUMBERS_PER_FRAME = 60
"""Numbers in memory per frame and state while frames are computed."""
CHUNK_BYTES = 64_000_000
"""States are processed in groups of about this size in memory: a net of ten thousand nodes needs megabytes per state."""


@dataclass(frozen=True)
class SavedStates:
    """Saved states: time n, q n x nq, v and a n x nv, multipliers n x m, work n x 2 (dissipated, supplied) [J], and the
    contacts."""

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    multipliers: np.ndarray
    work: np.ndarray
    contacts: Contacts

    def between(self, begin: int, end: int) -> SavedStates:
        """The saved states from one index up to another."""
        parts = (self.time, self.q, self.v, self.a, self.multipliers, self.work)
        time, q, v, a, multipliers, work = (x[begin:end] for x in parts)
        return SavedStates(time, q, v, a, multipliers, work, self.contacts.samples(begin, end))


@dataclass(frozen=True)
class ActiveBinding:
    """The binding that is active from a time on [s]."""

    time: float
    bound: Binding


class DerivedQuantities:
    """Quantities at saved states, one row each, computed on first use.

    `history`: the active bindings, in order of time.
    """

    def __init__(self, eqs: Equations, motion: SavedStates, history: Sequence[ActiveBinding]) -> None:
        self._eqs, self._motion, self._history = eqs, motion, tuple(history)
        self._frames: dict[str, np.ndarray] = {}

    @property
    def energies(self) -> np.ndarray:
        """Kinetic, potential, dissipated and supplied energy [J], n x 4."""
        return self._values["energies"]

    @property
    def inputs(self) -> np.ndarray:
        """Inputs, n x inputs."""
        return self._values["inputs"]

    @property
    def constraint_error(self) -> np.ndarray:
        """Largest constraint error [m or rad], n."""
        return self._values["constraint_error"]

    @cached_property
    def lowest_signals(self) -> np.ndarray:
        """The minimum of each signal over all states."""
        return np.asarray(self._values["signals"].min(axis=0, initial=np.inf))

    def frames(self, part: str) -> np.ndarray:
        """`position`, `quaternion`, `velocity` or `angular_velocity` of every frame, n x frames x 3 (4)."""
        if part not in self._frames:

            def values(bound: Binding, motion: SavedStates, batch: Batch) -> dict[str, np.ndarray]:
                return {part: getattr(_Frames.of(self._eqs, bound, batch), part)()}

            self._frames |= self._over_parts(values, with_energies=False)
        return self._frames[part]

    @cached_property
    def outputs(self) -> dict[str, np.ndarray]:
        """Outputs by name, n or n x size."""
        if not self._eqs.model.spec.outputs:
            return {}
        return self._over_parts(
            lambda bound, motion, batch: _outputs(self._eqs, bound, motion, batch),
            with_energies=bool(energy_outputs(self._eqs.model)),
            with_poses=False,
        )

    @cached_property
    def _values(self) -> dict[str, np.ndarray]:
        count = len(self._eqs.inputs)

        def values(bound: Binding, motion: SavedStates, batch: Batch) -> dict[str, np.ndarray]:
            return {
                "energies": np.column_stack([batch.energies[:, :2], motion.work]),
                "inputs": batch.inputs[:, :count],
                "constraint_error": batch.energies[:, 4],
                "signals": batch.signals,
            }

        return self._over_parts(values, with_poses=False)

    def _over_parts(
        self, quantities: Callable[[Binding, SavedStates, Batch], dict[str, np.ndarray]], **wanted: bool
    ) -> dict[str, np.ndarray]:
        """Tables of all states, computed for a few states at a time, which bounds the memory for intermediate results."""
        count, at = len(self._motion.time), 0
        whole: dict[str, np.ndarray] = {}
        for bound, motion in self._parts():
            batch = bound.batch(motion.time, motion.q, motion.v, motion.contacts, **wanted)
            part = quantities(bound, motion, batch)
            size = len(motion.time)
            if size == count:
                return part
            if not whole:
                whole = {name: np.empty((count, *x.shape[1:])) for name, x in part.items()}
            for name, x in part.items():
                whole[name][at : at + size] = x
            at += size
        return whole

    def _parts(self) -> Iterator[tuple[Binding, SavedStates]]:
        """The saved states in groups, each with its active binding; one empty group if nothing was saved."""
        motion, history, model = self._motion, self._history, self._eqs.model
        starts = np.searchsorted(motion.time, [x.time for x in history[1:]], side="left")
        per_state = 8 * NUMBERS_PER_FRAME * (len(model.system.nodes) + len(model.frames))
        at_once = max(1, CHUNK_BYTES // per_state)
        if not len(motion.time):
            yield history[-1].bound, motion
        for since, begin, end in zip(history, [0, *starts], [*starts, len(motion.time)], strict=True):
            for first in range(begin, end, at_once):
                yield since.bound, motion.between(first, min(first + at_once, end))


@dataclass(frozen=True)
class _Frames:
    """Nodes of the frames: their rotations (n x frames x 3 x 3), positions and twists; placements of the frames on them."""

    rotations: np.ndarray
    positions: np.ndarray
    twists: np.ndarray
    placements: np.ndarray

    @classmethod
    def of(cls, eqs: Equations, bound: Binding, batch: Batch) -> _Frames:
        entries = list(eqs.model.frames.values())
        nodes = [entry.node for entry in entries]
        placements = np.array([bound.constants[e.constants : e.constants + 12] for e in entries])
        return cls(batch.rotations[:, nodes], batch.positions[:, nodes], batch.twists[:, nodes], placements)

    def position(self) -> np.ndarray:
        return np.asarray(self.positions + np.einsum("tfij,fj->tfi", self.rotations, self.placements[:, 9:]))

    def quaternion(self) -> np.ndarray:
        return arrays.matrix_quaternion(self.rotations @ self.placements[:, :9].reshape(-1, 3, 3).transpose(0, 2, 1))

    def velocity(self) -> np.ndarray:
        return np.asarray(self.twists[..., :3] + np.cross(self.twists[..., 3:], self.position()))

    def angular_velocity(self) -> np.ndarray:
        return np.asarray(self.twists[..., 3:])


def _outputs(eqs: Equations, bound: Binding, motion: SavedStates, batch: Batch) -> dict[str, np.ndarray]:
    states = (motion.q, motion.v, motion.a, motion.multipliers)
    carried: np.ndarray = np.zeros(0)
    if nodes := carrying_nodes(eqs.model):
        carried = bound.carried(motion.time, *states, nodes, motion.contacts).reshape(len(motion.time), 6 * len(nodes))
    energies: np.ndarray = np.zeros(3)
    if energy_outputs(eqs.model):
        energies = np.column_stack([batch.energies[:, :2], motion.work[:, :1]])
    sums = model_sums(eqs.model, bound, motion.time, motion.q, motion.v, motion.contacts)
    arguments = (*states, bound.constants, batch.signals, batch.signal_rates, carried, energies, sums)
    values = output_rows(eqs.model)(len(motion.time), arguments)
    return {name: x[:, 0] if x.shape[1] == 1 else x for name, x in zip(output_names(eqs.model), values, strict=True)}
