"""Outcome of an analysis."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, Protocol, TypeVar


class Status(StrEnum):
    """Outcome of an analysis; each member is equal to its text: `run.status == "completed"`."""

    CONVERGED = "converged"
    """A solution was found: an equilibrium, a plan, a fit."""
    COMPLETED = "completed"
    """A motion or a path has reached its end."""
    STOPPED = "stopped"
    """It ended early, see the message; the results so far are available."""
    FAILED = "failed"
    """It could not continue; the message suggests a fix."""


class AnalysisFailed(RuntimeError):
    """An analysis failed; `result` is what was computed so far.

    Analyses return it instead of raising with `on_failure="return"`.
    """

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.result)


class HasStatus(Protocol):
    """Base of the results of analyses: status and message."""

    @property
    def status(self) -> Status: ...

    @property
    def message(self) -> str: ...


Found = TypeVar("Found", bound=HasStatus)


def unless_failed(result: Found, on_failure: Literal["raise", "return"]) -> Found:
    """Return the result of an analysis; raise AnalysisFailed with it if it failed, unless failures are returned."""
    if result.status == Status.FAILED and on_failure == "raise":
        raise AnalysisFailed(result.message, result)
    return result
