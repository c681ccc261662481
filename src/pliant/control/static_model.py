"""Equilibria with given values of a task, found by varying the inputs: the basis of quasi-static control and planning."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.analysis.equilibrium import Equilibrium, equilibrium
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.saddle import saddle_matrix
from pliant.analysis.numerics.state import Start, assemble, given_state
from pliant.analysis.statics.stability import judge
from pliant.control.limits import Limits, OutOfReach, Shortfalls, actuator_limits, check_holding, closest_inputs
from pliant.control.required_inputs import balancing_inputs
from pliant.control.task import Coordinates, FramePosition, SearchTask, Task, check_task, parts, searched
from pliant.engine.contacts import contacts_at_rest
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values, with_independent_rows
from pliant.language.arguments import mapping, name_tuple, number, vector


@dataclass(frozen=True)
class RestSearch:
    """Numbers of the search for equilibria and for the inputs that hold a task."""

    settled: float = 1e-9
    """An equilibrium has converged when a step changes it by less than this [m or rad]."""
    reached: float = 1e-6
    """A target with a larger remaining error is out of reach [m or rad]."""
    shortest_stage: float = 1 / 64
    """Smallest fraction of a change of inputs: if it fails, there is no equilibrium nearby."""
    patience: int = 6
    """Number of Newton steps after which a search keeps close to its current inputs."""
    largest: float = 1e9
    """A search with larger coordinates has diverged [m or rad]."""
    softest: float = 1e-6
    """Stiffness relative to the acting forces below which a robot is treated as having none."""
    round_off: float = 1e-12
    """Inputs whose forces are below this fraction of the acting forces are zero."""


SEARCH = RestSearch()


PIECES = 1, 5, 25
"""Number of steps to approach a target that Newton's method does not reach at once."""


HINT = "Choose another target, widen the limits, add inputs, or use the nearest (`least_squares`)"


class StaticModel:
    """An equilibrium of a model that is moved by its inputs such that a task has given values."""

    def __init__(
        self, eqs: Equations, task: Task, inputs: tuple[str, ...] | None, limits: Limits | None,
        parameters: Values | None,
    ) -> None:  # fmt: skip
        check_task(eqs, task)
        self.eqs, self.task, self.parameters = eqs, task, parameters
        self.inputs = name_tuple(inputs, "inputs") or eqs.model.force_inputs or eqs.model.actuators
        self.limits = actuator_limits(eqs, self.inputs, limits)
        self.weights = np.ones(task.size)

    def reset(self, inputs: Values, near: np.ndarray | None = None) -> None:
        """Begin from the equilibrium with these inputs (unnamed ones: those of the model), or else from the pose `near` itself."""
        rest = self.rest(inputs, near)
        if rest.status == "converged":
            return
        if near is None:
            raise ValueError(f"the model has no equilibrium to start from: {rest.message}")
        self.begin(near, inputs)

    def rest(self, inputs: Values, near: np.ndarray | None) -> Equilibrium:
        """Begin from the equilibrium with these inputs that is found from a pose (None: the model's), if there is one."""
        self._take(inputs)
        rest = equilibrium(self.eqs, start=near, inputs=self.values, parameters=self.parameters, on_failure="return")
        if rest.status == "converged":
            self.q, self.multipliers = rest.q, rest.multipliers
        return rest

    def begin(self, q: np.ndarray, inputs: Values) -> None:
        """Begin from a pose and the inputs that best balance it."""
        self._take(inputs)
        bound = self.eqs.at(inputs=self.values, parameters=self.parameters).binding
        zero = np.zeros(bound.nv)
        self.q = assemble(self.eqs, bound, 0.0, np.array(q, dtype=float), zero).q
        balance = balancing_inputs(
            self.eqs, self.q, zero, zero, use=self.inputs, limits=Limits(self.limits.lower, self.limits.upper),
            preferred=self.values, inputs=self.values, parameters=self.parameters,
        )  # fmt: skip
        self.values |= balance.inputs
        self.multipliers = balance.multipliers if len(balance.multipliers) else np.zeros(bound.m)

    def _take(self, inputs: Values) -> None:
        check_names("input", inputs, self.eqs.inputs)
        values = dict(zip(self.eqs.inputs, self.eqs.input_vector(), strict=True)) | dict(inputs)
        self.values = {name: number(f"input '{name}'", values[name]) for name in self.eqs.inputs}
        self.preferred = np.clip(self.u, *self.limits.bounds(self.inputs))

    @property
    def u(self) -> np.ndarray:
        """The inputs in use (m)."""
        return np.array([self.values[name] for name in self.inputs])

    def sensitivity(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivative of the pose with respect to the inputs at equilibrium (nv x m), of the task (k x m), and the imbalance of
        the pose (nv)."""
        here = self._searched()
        solved = self._solve(here, np.zeros(0), pinned=False)
        self._by_input, self.weights = solved[:, :-1], here.weights
        return self._by_input, here.jacobian @ self._by_input, solved[:, -1]

    def lag(self, rate: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
        """Lag of the task (k) behind its equilibrium when it moves with this rate and acceleration (k each).

        Damping and inertia of that motion deform the robot like loads; at the pose of the last `sensitivity`.
        """
        (kkt, damping, mass), T, by_input = self._moving, self._searched().jacobian, self._by_input
        motion = by_input @ np.linalg.lstsq(T @ by_input, np.column_stack([rate, acceleration]), rcond=None)[0]
        load = damping @ motion[:, 0] + mass @ motion[:, 1]
        return np.asarray(T @ np.linalg.solve(kkt, np.concatenate([load, np.zeros(len(kkt) - len(load))]))[: len(load)])

    def _searched(self) -> SearchTask:
        return searched(self.task, self.eqs, self.q, self.parameters)

    def _solve(self, here: SearchTask, ahead: np.ndarray, *, pinned: bool) -> np.ndarray:
        """Newton's step of the pose per input, and without inputs in the last column (nv x (m + 1)).

        If `pinned`, springs without force at the target, `ahead` of the current value (weighted), pull the task toward it. They
        do not change the equilibrium at a reachable target, but keep a robot without stiffness close to the task.
        """
        eqs, T = self.eqs, here.weights[:, None] * here.jacobian
        values = eqs.at(inputs=self.values, parameters=self.parameters).binding
        zero = np.zeros(values.nv)
        bound = with_independent_rows(values, 0.0, self.q, zero)
        linear = bound.linearized(0.0, self.q, zero, zero, self.multipliers)
        on = bound.active_rows
        J, K, drive = linear.jacobian.toarray()[on], linear.stiffness.toarray(), -linear.residual
        columns = [eqs.inputs.index(name) for name in self.inputs]
        force = -eqs.input_derivative(self.q, zero, inputs=self.values, parameters=self.parameters)[:, columns]
        if pinned and np.any(T):
            # stiffer than any instability of the robot, and stiff enough that round-off of the forces does not move it
            forces = max(float(np.linalg.norm(drive)), float(np.linalg.norm(force @ self.u)))
            stiffness = float(np.linalg.norm(K))
            stiffness = (stiffness if stiffness > SEARCH.softest * forces else forces) or 1.0
            spring = 4.0 * stiffness / float(np.linalg.norm(T)) ** 2
            K, drive = K + spring * T.T @ T, drive + spring * T.T @ ahead
        m = len(J)
        kkt = saddle_matrix(K, J)
        self._moving = kkt, linear.damping, linear.mass
        right = np.column_stack(
            [np.vstack([force, np.zeros((m, len(columns)))]), np.concatenate([drive, -linear.phi[on]])]
        )
        try:
            solved = np.linalg.solve(kkt, right)
        except np.linalg.LinAlgError:
            raise ValueError(
                "some motion of the robot has neither stiffness nor weight to bring it to rest, and the task leaves it free: add "
                "springs, or more components to the task"
            ) from None
        self._multiplier_change = solved[bound.nv :], on
        return np.asarray(solved[: bound.nv])

    def settle(self, u: np.ndarray) -> None:
        """The equilibrium with the inputs u (m), reached from the current one in as many steps as necessary."""
        first, done, stage = self.u, 0.0, 1.0
        while done < 1.0:
            before = self.q, self.multipliers, dict(self.values)
            share = min(1.0, done + stage)
            if self._newton(first + share * (u - first)):
                done, stage = share, 2 * stage
                continue
            self.q, self.multipliers, self.values = before
            stage /= 2
            if stage < SEARCH.shortest_stage:
                raise ValueError(
                    f"no equilibrium was found on the way to the inputs {dict(zip(self.inputs, u.tolist(), strict=True))}; "
                    "bound the inputs more closely"
                )

    def _newton(self, u: np.ndarray) -> bool:
        """Newton's method for the equilibrium with the inputs u; returns whether it converged."""
        for _ in range(12):
            du = u - self.u
            by_input, _, lack = self.sensitivity()
            change = by_input @ du + lack
            if not np.all(np.isfinite(change)):
                return False
            self._step(du, change)
            # the remaining error is of the order of the square of this step
            if np.linalg.norm(change) < 1e-7 * (1 + np.linalg.norm(self.q)):
                return True
        return False

    def _step(self, du: np.ndarray, change: np.ndarray) -> None:
        """Change inputs and pose, and the multipliers with them."""
        self.q = self.eqs.binding.increment(self.q, change)
        by, on = self._multiplier_change
        if by.size:
            self.multipliers = self.multipliers.copy()
            self.multipliers[on] += by[:, :-1] @ du + by[:, -1]
        self.values = self.values | dict(zip(self.inputs, (self.u + du).tolist(), strict=True))

    def move(self, target: np.ndarray, *, steps: int = 20) -> float:
        """Newton steps toward the equilibrium whose task is closest to `target`; returns the remaining error [m or rad; for a
        force the equivalent depth]."""
        lower, upper = self.limits.bounds(self.inputs)
        missed = np.inf
        here = self._searched()
        for count in range(steps):
            w, u = here.weights, self.u
            ahead, T = w * (target - here.value), w[:, None] * here.jacobian
            for pinned in (True, False):
                try:
                    solved = self._solve(here, ahead, pinned=pinned)
                except ValueError:
                    if pinned:
                        raise
                    break  # out of reach, and without stiffness the closest pose is undefined
                gain, own = T @ solved[:, :-1], T @ solved[:, -1]
                if not np.all(np.isfinite(solved)):
                    return self._diverged()
                # if many inputs reach the target, those closest to the initial ones
                wish = ahead - own + gain @ u
                # (or, if lines alternate between slack and taut, to the last ones)
                near = self.preferred if count < SEARCH.patience else u
                closest = closest_inputs(gain, wish, lower, upper, preferred=near, regularization=1e-12)
                if np.linalg.norm(gain @ closest.inputs - wish) <= 1e-6 * np.linalg.norm(ahead) + SEARCH.settled:
                    break  # otherwise out of reach: only the inputs may move the task
            change = solved[:, :-1] @ (closest.inputs - u) + solved[:, -1]
            self._step(closest.inputs - u, change)
            self.binding = closest.binding
            if not np.abs(self.q).max(initial=0.0) < SEARCH.largest:
                return self._diverged()
            here = self._searched()
            missed = float(np.linalg.norm(here.weights * (target - here.value)))
            self.settled = bool(np.linalg.norm(change) < SEARCH.settled)
            if self.settled:
                break
        return missed

    def _diverged(self) -> float:
        """The end of a search whose steps are not finite; returns its remaining error."""
        self.settled, self.binding = False, np.zeros(len(self.inputs), dtype=bool)
        return np.inf

    def drop_round_off(self) -> None:
        """Set inputs to zero whose forces are round-off of the acting forces."""
        bound, zero = self.eqs.at(inputs=self.values, parameters=self.parameters).binding, np.zeros(len(self.eqs.rates))
        at = bound.linearized(0.0, self.q, zero, zero, self.multipliers)
        columns = [self.eqs.inputs.index(name) for name in self.inputs]
        by_input = self.eqs.input_derivative(self.q, zero, inputs=self.values, parameters=self.parameters)[:, columns]
        forces = np.abs(at.rate_sizes[:, None] * by_input * self.u).max(axis=0, initial=0.0)
        sources = bound.force_by_source(0.0, self.q, zero).values()
        acting = max((float(np.abs(at.rate_sizes * force).max(initial=0.0)) for force in sources), default=0.0)
        for name, force in zip(self.inputs, forces, strict=True):
            if 0 < force <= SEARCH.round_off * acting:
                self.values[name] = 0.0

    def enter(self, target: np.ndarray, *, nearest: bool, title: str) -> None:
        """Move to the beginning of a path, or as close as possible; afterwards inputs stay close to those there."""
        if nearest:
            self.move(target)
        else:
            self.reach(target, title=title)
        self.preferred = self.u

    def _approach(self, begin: Any, target: np.ndarray) -> tuple[bool, float]:
        """Move from a pose to the target in steps; returns whether it was reached, and the remaining distance [m or rad]."""
        here = searched(self.task, self.eqs, begin[0], self.parameters).value
        missed = np.inf
        for pieces in PIECES:
            self.q, self.multipliers, self.values = begin[0], begin[1], dict(begin[2])
            for share in np.arange(1, pieces + 1) / pieces:
                missed = self.move(here + share * (target - here))
                if not np.isfinite(missed):
                    break
            if self.settled and missed <= SEARCH.reached:
                break
        return missed <= max(SEARCH.reached, 1e-6 * float(np.linalg.norm(target))), missed

    def _needed(self, begin: Any, target: np.ndarray, where: str, hint: str) -> None:
        """Reject a target, with the inputs that it would need without limits, if there are any."""
        kept = self.q, self.multipliers, self.values, self.settled, self.binding, self.limits
        self.limits = Limits()
        try:
            close, _ = self._approach(begin, target)
            if close and self.settled:
                check_holding(self.eqs, self.inputs, self.u, kept[-1], where=where, hint=hint)
        except (ValueError, np.linalg.LinAlgError) as error:
            if isinstance(error, OutOfReach):
                raise
        finally:
            self.q, self.multipliers, self.values, self.settled, self.binding, self.limits = kept

    def _told(self, target: np.ndarray) -> str:
        """A target as text; positions and coordinates without their names."""
        if all(isinstance(part, FramePosition | Coordinates) for part in parts(self.task)):
            return ", ".join(f"{x:.4g}" for x in target)
        return ", ".join(f"{label} {x:.4g}" for label, x in zip(self.task.labels, target, strict=True))

    def reach(self, target: np.ndarray, *, title: str, hint: str = HINT) -> None:
        """Move to the equilibrium with the task at `target`; reject a target that the inputs cannot hold."""
        begin = self.q, self.multipliers, dict(self.values)
        close, missed = self._approach(begin, target)
        if self.settled and close:
            return
        place = self._told(target)
        where = f"{title}: the inputs cannot hold the task at ({place}) within their limits; without them it"
        self._needed(begin, target, where, hint)
        if close or not np.isfinite(missed):
            raise OutOfReach(
                f"{title}: no equilibrium was found with the task at ({place}); start closer to it (`start`)"
            )
        why = "the inputs cannot move it further"
        gain = self.weights[:, None] * self.sensitivity()[1]
        moved = int(np.linalg.matrix_rank(gain, tol=1e-6 * np.linalg.norm(gain))) if gain.size else 0
        if moved < self.task.size:
            why += f" (it has {self.task.size} components, and {len(self.inputs)} inputs move it in {moved} directions at rest)"
        if np.any(self.binding):
            why = f"limits are active: {Shortfalls(self.eqs, self.inputs, self.limits).standing(self.u, self.binding)}"
        raise OutOfReach(
            f"{title}: the inputs cannot hold the task at ({place}); the nearest they reach is {missed:.3g} (m or rad) away, where "
            f"{why}. {hint}"
        )


@on_one_blas_thread
def rest_with(
    eqs: Equations, task: Task, value: np.ndarray, *, start: Start = "initial", inputs: Values | None = None,
    use: tuple[str, ...] | None = None, limits: Limits | None = None, parameters: Values | None = None,
) -> Equilibrium:  # fmt: skip
    """The equilibrium at which a task has a value, with its inputs (`inputs` of the result).

    It may be unstable: a controller can stabilize it. start: initial pose of the search (the model's by default); inputs:
    values of the given inputs, and preferred values of the unknown ones if there are many solutions; use: the unknown inputs,
    within their `limits`; by default all but those that prescribe motions and those of `loads`, which are disturbances.

    The search begins in that pose with the inputs that best balance it. If none balance it nearly (a pose far from rest, as of legs
    before their tendons are tight) and no equilibrium is found, it begins again at the equilibrium with the preferred inputs.
    """
    model = StaticModel(eqs, task, use, limits, parameters)
    near, preferred = given_state(eqs.at(parameters=parameters), start, 0.0, where="start").q, mapping("inputs", inputs)
    target, hint = vector("value", value, task.size), "Choose another pose, or widen the limits"
    model.begin(near, preferred)
    try:
        model.reach(target, title="no equilibrium", hint=hint)
    except OutOfReach:
        if model.settled or model.rest(preferred, near).status != "converged":
            raise
        model.reach(target, title="no equilibrium", hint=hint)
    model.drop_round_off()
    here = eqs.at(inputs=model.values, parameters=parameters)
    zero = np.zeros(len(eqs.rates))
    at = here.binding.linearized(0.0, model.q, zero, zero, model.multipliers)
    judged = judge(at)
    stable, lowest = (None, None) if judged is None else (judged.stable, judged.lowest)
    kind = {True: "stable", False: "unstable", None: "of unknown stability"}[stable]
    return Equilibrium(
        model.q, model.multipliers, float(np.max(np.abs(at.residual), initial=0.0)), stable, lowest, here,
        contacts=contacts_at_rest(here.binding, 0.0, model.q),
        message=f"equilibrium found with its inputs; without control it is {kind}",
    )  # fmt: skip
