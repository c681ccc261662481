"""The command `export`: a robot as source code, or its motion as a scene, for use elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.answers import answering, drawing, say_warnings
from pliant.cli.common import Choices, CommandError, Json, print_json
from pliant.cli.options import renamed_options
from pliant.cli.subject import load_model, open_subject
from pliant.control.feedback import StateFeedback
from pliant.equations.workspace import EvaluationError
from pliant.io.export_c import ExportError, export_c
from pliant.language.words import suggestion
from pliant.solve.motion.plant import model_controllers
from pliant.solve.state import AssemblyError
from pliant.spec.derive import derive
from pliant.view.clips import Clip, run_clip, start_clip
from pliant.view.gltf import export_gltf
from pliant.view.stage import make_stage

if TYPE_CHECKING:
    from pliant.equations.equations import Equations


@renamed_options({"dt": "step"})
def export(
    model: Annotated[
        str, typer.Argument(metavar="MODEL|RESULT", help="A model; for --gltf also a saved result (.nc), which moves.")
    ],
    c: Annotated[
        str | None, typer.Option("--c", metavar="DIR", help="Write standalone C into this new or empty folder.")
    ] = None,
    gltf: Annotated[
        str | None, typer.Option("--gltf", metavar="FILE", help="Write shapes and motion into this file (.glb).")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="semi_implicit, generalized_alpha, newmark, explicit or implicit.")
    ] = "semi_implicit",
    step: Annotated[float, typer.Option("--step", metavar="SECONDS", help="Step of the exported main [s].")] = 1e-3,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the export's own files in a folder that is not empty.")
    ] = False,
    controller: Annotated[
        str | None, typer.Option("--controller", help="Write this controller of the model (of type lqr) beside it.")
    ] = None,
    *,
    choices: Choices,
    json: Json = False,
) -> int:
    """Export a robot as standalone C, or a motion as glTF.

    C: its equations and a step function for a controller or a ROS node, with a header, a CMake file and a small main.
    """
    if gltf is not None:
        if c is not None:
            raise CommandError("--c and --gltf are two exports", "call the command twice")
        return _export_gltf(model, gltf, choices, json)
    if c is None:
        raise CommandError("nothing to export", "name a folder (--c DIR) or a file (--gltf FILE.glb)")
    spec = load_model(model, choices)
    try:
        eqs = derive(spec)
        files = export_c(eqs.model, c, method=method, step=step, force=force, controller=_designed(eqs, controller))
    except ExportError as error:
        raise CommandError(error.message, error.hint) from error
    except (AssemblyError, EvaluationError, ValueError) as error:
        raise CommandError(str(error)) from error
    if json:
        answer = {"model": model, "status": "ok", "folder": c, "method": method, "step": step}
        print_json({**answer, "files": [str(file) for file in files]})
    else:
        print(f"{len(files)} files in {c}; README.txt there says how to build them")
    return 0


def _designed(eqs: Equations, name: str | None) -> StateFeedback | None:
    """A controller that the model describes, designed."""
    if name is None:
        return None
    described = eqs.model.spec.control
    if name not in described:
        known = f"the model has {', '.join(described)}" if described else "the model has none; add it under `control`"
        raise CommandError(f"no controller '{name}'", suggestion(name, described, known))
    found = model_controllers(eqs)[list(described).index(name)]
    if not isinstance(found, StateFeedback):
        kind = described[name].type
        raise CommandError(
            f"the controller '{name}' ({kind}) solves the model at every sample", "export one of type lqr"
        )
    say_warnings([found])
    return found


def _export_gltf(model: str, file: str, choices: Choices, json: bool) -> int:
    if not file.endswith(".glb"):
        raise CommandError(f"cannot tell the format of {file!r}", "end it in .glb")
    subject = open_subject(model, choices)
    eqs, run = subject.equations, subject.run
    clip: Clip = answering(lambda: start_clip(eqs) if run is None else run_clip(eqs, run))
    drawing(lambda: export_gltf(make_stage(clip.scenes), clip.times, file), file)
    if json:
        print_json({"model": model, "status": "ok", "file": file, "frames": len(clip.times)})
    else:
        print(f"{len(clip.times)} frame{'s' if len(clip.times) > 1 else ''} in {file}")
    return 0
