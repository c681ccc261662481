"""The command line: each command is a function in one of the modules listed here, and calls the package."""

import errno
import gc
import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from keyword import iskeyword
from typing import IO, Any

import typer
from typer.completion import completion_init
from typer.core import TyperGroup

from pliant._version import __version__
from pliant.cli.common import (
    FAULT,
    INTERNAL,
    INTERRUPTED,
    TIMED_OUT,
    CommandError,
    Failure,
    Interrupted,
    TimedOut,
    discard_output,
    fill_values,
    report,
    say,
    with_choices,
    with_timeout,
)
from pliant.language import provided
from pliant.language.faults import SpecError
from pliant.language.limits import VARIABLE, limits
from pliant.language.message_text import own_word

ANALYSIS = "analysis"
"""Module with the commands of analyses."""
OWN = {"path": ("path", provided.summary("path"))}
"""Commands of analyses that have a function of their own."""
COMMANDS = {
    "new": ("models", "Write a commented model file to start from."),
    "check": ("models", "Check a model and list all errors in it."),
    "show": ("models", "Show a robot as tables."),
    "models": ("models", "List the bundled robots."),
    "schema": ("models", "Print the JSON Schema of the language."),
    "import": ("models", "Convert a URDF or MJCF file to a model file."),
    "mesh": ("models", "Read a mesh file and summarize it: nodes, edges, size, merged nodes."),
    "equations": (ANALYSIS, "Print the equations of motion: in full for small robots, by element for others."),
    **{name: OWN.get(name) or (ANALYSIS, provided.summary(name)) for name in provided.analyses()},
    "hold": (
        "holding",
        "Find the equilibrium with given values of coordinates or positions, and the inputs that hold it.",
    ),
    "run": (ANALYSIS, "Run the analyses that the model lists, in order."),
    "sweep": (
        "sweep",
        "Run an analysis for many cases, on all cores, saving each finished one; or show the results of a sweep.",
    ),
    "validate": ("validate", "Compute cases with known answers and report the error of each."),
    "export": ("export", "Export a robot as source code, as a model of other programs, or its motion as a scene."),
    "picture": ("pictures", "Draw a robot: planar robots face-on, others from above."),
    "view": ("pictures", "Show a robot or a result on a live page, on this machine only."),
    "film": ("pictures", "Make a film of a saved result, without a display."),
    "cite": ("cite", "Print how to cite Pliant, as BibTeX or in APA style."),
}
"""Commands in the order of the help: the module of this folder that defines the function of that name, and a summary."""


UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of the device that the output goes to."""
UNLOADED = ("failed to map segment", "cannot allocate memory", "Cannot allocate memory")
"""What the loader of libraries says where memory is not enough."""
WITHOUT_END = ("models", "schema", "view")
"""Commands without a time limit: they compute nothing, or run until they are interrupted."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    # imports create many objects and no garbage; by default a collection would run every 700 of them
    gc.set_threshold(100_000)
    if "_PLIANT_COMPLETE" in os.environ:  # a shell requests completions
        completion_init()
    given = sys.argv[1:] if arguments is None else arguments
    prepare_streams()
    limit_memory()
    code = run(given or ["--help"])
    gc.freeze()  # skip the collection of all objects when the process ends
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code: 0 for success, others in `common.py`. Errors are reported without a traceback,
    unless PLIANT_DEBUG is set."""
    warnings.showwarning = _show_warning
    if empty := empty_argument(arguments):
        report(empty, arguments)
        return FAULT
    usage_error: Any = typer.BadParameter.__mro__[2]  # base class of all usage errors, which typer does not export
    try:
        code = application()(args=list(arguments), standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # typer converts Ctrl-C to this exit code
            report(Failure("interrupted"), arguments)
        return code if isinstance(code, int) else 0
    except typer.Exit as stop:
        return int(stop.exit_code)
    except Interrupted:
        return INTERRUPTED
    except TimedOut as late:
        if not late.answered:
            report(Failure(str(late), "allow more with --timeout, or simplify the model"), arguments)
        return TIMED_OUT
    except usage_error as error:
        failure = usage_failure(error, arguments)
    except SpecError as error:
        failure = Failure("", faults=error.faults, model=error.model)
    except CommandError as error:
        if os.environ.get("PLIANT_DEBUG") and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        failure = Failure(str(error), error.hint)
    except MemoryError as error:
        failure = _without_memory(str(error))
    except (KeyboardInterrupt, typer.Abort):
        report(Failure("interrupted"), arguments)
        return INTERRUPTED
    except OSError as error:
        return _unwritten(error, arguments)
    except Exception as error:
        return _internal(error, arguments)
    report(failure, arguments)
    return FAULT


def _unwritten(error: OSError, arguments: Sequence[str]) -> int:
    """The exit code if the output cannot be written."""
    if isinstance(error, BrokenPipeError):  # of the last part of the output
        discard_output()
        return 0
    if error.filename is not None or error.errno not in UNWRITTEN:
        return _internal(error, arguments)
    discard_output()
    report(Failure(f"cannot write the output: {error.strerror}", "write it elsewhere, or free some space"), arguments)
    return FAULT


def _without_memory(text: str = "") -> Failure:
    return Failure(text or "there is not enough memory", f"use a smaller model; {memory_words()}")


def _lacks_memory(error: Exception) -> bool:
    """Whether a file could not be read, or a library not be loaded, for lack of memory."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, ImportError) and any(words in str(error) for words in UNLOADED)


def _internal(error: Exception, arguments: Sequence[str]) -> int:
    if _lacks_memory(error):
        report(_without_memory(), arguments)
        return FAULT
    if os.environ.get("PLIANT_DEBUG"):
        raise error
    text = f"internal error: {type(error).__name__}: {error}"
    report(Failure(text, "this is a bug in Pliant; PLIANT_DEBUG=1 shows the traceback"), arguments)
    return INTERNAL


def _show_warning(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
    """Print a warning without its source location; deprecation warnings, which are for developers, are not shown."""
    if not issubclass(category, DeprecationWarning):
        say(f"pliant: {message}")


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    """End with success if the reader closes the pipe of the output, as `head` does; typer alone would end with the exit code 1."""
    try:
        yield
    except BrokenPipeError:
        discard_output()
        raise typer.Exit from None


class Commands(TyperGroup):
    """Commands listed by name and summary; the module of a command is imported when it is called.

    These imports take a second or two, which `pliant --help`, `--version` and a mistyped command do not need.
    """

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments; this also prints the help."""
        with _reader_may_leave():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was called."""
        with _reader_may_leave():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was called, with its options, in place of its entry in the list."""
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None, "an unknown command is refused above"
        called, words = command(name), fill_values(function_of(name), rest)
        check_values(called, words)
        return name, called, words


def function_of(name: str) -> Any:
    """The function of a command, with a trailing underscore if the name is a Python keyword. Imports its module."""
    module = import_module(f"pliant.cli.{COMMANDS[name][0]}")
    if name in provided.analyses() and name not in OWN:
        return module.command_of(name)
    return getattr(module, f"{name}_" if iskeyword(name) else name)


def command(name: str) -> Any:
    """A command with its options."""
    one = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    function = function_of(name)
    complete = getattr(function, "complete", None)  # set by `with_options`
    completed = with_choices(function if complete is None else complete(function))
    one.command(name)(completed if name in WITHOUT_END else with_timeout(completed))
    return typer.main.get_command(one)


def application() -> Any:
    """The application with all commands."""
    app = typer.Typer(
        cls=Commands, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
        help="Equations of motion for hybrid rigid-continuum robots, from one page of text.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )  # fmt: skip

    @app.callback(invoke_without_command=True)
    def start(
        version: bool = typer.Option(False, "--version", help="Show the version and exit.", is_eager=True),
    ) -> None:
        if version:
            print(f"pliant {__version__}")
            raise typer.Exit

    for name, (_, summary) in COMMANDS.items():
        app.command(name, help=summary)(_entry)
    return app


def _entry() -> None:
    """Placeholder for a command in the list of commands."""


class _Forgiving(io.FileIO):
    """A file that drops what cannot be written: a lost remark must not cost the results of a computation."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def prepare_streams() -> None:
    """Replace closed streams, let stderr never fail, and escape characters that the encoding of stdout lacks.

    Without this, `print(..., file=sys.stderr)` writes to stdout if stderr is closed, into the JSON object.
    """
    if sys.stdout is None:
        sys.stdout = _nowhere()
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    own = sys.__stderr__
    if sys.stderr is None:
        sys.stderr = _nowhere()
    elif own is not None and sys.stderr is own:  # not one that a caller in Python put there
        raw = _Forgiving(own.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(raw), own.encoding, "backslashreplace", line_buffering=True, write_through=True
        )


def _nowhere() -> IO[str]:
    return open(os.devnull, "w", encoding="utf-8")


if sys.platform != "win32":
    import resource


def limit_memory() -> None:
    """Limit the address space of this process and its children, if a limit is set and the system supports it."""
    try:
        most = limits().memory
    except SpecError:
        return  # the command reports the error
    if most is None:
        return
    if sys.platform == "win32":
        print("pliant: this system has no limit on the memory of a process", file=sys.stderr)
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (min(int(most), hard) if hard >= 0 else int(most), hard))


def memory_words() -> str:
    """The hint for errors of insufficient memory."""
    most = limits().memory
    return "close other programs" if most is None else f"{VARIABLE} allows {most / 1e6:g} MB"


REASONS = (
    (r"valid (?:number|float)", "is not a number"),
    (r"valid integer", "is not an integer"),
    (r"greater than or equal to (\S+)", "must be at least {0}"),
    (r"less than or equal to (\S+)", "must be at most {0}"),
    (r"greater than (\S+)", "must be above {0}"),
    (r"less than (\S+)", "must be below {0}"),
    (r"the range ([^<\s]+)<=x<=(\S+?)\.?$", "must be between {0} and {1}"),
    (r"the range x>=(\S+?)\.?$", "must be at least {0}"),
    (r"the range x<=(\S+?)\.?$", "must be at most {0}"),
    (r"the range x>(\S+?)\.?$", "must be above {0}"),
    (r"the range x<(\S+?)\.?$", "must be below {0}"),
)
"""Patterns of the messages of the option parser in its various versions, and their replacements."""


def empty_argument(arguments: Sequence[str]) -> Failure | None:
    """The failure of the first empty argument or option value, if any; no command accepts these."""
    for before, word in zip(("", *arguments), arguments, strict=False):
        name, equals, value = word.partition("=")
        if equals and not value and name.startswith("--"):
            return Failure(f"{name} is empty", "give it a value, or leave it out")
        if not word:
            what = before if before.startswith("-") else "an argument"
            return Failure(f"{what} is empty", "give it a value, or leave it out")
    return None


def check_values(command: Any, arguments: Sequence[str]) -> None:
    """Reject an option without its value if another option follows, which would be read as the value."""
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    known = {name: not option.is_flag for option in options for name in (*option.opts, *option.secondary_opts)}
    known |= {"-h": False, "--help": False}
    words = iter(arguments)
    for word in words:
        if word == "--":
            return
        if known.get(word) and (value := next(words, None)) in known:
            raise CommandError(f"{word} needs a value; '{value}' is an option", f"write {word} VALUE {value}")


def usage_failure(error: Any, arguments: Sequence[str]) -> Failure:
    """The failure of an error of the option parser, with the value, which the parser's message omits."""
    command = next((word for word in arguments if not word.startswith("-")), "")
    known = getattr(getattr(error, "ctx", None), "command", None)
    help_hint = (
        f"see pliant {command} --help" if command and known is not None and error.ctx.info_name == command else ""
    )
    name = str(getattr(error, "option_name", "")).lstrip("-").replace("-", "_")
    if name and (own := own_word(name, [parameter.name or "" for parameter in getattr(known, "params", [])])):
        return Failure(f"no such option: {error.option_name}", f"write --{own.replace('_', '-')}")
    hint = help_hint or "see pliant --help"
    options = getattr(getattr(error, "param", None), "opts", ())
    given = _given(options, arguments)
    for pattern, words in REASONS:
        found = re.search(pattern, getattr(error, "message", "") or "")
        if found and given is not None:
            option, value = given
            reason = words.format(
                *(limit.rstrip("0").rstrip(".") if "." in limit else limit for limit in found.groups())
            )
            message = f"{option} {value}: {value!r} {reason}" if "{" not in words else f"{option} {reason}, not {value}"
            return Failure(message, hint)
    return Failure(error.format_message(), hint)


def _given(options: Sequence[str], arguments: Sequence[str]) -> tuple[str, str] | None:
    """The option as written, and its value, if the arguments contain it."""
    for k, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in options:
            if equals:
                return name, value
            if k + 1 < len(arguments):
                return name, arguments[k + 1]
    return None
