"""The three forms of an interaction, and scalar laws shared by several types."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import CoordinatePart, Fields, Functions, Vector, WithCoordinates


@dataclass(frozen=True)
class Smoothing:
    """Distances, widths and rates within which formulas are smooth where they would have kinks."""

    meeting: float = 1e-12
    """Distance below which points of a line count as coincident, relative to their distances from the origin. It is slightly above
    the round-off of their positions, so that the direction of a line changes over distances that coordinates can resolve."""
    at_origin: float = 2e-12
    """If all points of a line are closer to the origin than this [m], there is no reference size, and `MEETING` is
    in metres."""
    sharp: float = 1e-12
    """Width of a sharp switch, relative to the compared values."""
    no_width: float = 1e-18
    """Width of a switch between values that are zero; its square is representable in single precision."""
    slow: float = 1e-6
    """Rate below which dampers with a power below one are linear [m/s, rad/s]."""


SMOOTHING = Smoothing()


@dataclass(frozen=True)
class Effect:
    """Effect of a force element in a state.

    Attributes:
        force: generalized force, or stacked world wrenches (6 per frame).
        energy: stored energy [J].
        dissipation: power turned into heat [W], not negative.
        supply: power supplied by signals, or by changes of coefficients [W].
    """

    force: Any
    energy: Any = 0.0
    dissipation: Any = 0.0
    supply: Any = 0.0


def joined(effects: Sequence[Effect], *, summed: bool = False) -> Effect:
    """Combined effects: energies and powers summed; forces stacked, or summed if they act on the same coordinates."""
    forces = [effect.force for effect in effects]
    return Effect(
        sum(forces[1:], forces[0]) if summed else ca.vertcat(*forces),
        sum(effect.energy for effect in effects),
        sum(effect.dissipation for effect in effects),
        sum(effect.supply for effect in effects),
    )


@dataclass(frozen=True)
class FrameForce:
    """A force element on one or more frames.

    `effect(poses, twists, constants, signals)` returns world wrenches at the world's origin, stacked by frame.
    `tangent` of the same arguments returns their derivatives (K, C, S as in `equations.kernel.frame_force_kernels`)
    if that is much shorter than differentiating the effect, which is done otherwise.
    """

    name: str
    frames: int
    constants: int
    signals: int
    effect: Callable[[Sequence[Pose], Sequence[Any], Any, Any], Effect]
    tangent: Callable[[Sequence[Pose], Sequence[Any], Any, Any], tuple[Any, Any, Any]] | None = None


@dataclass(frozen=True)
class AttachedVector:
    """A world vector that moves with a frame: a point, or a direction, which only rotates."""

    frame: int
    vector: Any
    is_point: bool


@dataclass(frozen=True)
class FrameConstraint:
    """`value(vectors, constants) = prescribed signal`, in `size` components, of vectors attached to the frames.

    `attached(poses, constants)` lists the vectors. Stating the constraint in them keeps its derivatives short: points
    and directions have simple rates, while the entries of composed poses do not.
    """

    name: str
    frames: int
    constants: int
    size: int
    attached: Callable[[Sequence[Pose], Any], list[AttachedVector]]
    value: Callable[[Sequence[Any], Any], Any]


@dataclass(frozen=True)
class CoordinateForce:
    """A force on coordinates, of one motion or of several successive ones: `effect(q, v, constants, signals)`."""

    name: str
    parts: tuple[CoordinatePart, ...]
    constants: int
    signals: int
    effect: Callable[[Any, Any, Any, Any], Effect]


def world_jacobian(expression: Any, poses: Sequence[Pose]) -> Any:
    """Derivative of an expression of symbolic poses with respect to world-side increments, columns by frame."""
    columns = [ca.jacobian(expression, ca.vertcat(ca.vec(R), p)) @ se3.pose_rates((R, p)) for R, p in poses]
    return ca.horzcat(*columns)


def vector_rates(attached: AttachedVector, vector: Any, frames: int) -> Any:
    """3 x 6k: derivative of an attached vector with respect to the frames' increments."""
    blocks = [ca.SX(3, 6) for _ in range(frames)]
    translation = ca.DM.eye(3) if attached.is_point else ca.SX(3, 3)
    blocks[attached.frame] = ca.horzcat(translation, -so3.hat(vector))
    return ca.horzcat(*blocks)


def meeting_square(*points: Any, share: float = SMOOTHING.meeting) -> Any:
    """Term added to squares of distances between points [m^2], so that directions are differentiable where points coincide.

    share: the distance below which they count as coincident, relative to their distances from the origin."""
    square = sum(ca.dot(x, x) for x in points)
    away = ca.fmin(square / SMOOTHING.at_origin**2, 1e4)
    for _ in range(3):
        away = away * away
    return share**2 * (square + 1 / (1 + away))


def switch_width(width: Any, value: Any, rest: Any) -> Any:
    """The width within which a deformation `value - rest` changes sides: the given one, or that of a sharp switch."""
    return ca.fmax(ca.fmax(width, SMOOTHING.sharp * (ca.fabs(value) + ca.fabs(rest))), SMOOTHING.no_width)


def one_sided(value: Any, rest: Any, direction: Any, width: Any) -> tuple[Any, Any, Any]:
    """A deformation `value - rest` that acts on one side of zero only.

    `direction` 0 is both sides, +1 the positive one, -1 the negative one. Within `width` (the unit of `value`) of zero
    the switch is a parabola, so force and tangent are continuous; width 0 switches sharply.

    Returns (the acting deformation, half its square as a consistent energy, the fraction that is active).
    """
    x = value - rest
    d = ca.if_else(direction == 0, x, direction * x)
    w = switch_width(width, value, rest)
    on, fading = d >= w, d > -w
    counted = ca.if_else(on, d, ca.if_else(fading, (d + w) ** 2 / (4 * w), 0.0))
    energy = ca.if_else(on, 0.5 * d * d + w * w / 6, ca.if_else(fading, (d + w) ** 3 / (12 * w), 0.0))
    share = ca.if_else(on, 1.0, ca.if_else(fading, (d + w) / (2 * w), 0.0))
    both = direction == 0
    return (
        ca.if_else(both, x, direction * counted),
        ca.if_else(both, 0.5 * x * x, energy),
        ca.if_else(both, 1.0, share),
    )


def power_law(rate: Any, coefficient: Any, power: Any) -> Any:
    """`coefficient sign(rate) |rate|^power`, exact for powers of at least one. Powers below one have an infinite slope at zero:
    there |rate| is smoothed within `SLOW`."""
    square = ca.if_else(power < 1, SMOOTHING.slow**2, SMOOTHING.no_width**2)
    magnitude = ca.sqrt(rate * rate + square)
    return coefficient * rate * ca.power(magnitude, power - 1)


STOPS = Fields("minimum", "maximum", "stiffness", "dissipation")
"""Constants of `stops`: the ends of the range [m or rad], stiffness [N/m or N m/rad] and dissipation [s/m or s/rad]."""


def pressing(depth: Any, rate: Any, stiffness: Any, dissipation: Any) -> tuple[Any, Any, Any]:
    """Force, stored energy and dissipated power for a depth and its rate, as in `runtime/contact_law.c` with exponent 1."""
    depth = ca.fmax(depth, 0.0)
    spring = stiffness * depth
    force = spring * ca.fmax(1 + dissipation * rate, 0.0)
    return force, 0.5 * spring * depth, (force - spring) * rate


@cache
def stops(count: int, *, lower: bool, upper: bool) -> CoordinateForce:
    """Stops on this number of coordinates, at the lower end of their range, the upper one, or both."""

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at = STOPS.read(c)
        forces, energy, dissipation = [], 0.0, 0.0
        for k in range(count):
            depths = [(at.minimum - q[k], -1)] * lower + [(q[k] - at.maximum, 1)] * upper
            depth, side = depths[0]
            if len(depths) == 2:  # a coordinate is at one end at most, and within the range there is no force
                side = ca.if_else(at.minimum + at.maximum < 2 * q[k], 1, -1)
                depth = ca.fmax(depth, depths[1][0])
            force, stored, lost = pressing(depth, side * v[k], at.stiffness, at.dissipation)
            forces.append(-side * force)
            energy, dissipation = energy + stored, dissipation + lost
        return Effect(ca.vertcat(*forces), energy, dissipation)

    name = f"stops{count}" + ("_lower" if lower else "") + ("_upper" if upper else "")
    return CoordinateForce(name, (Vector(count),), STOPS.size, 0, effect)


POINTS = 8
"""Number of Gauss points of the integral of a force: exact for stiffnesses that are polynomials up to degree 14."""


def gauss(count: int = POINTS) -> tuple[list[float], list[float]]:
    """Gauss-Legendre points and weights on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return list(0.5 * (points + 1)), list(0.5 * weights)


def spring_energy(stiffness: Callable[[Any], Any], rest: Any, value: Any, direction: Any, width: Any) -> Any:
    """Integral of `stiffness(x) counted(x - rest)` from rest to `value`, with `counted` as in `one_sided`.

    direction: 0 for both sides, +1 the positive one, -1 the negative one; the transition at zero has this `width`.
    """
    both, w = direction == 0, switch_width(width, value, rest)
    side = ca.if_else(both, 1.0, direction)
    d = side * (value - rest)

    def integral(begin: Any, end: Any, counted: Callable[[Any], Any]) -> Any:
        total = 0.0
        for point, weight in zip(*gauss(), strict=True):
            s = begin + (end - begin) * point
            total += weight * (end - begin) * stiffness(rest + side * s) * counted(s)
        return total

    start = ca.if_else(both, 0.0, w)
    full = integral(start, ca.if_else(both, d, ca.fmax(d, w)), lambda s: s)
    fading = integral(-w, ca.fmin(ca.fmax(d, -w), w), lambda s: (s + w) ** 2 / (4 * w))
    return full + ca.if_else(both, 0.0, fading)


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
        weightless: whether gravity does not act on it, as on added mass: M may then be any symmetric matrix. Only without
            coordinates.
    """

    name: str
    frames: int
    parts: tuple[CoordinatePart, ...]
    constants: int
    mass: Callable[..., Any]
    through: Callable[[Any], Any] | None = None
    functions: Functions | None = None
    velocity_forces: Callable[..., Any] | None = None
    weightless: bool = False

    def __post_init__(self) -> None:
        """Reject unsupported combinations."""
        if self.frames == 2 and self.parts:
            raise ValueError(f"inertia '{self.name}': one between two frames has no coordinates of its own")
        if self.weightless and self.parts:
            raise ValueError(f"inertia '{self.name}': one without weight has no coordinates of its own")

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
