"""Messages to users: those of other libraries, and failures without one, must not reach them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Iterator

import numpy as np

from pliant.cli import run as run_command

FOREIGN = re.compile(
    r"Traceback|internal error|could not be broadcast|has no attribute|NoneType|not subscriptable|unsupported operand"
    r"|invalid literal|could not convert|ufunc|<class '|Input should|infs or NaNs|out of bounds|object at 0x|Errno"
    r"|not enough values|too many values|SystemError|casadi|\.cpp|numpy\.|np\.float|takes \d+ positional"
    r"|zip\(\) arg|cannot reshape|unexpected array|unexpected keyword|the report (lacks|was not)"
)
"""Words of other libraries, which must not occur in messages to users."""


class BadMessage(AssertionError):
    """An error without a message, or with that of another library."""


@contextlib.contextmanager
def refusals(*expected: type[Exception]) -> Iterator[None]:
    """Allow exceptions of these types, with understandable messages."""
    try:
        yield
    except expected as error:
        check_words(str(error))


def check_words(text: str) -> None:
    """Raise BadMessage for words that users should not see."""
    if not text.strip():
        raise BadMessage("an error without a message")
    if found := FOREIGN.search(text):
        raise BadMessage(f"a message with {found.group()!r}: {text[:500]}")


def run_words(arguments: list[str], environment: dict[str, str]) -> str:
    """A command ends with 0, or with 2 and a message with a suggestion; requested JSON is JSON. Returns what it has printed."""
    out, err = io.StringIO(), io.StringIO()
    kept = {name: os.environ.get(name) for name in ("PLIANT_DEBUG", *environment)}
    os.environ.update({"PLIANT_DEBUG": "1", **environment})
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            np.errstate(divide="warn", over="warn", invalid="warn"),
        ):
            code = run_command(arguments)
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
    said = err.getvalue()
    assert code in (0, 2, 124), f"exit code {code}: {said}"
    if found := FOREIGN.search(said):
        raise BadMessage(f"a message with {found.group()!r}: {said[:500]}")
    if code == 2:
        assert said.strip() or out.getvalue().strip(), "a failure without a message"
    if "--json" in arguments and out.getvalue().strip() and not {"--help", "-h"} & set(arguments):
        json.loads(out.getvalue())
    return out.getvalue()
