"""Readers of robots in other formats, which are XML, selected by the root element.

They are in a layer above this one: `pliant/__init__.py` registers its functions by name, and they are imported when such a file
is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_readers: dict[str, str] = {}


def read_by(functions: Mapping[str, str]) -> None:
    """Register functions that read XML files as models: `module:function` by the tag of the root element."""
    _readers.update(functions)


_BEFORE_ROOT = rb"\s++|<\?.*?\?>|<!--.*?-->|<![A-Za-z][^<\[>]*+(?:\[.*?\])?\s*+>"
_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?(?>" + _BEFORE_ROOT + rb")*+<(\w+)", re.DOTALL)
"""The first element of an XML file, after declarations and comments; possessive, so that matching does not backtrack."""


def reader_of(data: bytes) -> Callable[..., Any] | None:
    """The function that reads a file with this content as a model; None if there is none."""
    start = _ROOT.match(data)
    name = start and _readers.get(start[1].decode())
    if not name:
        return None
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def is_markup(data: bytes) -> bool:
    """Whether a file with this content is XML or HTML."""
    return data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
