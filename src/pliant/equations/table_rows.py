"""Rows of the integer tables, which are stored column by column."""

from __future__ import annotations


def add_row(integers: dict[str, list[int]], prefix: str, **entries: int) -> None:
    """Append a row: each entry to the column `prefix_name`."""
    for name, value in entries.items():
        integers[f"{prefix}_{name}"].append(value)
