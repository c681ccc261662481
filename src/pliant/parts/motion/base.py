"""Motions: maps from coordinates to a relative pose, their parts, and the elementary ones of joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import scipy

from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose

SIZES = {"pose": 12, "matrix": 9}


class Fields:
    """Constants in order, each `name`, `name:SIZE`, `name:matrix` (3 x 3) or `name:pose` (rotation and position).

    `Fields("end:pose", "stiffness:6", "rest")` has twelve, six and one numbers; `+` concatenates layouts.
    """

    def __init__(self, *words: str) -> None:
        self.words = words
        self.at: dict[str, int] = {}
        """Index of each constant."""
        self.size = 0
        """Total number of constants."""
        self._shapes: dict[str, str] = {}
        for word in words:
            name, _, shape = word.partition(":")
            if name in self.at:
                raise ValueError(f"two constants are called '{name}'")
            self.at[name], self._shapes[name] = self.size, shape
            self.size += self._size(name)

    def __add__(self, other: Fields) -> Fields:
        return Fields(*self.words, *other.words)

    def read(self, c: Any) -> Any:
        """The constants `c` by name: scalars, vectors, matrices and poses."""
        return SimpleNamespace(**{name: self._read(c, name) for name in self.at})

    def write(self, **values: Any) -> list[Any]:
        """The numbers in order; a scalar or a sequence of entries by column for each name."""
        if values.keys() != self.at.keys():
            raise ValueError(f"constants {', '.join(self.at)} are needed, not {', '.join(values)}")
        out: list[Any] = []
        for name in self.at:
            given = values[name]
            entries = given if isinstance(given, Sequence) else [given]
            if len(entries) != self._size(name):
                raise ValueError(f"'{name}' has {self._size(name)} numbers, not {len(entries)}")
            out += entries
        return out

    def _size(self, name: str) -> int:
        shape = self._shapes[name]
        return SIZES.get(shape) or int(shape or 1)

    def _read(self, c: Any, name: str) -> Any:
        at, shape = self.at[name], self._shapes[name]
        if shape == "pose":
            return ca.reshape(c[at : at + 9], 3, 3), c[at + 9 : at + 12]
        if shape == "matrix":
            return ca.reshape(c[at : at + 9], 3, 3)
        return c[at : at + int(shape)] if shape else c[at]


@dataclass(frozen=True)
class Vector:
    """`size` plain coordinates whose rates are their time derivatives."""

    size: int

    @property
    def q_size(self) -> int:
        """Number of entries in q, and in v."""
        return self.size

    v_size = q_size

    def rate_matrix(self, q: Any) -> Any:
        """N with `dq/dt = N v`."""
        return ca.DM.eye(self.size)

    def bracket(self, v: Any) -> Any:
        """Gamma with `d(increment)/dt = dv - Gamma(v) increment`: zero, because plain coordinates commute."""
        return ca.DM(self.size, self.size)


@dataclass(frozen=True)
class Quaternion:
    """A free rotation: a unit quaternion in q, the body angular velocity [rad/s] in v."""

    q_size: ClassVar[int] = 4
    v_size: ClassVar[int] = 3

    def rate_matrix(self, q: Any) -> Any:
        """N with `dq/dt = N v`, 4x3."""
        return so3.quaternion_rate_matrix(q)

    def bracket(self, v: Any) -> Any:
        """Gamma with `d(increment)/dt = dv - Gamma(v) increment`; body-side increments give hat(v)."""
        return so3.hat(v)


CoordinatePart = Vector | Quaternion


class WithCoordinates:
    """Base of classes with coordinates, listed in `parts`."""

    parts: tuple[CoordinatePart, ...]

    @cached_property
    def q_size(self) -> int:
        """Number of entries in q."""
        return sum(part.q_size for part in self.parts)

    @cached_property
    def v_size(self) -> int:
        """Number of entries in v."""
        return sum(part.v_size for part in self.parts)


@dataclass(frozen=True)
class Functions:
    """Functions y of one number s that depends on plain coordinates z, with known derivatives.

    Formulas in y are differentiated with respect to y and never through it, which is shorter if y is a long expression.

    Attributes:
        size: number of functions.
        values: `(z, constants) -> y`.
        slopes: `(z, constants, y) -> (dy/ds, ds/dz)`, a column and a row. Those of functions that are never
            differentiated may be NaN.
    """

    size: int
    values: Callable[[Any, Any], Any]
    slopes: Callable[[Any, Any, Any], tuple[Any, Any]]

    def derivative(self, expression: Any, z: Any, constants: Any, y: Any) -> Any:
        """Derivative of a column of formulas in y with respect to z, without the direct dependence on z."""
        by_s, s_by_z = self.slopes(z, constants, y)
        return ca.jtimes(expression, y, by_s) @ s_by_z


@dataclass(frozen=True)
class Motion(WithCoordinates):
    """A type of relative motion between two frames.

    Attributes:
        name: identifies the type; part of generated C names.
        parts: the coordinates, in order.
        constants: number of constants (axis components, lengths, ...) of an instance.
        pose: `(q, constants) -> (R, p)` of the moved frame in the base frame.
        subspace: `(q, constants) -> s`, 6 x len(v): twist of the moved frame in base axes at the base's origin,
            per unit rate. Optional: otherwise computed by differentiating the pose. Give it if it is simpler.
        locate: `(R, p, near) -> q` as numbers: the coordinates of a pose, the closest to given ones. For frames with their own
            poses relative to the world that are initially placed by another node.
        own: `(q, constants, wrench) -> d(s' wrench)/dq`, len(v) x len(v), of motions by plain coordinates, for a wrench that is
            fixed in the base. Optional: otherwise computed by differentiating the subspace. Give it if it is shorter.
        through: `constants -> A`, for plain coordinates that enter only through `z = A q`: `subspace` then takes z instead of
            q and refers to the rates of z, and kernels are differentiated with respect to z.
        functions: of z (or q), which `subspace` takes as a third argument. Optional.
        acceleration: `(q, constants, v) -> ds/dt v`, 6, of motions by plain coordinates. Optional, as `own` is.
        form: name of the runtime's own code for the same formulas (`MOTION_FORMS` in `engine/layout.py`); "kernel"
            for other motions, which are compiled from the formulas.
    """

    name: str
    parts: tuple[CoordinatePart, ...]
    constants: int
    pose: Callable[[Any, Any], Pose]
    subspace: Callable[..., Any] | None = None
    locate: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None
    own: Callable[[Any, Any, Any], Any] | None = None
    through: Callable[[Any], Any] | None = None
    functions: Functions | None = None
    acceleration: Callable[[Any, Any, Any], Any] | None = None
    form: str = "kernel"

    def rate_matrix(self, q: Any) -> Any:
        """N(q) with `dq/dt = N v`."""
        blocks, at = [], 0
        for part in self.parts:
            blocks.append(part.rate_matrix(q[at : at + part.q_size]))
            at += part.q_size
        return ca.diagcat(*blocks) if blocks else ca.DM(0, 0)

    def bracket(self, v: Any) -> Any:
        """Gamma(v), block diagonal over the parts."""
        blocks, at = [], 0
        for part in self.parts:
            blocks.append(part.bracket(v[at : at + part.v_size]))
            at += part.v_size
        return ca.diagcat(*blocks) if blocks else ca.DM(0, 0)

    def twist_per_rate(self, q: Any, constants: Any) -> Any:
        """s(q), 6 x len(v): the given subspace, or the derivative of the pose."""
        if self.subspace is None:
            return self.differentiated_subspace(q, constants)
        A = ca.DM.eye(self.v_size) if self.through is None else self.through(constants)
        z = q if self.through is None else A @ q
        y = () if self.functions is None else (self.functions.values(z, constants),)
        s = self.subspace(z, constants, *y)
        return s if self.through is None else s @ A

    def differentiated_subspace(self, q: Any, constants: Any) -> Any:
        """s(q) by differentiating the pose formula."""
        R, p = self.pose(q, constants)
        rates = ca.jacobian(ca.vertcat(ca.vec(R), p), q) @ self.rate_matrix(q)
        columns = []
        for k in range(self.v_size):
            angular = so3.vee(ca.reshape(rates[0:9, k], 3, 3) @ R.T)
            columns.append(ca.vertcat(rates[9:12, k] - ca.cross(angular, p), angular))
        return ca.horzcat(*columns)


def _screw_pose(q: Any, constants: Any) -> Pose:
    # constants: direction of translation [m per unit], unit axis of rotation (zero for a pure translation).
    # The translation is along the axis (or the axis is zero), so both commute.
    return so3.axis_rotation(constants[3:6], q[0]), constants[0:3] * q[0]


def _screw_subspace(q: Any, constants: Any) -> Any:
    return ca.reshape(constants[0:6], 6, 1)


SCREW = Motion("screw", (Vector(1),), 6, _screw_pose, _screw_subspace, form="screw")
"""One coordinate along a fixed screw: revolute (pure rotation), prismatic (pure translation) or helical."""


def _translation_pose(q: Any, constants: Any) -> Pose:
    return ca.DM.eye(3), q[0:3]


def _translation_subspace(q: Any, constants: Any) -> Any:
    return ca.DM.eye(6)[:, 0:3]


def _translation_locate(R: np.ndarray, p: np.ndarray, near: np.ndarray) -> np.ndarray:
    return np.array(p)


TRANSLATION = Motion(
    "translation", (Vector(3),), 0, _translation_pose, _translation_subspace, _translation_locate, form="translation"
)
"""Three coordinates: displacement [m] along the base axes."""


def _rotation_pose(q: Any, constants: Any) -> Pose:
    return so3.quaternion_matrix(q), ca.DM.zeros(3)


def _rotation_subspace(q: Any, constants: Any) -> Any:
    return ca.vertcat(ca.DM(3, 3), so3.quaternion_matrix(q))


ROTATION = Motion("rotation", (Quaternion(),), 0, _rotation_pose, _rotation_subspace, form="rotation")
"""A free rotation about the base's origin: unit quaternion and body angular velocity."""


@cache
def rotation_vector_motion(free: tuple[int, ...]) -> Motion:
    """Rotation by a vector with these components free, of 0, 1 and 2. Constants: the others, in order [rad]."""

    def vector(q: Any, constants: Any) -> Any:
        fixed = [k for k in range(3) if k not in free]
        return ca.vertcat(*[q[free.index(k)] if k in free else constants[fixed.index(k)] for k in range(3)])

    def pose(q: Any, constants: Any) -> Pose:
        return so3.exp(vector(q, constants)), ca.DM.zeros(3)

    def subspace(q: Any, constants: Any) -> Any:
        return ca.vertcat(ca.DM(3, len(free)), so3.left_jacobian(vector(q, constants))[:, list(free)])

    name = "rotation_vector" + ("" if len(free) == 3 else "_" + "".join(map(str, free)))
    return Motion(name, (Vector(len(free)),), 3 - len(free), pose, subspace)


ROTATION_VECTOR = rotation_vector_motion((0, 1, 2))
"""The rotation vector [rad] (bend, bend, twist), valid below 2 pi."""


def _planar(name: str, along: int, normal: int) -> Motion:
    """Motion in a plane of the base frame that contains its z axis: two displacements [m], then an angle about the normal [rad].

    The angle is a plain number, so it is not limited to one turn.
    """
    first, axis = ca.DM.eye(3)[:, along], ca.DM.eye(3)[:, normal]

    def pose(q: Any, constants: Any) -> Pose:
        return so3.axis_rotation(axis, q[2]), q[0] * first + q[1] * ca.DM([0, 0, 1])

    def subspace(q: Any, constants: Any) -> Any:
        slides = ca.horzcat(first, ca.DM([0, 0, 1]))
        turn = ca.vertcat(ca.cross(q[0] * first + q[1] * ca.DM([0, 0, 1]), axis), axis)
        return ca.horzcat(ca.vertcat(slides, ca.DM(3, 2)), turn)

    def locate(R: np.ndarray, p: np.ndarray, near: np.ndarray) -> np.ndarray:
        # a positive rotation turns z towards x (about y), but away from y (about x)
        angle = np.arctan2(R[along, 2], R[2, 2]) * (1 if along == 0 else -1)
        turns = np.round((near[2] - angle) / (2 * np.pi))
        return np.array([p[along], p[2], angle + 2 * np.pi * turns])

    return Motion(name, (Vector(3),), 0, pose, subspace, locate, form=name)


PLANAR_XZ = _planar("planar_xz", 0, 1)
PLANAR_YZ = _planar("planar_yz", 1, 0)


def _free_pose(q: Any, constants: Any) -> Pose:
    return so3.quaternion_matrix(q[3:7]), q[0:3]


def _free_subspace(q: Any, constants: Any) -> Any:
    R = so3.quaternion_matrix(q[3:7])
    translation = ca.vertcat(ca.DM.eye(3), ca.DM(3, 3))
    return ca.horzcat(translation, ca.vertcat(so3.hat(q[0:3]) @ R, R))


def _free_locate(R: np.ndarray, p: np.ndarray, near: np.ndarray) -> np.ndarray:
    x, y, z, w = scipy.spatial.transform.Rotation.from_matrix(R).as_quat()
    quaternion = np.array([w, x, y, z])
    return np.concatenate([p, quaternion if quaternion @ near[3:7] >= 0 else -quaternion])


FREE = Motion("free", (Vector(3), Quaternion()), 0, _free_pose, _free_subspace, _free_locate, form="free")
"""A free frame: displacement [m] and its rate in base axes, unit quaternion and body angular velocity.

With the centre of mass at the frame's origin this choice of rates makes a free body's mass matrix constant.
"""


def _displacement_pose(q: Any, constants: Any) -> Pose:
    return so3.exp(q[3:6]), q[0:3]


def _displacement_subspace(q: Any, constants: Any) -> Any:
    turn = so3.left_jacobian(q[3:6])
    translation = ca.vertcat(ca.DM.eye(3), ca.DM(3, 3))
    return ca.horzcat(translation, ca.vertcat(so3.hat(q[0:3]) @ turn, turn))


DISPLACEMENT = Motion("displacement", (Vector(6),), 0, _displacement_pose, _displacement_subspace)
"""A displacement [m] in base axes, then a rotation vector [rad], valid below 2 pi: six plain coordinates."""


def _fixed_pose(q: Any, constants: Any) -> Pose:
    return se3.identity()


def _fixed_subspace(q: Any, constants: Any) -> Any:
    return ca.DM(6, 0)


FIXED = Motion("fixed", (), 0, _fixed_pose, _fixed_subspace, form="fixed")
"""No coordinates: a separate frame that is fixed to its base, so that the wrench between the two is computed."""
