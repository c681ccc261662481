"""The integer tables of routed lines; see `runtime/route.c`."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.engine.model.system import RouteInstance, System
from pliant.engine.pattern import BlockPositions, changing_nodes
from pliant.engine.table_rows import add_row

# Which end of a span a coordinate moves.
FIRST, SECOND, BOTH = 0, 1, 2


def fill_route_tables(
    system: System, positions: BlockPositions, integers: dict[str, list[int]], kinds: Sequence[int]
) -> None:
    """Add all lines to the tables; `kinds` are the numbers of their laws."""
    for route, kind in zip(system.routes, kinds, strict=True):
        changing = changing_nodes(system, route.nodes)
        add_row(
            integers, "route", kind=kind, begin=len(integers["route_nodes"]), theta=route.constants,
            law=route.law_constants, signal=route.signals, signals=route.kind.signals,
            friction=route.friction_constants if route.has_friction else -1, stretches=int(route.kind.coupled),
        )  # fmt: skip
        integers["rtouch_begin"].append(len(integers["rtouch_node"]))
        integers["relem_begin"].append(len(integers["relem"]))
        integers["rblock_begin"].append(len(integers["rblock_pos"]))
        _spans(system, positions, integers, route)
        known = set(changing)
        bases = [system.base(node) for node in changing]
        integers["route_nodes"].extend(route.nodes)
        # contributions of nodes that do not change the length are discarded: index 0, the world
        integers["route_slot"].extend(node if node in known else 0 for node in route.nodes)
        integers["rtouch_node"].extend(changing)
        integers["rtouch_base"].extend(base if base in known else 0 for base in bases)
        elements = sorted({system.element_of(node) for node in changing})
        integers["relem"].extend(elements)
        if route.coupled:
            integers["rblock_pos"].extend(positions.block(a, b)[0] for a in elements for b in elements)
    for name, counted in (
        ("route_begin", "route_nodes"),
        ("rcol_begin", "rcol_node"),
        ("rrow_begin", "rrow_node"),
        ("rtouch_begin", "rtouch_node"),
        ("relem_begin", "relem"),
        ("rblock_begin", "rblock_pos"),
    ):
        integers[name].append(len(integers[counted]))


def _spans(system: System, positions: BlockPositions, integers: dict[str, list[int]], route: RouteInstance) -> None:
    """For the span after each point: the nodes that change it (columns), and for each all affected nodes (rows)."""
    paths = [system.path(node) for node in route.nodes]
    for here, beyond in zip(paths, [*paths[1:], None], strict=True):
        integers["rcol_begin"].append(len(integers["rcol_node"]))
        if beyond is None:  # there is no span after the last point
            continue
        first, second = set(here), set(beyond)
        for column in sorted(first ^ second):
            add_row(integers, "rcol", node=column, sign=1 if column in first else -1)
            integers["rrow_begin"].append(len(integers["rrow_node"]))
            for row in sorted(first | second):
                side = BOTH if row in first and row in second else FIRST if row in first else SECOND
                block = positions.block(system.element_of(row), system.element_of(column))[0]
                add_row(integers, "rrow", node=row, case=side, pos=block)
