"""Closing the loops of an initial state: which values are kept, which are adjusted, and the report of changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy

from pliant.engine.binding import Binding
from pliant.engine.equations import Equations, with_independent_rows
from pliant.engine.initial_states import CarriedNodes, prescribed_coordinates, time_of_rates
from pliant.engine.program import EvaluationError
from pliant.engine.state import SpecifiedValues, State, named, rate_name
from pliant.language.message_text import enumeration

# Lengths are relative to the robot's (`Binding.constraint_sizes`, `coordinate_sizes`), angles in rad.
SILENT_BELOW = 1e-6
"""An initial state closer to the constraints than this is not remarked on."""

CLOSED = 1e-12
"""Constraint values below this need no correction; their rates per unit of the largest rate."""

OPEN = 1e-8
"""Constraint values above this after the correction are errors; their rates per unit of the largest rate."""

LONGEST = 0.5
"""Longest step of an iteration, which keeps the solution close to the initial pose."""

ITERATIONS = 100
LISTED = 6
"""Number of changes that a message lists; the others are counted."""


class AssemblyError(RuntimeError):
    """The robot cannot be assembled: a loop does not close."""


@dataclass(frozen=True)
class HeldRates:
    """Coordinates that are held while loops are closed, as booleans of rates (nv).

    fixed: coordinates that do not change, for carried nodes relative to their carriers. apart: coordinates that are fixed in the
    world,
    even if their nodes are carried.
    """

    fixed: np.ndarray
    apart: np.ndarray


class LoopClosure:
    """The constraints of a robot at a time, and the coordinates that may change to satisfy them.

    A coordinate moves all the nodes that it carries, in any kind of coordinates. Corrections are the smallest in the metric of the
    kinetic energy.
    """

    def __init__(self, eqs: Equations, bound: Binding, t: float, q: np.ndarray, given: SpecifiedValues) -> None:
        self.eqs, self.bound, self.t, self.given = eqs, bound, t, given
        self.carrying = CarriedNodes.of(eqs.model)
        self.zero = np.zeros(bound.nv)
        self.size = bound.constraint_sizes(t, q, self.zero)
        self.sizes = coordinate_sizes(eqs, bound, q)[1]
        self.driven = np.zeros(bound.nv, dtype=bool)
        self.driven[[entry.v_at for entry in prescribed_coordinates(eqs.model)]] = True
        self.soft = np.zeros(bound.nv, dtype=bool)
        for c in eqs.model.coordinates:
            if c.spec is None:
                self.soft[c.v_at : c.v_at + len(c.v_names)] = True
        every, asked = {*given.asked, *given.stated}, set(given.asked)
        self.position_holds = list(self._holds(self._rates_of(every), self._rates_of(asked)))
        self.rate_holds = list(self._holds(named(eqs.model, every)[1], named(eqs.model, asked)[1]))

    def _rates_of(self, names: set[str]) -> np.ndarray:
        """Booleans (nv): rates of the coordinates whose positions are among these names."""
        held = np.zeros(self.bound.nv, dtype=bool)
        for c in self.eqs.model.coordinates:
            if any(name in names for name in c.q_names):
                held[c.v_at : c.v_at + len(c.v_names)] = True
        return held

    def _holds(self, every: np.ndarray, asked: np.ndarray) -> Iterator[HeldRates]:
        """Sets of coordinates to hold, largest first: specified values, and the shapes of soft parts. Values that the model
        states for joints are released in favour of values requested by the caller before soft parts are deformed, but not just to
        avoid deforming them."""
        nothing = np.zeros_like(every)
        seen: list[np.ndarray] = []
        for values, shapes in (
            (every, True), (asked if np.any(asked) else every, True), (every, False), (asked, False), (nothing, False),
        ):  # fmt: skip
            hold = values | self.driven
            fixed = hold | self.soft if shapes else hold
            if not any(np.array_equal(fixed, other) for other in seen):
                seen.append(fixed)
                yield HeldRates(fixed, hold)

    # -- positions -----------------------------------------------------------------------------------------------------

    def positions(self, q: np.ndarray) -> np.ndarray:
        """Positions that satisfy the constraints, close to these. Raises AssemblyError if there are none."""
        gap = float(np.max(np.abs(self._values(q))))
        if gap <= CLOSED:
            return q
        if gap <= SILENT_BELOW:  # round-off of written or saved values: an invisible change of any coordinate
            try:
                return with_independent_rows(self.bound, self.t, q, self.zero).project(self.t, q, self.zero)[0]
            except EvaluationError:
                pass
        for hold in self.position_holds:
            if (found := self._closed(q, hold)) is not None:
                return found
        return self._closed_by_least_squares(q)

    def _values(self, q: np.ndarray) -> np.ndarray:
        """Constraint values, relative to their sizes."""
        return np.asarray(self.bound.constraint_values(self.t, q, self.zero)[0] / self.size)

    def _closed(self, q: np.ndarray, hold: HeldRates) -> np.ndarray | None:
        """Newton's method with decreasing constraint errors, while some coordinates are held; None if it does not converge."""
        value = self._values(q)
        for _ in range(ITERATIONS):
            error = float(np.max(np.abs(value)))
            step = self._correction(q, hold, -value)
            step /= max(float(np.max(np.abs(step) / self.sizes, initial=0.0)) / LONGEST, 1.0)
            for share in (1.0, 0.5, 0.25, 0.1, 0.03, 0.01):
                trial = self._moved(q, share * step, hold)
                gaps = self._values(trial)
                if np.all(np.isfinite(gaps)) and np.linalg.norm(gaps) < (1 - 1e-3 * share) * np.linalg.norm(value):
                    break
            else:
                return q if error <= OPEN else None
            q, value = trial, gaps
            if np.max(np.abs(value)) <= 0.01 * CLOSED:
                return q
        return q if float(np.max(np.abs(value))) <= OPEN else None

    def _moved(self, q: np.ndarray, x: np.ndarray, hold: HeldRates) -> np.ndarray:
        """q moved by increments of all coordinates together with their carried nodes."""
        if not self.carrying.any:
            return self.bound.increment(q, x)
        own = np.where(self.carrying.is_carried, x, 0.0)
        moved = self.bound.increment(q, x - own)
        kept = np.zeros(self.bound.nq, dtype=bool)
        for c in self.eqs.model.coordinates:
            kept[c.q_at : c.q_at + len(c.q_names)] = bool(np.any(hold.apart[c.v_at : c.v_at + len(c.v_names)]))
        return self.carrying.positions(self.bound, q, moved, kept, own)

    def _correction(self, q: np.ndarray, hold: HeldRates, error: np.ndarray) -> np.ndarray:
        """Increments of the free coordinates, each with its carried nodes, that change the constraint values by `error`, relative
        to their sizes."""
        free = ~hold.fixed
        mass, jacobian = self.bound.mass_matrix(q), self.bound.constraints(self.t, q, self.zero)[3].tocsc()
        if self.carrying.any:
            spread = self.carrying.spread(self.bound, q, hold.apart)
            mass, jacobian = spread.T @ mass @ spread, jacobian @ spread
        x = np.zeros(self.bound.nv)
        rows = scipy.sparse.diags(1 / self.size) @ jacobian.tocsc()[:, free]
        x[free] = nearest(mass.tocsc()[:, free][free, :], rows, error, self.sizes[free])
        return x

    def _closed_by_least_squares(self, q: np.ndarray) -> np.ndarray:
        """Last attempt, without masses: the configuration with the smallest constraint error."""
        free, hold = ~self.driven, HeldRates(self.driven, self.driven)

        def moved(x: np.ndarray) -> np.ndarray:
            full = np.zeros(self.bound.nv)
            full[free] = x
            return self._moved(q, full, hold)

        start = np.zeros(int(np.sum(free)))
        with np.errstate(all="ignore"):  # gaps far larger than the robot
            solution = scipy.optimize.least_squares(
                lambda x: self._values(moved(x)), start, method="trf", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=400
            )
        closed = self._closed(moved(solution.x), hold) if np.max(np.abs(solution.fun)) <= OPEN else None
        if closed is None or np.max(np.abs(self._values(closed))) > OPEN:
            worst = int(np.argmax(np.abs(solution.fun)))
            raise AssemblyError(_open_loop(self.eqs, worst, float(np.linalg.norm(solution.fun * self.size))))
        return closed

    # -- rates ---------------------------------------------------------------------------------------------------------

    def rates(self, before: np.ndarray, v: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Rates that satisfy the constraints at the positions q, close to the rates v at the previous positions."""
        v = self.carrying.rates(self.bound, (before, v), q, v, self.rate_holds[0].apart)
        t = time_of_rates(self.bound, self.t)
        error = self.bound.constraint_values(t, q, v)[1] / self.size
        scale = max(float(np.max(np.abs(v) / self.sizes, initial=0.0)), float(np.max(np.abs(error))))
        if np.max(np.abs(error)) <= CLOSED * scale:
            return v
        for hold in self.rate_holds:
            change = self._correction(q, hold, -error)
            if self.carrying.any:
                change = self.carrying.spread(self.bound, q, hold.apart) @ change
            left = self.bound.constraint_values(t, q, v + change)[1] / self.size
            if np.max(np.abs(left)) <= OPEN * scale:
                return v + change
        # rows that are redundant in the pose, but inconsistent in the prescribed rates: a least-squares solution
        try:
            return with_independent_rows(self.bound, t, q, v).project(t, q, v)[1]
        except EvaluationError:
            return v + change


def coordinate_sizes(eqs: Equations, bound: Binding, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reference sizes of changes of positions (nq) and rates (nv), see `Binding.sizes`; 1 for quaternions."""
    positions, rates = np.ones(bound.nq), bound.sizes(q)[1]
    for c in eqs.model.coordinates:
        if not c.is_rotation:
            positions[c.q_at : c.q_at + len(c.q_names)] = rates[c.v_at : c.v_at + len(c.v_names)]
    return positions, rates


def nearest(
    mass: scipy.sparse.csc_matrix, jacobian: scipy.sparse.csc_matrix, error: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """The smallest x in the metric of the mass matrix with `jacobian x = error` in the least-squares sense. sizes: of
    coordinates."""
    n = mass.shape[0]
    if not n:
        return np.zeros(0)
    D = scipy.sparse.diags(sizes)
    mass, jacobian = D @ mass @ D, jacobian @ D
    largest = float(mass.diagonal().max(initial=0.0)) or 1.0
    # coordinates without mass are changed in preference to all others
    factors = scipy.sparse.linalg.splu((mass / largest + 1e-9 * scipy.sparse.identity(n)).tocsc())
    reach = factors.solve(jacobian.T.toarray())
    values, vectors = scipy.linalg.eigh(jacobian @ reach)
    sound = values > 1e-12 * max(float(values[-1]), 0.0)
    if not np.any(sound):
        return np.zeros(n)
    weights = (vectors[:, sound].T @ error) / values[sound]
    return np.asarray(sizes * (reach @ (vectors[:, sound] @ weights)))


def changes(
    eqs: Equations, start: State, end: State, given: SpecifiedValues, gap: float, sizes: tuple[np.ndarray, np.ndarray]
) -> list[str]:
    """The changes of an initial state: specified values, and others that were adjusted to close the loops.

    gap: its violation of the constraints [m or rad], 0 if that needs no remark; sizes: of positions and rates, from
    `coordinate_sizes`.
    """
    names = (*eqs.coordinates, *map(rate_name, eqs.rates))
    size = dict(zip(names, np.concatenate(sizes).tolist(), strict=True))
    after = dict(zip(names, (*end.q.tolist(), *end.v.tolist()), strict=True))
    before = dict(zip(names, (*start.q.tolist(), *start.v.tolist()), strict=True))
    promised = {**given.stated, **given.asked}
    texts = []
    for values, who in ((given.asked, "requested values"), (given.stated, "values of the model")):
        there = {x: value for x, value in values.items() if values is given.asked or x not in given.asked}
        broken = [(x, value, after[x]) for x, value in there.items() if differs(value, after[x], size[x])]
        if broken:
            texts.append(f"{who} contradict the constraints at the start and were changed: {_listed(broken, size)}")
    if gap:
        others = [
            (x, before[x], after[x]) for x in names if x not in promised and differs(before[x], after[x], size[x])
        ]
        soft = {x for c in eqs.model.coordinates if c.spec is None for x in (*c.q_names, *map(rate_name, c.v_names))}
        moved = _listed([item for item in others if item[0] not in soft], size)
        deformed = ["coordinates of rods and meshes"] if any(x in soft for x, *_ in others) else []
        text = ", ".join([*([moved] if moved else []), *deformed])
        texts.append(f"the start violated the constraints by {gap:.3g}; it was moved onto them{text and f': {text}'}")
    else:
        texts += _changed_rates(eqs, start, end.v, promised, size)
    return texts


def _changed_rates(
    eqs: Equations, start: State, after: np.ndarray, promised: Mapping[str, float], size: Mapping[str, float]
) -> list[str]:
    """A remark on rates that were all specified together, by a state, and violate the constraints. If some are specified by name,
    the others are expected to follow, and so are those that prescribed motions cause where the start is at rest, or in the model's
    own initial state."""
    before = start.v
    names = [rate_name(rate) for rate in eqs.rates]
    pairs = zip(names, before.tolist(), after.tolist(), strict=True)
    changed = [(name, a, b) for name, a, b in pairs if differs(a, b, size[name])]
    if not changed or not before.any() or any(name in promised for name in names):
        return []
    caused = eqs.on_motions(replace(start, v=np.zeros(len(before)))).v
    if any(np.array_equal(before, expected) for expected in (caused, eqs.initial_state(t=start.t).v)):
        return []
    return [f"the rates of the start contradict the constraints and were changed: {_listed(changed, size)}"]


def differs(a: float, b: float, size: float) -> bool:
    """Whether a value of this size changed from a to b by enough to be reported."""
    return abs(a - b) > SILENT_BELOW * max(size, abs(a))


def _listed(items: list[tuple[str, float, float]], size: Mapping[str, float]) -> str:
    """Names with their values before and after, sorted by the relative size of their change."""
    largest = sorted(items, key=lambda item: -abs(item[2] - item[1]) / size[item[0]])
    return enumeration([f"{name} from {_digits(a, b)} to {_digits(b, a)}" for name, a, b in largest], LISTED)


def _digits(value: float, other: float) -> str:
    """A value with as many digits as distinguish it from another one, at least four."""
    return next((f"{value:.{n}g}" for n in (4, 7, 10) if f"{value:.{n}g}" != f"{other:.{n}g}"), f"{value:.13g}")


def _open_loop(eqs: Equations, row: int, distance: float) -> str:
    name = eqs.constraint_names[row]
    return (
        f"the loop cannot be closed: constraint '{name}' stays {distance:.4g} (m or rad) open at best. Check the "
        "lengths and placements it connects, or start from coordinates nearer to a closed pose."
    )
