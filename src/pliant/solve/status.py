"""How an analysis has ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, Protocol, TypeVar


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


class Ended(Protocol):
    """What an analysis returns: how it ended, in a word and in words."""

    @property
    def status(self) -> Status: ...

    @property
    def message(self) -> str: ...


Found = TypeVar("Found", bound=Ended)


def unless_failed(found: Found, on_failure: Literal["raise", "return"]) -> Found:
    """What an analysis found; raises AnalysisFailed with it where it has failed, unless failures are to be returned."""
    if found.status == Status.FAILED and on_failure == "raise":
        raise AnalysisFailed(found.message, found)
    return found
