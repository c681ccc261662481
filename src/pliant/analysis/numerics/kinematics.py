"""Forward and inverse kinematics of frames, and their manipulability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.analysis.numerics.independent_coordinates import null_space
from pliant.analysis.numerics.state import Start, assemble, given_state
from pliant.engine.binding import Binding
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values, need_equations
from pliant.engine.frames import FrameMotion
from pliant.engine.initial_states import prescribed_coordinates
from pliant.engine.state import State, read_state
from pliant.language.arguments import ArgumentError, array, flag, mapping, number, positive, vector, whole
from pliant.language.message_text import enumeration

MAX_ITERATIONS = 100
# A step is accepted if the error decreases by at least this fraction of the decrease that its linear model predicts.
LEAST_GAIN = 1e-3
# The search ends at steps smaller than this fraction of the coordinates' sizes.
LAST_STEP = 1e-13
# A pose is balanced if the accelerations with which it is left are below this [m/s^2 or rad/s^2].
REST = 1e-3
# Poses that differ by less are equal: node positions, as fractions of the robot's size, and directions [-].
SAME_POSE = 1e-5


@dataclass(frozen=True)
class Manipulability:
    """How a frame moves per unit of the rates, in one pose.

    Attributes:
        measure: product of the singular values of the Jacobian (Yoshikawa's measure): zero in a singular pose.
        singular_values: largest first.
        directions: the corresponding motions of the frame (columns): unit vectors of (velocity [m/s], angular velocity
            [rad/s] times the length `per_radian`) in world axes.
        rank: number of directions in which the frame can move.
    """

    measure: float
    singular_values: np.ndarray
    directions: np.ndarray
    rank: int


@dataclass(frozen=True)
class Reach:
    """A pose that brings a frame to its target, or as close as the search came.

    Attributes:
        status: "reached" or "not reached".
        q: positions in the order of the model's coordinates.
        position_error [m], rotation_error [rad]: remaining distance to the target.
        at_limits: coordinates at one of their limits.
        manipulability: of the frame in this pose.
        iterations: steps of the search.
        warnings: that a deformable robot is not at rest in this pose with its current inputs.
    """

    status: str
    q: np.ndarray
    position_error: float
    rotation_error: float
    at_limits: tuple[str, ...]
    manipulability: Manipulability
    iterations: int
    equations: Equations
    parameters: Values
    warnings: tuple[str, ...] = ()

    @property
    def coordinates(self) -> dict[str, float]:
        """Positions by name."""
        return dict(zip(self.equations.coordinates, self.q.tolist(), strict=True))


def forward_kinematics(
    eqs: Equations, frame: str, q: Any, *, relative_to: str = "world", parameters: Values | None = None
) -> FrameMotion:
    """Position and rotation of a frame in another one, at positions q (or a State)."""
    need_equations(eqs)
    check_names("frame", [frame, relative_to], (*eqs.frame_names, "world"))
    here = eqs.frame(frame, q, parameters=parameters)
    if relative_to == "world":
        return here
    base = eqs.frame(relative_to, q, parameters=parameters)
    return FrameMotion(base.rotation.T @ (here.position - base.position), base.rotation.T @ here.rotation)


@on_one_blas_thread
def manipulability(
    eqs: Equations,
    frame: str,
    q: Any,
    *,
    rotation: bool = False,
    per_radian: float = 1.0,
    parameters: Values | None = None,
) -> Manipulability:
    """Manipulability of a frame in a pose (positions or a State): of its velocity, with `rotation` of its angular velocity too.

    per_radian: length [m] by which angular velocities are scaled if both are used. Constraints are respected.
    """
    need_equations(eqs)
    check_names("frame", [frame], eqs.frame_names)
    flag("rotation", rotation)
    number("per_radian", per_radian)
    bound = eqs.at(parameters=parameters).binding
    q = read_state(eqs.model, q, at_rest=True).q
    J = eqs.frame_jacobian(frame, q, parameters=parameters)
    J = np.vstack([J[:3], per_radian * J[3:]]) if rotation else J[:3]
    if bound.m:
        J = J @ null_space(bound.constraints(0.0, q, np.zeros(bound.nv))[3].toarray())
    if J.shape[1] == 0:
        return Manipulability(0.0, np.zeros(0), np.zeros((len(J), 0)), 0)
    directions, values, _ = np.linalg.svd(J, full_matrices=False)
    # with fewer rates than components the frame cannot move in all of them
    measure = float(np.prod(values)) if J.shape[1] >= J.shape[0] else 0.0
    return Manipulability(measure, values, directions, int(np.sum(values > 1e-9 * max(values[0], 1e-300))))


@on_one_blas_thread
def inverse_kinematics(
    eqs: Equations,
    frame: str,
    position: Sequence[float] | np.ndarray,
    rotation: Any = None,
    *,
    start: Start = "initial",
    limits: Mapping[str, tuple[float, float]] | None = None,
    starts: int = 10,
    spread: float = 1.0,
    seed: int = 0,
    per_radian: float | None = None,
    tolerance: float | None = None,
    parameters: Values | None = None,
) -> list[Reach]:
    """Poses that bring a frame to a position [m], and to a rotation (matrix 3 x 3 in world axes) if one is given.

    The search is a damped Gauss-Newton method with exact Jacobians on the group of positions, from `start` (the model's by default)
    and from random poses around it (`starts` in all, increments of standard deviation `spread`, relative to the robot's size or
    in rad). Different poses are returned, the nearest to the start first; where none reaches the target, the one that comes nearest
    to it. If the robot is redundant for the target, each start leads to another pose near it.

    limits: lowest and highest value of plain coordinates. per_radian: length [m] that a radian of rotation error counts as,
    by default a tenth of the robot's size. tolerance: error [m, and per_radian times rad] that counts as reached, by default a
    billionth of the robot's size. Constraints are satisfied.

    The search is kinematic: forces play no part. Coordinates of rods and meshes are varied like those of joints, so a pose of a
    deformable robot is in general not an equilibrium, which its `warnings` state. `pliant.control.rest_with` finds the equilibrium
    with a frame in a given place, and the inputs for it; `pliant.required_inputs` the inputs that balance a pose best.
    """
    need_equations(eqs)
    starts = whole("starts", starts, least=1, most=1_000_000)
    number("spread", spread, at_least=0)
    seed = whole("seed", seed, least=0)
    here = eqs.at(parameters=parameters)
    first = given_state(here, start, 0.0, where="start").q
    search = _Search(
        eqs,
        frame,
        position,
        rotation,
        mapping("limits", limits),
        per_radian,
        tolerance,
        parameters,
        here.binding.sizes(first),
    )
    rng = np.random.default_rng(seed)
    found: list[Reach] = []
    for k in range(starts):
        increment = np.zeros(search.nv) if k == 0 else search.sizes * rng.normal(scale=spread, size=search.nv)
        result = search.run(search.bound.increment(first, increment))
        if not any(search.same(result, other) for other in found):
            found.append(result)
    reached = [r for r in found if r.status == "reached"]
    if not reached:
        return [min(found, key=lambda r: r.position_error + search.per_radian * r.rotation_error)]
    home = search.poses(first)
    return sorted(reached, key=lambda r: float(np.linalg.norm(search.poses(r.q) - home)))


class _Search:
    def __init__(
        self,
        eqs: Equations,
        frame: str,
        position: Any,
        rotation: Any,
        limits: Mapping[str, tuple[float, float]],
        per_radian: float | None,
        tolerance: float | None,
        parameters: Values | None,
        sizes: tuple[float, np.ndarray],
    ) -> None:
        """sizes: of the robot and of increments, as returned by `Binding.sizes`."""
        check_names("frame", [frame], eqs.frame_names)
        self.eqs, self.frame, self.parameters = eqs, frame, dict(parameters or {})
        self.bound: Binding = eqs.at(parameters=parameters).binding
        self.nv, (self.size, self.sizes) = self.bound.nv, sizes
        self.per_radian = 0.1 * self.size if per_radian is None else positive("per_radian", per_radian)
        self.tolerance = 1e-9 * self.size if tolerance is None else positive("tolerance", tolerance)
        self.position = vector("a target position", position, 3)
        self.rotation = None if rotation is None else array("a target rotation", rotation, (3, 3))
        if self.rotation is not None and (not np.allclose(self.rotation @ self.rotation.T, np.eye(3), atol=1e-6)):
            raise ArgumentError("a target rotation is a rotation matrix, 3 x 3")
        self.group = ConfigurationGroup(eqs.model.system)
        self.lower, self.upper = np.full(self.nv, -np.inf), np.full(self.nv, np.inf)
        plain = {c.name: c for c in eqs.model.coordinates if not c.is_rotation}
        for name, pair in limits.items():
            check_names("plain coordinate", [name], plain)
            try:
                low, high = (float(x) for x in pair)
            except (TypeError, ValueError):
                raise ArgumentError(f"the limits of '{name}' are not two numbers", "write (-1.0, 1.0)") from None
            if not low < high:
                raise ArgumentError(f"the limits of '{name}' exclude each other: {low:g} to {high:g}")
            self.lower[plain[name].v_at], self.upper[plain[name].v_at] = low, high
        self.names = {c.v_at: c.name for c in plain.values()}

    def run(self, q: np.ndarray) -> Reach:
        q = self._inside(q)
        error, J = self._errors(q)
        damping, iterations = 1e-3, 0
        while iterations < MAX_ITERATIONS and np.linalg.norm(error) > 0.01 * self.tolerance:
            iterations += 1
            step = self._step(q, error, J, damping)
            candidate = self._inside(self.bound.increment(q, step))
            new_error, new_J = self._errors(candidate)
            promised = error @ error - np.sum((error + J @ step) ** 2)
            if error @ error - new_error @ new_error >= LEAST_GAIN * promised > 0:
                q, error, J = candidate, new_error, new_J
                damping = max(1e-12, 0.1 * damping)
            else:
                damping = 10 * damping
            if np.abs(step / self.sizes).max(initial=0.0) < LAST_STEP or damping > 1e12:
                break
        if self.bound.m:
            q = assemble(self.eqs, self.bound, 0.0, q, np.zeros(self.nv)).q
        return self._result(q, iterations)

    def _step(self, q: np.ndarray, error: np.ndarray, J: np.ndarray, damping: float) -> np.ndarray:
        """Minimize |error + J x|^2 + damping |x|^2 within the limits, with x in units of the coordinates' sizes and damping
        relative to the Jacobian."""
        J = J * self.sizes
        weight = np.sqrt(damping) * max(np.linalg.norm(J), 1e-300)
        rows, target = np.vstack([J, weight * np.eye(self.nv)]), np.concatenate([-error, np.zeros(self.nv)])
        here = self._plain(q) / self.sizes
        low, high = self.lower / self.sizes - here, self.upper / self.sizes - here
        step = np.linalg.lstsq(rows, target, rcond=None)[0]
        if np.any(step < low) or np.any(step > high):
            # at a limit the interval has no interior on that side, which the method requires
            room = 1e-12 * (1 + np.abs(here))
            step = scipy.optimize.lsq_linear(
                rows, target, (np.minimum(low, -room), np.maximum(high, room)), method="bvls"
            ).x
        return np.asarray(step * self.sizes)

    def _errors(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Position, rotation (as a length) and constraint errors, and their exact derivatives by increments of q."""
        here = self.eqs.frame(self.frame, q, parameters=self.parameters)
        J = self.eqs.frame_jacobian(self.frame, q, parameters=self.parameters)
        errors, rows = [here.position - self.position], [J[:3]]
        if self.rotation is not None:
            turn = _rotation_vector(here.rotation @ self.rotation.T)
            errors.append(self.per_radian * turn)
            rows.append(self.per_radian * _inverse_tangent(turn) @ J[3:])
        if self.bound.m:
            phi, _, _, constraint = self.bound.constraints(0.0, q, np.zeros(self.nv))
            unit = self.size / self.bound.constraint_sizes(0.0, q, np.zeros(self.nv))
            errors.append(unit * phi)
            rows.append(unit[:, None] * constraint.toarray())
        return np.concatenate(errors), np.vstack(rows)

    def _plain(self, q: np.ndarray) -> np.ndarray:
        out = np.zeros(self.nv)
        out[self.group.plain_v] = q[self.group.plain_q]
        return out

    def _inside(self, q: np.ndarray) -> np.ndarray:
        out = np.array(q)
        bounded = np.clip(self._plain(q), self.lower, self.upper)
        out[self.group.plain_q] = bounded[self.group.plain_v]
        return out

    def _result(self, q: np.ndarray, iterations: int) -> Reach:
        here = self.eqs.frame(self.frame, q, parameters=self.parameters)
        away = float(np.linalg.norm(here.position - self.position))
        turned = 0.0
        if self.rotation is not None:
            turned = float(np.linalg.norm(_rotation_vector(here.rotation @ self.rotation.T)))
        values = self._plain(q)
        room = 1e-9 * (self.sizes + np.abs(values))
        stuck = (values <= self.lower + room) | (values >= self.upper - room)
        reached = max(away, self.per_radian * turned) <= self.tolerance
        return Reach(
            status="reached" if reached else "not reached",
            q=q,
            position_error=away,
            rotation_error=turned,
            at_limits=tuple(name for at, name in self.names.items() if stuck[at]),
            manipulability=manipulability(
                self.eqs, self.frame, q, rotation=self.rotation is not None, per_radian=self.per_radian,
                parameters=self.parameters,
            ),
            iterations=iterations,
            equations=self.eqs,
            parameters=self.parameters,
            warnings=(*(() if reached else self._reasons(q)), *self._remarks(q)),
        )  # fmt: skip

    def _reasons(self, q: np.ndarray) -> tuple[str, ...]:
        """Joints that a search which did not reach its target could not move."""
        driven = [self.eqs.coordinates[entry.q_at] for entry in prescribed_coordinates(self.eqs.model)]
        if not driven:
            return ()
        listed = enumeration([f"'{name}'" for name in driven])
        return (
            f"{listed} follow{'s' * (len(driven) == 1)} a prescribed motion and cannot be moved by the search: give other values "
            "of the inputs that prescribe them (`eqs.at(inputs=...)`), or remove their `motion`",
        )

    def _remarks(self, q: np.ndarray) -> tuple[str, ...]:
        """That a robot with rods or meshes is not at rest in this pose."""
        spec = self.eqs.model.spec
        if not (spec.rods or spec.meshes):
            return ()
        still = np.zeros(self.nv)
        moved, _ = self.eqs.forward_dynamics(State(q, still), parameters=self.parameters)
        largest = float(np.max(np.abs(moved), initial=0.0))
        if largest <= REST:
            return ()
        return (
            f"the pose is not an equilibrium with the current inputs (accelerations up to {largest:.3g}): the search is kinematic "
            "and ignores elasticity and weight. `pliant.control.rest_with` finds the equilibrium with a frame in a given "
            "place and the inputs for it, `pliant.required_inputs` the inputs that balance this pose best",
        )

    def poses(self, q: np.ndarray) -> np.ndarray:
        """Positions, in units of the robot's size, and directions of all nodes, as one row: independent of full turns of angles."""
        R, p = self.bound.node_poses(q)
        return np.concatenate([p.ravel() / self.size, R.ravel()])

    def same(self, a: Reach, b: Reach) -> bool:
        return bool(np.abs(self.poses(a.q) - self.poses(b.q)).max() < SAME_POSE)


def _rotation_vector(R: np.ndarray) -> np.ndarray:
    return np.asarray(scipy.spatial.transform.Rotation.from_matrix(R).as_rotvec())


def _inverse_tangent(turn: np.ndarray) -> np.ndarray:
    """d(rotation vector of R)/d(world-side increment of R): the inverse of the left tangent of exp."""
    angle = float(np.linalg.norm(turn))
    hat = np.array([[0, -turn[2], turn[1]], [turn[2], 0, -turn[0]], [-turn[1], turn[0], 0]])
    # (1 - a/2 cot(a/2)) / a^2
    factor = 1 / 12 + angle**2 / 720 if angle < 1e-2 else (1 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
    return np.asarray(np.eye(3) - 0.5 * hat + factor * hat @ hat)
