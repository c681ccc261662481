"""Rows of the integer tables, which are stored column by column."""

from __future__ import annotations

from collections.abc import Sequence


def add_row(integers: dict[str, list[int]], prefix: str, **entries: int) -> None:
    """Append a row: each entry to the column `prefix_name`."""
    for name, value in entries.items():
        integers[f"{prefix}_{name}"].append(value)


def add_rows(integers: dict[str, list[int]], prefix: str, **columns: Sequence[int]) -> None:
    """Append many rows: each column to the column `prefix_name`."""
    for name, values in columns.items():
        integers[f"{prefix}_{name}"].extend(values)
