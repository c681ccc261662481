"""The command `export`: a robot as source code for use elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.common import CommandError, Folder, Json, Model, Set, Variant, load_model, print_json

if TYPE_CHECKING:
    from pliant.control.feedback import StateFeedback
    from pliant.equations.equations import Equations


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
    controller: Annotated[
        str | None, typer.Option("--controller", help="Write this controller of the model (of type lqr) beside it.")
    ] = None,
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
        eqs = derive(spec)
        files = export_c(eqs.model, c, method=method, step=dt, force=force, controller=_designed(eqs, controller))
    except ExportError as error:
        raise CommandError(error.message, error.hint) from error
    except (AssemblyError, EvaluationError, ValueError) as error:
        raise CommandError(str(error)) from error
    if json:
        answer = {"model": model, "status": "ok", "folder": c, "method": method, "dt": dt}
        print_json({**answer, "files": [str(file) for file in files]})
    else:
        print(f"{len(files)} files in {c}; README.txt there says how to build them")
    return 0


def _designed(eqs: Equations, name: str | None) -> StateFeedback | None:
    """A controller that the model describes, designed."""
    from pliant.control.feedback import StateFeedback
    from pliant.controller import model_controllers
    from pliant.spec.base import nearest

    if name is None:
        return None
    described = eqs.model.spec.control
    if name not in described:
        match = nearest(name, tuple(described))
        known = f"the model has {', '.join(described)}" if described else "the model has none; add it under `control`"
        raise CommandError(f"no controller '{name}'", f"did you mean '{match}'?" if match else known)
    found = model_controllers(eqs)[list(described).index(name)]
    if not isinstance(found, StateFeedback):
        raise CommandError(f"the controller '{name}' solves the model at every sample", "export one of type lqr")
    return found
