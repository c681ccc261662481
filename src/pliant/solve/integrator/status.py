"""How a run ended: the numbers that the time loops return, and what they mean."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Status of a run after `start` or `advance`; the same numbers in C (runtime/pliant.h and integrate.h)."""

    OK = 0
    SINGULAR = 1
    NOT_FINITE = 2
    NO_CONVERGENCE = 3
    STEP_TOO_SMALL = 4
    MAX_STEPS = 5
    SAMPLES_FULL = 6
    PROJECTION = 7
    POSITION_JUMPS = 8

    @property
    def meaning(self) -> str:
        """What happened and what to do, in a sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Status.OK: "the run has reached its end",
    Status.SINGULAR: "the mass or system matrix became singular: a coordinate moves no mass, or constraints contradict "
    "each other; give the bodies mass and inertia, or remove what is superfluous",
    Status.NOT_FINITE: "a rate is no longer a finite number: the motion diverges; use a smaller step or an implicit "
    "method, or check stiffness, mass and inputs",
    Status.NO_CONVERGENCE: "Newton's iterations did not converge; use a smaller step, or let the method choose it",
    Status.STEP_TOO_SMALL: "the step became too small to go on: the motion is singular here, or the tolerances are "
    "tighter than round-off allows",
    Status.MAX_STEPS: "the run paused after the number of steps asked for",
    Status.SAMPLES_FULL: "there is no room for further samples",
    Status.PROJECTION: "the constraints can no longer be satisfied: the mechanism has reached a dead end",
    Status.POSITION_JUMPS: "a prescribed position jumps, and no finite force can follow; prescribe a ramp instead",
}
