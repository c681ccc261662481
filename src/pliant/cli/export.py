"""The command `export`: a robot as source code for use elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from pliant.cli.common import CommandError, Folder, Json, Model, Set, Variant, load_model, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    model: Model,
    c: Annotated[
        str | None,
        typer.Option("--c", metavar="DIR", help="Write standalone C into this new or empty folder."),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="semi_implicit, generalized_alpha, newmark, explicit or implicit.")
    ] = "semi_implicit",
    dt: Annotated[float, typer.Option("--dt", metavar="SECONDS", help="Step of the exported main.")] = 1e-3,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the export's own files in a folder that is not empty.")
    ] = False,
    set: Set = None,
    variant: Variant = None,
    folder: Folder = None,
    json: Json = False,
) -> int:
    """Export a robot as standalone C.

    Its equations and a step function for a controller or a ROS node, with a header, a CMake file and a small main.
    """
    if c is None:
        raise CommandError("nothing to export", "name a folder: pliant export MODEL --c DIR")
    spec = load_model(model, settings=set, variant=variant, folders=folder)

    from pliant.equations.compiled import EvaluationError
    from pliant.equations.equations import derive
    from pliant.io.export_c import ExportError, export_c
    from pliant.solve.state import AssemblyError

    try:
        files = export_c(derive(spec).model, c, method=method, step=dt, force=force)
    except ExportError as error:
        raise CommandError(error.message, error.hint) from error
    except (AssemblyError, EvaluationError) as error:
        raise CommandError(str(error)) from error
    if json:
        answer = {"model": model, "status": "ok", "folder": c, "method": method, "dt": dt}
        print_json({**answer, "files": [str(file) for file in files]})
    else:
        print(f"{len(files)} files in {c}; README.txt there says how to build them")
    return 0
