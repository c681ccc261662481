"""Modes: natural frequencies, damping ratios and shapes of small motions about a state.

Constraints, damping and gyroscopic terms are included; large robots are solved by an iterative method.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from pydantic import StrictBool

from pliant.analysis.base import Analysis, Count, Seconds, StateGiven, function_of
from pliant.analysis.linear.eigenmodes import ALL_UP_TO, FEW, Kind, in_order, small_motions
from pliant.analysis.linear.small_motion import kinked_pose, steady_start, unbalanced_pose
from pliant.analysis.numerics.state import AssemblyError, assemble, moved_onto_constraints
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import remark
from pliant.analysis.remarks.contact_remarks import contacts_linearized
from pliant.analysis.remarks.input_limits import inputs_beyond_limits
from pliant.analysis.remarks.validity import friction_of_tendons_linearized
from pliant.analysis.result import Along, AnalysisResult, Poses, Sheet
from pliant.analysis.states import about
from pliant.engine.equations import Equations
from pliant.engine.state import State

SHOWN = 10
"""Number of modes in a short table, unless only two more are left."""
FRAMES, SECONDS = 24, 2.0
"""Number of poses of a played period, and how long it takes [s]."""
LARGEST_MOVE, LARGEST_TURN = 0.15, 0.5
"""Amplitude of a played mode: relative to the robot's size, and in radians."""
WIDEST = 36
"""Width of the coordinate names in a table, unless one name is longer."""


@dataclass(frozen=True, repr=False, eq=False)
class ModesResult(AnalysisResult):
    """Modes: eigenvalues of the linearized motion with their shapes. Growing ones come first, then by magnitude, lowest first.

    A conjugate pair of eigenvalues is one mode. Two real ones are two modes, unless they are opposite with the same shape
    due to missing damping (a rigid-body mode, an unstable direction).

    Attributes:
        eigenvalues: complex, with the positive imaginary part of a pair, or the one that grows [1/s].
        frequencies: magnitude of `eigenvalues` over 2 pi [Hz]; without damping the natural frequency. Negative for a motion that
            grows without oscillating.
        damping_ratios: minus the real part over the magnitude of `eigenvalues` [-]; negative for a motion that grows, 1 for one
            that decays without oscillating, 0 for a rigid-body mode.
        kinds: oscillating, overdamped (decays without oscillating), rigid-body (moves without stiffness), unstable.
        shapes: in increments of q, nv x modes, with x^H M x = 1; complex where parts of the robot move out of phase, as where
            damping or gyroscopic terms couple the undamped modes. The motion is the real part of x exp(eigenvalue t).
        stable: no mode grows, listed or not; None where that could not be decided.
        unlisted_unstable, unlisted_rigid_body: numbers of such modes that are not listed.
        state: the linearization point. given: the requested state, before it was moved onto the constraints.
    """

    plots = ("modes", "eigenvalues")
    played = "One period of each mode is played in two seconds, whatever its frequency; growth and decay are not shown."

    eigenvalues: Annotated[np.ndarray, Along("mode", unit="1/s", is_complex=True)]
    frequencies: Annotated[np.ndarray, Along("mode", unit="Hz")]
    damping_ratios: Annotated[np.ndarray, Along("mode", unit="1")]
    kinds: Annotated[tuple[Kind, ...], Along("mode")]
    shapes: Annotated[np.ndarray, Along("rate", "mode", is_complex=True)]
    stable: Annotated[bool | None, Along()]
    state: State
    given: State
    equations: Equations
    unlisted_unstable: int = 0
    unlisted_rigid_body: int = 0
    status: Status = Status.COMPLETED
    message: str = ""

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def phase(self, mode: int, angle: float) -> np.ndarray:
        """Increments of q in a mode (from 0) at an angle of its oscillation [rad]: a quarter of a turn is its largest swing."""
        return np.asarray((self.shapes[:, mode] * (-1j * np.exp(1j * angle))).real)

    @cached_property
    def energy_shares(self) -> np.ndarray:
        """Shares of the rates in the kinetic energy of each mode, nv x modes: the real part of conj(x_i) (M x)_i, with sum 1.

        Unlike amplitudes they have no units: coordinates in metres, radians and 1/m can be compared. A share may be negative where
        coordinates move against each other.
        """
        momenta = self.equations.binding.mass_matrix(self.state.q) @ self.shapes
        return np.asarray((np.conj(self.shapes) * momenta).real)

    def leading(self, mode: int) -> tuple[str, ...]:
        """The rates with the largest shares of the kinetic energy of a mode (from 0): up to three."""
        share = self.energy_shares[:, mode]
        # shares that differ by rounding errors only, as in symmetric robots, are listed in the order of the rates
        most = np.argsort(-np.round(share / max(share.max(initial=0.0), 1e-300), 6), kind="stable")[:3]
        return tuple(self.equations.rates[i] for i in most if share[i] > 0.05 * share.max())

    @property
    def shown_first(self) -> tuple[int, ...]:
        """Modes for a short table (from 0): all if they are few, otherwise the first, and all unstable and rigid-body ones."""
        every = range(len(self))
        if len(self) <= SHOWN + 2:
            return tuple(every)
        return tuple(k for k in every if k < SHOWN or self.kinds[k] in ("unstable", "rigid-body"))

    def sheets(self) -> tuple[Sheet, ...]:
        """A table of the modes."""
        head = ("mode", "eigenvalue [1/s]", "frequency [Hz]", "damping ratio", "kind", "moves most")
        rows = tuple(
            (str(k + 1), _eigenvalue(value), f"{self.frequencies[k]:.6g}" if value.imag or value == 0 else "-",
             f"{self.damping_ratios[k]:.4g}", str(self.kinds[k]), _shortened(_merged(self.leading(k))))
            for k, value in enumerate(self.eigenvalues)
        )  # fmt: skip
        return (Sheet(head, rows, first=self.shown_first, words="modes"),)

    def words(self, mode: int) -> str:
        """Short description of a mode (from 0): its frequency, or its type."""
        value = self.eigenvalues[mode]
        if self.kinds[mode] == "rigid-body":
            return "rigid-body"
        grows = self.kinds[mode] == "unstable"
        if value.imag == 0:
            return f"{'unstable' if grows else 'overdamped'}, {abs(1 / value.real):.3g} s"
        return f"{abs(self.frequencies[mode]):.4g} Hz{', unstable' if grows else ''}"

    def poses(self) -> Iterator[Poses]:
        """One period of each mode about its state, slowed down or sped up to two seconds."""
        times = np.linspace(0, SECONDS, FRAMES + 1)
        for k in range(len(self)):
            positions, words = self.positions(k), self.words(k)
            q = np.array([*positions, positions[0]])
            yield Poses(f"mode {k + 1}: {words}", q, times, self.state.t, words=words, loops=True)

    def positions(self, mode: int, eqs: Equations | None = None) -> list[np.ndarray]:
        """Positions q over one period of a mode (from 0), with a visible amplitude; closed loops stay closed."""
        eqs = self.equations if eqs is None else eqs
        bound, rest = eqs.binding, self.state.q
        angles = np.arange(FRAMES) * 2 * np.pi / FRAMES
        places = bound.node_poses(rest)[1]
        # a complex mode has no single pose of largest amplitude
        factors = [_amplitude(places, bound.node_twists(rest, self.phase(mode, angle))) for angle in angles]
        amplitude = min((factor for factor in factors if factor > 0), default=0.0)
        positions = []
        for angle in angles:
            q = bound.increment(rest, amplitude * self.phase(mode, angle))
            if bound.m:
                with suppress(AssemblyError):  # where a loop cannot be closed, the linear motion is shown
                    q = assemble(eqs, bound, self.state.t, q, np.zeros(bound.nv)).q
            positions.append(q)
        return positions


def _amplitude(places: np.ndarray, twists: np.ndarray) -> float:
    """Factor on a shape so that nodes (at positions n x 3, moving with twists n x 6) move visibly but not too far."""
    moves = np.linalg.norm(twists[:, :3] + np.cross(twists[:, 3:], places), axis=1).max(initial=0.0)
    turns = np.linalg.norm(twists[:, 3:], axis=1).max(initial=0.0)
    size = max(float(np.ptp(places, axis=0).max(initial=0.0)), 1e-12)
    limits = [LARGEST_MOVE * size / moves] if moves > 0 else []
    limits += [LARGEST_TURN / turns] if turns > 0 else []
    return float(min(limits, default=0.0))


def _merged(names: tuple[str, ...]) -> list[str]:
    """Merge names that differ in one number: rod.bend_x[1], rod.bend_x[2] become rod.bend_x[1,2]."""
    numbers: dict[tuple[str, str], list[str]] = {}
    for name in names:
        before, bracket, rest = name.partition("[")
        number, _, after = rest.partition("]")
        numbers.setdefault((before + bracket, after), []).append(number)
    for found in numbers.values():
        if all(number.isdigit() for number in found):
            found.sort(key=int)
    return [f"{before}{','.join(found)}]{after}" if found[0] else before for (before, after), found in numbers.items()]


def _shortened(names: list[str]) -> str:
    """The first names, as many as fit in a table."""
    kept = [name for k, name in enumerate(names) if k == 0 or len(", ".join(names[: k + 1])) <= WIDEST]
    return ", ".join(kept)


def _eigenvalue(value: complex) -> str:
    if value == 0:
        return "0"
    if value.imag == 0:
        return f"{value.real:.4g}"
    return f"±{value.imag:.4g}i" if value.real == 0 else f"{value.real:.4g} ± {value.imag:.4g}i"


# -- remarks -----------------------------------------------------------------------------------------------------------


@remark("a mode grows, or moves without stiffness", "such modes are no vibrations")
def modes_that_are_no_vibrations(eqs: Equations, result: ModesResult) -> str | None:
    """Modes that grow, and rigid-body modes, with the number of those that are not listed."""
    parts = []
    for k, (value, kind) in enumerate(zip(result.eigenvalues, result.kinds, strict=True)):
        if kind == "rigid-body":
            parts.append(f"mode {k + 1} is a rigid-body mode: it moves without stiffness")
        elif kind == "unstable":
            parts.append(f"mode {k + 1} is unstable: it grows by a factor e in {1 / value.real:.3g} s")
    for kind, left in (("unstable", result.unlisted_unstable), ("rigid-body", result.unlisted_rigid_body)):
        if left:
            parts.append(f"{left} more {'mode is' if left == 1 else 'modes are'} {kind}")
    return "; ".join(parts) or None


@remark("more than 1200 rates and no `count`", "all modes of so large a robot would take minutes")
def only_the_lowest_modes(eqs: Equations, result: ModesResult) -> str | None:
    """Large robots: how many modes there are."""
    bound = eqs.binding
    if bound.nv <= ALL_UP_TO or len(result) > FEW:
        return None
    return f"the lowest {len(result)} modes of {bound.nv - int(bound.active_rows.sum())}; use count to compute more"


@remark("stability cannot be decided from the computed modes", "the stiffness matrix is asymmetric or singular")
def stability_of_other_modes(eqs: Equations, result: ModesResult) -> str | None:
    """Large robots whose modes were not all computed."""
    if result.stable is not None:
        return None
    return f"stability of the other modes was not determined: {len(result)} modes were computed"


@remark(
    "the state moves, but its linearized equations are not constant",
    "change by 1e-6 over a third of the fastest motion",
)
def rates_omitted(eqs: Equations, result: ModesResult) -> str | None:
    """Modes about the pose of a state whose motion is not steady."""
    return steady_start(eqs, result.given, result.state.t)[1] or None


class Modes(Analysis):
    """Modes about a state at rest or in steady motion.

    The stiffness is the derivative of all position-dependent forces there, including gravity and constraint forces. Rates are
    included if the motion is steady: that of a rotor, or with a prescribed motion. The inputs and parameters of an `Equilibrium`
    are used if none are given.
    """

    name: ClassVar[str] = "modes"
    title: ClassVar[str] = "Modes"
    result = ModesResult
    remarks = (
        moved_onto_constraints, rates_omitted, friction_of_tendons_linearized, inputs_beyond_limits, contacts_linearized,
        unbalanced_pose, kinked_pose, only_the_lowest_modes, stability_of_other_modes, modes_that_are_no_vibrations,
    )  # fmt: skip

    count: Count | None = None
    """Number of modes: growing ones first, then the lowest; default: all (20 if there are more than 1200 rates)."""
    at: StateGiven = "equilibrium"
    """State about which the motion is linearized: `equilibrium`, `initial`, or coordinates by name."""
    undamped: StrictBool = False
    """Omit damping and gyroscopic terms: natural frequencies and real mode shapes, with unit modal mass."""
    time: Seconds | None = None
    """Time at which inputs are evaluated [s]; default: that of the state."""

    def run(self, eqs: Equations) -> ModesResult:
        """Solve the eigenvalue problem of the linearized equations, and sort the modes."""
        eqs, given, t = about(eqs, self.at, self.inputs, self.parameters, self.time)
        made, _ = steady_start(eqs, given, t)
        motions = small_motions(eqs, made.bound, t, made.q, made.v, self.count, self.undamped)
        order, every_kind = in_order(motions.found)
        unlisted = [] if self.count is None else [every_kind[k] for k in order[self.count :]]
        order = order[: self.count]
        values, kinds = motions.found.values[order], tuple(every_kind[k] for k in order)
        size = np.abs(values)
        ratios = (
            np.divide(-values.real, size, out=np.zeros_like(size), where=size > 0) + 0.0
        )  # no minus in front of zero
        grows_only = (values.imag == 0) & (values.real > 0)
        frequencies = np.where(grows_only, -1.0, 1.0) * size / (2 * np.pi)
        shapes = motions.found.shapes[:, order]
        if np.iscomplexobj(shapes) and not np.any(shapes.imag):
            shapes = shapes.real
        unstable = "unstable" in (*kinds, *unlisted) or motions.stable is False
        return ModesResult(
            values, frequencies, ratios, kinds, shapes, False if unstable else motions.stable, motions.state, given, eqs,
            unlisted.count("unstable") + motions.missing, unlisted.count("rigid-body"),
        )  # fmt: skip


modes = function_of(Modes)
