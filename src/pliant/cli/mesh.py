"""The command `mesh`: summarize a mesh file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pliant.cli.common import CommandError, Json, print_json
from pliant.language.message_text import printable
from pliant.language.source import FileProblem
from pliant.parts.mesh.formats import read_mesh

PIECES = " (use --split to create nodes where lines cross)"


def mesh(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A mesh file: IGES, DXF, STL, OBJ, PLY, DAE, glTF, or any format of meshio."
        ),
    ],
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", metavar="METRES", help="Merge line ends closer than this into one node."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", metavar="UNIT", help="Unit of the file's numbers, such as mm.")
    ] = None,
    split: Annotated[bool, typer.Option("--split", help="Also create nodes where lines cross or touch.")] = False,
    json: Json = False,
) -> int:
    """Read a mesh file and summarize it: nodes, edges, size, merged nodes."""
    try:
        found = read_mesh(file, tolerance=tolerance, unit=unit, split=split)
    except FileProblem as problem:
        raise CommandError(str(problem), problem.hint) from None
    degree = found.degree
    answer: dict[str, Any] = {
        "nodes": len(found.nodes),
        "edges": len(found.edges),
        "bounds_m": found.bounds,
        "merged": found.merged,
        "orphans": found.orphans,
        "ends": int((degree == 1).sum()),
        **{k: getattr(found, k) for k in ("pieces", "lines", "repeated", "short", "unit")},
        "unit_assumed": found.assumed,
        "tolerance_m": found.tolerance,
        "ignored": found.ignored,
        "labels": {name: len(members) for name, members in found.labels.items()},
    }
    if json:
        print_json({"model": file, "status": "ok", **answer})
        return 0
    low, high = found.bounds
    unit_text = f"{found.unit} (not stated in the file)" if found.assumed else found.unit
    rows = {
        "nodes": f"{len(found.nodes)}, of which {answer['ends']} have one edge",
        "edges": f"{len(found.edges)}",
        "pieces": f"{found.pieces}" + ("" if found.pieces == 1 or split else PIECES),
        "from": "  ".join(f"{x:.6g}" for x in low) + " m",
        "to": "  ".join(f"{x:.6g}" for x in high) + " m",
        "unit of the file": unit_text,
        "lines in the file": f"{found.lines}, {found.repeated} of them repeated, {found.short} without length",
        "ends merged": f"{found.merged}, within {found.tolerance:.3g} m",
        "nodes without edges": f"{found.orphans}",
        "labels": ", ".join(f"{name} ({len(members)} nodes)" for name, members in found.labels.items()) or "none",
        "not read": ", ".join(f"{count} x {kind}" for kind, count in found.ignored.items()) or "nothing",
    }
    for name, value in rows.items():
        print(f"{name:<20} {printable(value)}")  # labels are texts of the file
    return 0
