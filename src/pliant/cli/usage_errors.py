"""Messages about wrong usage of the command line; they name the option and its value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pliant.cli.common import CommandError, Failure
from pliant.language.message_text import own_word

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
