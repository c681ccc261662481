"""Systems whose implicit steps are solved by recursions over the tree (`runtime/tree_matrix.c`) instead of assembled matrices."""

from __future__ import annotations

from bisect import bisect_right

from pliant.engine.inertia_tables import is_articulated
from pliant.engine.model.system import System

FROM_RATES = 18
"""Average number of rates on the path from an element to the ground above which recursions are faster."""
MOST_BESIDE = 0.6
"""Maximum number of other unknowns, per rate on this path."""


def is_solved_by_tree(system: System) -> bool:
    """Whether recursions are possible and faster: each coordinate of a chain is coupled with all others on its path to the
    ground, and assembled matrices contain every pair. Forces between moving frames require a solution for each of their unknowns,
    so these must be few."""
    if not system.v_size or not _has_tree_form(system):
        return False
    average = _mean_path(system)
    return average >= FROM_RATES and unknowns_beside(system) <= MOST_BESIDE * average


def unknowns_beside(system: System) -> int:
    """Number of multipliers, plus six unknowns for every frame of a force or constraint between several moving nodes."""
    interactions = [f.nodes for f in system.frame_forces] + [c.nodes for c in system.constraints]
    return system.rows + sum(6 * len(nodes) for nodes in interactions if len(set(nodes) - {0}) > 1)


def _has_tree_form(system: System) -> bool:
    """Whether the recursions support the system: not with lines through many nodes, forces that couple elements, or inertia
    between frames."""
    starts = [element.v_at for element in system.elements]
    joined = any(
        bisect_right(starts, force.v_at) != bisect_right(starts, force.v_at + force.size - 1)
        for force in system.coordinate_forces
    )
    return not joined and not system.routes and all(is_articulated(system, inert) for inert in system.inertias)


def _mean_path(system: System) -> float:
    """Rates on the path from an element to the ground, including its own, averaged over all rates."""
    way = [0] * len(system.nodes)
    total = 0
    for element in system.elements:
        rates = way[element.base] + element.v_size
        total += element.v_size * rates
        for node in element.nodes:
            way[node] = rates
    return total / system.v_size
