"""Predictor-corrector path following: step lengths, special points, branch switching, stopping criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy

from pliant.analysis.numerics.saddle import balancing_multipliers
from pliant.analysis.numerics.status import Status
from pliant.analysis.remarks.contact_remarks import friction_words
from pliant.analysis.statics.arc_length import ArcLengthStatics, Direction, EquilibriumPoint
from pliant.analysis.statics.path import PathPoint, leading
from pliant.analysis.statics.path_dataset import PathRecord
from pliant.analysis.statics.stability import stiffness_scaling
from pliant.engine.contacts import ENTRIES
from pliant.engine.core import check_names
from pliant.engine.equations import Equations
from pliant.engine.outputs import evaluate_outputs, output_parts
from pliant.engine.workspace import EvaluationError
from pliant.language.arguments import ArgumentError, whole
from pliant.language.message_text import enumeration

# Lengths are in the metric of `arc_length.py`: 1 is a motion by the robot's size, or the entire range of the parameter.
FIRST_STEP = 0.01
MAX_STEP = 0.08
MIN_STEP = 1e-9
# A step is repeated with half its length if the path turns by more than this within it (cosine of the angle).
MAX_BEND = 0.9
# Where contacts open, close, stick or slide, a path has a corner: the turn of steps shorter than this is not limited.
KINK = 1e-4
# A special point is located when the test quantity is below this fraction of its value at the nearer end of the step.
LOCATED = 1e-8
# If a test quantity changes its sign without becoming smaller than this fraction, the step has jumped to another path.
JUMPED = 1e-5
# At a limit point, the stiffness vanishes in the direction of the path, to this fraction of its change over the step.
SAME = 1e-3


@dataclass(frozen=True)
class Branch:
    """Leave the path at a bifurcation.

    mode: which loss of stiffness along the path, counted from 1 (the first buckling mode of a column is the first).
    sign: +1 or -1, the side. It is the sign of the change of `by`, or of the leading entry of the direction, which
        `SpecialPoint.moves` names.
    by: output that distinguishes the sides.
    """

    mode: int = 1
    sign: int = 1
    by: str | None = None

    def __post_init__(self) -> None:
        if self.sign not in (1, -1):
            raise ArgumentError(f"the sign of a branch is +1 or -1, not {self.sign}")
        whole("the mode of a branch", self.mode, least=1)


class _TooLong(Exception):
    """A step does not converge, bends too much, or ends on another path."""


class PathFollower:
    """Follows a path of equilibria and records its points."""

    def __init__(
        self, eqs: Equations, statics: ArcLengthStatics, to: float, first: float, t: float, *, branch: Branch | None = None,
        stop: Mapping[str, float] | None = None, max_points: int = 500, max_step: float = MAX_STEP,
    ) -> None:  # fmt: skip
        self.eqs, self.statics, self.to, self.first, self.t = eqs, statics, to, first, t
        self.branch, self.stop, self.max_points, self.max_step = branch, dict(stop or {}), max_points, max_step
        self.record = PathRecord()
        self.modes = 0
        self.tried = self.rejected = 0
        self.parts = {
            part: (name, k) for name in eqs.model.spec.outputs for k, part in enumerate(output_parts(eqs.model, name))
        }
        for name in (*self.stop, *([branch.by] if branch and branch.by else [])):
            if name in eqs.model.spec.outputs and name not in self.parts:
                first_part = output_parts(eqs.model, name)[0]
                raise ArgumentError(
                    f"the output '{name}' is a vector; name one of its components, such as {first_part}"
                )
            check_names("output or coordinate", (name,), (*eqs.coordinates, *self.parts))

    # -- path ----------------------------------------------------------------------------------------------------

    def run(self, place: EquilibriumPoint, start: PathPoint | None = None) -> tuple[Status, str]:
        """Follow the path from its first point (`start`, if it was one of another path); returns status and message."""
        self.record.add(place)
        if self.branch is not None and start is not None and start.kind == "bifurcation":
            index = min(self.branch.mode, len(start.directions)) - 1
            switched = self._switch(place, start.directions[index])
            if switched is None:
                return Status.FAILED, self._no_branch(place)
            place = switched
        self.statics.stand_at(place)
        step = min(FIRST_STEP, self.max_step)
        while len(self.record.places) < self.max_points:
            try:
                new = self._attempt(place, step)
                ended = self._between(place, new, step)
            except _TooLong:
                step *= 0.4
                self.rejected += 1
                if step < MIN_STEP:
                    return Status.FAILED, self._stuck(place)
                continue
            if ended == Status.FAILED:
                return Status.FAILED, self._no_branch(self.record.places[-1])
            if isinstance(ended, Status):
                return ended, self._ending(self._bound_reached() if ended == Status.STOPPED else "")
            if isinstance(ended, EquilibriumPoint):
                place, step = ended, min(FIRST_STEP, self.max_step)
                self.statics.stand_at(place)
                continue
            new = _bent(place, new, step)
            self.record.add(new)
            if (new.value - self.first) * np.sign(self.to - self.first) < -abs(self.to - self.first):
                return Status.STOPPED, self._ending(
                    f"'{self.statics.loading.name}' reached {new.value:g} in the opposite direction, as far from the start as"
                    f" the goal. Follow another branch, {'' if start is None else 'reverse the direction, '}or give another goal."
                )
            place = new
            self.statics.stand_at(place)
            step = min(self.max_step, step * (1.6 if new.iterations <= 5 else 1.0 if new.iterations <= 6 else 0.6))
        return Status.STOPPED, self._ending(
            f"{self.max_points} points did not reach the end. Increase max_points, or allow longer steps."
        )

    def _attempt(self, place: EquilibriumPoint, step: float) -> EquilibriumPoint:
        """The next point; raises _TooLong if it is not found, or is unreliable."""
        self.tried += 1
        new = self.statics.step(place, step)
        if new is None or new.tangent is None or place.tangent is None:
            raise _TooLong
        shortest = KINK if _contacts_changed(place, new) else 10 * MIN_STEP
        if place.metric.dot(place.tangent, new.tangent) < MAX_BEND and step >= shortest:
            raise _TooLong
        return new

    # -- special points within a step ----------------------------------------------------------------------------------

    def _between(self, place: EquilibriumPoint, new: EquilibriumPoint, step: float) -> Status | EquilibriumPoint | None:
        """Record the special points between two points, in order: a status if the path ends there, a point if it branches off."""
        previous = None
        for length, kind, where, k in sorted(self._special_points(place, new, step), key=lambda x: x[0]):
            if kind in (Status.COMPLETED, Status.STOPPED):
                end = self._exactly(where) if kind == Status.COMPLETED else where
                self.record.add(replace(end, scaling=stiffness_scaling(end.at)))
                return Status(kind)
            direction = _critical(where, k)
            same = previous is not None and kind == "bifurcation" and abs(length - previous) <= 1e-5 * step
            if same:
                self.record.more(direction)
            else:
                self.record.add(where, kind, direction)
            if kind == "bifurcation":
                previous = length
                self.modes += 1
                if self.branch is not None and self.branch.mode == self.modes:
                    return self._switch(where, direction) or Status.FAILED
        return None

    def _special_points(
        self, place: EquilibriumPoint, new: EquilibriumPoint, step: float
    ) -> list[tuple[float, str, EquilibriumPoint, int]]:
        """Limit points, bifurcations and ends within a step: length along it, type, the point, and the index of the vanishing
        eigenvalue
        (-1 for none)."""
        found: list[tuple[float, str, EquilibriumPoint, int]] = []
        fold = None
        if place.tau * new.tau < 0:
            fold = self._locate(place, new, step, lambda x: x.tau)
            found.append((fold[0], "limit", fold[1], -1))
        for k in self._crossings(place, new):
            scale = max(abs(_value(place, k)), abs(_value(new, k)))
            if fold is not None and abs(_value(fold[1], k)) <= SAME * scale:
                found[0] = (fold[0], "limit", fold[1], k)
                fold = None
                continue
            at = self._locate(place, new, step, lambda x, k=k: _value(x, k))  # type: ignore[misc]
            found.append((at[0], "bifurcation", at[1], k))
            losses = self.modes + sum(kind == "bifurcation" for _, kind, _, _ in found)
            if self.branch is not None and losses >= self.branch.mode:
                break  # eigenvalues vanish in ascending order: the following ones are beyond the branch
        for status, test in self._ends():
            if test(place) * test(new) <= 0 and test(new) != test(place):
                at = self._locate(place, new, step, test)
                found.append((at[0], status, at[1], -1))
        return found

    def _crossings(self, place: EquilibriumPoint, new: EquilibriumPoint) -> range:
        """Indices of the eigenvalues that change their sign."""
        a, b = place.stability, new.stability
        if a is None or b is None or a.neutral or b.neutral or len(a.values) != len(b.values):
            return range(0)
        counts = [int(np.sum(x.values < 0)) for x in (a, b)]
        return range(min(counts), max(counts))

    def _ends(self) -> list[tuple[Status, Callable[[EquilibriumPoint], float]]]:
        """Test functions that are zero at an end of the path, with the resulting status."""
        ends: list[tuple[Status, Callable[[EquilibriumPoint], float]]] = [
            (Status.COMPLETED, lambda x: x.value - self.to)
        ]
        for name, value in self.stop.items():
            ends.append((Status.STOPPED, lambda x, name=name, value=value: self._output(x, name) - value))  # type: ignore[misc]
        return ends

    def _output(self, place: EquilibriumPoint, name: str) -> float:
        if name in self.eqs.coordinates:
            return float(place.q[self.eqs.coordinates.index(name)])
        output, k = self.parts[name]
        self.statics.apply(place.value)
        bound, zero = self.statics.bound, np.zeros(self.statics.bound.nv)
        value = evaluate_outputs(self.eqs.model, bound, self.t, place.q, zero, zero, place.multipliers, 0.0)[output]
        return float(np.ravel(value)[k])

    def _locate(
        self, place: EquilibriumPoint, new: EquilibriumPoint, step: float, test: Callable[[EquilibriumPoint], float]
    ) -> tuple[float, EquilibriumPoint]:
        """Length along the step, and the point, at which a test function is zero: Brent's method on points of the path."""
        seen = {0.0: place, step: new}
        ends = abs(test(place)), abs(test(new))
        small = LOCATED * max(min(ends), 1e-3 * max(ends))

        def f(length: float) -> float:
            if length not in seen:
                self.tried += 1
                found = self.statics.step(place, length, patient=True)
                if found is None:
                    raise EvaluationError("no point there")
                seen[length] = found
            value = test(seen[length])
            return 0.0 if abs(value) <= small else value

        try:
            root = scipy.optimize.brentq(f, 0.0, step, xtol=1e-13 * max(step, 1e-3), rtol=1e-14, maxiter=60)
        except (EvaluationError, RuntimeError):
            root = min(seen, key=lambda length: abs(test(seen[length])))
        root = root if root in seen else min(seen, key=lambda length: abs(test(seen[length])))
        if abs(test(seen[root])) > max(small, JUMPED * min(ends)):
            raise _TooLong
        return root, replace(seen[root], scaling=place.scaling)

    def _exactly(self, place: EquilibriumPoint) -> EquilibriumPoint:
        """The last point, with exactly the final value of the parameter."""
        nothing = np.zeros(self.statics.bound.nv), np.zeros(self.statics.bound.m)
        fixed = Direction(*nothing, self.statics.loading.scale)
        found = self.statics.correct(place.q, place.multipliers, self.to, fixed, place.metric, patient=True)
        assert place.tangent is not None
        with_tangent = None if found is None else self.statics.with_tangent(found, place.tangent)
        return with_tangent or place

    # -- branches ----------------------------------------------------------------------------------------------------

    def _switch(self, place: EquilibriumPoint, direction: np.ndarray) -> EquilibriumPoint | None:
        """The first point on the crossing branch, on the requested side."""
        assert self.branch is not None
        assert place.tangent is not None
        force = place.at.stiffness @ direction
        change = np.zeros(self.statics.bound.m)
        if self.statics.bound.m:
            change = balancing_multipliers(place.at, force, self.statics.bound.active_rows)
        way = Direction(direction, change, 0.0)
        # orthogonal to the previous path, so that the correction does not return to it
        along = place.metric.dot(way, place.tangent)
        t = place.tangent
        way = Direction(way.q - along * t.q, way.multipliers - along * t.multipliers, -along * t.value)
        way = way.times(1.0 / place.metric.length(way))
        sign = float(self.branch.sign)
        if self.branch.by is None:
            sign *= np.sign(direction[leading(direction)])
        for length in (FIRST_STEP, 0.3 * FIRST_STEP, 0.1 * FIRST_STEP, 0.01 * FIRST_STEP):
            for side in (sign, -sign):
                self.tried += 1
                new = self.statics.step_along(place, way.times(side), min(length, self.max_step))
                if new is None:
                    continue
                if self.branch.by is not None:
                    change_of = self._output(new, self.branch.by) - self._output(place, self.branch.by)
                    if change_of * self.branch.sign <= 0:
                        continue
                elif side != sign:
                    break
                new = replace(new, scaling=np.zeros(0))
                found = self.statics.with_tangent(new, way.times(side))
                if found is not None:
                    self.record.branch += 1
                    self.record.add(found)
                    return found
        return None

    def _bound_reached(self) -> str:
        last = self.record.places[-1]
        name = min(self.stop, key=lambda x: abs(self._output(last, x) - self.stop[x]))
        return f"'{name}' reached {self.stop[name]:g} at '{self.statics.loading.name}' = {last.value:.6g}"

    # -- messages -------------------------------------------------------------------------------------------------------

    def _ending(self, reason: str = "") -> str:
        places = self.record.places
        last = places[-1]
        kinds = self.record.kinds
        parts = (
            [reason] if reason else [f"'{self.statics.loading.name}' reached {last.value:g} in {len(places)} points"]
        )
        for kind, word in (("limit", "limit point"), ("bifurcation", "bifurcation")):
            values = [f"{p.value:.6g}" for p, k in zip(places, kinds, strict=True) if k == kind]
            if values:
                parts.append(f"{len(values)} {word}{'s' if len(values) > 1 else ''} at {enumeration(values)}")
        if self.branch is not None and not self.record.branch:
            parts.append(
                f"no bifurcation of number {self.branch.mode} was found, so no branch was taken: extend the range, or "
                "give a small imperfection"
            )
        stability = last.stability
        if stability is not None and stability.stable is False:
            way = "directions" if stability.unstable > 1 else "direction"
            parts.append(f"the last point is unstable in {stability.unstable} {way}")
        return "; ".join(parts)

    def _stuck(self, place: EquilibriumPoint) -> str:
        first = (
            f"the path could not be followed beyond '{self.statics.loading.name}' = {place.value:.6g}: no equilibrium was "
            "found nearby, even with short steps. "
        )
        touching = friction_words(self.statics.bound, place.contacts)
        if touching:
            return (
                f"{first}Contacts there: {touching}. If the surfaces slide away or snap to another pose, no equilibrium follows: "
                "`simulate` from this point and change the parameter slowly, increase `friction`, or begin another path at a later "
                "pose."
            )
        return (
            f"{first}A stop or a slack link may act there, or the robot may be at the limit of its reach. Smooth such"
            " transitions, or continue from a later pose."
        )

    def _no_branch(self, place: EquilibriumPoint) -> str:
        return f"no branch was found at '{self.statics.loading.name}' = {place.value:.6g}. Give a small imperfection instead."


def _bent(place: EquilibriumPoint, new: EquilibriumPoint, step: float) -> EquilibriumPoint:
    """The new point for the next step: with the rate of change of the tangent, and its own scaling."""
    assert place.tangent is not None
    assert new.tangent is not None
    bend = new.tangent.plus(place.tangent.times(-1.0)).times(1.0 / step)
    return replace(new, bend=bend, scaling=stiffness_scaling(new.at))


def _contacts_changed(place: EquilibriumPoint, new: EquilibriumPoint) -> bool:
    """Whether contacts, or their sticking, differ at the two ends of a step."""
    if place.contacts is None or new.contacts is None:
        return False
    columns = [ENTRIES[name].at for name in ("key", "slides")]
    return not np.array_equal(place.contacts.rows[:, columns], new.contacts.rows[:, columns])


def _value(place: EquilibriumPoint, k: int) -> float:
    assert place.stability is not None
    return float(place.stability.values[k])


def _critical(place: EquilibriumPoint, k: int) -> np.ndarray:
    """The direction without stiffness, of unit length; the direction of the path at a limit point without a vanishing
    eigenvalue."""
    assert place.tangent is not None
    direction = place.tangent.q if k < 0 or place.stability is None else place.stability.directions[:, k]
    length = place.metric.length(Direction(direction, place.multipliers, 0.0))
    direction = direction / length if length > 0 else direction
    return np.asarray(direction * (np.sign(direction[leading(direction)]) or 1.0))
