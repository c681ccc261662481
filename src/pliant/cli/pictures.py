"""Commands that draw: `picture` (a pose), `film` (a saved result) and `view` (a live page in the browser)."""

import io
import sys
import webbrowser
from contextlib import redirect_stdout
from typing import Annotated, Any

import numpy as np
import typer

from pliant.analysis.base import StateGiven
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.numerics.state import EQUILIBRIUM, INITIAL, assemble, given_state
from pliant.analysis.numerics.status import Status
from pliant.cli.command_output import answering, drawing
from pliant.cli.common import (
    CommandError,
    Frames,
    Inputs,
    Json,
    Labels,
    Line,
    ModelOptions,
    Size,
    View,
    print_json,
    read_size,
    say,
)
from pliant.cli.model_argument import RESULT_ENDING, open_subject, with_inputs
from pliant.cli.options import in_si, with_options
from pliant.engine.equations import Equations
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError
from pliant.language.base import Part
from pliant.language.scalar import Time
from pliant.show.film import Film
from pliant.show.film import film as make_film
from pliant.show.live_page import LivePage, check_host, free_port, start_server, tunnel_advice
from pliant.show.scene import parameters_of_run
from pliant.show.sketch import save, sketch


class PoseOptions(Part):
    """The pose to draw."""

    at: StateGiven = "initial"
    """Pose to draw: `initial`, `equilibrium`, or coordinates by name."""
    time: Time | None = None
    """Time at which inputs are evaluated [s], 0 by default; for a result, the time to draw, its end by default."""


@with_options(PoseOptions)
def picture(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL|RESULT", help="A model file, the name of a bundled robot, or a result (.nc)."),
    ],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="File to write: .png, .svg or .pdf.")],
    options: dict[str, Any],
    view: View = None,
    size: Size = None,
    labels: Labels = True,
    frames: Frames = True,
    *,
    choices: ModelOptions,
    inputs: Inputs = None,
    json: Json = False,
) -> int:
    """Draw a robot: planar robots face-on, others from above."""
    at, time = options.get("at", INITIAL), options.get("time")
    if isinstance(at, str) and at not in (INITIAL, EQUILIBRIUM):
        hint = 'write --at initial, --at equilibrium or coordinates: --at "q1=10 deg"'
        raise CommandError(f"unknown pose '{at}'", hint)
    subject = open_subject(model, choices)
    pixels = read_size(size)
    look: dict[str, Any] = {"view": view, "size": pixels, "labels": labels, "frames": frames}
    if subject.run is not None:
        if inputs or at != INITIAL:
            raise CommandError(f"{model} is a result with poses of its own", "omit --at and --input, and give a --time")
        run, eqs, at = subject.run, subject.equations, "result"
        if not len(run.time):
            raise CommandError(f"{model} contains no saved states", "simulate again with --save-every 0.02")
        pose = answering(lambda: run.final if time is None else run.state_at(time))
        k = int(np.argmin(np.abs(run.time - pose.t)))
        look["inputs"] = {name: float(x[k]) for name, x in run.inputs.items() if name in eqs.inputs}
        look["parameters"] = parameters_of_run(eqs, run)
    else:
        eqs = with_inputs(subject.equations, inputs, begin=time or 0.0)
        pose = in_si(eqs, {"at": at})["at"]
        if at == EQUILIBRIUM:
            pose = answering(lambda: equilibrium(eqs, time=time or 0.0, on_failure="return"))
            if pose.status != Status.CONVERGED:
                raise CommandError(pose.message, "use --at initial to draw the initial pose")
        else:
            pose = answering(lambda: _pose(eqs, pose, time or 0.0))

    def paint() -> None:
        save(sketch(eqs, pose, **look), out)

    drawing(lambda: answering(paint), out)
    if json:
        print_json({"model": model, "status": "ok", "at": at, "out": out})
    else:
        print(f"picture in {out}")
    return 0


def _pose(eqs: Equations, at: Any, time: float) -> State:
    """The initial state, or the state with the given coordinates, at a time [s], with closed loops."""
    state = given_state(eqs, at, time, where="--at")
    closed = assemble(eqs, eqs.binding, state.t, state.q, state.v, state.given)
    return State(closed.q, closed.v, state.t)


def film(
    result: Annotated[str, typer.Argument(metavar="RESULT", help="A saved result (.nc).")],
    out: Annotated[str, typer.Argument(metavar="FILE", help="File to write: .mp4 or .gif.")],
    fps: Annotated[float, typer.Option("--fps", min=1, max=100, help="Frames per second.")] = 25.0,
    speed: Annotated[
        float, typer.Option("--speed", min=1e-3, help="Seconds of motion per second of film; below 1 is slow motion.")
    ] = 1.0,
    view: View = None,
    size: Size = None,
    labels: Labels = True,
    frames: Frames = True,
    json: Json = False,
) -> int:
    """Make a film of a saved result, without a display."""
    if not result.endswith(RESULT_ENDING):
        raise CommandError(
            f"'{result}' is not a result", f"save one: pliant simulate {result} --save-every 0.02 --out run.nc"
        )
    subject = open_subject(result, ModelOptions())
    assert subject.run is not None

    eqs, run = subject.equations, subject.run
    look: dict[str, Any] = {"view": view, "size": read_size(size), "labels": labels, "frames": frames}

    def paint() -> Film:
        with Line() as line:
            told = (lambda done, count: line.show(f"frame {done} of {count}")) if line.terminal and not json else None
            return make_film(eqs, run, out, fps=fps, speed=speed, **look, progress=told)

    try:
        count = drawing(lambda: answering(paint), out).frames
    except ArgumentError as reason:
        raise CommandError(str(reason)) from None
    if json:
        print_json({"model": result, "status": "ok", "out": out, "frames": count, "fps": fps, "speed": speed})
    else:
        print(f"film of {count} frames in {out}")
    return 0


DEFAULT_PORT = 8080


def view(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL|RESULT", help="A model file, the name of a bundled robot, or a result (.nc)."),
    ],
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port of the page; 0 for any free port.")
    ] = DEFAULT_PORT,
    host: Annotated[str, typer.Option("--host", help="Address to serve on: local addresses only.")] = "localhost",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    *,
    choices: ModelOptions,
    inputs: Inputs = None,
    json: Json = False,
) -> int:
    """Show a robot or a result on a live page, on this machine only."""
    try:
        check_host(host)
        chosen = free_port(port)
        import viser  # noqa: F401
    except ArgumentError as reason:
        raise CommandError(str(reason), tunnel_advice(port or DEFAULT_PORT)) from None
    except OSError as reason:
        raise CommandError(
            f"cannot use port {port}: {reason.strerror}", "choose another --port, or 0 for any"
        ) from None
    except ModuleNotFoundError:
        raise CommandError("viser is not installed", "pip install 'pliant[view]'") from None
    subject = open_subject(model, choices)
    if subject.run is not None and inputs:
        raise CommandError(f"{model} is a result with inputs of its own", "omit --input")
    eqs = with_inputs(subject.equations, inputs)
    if subject.run is not None and not len(subject.run.time):
        raise CommandError(
            f"{model} contains no saved states", "save some: pliant simulate MODEL --save-every 0.02 --out FILE"
        )
    with redirect_stdout(io.StringIO()):  # the server prints an address that is not that of the page
        server = start_server(chosen, subject.spec.name or "robot")
        page = LivePage(server.viser, subject.spec, eqs, subject.run)
    url, port = server.door.url, server.door.port
    if json:
        print_json({"model": model, "status": "serving", "url": url, "port": port})
        sys.stdout.flush()
    say(f"{url} shows {subject.spec.name or 'the robot'}; Ctrl-C ends it. From another machine: {tunnel_advice(port)}")
    if browser:
        webbrowser.open(url)
    try:
        page.loop()
    except KeyboardInterrupt:
        say("ended")
    finally:
        page.stop()
        with redirect_stdout(io.StringIO()):
            server.stop()
    return 0
