"""Commands that read files of other programs: `import` converts robots, `mesh` summarizes meshes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pliant.cli.common import CommandError, Folder, Json, print_json, say
from pliant.language.message_text import printable
from pliant.language.source import FileProblem
from pliant.language.traversal import collections
from pliant.parts.mesh.formats import read_mesh
from pliant.robot.importing import import_robot


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A robot: URDF, or MJCF of MuJoCo.")],
    out: Annotated[str | None, typer.Option("--out", metavar="MODEL", help="Model file to write.")] = None,
    folder: Folder = None,
    json: Json = False,
) -> int:
    """Convert a URDF or MJCF file to a model file.

    Without --out the model is printed. Parts of the file that are not in the model are listed with their lines. Analyses also
    accept such files directly.
    """
    if out is not None and not out.endswith((".yaml", ".yml")):
        raise CommandError(f"cannot determine the format of '{out}'", "end it in .yaml")
    found = import_robot(file, folders=folder or ())
    if out is not None:
        try:
            found.save(out)
        except OSError as reason:
            raise CommandError(f"cannot write {out}: {reason.strerror}") from None
    if json:
        robot = found.robot
        counts = {key: len(getattr(robot, key)) for key in collections(type(robot)) if getattr(robot, key)}
        text = {} if out is not None else {"text": found.text()}
        notes = [note.as_dict() for note in found.notes]
        print_json({"model": file, "status": "ok", "out": out, "parts": counts, "notes": notes, **text})
        return 0
    if out is None:
        print(found.text(), end="")
    for line in str(found).splitlines():
        say(line)
    if out is not None:
        say(f"wrote {out}")
    return 0


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
