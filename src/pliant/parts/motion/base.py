"""Definition of a motion: coordinates in parts (plain vectors, unit quaternions) and a pose formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from pliant.parts.geometry import so3
from pliant.parts.geometry.se3 import Pose


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
