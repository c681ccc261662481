"""Constraints between frames."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import casadi as ca
from pydantic import Field, model_validator

from pliant.language.base import ByType, KeyPath, OneOrList, fault
from pliant.language.dimension import ACCELERATION, ANGULAR_ACCELERATION, LENGTH, NUMBER, RATE, SPEED, Dimension
from pliant.language.names import FrameName
from pliant.language.placement import Attachment
from pliant.language.scalar import AnySignal, Repeated, Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.formula.base import AttachedVector, FrameConstraint
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Fields

ROWS = ("x", "y", "z", "rx", "ry", "rz")
"""The six components that can be constrained: displacement [m] and rotation vector [rad]."""

GROUPS = {"position": ROWS[:3], "orientation": ROWS[3:], "all": ROWS}

PRESCRIBED = {"position": (LENGTH, NUMBER), "rate": (SPEED, RATE), "acceleration": (ACCELERATION, ANGULAR_ACCELERATION)}
"""Quantities that a constraint may prescribe, in the order of derivatives: dimensions of displacements and of rotations."""

Component: TypeAlias = Literal["x", "y", "z", "rx", "ry", "rz", "position", "orientation", "all"]


Components: TypeAlias = Annotated[tuple[Component, ...], Field(min_length=1), OneOrList()]
Signals: TypeAlias = Annotated[tuple[AnySignal, ...], OneOrList()]


class Frames(Repeated):
    """Constraint between two frames on selected components of the second frame's pose relative to the first.

    Closes a kinematic loop, guides a body along a path, or (with `position`, `rate` or `acceleration`) prescribes a motion.
    """

    between: tuple[Attachment, Attachment]
    """The two frames, each a reference (`bar.tip`) or a reference with an offset."""
    type: Literal["frames"] = "frames"
    components: Components
    """Constrained components: any of x, y, z, rx, ry, rz, or `position`, `orientation`, `all`."""
    expressed_in: FrameName | None = None
    """Frame in whose axes the components are expressed; default: the first of the two frames."""
    holds: Literal["coincide", "as at start"] = "coincide"
    """Meaning of zero: the frames coincide, or have the relative pose of the initial state."""
    position: Signals | None = None
    """Prescribed value of the components in time, one for all or a list [m or rad]; default: zero. It must not jump, and
    rotations stay below 180 deg; for further turns prescribe the angle of a revolute joint (`motion`)."""
    rate: Signals | None = None
    """Prescribed rate instead of the value, one for all or a list [m/s or rad/s]; the components start from the initial state."""
    acceleration: Signals | None = None
    """Prescribed acceleration instead of the value, one for all or a list [m/s^2 or rad/s^2]. It may jump, as commands do."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  left: {mass: 1 kg, center_of_mass: [0.5 m, 0, 0], frames: {tip: {position: [1 m, 0, 0]}}}
  right: {mass: 1 kg, center_of_mass: [-0.5 m, 0, 0], frames: {tip: {position: [-1 m, 0, 0]}}}
joints:
  pivot_left: {type: revolute, child: left}
  pivot_right: {type: revolute, child: right, position: [2 m, 0, 0]}
constraints:
  pin: {between: [left.tip, right.tip], components: [x, y], expressed_in: world}
"""

    @property
    def rows(self) -> tuple[str, ...]:
        """The constrained components in the order given, each one of `ROWS`."""
        return tuple(row for component in self.components for row in GROUPS.get(component, (component,)))

    def prescribed(self, signals: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        """`position`, `rate` or `acceleration` with one entry per row."""
        return signals * len(self.rows) if len(signals) == 1 else signals

    def dimension(self, path: KeyPath, value: Callable[[Scalar], float]) -> Dimension | None:
        """Displacements are lengths, rotations angles."""
        if path[0] not in PRESCRIBED:
            return None
        row = self.rows[min(int(path[1]), len(self.rows) - 1)]
        length, angle = PRESCRIBED[str(path[0])]
        return angle if row.startswith("r") else length

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        repeated = sorted({row for row in self.rows if self.rows.count(row) > 1})
        if repeated:
            message = f"the component {repeated[0]} is listed twice"
            raise fault("repeated_component", message, hint="list each component once", key="components")
        given = [key for key in PRESCRIBED if getattr(self, key) is not None]
        if len(given) > 1:
            message = "a constraint prescribes a position, a rate or an acceleration, not several of them"
            raise fault("both_prescribed", message, hint="keep one of them", key=given[-1])
        for key in given:
            signals = getattr(self, key)
            if len(signals) not in (1, len(self.rows)):
                message = f"{key} has {len(signals)} entries for {len(self.rows)} components"
                raise fault("wrong_length", message, hint="give one value, or one per component", key=key)
        return self

    def apply(self, build: Build, name: str) -> None:
        """Add the constraint to the system."""
        (node_a, end_a), (node_b, end_b) = (build.attachment(end) for end in self.between)
        node_c, axes = (node_a, end_a) if self.expressed_in is None else build.frame(self.expressed_in)
        offset: Any = [0, 0, 0]
        order = next((i for i, key in enumerate(PRESCRIBED) if getattr(self, key) is not None), 0)
        if self.holds == "as at start" or order:
            # a prescribed rate or acceleration starts from the initial relative pose of the frames
            start_a = se3.compose(build.initial_pose(node_a), end_a)
            start_b = se3.compose(build.initial_pose(node_b), end_b)
            start_axes = build.initial_pose(node_c)[0] @ axes[0]
            end_b = (end_b[0] @ start_b[0].T @ start_a[0], end_b[1])
            offset = build.entries(start_axes.T @ (start_b[1] - start_a[1]))
        constants = CONSTANTS.write(
            first=build.pose_entries(end_a),
            second=build.pose_entries(end_b),
            axes=build.entries(axes[0]),
            offset=offset,
        )
        given = getattr(self, tuple(PRESCRIBED)[order])
        kind = frame_constraint(self.rows, prescribed=given is not None)
        signals = self.prescribed(given) if given is not None else ()
        build.constraint(kind, [node_a, node_b, node_c], constants, signals, order, name)

    def held_at(self, poses: Sequence[Pose], c: Any) -> tuple[Any, Any]:
        """World position of the second frame's origin, and the axes of the components."""
        at = CONSTANTS.read(c)
        return se3.compose(poses[1], at.second)[1], poses[2][0] @ at.axes


CONSTANTS = Fields("first:pose", "second:pose", "axes:matrix", "offset:3")
"""Placements of both ends, the axes in the third frame, offset of the displacement [m]."""


@cache
def frame_constraint(rows: tuple[str, ...], *, prescribed: bool) -> FrameConstraint:
    """Chosen components of the pose of the second frame in the first.

    Rotations that must be zero are written with sines (projections of axes on each other), which stay smooth for any
    number of turns of the remaining free rotation. Rotations with a prescribed value are components of the
    rotation vector, valid below pi.
    """
    turns = tuple(row for row in rows if row.startswith("r"))

    def attached(poses: Any, c: Any) -> list[AttachedVector]:
        at = CONSTANTS.read(c)
        R_a, p_a = se3.compose(poses[0], at.first)
        R_b, p_b = se3.compose(poses[1], at.second)
        axes = poses[2][0] @ at.axes
        points = [AttachedVector(0, p_a, True), AttachedVector(1, p_b, True)]
        columns = [(2, axes)] + ([(0, R_a), (1, R_b)] if turns else [])
        return points + [AttachedVector(frame, matrix[:, k], False) for frame, matrix in columns for k in range(3)]

    def value(z: Any, c: Any) -> Any:
        axes = ca.horzcat(*z[2:5])
        displacement = axes.T @ (z[1] - z[0]) - CONSTANTS.read(c).offset
        rotation = _rotation(axes, z[5:8], z[8:11], turns, prescribed) if turns else {}
        return ca.vertcat(*[rotation[row] if row in rotation else displacement["xyz".index(row)] for row in rows])

    name = "frames_" + "_".join(rows) + ("_prescribed" if prescribed else "")
    return FrameConstraint(name, frames=3, constants=CONSTANTS.size, size=len(rows), attached=attached, value=value)


def _rotation(axes: Any, first: Any, second: Any, rows: tuple[str, ...], prescribed: bool) -> dict[str, Any]:
    """Constrained components of the rotation from the first frame to the second, along the given axes."""
    if not prescribed and len(rows) == 2:
        # one rotation is free: the two constrained ones keep its axis common to both frames
        free = next(i for i, row in enumerate(("rx", "ry", "rz")) if row not in rows)
        turned = ca.horzcat(*second) @ (ca.horzcat(*first).T @ axes[:, free])
        j, k = (free + 1) % 3, (free + 2) % 3
        return {"r" + "xyz"[j]: -ca.dot(axes[:, k], turned), "r" + "xyz"[k]: ca.dot(axes[:, j], turned)}
    # sine of the angle times the axis: half the sum of cross products of the axes
    vector = 0.5 * sum(ca.cross(a, b) for a, b in zip(first, second, strict=True))
    if prescribed:
        cosine = 0.5 * (sum(ca.dot(a, b) for a, b in zip(first, second, strict=True)) - 1)
        vector = so3.angle_per_sine(ca.dot(vector, vector), cosine) * vector
    return {row: ca.dot(axes[:, i], vector) for i, row in enumerate(("rx", "ry", "rz")) if row in rows}


Constraint: TypeAlias = Annotated[Frames, ByType("constraint", default="frames")]
