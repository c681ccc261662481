"""Repeated parts: content and placement of one instance."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from pliant.language.base import Part, part_classes
from pliant.language.message_text import KeyPath
from pliant.language.placement import Around, Placement
from pliant.language.scalar import Each, Repeated
from pliant.robot.flat import Instance

EVENLY = "=2*pi*(i - 1)/count"
PAIRS_EVENLY = "=4*pi*floor((i - 1)/2)/count"
"""Default angles of instances around an axis, and of mirrored pairs of them."""

Count = Callable[[int | str, KeyPath], int]
"""The number of instances given by a `count` at a path."""


@cache
def _places(part: type[Part]) -> tuple[str, ...]:
    """Fields of a part that may contain repeated parts, or parts arranged around an axis or mirrored."""
    return tuple(
        name for name, field in part.model_fields.items() if any(map(_is_placed, part_classes(field.annotation)))
    )


@cache
def _is_placed(part: type[Part]) -> bool:
    return issubclass(part, Placement | Repeated) or bool(_places(part))


class PartInstance:
    """An instance of a part, with the repeated parts in it (frames, chambers) expanded.

    part: the part. not_repeated: paths of `around` without an angle in parts that are not repeated.
    """

    def __init__(self, part: Part, path: KeyPath, instance: Instance, count: Count) -> None:
        self._instance, self._count = instance, count
        self._within: dict[KeyPath, Instance] = {}
        self.not_repeated: list[KeyPath] = []
        self.part: Any = self._part(part, path, instance)

    def instance_at(self, path: KeyPath) -> Instance:
        """The innermost instance that the value at a path belongs to."""
        if self._within:
            for end in range(len(path), 0, -1):
                if path[:end] in self._within:
                    return self._within[path[:end]]
        return self._instance

    def _part(self, part: Part, path: KeyPath, instance: Instance) -> Part:
        changed: dict[str, Any] = {}
        values = part.__dict__
        for name in _places(type(part)):
            value = values[name]
            if isinstance(value, dict):
                new: Any = self._entries(value, (*path, name), instance)
            elif isinstance(value, tuple):
                new = self._list(value, (*path, name), instance)
            elif isinstance(value, Part) and not isinstance(value, Each):
                new = self._part(value, (*path, name), instance)
            else:
                continue
            if new is not value:
                changed[name] = new
        if isinstance(part, Placement) and (part.mirror is not None or part.around is not None):
            changed |= self._placement(part, path, instance)
        return part.model_copy(update=changed) if changed else part

    def _list(self, values: tuple[Any, ...], path: KeyPath, instance: Instance) -> tuple[Any, ...]:
        if not any(isinstance(value, Part) for value in values):
            return values
        new = tuple(
            self._part(value, (*path, at), instance) if isinstance(value, Part) else value
            for at, value in enumerate(values)
        )
        return new if any(a is not b for a, b in zip(new, values, strict=True)) else values

    def _entries(self, entries: dict[str, Any], path: KeyPath, instance: Instance) -> dict[str, Any]:
        if not any(isinstance(entry, Part) for entry in entries.values()):
            return entries
        expanded: dict[str, Any] = {}
        for name, entry in entries.items():
            if not isinstance(entry, Repeated) or entry.count is None:
                expanded[name] = self._part(entry, (*path, name), instance) if isinstance(entry, Part) else entry
                continue
            number = self._count(entry.count, (*path, name, "count"))
            single = entry.model_copy(update={"count": None})
            for own in (Instance(index, number) for index in range(1, number + 1)):
                place = (*path, own.of(name))
                self._within[place] = own
                expanded[own.of(name)] = self._part(single, place, own)
        return expanded if any(expanded.get(name) is not entry for name, entry in entries.items()) else entries

    def _placement(self, part: Placement, path: KeyPath, instance: Instance) -> dict[str, Any]:
        """The values of `mirror` and `around` of this instance, where they differ from those of the part."""
        changed: dict[str, Any] = {}
        if part.around is not None and part.around.angle is None:
            angle = EVENLY if part.mirror is None else PAIRS_EVENLY
            if instance.index is None:
                self.not_repeated.append((*path, "around"))
            else:
                changed["around"] = Around.model_construct(axis=part.around.axis, angle=angle)
        if part.mirror is not None and instance.index is not None and instance.index % 2:
            changed["mirror"] = None
        return changed
