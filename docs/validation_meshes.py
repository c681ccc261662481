"""The part of docs/validation.md about meshes: a grid of beams against a plate."""

from __future__ import annotations

import pliant
from pliant.validation.vibration import isotropic, orthotropic, plate_grid_model


def plates() -> str:
    """Lowest frequencies of grids of more and more beams, beside those of plates."""
    rows = [
        "| cells along a side | lowest frequency | orthotropic plate | difference | isotropic plate | difference |",
        "|---|---|---|---|---|---|",
    ]
    for cells in (4, 6, 10, 16, 24):
        found = pliant.modes(pliant.derive(pliant.load_text(plate_grid_model(cells))), count=1).frequencies[0]
        theory, solid = orthotropic(cells), isotropic()
        rows.append(
            f"| {cells} | {found:.3f} Hz | {theory:.3f} Hz | {100 * (found / theory - 1):+.1f} % | {solid:.3f} Hz | "
            f"{100 * (found / solid - 1):+.1f} % |"
        )
    return "\n".join(rows)
