"""Commands about models: check, show, models, schema."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from pliant.analysis.derivation import check as checking
from pliant.cli.common import (
    CommandError,
    Folder,
    Json,
    Model,
    ModelOptions,
    Set,
    Variant,
    console,
    print_faults,
    print_json,
    say,
)
from pliant.cli.json_schema import json_schema
from pliant.cli.model_argument import load_model, read_settings
from pliant.robot import reader
from pliant.robot.reader import bundled_robots
from pliant.robot.robot import RobotSpec
from pliant.show.sketch import draw_meshes, mesh_rows, save
from pliant.show.tables import overview, print_tables


def check(model: Model, set: Set = None, variant: Variant = None, folder: Folder = None, json: Json = False) -> int:
    """Check a model and list all errors in it.

    Each fault comes with its file and line, its location in the model, and a suggested fix. Remarks point out what is valid
    but rarely intended, such as a rod thicker than long, or an unused parameter.
    """
    settings, folders = read_settings(set), folder or ()
    faults = checking.check(model, variant=variant, set=settings, folders=folders)
    remarks = () if faults else reader.load(model, variant=variant, set=settings, folders=folders).remarks
    if json:
        message = {"message": faults[0].message} if faults else {}
        found = {"faults": [fault.as_dict() for fault in faults], "remarks": [one.as_dict() for one in remarks]}
        print_json({"model": model, "status": "faults" if faults else "ok", **message, **found})
    if faults:
        print_faults(faults, model)
        return 2
    if not json:
        print(f"{model}: ok")
        for remark in remarks:
            print(f"  {remark}")
    return 0


def show(
    model: Model,
    mesh: Annotated[
        str | None,
        typer.Option("--mesh", metavar="PICTURE", help="Write a picture of the meshes with node numbers and sets."),
    ] = None,
    *,
    choices: ModelOptions,
    json: Json = False,
) -> int:
    """Show a robot as tables.

    The tables list bodies with masses, joints with coordinates, forces, the tree of bodies, and totals.
    """
    spec = load_model(model, choices)
    if mesh is not None:
        return _show_meshes(model, spec, mesh, json)
    if json:
        shown = overview(spec)
        tables = {
            sheet.title: [dict(zip(sheet.columns, row, strict=True)) for row in sheet.rows] for sheet in shown.sheets
        }
        print_json(
            {
                "model": model,
                "status": "ok",
                "name": spec.title,
                "description": shown.description,
                **tables,
                "tree": asdict(shown.tree),
                "totals": dict(shown.totals),
            }
        )
    else:
        print_tables(spec, console())
    return 0


def _show_meshes(model: str, spec: RobotSpec, picture: str, json: bool) -> int:
    """Write the picture of the meshes, and print a table of their contents."""
    rows = mesh_rows(spec)
    try:
        save(draw_meshes(spec).axes[0], picture)
    except ImportError:
        raise CommandError("pictures need the package matplotlib", "install pliant[plot]") from None
    except OSError as reason:
        raise CommandError(f"cannot write {picture}: {reason.strerror}") from None
    except ValueError as reason:
        raise CommandError(str(reason)) from None
    if json:
        print_json({"model": model, "status": "ok", "picture": picture, "meshes": rows})
        return 0
    for row in rows:
        _print_mesh(row)
    say(f"wrote {picture}")
    return 0


def _print_mesh(row: dict[str, Any]) -> None:
    """Print the contents of a mesh, and its sets."""
    table = Table("", "", box=None, show_header=False)
    table.add_row("mesh", f"{row['mesh']} ({row['type']})")
    table.add_row("nodes", f"{row['nodes']}, of which {row['held']} held")
    table.add_row("edges", f"{row['edges']}")
    if row["lines"] is not None:
        unit = f"{row['unit']} (not stated in the file)" if row["unit_assumed"] else row["unit"]
        table.add_row("lines in the file", f"{row['lines']}, {row['repeated']} repeated, {row['short']} without length")
        table.add_row("ends merged", f"{row['merged']}")
        table.add_row("nodes without edges", f"{row['orphans']}")
        table.add_row("pieces", f"{row['pieces']}")
        table.add_row("not read", ", ".join(f"{count} x {kind}" for kind, count in row["ignored"].items()) or "nothing")
        table.add_row("unit of the file", unit)
    for name, count in row["sets"].items():
        holder = row["held_by"].get(name)
        table.add_row(
            f"set {name}",
            f"{count} node{'' if count == 1 else 's'}" + (f", held by {holder}" if holder and count else ""),
        )
    console().print(table)


def models(json: Json = False) -> int:
    """List the bundled robots."""
    robots = bundled_robots()
    if json:
        print_json({"model": None, "status": "ok", "models": [asdict(robot) for robot in robots]})
        return 0
    width = max(len(robot.name) for robot in robots)
    for robot in robots:
        print(f"{robot.name:<{width}}  {robot.description}")
    return 0


def schema() -> int:
    """Print the JSON Schema of the language.

    Editors use it for completion and to check models during typing.
    """
    data: dict[str, Any] = json_schema()
    print_json(data)
    return 0
