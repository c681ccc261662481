"""Large steps of rods with absolute section poses: each section is carried by the previous one.

If increments of positions due to a rotation are simply added, they lengthen a rod by the square of the rotation, and the forces
of its extension, by far its stiffest strain, dominate all others. Here the same increments, to first order, are interpreted as
changes of the helices between sections, as if the coordinates of the rod were its strains, so that a step changes strains as
planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy

from pliant.engine.binding import Binding
from pliant.engine.model.model import Model
from pliant.parts.geometry import arrays
from pliant.parts.motion import FREE, PLANAR_XZ, PLANAR_YZ

Entries: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Entries of a sparse matrix: rows, columns and values; duplicate entries are added."""
OWN_POSES = (FREE, PLANAR_XZ, PLANAR_YZ)
WORLD = 0


@dataclass(frozen=True)
class _Chain:
    """Successive sections of a rod: their nodes, the first index and the number of their rates, the node that carries the rod's
    base,
    and the index of the base's placement among the constants."""

    carrier: int
    placement: int
    nodes: np.ndarray
    rates: np.ndarray
    size: int


class CarriedSections:
    """Increments of q in which the sections of rods are carried along."""

    def __init__(self, model: Model) -> None:
        system = model.system
        carriers: dict[int, int] = {}
        placements: dict[int, int] = {}
        rods: dict[str, list[int]] = {}
        for limit in model.turn_limits:
            node = system.nodes[limit.second]
            if node is None or node.motion not in OWN_POSES or system.elements[node.element].base != WORLD:
                continue
            carriers[limit.second], placements[limit.second] = limit.first, limit.constants
            rods.setdefault(limit.rod, []).append(limit.second)
        self._chains: list[_Chain] = []
        for nodes in rods.values():
            elements = [system.elements[system.element_of(node)] for node in nodes]
            rates = np.array([element.v_at for element in elements])
            base = carriers[nodes[0]], placements[nodes[0]]
            self._chains.append(_Chain(*base, np.array(nodes), rates, elements[0].v_size))
        # rods based on nodes carried by other rods are placed after these
        self._stages: list[list[_Chain]] = []
        own = set(carriers)
        depth = {WORLD: 0}

        def stage(node: int) -> int:
            if node not in depth:
                if node in own:
                    depth[node] = 1 + stage(_first(carriers, node))
                else:
                    depth[node] = stage(system.elements[system.element_of(node)].base)
            return depth[node]

        for chain in sorted(self._chains, key=lambda chain: stage(chain.carrier)):
            at = stage(chain.carrier)
            while len(self._stages) <= at:
                self._stages.append([])
            self._stages[at].append(chain)
        self._stages = [members for members in self._stages if members]

    def increment(self, bound: Binding, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """q with the increment x (nv) applied on the group, with sections carried along."""
        if not self._stages:
            return bound.increment(q, x)
        x = np.array(x, dtype=float)
        rotations, places = bound.node_poses(q)
        twists = bound.node_twists(q, x)
        size, rate_sizes = bound.sizes(q)
        per = _per_size(size)
        columns: dict[int, np.ndarray] = {}
        for chains in self._stages:
            moved_rotations, moved_places = bound.node_poses(bound.increment(q, x))
            for chain in chains:
                c = chain.carrier
                R = moved_rotations[c] @ rotations[c].T
                p = moved_places[c] - R @ places[c]
                helices = _helices(bound, chain, rotations, places)
                relative = per * np.diff(twists[np.r_[c, chain.nodes]], axis=0)
                turns, shifts = _moved(R, p / size, per * helices, relative)
                phi = scipy.spatial.transform.Rotation.from_matrix(turns).as_rotvec()
                step = np.einsum("nij,nj->ni", turns, places[chain.nodes]) + size * shifts - places[chain.nodes]
                wanted = np.hstack([step - np.cross(phi, places[chain.nodes]), phi])
                if chain.size not in columns:
                    columns[chain.size] = self._columns(bound, q, chain.size)
                S = columns[chain.size][:, chain.nodes].transpose(1, 2, 0)
                at = chain.rates[:, None] + np.arange(chain.size)
                x[at] = np.einsum("nij,nj->ni", _inverse(S, size, rate_sizes[at]), wanted)
        return bound.increment(q, x)

    @property
    def rates(self) -> np.ndarray:
        """Rates of all carried sections."""
        parts = [(chain.rates[:, None] + np.arange(chain.size)).ravel() for chain in self._chains]
        return np.concatenate([np.zeros(0, dtype=int), *parts])

    def transported(self, bound: Binding, q: np.ndarray, force: np.ndarray, to: np.ndarray) -> np.ndarray:
        """Generalized forces (nv) at the pose `to` that do the same work on changes of the helices as `force` does at q."""
        out = np.array(force, dtype=float)
        size, rate_sizes = bound.sizes(q)
        before, after = ((*bound.node_poses(x), self._subspaces(bound, x)) for x in (q, to))
        for chain in self._chains:
            at = chain.rates[:, None] + np.arange(chain.size)
            S = before[2][chain.size][:, chain.nodes].transpose(1, 2, 0)
            nodal = np.einsum("nji,nj->ni", _inverse(S, size, rate_sizes[at]), force[at])
            carried = np.cumsum(nodal[::-1], axis=0)[::-1]
            old, new = (_helices(bound, chain, *x[:2]) for x in (before, after))
            work = np.einsum("nji,nj->ni", _change(old), carried)
            # the same in the axes of the previous section
            first, second = (_bases(bound, chain, *x[:2]) for x in (before, after))
            work = _wrenches(second, _wrenches(first, work, inverse=True))
            per = _per_size(size)
            moved = per * np.linalg.solve(_change(per * new).transpose(0, 2, 1), (work / per)[:, :, None])[:, :, 0]
            nodal = moved - np.concatenate([moved[1:], np.zeros((1, 6))])
            out[at] = np.einsum("nji,nj->ni", after[2][chain.size][:, chain.nodes].transpose(1, 2, 0), nodal)
            if chain.carrier != WORLD:
                out += bound.node_jacobian(q, chain.carrier).T @ carried[0]
                out -= bound.node_jacobian(to, chain.carrier).T @ moved[0]
        return out

    def _subspaces(self, bound: Binding, q: np.ndarray) -> dict[int, np.ndarray]:
        """`_columns` for each number of rates per section."""
        return {size: self._columns(bound, q, size) for size in {chain.size for chain in self._chains}}

    def bend(self, bound: Binding, q: np.ndarray, force: np.ndarray) -> Entries:
        """Contribution of carrying to the stiffness (nv x nv) if `force` (nv) is not balanced: rows, columns and values.

        Carried sections move along curves. To second order their positions change by S p in addition to their increments, with
        S = sum (T_before + d/2) d of the motions T of the previous section and d = T - T_before, and their rotation vectors by
        the sum of half the cross products of the rotations of neighbours. If an element's helix x changes as planned, d becomes d
        - [d, [d, x]] / 12, to first order in x.
        """
        entries: list[Entries] = []
        rotations, places = bound.node_poses(q) if self._chains else (np.zeros((0, 3, 3)), np.zeros((0, 3)))
        size, rate_sizes = bound.sizes(q)
        columns: dict[int, np.ndarray] = {}
        for chain in self._chains:
            if chain.size not in columns:
                columns[chain.size] = self._columns(bound, q, chain.size)
            S = columns[chain.size][:, chain.nodes].transpose(1, 2, 0)  # n x 6 x size
            at = chain.rates[:, None] + np.arange(chain.size)
            wrenches = np.einsum("nji,nj->ni", _inverse(S, size, rate_sizes[at]), force[at])
            B = _second_order(wrenches, places[chain.nodes], _helices(bound, chain, rotations, places))
            if chain.carrier != WORLD:
                base = bound.node_jacobian(q, chain.carrier)
                moving = np.flatnonzero(np.any(base != 0, axis=0))
                entries.append(_entries(B[:1], base[None][:, :, moving], S[:1], moving[None], at[:1]))
            else:
                entries.append(_entries(B[:1], np.zeros((1, 6, 0)), S[:1], np.zeros((1, 0), dtype=int), at[:1]))
            entries.append(_entries(B[1:], S[:-1], S[1:], at[:-1], at[1:]))
        if not entries:
            return np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0)
        return tuple(np.concatenate(x) for x in zip(*entries, strict=True))  # type: ignore[return-value]

    def _columns(self, bound: Binding, q: np.ndarray, size: int) -> np.ndarray:
        """World twists of all nodes per unit of each rate of the sections with this number of rates (size x nodes x 6)."""
        out = []
        for k in range(size):
            v = np.zeros(bound.nv)
            for chain in self._chains:
                if chain.size == size:
                    v[chain.rates + k] = 1.0
            out.append(bound.node_twists(q, v))
        return np.array(out)


def _per_size(size: float) -> np.ndarray:
    """Factors (6) that make twists dimensionless, lengths relative to a size [m]."""
    return np.repeat([1 / size, 1.0], 3)


def _inverse(S: np.ndarray, size: float, rate_sizes: np.ndarray) -> np.ndarray:
    """Pseudo-inverses (n x k x 6) of the twists S (n x 6 x k) of rates with these sizes (n x k): displacements are compared with
    rotations at the distance `size` [m]."""
    per = _per_size(size)
    return np.asarray(rate_sizes[:, :, None] * np.linalg.pinv(per[:, None] * S * rate_sizes[:, None, :]) * per)


def _second_order(wrenches: np.ndarray, places: np.ndarray, helices: np.ndarray) -> np.ndarray:
    """Second derivatives (n x 12 x 12) of the work of wrenches on carried sections with respect to the twists of the previous
    section and of the section itself."""
    f = wrenches[:, :3]
    torque = wrenches[:, 3:] - np.cross(places, f)
    moments = np.einsum("ni,nj->nij", f, places)
    A, M, P = (np.cumsum(x[::-1], axis=0)[::-1] for x in (f, torque, moments))
    N = P.transpose(0, 2, 1) - np.einsum("nii->n", P)[:, None, None] * np.eye(3)
    hat_A, hat_M = arrays.hat(A), arrays.hat(M)
    B = np.zeros((len(f), 12, 12))
    before_v, before_w, now_v, now_w = (slice(3 * k, 3 * k + 3) for k in range(4))
    for mean in (before_w, now_w):
        B[:, mean, now_w] += 0.5 * N
        B[:, mean, before_w] -= 0.5 * N
        B[:, mean, now_v] -= 0.5 * hat_A
        B[:, mean, before_v] += 0.5 * hat_A
    B[:, before_w, now_w] -= 0.5 * hat_M
    carried = np.cumsum(wrenches[::-1], axis=0)[::-1]
    C = np.zeros((len(f), 6, 6))
    C[:, :3, 3:], C[:, 3:, :3], C[:, 3:, 3:] = -hat_A, -hat_A, -arrays.hat(carried[:, 3:])
    C = C @ arrays.bracket(helices) / 12
    B[:, :6, :6] += C
    B[:, 6:, 6:] += C
    B[:, :6, 6:] -= C
    B[:, 6:, :6] -= C
    return B + B.transpose(0, 2, 1)


def _entries(B: np.ndarray, before: np.ndarray, now: np.ndarray, at_before: np.ndarray, at_now: np.ndarray) -> Entries:
    """Convert blocks (n x 12 x 12) in twists to rows, columns and values in the rates of these twists (n x 6 x rates)."""
    split = before.shape[2]
    G = np.zeros((len(B), 12, split + now.shape[2]))
    G[:, :6, :split], G[:, 6:, split:] = before, now
    blocks = G.transpose(0, 2, 1) @ B @ G
    index = np.concatenate([at_before, at_now], axis=1)
    size = index.shape[1]
    return np.repeat(index, size, axis=1).ravel(), np.tile(index, (1, size)).ravel(), blocks.ravel()


def _first(carriers: dict[int, int], node: int) -> int:
    """The carrier of the first section of a node's rod."""
    while node in carriers:
        node = carriers[node]
    return node


def _sections(
    bound: Binding, chain: _Chain, rotations: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rotations and positions of a rod's sections, beginning with its base."""
    c, placed = chain.carrier, bound.constants[chain.placement : chain.placement + 12]
    base = rotations[c] @ placed[:9].reshape(3, 3).T
    R = np.concatenate([base[None], rotations[chain.nodes]])
    return R, np.concatenate([(places[c] + rotations[c] @ placed[9:])[None], places[chain.nodes]])


def _bases(bound: Binding, chain: _Chain, rotations: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations and positions of the previous section of each section."""
    R, p = _sections(bound, chain, rotations, places)
    return R[:-1], p[:-1]


def _wrenches(poses: tuple[np.ndarray, np.ndarray], wrenches: np.ndarray, *, inverse: bool = False) -> np.ndarray:
    """Wrenches (n x 6) in the axes of poses, expressed at the world's origin, or the inverse."""
    R, p = poses
    f, m = wrenches[:, :3], wrenches[:, 3:]
    if inverse:
        m = m - np.cross(p, f)
        return np.hstack([np.einsum("nji,nj->ni", R, f), np.einsum("nji,nj->ni", R, m)])
    f, m = np.einsum("nij,nj->ni", R, f), np.einsum("nij,nj->ni", R, m)
    return np.hstack([f, m + np.cross(p, f)])


def _helices(bound: Binding, chain: _Chain, rotations: np.ndarray, places: np.ndarray) -> np.ndarray:
    """World twists (n x 6) whose exponentials map each section of a rod to the next."""
    R, p = _sections(bound, chain, rotations, places)
    turns = R[1:] @ R[:-1].transpose(0, 2, 1)
    phi = scipy.spatial.transform.Rotation.from_matrix(turns).as_rotvec()
    shift = p[1:] - np.einsum("nij,nj->ni", turns, p[:-1])
    return np.hstack([np.linalg.solve(arrays.left_jacobian(phi), shift[:, :, None])[:, :, 0], phi])


def _change(helices: np.ndarray) -> np.ndarray:
    """Matrices (n x 6 x 6) from changes of helices to the resulting relative motions: the sum of ad^k / (k + 1)!."""
    ad = arrays.bracket(helices)
    total = power = np.broadcast_to(np.eye(6), ad.shape)
    for k in range(2, 22):  # converges for rotations up to pi
        power = power @ ad / k
        total = total + power
    return total


def _moved(R: np.ndarray, p: np.ndarray, helices: np.ndarray, relative: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Motions of the world (rotations, translations of its origin) that map sections one after the other to their new poses: the
    motion of the previous section, and a change of the helix x between both that has the relative world twist (n x 6) to first
    order. All lengths are dimensionless."""
    change = np.linalg.solve(_change(helices), relative[:, :, None])[:, :, 0]
    (turn, shift), (back, away) = arrays.exp(helices + change), arrays.exp(-helices)
    steps, moves = turn @ back, np.einsum("nij,nj->ni", turn, away) + shift
    turns, shifts = np.empty_like(steps), np.empty_like(moves)
    for k in range(len(relative)):
        p = R @ moves[k] + p
        R = R @ steps[k]
        turns[k], shifts[k] = R, p
    return turns, shifts
