"""A flat model under construction: its parts, their origins, and its faults."""

from dataclasses import dataclass, field
from typing import Any

from pliant.language.faults import Fault
from pliant.language.limits import limits, most
from pliant.language.message_text import KeyPath
from pliant.language.source import Source
from pliant.language.syntax import Node

HOMES = {
    "body": ("bodies",),
    "coordinate": ("joints",),
    "input": ("parameters",),
    "mesh": ("meshes",),
    "body, rod, mesh or surface": ("bodies", "rods", "meshes", "surfaces"),
    "joint, rod or constraint": ("joints", "rods", "constraints"),
    "body, joint, rod, mesh, link, tendon or contact": (
        "bodies", "joints", "rods", "meshes", "links", "tendons", "contacts"
    ),
}  # fmt: skip
"""The collections that a type of reference refers to, if these are not the plural of the type."""


@dataclass(frozen=True)
class Origin:
    """Origin of a flat part: its source, its path there, and its instance."""

    source: Source
    path: KeyPath
    instance: int | None = None


@dataclass(frozen=True)
class Override:
    """A value for a parameter of an attached model, in terms of the flat model's parameters.

    source, path: where it is given.
    """

    node: Node
    source: Source
    path: KeyPath


@dataclass
class Flat:
    """A flat spec under construction, its faults, and the origins of its parts.

    things: the parts by collection and flat name. counts: number of instances by collection and name.
    values: values of parameters, where they are numbers. structural: parameters that determine the structure: counts, indices, and
    values needed to read files. attached: number of attached models. models: attached models that have been read. along: origins of
    the bodies for which frames were added to rods, by rod and frame. unread: paths of entries that could not be read. incomplete:
    parts whose files could not be read, with the fault, which is reported only if their values have none. without_effect: world and
    analyses of attached models, by prefix; they are not used, but checked. notes: features of attached models in other formats that
    are not imported. full: whether the limit on the number of parts was exceeded.
    """

    things: dict[str, dict[str, Any]] = field(default_factory=dict)
    analyses: tuple[Any, ...] = ()
    values: dict[str, float] = field(default_factory=dict)
    origins: dict[tuple[str, str], Origin] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    structural: set[str] = field(default_factory=set)
    notes: list[Fault] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    attached: int = 0
    models: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    along: dict[tuple[str, str], Origin] = field(default_factory=dict)
    unread: frozenset[KeyPath] = frozenset()
    incomplete: dict[tuple[str, str], tuple[Any, Fault | None]] = field(default_factory=dict)
    without_effect: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    full: bool = False

    def add(self, collection: str, name: str, thing: Any, origin: Origin) -> None:
        self.things.setdefault(collection, {})[name] = thing
        self.origins[collection, name] = origin

    def fault(self, source: Source, path: KeyPath, message: str, hint: str = "") -> None:
        self.faults.append(source.fault(path, message, hint))

    def room(self, number: int, source: Source, path: KeyPath) -> bool:
        """Whether this many more parts are allowed; otherwise one fault is recorded."""
        if sum(map(len, self.things.values())) + number <= limits().parts:
            return True
        if not self.full:
            message = f"the model has more than {limits().parts:.0f} parts"
            self.fault(source, path, message, f"use smaller counts; {most('parts')}")
        self.full = True
        self.unread |= {(str(path[0]),)}
        return False


INSTANCE_NAMES = ("i", "count")
"""Number of an instance of a repeated part and number of instances, for expressions."""


@dataclass(frozen=True)
class Instance:
    """The instance of a repeated part being created; None, None for a part that is not repeated."""

    index: int | None = None
    count: int | None = None

    @property
    def suffix(self) -> str:
        return "" if self.index is None else f"[{self.index}]"

    def of(self, name: str) -> str:
        """The name with the index of this instance."""
        return name + self.suffix

    @property
    def values(self) -> dict[str, float]:
        if self.index is None or self.count is None:
            return {}
        return dict(zip(INSTANCE_NAMES, (self.index, self.count), strict=True))


ONCE = Instance()
