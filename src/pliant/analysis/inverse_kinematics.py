"""Inverse kinematics of frames, and their manipulability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy
from pydantic import Field

from pliant.analysis.base import Analysis, AnyNumber, Metres, Option, PoseGiven, PureNumber, function_of
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.analysis.numerics.saddle import null_space
from pliant.analysis.numerics.state import assemble, given_state
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import remark
from pliant.analysis.result import Along, AnalysisResult, Poses, Sheet
from pliant.engine.binding import Binding
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values, need_equations
from pliant.engine.initial_states import prescribed_coordinates
from pliant.engine.input_values import inputs_at_time
from pliant.engine.state import State, read_state
from pliant.language.arguments import ArgumentError, array, flag, number, positive, vector
from pliant.language.base import InPython
from pliant.language.message_text import enumeration

MAX_ITERATIONS = 100
# A step is accepted if the error decreases by at least this fraction of the decrease that its linear model predicts.
LEAST_GAIN = 1e-3
# The search ends at steps smaller than this fraction of the coordinates' sizes.
LAST_STEP = 1e-13
# A pose is balanced if the accelerations with which it is left are below this [m/s^2 or rad/s^2].
REST = 1e-3
# Coordinates of a pose in a table.
MOST_SHOWN = 12
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


@on_one_blas_thread
def manipulability(
    eqs: Equations, frame: str, q: Any, *, rotation: bool = False, per_radian: float = 1.0,
    parameters: Values | None = None,
) -> Manipulability:  # fmt: skip
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


@dataclass(frozen=True)
class Reach:
    """A pose that brings a frame to its target, or as close as the search came.

    Attributes:
        status: "reached" or "not reached".
        q: positions in the order of the model's coordinates; by name in `coordinates`.
        position_error [m], rotation_error [rad]: remaining distance to the target.
        at_limits: coordinates at one of their limits.
        manipulability: of the frame in this pose.
        iterations: steps of the search.
    """

    status: str
    q: np.ndarray
    position_error: float
    rotation_error: float
    at_limits: tuple[str, ...]
    manipulability: Manipulability
    iterations: int
    equations: Equations

    @property
    def coordinates(self) -> dict[str, float]:
        """Positions by name."""
        return dict(zip(self.equations.coordinates, self.q.tolist(), strict=True))


@dataclass(frozen=True, repr=False, eq=False)
class Reaches(AnalysisResult):
    """Poses that bring a frame to its target: a sequence of `Reach`es, the nearest to the start first; if none was found, the pose
    that comes nearest to the target.

    Attributes:
        q: positions, poses x coordinates.
        position_errors, rotation_errors: remaining distances to the target.
        at_limits: coordinates at one of their limits, for each pose.
        measures: Yoshikawa's measure of the frame in each pose, with its angular velocity if the target has a rotation.
        iterations: steps of each search.
        reached: whether the poses reach the target.
    """

    q: Annotated[np.ndarray, Along("pose", "coordinate")]
    position_errors: Annotated[np.ndarray, Along("pose", unit="m")]
    rotation_errors: Annotated[np.ndarray, Along("pose", unit="rad")]
    at_limits: Annotated[tuple[str, ...], Along("pose")]
    measures: Annotated[np.ndarray, Along("pose")]
    iterations: Annotated[np.ndarray, Along("pose")]
    reached: Annotated[bool, Along()]
    frame: str
    with_rotation: bool
    per_radian: float
    equations: Equations
    status: Status = Status.CONVERGED
    message: str = ""

    @cached_property
    def found(self) -> tuple[Reach, ...]:
        """The poses, one by one."""
        word, eqs = "reached" if self.reached else "not reached", self.equations
        ability = partial(manipulability, eqs, self.frame, rotation=self.with_rotation, per_radian=self.per_radian)
        columns = (
            self.q,
            self.position_errors.tolist(),
            self.rotation_errors.tolist(),
            self.at_limits,
            self.iterations,
        )
        return tuple(
            Reach(word, q, away, turned, tuple(filter(None, stuck.split(", "))), ability(q), int(count), eqs)
            for q, away, turned, stuck, count in zip(*columns, strict=True)
        )

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[Reach]:
        return iter(self.found)

    def __getitem__(self, index: int) -> Reach:
        return self.found[index]

    def sheets(self) -> tuple[Sheet, ...]:
        """The poses."""
        names = self.equations.coordinates
        rows = tuple(
            (str(k + 1), f"{self.position_errors[k]:.2g}", f"{self.rotation_errors[k]:.2g}",
             ", ".join(f"{name} = {x:.6g}" for name, x in zip(names[:MOST_SHOWN], row, strict=False)))
            for k, row in enumerate(self.q)
        )  # fmt: skip
        return (Sheet(("pose", "distance [m]", "rotation [rad]", "coordinates (SI)"), rows),)

    def poses(self) -> Iterator[Poses]:
        """The poses."""
        for k, row in enumerate(self.q):
            yield Poses(f"pose {k + 1}", np.array([row, row]), np.array([0.0, 1.0]), words=f"pose {k + 1}")


class _Search:
    """A search for one target. sizes: of the robot and of increments, as returned by `Binding.sizes`."""

    def __init__(self, eqs: Equations, asked: InverseKinematics, sizes: tuple[float, np.ndarray]) -> None:
        check_names("frame", [asked.frame], eqs.frame_names)
        self.eqs, self.frame = eqs, asked.frame
        self.bound: Binding = eqs.binding
        self.nv, (self.size, self.sizes) = self.bound.nv, sizes
        self.per_radian = 0.1 * self.size if asked.per_radian is None else positive("per_radian", asked.per_radian)
        self.tolerance = 1e-9 * self.size if asked.tolerance is None else positive("tolerance", asked.tolerance)
        self.position = vector("a target position", asked.position, 3)
        self.rotation = None if asked.rotation is None else array("a target rotation", asked.rotation, (3, 3))
        if self.rotation is not None and (not np.allclose(self.rotation @ self.rotation.T, np.eye(3), atol=1e-6)):
            raise ArgumentError("a target rotation is a rotation matrix, 3 x 3")
        self.group = ConfigurationGroup(eqs.model.system)
        self.lower, self.upper = np.full(self.nv, -np.inf), np.full(self.nv, np.inf)
        plain = {c.name: c for c in eqs.model.coordinates if not c.is_rotation}
        for name, (low, high) in (asked.limits or {}).items():
            check_names("plain coordinate", [name], plain)
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
        here = self.eqs.frame(self.frame, q)
        J = self.eqs.frame_jacobian(self.frame, q)
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
        here = self.eqs.frame(self.frame, q)
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
                self.eqs, self.frame, q, rotation=self.rotation is not None, per_radian=self.per_radian
            ),
            iterations=iterations,
            equations=self.eqs,
        )  # fmt: skip

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


# -- remarks -----------------------------------------------------------------------------------------------------------


@remark(
    f"accelerations above {REST:g} m/s^2 or rad/s^2 in a pose of a robot with rods or meshes", "below, it hardly moves"
)
def poses_not_at_rest(eqs: Equations, result: Reaches) -> str | None:
    """Poses of deformable robots that are no equilibria."""
    spec = eqs.model.spec
    if not (spec.rods or spec.meshes):
        return None
    still = np.zeros(len(eqs.rates))
    largest = max(float(np.max(np.abs(eqs.forward_dynamics(State(q, still))[0]), initial=0.0)) for q in result.q)
    if largest <= REST:
        return None
    return (
        f"a pose is not an equilibrium with the current inputs (accelerations up to {largest:.3g}): the search is kinematic "
        "and ignores elasticity and weight. `pliant.control.rest_with` finds the equilibrium with a frame in a given "
        "place and the inputs for it, `pliant.required_inputs` the inputs that balance this pose best"
    )


@remark("the target was not reached and a coordinate follows a prescribed motion", "the search cannot move it")
def prescribed_joints_hold(eqs: Equations, result: Reaches) -> str | None:
    """Joints that a search which did not reach its target could not move."""
    driven = [eqs.coordinates[entry.q_at] for entry in prescribed_coordinates(eqs.model)]
    if result.reached or not driven:
        return None
    listed = enumeration([f"'{name}'" for name in driven])
    return (
        f"{listed} follow{'s' * (len(driven) == 1)} a prescribed motion and cannot be moved by the search: give other values "
        "of the inputs that prescribe them, or remove their `motion`"
    )


class InverseKinematics(Analysis):
    """Poses that bring a frame to a position, and to a rotation if one is given.

    The search is a damped Gauss-Newton method with exact Jacobians on the group of positions, from `start` and from random poses
    around it. Different poses are returned, the nearest to the start first; where none reaches the target, the one that comes
    nearest to it. If the robot is redundant for the target, each start leads to another pose near it. Constraints are satisfied.

    The search is kinematic: forces play no part. Coordinates of rods and meshes are varied like those of joints, so a pose of a
    deformable robot is in general not an equilibrium, which a remark states. `pliant.control.rest_with` finds the equilibrium with
    a frame in a given place, and the inputs for it; `pliant.required_inputs` the inputs that balance a pose best.
    """

    name: ClassVar[str] = "inverse_kinematics"
    title: ClassVar[str] = "Inverse kinematics"
    result = Reaches
    remarks = (poses_not_at_rest, prescribed_joints_hold)
    state: ClassVar[str] = "start"
    first: ClassVar[tuple[str, ...]] = ("frame", "position", "rotation")

    frame: str
    """Frame to bring to the target."""
    position: Annotated[tuple[Metres, Metres, Metres], Option("X,Y,Z")]
    """Target of its origin [m]."""
    rotation: Annotated[Any, InPython()] = None
    """Target of its axes: a rotation matrix, 3 x 3, in world axes."""
    start: PoseGiven = "initial"
    """Pose from which the search starts: `initial`, or coordinates by name."""
    limits: Annotated[dict[str, tuple[AnyNumber, AnyNumber]] | None, Option("NAME=LOW,HIGH")] = None
    """Lowest and highest value of coordinates."""
    starts: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 10
    """Number of starts, all but the first random."""
    spread: PureNumber = 1.0
    """Standard deviation of the random increments, relative to the robot's size or in rad [-]."""
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)] = 0
    """Seed of the random starts."""
    per_radian: Metres | None = None
    """Length that a radian of rotation error counts as [m]; default: a tenth of the robot's size."""
    tolerance: Metres | None = None
    """Error that counts as reached [m, and per_radian times rad]; default: a billionth of the robot's size."""

    def run(self, eqs: Equations) -> Reaches:
        """Search from each start, and sort the poses."""
        number("spread", self.spread, at_least=0)
        eqs = eqs.at(inputs=inputs_at_time(eqs, self.inputs, self.parameters, 0.0), parameters=self.parameters)
        first = given_state(eqs, self.start, 0.0, where="start").q
        search = _Search(eqs, self, eqs.binding.sizes(first))
        rng = np.random.default_rng(self.seed)
        reaches: list[Reach] = []
        for k in range(self.starts):
            increment = np.zeros(search.nv) if k == 0 else search.sizes * rng.normal(scale=self.spread, size=search.nv)
            reach = search.run(search.bound.increment(first, increment))
            if not any(search.same(reach, other) for other in reaches):
                reaches.append(reach)
        reached = [r for r in reaches if r.status == "reached"]
        nearest = [min(reaches, key=lambda r: r.position_error + search.per_radian * r.rotation_error)]
        home = search.poses(first)
        poses = tuple(sorted(reached, key=lambda r: float(np.linalg.norm(search.poses(r.q) - home))) or nearest)
        return Reaches(
            np.array([r.q for r in poses]), np.array([r.position_error for r in poses]),
            np.array([r.rotation_error for r in poses]), tuple(", ".join(r.at_limits) for r in poses),
            np.array([r.manipulability.measure for r in poses]), np.array([r.iterations for r in poses]), bool(reached),
            self.frame, self.rotation is not None, search.per_radian, eqs, Status.CONVERGED if reached else Status.STOPPED,
            f"{len(poses)} pose{'s' * (len(poses) > 1)} found" if reached else
            f"the target is not reached: the nearest pose found is {poses[0].position_error:.3g} m and "
            f"{poses[0].rotation_error:.3g} rad away",
        )  # fmt: skip


inverse_kinematics = function_of(InverseKinematics)
