"""Commands about models: check, show, models, schema."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from pliant.cli.common import (
    Folder,
    Json,
    Model,
    Rod,
    Set,
    Variant,
    console,
    load_model,
    print_faults,
    print_json,
    read_settings,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("check")(check)
    app.command("show")(show)
    app.command("models")(models)
    app.command("schema")(schema)


def check(model: Model, set: Set = None, variant: Variant = None, folder: Folder = None, json: Json = False) -> int:
    """Check a model and list everything that is wrong with it.

    Each fault comes with its file and line, its place in the model, and what to do about it.
    """
    from pliant.spec import reader

    faults = reader.check(model, variant=variant, set=read_settings(set), folders=folder or ())
    status = "faults" if faults else "ok"
    if json:
        message = {"message": faults[0].message} if faults else {}
        print_json({"model": model, "status": status, **message, "faults": [fault.as_dict() for fault in faults]})
    if faults:
        print_faults(faults, model)
        return 2
    if not json:
        print(f"{model}: ok")
    return 0


def show(
    model: Model, set: Set = None, rod: Rod = None, variant: Variant = None, folder: Folder = None, json: Json = False
) -> int:
    """Show a robot as tables.

    Bodies with mass, joints with coordinates, forces, the tree of bodies, and totals.
    """
    from pliant.spec.tables import overview, print_tables

    spec = load_model(model, settings=set, variant=variant, folders=folder, rods=rod)
    if json:
        shown = overview(spec)
        tables = {
            sheet.title: [dict(zip(sheet.columns, row, strict=True)) for row in sheet.rows] for sheet in shown.sheets
        }
        print_json(
            {
                "model": model,
                "status": "ok",
                "name": shown.title,
                "description": shown.description,
                **tables,
                "tree": asdict(shown.tree),
                "totals": dict(shown.totals),
            }
        )
    else:
        print_tables(spec, console())
    return 0


def models(json: Json = False) -> int:
    """List the bundled robots."""
    from pliant.spec.reader import bundled_robots

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

    Editors use it for completion and checks while typing.
    """
    from pliant.spec.json_schema import json_schema

    data: dict[str, Any] = json_schema()
    print_json(data)
    return 0
