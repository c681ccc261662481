"""Forward kinematics: the pose of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from pliant.analysis.base import Analysis, Seconds, StateGiven, function_of
from pliant.analysis.numerics.status import Status
from pliant.analysis.result import Along, AnalysisResult, Sheet
from pliant.analysis.states import about
from pliant.engine.core import check_names
from pliant.engine.equations import Equations
from pliant.engine.frames import FrameMotion
from pliant.engine.state import State

WORLD = "world"


@dataclass(frozen=True, repr=False, eq=False)
class FramePose(AnalysisResult):
    """The pose of a frame.

    Attributes:
        position: of its origin [m], and rotation: its axes as columns, in the axes of the other frame.
        quaternion: the same rotation, scalar part first.
        state: the state of the robot.
    """

    position: Annotated[np.ndarray, Along("axis", unit="m")]
    rotation: Annotated[np.ndarray, Along("axis", "column")]
    quaternion: Annotated[np.ndarray, Along("quaternion_part")]
    frame: str
    relative_to: str
    state: State
    equations: Equations
    status: Status = Status.COMPLETED
    message: str = ""

    def labels(self) -> dict[str, tuple[str, ...]]:
        """Axes of the frame and parts of the quaternion."""
        return {"column": tuple("xyz"), "quaternion_part": tuple("wxyz")}

    def sheets(self) -> tuple[Sheet, ...]:
        """Position and rotation."""
        rows = zip("xyz", self.position, self.rotation, strict=True)
        title = f"{self.frame} in {self.relative_to}; quaternion {', '.join(f'{x:.9g}' for x in self.quaternion)}"
        lines = tuple((axis, f"{x:.9g}", *(f"{y + 0.0:.9g}" for y in row)) for axis, x, row in rows)
        return (Sheet(("", "position [m]", "x axis", "y axis", "z axis"), lines, title=title),)


class ForwardKinematics(Analysis):
    """Position and rotation of a frame in the world, or in another frame."""

    name: ClassVar[str] = "forward_kinematics"
    title: ClassVar[str] = "Forward kinematics"
    result = FramePose
    first: ClassVar[tuple[str, ...]] = ("frame", "at")

    frame: str
    """The frame."""
    at: StateGiven = "initial"
    """State of the robot: `initial`, `equilibrium`, or coordinates by name."""
    relative_to: str = WORLD
    """Frame in whose axes the pose is expressed; default: the world."""
    time: Seconds | None = None
    """Time at which inputs are evaluated [s]; default: that of the state."""

    def run(self, eqs: Equations) -> FramePose:
        """Place the frames."""
        check_names("frame", [self.frame, self.relative_to], (*eqs.frame_names, WORLD))
        eqs, state, _ = about(eqs, self.at, self.inputs, self.parameters, self.time)
        here = eqs.frame(self.frame, state.q)
        if self.relative_to != WORLD:
            base = eqs.frame(self.relative_to, state.q)
            here = FrameMotion(base.rotation.T @ (here.position - base.position), base.rotation.T @ here.rotation)
        return FramePose(
            here.position, here.rotation, np.asarray(here.quaternion), self.frame, self.relative_to, state, eqs
        )


forward_kinematics = function_of(ForwardKinematics)
