"""Large steps of rods whose sections have poses of their own: each section is carried along by the one before it.

Added up as they are, increments of places that belong to a turn lengthen a rod by the square of the turn, and forces of its
stretch, by far its stiffest strain, hide all others. Here the same increments, to first order, are taken as changes of the
relative poses along the rod, as if its coordinates were strains, so a step changes strains by what was planned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.spatial.transform import Rotation

from pliant.equations.binding import Binding
from pliant.model.model import Model
from pliant.motion import FREE, PLANAR_XZ, PLANAR_YZ

OWN_POSES = (FREE, PLANAR_XZ, PLANAR_YZ)
WORLD = 0


@dataclass(frozen=True)
class _Chain:
    """Sections of one rod that follow each other: their nodes, the node that carries the first, where their rates begin."""

    carrier: int
    nodes: np.ndarray
    rates: np.ndarray
    size: int


class CarriedSections:
    """Increments of q with the sections of rods carried along."""

    def __init__(self, model: Model) -> None:
        system = model.system
        carriers: dict[int, int] = {}
        rods: dict[str, list[int]] = {}
        for limit in model.turn_limits:
            node = system.nodes[limit.second]
            if node is None or node.motion not in OWN_POSES or system.elements[node.element].base != WORLD:
                continue
            carriers[limit.second] = limit.first
            rods.setdefault(limit.rod, []).append(limit.second)
        self._chains: list[_Chain] = []
        for nodes in rods.values():
            elements = [system.elements[system.element_of(node)] for node in nodes]
            rates = np.array([element.v_at for element in elements])
            self._chains.append(_Chain(carriers[nodes[0]], np.array(nodes), rates, elements[0].v_size))
        # rods on what other rods carry are placed after these
        self._stages: list[list[_Chain]] = []
        own = set(carriers)
        depth = {node: 0 for node in (WORLD,)}

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
        """q with the increment x (nv) applied on the group, sections carried along."""
        if not self._stages:
            return bound.increment(q, x)
        x = np.array(x, dtype=float)
        rotations, places = bound.node_poses(q)
        twists = bound.node_twists(q, x)
        columns: dict[int, np.ndarray] = {}
        for chains in self._stages:
            moved_rotations, moved_places = bound.node_poses(bound.increment(q, x))
            for chain in chains:
                c = chain.carrier
                R = moved_rotations[c] @ rotations[c].T
                p = moved_places[c] - R @ places[c]
                turns, shifts = _moved(R, p, np.diff(twists[np.r_[c, chain.nodes]], axis=0))
                phi = Rotation.from_matrix(turns).as_rotvec()
                step = np.einsum("nij,nj->ni", turns, places[chain.nodes]) + shifts - places[chain.nodes]
                wanted = np.hstack([step - np.cross(phi, places[chain.nodes]), phi])
                if chain.size not in columns:
                    columns[chain.size] = self._columns(bound, q, chain.size)
                S = columns[chain.size][:, chain.nodes].transpose(1, 2, 0)
                y = np.einsum("nij,nj->ni", np.linalg.pinv(S), wanted)
                x[chain.rates[:, None] + np.arange(chain.size)] = y
        return bound.increment(q, x)

    def bend(self, bound: Binding, q: np.ndarray, force: np.ndarray) -> sp.csc_matrix:
        """What carrying adds to the stiffness (nv x nv) where `force` (nv) is not balanced.

        Sections that are carried move along curves. To second order their places change by S p beside their increments,
        with S = sum (T_before + d/2) d of the motions T of the section before and d = T - T_before, and their
        rotation vectors by the sum of half the cross products of the turns of neighbours.
        """
        shape = (bound.nv, bound.nv)
        rows, columns, values = [], [], []
        places = bound.node_poses(q)[1] if self._chains else np.zeros((0, 3))
        found: dict[int, np.ndarray] = {}
        for chain in self._chains:
            if chain.size not in found:
                found[chain.size] = self._columns(bound, q, chain.size)
            S = found[chain.size][:, chain.nodes].transpose(1, 2, 0)  # n x 6 x size
            at = chain.rates[:, None] + np.arange(chain.size)
            wrench = np.einsum("nji,nj->ni", np.linalg.pinv(S), force[at])
            f, p = wrench[:, :3], places[chain.nodes]
            torque = wrench[:, 3:] - np.cross(p, f)
            A, M, P = (
                np.cumsum(x[::-1], axis=0)[::-1] for x in (f, torque, np.einsum("ni,nj->nij", f, p))
            )
            N = P.transpose(0, 2, 1) - np.einsum("nii->n", P)[:, None, None] * np.eye(3)
            B = np.zeros((len(p), 12, 12))
            hat_A, hat_M = _hat(A), _hat(M)
            before_v, before_w, now_v, now_w = (slice(3 * k, 3 * k + 3) for k in range(4))
            for mean in (before_w, now_w):
                B[:, mean, now_w] += 0.5 * N
                B[:, mean, before_w] -= 0.5 * N
                B[:, mean, now_v] -= 0.5 * hat_A
                B[:, mean, before_v] += 0.5 * hat_A
            B[:, before_w, now_w] -= 0.5 * hat_M
            B = B + B.transpose(0, 2, 1)
            base = np.zeros((6, bound.nv)) if chain.carrier == WORLD else bound.node_jacobian(q, chain.carrier)
            moving = np.flatnonzero(np.any(base != 0, axis=0))
            for k in range(len(p)):
                motion = [base[:, moving] if k == 0 else S[k - 1], S[k]]
                index = np.r_[moving if k == 0 else at[k - 1], at[k]]
                G = la.block_diag(*motion)
                block = G.T @ B[k] @ G
                rows.append(np.repeat(index, len(index)))
                columns.append(np.tile(index, len(index)))
                values.append(block.ravel())
        if not rows:
            return sp.csc_matrix(shape)
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sp.csc_matrix(entries, shape=shape)

    def _columns(self, bound: Binding, q: np.ndarray, size: int) -> np.ndarray:
        """World twists of all nodes by each rate of the sections with that many of them (size x nodes x 6)."""
        out = []
        for k in range(size):
            v = np.zeros(bound.nv)
            for chain in self._chains:
                if chain.size == size:
                    v[chain.rates + k] = 1.0
            out.append(bound.node_twists(q, v))
        return np.array(out)


def _hat(w: np.ndarray) -> np.ndarray:
    """Skew matrices (n x 3 x 3) of vectors (n x 3)."""
    out = np.zeros((len(w), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -w[:, 2], w[:, 1], -w[:, 0]
    return out - out.transpose(0, 2, 1)


def _first(carriers: dict[int, int], node: int) -> int:
    """What carries the first section of a node's rod."""
    while node in carriers:
        node = carriers[node]
    return node


def _moved(R: np.ndarray, p: np.ndarray, relative: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Motions of the world (rotations, shifts of its origin) that take sections one after the other to their new poses: each
    that of the one before, after the exponential of its relative world twist (n x 6)."""
    turn = relative[:, 3:]
    steps = Rotation.from_rotvec(turn).as_matrix()
    angle2 = np.einsum("ni,ni->n", turn, turn)
    angle = np.sqrt(angle2)
    small = angle2 < 1e-6
    safe = np.where(small, 1.0, angle)
    b = np.where(small, 0.5 - angle2 / 24, (1 - np.cos(safe)) / safe**2)
    c = np.where(small, 1 / 6 - angle2 / 120, (safe - np.sin(safe)) / safe**3)
    once = np.cross(turn, relative[:, :3])
    shift = relative[:, :3] + b[:, None] * once + c[:, None] * np.cross(turn, once)
    turns, shifts = np.empty_like(steps), np.empty_like(shift)
    for k in range(len(relative)):
        p = R @ shift[k] + p
        R = R @ steps[k]
        turns[k], shifts[k] = R, p
    return turns, shifts
