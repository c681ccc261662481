"""Full YAML, read by ruamel.yaml: texts beyond the subset of `plain_yaml.py`, and texts with errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pliant.language.faults import Fault, SpecError
from pliant.language.message_text import describe

if TYPE_CHECKING:
    from pliant.language.tree import Builder


def read_full(text: str, file: str, builder: Builder) -> None:
    """Pass a text to a builder, event by event; raises SpecError with the location of the error."""
    from ruamel.yaml import YAML  # most texts do not need it, and importing it takes longer than reading them
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    try:
        events = YAML(typ="safe", pure=True).parse(text)
        while (event := _next(events)) is not None:
            _take(event, builder)
    except ReaderError as error:
        code = error.character if isinstance(error.character, int) else ord(error.character)
        before = text.count("\n", 0, error.position)
        message = f"not valid YAML: the character U+{code:04X} is not allowed"
        fault = Fault(message, "remove it", file=file, line=before + 1)
        raise SpecError([fault]) from None
    except MarkedYAMLError as error:
        problem = str(error.problem or error.context)
        # A quote or bracket that is never closed is reported where it begins, not at the end of the file.
        unclosed = "end of stream" in problem or "<stream end>" in problem
        mark = (error.context_mark if unclosed else error.problem_mark) or error.problem_mark or error.context_mark
        message = f"not valid YAML: {problem}"
        line = mark.line + 1 if mark else None
        hint = "check indentation, colons and brackets, and put text with : # { [ or * in quotes"
        if "\\t" in problem:
            hint = "indent with spaces, not tabs"
        raise SpecError([Fault(message, hint, file=file, line=line)]) from None
    except YAMLError as error:
        raise SpecError([Fault(f"not valid YAML: {error}", file=file)]) from None


def _next(events: Iterator[Any]) -> Any:
    """The next event, or None. Versions other than 1.1 and 1.2 and long numbers are not errors of YAML to ruamel.yaml."""
    from ruamel.yaml.error import YAMLError

    try:
        return next(events, None)
    except (AssertionError, ValueError):
        raise YAMLError("a version in a line with %YAML is unknown; remove the line") from None


def _take(event: Any, builder: Builder) -> None:
    kind = type(event).__name__
    line = event.start_mark.line + 1 if event.start_mark else None
    if kind == "DocumentStartEvent" and builder.root is not None:
        raise builder.fail("the file has more than one document", "remove the line `---`", line)
    if kind == "AliasEvent":
        builder.alias(event.anchor, line)
    elif kind == "ScalarEvent":
        _refuse_tag(event, builder, line)
        read = builder.plain_scalar if event.style in (None, "") else builder.scalar
        read(str(event.value), line, event.anchor)
    elif kind in ("MappingStartEvent", "SequenceStartEvent"):
        _refuse_tag(event, builder, line)
        builder.begin({} if kind == "MappingStartEvent" else [], line, event.anchor)
    elif kind in ("MappingEndEvent", "SequenceEndEvent"):
        builder.end()


def _refuse_tag(event: Any, builder: Builder, line: int | None) -> None:
    tag = getattr(event, "tag", None)
    if tag is not None and str(tag) not in ("!", "None"):
        raise builder.fail(f"YAML tags such as {describe(str(tag))} are not allowed", "remove the tag", line)
