"""How an analysis has ended."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How an analysis has ended; each is equal to its text, so that `run.status == "completed"` holds."""

    CONVERGED = "converged"
    """A solution was found: an equilibrium, a plan, a fit."""
    COMPLETED = "completed"
    """A motion or a path has reached its end."""
    STOPPED = "stopped"
    """It ended early, for a reason that the message gives; what was computed is there."""
    FAILED = "failed"
    """It could not go on; the message says what to do."""
