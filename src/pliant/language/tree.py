"""The text of a model as a tree that knows its places: YAML reading with limits, merging, lookup.

Only plain YAML is read: mappings, lists, text, numbers, true, false, null. Tags are refused, and
files are limited in size, depth and number of values: a stranger's file can neither run code nor fill memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from pliant.language.aliases import canonical
from pliant.language.faults import Fault, Place, SpecError
from pliant.language.words import KeyPath, describe

MAX_BYTES = 1_000_000
MAX_VALUES = 50_000
MAX_NESTING = 40
MAX_TEXT = 20_000

WHOLE = ("rotation", "inertia", "shape", "motion")
"""Mappings that are replaced as a whole when merged, because one of several forms is chosen in them."""

WHOLE_ENTRIES = ("inputs", "outputs")
"""Mappings whose entries are so replaced."""

SHORT = {"spring": "coefficient", "damper": "coefficient"}
"""Keys of which a bare value stands for a mapping, and the key that it then has."""

SHORT_ENTRIES = {"parameters": "value"}
"""Mappings whose entries are so written."""


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
        """A path as it is in the text, and its place.

        A short form has fewer steps in the text than in the model: with `spring: 5`, the path
        `spring.coefficient` is found at `spring`. What is missing is found at the mapping that lacks it.
        """
        tree, place, found = self, self.place, list[str | int]()
        for position, step in enumerate(path):
            child = tree.child(step)
            if child is None:
                if step == 0 and not isinstance(tree.value, list):
                    continue  # a single value that stands for a list of one
                if not isinstance(tree.value, (str, int, float, type(None))):
                    found.extend(path[position:])
                break
            tree, place = child, child.place or place
            found.append(step)
        return tuple(found), place

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
    """The value under a key: a `kind` by its one name, so that merging and writing see no aliases."""
    return canonical(value) if key == "kind" else value


def merge(under: Tree, over: Tree, *, whole: bool = False, entries: str | None = None) -> Tree:
    """`over` laid on `under`: mappings are merged, `null` removes a key, anything else replaces.

    A mapping of another `kind` (a rod's model) replaces too: the options of one kind mean nothing to the other. A bare value that
    stands for a mapping (`length: 30 cm` for `length: {value: 30 cm}`) is merged as one, so that the other keys stay.
    With `whole`, the entries of the two mappings are not merged but replaced; `entries` is the key that their bare values have.
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
    """Both as mappings, where one is and the other is a bare value that stands for the key `short` of one."""
    pair = (under, over)
    if short is None or isinstance(under.value, dict) == isinstance(over.value, dict):
        return pair
    if any(isinstance(tree.value, list) for tree in pair):
        return pair
    below, above = (tree if isinstance(tree.value, dict) else Tree({short: tree}, tree.place) for tree in pair)
    return below, above


@lru_cache(maxsize=64)
def parse_yaml(text: str, file: str) -> Tree:
    """Read YAML text, once if it is attached several times; raises SpecError with the place where it cannot be read."""
    if len(text) > MAX_BYTES:
        message = f"the file is too large ({len(text) / 1e6:.1f} MB)"
        raise SpecError([Fault(message, f"at most {MAX_BYTES / 1e6:g} MB; repeat bodies with `count`", file=file)])
    builder = _Builder(file)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            builder.take(event)
    except MarkedYAMLError as error:
        problem = str(error.problem or error.context)
        # A quote or bracket that is never closed is at fault where it begins, not at the end of the file.
        unclosed = "end of stream" in problem or "<stream end>" in problem
        mark = (error.context_mark if unclosed else error.problem_mark) or error.problem_mark or error.context_mark
        message = f"not valid YAML: {problem}"
        line = mark.line + 1 if mark else None
        hint = "check indentation, colons and brackets, and put text with : # { [ or * in quotes"
        if "\\t" in problem:
            hint = "indent with spaces, not tabs"
        raise SpecError([Fault(message, hint, file=file, line=line)]) from None
    except YAMLError as error:
        raise SpecError([Fault(f"not valid YAML: {describe(str(error))}", file=file)]) from None
    if builder.root is None:
        raise SpecError([Fault("the file is empty", "begin with `pliant: 1`", file=file)])
    return builder.root


@dataclass
class _Open:
    """A mapping or list that is being read."""

    children: dict[Any, Tree] | list[Tree]
    place: Place
    anchor: str | None
    key: Any = None
    key_place: Place | None = None


class _Builder:
    """Makes a tree from YAML events, one at a time, without recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Tree | None = None
        self.stack: list[_Open] = []
        self.anchors: dict[str, tuple[Tree, int]] = {}
        self.values = 0

    def fail(self, message: str, hint: str, place: Place) -> SpecError:
        return SpecError([Fault(message, hint, file=self.file, line=place.line)])

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        place = Place(self.file, event.start_mark.line + 1 if event.start_mark else None)
        if kind == "DocumentStartEvent" and self.root is not None:
            raise self.fail("the file has more than one document", "remove the line `---`", place)
        if kind == "AliasEvent":
            self.alias(event.anchor, place)
        elif kind == "ScalarEvent":
            self.refuse_tag(event, place)
            self.add(self.scalar(event, place), event.anchor)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self.refuse_tag(event, place)
            if len(self.stack) >= MAX_NESTING:
                raise self.fail("the file is nested too deeply", f"at most {MAX_NESTING} levels", place)
            children: dict[Any, Tree] | list[Tree] = {} if kind == "MappingStartEvent" else []
            self.stack.append(_Open(children, place, event.anchor))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            done = self.stack.pop()
            self.add(Tree(done.children, done.place), done.anchor)

    def refuse_tag(self, event: Any, place: Place) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and str(tag) not in ("!", "None"):
            raise self.fail(f"YAML tags such as {describe(str(tag))} are not allowed", "remove the tag", place)

    def scalar(self, event: Any, place: Place) -> Tree:
        text = str(event.value)
        if len(text) > MAX_TEXT:
            raise self.fail("a text is too long", f"at most {MAX_TEXT} characters", place)
        return Tree(_plain_scalar(text) if event.style in (None, "") else text, place)

    def alias(self, anchor: str, place: Place) -> None:
        if anchor not in self.anchors:
            raise self.fail(f"unknown YAML anchor {describe(anchor)}", "define it with & before its use", place)
        tree, size = self.anchors[anchor]
        self.count(size, place)
        self.add(tree, None)

    def count(self, number: int, place: Place) -> None:
        self.values += number
        if self.values > MAX_VALUES:
            hint = f"at most {MAX_VALUES} values, anchors counted each time they are used"
            raise self.fail("the file holds too many values", hint, place)

    def add(self, tree: Tree, anchor: str | None) -> None:
        place = tree.place or Place(self.file, None)
        self.count(1, place)
        if anchor is not None:
            self.anchors[anchor] = (tree, _size(tree))
        if not self.stack:
            self.root = tree
            return
        parent = self.stack[-1]
        if isinstance(parent.children, list):
            parent.children.append(tree)
        elif parent.key_place is None:
            if isinstance(tree.value, (dict, list)):
                raise self.fail("a key must be text", "put text with { or [ in quotes", place)
            if tree.value in parent.children:
                hint = "remove or rename one of the two"
                raise self.fail(f"the key {describe(tree.value)} is there twice", hint, place)
            parent.key, parent.key_place = tree.value, place
        else:
            # The line of the key is where a person looks for the value.
            parent.children[parent.key] = Tree(_canonical(parent.key, tree.value), parent.key_place)
            parent.key_place = None


def _size(tree: Tree) -> int:
    """Number of values in a tree; trees are limited in size before they can be named by an anchor."""
    children = tree.value.values() if isinstance(tree.value, dict) else tree.value
    return 1 + sum(map(_size, children)) if isinstance(tree.value, (dict, list)) else 1


_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def _plain_scalar(text: str) -> Any:
    """What unquoted text means by the YAML 1.2 core rules: `1e6` is a number, `on` and `yes` are text."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
