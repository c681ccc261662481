"""Periodic orbits: limit cycles and periodically driven motions, their stability, and how they change with a parameter.

The period is divided into segments, each a step of the three-stage Radau IIA method (order 5). All segments are solved together by
Newton's method (multiple shooting with a step per segment, which is collocation: U. M. Ascher, R. M. M. Mattheij and R. D. Russell,
Numerical Solution of Boundary Value Problems for Ordinary Differential Equations, SIAM 1995, ch. 5), with exact tangents of the
accelerations at each stage. Their product over the period is the monodromy matrix; its eigenvalues are the Floquet multipliers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm
from typing import Annotated, Any, ClassVar

import casadi as ca
import numpy as np
from pydantic import Field
from scipy.optimize import brentq

from pliant.analysis.base import (
    Analysis,
    AnyNumber,
    Count,
    PureNumber,
    Seconds,
    StateGiven,
    function_of,
    named_values,
    unknown_name,
)
from pliant.analysis.linear.small_motion import first_order
from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.analysis.numerics.saddle import saddle_matrix
from pliant.analysis.numerics.state import EQUILIBRIUM, AssemblyError, assemble
from pliant.analysis.numerics.status import AnalysisFailed, Status
from pliant.analysis.remark import remark
from pliant.analysis.remarks.input_limits import inputs_beyond_limits
from pliant.analysis.result import Along, AnalysisResult, Lines, Plot, Poses, Sheet
from pliant.analysis.simulate import simulate
from pliant.analysis.states import state_at
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.input_values import input_expression, inputs_over_time
from pliant.engine.model.inputs import SERIES
from pliant.engine.model.model import Model
from pliant.engine.program import EvaluationError
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError, function
from pliant.language.base import InPython, Problem
from pliant.language.limits import time_is_up
from pliant.parts.contact import LawNumbers

ENERGY = "energy"
"""The parameter of a family of orbits of a robot without damping."""


@dataclass(frozen=True)
class PeriodicNumbers:
    """Numbers that decide how orbits are searched and followed."""

    segments: int = 32
    """Segments of the first mesh: a smooth orbit needs no more for 1e-6."""
    most_segments: int = 1200
    """More would take minutes; the error that remains is reported."""
    iterations: int = 20
    """Newton's method converges in three to eight where the guess is of use."""
    converged: float = 1e-3
    """Of the tolerance: corrections that end Newton's method, which still converges quadratically there."""
    diverges: float = 1e3
    """Growth of the corrections at which Newton's method is given up; a first one may be ten times the orbit."""
    singular: float = 1e-9
    """Singular values below this part of the largest are zero: those of symmetries, along which orbits form families."""
    longest: float = 0.5
    """Largest correction of a state in one iteration, relative to the orbit, or in rad and sizes of the robot for small ones."""
    first_periods: int = 8
    """Periods of the slowest vibration that are simulated first for an autonomous robot; then twice as many, and so on."""
    most_periods: int = 600
    """After so many the search ends: a transient that decays by 1 % per period has become 1/400."""
    recurrence: float = 0.1
    """Distance of a state from an earlier one, relative to the orbit, at which they may be a period apart."""
    near: float = 0.03
    """Distances below this are equally near: states are compared at hundredths of a period."""
    repeats: int = 12
    """Most times that the motion may have gone round between two equal states."""
    same: float = 1e-3
    """Distance of states of a converged orbit, relative to it, that are one and the same."""
    push: float = 0.05
    """Size of a vibration by which a robot at rest is started [rad, or of the size of the robot]."""
    collapsed: float = 1e-3
    """Orbits smaller than this part of the motion that they were searched from are its equilibrium."""
    outside: float = 1e-6
    """Floquet multipliers above 1 by this much are outside of the unit circle: more than the error of those of resolved orbits."""
    first_step: float = 0.02
    """First step along a branch, as a part of its scaled length."""
    least_step: float = 1e-5
    """Below this step the branch is given up."""
    quick: int = 4
    """Corrections of this few iterations make the next step longer, as in most continuation programs."""
    phases: int = 64
    """Equal parts of a period at which orbits are saved: enough for a drawing."""
    incommensurable: int = 24
    """Largest number of periods of one input in those of another; beyond, the motion is not periodic in practice."""


NUMBERS = PeriodicNumbers()

_ROOT = np.sqrt(6.0)
NODES = np.array([0.0, (4 - _ROOT) / 10, (4 + _ROOT) / 10, 1.0])
"""Start and stages of a step of Radau IIA with three stages, as fractions of the step."""


def _basis(x: np.ndarray) -> np.ndarray:
    """Lagrange polynomials through NODES at x, len(x) x 4."""
    columns = [np.prod([(x - b) / (a - b) for m, b in enumerate(NODES) if m != k], axis=0) for k, a in enumerate(NODES)]
    return np.stack(columns, axis=-1)


def _basis_slopes(x: np.ndarray) -> np.ndarray:
    """Derivatives of the polynomials of `_basis`, len(x) x 4."""
    polynomials = [np.poly(np.delete(NODES, k)) / np.prod(a - np.delete(NODES, k)) for k, a in enumerate(NODES)]
    return np.stack([np.polyval(np.polyder(p), x) for p in polynomials], axis=-1)


SLOPES = _basis_slopes(NODES[1:])
"""Derivatives at the stages of the polynomial through the start and the stages, 3 x 4."""
BETWEEN = 0.4
"""Fraction of a step at which the defect of the polynomial is measured: midway between the first two stages."""


# -- the result --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class PeriodicOrbits(AnalysisResult):
    """A periodic orbit, or a branch of them in a parameter, one per point.

    Attributes:
        values: of the parameter (SI units); NaN without one.
        periods: [s].
        lowest, highest, amplitudes: of each coordinate over a period, points x coordinates (SI units); NaN for quaternions. An
            amplitude is half of the range.
        largest: amplitude of the coordinate that moves most (`leading`) (SI units).
        multipliers: Floquet multipliers, largest first, points x multipliers: factors of small disturbances in a period. Those that
            are 1 for every orbit of the kind come last: one for an autonomous robot, two if it is without damping.
        trivial: number of these.
        stable: whether no disturbance grows.
        bifurcations: fold, branch point, period doubling or torus where the stability changes; empty for other points.
        energies: kinetic and potential energy at the start of the orbit [J].
        errors: estimated error of the orbit relative to its size [-].
        phase: fractions of the period at which orbits are saved. q, v: positions and rates there; leading_position,
            leading_rate: of the leading coordinate in the last orbit.
        kind: limit cycle, driven, or undamped (one of a family of orbits).
        parameter: that was changed, or empty.
        state: of the first orbit at its start.
    """

    plots = (
        Lines("values", ("largest",), "amplitude over the parameter", where="stable"),
        Lines("values", ("periods",), "period over the parameter", where="stable"),
        Lines(
            "leading_position",
            ("leading_rate",),
            "the orbit in the plane of the coordinate that moves most and its rate",
        ),
    )
    played = (
        "Each orbit is played with its own period; very fast and slow ones are slowed down or sped up to two seconds."
    )

    values: Annotated[np.ndarray, Along("point", text="parameter")]
    periods: Annotated[np.ndarray, Along("point", unit="s", text="period")]
    lowest: Annotated[np.ndarray, Along("point", "coordinate")]
    highest: Annotated[np.ndarray, Along("point", "coordinate")]
    amplitudes: Annotated[np.ndarray, Along("point", "coordinate")]
    largest: Annotated[np.ndarray, Along("point", text="amplitude (SI units)")]
    multipliers: Annotated[np.ndarray, Along("point", "multiplier", unit="1", is_complex=True)]
    stable: Annotated[np.ndarray, Along("point")]
    bifurcations: Annotated[tuple[str, ...], Along("point")]
    energies: Annotated[np.ndarray, Along("point", unit="J")]
    errors: Annotated[np.ndarray, Along("point", unit="1")]
    phase: Annotated[np.ndarray, Along("phase")]
    leading_position: Annotated[np.ndarray, Along("phase", text="leading coordinate (SI units)")]
    leading_rate: Annotated[np.ndarray, Along("phase", text="its rate (SI units)")]
    q: Annotated[np.ndarray, Along("point", "phase", "coordinate")]
    v: Annotated[np.ndarray, Along("point", "phase", "rate")]
    state: State
    equations: Equations
    kind: str = ""
    parameter: str = ""
    leading: str = ""
    trivial: int = 0
    tolerance: float = 0.0
    status: Status = Status.COMPLETED
    message: str = ""

    def __len__(self) -> int:
        return len(self.periods)

    @property
    def period(self) -> float:
        """Period of the last orbit [s]: the only one without a parameter."""
        return float(self.periods[-1])

    def start(self, point: int = -1) -> State:
        """The state at the start of an orbit, at time 0, for `simulate`."""
        return State(self.q[point, 0].copy(), self.v[point, 0].copy(), 0.0)

    def figures(self) -> tuple[Plot, ...]:
        """The branch over the parameter if there is one, and the last orbit."""
        return () if not len(self) or not self.leading else self.plots if self.parameter else self.plots[-1:]

    def called(self) -> dict[str, str]:
        """The parameter and the leading coordinate."""
        units = dict(zip(("rad", "m"), (("rad", "rad/s"), ("m", "m/s")), strict=True))
        at = {name: entry.unit for entry in self.equations.model.coordinates for name in entry.q_names}
        unit, rate = units.get(at.get(self.leading, ""), ("SI units", "SI units"))
        return {
            "values": f"{self.parameter} (SI units)", "largest": f"amplitude of {self.leading} [{unit}]",
            "leading_position": f"{self.leading} [{unit}]", "leading_rate": f"d({self.leading})/dt [{rate}]",
        }  # fmt: skip

    def sheets(self) -> tuple[Sheet, ...]:
        """A table of the orbits, and of the coordinates of a single one."""
        if not len(self):
            return ()
        names = ([self.parameter] if self.parameter else []) + ["period [s]", f"amplitude of {self.leading}", "stable"]
        names += ["largest multiplier", "bifurcation"] if self.parameter else ["largest multiplier"]
        rows = tuple(tuple(self._row(k)) for k in range(len(self)))
        special = {0, len(self) - 1, *(k for k, name in enumerate(self.bifurcations) if name)}
        every = max(1, len(self) // 8)
        shown = sorted(special | set(range(0, len(self), every)))
        return (
            Sheet(tuple(names), rows, first=tuple(shown) if len(shown) < len(rows) else None, words="orbits"),
            *(self._coordinates() if not self.parameter else ()),
        )

    def _row(self, k: int) -> Iterator[str]:
        if self.parameter:
            yield f"{self.values[k]:.7g}"
        yield f"{self.periods[k]:.7g}"
        yield f"{self.largest[k]:.6g}"
        yield "yes" if self.stable[k] else "no"
        free = self.multipliers.shape[1] - self.trivial
        value = complex(self.multipliers[k, 0]) if free else 0.0
        turning = f" ± {abs(value.imag):.5g}i" if value.imag else ""
        yield f"{value.real:.5g}{turning}" if free else "-"
        if self.parameter:
            yield self.bifurcations[k]

    def _coordinates(self) -> Iterator[Sheet]:
        head = ("coordinate", "lowest", "highest", "amplitude")
        low, high = self.lowest[-1], self.highest[-1]
        rows = tuple(
            (name, f"{low[k]:.6g}", f"{high[k]:.6g}", f"{self.amplitudes[-1, k]:.6g}")
            for k, name in enumerate(self.equations.coordinates)
        )
        most = tuple(range(12)) if len(rows) > 14 else None
        yield Sheet(head, rows, first=most, words="coordinates")

    def poses(self) -> Iterator[Poses]:
        """Each orbit, at most twelve of a branch."""
        chosen = np.unique(np.linspace(0, len(self) - 1, min(len(self), 12)).astype(int)) if len(self) else ()
        for k in chosen:
            period = float(self.periods[k])
            shown = period if 0.5 <= period <= 10 else 2.0
            words = f"{period:.4g} s" + (f", {self.parameter} = {self.values[k]:.4g}" if self.parameter else "")
            yield Poses(
                f"orbit {k + 1}: {words}", self.q[k], shown * self.phase, period * self.phase, words=words, loops=True
            )


# -- the equations over a period ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flow:
    """The equations of motion at a value of the parameter. period: that of the inputs [s], None if they are constant."""

    eqs: Equations
    bound: Binding
    period: float | None

    def acceleration(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Accelerations (nv)."""
        return self.bound.forward(t, q, v)[0]

    def tangent(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accelerations and their derivatives by increments of q and by v."""
        bound, n = self.bound, self.bound.nv
        if not bound.m:
            return bound.forward_derivatives(t, q, v)
        a, multipliers = bound.forward(t, q, v)
        linear = bound.linearized(t, q, v, a, multipliers)
        on = bound.active_rows
        by_q, by_v = bound.acceleration_tangent(t, q, v, a)
        kkt = saddle_matrix(linear.mass.toarray(), linear.jacobian.toarray()[on])
        right = np.block([[linear.stiffness.toarray(), linear.damping.toarray()], [by_q[on], by_v[on]]])
        solved = -np.linalg.solve(kkt, right)[:n]
        return a, solved[:, :n], solved[:, n:]

    def start(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state on the constraints."""
        if not self.bound.m:
            return q, v
        made = assemble(self.eqs, self.eqs.binding, 0.0, q, v)
        return made.q, made.v

    def independent(self, q: np.ndarray, v: np.ndarray) -> tuple[list[int], np.ndarray]:
        """Independent rates (f), and changes (2 nv x 2 f) of a state at time 0 by those of their coordinates and of them."""
        bound, n = self.bound, self.bound.nv
        if not bound.m:
            return list(range(n)), np.eye(2 * n)
        a, multipliers = bound.forward(0.0, q, v)
        linear = bound.linearized(0.0, q, v, a, multipliers)
        order = first_order(self.eqs, bound, State(q, v, 0.0, multipliers), a, linear)
        return order.chosen, np.block([[order.G, np.zeros_like(order.G)], [order.P @ order.G, order.G]])


@dataclass(frozen=True)
class Orbit:
    """A discretized periodic motion.

    mesh: fractions of the period where segments begin and end (N + 1). q0, v0: state at its start. q, v: states at the stages,
    N x 3 x nq and nv. value: of the parameter. turns: whole turns of each rate's coordinate per period [rad].
    """

    mesh: np.ndarray
    q0: np.ndarray
    v0: np.ndarray
    q: np.ndarray
    v: np.ndarray
    period: float
    value: float
    turns: np.ndarray
    group: ConfigurationGroup = field(repr=False)

    @cached_property
    def increments(self) -> np.ndarray:
        """Of each segment, from its start to its stages: N x 4 x nv, the first zero."""
        found = np.zeros((len(self.q), 4, self.v.shape[2]))
        starts = self.starts()[0]
        if not len(self.group.rotation_v):
            found[:, 1:] = self.q - starts[:, None]
            return found
        for k, q in enumerate(starts):
            for i in range(3):
                found[k, i + 1] = self.group.difference(q, self.q[k, i])
        return found

    def starts(self) -> tuple[np.ndarray, np.ndarray]:
        """States at the starts of the segments."""
        return np.vstack([self.q0[None], self.q[:-1, 2]]), np.vstack([self.v0[None], self.v[:-1, 2]])

    def nodes(self) -> np.ndarray:
        """Rates at start and stages of each segment, N x 4 x nv."""
        return np.concatenate([self.starts()[1][:, None], self.v], axis=1)

    def stage_phases(self) -> np.ndarray:
        """Fractions of the period of all stages, N x 3."""
        return np.asarray(self.mesh[:-1, None] + np.diff(self.mesh)[:, None] * NODES[1:])

    def at(self, phases: np.ndarray, increment: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> tuple[Any, Any]:
        """States at fractions of the period, by the polynomials of the segments."""
        starts = self.starts()[0]
        segments = np.clip(np.searchsorted(self.mesh, phases, side="right") - 1, 0, len(self.q) - 1)
        weights = _basis((phases - self.mesh[segments]) / np.diff(self.mesh)[segments])
        x = np.einsum("mj,mjn->mn", weights, self.increments[segments])
        v = np.einsum("mj,mjn->mn", weights, self.nodes()[segments])
        q = np.array([increment(starts[k], step) for k, step in zip(segments, x, strict=True)])
        return q, v

    def path(self) -> np.ndarray:
        """Increments from the start to all stages, with those of the turns, (N 3) x nv."""
        steps = self.increments[:, 1:]
        begins = np.cumsum(np.vstack([np.zeros(steps.shape[2]), steps[:-1, 2]]), axis=0)
        return np.asarray((begins[:, None] + steps).reshape(-1, steps.shape[2]))

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest value of each coordinate that is no quaternion (by rate, nv): of cubic curves between stages."""
        x = np.vstack([np.zeros(len(self.v0)), self.path()])
        v = np.vstack([self.v0, self.v.reshape(-1, len(self.v0))])
        h = np.diff(np.append(0.0, self.stage_phases().ravel()))[:, None] * self.period
        fall, at, to = x[:-1] - x[1:], h * v[:-1], h * v[1:]
        a, b, c = 6 * fall + 3 * (at + to), -6 * fall - 4 * at - 2 * to, at
        root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
        found = [x]
        with np.errstate(divide="ignore", invalid="ignore"):
            for s in ((-b - root) / (2 * a), (-b + root) / (2 * a), -c / b):
                s = np.clip(np.nan_to_num(s, posinf=0.0, neginf=0.0), 0.0, 1.0)
                found.append(x[:-1] - fall * s * s * (3 - 2 * s) + s * (1 - s) * ((1 - s) * at - s * to))
        every = np.vstack(found)
        start = np.full(len(self.v0), np.nan)
        start[self.group.plain_v] = self.q0[self.group.plain_q]
        return start + every.min(axis=0), start + every.max(axis=0)

    def gap(self) -> np.ndarray:
        """Increments and rates from the start to the end of the period (2 nv)."""
        end = self.path()[-1] - self.turns if np.any(self.turns) else self.group.difference(self.q0, self.q[-1, 2])
        return np.concatenate([end, self.v[-1, 2] - self.v0])


def _increment_rates(group: ConfigurationGroup, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Rates of the increments x while the state moves with v: of rotations the inverse of the tangent of their exponential."""
    out = v.copy()
    turn, w = x[group.rotation_v], v[group.rotation_v]
    if len(turn):
        angle2 = np.sum(turn**2, axis=1, keepdims=True)
        half = 0.5 * np.sqrt(np.maximum(angle2, 1e-8))
        factor = np.where(angle2 > 1e-4, (1 - half / np.tan(half)) / np.maximum(angle2, 1e-8), 1 / 12 + angle2 / 720)
        across = np.cross(turn, w)
        out[group.rotation_v] = w + 0.5 * across + factor * np.cross(turn, across)
    return out


@dataclass(frozen=True)
class Linearized:
    """An orbit with its equations linearized over the period.

    response: changes of the stages, N x 3 x 2 nv x columns, per unit of the unknowns: scaled independent changes of the start
    (2 f = free), the residual, the period (relative), a damping that is added, and the parameter (of its range). by_start: the same
    of the start. matrix: how far the orbit is from closed, in scaled units, 2 f x columns. flow_row: change of the start along the
    motion. energy_row, energy: at the start, the change of the energy per unit of the unknowns, and the energy [J].
    """

    orbit: Orbit
    response: np.ndarray
    by_start: np.ndarray
    matrix: np.ndarray
    free: int
    flow_row: np.ndarray
    energy_row: np.ndarray
    energy: float

    @property
    def monodromy(self) -> np.ndarray:
        """The monodromy matrix in scaled independent coordinates."""
        return self.matrix[:, : self.free] + np.eye(self.free)


class Shooting:
    """Corrects orbits by Newton's method, and follows them in the parameter.

    flow_of: the equations at a value of the parameter. sizes: scales of increments and rates (2 nv). reach: range of the parameter.
    """

    def __init__(
        self, flow_of: Callable[[float], Flow], sizes: np.ndarray, reach: float, kind: str, by: str, tolerance: float
    ) -> None:
        self.flow_of, self.sizes, self.reach, self.kind, self.by = flow_of, sizes, reach, kind, by
        self.tolerance = tolerance
        self.autonomous, self.conservative = kind != "driven", kind == "undamped"
        self.energy = np.nan
        """Energy of the orbits of a robot without damping [J], unless it is the parameter."""

    @property
    def margin(self) -> float:
        """Multipliers above 1 by this much are outside of the unit circle. Without damping those of symmetries are double, and the
        error of a double eigenvalue is the root of that of the matrix."""
        return float(np.sqrt(self.tolerance)) if self.conservative else NUMBERS.outside

    @property
    def trivial(self) -> int:
        """Number of Floquet multipliers that are 1 for every orbit."""
        return 2 if self.conservative else int(self.autonomous)

    # -- one linearization -----------------------------------------------------------------------------------------------

    def linearized(self, orbit: Orbit) -> Linearized:
        """Linearize all segments, and chain them from the start of the period to its end."""
        flow = self.flow_of(orbit.value)
        bound, n, S = flow.bound, flow.bound.nv, self.sizes
        chosen, Z = flow.independent(orbit.q0, orbit.v0)
        rows = [*chosen, *(n + i for i in chosen)]
        free = len(rows)
        start = np.zeros((2 * n, free + 4))
        start[:, :free] = Z * S[rows]
        sides = self._sides(orbit)
        if sides and bound.m:
            (q1, v1), (q0, v0) = (side.start(orbit.q0, orbit.v0) for side, _ in sides)
            by = np.concatenate([orbit.group.difference(q0, q1), v1 - v0])
            start[:, free + 3] = by * self.reach / (sides[0][1] - sides[1][1])
        response = self._chained(flow, sides, orbit, start)
        change = response[-1, 2] - start
        change[:, free] += orbit.gap()
        a0 = flow.acceleration(0.0, orbit.q0, orbit.v0)
        velocity = np.concatenate([orbit.v0, a0]) / S
        flow_row = (velocity / max(np.linalg.norm(velocity), 1e-300)) @ (start / S[:, None])
        kinetic, potential = bound.energies(0.0, orbit.q0, orbit.v0)[:2]
        rest = np.zeros(n)
        slope = np.concatenate([bound.inverse(0.0, orbit.q0, rest, rest), bound.mass_matrix(orbit.q0) @ orbit.v0])
        energy = float(kinetic + potential)
        return Linearized(orbit, response, start, change[rows] / S[rows, None], free, flow_row, slope @ start, energy)

    def _sides(self, orbit: Orbit) -> list[tuple[Flow, float]]:
        """The equations on both sides of the value of the parameter."""
        if self.by in ("", ENERGY):
            return []
        step = 1e-5 * max(self.reach, abs(orbit.value))
        return [(self.flow_of(x), x) for x in (orbit.value + step, orbit.value - step)]

    def _chained(
        self, flow: Flow, sides: list[tuple[Flow, float]], orbit: Orbit, start: np.ndarray
    ) -> np.ndarray:  # fmt: skip
        """Changes of all stages per unit of the unknowns, given those of the start: N x 3 x 2 nv x columns."""
        n, count = flow.bound.nv, len(orbit.q)
        h = np.diff(orbit.mesh)[:, None] * orbit.period
        L, rates, by_parameter = self._at_stages(flow, sides, orbit)
        states = np.concatenate([orbit.increments, orbit.nodes()], axis=2)
        defect = h[..., None] * rates - np.einsum("ij,kjs->kis", SLOPES, states)
        spin = np.concatenate([np.zeros_like(orbit.v), orbit.v * (2 * np.pi / orbit.period)], axis=2)
        columns = [defect, h[..., None] * rates, h[..., None] * spin, by_parameter]
        right = np.zeros((count, 3, 2 * n, 2 * n + 4))
        right[..., : 2 * n] = -SLOPES[:, 0, None, None] * np.eye(2 * n)
        right[..., 2 * n :] = np.stack(columns, axis=-1)
        matrix = np.broadcast_to(np.kron(SLOPES[:, 1:], np.eye(2 * n)), (count, 6 * n, 6 * n)).copy()
        for i in range(3):
            at = slice(2 * n * i, 2 * n * (i + 1))
            matrix[:, at, at] -= h[..., None] * L[:, i]
        solved = np.linalg.solve(matrix, right.reshape(count, 6 * n, -1)).reshape(count, 3, 2 * n, -1)
        response, change = np.zeros((count, 3, 2 * n, start.shape[1])), start
        for k in range(count):
            response[k] = solved[k, :, :, : 2 * n] @ change
            response[k, ..., -4:] += solved[k, ..., 2 * n :]
            change = response[k, 2]
        return response

    def _at_stages(
        self, flow: Flow, sides: list[tuple[Flow, float]], orbit: Orbit
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """At each stage the tangent of the first-order equations (2 nv x 2 nv), the rates of the increments and of the rates, and
        the change of these over the step with the parameter (of its range)."""
        n, phases = flow.bound.nv, orbit.stage_phases()
        L = np.zeros((*phases.shape, 2 * n, 2 * n))
        L[..., :n, n:] = np.eye(n)
        rates = np.zeros((*phases.shape, 2 * n))
        by_parameter = np.zeros((*phases.shape, 2 * n))
        turning = bool(len(orbit.group.rotation_v))
        spans = [orbit.period if side.period is None else side.period for side, _ in sides]
        for k, i in np.ndindex(*phases.shape):
            q, v, phase = orbit.q[k, i], orbit.v[k, i], float(phases[k, i])
            a, by_q, by_v = flow.tangent(phase * orbit.period, q, v)
            L[k, i, n:, :n], L[k, i, n:, n:] = by_q, by_v
            rates[k, i, :n], rates[k, i, n:] = v, a
            if turning:
                L[k, i, :n, :n] = -flow.bound.bracket(v)
                rates[k, i, :n] = _increment_rates(orbit.group, orbit.increments[k, i + 1], v)
            if sides:
                up, down = (
                    span * side.acceleration(phase * span, q, v) for (side, _), span in zip(sides, spans, strict=True)
                )
                by_parameter[k, i, :n], by_parameter[k, i, n:] = (spans[0] - spans[1]) * rates[k, i, :n], up - down
        if sides:
            by_parameter *= np.diff(orbit.mesh)[:, None, None] * self.reach / (sides[0][1] - sides[1][1])
        return L, rates, by_parameter

    # -- Newton's method -------------------------------------------------------------------------------------------------

    def bordered(self, at: Linearized, last: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, list[int]]:
        """Matrix and right side of a correction, and the columns of its unknowns. last: a further row, in the unknowns; the
        parameter is unknown then."""
        f = at.free
        unknown = [*range(f)] + ([f + 1] if self.autonomous else []) + ([f + 2] if self.conservative else [])
        rows, right = [at.matrix], [-at.matrix[:, f]]
        if self.autonomous:
            rows.append(at.flow_row[None])
            right.append(np.zeros(1))
        if self.conservative:
            level = at.orbit.value if self.by == ENERGY else self.energy
            size = max(float(np.abs(at.energy_row[:f]).max(initial=0.0)), 1e-300)
            row = at.energy_row[None] / size
            row[:, f:] = 0.0
            row[:, f + 3] = -self.reach / size if self.by == ENERGY else 0.0
            rows.append(row)
            right.append(np.array([(level - at.energy) / size]))
        matrix = np.vstack(rows)
        if last is not None:
            unknown.append(f + 3)
            wide = np.zeros((1, matrix.shape[1]))
            wide[0, unknown] = last
            matrix = np.vstack([matrix, wide])
            right.append(np.zeros(1))
        return matrix[:, unknown], np.concatenate(right), unknown

    def moved(self, at: Linearized, unknowns: np.ndarray, unknown: list[int], *, residual: bool) -> tuple[Orbit, float]:
        """The orbit after a change of the unknowns, and how far states move in scaled units."""
        orbit, z = at.orbit, np.zeros(at.response.shape[3])
        z[unknown] = unknowns
        z[at.free] = float(residual)
        by_stage, by_start = at.response @ z, at.by_start @ z
        n = len(orbit.v0)
        size = max(np.abs(by_stage / self.sizes).max(initial=0.0), np.abs(by_start / self.sizes).max(initial=0.0))
        size = max(size, abs(z[at.free + 1]))
        factor = min(1.0, NUMBERS.longest * max(self.extent(orbit), 1.0) / max(size, 1e-300))
        value = orbit.value + factor * self.reach * z[at.free + 3]
        flow = self.flow_of(value)
        period = flow.period if flow.period is not None else orbit.period * (1 + factor * z[at.free + 1])
        increment = flow.bound.increment
        q0, v0 = flow.start(increment(orbit.q0, factor * by_start[:n]), orbit.v0 + factor * by_start[n:])
        q = orbit.q.copy()
        for k, i in np.ndindex(*q.shape[:2]):
            q[k, i] = increment(q[k, i], factor * by_stage[k, i, :n])
        v = orbit.v + factor * by_stage[:, :, n:]
        return replace(orbit, q0=q0, v0=v0, q=q, v=v, period=period, value=value), float(size)

    def corrected(self, orbit: Orbit, last: np.ndarray | None = None) -> tuple[Linearized, int] | None:
        """The periodic orbit near a guess, and the number of iterations; None where Newton's method does not converge."""
        smallest = np.inf
        for iteration in range(NUMBERS.iterations):
            try:
                at = self.linearized(orbit)
                matrix, right, unknown = self.bordered(at, last)
                unknowns = np.linalg.lstsq(matrix, right, rcond=NUMBERS.singular)[0]
                orbit, size = self.moved(at, unknowns, unknown, residual=True)
            except (EvaluationError, AssemblyError, ArgumentError, np.linalg.LinAlgError):
                return None
            if (
                not np.isfinite(size)
                or orbit.period <= 0
                or size > NUMBERS.diverges * min(smallest, max(self.extent(orbit), 1.0))
            ):
                return None
            smallest = min(smallest, size)
            if size <= NUMBERS.converged * self.tolerance * max(self.extent(orbit), 1e-3):
                return self.linearized(orbit), iteration + 1
        return None

    # -- the mesh --------------------------------------------------------------------------------------------------------

    def extents(self, orbit: Orbit) -> tuple[float, float]:
        """Largest change of a position and of a rate over the orbit, in scaled units."""
        n = len(orbit.v0)
        moves = np.ptp(np.vstack([np.zeros(n), orbit.path()]), axis=0)
        rates = np.ptp(orbit.v.reshape(-1, n), axis=0)
        return tuple(float((x / y).max(initial=0.0)) for x, y in ((moves, self.sizes[:n]), (rates, self.sizes[n:])))  # type: ignore[return-value]

    def extent(self, orbit: Orbit) -> float:
        """Largest change of a state over the orbit, in scaled units."""
        return max(self.extents(orbit))

    def errors(self, orbit: Orbit) -> np.ndarray:
        """Estimated error of each segment, relative to the orbit: the defect of its polynomial between stages, over the step."""
        flow = self.flow_of(orbit.value)
        parts = np.diff(orbit.mesh)
        weights, slopes = _basis(np.array([BETWEEN]))[0], _basis_slopes(np.array([BETWEEN]))[0]
        found, every = np.zeros(len(parts)), orbit.nodes()
        scales = self.sizes.reshape(2, -1) * np.maximum(self.extents(orbit), 1e-3)[:, None]
        for k, q in enumerate(orbit.starts()[0]):
            x, v = weights @ orbit.increments[k], weights @ every[k]
            a = flow.acceleration((orbit.mesh[k] + BETWEEN * parts[k]) * orbit.period, flow.bound.increment(q, x), v)
            h = parts[k] * orbit.period
            by_x = slopes @ orbit.increments[k] - h * _increment_rates(orbit.group, x, v)
            by_v = slopes @ every[k] - h * a
            found[k] = max(np.abs(x / y).max(initial=0.0) for x, y in ((by_x, scales[0]), (by_v, scales[1])))
        return found

    def refined(self, at: Linearized, last: np.ndarray | None = None) -> tuple[Linearized, float]:
        """The orbit on a mesh on which its error is below the tolerance, and its error."""
        tolerance = self.tolerance
        for _ in range(6):
            errors = self.errors(at.orbit)
            worst, count = float(errors.max()), len(errors)
            if tolerance / 300 <= worst <= tolerance or (worst <= tolerance and count <= NUMBERS.segments):
                break
            if worst > tolerance and count >= NUMBERS.most_segments:
                break
            # errors of segments are proportional to the fourth power of their lengths
            density = np.maximum(errors, 1e-3 * worst + 1e-300) ** 0.25 / tolerance**0.25
            wanted = int(np.clip(1.3 * density.sum(), NUMBERS.segments, NUMBERS.most_segments))
            mesh = np.interp(
                np.linspace(0, 1, wanted + 1), np.append(0, np.cumsum(density)) / density.sum(), at.orbit.mesh
            )
            found = self.corrected(self.on_mesh(at.orbit, mesh), last)
            if found is None:
                break
            at = found[0]
        return at, worst

    def on_mesh(self, orbit: Orbit, mesh: np.ndarray) -> Orbit:
        """The orbit on another mesh."""
        stages = mesh[:-1, None] + np.diff(mesh)[:, None] * NODES[1:]
        q, v = orbit.at(stages.ravel(), self.flow_of(orbit.value).bound.increment)
        shape = (*stages.shape, -1)
        return replace(orbit, mesh=mesh, q=q.reshape(shape), v=v.reshape(shape))

    # -- multipliers -----------------------------------------------------------------------------------------------------

    def multipliers(self, at: Linearized) -> np.ndarray:
        """Floquet multipliers, largest first, those that are 1 for every orbit last."""
        values = np.linalg.eigvals(at.monodromy).astype(complex)
        nearest = np.argsort(np.abs(values - 1), kind="stable")[: self.trivial]
        others = np.delete(values, nearest)
        others = others[np.lexsort((-others.imag, -np.round(np.abs(others), 12)))]
        return np.concatenate([others, values[nearest]])

    def outside(self, multipliers: np.ndarray) -> int:
        """Number of multipliers outside of the unit circle."""
        return int(np.sum(np.abs(multipliers[: len(multipliers) - self.trivial]) > 1 + self.margin))

    # -- a branch --------------------------------------------------------------------------------------------------------

    def direction(self, at: Linearized, before: np.ndarray) -> np.ndarray:
        """Unit tangent of the branch in the unknowns, in the direction of the one before."""
        matrix, right, _ = self.bordered(at, before)
        right[:] = 0.0
        right[-1] = 1.0
        found = np.linalg.lstsq(matrix, right, rcond=NUMBERS.singular)[0]
        return np.asarray(found / np.linalg.norm(found))

    def stepped(self, at: Linearized, direction: np.ndarray, step: float) -> tuple[Linearized, int] | None:
        """The orbit a step further along the branch."""
        *_, unknown = self.bordered(at, direction)
        try:
            guess, _ = self.moved(at, step * direction, unknown, residual=False)
        except (EvaluationError, AssemblyError, ArgumentError):
            return None
        return self.corrected(guess, direction)


@dataclass
class Branch:
    """Orbits of a branch, in order, with multipliers, errors and bifurcations."""

    shooting: Shooting
    told: Callable[[str, str, float], None]
    points: list[tuple[Linearized, np.ndarray, float, str]] = field(default_factory=list)

    def add(self, at: Linearized, error: float, bifurcation: str = "") -> None:
        """Append an orbit."""
        self.points.append((at, self.shooting.multipliers(at), error, bifurcation))

    def follow(self, to: float, most: int, longest: float) -> tuple[Status, str]:
        """Follow the branch from its first point until the parameter is `to`; returns how it ends."""
        shooting = self.shooting
        begin = self.points[0][0].orbit.value
        size = len(shooting.bordered(self.points[0][0], np.zeros(1))[2])
        direction = np.zeros(size)
        direction[-1] = np.sign(to - begin)
        direction = shooting.direction(self.points[0][0], direction)
        step = NUMBERS.first_step
        while len(self.points) < most:
            at = self.points[-1][0]
            share = (at.orbit.value - begin) / ((to - begin) or 1.0)
            self.told("following orbits", f"{len(self.points)}, the last at {self._place(at)}", share)
            if reason := time_is_up():
                return Status.STOPPED, reason
            found = shooting.stepped(at, direction, step)
            if found is not None and abs(found[0].orbit.value - at.orbit.value) > 3 * step * shooting.reach:
                found = None  # it has jumped
            if found is None:
                step /= 2
                if step < NUMBERS.least_step:
                    return Status.STOPPED, f"the branch could not be followed beyond {self._place(at)}"
                continue
            following, iterations = found
            if (following.orbit.value - to) * (to - begin) >= 0:
                if (last := self._end(at, following, to)) is not None:
                    self._between(at, last, direction, step)
                    self.add(*last)
                return Status.COMPLETED, ""
            following, error = shooting.refined(following, direction)
            turned = shooting.direction(following, direction)
            self._between(at, (following, error), direction, step, turned)
            self.add(following, error)
            if (following.orbit.value - begin) * (to - begin) < 0:
                return Status.STOPPED, f"the branch has returned to the value it began at: {self._place(following)}"
            direction = turned
            step = min(step * (1.5 if iterations <= NUMBERS.quick else 0.7), longest)
        return Status.STOPPED, f"the branch has {most} points: increase max_points"

    def _place(self, at: Linearized) -> str:
        return f"{self.shooting.by} = {at.orbit.value:.6g}"

    def _end(self, at: Linearized, beyond: Linearized, to: float) -> tuple[Linearized, float] | None:
        """The orbit at the final value of the parameter, near one beyond it."""
        shooting = self.shooting
        near = beyond if abs(beyond.orbit.value - to) < abs(at.orbit.value - to) else at
        flow = shooting.flow_of(to)
        found = shooting.corrected(replace(near.orbit, value=to, period=flow.period or near.orbit.period))
        return None if found is None else shooting.refined(found[0])

    def _between(
        self, at: Linearized, following: tuple[Linearized, float], direction: np.ndarray, step: float,
        turned: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Append the orbit between two points at which the stability changes, if any."""
        shooting, multipliers = self.shooting, self.points[-1][1]
        after = shooting.multipliers(following[0])
        before, now = shooting.outside(multipliers), shooting.outside(after)
        folds = turned is not None and turned[-1] * direction[-1] < 0
        if before == now and not folds:
            return
        index = min(before, now)
        found: dict[float, Linearized] = {}

        def test(s: float) -> float:
            made = shooting.stepped(at, direction, s)
            if made is None:
                raise ArithmeticError
            found[s] = made[0]
            if folds:
                return float(shooting.direction(made[0], direction)[-1])
            return float(np.abs(shooting.multipliers(made[0])[index]) - 1 - shooting.margin)

        try:
            place = brentq(test, 1e-9 * step, step, xtol=1e-8 * step, rtol=1e-8, maxiter=60, disp=False)
        except (ArithmeticError, ValueError):
            return
        here = found.get(place) or found[min(found, key=lambda s: abs(s - place))]
        kind = "fold"
        if not folds:
            value = (multipliers if before > now else after)[index]
            kind = (
                "torus"
                if abs(value.imag) > 1e-6 * abs(value)
                else "branch point"
                if value.real > 0
                else "period doubling"
            )
        self.add(*shooting.refined(here, direction), kind)


# -- the period of the inputs ------------------------------------------------------------------------------------------


def angular_rates(expression: ca.SX, t: ca.SX) -> list[ca.SX] | None:
    """Derivatives by time of the arguments of all sines and cosines of an expression; None if it depends on time otherwise."""
    if not ca.depends_on(expression, t):
        return []
    if expression.numel() != 1:
        found = [angular_rates(x, t) for x in ca.vertsplit(expression)]
        return None if any(x is None for x in found) else [rate for x in found if x is not None for rate in x]
    if expression.is_leaf():
        return None
    if expression.op() in (ca.OP_SIN, ca.OP_COS):
        rate = ca.jtimes(expression.dep(0), t, ca.SX(1))
        if not ca.depends_on(rate, t):
            return [rate]
    parts = [angular_rates(expression.dep(k), t) for k in range(expression.n_dep())]
    return None if any(x is None for x in parts) else [rate for x in parts if x is not None for rate in x]


def input_period(eqs: Equations, given: dict[str, Any]) -> float | None:
    """The common period of everything that varies in time [s]: sines and cosines of expressions; None if nothing does. given:
    inputs that replace those of the model, as texts and functions.

    Raises ArgumentError for what has no period.
    """
    model, bound = eqs.model, eqs.binding
    plan, t = model.plan, ca.SX.sym("t")
    parameters, inputs = ca.SX(ca.DM(bound.parameters)), ca.SX.sym("u", len(bound.held))
    u = ca.SX(ca.DM(bound.held)) if plan.inputs is None else plan.inputs(t, parameters)[0]
    for i, name in enumerate(eqs.inputs):
        if name in given and isinstance(given[name], str):
            u[i] = input_expression(model, name, given[name], eqs.given_parameters, t)
        elif not isinstance((eqs.given_inputs | given).get(name, 0.0), int | float):
            raise ArgumentError(f"the period of the input '{name}' is not known", "give the period")
        elif name in eqs.given_inputs:
            u[i] = float(eqs.given_inputs[name])
        elif bound.input_kind[i] == SERIES:
            raise ArgumentError(
                f"the input '{name}' is a recorded series, whose period is not known", "give the period"
            )
    varying = [u]
    if plan.values is not None:
        varying.append(ca.substitute(plan.values(t, inputs[: plan.values.size1_in(1)], parameters), inputs, u))
    rates = [angular_rates(x, t) for x in varying]
    if any(x is None for x in rates):
        raise ArgumentError(
            "the inputs vary in time other than by sines and cosines, so that their period is not known",
            "give the period if they have one",
        )
    sizes = sorted({float(f"{abs(float(ca.DM(x))):.12g}") for part in rates for x in part or ()} - {0.0})
    if not sizes:
        return None
    ratios = [Fraction(x / sizes[0]).limit_denominator(NUMBERS.incommensurable) for x in sizes]
    if any(abs(float(ratio) - x / sizes[0]) > 1e-9 * x / sizes[0] for ratio, x in zip(ratios, sizes, strict=True)):
        raise ArgumentError(
            f"the inputs have the frequencies {', '.join(f'{x / (2 * np.pi):.6g} Hz' for x in sizes)} without a common period",
            "change their frequencies, or give the period",
        )
    return 2 * np.pi / sizes[0] * lcm(*(ratio.denominator for ratio in ratios))


# -- the first guess ---------------------------------------------------------------------------------------------------


class NoOrbit(Exception):
    """No periodic orbit was found; the text says why and what to do."""


@dataclass
class Search:
    """The search for the first orbit: from a motion of the robot.

    eqs, flow: at the first value of the parameter. inputs: as given, for simulations. settle: periods of the inputs to simulate.
    period: as given [s], if it was.
    """

    analysis: Periodic
    eqs: Equations
    flow: Flow
    start: State
    inputs: Any
    group: ConfigurationGroup

    @cached_property
    def lengths(self) -> np.ndarray:
        """Sizes of increments (nv)."""
        return self.flow.bound.sizes(self.start.q)[1]

    def run(self, until: float, start: State, **options: Any) -> Result:
        """A motion, without controllers."""
        options = {"inputs": self.inputs, "controllers": (), "on_failure": "return", **options}
        if self.analysis.progress is not None:
            options["progress"] = lambda t, end, steps: self.analysis.told(
                "motion from the start", f"t = {t:.4g} of {end:.4g} s, {steps} steps", t / end
            )
        made = simulate(self.eqs, until, start=start, **options)
        if made.status == Status.FAILED:
            raise NoOrbit(f"the motion from which the orbit is searched failed: {made.message}")
        if reason := time_is_up():
            raise NoOrbit(f"{reason} before an orbit was found")
        return made

    def guess(self, begin: float, period: float, start: State) -> Orbit:
        """The motion over a period from a state at time `begin`, on a mesh that is finer where it is faster."""
        times = begin + period * np.linspace(0, 1, 401)
        fine = self.run(times[-1], start, begin=begin, save_at=times)
        z = np.hstack([self.path(fine.q), np.asarray(fine.v) * period / (2 * np.pi) / self.lengths])
        z = z / max(float(np.ptp(z, axis=0).max(initial=0.0)), 1e-12)
        density = np.sqrt(np.linalg.norm(np.diff(z, axis=0), axis=1)) + 0.3 * np.sqrt(1 / 400)
        place = np.append(0, np.cumsum(density)) / density.sum()
        mesh = np.interp(np.linspace(0, 1, NUMBERS.segments + 1), place, np.linspace(0, 1, 401))
        stages = mesh[:-1, None] + np.diff(mesh)[:, None] * NODES[1:]
        found = self.run(times[-1], start, begin=begin, save_at=[begin, *(begin + period * stages.ravel())])
        shape = (*stages.shape, -1)
        q, v = np.asarray(found.q), np.asarray(found.v)
        moved = self.path(q)[-1] * self.lengths
        turns = 2 * np.pi * np.round(moved / (2 * np.pi)) * self.may_turn(q[0], v[0])
        return Orbit(
            mesh, q[0], v[0], q[1:].reshape(shape), v[1:].reshape(shape), period, np.nan, turns, self.group
        )  # fmt: skip

    def path(self, q: np.ndarray) -> np.ndarray:
        """Increments from the first position along a motion, over their sizes."""
        steps = [self.group.difference(a, b) for a, b in pairwise(q)]
        return np.cumsum([np.zeros(len(self.lengths)), *steps], axis=0) / self.lengths

    def may_turn(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Whether a coordinate is an angle by whose full turns the equations are unchanged (nv)."""
        here = self.flow.acceleration(0.0, q, v)
        found = np.zeros(len(v), dtype=bool)
        for entry in self.eqs.model.coordinates:
            if entry.unit == "rad" and not entry.is_rotation:
                k = self.eqs.rates.index(entry.v_names[0])
                step = np.zeros(len(v))
                step[k] = 2 * np.pi
                there = self.flow.acceleration(0.0, self.flow.bound.increment(q, step), v)
                found[k] = np.allclose(here, there, rtol=1e-9, atol=1e-9 * np.abs(here).max(initial=1e-12))
        return found

    # -- driven -----------------------------------------------------------------------------------------------------------

    def driven(self, shooting: Shooting, value: float) -> Linearized:
        """The orbit on which the motion from the start settles: after ever more periods of the inputs."""
        period = self.flow.period
        assert period is not None
        periods, state, begin = self.analysis.settle, self.start, 0.0
        while True:
            if periods:
                state = self.run(begin + periods * period, state, begin=begin, save_at=[begin + periods * period]).final
            guess = self.guess(0.0, period, replace(state, t=0.0))
            found = shooting.corrected(replace(guess, value=value))
            if found is not None:
                return found[0]
            periods = max(2 * periods, 10)
            if periods > NUMBERS.most_periods:
                raise NoOrbit(
                    f"the motion from the start approaches no orbit with the period {period:.4g} s; give `start` near one, or "
                    "`cycles` for an orbit that takes several periods of the input"
                )

    # -- autonomous -------------------------------------------------------------------------------------------------------

    def slowest(self) -> tuple[float, np.ndarray | None]:
        """Period of the slowest vibration about the start [s], and, if it is at rest there, the state change (2 nv) of a vibration
        that grows, or of the slowest one if nothing is damped."""
        flow, q, v = self.flow, self.start.q, self.start.v
        chosen, Z = flow.independent(q, v)
        if not chosen:
            raise NoOrbit("nothing can move: all coordinates are prescribed")
        a, by_q, by_v = flow.tangent(0.0, q, v)
        n = len(v)
        L = np.block([[-flow.bound.bracket(v), np.eye(n)], [by_q, by_v]]) @ Z
        values, vectors = np.linalg.eig(L[[*chosen, *(n + i for i in chosen)]])
        # a coordinate without stiffness is a double eigenvalue 0, of which the error is the root of the round-off
        turning = np.abs(values.imag) > np.maximum(1e-6 * np.abs(values), 1e-7 * np.abs(values).max())
        slow = float(np.min(np.abs(values[turning]), initial=np.inf))
        period = 2 * np.pi / slow if np.isfinite(slow) else 2 * np.pi / max(float(np.abs(values).max()), 1e-12)
        at_rest = not np.any(v) and np.abs(a / self.lengths).max(initial=0.0) <= 1e-6 * (2 * np.pi / period) ** 2
        if not at_rest:
            return period, None
        if not turning.any():
            raise NoOrbit("the robot is at rest at its start and vibrates nowhere: give a `start` that moves")
        growth = np.where(turning, values.real, -np.inf)
        most = int(np.argmax(growth))
        if growth[most] < -1e-6 * abs(values[most]):
            raise NoOrbit(
                "the robot is at rest in a stable equilibrium at its start, and all vibrations about it decay: give a `start` away "
                "from it, or periodic inputs"
            )
        if growth[most] <= 1e-6 * abs(values[most]):
            most = int(np.argmin(np.where(turning, np.abs(values.imag), np.inf)))
        shape = Z @ vectors[:, most]
        shape = shape * np.exp(-1j * np.angle(shape[np.argmax(np.abs(shape[:n] / self.lengths))]))
        shape = shape.real / np.abs(shape[:n] / self.lengths).max()
        return period, NUMBERS.push * np.asarray(shape)

    def autonomous(self, shooting_of: Callable[[str], Shooting], value: float) -> tuple[Shooting, Linearized]:
        """The limit cycle on which the motion from the start settles, or the orbit of a robot without damping near its start."""
        slow, push = self.slowest()
        slow = self.analysis.period or slow
        state, n = self.start, len(self.start.v)
        if push is not None:
            q = self.flow.bound.increment(state.q, push[:n])
            state = State(*self.flow.start(q, state.v + push[n:]), 0.0)
        periods, total, first, spread = NUMBERS.first_periods, 0, 0.0, 0.0
        undamped = self.is_undamped(state, slow)
        shooting = shooting_of("undamped" if undamped else "limit cycle")
        while total <= NUMBERS.most_periods:
            until = periods * slow
            found = self.run(until, state, save_every=until / (100 * periods))
            z, spread, whole = self.scaled(found)
            first = first or whole
            if spread <= NUMBERS.collapsed * first:
                raise NoOrbit(
                    "the motion from the start comes to rest: it has no limit cycle; give another `start`, or periodic inputs"
                )
            begin, period = (0.0, self.first_return(z, found.time)) if undamped else self.last_return(z, found.time)
            if period:
                at = found.time.searchsorted(begin)
                orbit = self.guess(0.0, period, State(found.q[at], found.v[at], 0.0))
                shooting.sizes = np.concatenate([self.lengths, self.lengths * 2 * np.pi / period])
                if undamped:
                    shooting.energy = float(self.flow.bound.energies(0.0, orbit.q0, orbit.v0)[:2].sum())
                    value = shooting.energy if shooting.by == ENERGY else value
                made = shooting.corrected(replace(orbit, value=value))
                if made is not None and shooting.extent(made[0].orbit) > 0.1 * shooting.extent(orbit):
                    return shooting, self.shortest(shooting, made[0])
            if undamped and total:
                break
            state, total, periods = replace(found.final, t=0.0), total + periods, 2 * periods
        if undamped:
            raise NoOrbit(
                "the motion from the start does not repeat: without damping most motions do not; give a `start` near a "
                "vibration, or `start: equilibrium` for the slowest one"
            )
        decays = spread < 0.5 * first
        raise NoOrbit(
            "no limit cycle was found: the motion from the start " + (
                "decays; it oscillates only while it is damped little" if decays else "does not repeat"
            ) + "; give a `start` near a cycle, or periodic inputs"
        )  # fmt: skip

    def shortest(self, shooting: Shooting, at: Linearized) -> Linearized:
        """The orbit itself, or its part if it repeats within its period."""
        orbit, increment = at.orbit, self.flow.bound.increment
        for parts in range(NUMBERS.repeats, 1, -1):
            (q,), (v,) = orbit.at(np.array([1 / parts]), increment)
            away = np.concatenate([self.group.difference(orbit.q0, q) - orbit.turns / parts, v - orbit.v0])
            if np.abs(away / shooting.sizes).max() > NUMBERS.same * shooting.extent(orbit):
                continue
            mesh = np.linspace(0, 1, NUMBERS.segments + 1)
            stages = mesh[:-1, None] + np.diff(mesh)[:, None] * NODES[1:]
            q, v = orbit.at(stages.ravel() / parts, increment)
            shape = (*stages.shape, -1)
            part = replace(
                orbit, mesh=mesh, q=q.reshape(shape), v=v.reshape(shape), period=orbit.period / parts,
                turns=orbit.turns / parts,
            )  # fmt: skip
            found = shooting.corrected(part)
            if found is not None:
                return found[0]
        return at

    def is_undamped(self, state: State, period: float) -> bool:
        """Whether a motion neither loses nor receives energy."""
        run = self.run(period, state, save_every=period / 20)
        power = [self.flow.bound.energies(0.0, q, v) for q, v in zip(run.q, run.v, strict=True)]
        work = np.abs([x[2:4] for x in power]).sum(axis=1).max()
        return bool(work <= 1e-9 * max(x[0] for x in power) * 2 * np.pi / period)

    def scaled(self, run: Result) -> tuple[np.ndarray, float, float]:
        """States of a motion in scaled units, and how far they spread in the last quarter and in all."""
        x = self.path(np.asarray(run.q))
        v = np.asarray(run.v) / self.lengths
        spread = np.ptp(x[-len(x) // 4 :], axis=0).max()
        rates = max(np.ptp(v[-len(v) // 4 :], axis=0).max(), 1e-300)
        return np.hstack([x, v * (spread / rates)]), float(spread), float(np.ptp(x, axis=0).max())

    def last_return(self, z: np.ndarray, time: np.ndarray) -> tuple[float, float]:
        """Time at which the last repeated part of a motion begins, and its length [s]; 0 if nothing repeats."""
        distance = np.linalg.norm(self.turned(z - z[-1]), axis=1)[::-1]
        back = self.nearest(distance)
        return (float(time[len(z) - 1 - back]), float(time[-1] - time[-1 - back])) if back else (0.0, 0.0)

    def first_return(self, z: np.ndarray, time: np.ndarray) -> float:
        """Time after which a motion returns to its start [s]; 0 if it does not."""
        back = self.nearest(np.linalg.norm(self.turned(z - z[0]), axis=1))
        return float(time[back] - time[0]) if back else 0.0

    def turned(self, z: np.ndarray) -> np.ndarray:
        """Differences of scaled states without full turns of angles that may turn."""
        free = self.may_turn(self.start.q, self.start.v)
        n = len(free)
        out = z.copy()
        lengths = self.lengths[free]
        out[:, :n][:, free] -= 2 * np.pi * np.round(z[:, :n][:, free] * lengths / (2 * np.pi)) / lengths
        return out

    @staticmethod
    def nearest(distance: np.ndarray) -> int:
        """Index at which a motion first is as near to its beginning again as it ever is; 0 if it is never near."""
        away = int(np.argmax(distance > 0.5 * distance.max()))
        inner = distance[away + 1 : -1]
        low = np.flatnonzero((inner <= distance[away:-2]) & (inner <= distance[away + 2 :])) + away + 1
        low = low[distance[low] <= NUMBERS.recurrence * distance.max()]
        good = low[distance[low] <= max(2 * distance[low].min(initial=np.inf), NUMBERS.near * distance.max())]
        return int(good[0]) if len(good) else 0


# -- remarks -----------------------------------------------------------------------------------------------------------


@remark("a robot without damping and inputs over time", "its orbits are not isolated")
def one_of_a_family(eqs: Equations, result: PeriodicOrbits) -> str | None:
    """Robots without damping have families of orbits: the one shown has the energy of the start."""
    if result.kind != "undamped" or result.parameter == ENERGY or not len(result):
        return None
    return (
        f"nothing is damped: this orbit is one of a family, that with the energy of its start ({result.energies[0]:.6g} J); "
        "disturbances neither grow nor decay. `parameter: energy` follows the family"
    )


@remark(
    "the model has controllers",
    "they are sampled, so that the motion between samples is not a differential equation of the state",
)
def controllers_left_out(eqs: Equations, result: PeriodicOrbits) -> str | None:
    """Controllers of the model do not act on orbits."""
    return "the controllers of the model are not part of the orbit" if eqs.model.spec.control else None


@remark("estimated error above the tolerance", "the mesh has its largest number of segments")
def orbit_not_resolved(eqs: Equations, result: PeriodicOrbits) -> str | None:
    """Orbits with jumps or impacts, which no mesh resolves."""
    worst = float(np.max(result.errors, initial=0.0))
    if worst <= result.tolerance:
        return None
    return f"the error of the orbit is about {worst:.1g} of its size, above the tolerance {result.tolerance:g}"


@remark(
    "surfaces that may touch with friction", "springs of static friction have a memory, which is no part of the state"
)
def friction_by_velocity(eqs: Equations, result: PeriodicOrbits) -> str | None:
    """Static friction of contacts."""
    laws, numbers = eqs.model.system.contacts.laws, eqs.binding.constants
    if not any(numbers[law.constants + LawNumbers.place(way)] for law in laws for way in ("along", "across")):
        return None
    return "friction of contacts depends on the velocities only along the orbit: surfaces that stick creep"


# -- the analysis ------------------------------------------------------------------------------------------------------


class Periodic(Analysis):
    """Find a periodic orbit with its stability, and follow it in a parameter.

    With inputs that vary as sines and cosines of time the orbit has their period; other robots may have limit cycles, and robots
    without damping families of orbits. The search begins with the motion from `start`. Controllers of the model do not act.
    """

    name: ClassVar[str] = "periodic"
    title: ClassVar[str] = "Periodic orbit"
    result = PeriodicOrbits
    remarks = (one_of_a_family, controllers_left_out, orbit_not_resolved, friction_by_velocity, inputs_beyond_limits)
    state: ClassVar[str] = "start"
    first: ClassVar[tuple[str, ...]] = ("parameter", "to")

    parameter: str | None = None
    """Parameter or input to change, from its value in the model; the frequency is one if the inputs are written with it. Also
    `energy`, for a robot without damping."""
    to: AnyNumber | None = None
    """Its final value, with or without a unit."""
    start: StateGiven | None = None
    """State from which the motion begins: `initial`, `equilibrium`, or coordinates and rates by name; default: the model's."""
    period: Seconds | None = None
    """Period of the inputs [s]; default: from their sines and cosines. Without inputs over time: about the period of the cycle."""
    cycles: Count = 1
    """Periods of the inputs in a period of the orbit: 2 or more for subharmonic motions."""
    settle: Annotated[int, Field(ge=0, strict=True)] = 20
    """Periods of the inputs that are simulated before the search."""
    max_points: Annotated[int, Field(ge=2, strict=True)] = 400
    """Maximum number of orbits of a branch."""
    max_step: PureNumber = 0.1
    """Longest step along a branch, as a part of the range of the parameter and of the size of the robot [-]."""
    tolerance: PureNumber = 1e-6
    """Largest accepted error of an orbit, relative to its size [-]."""
    progress: Annotated[Callable[[str, str, float], None] | None, InPython()] = None
    """Called during the motion from the start and after each orbit of a branch, with what is being done, how far it is, and the
    share that is done."""

    def reported(self, *report: Any) -> tuple[str, str, float | None]:
        """What is being done, how far it is, and the share that is done."""
        stage, words, share = report
        return stage, words, share

    def told(self, stage: str, words: str, share: float) -> None:
        """Report progress, if it is wanted."""
        if self.progress is not None:
            self.progress(stage, words, share)

    def faults(self, model: Model) -> Iterator[Problem]:
        """Names and units among the options that the robot does not have."""
        yield from super().faults(model)
        changed = {name: model.environment.dimension(name) for name in (*model.parameter_names, *model.input_names)}
        if self.parameter is not None and self.parameter != ENERGY and self.to is not None:
            yield from named_values(
                ("to",), {self.parameter: self.to}, changed, "parameter or input", model, at=("parameter",)
            )

    def run(self, eqs: Equations) -> PeriodicOrbits:
        """Search the first orbit, and follow it."""
        function("progress", self.progress)
        self._check(eqs)
        given = dict(self.inputs or {})
        eqs = eqs.at(parameters=self.parameters)
        value = np.nan
        if self.parameter is not None and self.parameter != ENERGY:
            known = eqs.parameters | eqs.input_values()
            if self.parameter not in known:
                raise ArgumentError(*unknown_name("parameter or input", self.parameter, known))
            value = float(known[self.parameter])
        flow_of = _flows(self, eqs, given)
        flow = flow_of(value)
        group = ConfigurationGroup(eqs.model.system)
        own = eqs.model.spec.start if self.start is None else self.start
        try:
            state = state_at(flow.eqs, own, 0.0, where="start")
        except AnalysisFailed as reason:
            if own != EQUILIBRIUM:
                raise
            state = reason.result.state
        state = State(*flow.start(np.array(state.q), np.array(state.v)), 0.0)
        search = Search(self, flow.eqs, flow, state, given or None, group)
        reach = abs(float(self.to) - value) if self.to is not None and np.isfinite(value) else 1.0

        def shooting_of(kind: str) -> Shooting:
            slow = flow.period or self.period or search.slowest()[0]
            sizes = np.concatenate([search.lengths, search.lengths * 2 * np.pi / slow])
            return Shooting(flow_of, sizes, reach, kind, self.parameter or "", float(self.tolerance))

        try:
            if flow.period is not None:
                shooting = shooting_of("driven")
                if self.parameter == ENERGY:
                    raise ArgumentError(
                        "the energy of a driven motion is not constant", "follow a parameter of the model"
                    )
                first = search.driven(shooting, value)
            else:
                shooting, first = search.autonomous(shooting_of, value)
                if self.parameter == ENERGY and not shooting.conservative:
                    raise ArgumentError(
                        "a limit cycle has no energy to choose: the robot is damped", "follow a parameter of the model"
                    )
        except NoOrbit as reason:
            return _result(self, search, None, (), Status.FAILED, str(reason))
        first, error = shooting.refined(first)
        branch = Branch(shooting, self.told)
        status, message = Status.CONVERGED, ""
        if self.parameter == ENERGY:
            assert self.to is not None
            shooting.reach = abs(float(self.to) - first.orbit.value)
            first = shooting.linearized(first.orbit)
        branch.add(first, error)
        if self.to is not None:
            status, message = branch.follow(float(self.to), self.max_points, self.max_step)
        return _result(self, search, shooting, tuple(branch.points), status, message)

    def _check(self, eqs: Equations) -> None:
        if (self.parameter is None) != (self.to is None):
            raise ArgumentError("parameter and to belong together", "give both, or none")
        if eqs.model.followed:
            raise ArgumentError(
                "orbits of robots with prescribed rates or accelerations cannot be searched",
                "prescribe positions instead",
            )
        if not eqs.rates:
            raise ArgumentError("the robot has no coordinates, so it does not move")


def _flows(analysis: Periodic, eqs: Equations, given: dict[str, Any]) -> Callable[[float], Flow]:
    """The equations at values of the parameter; recent ones are kept."""
    kept: dict[float, Flow] = {}
    name = analysis.parameter

    def made(value: float) -> Flow:
        changes: dict[str, Any] = {"parameters": {}, "inputs": {}}
        if name is not None and name != ENERGY:
            changes["inputs" if name in eqs.inputs else "parameters"] = {name: value}
        here = eqs.at(parameters=changes["parameters"] or None, inputs=changes["inputs"] or None, within_limits=False)
        own = {**given, **changes["inputs"]}
        varies = any(isinstance(x, str) or not isinstance(x, int | float) for x in own.values())
        period = None
        if analysis.period is None or not varies:
            try:
                period = input_period(here, own)
            except ArgumentError:
                if analysis.period is None:
                    raise
                period = analysis.period
            else:
                period = analysis.period if period is not None and analysis.period is not None else period
        else:
            period = analysis.period
        total = None if period is None else period * analysis.cycles
        if own:
            here = here.at(inputs=inputs_over_time(here, own, changes["parameters"], 0.0, 1.01 * (total or 1.0)))
        bound = here.binding
        if bound.m:
            start = here.initial_state()
            bound = assemble(here, bound, 0.0, start.q, start.v).bound
        return Flow(here, bound, total)

    def flow_of(value: float) -> Flow:
        key = 0.0 if np.isnan(value) or name == ENERGY else value
        if key not in kept:
            if len(kept) > 8:
                kept.clear()
            kept[key] = made(value)
        return kept[key]

    return flow_of


def _result(
    analysis: Periodic, search: Search, shooting: Shooting | None,
    points: tuple[tuple[Linearized, np.ndarray, float, str], ...], status: Status, message: str,
) -> PeriodicOrbits:  # fmt: skip
    """The result of orbits."""
    eqs, flow, group = search.eqs, search.flow, search.group
    phases = np.linspace(0, 1, NUMBERS.phases + 1)
    count, n = len(points), len(eqs.rates)
    q, v = np.zeros((count, len(phases), len(eqs.coordinates))), np.zeros((count, len(phases), n))
    for k, (at, *_) in enumerate(points):
        q[k], v[k] = at.orbit.at(phases, flow.bound.increment)
    lowest, highest = np.full((count, q.shape[2]), np.nan), np.full((count, q.shape[2]), np.nan)
    for k, (at, *_) in enumerate(points):
        low, high = at.orbit.ranges()
        lowest[k, group.plain_q], highest[k, group.plain_q] = low[group.plain_v], high[group.plain_v]
    amplitudes = 0.5 * (highest - lowest)
    leading = ""
    if count and not np.all(np.isnan(amplitudes)):
        sizes = np.full(q.shape[2], np.inf)
        sizes[group.plain_q] = flow.bound.sizes(points[0][0].orbit.q0)[1][group.plain_v]
        leading = eqs.coordinates[int(np.argmax(np.nan_to_num(amplitudes / sizes).max(axis=0)))]
    trivial = 0 if shooting is None else shooting.trivial
    multipliers = np.array([x[1] for x in points]) if count else np.zeros((0, 0), dtype=complex)
    stable = np.array([shooting is not None and shooting.outside(x[1]) == 0 for x in points], dtype=bool)
    periods = np.array([x[0].orbit.period for x in points])
    if count and not message:
        last = "stable" if stable[-1] else "unstable"
        kind = {"driven": "driven orbit", "undamped": "orbit"}.get(shooting.kind if shooting else "", "limit cycle")
        where = f" up to {analysis.parameter} = {points[-1][0].orbit.value:.6g}" if analysis.parameter else ""
        message = f"{kind} with a period of {periods[-1]:.6g} s, {last}" if not where else f"{count} orbits{where}"
    first = points[0][0].orbit if count else None
    return PeriodicOrbits(
        np.array([x[0].orbit.value for x in points]), periods, lowest, highest, amplitudes,
        amplitudes[:, eqs.coordinates.index(leading)] if leading else np.full(count, np.nan), multipliers, stable,
        tuple(x[3] for x in points), np.array([x[0].energy for x in points]), np.array([x[2] for x in points]), phases,
        *_plane(group, q, v, eqs.coordinates, leading), q, v,
        search.start if first is None else State(first.q0, first.v0, 0.0), flow.eqs, shooting.kind if shooting else "",
        analysis.parameter or "", leading, trivial, float(analysis.tolerance), status, message,
    )  # fmt: skip


def _plane(
    group: ConfigurationGroup, q: np.ndarray, v: np.ndarray, names: tuple[str, ...], leading: str
) -> tuple[np.ndarray, np.ndarray]:
    """Position and rate of the leading coordinate in the last orbit."""
    if not leading:
        return (np.full(NUMBERS.phases + 1, np.nan),) * 2
    k = names.index(leading)
    (rate,) = group.plain_v[np.asarray(group.plain_q) == k]
    return q[-1, :, k], v[-1, :, rate]


periodic = function_of(Periodic)
