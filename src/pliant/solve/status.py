"""How an analysis has ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


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


class AnalysisFailed(RuntimeError):
    """An analysis could not be done, or not to its end; `result` holds what was computed.

    Analyses return it instead of raising with `on_failure="return"`.
    """

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.result)
