"""The command line: thin commands around the package, each of them in one of the modules listed here."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

COMMAND_MODULES = (
    "pliant.cli.models",
    "pliant.cli.mesh",
    "pliant.cli.analyses",
    "pliant.cli.path",
    "pliant.cli.recordings",
    "pliant.cli.export",
    "pliant.cli.picture",
    "pliant.cli.view",
    "pliant.cli.film",
)
"""Modules with commands, in the order of the help. Each has `register(app)` and imports heavy things late."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    sys.exit(run(given or ["--help"]))


def run(arguments: Sequence[str]) -> int:
    """Run a command: 0 if all went well, 2 if the user has to change something; never a traceback."""
    import typer

    from pliant.cli.common import FAULT, INTERNAL, INTERRUPTED, CommandError, Failure, Interrupted, report
    from pliant.cli.usage import empty_argument, usage_failure
    from pliant.language.faults import SpecError

    warnings.showwarning = _show_warning
    if empty := empty_argument(arguments):
        report(empty, arguments)
        return FAULT
    usage_error: Any = typer.BadParameter.__mro__[2]  # the base of all complaints about how a command was called
    try:
        code = application()(args=list(arguments), standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # what typer makes of Ctrl-C
            report(Failure("interrupted"), arguments)
        return code if isinstance(code, int) else 0
    except typer.Exit as stop:
        return int(stop.exit_code)
    except Interrupted:
        return INTERRUPTED
    except usage_error as error:
        failure = usage_failure(error, arguments)
    except SpecError as error:
        failure = Failure("", faults=error.faults, model=error.model)
    except CommandError as error:
        failure = Failure(str(error), error.hint)
    except (KeyboardInterrupt, typer.Abort):
        report(Failure("interrupted"), arguments)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone, which is its right; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("PLIANT_DEBUG"):
            raise
        text = f"internal error: {type(error).__name__}: {error}"
        report(Failure(text, "this is a fault of pliant; PLIANT_DEBUG=1 shows where"), arguments)
        return INTERNAL
    report(failure, arguments)
    return FAULT


def _show_warning(message: Any, *place: Any, **more: Any) -> None:
    """A remark as a person wants to read it: without the place in the source that it comes from."""
    print(f"pliant: {message}", file=sys.stderr)


def application() -> Any:
    """The application with all commands."""
    import typer

    from pliant._version import __version__

    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="Equations of motion for hybrid rigid-continuum robots, from one page of text.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def start(
        version: bool = typer.Option(False, "--version", help="Show the version and stop.", is_eager=True),
    ) -> None:
        if version:
            print(f"pliant {__version__}")
            raise typer.Exit

    for module in COMMAND_MODULES:
        import_module(module).register(app)
    return app
