"""Tables of numbers for a terminal: as many complete columns as fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

from pliant.language.message_text import enumeration


@dataclass(frozen=True)
class NumberColumn:
    """A column: its name, the second line of its heading, and its cells as text."""

    name: str
    below: str
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        """Width in characters, with a space on each side."""
        return 2 + max(map(len, (self.name, self.below, *self.cells)))

    @property
    def head(self) -> str:
        """Both lines of the heading, escaped: Rich would read a unit in brackets as markup."""
        return escape("\n".join(filter(None, (self.name, self.below))))


def column(name: str, unit: str, values: Any, style: str = ".6g") -> NumberColumn:
    """A column of numbers in one format, with their unit."""
    below = f"[{unit}]" if unit not in ("", "-") else ""
    return NumberColumn(name, below, tuple(format(float(x) + 0.0, style) for x in values))


def fitting_table(
    first: Sequence[NumberColumn], others: Sequence[NumberColumn], last: Sequence[NumberColumn], width: int
) -> tuple[Table, list[str]]:
    """A table of the first columns, as many of the others as fit into `width` characters (at least one), and the last columns;
    also the names of the columns that do not fit."""
    room = width - sum(x.width for x in (*first, *last))
    shown: list[NumberColumn] = []
    for one in others:
        room -= one.width
        if shown and room < 0:
            break
        shown.append(one)
    table = Table(box=None)
    columns = (*first, *shown, *last)
    for one in columns:
        table.add_column(one.head, no_wrap=True)
    for row in zip(*(one.cells for one in columns), strict=True):
        table.add_row(*map(escape, row))
    return table, [one.name for one in others[len(shown) :]]


def hidden_words(names: Sequence[str], where: str, others: str = "") -> str:
    """A remark on columns that are not shown, by name, and on others by their number; empty if there are none."""
    listed = ", ".join(filter(None, [enumeration(names), others]))
    return f"not shown: {listed}; {where}" if listed else ""
