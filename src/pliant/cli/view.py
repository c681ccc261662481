"""The command `view`: a robot on a live page in the browser."""

from __future__ import annotations

import io
import sys
import webbrowser
from contextlib import redirect_stdout
from typing import Annotated

import typer

from pliant.cli.common import CommandError, Inputs, Json, ModelOptions, print_json, say
from pliant.cli.model_argument import open_subject, with_inputs
from pliant.language.arguments import ArgumentError
from pliant.show.live_page import LivePage, check_host, free_port, start_server, tunnel_advice

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
