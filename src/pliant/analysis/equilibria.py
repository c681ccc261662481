"""Different equilibria of a robot, by searches from random poses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from pliant.analysis.base import PureNumber, function_of
from pliant.analysis.equilibrium import Equilibrium, FindEquilibrium
from pliant.analysis.numerics.contact_table import joined_contacts
from pliant.analysis.numerics.state import assemble, followed_positions, given_state
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import remark
from pliant.analysis.result import Along, AnalysisResult, Poses, Sheet
from pliant.engine.binding import Binding
from pliant.engine.contacts import Contacts
from pliant.engine.equations import Equations
from pliant.engine.input_values import inputs_at_time
from pliant.engine.state import State
from pliant.language.base import Problem, not_negative
from pliant.language.limits import time_is_up
from pliant.language.message_text import enumeration

SAME_TURN, SAME_PLACE = 1e-5, 1e-6
"""Largest difference of rotation matrices [-], and of positions relative to the robot's size, of equal poses: well above the errors
of searches with the default tolerance, and below what can be seen."""


@dataclass(frozen=True, repr=False, eq=False)
class Equilibria(AnalysisResult):
    """Different equilibria, stable ones first; `found[0]` is the first as an `Equilibrium`.

    Attributes:
        q: positions, a row for each. multipliers: constraint forces, a row for each [N or N m].
        residual: largest unbalanced generalized force of each [N or N m].
        stable: 1 if small disturbances decay, 0 if not, NaN if undetermined.
        stiffness: lowest eigenvalue of the stiffness of each, as of `Equilibrium`; NaN if unknown.
        given: the pose from which the first search began. time: at which inputs were evaluated [s].
    """

    q: Annotated[np.ndarray, Along("equilibrium", "coordinate")]
    multipliers: Annotated[np.ndarray, Along("equilibrium", "constraint", unit="N or N m")]
    residual: Annotated[np.ndarray, Along("equilibrium", unit="N or N m")]
    stable: Annotated[np.ndarray, Along("equilibrium")]
    stiffness: Annotated[np.ndarray, Along("equilibrium")]
    equations: Equations
    given: State
    time: float = 0.0
    contacts: Annotated[Contacts | None, Along("equilibrium")] = None
    status: Status = Status.CONVERGED
    message: str = ""

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, k: int) -> Equilibrium:
        stable = None if np.isnan(self.stable[k]) else bool(self.stable[k])
        contacts = self.contacts.sample(k) if self.contacts is not None else None
        return Equilibrium(
            self.q[k], self.multipliers[k], float(self.residual[k]), stable, float(self.stiffness[k]), self.equations,
            time=self.time, contacts=contacts,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Equilibrium]:
        return (self[k] for k in range(len(self)))

    def sheets(self) -> tuple[Sheet, ...]:
        """The tables of each equilibrium, with its stability."""
        made = []
        for k, one in enumerate(self):
            kind = {True: "stable", False: "unstable", None: "of unknown stability"}[one.stable]
            first, *others = one.sheets()
            made += [replace(first, title=f"{k + 1}: {kind}"), *others]
        return tuple(made)

    def poses(self) -> Iterator[Poses]:
        """Each equilibrium."""
        for k, one in enumerate(self):
            (pose,) = one.poses()
            yield replace(pose, name=f"equilibrium {k + 1}")

    def as_json(self) -> dict[str, Any]:
        """Its content as plain data, with the outputs of each."""
        return super().as_json() | {"outputs": [one.outputs for one in self]}


@remark("a remark on one of them", "those of `equilibrium`")
def remarks_on_each(eqs: Equations, result: Equilibria) -> str | None:
    """The remarks on each equilibrium, with the numbers of those that have it."""
    numbers: dict[str, list[str]] = {}
    for k, one in enumerate(result, start=1):
        for note in one.remarks:
            numbers.setdefault(note, []).append(str(k))
    return "; ".join(f"{note} (equilibrium {enumeration(which)})" for note, which in numbers.items()) or None


class FindEquilibria(FindEquilibrium):
    """Find different equilibria from a pose and from random poses around it, stable ones first."""

    name: ClassVar[str] = "equilibria"
    title: ClassVar[str] = "Equilibria"
    result = Equilibria
    remarks = (remarks_on_each,)

    starts: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 20
    """Number of searches, the first from `start` and the others from random poses."""
    spread: PureNumber = 1
    """Standard deviation of the random increments, as a fraction of the robot's size or in rad."""
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    """Seed of the random poses."""

    def problems(self, value: Any) -> Iterator[Problem]:
        """Tolerances that are not positive, and a negative spread."""
        yield from super().problems(value)
        yield from not_negative(self, value, "spread")

    def run(self, eqs: Equations) -> Equilibria:  # type: ignore[override]  # the options are the same, the result is not
        """Search from each pose, and keep equilibria that differ."""
        t, rng = self.time, np.random.default_rng(self.seed)
        eqs = eqs.at(inputs=inputs_at_time(eqs, self.inputs, self.parameters, t), parameters=self.parameters)
        first, still = given_state(eqs, self.start, t, where="start").q, np.zeros(len(eqs.rates))
        bound = eqs.binding.with_series(followed_positions(eqs.model, eqs.binding, t, first, still))
        size, sizes = bound.sizes(first)
        wanted: tuple[Literal["stable", "any"], ...] = ("stable",) if self.stability == "stable" else ("stable", "any")
        distinct: list[Equilibrium] = []
        late = ""
        for k in range(self.starts):
            if late := time_is_up():
                break
            increment = np.zeros(bound.nv) if k == 0 else sizes * rng.normal(scale=self.spread, size=bound.nv)
            for stability in wanted:
                begin = bound.increment(first, increment)
                try:
                    if eqs.model.followed:  # prescribed rates leave their components where `start` has them
                        begin = assemble(eqs, bound, t, begin, still).q
                    one = FindEquilibrium(start=begin, time=t, tolerance=self.tolerance, stability=stability).run(eqs)
                except RuntimeError:  # the constraints or the forces of a random pose may have no values
                    continue
                if one.status == Status.CONVERGED and not any(_same_pose(bound, one.q, x.q, size) for x in distinct):
                    distinct.append(one)
        distinct.sort(key=lambda one: not one.stable)
        contacts = joined_contacts([one.contacts for one in distinct], t)
        status = Status.FAILED if not distinct else Status.STOPPED if late else Status.CONVERGED
        kind = "equilibrium" if len(distinct) == 1 else "equilibria"
        message = f"{len(distinct) or 'no'} {kind} found from {self.starts} starts"
        message += "" if distinct else "; try more `starts`, or add springs"
        return Equilibria(
            np.array([one.q for one in distinct]).reshape(len(distinct), len(eqs.coordinates)),
            np.array([one.multipliers for one in distinct]).reshape(len(distinct), len(eqs.constraint_names)),
            np.array([one.residual for one in distinct]), np.array([one.stable for one in distinct], dtype=float),
            np.array([one.stiffness for one in distinct], dtype=float), eqs, State(first, still, t), t, contacts, status,
            f"{late}: {message}" if late else message,
        )  # fmt: skip


equilibria = function_of(FindEquilibria)


def _same_pose(bound: Binding, q: np.ndarray, other: np.ndarray, size: float) -> bool:
    a, b = bound.node_poses(q), bound.node_poses(other)
    return bool(np.allclose(a[0], b[0], atol=SAME_TURN) and np.allclose(a[1], b[1], atol=SAME_PLACE * size))
