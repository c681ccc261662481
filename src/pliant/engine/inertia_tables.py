"""Tables of non-rigid inertia: the coordinates that move it, and the positions of their blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pliant.engine.model.system import InertiaInstance, System
from pliant.engine.table_rows import add_row
from pliant.parts.formula.base import Inertia

if TYPE_CHECKING:
    from pliant.engine.pattern import BlockPositions


def inertia_elements(system: System, inert: InertiaInstance) -> list[int]:
    """Elements whose coordinates move the inertia: its own first, in the order of its kind, then those on the paths."""
    out = list(inert.elements)
    for node in inert.nodes:
        out += [e for e in (system.element_of(n) for n in system.path(node)) if e not in out]
    return out


def is_articulated(system: System, inert: InertiaInstance) -> bool:
    """Whether the articulated-body recursion supports it: one frame, and coordinates of at most one element based on its node."""
    if len(inert.nodes) > 1 or len(inert.elements) > 1:
        return False
    return all(system.elements[e].base == inert.nodes[0] for e in inert.elements)


def fill_inertias(
    system: System, positions: BlockPositions, integers: dict[str, list[int]], number: Callable[[Inertia], int]
) -> None:
    """For every inertia of one frame its type, constants and storage; for every element that moves it the node by which it does
    (0 for
    none) and the first of the element's rates (-1 for none); for every pair of those the block. Successive inertias of one type
    form a run, which is evaluated for several at once.
    """
    for inert in system.inertias:
        if inert.is_shared:
            continue
        path = {system.element_of(n): n for n in system.path(inert.nodes[0])}
        elements = inertia_elements(system, inert)
        if number(inert.kind) not in integers["inertia_kind"][-1:]:
            integers["inertia_run"].append(len(integers["inertia_kind"]))
        add_row(
            integers, "inertia", kind=number(inert.kind), constants=inert.kind.constants, node=inert.nodes[0],
            k=inert.kind.v_size, theta=inert.constants, owned=len(inert.elements),
            articulated=int(is_articulated(system, inert)), begin=len(integers["mover_elem"]),
            pair=len(integers["mover_pos"]),
        )  # fmt: skip
        own = 0
        for index, element in enumerate(elements):
            first = own if index < len(inert.elements) else -1
            add_row(integers, "mover", elem=element, own=first, node=path.get(element, 0))
            integers["mover_pos"] += [positions.block(row, element)[0] for row in elements]
            own += system.elements[element].v_size
    integers["inertia_begin"].append(len(integers["mover_elem"]))
    integers["inertia_run"].append(len(integers["inertia_kind"]))
