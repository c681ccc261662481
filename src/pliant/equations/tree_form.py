"""Which systems solve implicit steps by recursions over the tree (`runtime/tree_matrix.c`) instead of assembled matrices."""

from __future__ import annotations

from bisect import bisect_right

from pliant.equations.inertia_tables import is_articulated
from pliant.model.system import System

FROM_RATES = 18
"""Average number of rates on the way from an element to the ground from which on recursions are quicker."""
MOST_BESIDE = 0.6
"""Unknowns beside the coordinates, per rate on that way, up to which they are."""


def is_solved_by_tree(system: System) -> bool:
    """Whether recursions can do it, and are quicker: each coordinate of a chain is coupled with all others on its way to the
    ground, of which assembled matrices hold every pair. What stands between moving frames costs a solution for each of its
    unknowns, so few of these must do."""
    if not system.v_size or not _has_tree_form(system):
        return False
    average = _mean_path(system)
    return average >= FROM_RATES and unknowns_beside(system) <= MOST_BESIDE * average


def unknowns_beside(system: System) -> int:
    """Multipliers, and six unknowns for every frame of a force or constraint between several moving nodes."""
    interactions = [f.nodes for f in system.frame_forces] + [c.nodes for c in system.constraints]
    return system.rows + sum(6 * len(nodes) for nodes in interactions if len(set(nodes) - {0}) > 1)


def _has_tree_form(system: System) -> bool:
    """Lines through many nodes, forces that join elements' coordinates and inertia between frames have none."""
    starts = [element.v_at for element in system.elements]
    joined = any(
        bisect_right(starts, force.v_at) != bisect_right(starts, force.v_at + force.size - 1)
        for force in system.coordinate_forces
    )
    return not joined and not system.routes and all(is_articulated(system, inert) for inert in system.inertias)


def _mean_path(system: System) -> float:
    """Rates on the way from an element to the ground, its own included, on average over all rates."""
    way = [0] * len(system.nodes)
    total = 0
    for element in system.elements:
        rates = way[element.base] + element.v_size
        total += element.v_size * rates
        for node in element.nodes:
            way[node] = rates
    return total / system.v_size
