"""Non-rigid inertia: mass that moves with frames and with coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca

from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion.base import CoordinatePart, Functions, WithCoordinates


@dataclass(frozen=True)
class Inertia(WithCoordinates):
    """A type of inertia with the kinetic energy `1/2 W' M W`.

    W stacks the body twists of its frames (linear, angular; 6 per frame) and the rates v of its coordinates. The
    equations follow from M alone (`pliant.engine.kernel`).

    Gravity is treated as an acceleration of the ground, as for rigid masses. So M must contain the mass moved by a common motion
    of all frames: with one frame its first six rows and columns are those of a rigid body, mass, first and second moments, and
    the derivative of the first moments with respect to the coordinates is in the rows of the linear velocity.

    Attributes:
        name: identifies the type; part of generated C names.
        frames: 1 or 2.
        parts: its coordinates, in order; none, or, with one frame, those of one or more elements.
        constants: number of constants of an instance, without placements of its frames.
        mass: `(pose, q, constants) -> M`, square of size 6 frames + len(v), symmetric; or a pair `(J, G)` with
            `M = J' G J`, where J is sparse or G constant: kernels are then shorter. With two frames `pose` is (R, p) of
            the second frame relative to the first, with one it is None.
        through: `constants -> A`, for coordinates that enter M only through `z = A q`: `mass` then takes z instead of q, and
            M refers to the rates of z. Kernels are differentiated with respect to z.
        functions: of z (or q), which `mass` takes as a fourth argument. Optional.
        velocity_forces: `(pose, q, W, constants) -> h`, the forces on W required by the velocities at `dW/dt = 0`; q, W and a
            last argument as for `mass`. Optional: otherwise computed by differentiating M. Give it if it is shorter.
    """

    name: str
    frames: int
    parts: tuple[CoordinatePart, ...]
    constants: int
    mass: Callable[..., Any]
    through: Callable[[Any], Any] | None = None
    functions: Functions | None = None
    velocity_forces: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        """Reject unsupported combinations."""
        if self.frames == 2 and self.parts:
            raise ValueError(f"inertia '{self.name}': one between two frames has no coordinates of its own")

    @property
    def size(self) -> int:
        """Number of entries in W."""
        return 6 * self.frames + self.v_size

    def mass_matrix(self, pose: Pose | None, q: Any, constants: Any) -> Any:
        """M with respect to the twists of the frames and the rates of q."""
        own = ca.SX.eye(self.v_size) if self.through is None else self.through(constants)
        z = q if self.through is None else own @ q
        y = () if self.functions is None else (self.functions.values(z, constants),)
        M = self.mass(pose, z, constants, *y)
        J, G = M if isinstance(M, tuple) else (ca.SX.eye(M.shape[0]), M)
        into = J @ ca.diagcat(ca.SX.eye(6 * self.frames), own)
        return into.T @ G @ into
