"""Consistent initial states: prescribed coordinates follow their motions, and carried nodes follow their carriers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from pliant.engine.binding import Binding
from pliant.engine.model.model import Model
from pliant.engine.state import State, named

AFTER = 1.8e-15
"""Difference of a time just after another [s], relative to it if it is more than a second: as in the runtime, whose runs read
signals after jumps at their start."""
SAME_RATE = 1e-9
"""Relative difference of rates that are equal."""


@dataclass(frozen=True)
class PrescribedCoordinate:
    """A coordinate that follows a motion: its index, its signal, and the index of the constant that is added to it."""

    q_at: int
    v_at: int
    signal: int
    offset: int


def prescribed_coordinates(model: Model) -> tuple[PrescribedCoordinate, ...]:
    """The coordinates of a model that follow motions."""
    return model.once(
        "prescribed_coordinates",
        lambda: tuple(
            PrescribedCoordinate(*line.coordinates[0], line.signal, line.offset)
            for line in model.system.linear_constraints
            if line.signal >= 0 and len(line.coordinates) == 1
        ),
    )


def on_motions(model: Model, binding: Binding, state: State) -> State:
    """The state with prescribed coordinates at the values and rates of their motions at its time; everything they
    carry moves with them."""
    prescribed = prescribed_coordinates(model)
    if not prescribed:
        return state
    values, rates = binding.signals(state.t)[1], binding.signal_rates(time_of_rates(binding, state.t))[0]
    q, v = np.array(state.q, dtype=float), np.array(state.v, dtype=float)
    for entry in prescribed:
        q[entry.q_at] = values[entry.signal] + binding.constants[entry.offset]
        v[entry.v_at] = rates[entry.signal]
    return carried_along(model, binding, state, replace(state, q=q, v=v))


def time_of_rates(binding: Binding, t: float) -> float:
    """The time at which rates of signals are read for a state at time t [s]: just after it if they jump there, as those of `abs(t)`
    at zero do, otherwise t itself."""
    after = t + AFTER * max(1.0, abs(t))
    if any(t <= series.time[-1] < after for series in binding.series):
        return t  # a series that ends there has no rate after it
    (rate, acceleration), (later, acceleration_later) = binding.signal_rates(t), binding.signal_rates(after)
    allowed = SAME_RATE * (np.abs(rate) + np.abs(later))
    allowed += 4 * (after - t) * (np.abs(acceleration) + np.abs(acceleration_later))
    return after if np.any(np.abs(later - rate) > allowed) else t


def carried_along(model: Model, binding: Binding, before: State, state: State) -> State:
    """The state with carried nodes keeping their pose and velocity relative to their carriers, except for given values."""
    carrying = CarriedNodes.of(model)
    if not carrying.any or (np.array_equal(before.q, state.q) and np.array_equal(before.v, state.v)):
        return state
    keep_q, keep_v = named(model, {*state.given.asked, *state.given.stated})
    q = carrying.positions(binding, before.q, state.q, keep_q)
    return replace(state, q=q, v=carrying.rates(binding, (before.q, before.v), q, state.v, keep_v))


# -- nodes with their own poses that are carried by other nodes ----------------------------------------------------------


@dataclass(frozen=True)
class _Level:
    """Nodes whose carriers depend only on nodes of lower levels, and the indices of their coordinates and rates."""

    nodes: np.ndarray
    carriers: np.ndarray
    q_at: np.ndarray
    v_at: np.ndarray
    v_sizes: np.ndarray

    def rates(self) -> np.ndarray:
        """Indices of their rates."""
        spans = zip(self.v_at.tolist(), self.v_sizes.tolist(), strict=True)
        return np.concatenate([np.arange(at, at + size) for at, size in spans])


class CarriedNodes:
    """The dependence of the carried nodes of a model on their carriers."""

    def __init__(self, model: Model) -> None:
        self.system = system = model.system
        depth: dict[int, int] = {}
        by_depth: dict[int, list[tuple[int, int]]] = {}
        for entry in model.carried:
            below = depth.get(system.path(entry.carrier)[-1], -1)
            depth[entry.node] = below + 1
            by_depth.setdefault(below + 1, []).append((entry.node, entry.carrier))
        self.levels = []
        for k in sorted(by_depth):
            nodes = np.array([node for node, _ in by_depth[k]])
            elements = [system.elements[system.element_of(node)] for node in nodes.tolist()]
            self.levels.append(
                _Level(
                    nodes,
                    np.array([carrier for _, carrier in by_depth[k]]),
                    *(np.array([getattr(e, name) for e in elements]) for name in ("q_at", "v_at", "v_size")),
                )
            )

        self.is_carried = np.zeros(system.v_size, dtype=bool)
        """Booleans (nv): rates of carried nodes."""
        for level in self.levels:
            self.is_carried[level.rates()] = True

    @classmethod
    def of(cls, model: Model) -> CarriedNodes:
        """The instance of a model."""
        return model.once("carrying", lambda: cls(model))

    @property
    def any(self) -> bool:
        """Whether any node is carried."""
        return bool(self.levels)

    def positions(
        self, binding: Binding, before: np.ndarray, q: np.ndarray, keep: np.ndarray, own: np.ndarray | None = None
    ) -> np.ndarray:
        """`q` with the carried nodes in the same pose relative to their carriers as in `before`, except positions to keep (nq
        booleans).
        own: their additional increments (nv)."""
        if not self.levels:
            return q
        q = np.array(q, dtype=float)
        old_R, old_p = binding.node_poses(before)
        for level in self.levels:
            R, p = binding.node_poses(q)
            for node, carrier, at in zip(*(x.tolist() for x in (level.nodes, level.carriers, level.q_at)), strict=True):
                if np.array_equal(R[carrier], old_R[carrier]) and np.array_equal(p[carrier], old_p[carrier]):
                    continue
                turn = R[carrier] @ old_R[carrier].T
                there = p[carrier] + turn @ (old_p[node] - old_p[carrier])
                placed = self._located(binding, node, turn @ old_R[node], there, q[at:])
                mine = slice(at, at + len(placed))
                q[mine] = np.where(keep[mine], q[mine], placed)
            if own is not None:
                moved = np.zeros(binding.nv)
                moved[level.rates()] = own[level.rates()]
                q = binding.increment(q, moved)
        return q

    def _located(self, binding: Binding, node: int, R: np.ndarray, p: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Coordinates of a carried node in a pose."""
        entry = self.system.nodes[node]
        assert entry is not None
        assert entry.motion.locate is not None, "carried nodes move by motions that can be located"
        placed = binding.constants[entry.constants : entry.constants + 12]
        turned, origin = placed[:9].reshape(3, 3).T, placed[9:]
        return entry.motion.locate(turned.T @ R, turned.T @ (p - origin), near[: entry.motion.q_size])

    def rates(
        self, binding: Binding, before: tuple[np.ndarray, np.ndarray], q: np.ndarray, v: np.ndarray, keep: np.ndarray
    ) -> np.ndarray:
        """`v` with the carried nodes in the same motion relative to their carriers as in the state `before`, except rates to keep
        (nv
        booleans)."""
        if not self.levels or (np.array_equal(before[0], q) and np.array_equal(before[1], v)):
            return v
        v = np.array(v, dtype=float)
        old_R, old_p = binding.node_poses(before[0])
        old = binding.node_twists(*before)
        R, p = binding.node_poses(q)
        for level in self.levels:
            at, on = level.nodes, level.carriers
            slide = old[at, :3] - old[on, :3] + np.cross(old[at, 3:] - old[on, 3:], old_p[at])
            spin = old[at, 3:] - old[on, 3:]
            turn = R[on] @ old_R[on].transpose(0, 2, 1)
            carried = binding.node_twists(q, v)[on]
            moved = np.concatenate(
                [
                    carried[:, :3] + np.cross(carried[:, 3:], p[at]) + np.einsum("nij,nj->ni", turn, slide),
                    carried[:, 3:] + np.einsum("nij,nj->ni", turn, spin),
                ],
                axis=1,
            )
            for k, (subspace, first) in enumerate(zip(self._subspaces(binding, q, p, level), level.v_at, strict=True)):
                mine = slice(first, first + subspace.shape[1])
                v[mine] = np.where(keep[mine], v[mine], np.linalg.lstsq(subspace, moved[k], rcond=None)[0])
        return v

    def spread(self, binding: Binding, q: np.ndarray, apart: np.ndarray) -> scipy.sparse.csc_matrix:
        """nv x nv: all rates per rate of each coordinate including its carried nodes, and per rate of each carried node relative
        to its carrier. Nodes with rates among `apart` (nv booleans) are not carried along."""
        T = scipy.sparse.identity(binding.nv, format="csr")
        p = binding.node_poses(q)[1] if self.levels else np.zeros((0, 3))
        for level in self.levels:
            follows: dict[int, tuple[np.ndarray, np.ndarray]] = {}
            rows, columns, values = [], [], []
            for k, subspace in enumerate(self._subspaces(binding, q, p, level)):
                node, carrier, first = int(level.nodes[k]), int(level.carriers[k]), int(level.v_at[k])
                mine = slice(first, first + subspace.shape[1])
                if np.any(apart[mine]):
                    continue
                if carrier not in follows:
                    twist = np.asarray(T.T @ binding.node_jacobian(q, carrier).T).T
                    moving = np.flatnonzero(np.any(twist, axis=0))
                    follows[carrier] = moving, twist[:, moving]
                moving, twist = follows[carrier]
                at_point = np.vstack([twist[:3] + np.cross(twist[3:].T, p[node]).T, twist[3:]])
                block = np.linalg.pinv(subspace) @ at_point
                rows.append(np.repeat(np.arange(binding.nv)[mine], len(moving)))
                columns.append(np.tile(moving, len(block)))
                values.append(block.ravel())
            if rows:
                places = (np.concatenate(rows), np.concatenate(columns))
                T = T + scipy.sparse.csr_matrix((np.concatenate(values), places), shape=T.shape)
        return T.tocsc()

    def _subspaces(self, binding: Binding, q: np.ndarray, p: np.ndarray, level: _Level) -> list[np.ndarray]:
        """Velocity of each node's origin and its angular velocity per own rate, 6 x the number of its rates."""
        out = []
        nodes = level.nodes.tolist()
        for node, S in zip(nodes, binding.node_subspaces(q, nodes), strict=True):
            out.append(np.vstack([S[:3] + np.cross(S[3:].T, p[node]).T, S[3:]]))
        return out
