"""Defaults: values merged below every body, joint, link, ...; and parts of a model as plain data, as in a file."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pliant.language.base import Part, Problem
from pliant.language.message_text import KeyPath, describe, suggestion, word_of_others
from pliant.language.traversal import kinds, with_defaults
from pliant.language.tree import Tree, from_plain, merge
from pliant.parts.link import COMPONENTS
from pliant.robot.analyses import ListedAnalysis


def apply_defaults(model: type[BaseModel], tree: Tree) -> tuple[Tree, list[Problem]]:
    """The tree with `defaults` merged below its entries, and the problems of the defaults themselves."""
    given = tree.value.get("defaults")
    if given is None or not isinstance(given.value, dict):
        return tree, []
    problems: list[Problem] = []
    changed = dict(tree.value)
    known = with_defaults(model)
    for collection, section in given.value.items():
        path: KeyPath = ("defaults", collection)
        if collection not in known:
            hint = suggestion(collection, known, f"known: {', '.join(known)}")
            problems.append((path, f"there are no defaults for {describe(collection)}", hint))
        elif not isinstance(section.value, dict):
            problems.append((path, f"expected a mapping (key: value), got {describe(section.value)}", ""))
        else:
            problems.extend(_check_keys(model, collection, section, path))
            entries = changed.get(collection)
            if entries is not None and isinstance(entries.value, dict):
                merged = {name: _entry(model, collection, section, entry) for name, entry in entries.value.items()}
                changed[collection] = Tree(merged, entries.place)
    return Tree(changed, tree.place), problems


def expressions_in_defaults(model: type[BaseModel], tree: Tree | None) -> Iterator[tuple[KeyPath, str, frozenset[str]]]:
    """Expressions in the defaults of a text: their path, their text, and names that may be state quantities of such a part."""
    given = tree.child("defaults") if tree is not None else None
    for collection, section in given.value.items() if given is not None and isinstance(given.value, dict) else ():
        if collection in with_defaults(model):
            fields = frozenset(field for part in kinds(model, collection)[1].values() for field in part.model_fields)
            for path, text in _expressions(section, ("defaults", collection)):
                yield path, text, fields | {*COMPONENTS}


def _expressions(tree: Tree, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if not isinstance(tree.value, (dict, list)):
        return  # empty, or reported elsewhere as not a mapping
    entries = tree.value.items() if isinstance(tree.value, dict) else enumerate(tree.value)
    for step, child in entries:
        if isinstance(child.value, (dict, list)):
            yield from _expressions(child, (*path, step))
        elif isinstance(child.value, str) and child.value.startswith("="):
            yield (*path, step), child.value


def _check_keys(model: type[BaseModel], collection: str, section: Tree, path: KeyPath) -> list[Problem]:
    _, parts = kinds(model, collection)
    fields = {field for part in parts.values() for field in part.model_fields}
    problems: list[Problem] = []
    for key, value in section.value.items():
        if key in fields:
            continue
        if key in parts and isinstance(value.value, dict):
            wrong = [inner for inner in value.value if inner not in parts[key].model_fields]
            known = parts[key].model_fields
            problems.extend(((*path, key, inner), *_unknown(inner, known)) for inner in wrong)
        else:
            problems.append(((*path, key), *_unknown(key, {*fields, *parts} - {""})))
    return problems


def _unknown(key: object, known: Any) -> tuple[str, str]:
    hint = word_of_others(key, known) or suggestion(key, known, f"known here: {', '.join(sorted(known))}")
    return f"unknown key {describe(key)}", hint


def _entry(model: type[BaseModel], collection: str, section: Tree, entry: Tree) -> Tree:
    """An entry with its defaults merged below it."""
    if isinstance(entry.value, Part):
        entry = from_plain(to_data(entry.value, model), entry.place)
    choice, parts = kinds(model, collection)
    if not isinstance(entry.value, dict) and choice is None and (short := parts[""].short_form):
        entry = Tree({short: entry}, entry.place)
    return merge(_under(model, collection, section, entry), entry)


def _under(model: type[BaseModel], collection: str, section: Tree, entry: Tree) -> Tree:
    """The defaults of an entry, limited to the fields of its type; those for its type take precedence over those for all."""
    choice, parts = kinds(model, collection)
    kind: Any = ""
    if choice is not None and isinstance(entry.value, dict):
        stated = entry.value.get(choice.key) or section.value.get(choice.key)
        kind = stated.value if stated is not None else choice.default
    part = parts.get(kind) if isinstance(kind, str) else None
    if part is None:
        return Tree({})

    def fitting(given: Tree | None) -> Tree:
        known = given.value if given is not None and isinstance(given.value, dict) else {}
        return Tree({key: value for key, value in known.items() if key in part.model_fields})

    return merge(fitting(section), fitting(section.value.get(kind) if kind else None))


def defaults_for(model: type[BaseModel], collection: str, defaults: dict[str, Any], entry: Any) -> dict[str, Any]:
    """The defaults that apply to an entry, as plain data."""
    section = defaults.get(collection)
    if not isinstance(section, dict):
        return {}
    found: dict[str, Any] = _under(model, collection, from_plain(section), from_plain(entry)).plain()
    return found


def to_data(value: Any, model: type[BaseModel]) -> Any:
    """A part of a model as plain data in its shortest form: only values that were given, in short forms where possible."""
    if isinstance(value, ListedAnalysis):
        return value.as_data()
    if isinstance(value, Part):
        return _part_data(value, model)
    if isinstance(value, dict):
        return {key: to_data(child, model) for key, child in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_data(child, model) for child in value]
    return value


def _part_data(part: Part, model: type[BaseModel]) -> Any:
    written: dict[str, Any] = {}
    # The type comes first, because it defines the other keys.
    fields = sorted(type(part).model_fields.items(), key=lambda item: not tells_kind(*item))
    for name, field in fields:
        if name in part.model_fields_set or (tells_kind(name, field) and type(part) not in default_kinds(model)):
            value = getattr(part, name)
            if value is None and field.default is None:
                continue
            if name in ("rotation", "initial") and isinstance(value, tuple) and len(value) == 1:
                value = value[0]
            written[name] = to_data(value, model)
    if part.short_form and set(written) == {part.short_form} and not isinstance(written[part.short_form], dict):
        return written[part.short_form]
    return part.empty_word if part.empty_word and not written else written


def tells_kind(name: str, field: FieldInfo) -> bool:
    """Whether a field selects the type of its part, as `type` does; it is written even if it was not set."""
    return name in ("type", "shape", "kind") and get_origin(field.annotation) is Literal


@cache
def default_kinds(model: type[BaseModel]) -> frozenset[type[Part]]:
    """Classes of the entries for which the type may be omitted."""
    choices = [kinds(model, collection) for collection in with_defaults(model)]
    return frozenset(parts[choice.default] for choice, parts in choices if choice and choice.default)
