"""Meshes of a robot as marks: all nodes together, because there may be ten thousand of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.link.axial import ROPE, driven_rope_force, rope_force
from pliant.view.marks import MeshMark, Pose

if TYPE_CHECKING:
    from pliant.mesh import MeshBase
    from pliant.model.model import Model

SHORTER = 1e-6
"""An edge is slack if it is shorter than at rest by this fraction; initially a net is at rest, up to round-off."""


class MeshIndices:
    """Indices of a mesh's nodes and ropes in the tables of a model, determined once."""

    def __init__(self, model: Model, name: str, mesh: MeshBase) -> None:
        self.name, self.edges, self.held = name, mesh.lattice.edges, mesh.held_nodes
        entries = [model.frames[f"{name}.n{i + 1}"] for i in range(len(mesh.lattice.shares))]
        self.nodes = np.array([entry.node for entry in entries])
        # a placement is nine numbers of a rotation and three of a position
        self.places = np.array([entry.constants for entry in entries])[:, None] + np.arange(9, 12)
        kinds = (rope_force(), driven_rope_force(with_input=False), driven_rope_force(with_input=True))
        ropes = [f.constants for f in model.system.frame_forces if f.source == name and f.kind in kinds]
        # between two points of one body there is no rope
        apart = np.flatnonzero(self.nodes[self.edges[:, 0]] != self.nodes[self.edges[:, 1]])
        self.roped: np.ndarray = apart if ropes else apart[:0]
        self.ropes = np.array(ropes, dtype=int)
        assert len(self.roped) == len(self.ropes), "a membrane has a rope on every edge"

    def mark(self, poses: Pose, theta: np.ndarray) -> MeshMark:
        """The mesh for these poses of the model's nodes and these constants."""
        rotations, positions = poses
        points = positions[self.nodes] + np.einsum("nij,nj->ni", rotations[self.nodes], theta[self.places])
        ends = points[self.edges[self.roped]]
        lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        pulls_only = theta[self.ropes + ROPE.at["direction"]] != 0
        slack = self.roped[pulls_only & (lengths < (1 - SHORTER) * theta[self.ropes + ROPE.at["rest"]])]
        return MeshMark(self.name, points, self.edges, self.held, slack)
