"""The text of a model as a tree with locations: YAML reading with limits, merging, lookup.

Only plain YAML is read: mappings, lists, text, numbers, true, false, null. Tags are rejected, and files are limited
in size, depth and number of values: an untrusted file can neither run code nor exhaust memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pliant.language.faults import Fault, Place, SpecError
from pliant.language.limits import limits, most
from pliant.language.message_text import KeyPath, describe
from pliant.language.names import canonical
from pliant.language.yaml_reader import NotPlain, read_full, read_plain

MAX_NESTING = 40
MAX_TEXT = 20_000

WHOLE = ("rotation", "inertia", "shape", "motion")
"""Mappings that are replaced completely when merged, because they select one of several forms."""

WHOLE_ENTRIES = ("inputs", "outputs")
"""Mappings whose entries are replaced completely."""

SHORT = {"spring": "coefficient", "damper": "coefficient"}
"""Keys whose bare value is short for a mapping, with the key of that value in it."""

SHORT_ENTRIES = {"parameters": "value"}
"""Mappings whose entries may be bare values, with the key of such a value."""


@dataclass(frozen=True)
class Tree:
    """A value and the place it was read from; `value` is a dict or list of trees, or a plain value."""

    value: Any
    place: Place | None = None

    def plain(self) -> Any:
        """The data without places."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def find(self, path: KeyPath) -> tuple[KeyPath, Place | None]:
        """A path as written in the text, and its location.

        A short form has fewer steps in the text than in the model: with `spring: 5`, the path
        `spring.coefficient` is found at `spring`. Missing keys are located at the mapping that lacks them.
        """
        tree, place, found = self, self.place, list[str | int]()
        for position, step in enumerate(path):
            child = tree.child(step)
            if step == 0 and tree.is_only_entry(path[position + 1 :]):
                continue  # a single value or list that is short for a list of one
            if child is None:
                if not isinstance(tree.value, (str, int, float, type(None))):
                    found.extend(path[position:])
                break
            tree, place = child, child.place or place
            found.append(step)
        return tuple(found), place

    def is_only_entry(self, rest: KeyPath) -> bool:
        """Whether this value is short for a list with itself as the only entry; `rest` is the remaining path in that entry."""
        if not isinstance(self.value, list):
            return True
        return isinstance(next(iter(rest), None), int) and not any(isinstance(x.value, list) for x in self.value)

    def child(self, step: str | int) -> Tree | None:
        """The value under a key or at a list position, None if there is none."""
        if isinstance(self.value, dict):
            return self.value.get(step)
        if isinstance(self.value, list) and isinstance(step, int) and 0 <= step < len(self.value):
            return self.value[step]
        return None


def from_plain(data: Any, place: Place | None = None) -> Tree:
    """A tree of data that has no text, such as a model built in Python."""
    if isinstance(data, Mapping):
        return Tree({key: from_plain(_canonical(key, value), place) for key, value in data.items()}, place)
    if isinstance(data, (list, tuple)):
        return Tree([from_plain(value, place) for value in data], place)
    return Tree(data, place)


def _canonical(key: Any, value: Any) -> Any:
    """The value of a key, with aliases of a `kind` resolved, so that merging and writing do not depend on aliases."""
    return canonical(value) if key == "kind" else value


def merge(under: Tree, over: Tree, *, whole: bool = False, entries: str | None = None) -> Tree:
    """Merge two trees: mappings are merged, `null` removes a key, and any other value of `over` replaces that of `under`.

    A mapping of another `kind` (a rod's model) also replaces, because kinds have different options. A bare value that is short
    for a mapping (`length: 30 cm` for `length: {value: 30 cm}`) is merged as that mapping, so that its other keys are kept.
    whole: entries of the two mappings are replaced, not merged. entries: the key for which their bare values are short.
    """
    if not (isinstance(under.value, dict) and isinstance(over.value, dict)):
        return over
    kinds = [tree.value["kind"].value for tree in (under, over) if "kind" in tree.value]
    merged = dict(under.value) if len(kinds) < 2 or kinds[0] == kinds[1] else {}
    for key, child in over.value.items():
        if child.value is None:
            merged.pop(key, None)
        elif key in merged and key not in WHOLE and not whole:
            below, above = _both_mappings(merged[key], child, entries or SHORT.get(key))
            merged[key] = merge(below, above, whole=key in WHOLE_ENTRIES, entries=SHORT_ENTRIES.get(key))
        else:
            merged[key] = child
    return Tree(merged, over.place or under.place)


def _both_mappings(under: Tree, over: Tree, short: str | None) -> tuple[Tree, Tree]:
    """Both trees as mappings, if one is a mapping and the other a bare value for its key `short`; otherwise unchanged."""
    pair = (under, over)
    if short is None or isinstance(under.value, dict) == isinstance(over.value, dict):
        return pair
    if any(isinstance(tree.value, list) for tree in pair):
        return pair
    below, above = (tree if isinstance(tree.value, dict) else Tree({short: tree}, tree.place) for tree in pair)
    return below, above


@lru_cache(maxsize=64)
def parse_yaml(text: str, file: str) -> Tree:
    """Read YAML text; raises SpecError with the location of the error. Cached for models that are attached several times."""
    if len(text) > limits().model:
        message = f"the file is too large ({len(text) / 1e6:.1f} MB)"
        raise SpecError([Fault(message, f"repeat bodies with `count`; {most('model')}", file=file)])
    builder = Builder(file)
    try:
        read_plain(text, builder)
    except (NotPlain, SpecError):
        builder = Builder(file)
        read_full(text, file, builder)
    if builder.root is None:
        raise SpecError([Fault("the file is empty", "begin with `pliant: 1`", file=file)])
    return builder.root


@dataclass(slots=True)
class _Open:
    """A mapping or list that is being read."""

    children: dict[Any, Tree] | list[Tree]
    place: Place
    anchor: str | None
    key: Any = None
    key_place: Place | None = None


class Builder:
    """Builds a tree from the events of a YAML reader, without recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Tree | None = None
        self.stack: list[_Open] = []
        self.anchors: dict[str, tuple[Tree, int]] = {}
        self.values, self.most_values = 0, limits().values

    def fail(self, message: str, hint: str, line: int | None) -> SpecError:
        """The fault at a line, to be raised."""
        return SpecError([Fault(message, hint, file=self.file, line=line)])

    def begin(self, children: dict[Any, Tree] | list[Tree], line: int | None, anchor: str | None = None) -> None:
        """Begin a mapping or list, given as an empty dict or list; values up to its end are added to it."""
        if len(self.stack) >= MAX_NESTING:
            raise self.fail("the file is nested too deeply", f"at most {MAX_NESTING} levels", line)
        self.stack.append(_Open(children, Place(self.file, line), anchor))

    def end(self) -> None:
        """End the mapping or list that was begun last."""
        done = self.stack.pop()
        self._add(done.children, done.place, done.anchor)

    def scalar(self, text: str, line: int | None, anchor: str | None = None) -> None:
        """Add a text, such as one in quotes."""
        self._check(text, line)
        self._add(text, Place(self.file, line), anchor)

    def plain_scalar(self, text: str, line: int | None, anchor: str | None = None) -> None:
        """Add an unquoted value: a number, a word such as `true`, or a text."""
        self._check(text, line)
        self._add(_plain_scalar(text), Place(self.file, line), anchor)

    def _check(self, text: str, line: int | None) -> None:
        if len(text) > MAX_TEXT:
            raise self.fail("a text is too long", f"at most {MAX_TEXT} characters", line)
        if not text.isascii() and _HALF.search(text):
            hint = "write the character itself, or \\U and its eight digits"
            raise self.fail(f"the text {describe(text)} contains half of a character", hint, line)

    def alias(self, anchor: str, line: int | None) -> None:
        """Add the value of an anchor again."""
        if anchor not in self.anchors:
            raise self.fail(f"unknown YAML anchor {describe(anchor)}", "define it with & before its use", line)
        tree, size = self.anchors[anchor]
        self._count(size, line)
        self._add(tree.value, tree.place or Place(self.file, None), None)

    def _count(self, number: int, line: int | None) -> None:
        self.values += number
        if self.values > self.most_values:
            hint = f"anchors count each time they are used; {most('values')}"
            raise self.fail("the file contains too many values", hint, line)

    def _add(self, value: Any, place: Place, anchor: str | None) -> None:
        self._count(1, place.line)
        if anchor is not None:
            tree = Tree(value, place)
            self.anchors[anchor] = (tree, _size(tree))
        if not self.stack:
            self.root = Tree(value, place)
            return
        parent = self.stack[-1]
        if isinstance(parent.children, list):
            parent.children.append(Tree(value, place))
        elif parent.key_place is None:
            if isinstance(value, (dict, list)):
                raise self.fail("a key must be text", "put text with { or [ in quotes", place.line)
            if value in parent.children:
                hint = "remove or rename one of the two"
                raise self.fail(f"the key {describe(value)} occurs twice", hint, place.line)
            parent.key, parent.key_place = value, place
        else:
            # The line of a value is that of its key, where users expect it.
            parent.children[parent.key] = Tree(_canonical(parent.key, value), parent.key_place)
            parent.key_place = None


def _size(tree: Tree) -> int:
    """Number of values in a tree; its size is already limited."""
    children = tree.value.values() if isinstance(tree.value, dict) else tree.value
    return 1 + sum(map(_size, children)) if isinstance(tree.value, (dict, list)) else 1


_HALF = re.compile("[\ud800-\udfff]")
"""Surrogates: halves of a character in UTF-16, which cannot be encoded as UTF-8."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def _plain_scalar(text: str) -> Any:
    """The value of unquoted text, as in YAML 1.2: `1e6` is a number, `on` and `yes` are text."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
