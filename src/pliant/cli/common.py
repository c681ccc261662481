"""Shared by all commands: options, and output as text or JSON. It is imported for every call, `--help` included, so it imports
little.

With `--json` a command prints exactly one JSON object on stdout, also when it fails; everything else goes to stderr.
Faults are raised as SpecError or CommandError and printed in one place.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from shutil import get_terminal_size
from typing import IO, TYPE_CHECKING, Annotated, Any, Self, TypeAlias, get_type_hints

import typer

from pliant.language.faults import Fault
from pliant.language.files import files_to_write, is_same_file
from pliant.language.limits import DeadlineExceeded, alarm_after, limits, time_limit
from pliant.language.message_text import printable

if TYPE_CHECKING:
    from rich.console import Console


Model: TypeAlias = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file, or the name of a bundled robot; MODEL@VARIANT.")
]
Set: TypeAlias = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help='Value of a parameter, such as "length=30 cm".')
]
Variant: TypeAlias = Annotated[str | None, typer.Option("--variant", metavar="NAME", help="Variant of the model.")]
Rod: TypeAlias = Annotated[
    list[str] | None, typer.Option("--rod", metavar="NAME=KIND:N", help="Model of a rod, such as arm=cosserat:10.")
]
Folder: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--folder", metavar="DIR", help="Additional folder that the model may read files from."),
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--timeout", metavar="SECONDS", help="Stop after this time and keep the results so far; exit code 124."
    ),
]
Inputs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="NAME=VALUE|FILE",
        help='Value of an input ("p1=20 kPa", "p1==20 kPa*sin(t)"), or a recording of inputs (run.csv, p1=run.csv).',
    ),
]
View: TypeAlias = Annotated[
    str | None,
    typer.Option("--view", help="front, back, left, right, top, bottom, corner, or a direction such as 1,-1,0.5."),
]
Size: TypeAlias = Annotated[str | None, typer.Option("--size", metavar="WIDTHxHEIGHT", help="Size in pixels: 800x600.")]
Labels: TypeAlias = Annotated[bool, typer.Option("--labels/--no-labels", help="Names of bodies and rods.")]
Frames: TypeAlias = Annotated[bool, typer.Option("--frames/--no-frames", help="Axes of named frames and the world.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@dataclass(frozen=True)
class ModelOptions:
    """Options that select a model. A command with a parameter `choices` has an option for each (`with_choices`)."""

    set: Set = None
    rod: Rod = None
    variant: Variant = None
    folder: Folder = None


def with_choices(command: Any) -> Any:
    """A command with options in place of its parameter `choices`, if it has one."""
    if "choices" not in inspect.signature(command).parameters:
        return command
    hints = get_type_hints(ModelOptions, include_extras=True).items()
    options = [inspect.Parameter(x, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=y) for x, y in hints]
    return in_place_of("choices", options, lambda given: ModelOptions(**given), command)


def in_place_of(
    name: str, options: Sequence[inspect.Parameter], read: Callable[[dict[str, Any]], Any], command: Any
) -> Any:
    """A command with options in place of its parameter `name`; `read` computes the value of that parameter from them."""
    hints = get_type_hints(command, include_extras=True)
    every = [
        x.replace(annotation=hints[x.name], kind=x.KEYWORD_ONLY) for x in inspect.signature(command).parameters.values()
    ]
    place = [x.name for x in every].index(name)
    every[place : place + 1] = options

    @functools.wraps(command)
    def call(**given: Any) -> Any:
        value = read({option.name: given.pop(option.name) for option in options})
        return command(**given, **{name: value})

    call.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    call.__annotations__ = {x.name: x.annotation for x in every}
    return call


NO_VALUE = ""
"""Value of an option that was given without its optional value."""


def without_value(*flags: str) -> Callable[[Any], Any]:
    """Decorator of a command: the options `flags` may be given without a value, and are then NO_VALUE."""

    def decorate(command: Any) -> Any:
        command.without_value = flags
        return command

    return decorate


def fill_values(command: Any, arguments: Sequence[str]) -> list[str]:
    """The arguments of a command with NO_VALUE after options without a value."""
    flags, filled = getattr(command, "without_value", ()), list[str]()
    for word, after in zip_longest(arguments, arguments[1:]):
        filled.append(word)
        if word in flags and (after is None or after.startswith("-")):
            filled.append(NO_VALUE)
    return filled


def with_timeout(command: Any) -> Any:
    """A command with a time limit, set by `--timeout` or `PLIANT_LIMITS`."""
    every = [
        x.replace(annotation=y)
        for x, y in zip(inspect.signature(command).parameters.values(), _hints(command), strict=True)
    ]
    option = inspect.Parameter("timeout", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Timeout)

    @functools.wraps(command)
    def call(timeout: float | None = None, **given: Any) -> Any:
        if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
            raise CommandError(f"--timeout must be a number of seconds above zero, not {timeout:g}")
        outputs = (*WRITTEN, *getattr(command, "written", ()))
        check_not_input(given, outputs)
        seconds = limits().time if timeout is None else timeout
        written = [word for name in outputs for word in _words(given.get(name))]
        with time_limit(seconds) as deadline, alarm_after(deadline), files_to_write(written):
            try:
                code = command(**given)
            except Interrupted:
                if deadline is not None and deadline.is_over:
                    raise TimedOut(str(deadline), answered=True) from None
                raise
            except DeadlineExceeded as reason:
                raise TimedOut(str(reason)) from None
            except (ValueError, CommandError) as reason:
                if deadline is not None and deadline.noticed:  # the error is a consequence of the time limit
                    raise TimedOut(str(deadline)) from None
                if hasattr(reason, "message") and hasattr(reason, "hint"):  # an ArgumentError; its module imports NumPy
                    raise CommandError(reason.message, reason.hint) from None
                raise
            if deadline is not None and deadline.noticed:
                raise TimedOut(str(deadline), answered=True)
            return code

    call.__signature__ = inspect.Signature([*(x.replace(kind=x.KEYWORD_ONLY) for x in every), option])  # type: ignore[attr-defined]
    call.__annotations__ = {x.name: x.annotation for x in (*every, option)}
    return call


def _hints(command: Any) -> list[Any]:
    hints = get_type_hints(command, include_extras=True)
    return [hints[name] for name in inspect.signature(command).parameters]


READ = ("model", "file", "result", "start", "against", "rests", "inputs")
WRITTEN = ("out", "report", "plot", "mesh")
"""Parameters of commands whose values may be names of files that they read, and of files that they write; a command may have
more of these (`written`)."""


def check_not_input(given: Mapping[str, Any], written: Sequence[str]) -> None:
    """Reject a file to write that the command also reads, before it is replaced."""
    words = [word for name in READ for word in _words(given.get(name))]
    # a model is MODEL@VARIANT, an input is NAME=FILE
    read = {part for word in words for part in (word, word.rpartition("@")[0], word.partition("=")[2]) if part}
    for name in written:
        for file in _words(given.get(name)):
            if any(is_same_file(file, other) for other in read):
                raise CommandError(
                    f"{file} is read by the same command and would be lost", "choose another file to write"
                )


def _words(value: Any) -> list[str]:
    return (
        [value]
        if isinstance(value, str)
        else [x for x in value if isinstance(x, str)]
        if isinstance(value, list)
        else []
    )


INTERNAL, FAULT, TIMED_OUT, INTERRUPTED = 1, 2, 124, 130
"""Exit codes: an internal error, an error that the user has to fix, a timeout (as in timeout(1)), Ctrl-C."""


def read_size(text: str | None) -> tuple[int, int] | None:
    """`800x600` as two numbers."""
    if text is None:
        return None
    width, x, height = text.lower().partition("x")
    if not x or not width.strip().isdecimal() or not height.strip().isdecimal():
        raise CommandError(f"cannot read --size {text!r}", "write --size 800x600")
    return int(width), int(height)


class CommandError(Exception):
    """An error that the user has to fix; `hint` suggests how."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Interrupted(Exception):
    """Ctrl-C ended a command after it printed its results."""


class TimedOut(Exception):
    """A command exceeded its time limit. answered: whether it has printed its results."""

    def __init__(self, message: str, *, answered: bool = False) -> None:
        super().__init__(message)
        self.answered = answered


@dataclass(frozen=True)
class Failure:
    """Why a command failed: a message, or the faults of a model."""

    message: str
    hint: str = ""
    faults: tuple[Fault, ...] = ()
    model: str = ""


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout, in a single write: an object that is interrupted would be followed by that of the error."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("_", "-")
    sys.stdout.write(json_text(data, ascii_only=encoding not in ("utf-8", "utf8")))


def json_text(data: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """Data as JSON; infinities and NaN, which JSON cannot represent, become null.

    Control characters, and bytes of file names that are not UTF-8, are escaped: the text can be encoded, and shown on a terminal.
    """
    text = json.dumps(_plain(data), indent=2, ensure_ascii=ascii_only, allow_nan=False)
    return _UNUSUAL.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text) + "\n"


_UNUSUAL = re.compile(r"[^\n -~]")
"""Characters that may have to be escaped."""


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(child) for child in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def console(*, stderr: bool = False) -> Console:
    """A console: colours on a terminal, plain text in a file."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def discard_output() -> None:
    """Discard what is printed on stdout from now on, and what is left of it: writing it would fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(message: str) -> None:
    """Print a remark to stderr, separate from the output of the command. It may quote a file, so control characters are escaped."""
    print("\n".join(map(printable, message.split("\n"))), file=sys.stderr)


def report(failure: Failure, arguments: Sequence[str]) -> None:
    """Report why a command failed: on stderr, and as the JSON object if requested."""
    words = [word for word in arguments[1:] if not word.startswith("-")]
    model = words[0] if words else None
    if "--json" in arguments:
        status = "faults" if failure.faults else "error"
        message = failure.message or str(failure.faults[0].message)
        faults = [fault.as_dict() for fault in failure.faults]
        answer = {"model": model, "status": status, "message": message, "hint": failure.hint, "faults": faults}
        try:
            print_json(answer)
            sys.stdout.flush()
        except OSError:  # reported on stderr all the same
            discard_output()
    if failure.faults:
        print_faults(failure.faults, failure.model or model or "the model")
    else:
        hint = f" ({failure.hint})" if failure.hint else ""
        say(f"pliant: {failure.message}{hint}")


def print_faults(faults: Sequence[Fault], model: str) -> None:
    """Print the faults of a model on stderr."""
    from rich.text import Text

    out = console(stderr=True)
    number = len(faults)
    out.print(Text(f"{printable(model)} has {number} fault{'s' if number != 1 else ''}:"), soft_wrap=True)
    for fault in faults:
        place = f"{fault.file}:{fault.line}" if fault.line is not None else fault.file or ""
        where = Text("  ").append(printable(place), style="bold")
        if fault.path:
            where.append("  " if place else "").append(printable(fault.path), style="cyan")
        if place or fault.path:
            out.print(where, soft_wrap=True)
        out.print(Text(f"      {printable(fault.message)}"), soft_wrap=True)
        if fault.hint:
            out.print(Text(f"      -> {printable(fault.hint)}", style="green"), soft_wrap=True)


# Times [s]: on a terminal the line is redrawn; elsewhere (a file, a pipe) a new line is printed occasionally.
TERMINAL_AFTER, TERMINAL_EVERY = 0.5, 0.2
FILE_EVERY = 10.0
# The remaining time is estimated from the progress in about this time [s].
RECENT = 5.0


class Line:
    """A line that is redrawn on a terminal; elsewhere, a new line is printed occasionally. Leaving `with` clears the line, so
    that later output does not follow it on the same line."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.terminal = self.stream.isatty()
        self.begin = time.perf_counter()
        self.last = self.begin
        self.width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Erase the line."""
        if self.width:
            self._write("\r" + " " * self.width + "\r")
            self.width = 0

    def is_due(self) -> bool:
        """Whether the line should be shown now; if so, the time is noted."""
        now = time.perf_counter()
        after, every = (TERMINAL_AFTER, TERMINAL_EVERY) if self.terminal else (FILE_EVERY, FILE_EVERY)
        if now - self.begin < after or now - self.last < every:
            return False
        self.last = now
        return True

    def show(self, line: str) -> None:
        """Show a text in place of the last one, or on a new line if the stream is not a terminal."""
        if not self.terminal:
            self._write(f"{line}\n")
            return
        line = line[: get_terminal_size().columns - 1]
        self._write("\r" + line.ljust(self.width))
        self.width = max(self.width, len(line))

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


class ProgressLine(Line):
    """Progress of an analysis, as its class reports it. Where the share that is done is known, the line has a bar and the time that
    is left; otherwise it counts reports, and one line remains of each stage."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        super().__init__(stream)
        self.stage, self.count, self.words = "", 0, ""
        self.marks: list[tuple[float, float]] = []

    def __call__(self, stage: str, words: str, share: float | None = None) -> None:
        """Show a report. words: what it says; share: of the stage that is done."""
        if share is not None:
            self._measured(stage, words, share)
            return
        if stage != self.stage:
            self._end()
        self.stage, self.count, self.words = stage, self.count + 1, words
        if self.is_due():
            self.show(self._counted())

    def __exit__(self, *reason: object) -> None:
        self._end()

    def _end(self) -> None:
        self.clear()
        if self.count:
            self._write(f"{self._counted()}\n")
        self.count = 0

    def _counted(self) -> str:
        return f"{self.stage}: {self.count} evaluation{'s' if self.count > 1 else ''}, {self.words}"

    def _measured(self, stage: str, words: str, share: float) -> None:
        now = time.perf_counter()
        if not self.marks or now - self.marks[-1][0] > RECENT / 5:
            recent = [mark for mark in self.marks if now - mark[0] < RECENT]
            self.marks = [*(recent or self.marks[-1:]), (now, share)]
        if not self.is_due():
            return
        words = f"{words}, {self._left(now, share)}"
        bar = f"[{'#' * int(30 * min(1.0, max(0.0, share))):<30}]"
        self.show(f"{bar} {words}" if self.terminal else f"pliant: {stage}: {words}")

    def _left(self, now: float, share: float) -> str:
        if share >= 1:
            return "finished"
        since, share_since = self.marks[0]
        if len(self.marks) == 1:
            return "time left unknown"
        if not share > share_since:
            return "hardly any progress"
        return f"{duration_text((1 - share) * (now - since) / (share - share_since))} left"


def duration_text(seconds: float) -> str:
    """A duration in readable form."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
