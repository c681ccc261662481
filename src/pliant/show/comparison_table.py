"""The table of comparisons of rod models, in reports and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pliant.show.page import table

if TYPE_CHECKING:
    from pliant.identify.compare import Comparison


def comparison_table(rows: Sequence[Comparison]) -> str:
    """Errors and times of rod models as HTML."""
    unit = rows[0].unit if rows else "mm"
    errors = tuple(f"{what} [{unit}]" for what in ("mean error", "largest error", "mean error at rest"))
    head = ("rod", "states", *errors, "run [s]", "times real time", "code [kB]", "memory [kB]")
    lines = []
    for r in rows:
        numbers = (
            r.mean_error_mm,
            r.max_error_mm,
            r.static_mean_error_mm,
            r.run_s,
            r.realtime_factor,
            r.code_kb,
            r.memory_kb,
        )
        states = "failed" if r.status == "failed" else r.states
        lines.append((r.rod, states, *(f"{x:.6g}" if np.isfinite(x) else "-" for x in numbers)))
    return table(head, lines)
