"""A reader of the common subset of YAML, many times faster than a reader of full YAML.

The subset consists of block mappings and lists, `[...]` and `{...}` over any number of lines, text on one line with or without
quotes, paragraphs (`>` and `|`), anchors of the values of keys, and comments. Any other content, and any error, raises
`NotPlain`: `full_yaml.py` then reads the entire text, so that all errors are reported by one reader. Both readers give the same
tree, lines included (`tests/language/test_plain_yaml.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pliant.language.faults import Fault, SpecError
from pliant.language.message_text import describe

if TYPE_CHECKING:
    from pliant.language.tree import Builder

_STRANGE = re.compile(r"[^\n\x20-\x7e\xa1-\u1fff\u2010-\u2027\u2030-\ud7ff]|^(?:---|\.\.\.|%)", re.MULTILINE)
"""Tabs, other line breaks, characters that are not printable; document markers and directives."""

_START = r"(?:[^\s,\[\]{}:#&*!|>'\"%@`?-]|-(?![\s,\[\]{}:#?-]))"
"""The beginning of unquoted text."""

_CONTENT = re.compile(r"(?: *(?:#[^\n]*)?\n)*( *)")
"""From the beginning of a line to the next content."""
_REST = re.compile(r"(?: +#[^\n]*| *)\n")
"""What may follow a value on its line."""
_KEY = re.compile(rf"({_START}[^\n:#]{{0,200}}?) *:(?: +|(?=\n))")
_ANCHOR = re.compile(r"&([A-Za-z0-9_]+)(?: +|(?=\n))")
_ALIAS = re.compile(r"\*([A-Za-z0-9_]+)(?=[ \n])")
_PARAGRAPH = re.compile(r"([>|])(-?)\n((?: +[^ \n](?:[^\n]*[^ \n])?\n)+)")
"""Lines of text after `>` or `|`, without empty ones."""
_DASH = re.compile(r"- +(?![ \n#])")
_TEXT = re.compile(rf"{_START}[^\n]*")
_QUOTED = re.compile(r"\"([^\"\\\n]*)\"|'([^'\n]*)'(?!')")
_FLOW_GAP = re.compile(r"(?: *(?:(?<=[ \n])#[^\n]*)?\n)* *")
"""Between the parts of `[...]` and `{...}`."""
_FLOW_KEY = re.compile(rf"({_START}[^\n,\[\]{{}}:#?]{{0,200}}?) *:(?=[ \n])")
_FLOW_TEXT = re.compile(rf"{_START}[^\n,\[\]{{}}:#?]*")


class NotPlain(Exception):
    """The text is not in the subset, or has an error."""


def read_plain(text: str, builder: Builder) -> None:
    """Pass a text to a builder, part by part. Raises NotPlain if it is not plain YAML."""
    text = text.replace("\r\n", "\n")
    if _STRANGE.search(text):
        raise NotPlain
    _Reader(text, builder).document()


class _Reader:
    """Reader of a text by recursive descent."""

    def __init__(self, text: str, builder: Builder) -> None:
        self.text, self.builder = text + "\n", builder
        self.given = len(text)
        self.at = 0
        self.line = 1
        self.column = 0
        """Column of the next content, if it begins a line; -1 at the end of the text."""
        self.anchor: tuple[int, str] | None = None
        """Line and name of the anchor of the next value, if it has one."""

    def document(self) -> None:
        self.next_content()
        if self.column < 0:
            raise NotPlain
        self.block(self.column)
        if self.column >= 0:
            raise NotPlain

    def next_content(self) -> None:
        """Advance from the beginning of a line to the next content."""
        self.skip(_CONTENT)
        self.column = self.at - self.text.rfind("\n", 0, self.at) - 1 if self.at < len(self.text) else -1

    def skip(self, what: re.Pattern[str]) -> None:
        match = what.match(self.text, self.at)
        if match is None:
            raise NotPlain
        self.line += self.text.count("\n", self.at, match.end())
        self.at = match.end()

    def place(self) -> tuple[int, str | None]:
        """Line and anchor of a value that begins here."""
        anchored, self.anchor = self.anchor or (self.line, None), None
        return anchored

    def block(self, column: int) -> None:
        """Read a mapping or list that begins here, in this column."""
        if self.is_dash():
            self.sequence(column)
        else:
            self.mapping(column)

    def is_dash(self) -> bool:
        return self.text.startswith("- ", self.at)

    def mapping(self, column: int) -> None:
        self.builder.begin({}, *self.place())
        while self.column >= 0:
            key = _KEY.match(self.text, self.at)
            if key is None:
                raise NotPlain
            self.builder.plain_scalar(key[1], self.line)
            self.at = key.end()
            self.value(column, of_key=True)
            if self.column < column:
                break
            if self.column > column:
                raise NotPlain
        self.builder.end()

    def sequence(self, column: int) -> None:
        self.builder.begin([], *self.place())
        while self.is_dash():
            start = self.at
            self.skip(_DASH)
            if self.is_dash() or _KEY.match(self.text, self.at):
                self.block(column + self.at - start)
            else:
                self.value(column, of_key=False)
            if self.column > column:
                raise NotPlain
            if self.column < column:
                break
        self.builder.end()

    def value(self, column: int, *, of_key: bool) -> None:
        """Read what follows a key or a dash of a block in this column, up to the next content."""
        anchor = _ANCHOR.match(self.text, self.at) if of_key else None
        if anchor is not None:
            self.at, self.anchor = anchor.end(), (self.line, anchor[1])
        if of_key and self.text[self.at] in "#\n":
            self.value_below(column)
        elif of_key and self.text[self.at] in ">|":
            self.paragraph(column)
        else:
            self.value_on_line(column)

    def value_below(self, column: int) -> None:
        """Read the value of a key with nothing after it on its line."""
        line = self.line
        self.at = self.text.index("\n", self.at) + 1
        self.line += 1
        self.next_content()
        if self.column > column and self.text[self.at] in "[{":
            self.value_on_line(column)
        elif self.column > column:
            self.block(self.column)
        elif self.column == column and self.is_dash():
            self.sequence(column)
        elif self.anchor is None:
            self.builder.plain_scalar("", line)
        else:
            raise NotPlain

    def value_on_line(self, column: int) -> None:
        self.single_value()
        self.skip(_REST)
        self.next_content()
        if self.column > column:
            raise NotPlain  # text over several lines, or an error

    def single_value(self) -> None:
        """Read a list or mapping in brackets, a text, or an alias."""
        if self.text[self.at] in "[{":
            self.flow()
        elif self.anchor is None and (alias := _ALIAS.match(self.text, self.at)):
            self.builder.alias(alias[1], self.line)
            self.at = alias.end()
        elif not self.quoted():
            match = _TEXT.match(self.text, self.at)
            if match is None:
                raise NotPlain
            text = match[0].partition(" #")[0].rstrip(" ")
            if ": " in text or text[-1] == ":":
                raise NotPlain
            self.builder.plain_scalar(text, *self.place())
            self.at += len(text)

    def paragraph(self, column: int) -> None:
        """Read lines of text after `>`, which joins them, or `|`; all are indented equally, and more than their key."""
        match = _PARAGRAPH.match(self.text, self.at)
        if match is None:
            raise NotPlain
        fold, strip, lines = match.groups()
        margin = len(lines) - len(lines.lstrip(" "))
        own = []
        for line in lines.splitlines():
            if len(line) - len(line.lstrip(" ")) < margin:
                break
            own.append(line[margin:])
        if margin <= column or any(line[0] == " " for line in own):
            raise NotPlain
        self.builder.scalar((" " if fold == ">" else "\n").join(own) + ("" if strip else "\n"), *self.place())
        self.at = match.start(3) + sum(map(len, own)) + (margin + 1) * len(own)
        self.line += 1 + len(own)
        unended = self.at > self.given and not strip  # the last line has no newline, so the value has none either
        self.next_content()
        if self.column > column or unended:
            raise NotPlain

    def quoted(self) -> bool:
        match = _QUOTED.match(self.text, self.at)
        if match is None:
            return False
        self.builder.scalar(match[match.lastindex or 0], *self.place())
        self.at = match.end()
        return True

    def flow(self) -> None:
        """Read a list or mapping in brackets."""
        is_mapping = self.text[self.at] == "{"
        self.builder.begin({} if is_mapping else [], *self.place())
        closing = "}" if is_mapping else "]"
        self.at += 1
        self.skip(_FLOW_GAP)
        while self.text[self.at : self.at + 1] != closing:
            if is_mapping:
                self.flow_key()
            self.flow_value()
            self.skip(_FLOW_GAP)
            if self.text.startswith(",", self.at):
                self.at += 1
                self.skip(_FLOW_GAP)
                if self.text.startswith(closing, self.at):
                    raise NotPlain  # a trailing comma
            elif not self.text.startswith(closing, self.at):
                raise NotPlain
        self.at += 1
        self.builder.end()

    def flow_key(self) -> None:
        key = _FLOW_KEY.match(self.text, self.at)
        if key is None:
            raise NotPlain
        self.builder.plain_scalar(key[1], self.line)
        self.at = key.end()
        self.skip(_FLOW_GAP)

    def flow_value(self) -> None:
        if self.text.startswith(("[", "{"), self.at):
            self.flow()
        elif not self.quoted():
            match = _FLOW_TEXT.match(self.text, self.at)
            if match is None:
                raise NotPlain
            self.builder.plain_scalar(match[0].rstrip(" "), self.line)
            self.at = match.end()


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
