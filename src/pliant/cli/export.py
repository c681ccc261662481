"""The command `export`: a robot as source code or as a model of other programs, or its motion as a scene."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.command_output import answering, drawing, say_warnings
from pliant.cli.common import CommandError, Json, ModelOptions, print_json, say
from pliant.cli.model_argument import load_model, open_subject
from pliant.control.feedback import StateFeedback
from pliant.equations.workspace import EvaluationError
from pliant.fleet.export import export_cuda
from pliant.io.export_c import ExportError, export_c
from pliant.io.fmu import NoBinary, export_fmu, is_for_exchange
from pliant.io.mjcf import export_mjcf
from pliant.io.rigid_robot import RigidExport
from pliant.io.urdf import export_urdf
from pliant.language.message_text import suggestion
from pliant.solve.motion.plant import model_controllers
from pliant.solve.state import AssemblyError
from pliant.spec.derive import derive
from pliant.view.clips import Clip, run_clip, start_clip
from pliant.view.gltf import export_gltf
from pliant.view.stage import make_stage

if TYPE_CHECKING:
    from pliant.equations.equations import Equations


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
    fmu: Annotated[
        str | None, typer.Option("--fmu", metavar="FILE", help="Write a functional mock-up unit (.fmu).")
    ] = None,
    cuda: Annotated[
        str | None,
        typer.Option("--cuda", metavar="DIR", help="Write CUDA code for many robots into this new or empty folder."),
    ] = None,
    mjcf: Annotated[str | None, typer.Option("--mjcf", metavar="FILE", help="Write a MuJoCo model (.xml).")] = None,
    urdf: Annotated[str | None, typer.Option("--urdf", metavar="FILE", help="Write a URDF file (.urdf).")] = None,
    links: Annotated[
        int,
        typer.Option("--links", metavar="N", help="Number of rigid links that approximate each rod, in MJCF and URDF."),
    ] = 10,
    fmi: Annotated[str, typer.Option("--fmi", metavar="VERSION", help="Version of FMI: 3.0 or 2.0.")] = "3.0",
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="semi_implicit (C and CUDA), generalized_alpha (FMUs), newmark, explicit, symplectic_euler or implicit.",
        ),
    ] = None,
    step: Annotated[
        float, typer.Option("--step", metavar="SECONDS", help="Step of the exported main, or of the FMU [s].")
    ] = 1e-3,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the export's own files in a folder that is not empty.")
    ] = False,
    controller: Annotated[
        str | None, typer.Option("--controller", help="Also write this controller of the model (of type lqr).")
    ] = None,
    *,
    choices: ModelOptions,
    json: Json = False,
) -> int:
    """Export a robot as standalone C, CUDA, an FMU, MJCF or URDF, or a motion as glTF.

    C: its equations and a step function for a controller or a ROS node, with a header, a CMake file and a small main.
    CUDA: the program of a fleet (pliant.Fleet), with a main that steps many robots on a GPU.
    FMU: the same with the interface of FMI, for co-simulation and model exchange in other tools.
    MJCF, URDF: rigid parts exactly, rods as links with a measured error; parts without a counterpart are listed.
    """
    given = {"--c": c, "--cuda": cuda, "--gltf": gltf, "--fmu": fmu, "--mjcf": mjcf, "--urdf": urdf}
    named = [option for option, value in given.items() if value is not None]
    if len(named) > 1:
        raise CommandError(f"{' and '.join(named)} are {len(named)} exports", "call the command once for each")
    if gltf is not None:
        return _export_gltf(model, gltf, choices, json)
    if fmu is not None:
        return _export_fmu(model, fmu, fmi, method or "generalized_alpha", step, choices, json)
    for file, written_by in ((mjcf, export_mjcf), (urdf, export_urdf)):
        if file is not None:
            return _export_rigid(model, file, written_by, links, choices, json)
    folder = c if cuda is None else cuda
    if folder is None:
        hint = "name a folder (--c DIR, --cuda DIR) or a file (--fmu FILE.fmu, --mjcf FILE.xml, --urdf FILE.urdf, --gltf FILE.glb)"
        raise CommandError("nothing to export", hint)
    method = method or "semi_implicit"
    with _command_errors():
        eqs = derive(load_model(model, choices))
        if cuda is None:
            designed = _designed(eqs, controller)
            files = export_c(eqs.model, folder, method=method, step=step, force=force, controller=designed)
        else:
            files = export_cuda(eqs, folder, method=method, step=step, force=force)
    if json:
        answer = {"model": model, "status": "ok", "folder": folder, "method": method, "step": step}
        print_json({**answer, "files": [str(file) for file in files]})
    else:
        print(f"{len(files)} files in {folder}; README.txt there explains how to build them")
    return 0


@contextmanager
def _command_errors() -> Iterator[None]:
    """Convert errors of an export to a CommandError."""
    try:
        yield
    except ExportError as error:
        raise CommandError(error.message, error.hint) from error
    except (AssemblyError, EvaluationError, ValueError) as error:
        raise CommandError(str(error)) from error


def _export_fmu(
    model: str, file: str, version: str, method: str, step: float, choices: ModelOptions, json: bool
) -> int:
    with _command_errors(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NoBinary)
        eqs = derive(load_model(model, choices))
        export_fmu(eqs, file, version=version, method=method, step=step)
    remarks = [str(item.message) for item in caught]
    kinds = ["co_simulation", *(["model_exchange"] if is_for_exchange(eqs.model) else [])]
    for remark in remarks:
        say(f"note: {remark}")
    if json:
        answer = {"model": model, "status": "ok", "file": file, "fmi": version, "method": method, "step": step}
        print_json({**answer, "kinds": kinds, "warnings": remarks})
    else:
        print(f"FMI {version} for {' and '.join(kind.replace('_', '-') for kind in kinds)} in {file}")
    return 0


def _export_rigid(
    model: str, file: str, written_by: Callable[..., RigidExport], links: int, choices: ModelOptions, json: bool
) -> int:
    with _command_errors():
        done = written_by(derive(load_model(model, choices)), file, links=links)
    if json:
        print_json({"model": model, "status": "ok", "file": file, "rods": _rod_error(done), "remarks": done.remarks})
        return 0
    print(f"{len(done.equations.rates)} degrees of freedom in {file}")
    if done.rods is not None:
        print(done.rods)
    for remark in done.remarks:
        print(f"* {remark}")
    return 0


def _rod_error(done: RigidExport) -> dict[str, Any] | None:
    rods = done.rods
    if rods is None:
        return None
    return {
        "links": rods.links,
        "about": rods.about,
        "frequencies": rods.frequencies.tolist(),
        "frequencies_with_links": rods.with_links.tolist(),
        "frequency_error": rods.frequency_error,
        "distance_at_rest": rods.distance,
    }


def _designed(eqs: Equations, name: str | None) -> StateFeedback | None:
    """Design a controller of the model, if one is named."""
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


def _export_gltf(model: str, file: str, choices: ModelOptions, json: bool) -> int:
    if not file.endswith(".glb"):
        raise CommandError(f"cannot determine the format of {file!r}", "end it in .glb")
    subject = open_subject(model, choices)
    eqs, run = subject.equations, subject.run
    clip: Clip = answering(lambda: start_clip(eqs) if run is None else run_clip(eqs, run))
    drawing(lambda: export_gltf(make_stage(clip.scenes), clip.times, file), file)
    if json:
        print_json({"model": model, "status": "ok", "file": file, "frames": len(clip.times)})
    else:
        print(f"{len(clip.times)} frame{'s' if len(clip.times) > 1 else ''} in {file}")
    return 0
