"""XML written line by line, with elements nested to any depth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

_NOT_XML = re.compile("[^\\t\\n\\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def valid(text: str) -> str:
    """Text with a space in the place of control characters, which XML cannot contain."""
    return _NOT_XML.sub(" ", text)


class XmlText:
    """Lines of a document; elements are opened and closed in turn."""

    def __init__(self) -> None:
        self._lines = ['<?xml version="1.0" encoding="utf-8"?>']
        self._open: list[str] = []

    def comment(self, lines: Iterable[str]) -> None:
        """A comment with any characters."""
        text = [self._safe(line) for line in lines]
        self._line("<!--")
        self._lines += [f"{'  ' * len(self._open)}  {line}" for line in text]
        self._line("-->")

    def open(self, tag: str, attributes: Mapping[str, Any] | None = None) -> None:
        """Begin an element."""
        self._line(f"<{tag}{self._attributes(attributes)}>")
        self._open.append(tag)

    def close(self) -> None:
        """End the current element."""
        tag = self._open.pop()
        self._line(f"</{tag}>")

    def leaf(self, tag: str, attributes: Mapping[str, Any] | None = None) -> None:
        """An element without children."""
        self._line(f"<{tag}{self._attributes(attributes)}/>")

    def text(self) -> str:
        """The document."""
        assert not self._open, "an element is still open"
        return "\n".join([*self._lines, ""])

    def _line(self, text: str) -> None:
        self._lines.append("  " * len(self._open) + text)

    @staticmethod
    def _safe(text: str) -> str:
        """Text that is valid in a comment: no double dashes, no dash at its end, only valid XML characters."""
        kept = "".join(letter if letter.isprintable() else " " for letter in text)
        while "--" in kept:
            kept = kept.replace("--", "- -")
        return kept.rstrip("-")

    @staticmethod
    def _attributes(attributes: Mapping[str, Any] | None) -> str:
        given = {name: value for name, value in (attributes or {}).items() if value is not None}
        return "".join(f" {name}={quoteattr(valid(written(value)))}" for name, value in given.items())


def written(value: Any) -> str:
    """A text unchanged; numbers such that they are read back exactly, several separated by spaces."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else " " for letter in value)
    return " ".join(map(_number, np.atleast_1d(np.asarray(value, dtype=float))))


def _number(value: float) -> str:
    text = repr(float(value) + 0.0)  # no minus in front of zero
    return text.removesuffix(".0")
