"""Frequency responses: amplitude and phase of outputs for small sinusoidal changes of inputs about a rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from pliant.analysis.base import Analysis, Count, Seconds, SignalNames, StateGiven, function_of
from pliant.analysis.linear.small_motion import kinked_pose, unbalanced_pose
from pliant.analysis.linearize import Linearize, StateSpace, momentary, outputs_without_derivative
from pliant.analysis.numerics.state import moved_onto_constraints
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import remark
from pliant.analysis.remarks.contact_remarks import contacts_linearized
from pliant.analysis.remarks.input_limits import inputs_beyond_limits
from pliant.analysis.remarks.validity import friction_of_tendons_linearized
from pliant.analysis.result import Along, AnalysisResult, Lines, Sheet
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.engine.outputs import output_units
from pliant.engine.state import State
from pliant.language import dimension as dim
from pliant.language.arguments import ArgumentError
from pliant.language.base import Problem
from pliant.language.message_text import enumeration, unit_text
from pliant.language.scalar import Quantity

Hertz = Annotated[float, Quantity(dim.RATE)]

DECADES_BESIDE = 10.0
"""The default range reaches from a tenth of the lowest natural frequency to ten times that of the sixth mode: higher ones are
rarely meant."""
MODES_IN_RANGE = 6
AROUND = np.tan(np.linspace(-1.4, 1.4, 41))
"""Frequencies near a resonance, in half widths: equally spaced in the phase of the response."""
NARROWEST = 1e-4
"""Smallest half width relative to the frequency, for modes that are hardly damped."""
UNDAMPED = 1e-9
"""Damping ratios below this are round-off."""
ROUND_OFF = 1e-13
"""Channels whose peak, relative to the largest one of the input among outputs of the same unit, is below this are zero."""


@dataclass(frozen=True, repr=False, eq=False)
class FrequencyResponse(AnalysisResult):
    """Response of outputs to inputs: y = H u for u exp(2 pi i f t).

    Attributes:
        frequencies: [Hz]; more of them near resonances.
        response: H, frequencies x outputs x inputs, complex, in SI units.
        amplitudes: its magnitude, frequencies x channels. phases: how far the output leads the input [deg], continuous in the
            frequency. A channel is an output and an input.
        static: H at frequency 0, channels; NaN or infinite where nothing holds the robot.
        peaks, peak_frequencies: largest amplitude of each channel, and where it is [Hz].
        eigenvalues: of the linear system [1/s].
        state: the linearization point. given: the requested state, before it was moved onto the constraints.
        omitted: outputs without a derivative there.
    """

    plots = (
        Lines("frequencies", ("amplitudes",), "amplitude per unit of the input (SI units)", log="xy"),
        Lines("frequencies", ("phases",), "phase", log="x"),
    )

    frequencies: Annotated[np.ndarray, Along("frequency", unit="Hz", text="frequency")]
    response: Annotated[np.ndarray, Along("frequency", "linear_output", "linear_input", is_complex=True)]
    amplitudes: Annotated[np.ndarray, Along("frequency", "channel", text="amplitude per unit of the input (SI units)")]
    phases: Annotated[np.ndarray, Along("frequency", "channel", unit="deg", text="phase")]
    static: Annotated[np.ndarray, Along("channel")]
    peaks: Annotated[np.ndarray, Along("channel")]
    peak_frequencies: Annotated[np.ndarray, Along("channel", unit="Hz")]
    eigenvalues: Annotated[np.ndarray, Along("eigenvalue", unit="1/s", is_complex=True)]
    inputs: Annotated[tuple[str, ...], Along("linear_input", labels=True)]
    outputs: Annotated[tuple[str, ...], Along("linear_output", labels=True)]
    channels: Annotated[tuple[str, ...], Along("channel", labels=True)]
    omitted: Annotated[tuple[str, ...], Along("omitted")]
    state: State
    given: State
    equations: Equations
    status: Status = Status.COMPLETED
    message: str = ""

    def sheets(self) -> tuple[Sheet, ...]:
        """Static response and peak of each channel."""
        model = self.equations.model
        outputs = output_units(model)
        units = {name: unit_text(model.environment.dimension(name)) for name in model.input_names}
        rows = []
        for k, name in enumerate(self.channels):
            out, into = self.outputs[k // len(self.inputs)], self.inputs[k % len(self.inputs)]
            unit = f"{outputs.get(out) or outputs.get(out.rpartition('.')[0]) or '-'} per {units.get(into) or '1'}"
            static = f"{self.static[k]:.6g}" if np.isfinite(self.static[k]) else "-"
            at = f"{self.peak_frequencies[k]:.6g}" if self.peaks[k] > 0 else "-"
            rows.append((name, unit, static, f"{self.peaks[k]:.6g}", at))
        head = ("output / input", "unit", "static", "peak", "at [Hz]")
        most = tuple(range(16)) if len(rows) > 18 else None
        return (Sheet(head, tuple(rows), first=most, words="channels"),)


# -- remarks -----------------------------------------------------------------------------------------------------------


@remark("an eigenvalue has a positive real part", "a forced motion about an unstable rest leaves it")
def response_of_unstable_rest(eqs: Equations, result: FrequencyResponse) -> str | None:
    """The rest is unstable: the response does not settle."""
    values = result.eigenvalues
    if not np.any(values.real > 1e-9 * np.abs(values).max(initial=0.0)):
        return None
    return "the state is unstable: the robot leaves it, and the response describes its motion only where something stabilizes it"


@remark(
    f"a damping ratio below {UNDAMPED:g} at a frequency of the range",
    "the amplitude is infinite there, and the peak a sample",
)
def resonance_without_damping(eqs: Equations, result: FrequencyResponse) -> str | None:
    """Resonances without damping."""
    values = result.eigenvalues[result.eigenvalues.imag > 0]
    sharp = values[np.abs(values.real) <= UNDAMPED * np.abs(values)]
    found = [
        f"{x:.6g} Hz"
        for x in np.sort(np.abs(sharp)) / (2 * np.pi)
        if result.frequencies[0] <= x <= result.frequencies[-1]
    ]
    if not found:
        return None
    where = enumeration(found, 6)
    return f"nothing damps the resonance at {where}: the amplitude is infinite there, and peaks depend on the samples"


# -- the analysis ------------------------------------------------------------------------------------------------------


class FindFrequencyResponse(Analysis):
    """Amplitude and phase of outputs for small sinusoidal changes of inputs about a rest, over frequencies.

    The equations are linearized as by `linearize`, exactly. An input that prescribes a position or a rate is itself the input here,
    not its derivative. Outputs are those of the model, or all coordinates if it has none.
    """

    name: ClassVar[str] = "frequency_response"
    title: ClassVar[str] = "Frequency response"
    result = FrequencyResponse
    remarks = (
        moved_onto_constraints, friction_of_tendons_linearized, contacts_linearized, inputs_beyond_limits, unbalanced_pose,
        kinked_pose, momentary, outputs_without_derivative, response_of_unstable_rest, resonance_without_damping,
    )  # fmt: skip

    lowest: Hertz | None = None
    """Lowest frequency [Hz]; default: a tenth of the lowest natural frequency."""
    highest: Hertz | None = None
    """Highest frequency [Hz]; default: ten times the natural frequency of the sixth mode, or of the last."""
    count: Count = 200
    """Number of frequencies, equally spaced in their logarithm; others are added near resonances."""
    at: StateGiven = "equilibrium"
    """State about which the robot moves: `equilibrium`, `initial`, or coordinates and rates by name."""
    time: Seconds | None = None
    """Time at which inputs are evaluated [s]; default: that of the state."""
    input_names: SignalNames | None = None
    """Inputs to use; default: all."""
    output_names: SignalNames | None = None
    """Outputs to use; default: all that have a derivative in the state."""

    def faults(self, model: Model) -> Iterator[Problem]:
        """Names among the options that the robot does not have."""
        yield from Linearize(**self._shared()).faults(model)

    def _shared(self) -> dict[str, Any]:
        """The options that are also those of `linearize`; inputs are chosen later, by their own names."""
        return {name: getattr(self, name) for name in ("at", "time", "output_names", "inputs", "parameters")}

    def run(self, eqs: Equations) -> FrequencyResponse:
        """Linearize, and solve at each frequency."""
        if not eqs.inputs:
            raise ArgumentError(
                "the robot has no inputs, so nothing excites it",
                "add a parameter with `input: true`, and a load or a motion that uses it",
            )
        system = Linearize(**self._shared()).run(eqs)
        chosen, orders, names = self._chosen(system)
        values = np.linalg.eigvals(system.A)
        frequencies = self._frequencies(values)
        response = _response(system, frequencies, chosen, orders)
        zero = _without_response(system, response)
        response[:, zero] = 0.0
        with np.errstate(invalid="ignore"):
            static = np.where(zero, 0.0, _response(system, np.zeros(1), chosen, orders)[0].real).ravel()
        flat = response.reshape(len(frequencies), -1)
        amplitudes = np.abs(flat)
        peaks = np.argmax(amplitudes, axis=0)
        channels = tuple(f"{out} / {name}" for out in system.outputs for name in names)
        every = np.arange(len(channels))
        assert system.given is not None
        return FrequencyResponse(
            frequencies, response, amplitudes, np.degrees(np.unwrap(np.angle(flat), axis=0)), static,
            amplitudes[peaks, every], frequencies[peaks], values, names, system.outputs, channels, system.omitted,
            system.state, system.given, system.equations, Status.COMPLETED,
            f"{len(channels)} channel{'s' if len(channels) > 1 else ''} from {frequencies[0]:.4g} to {frequencies[-1]:.4g} Hz",
        )  # fmt: skip

    def _chosen(self, system: StateSpace) -> tuple[list[int], np.ndarray, tuple[str, ...]]:
        """Columns of the chosen inputs, the order of the derivative that each stands for, and the names of the inputs."""
        own = system.equations.inputs
        orders = [next(k for k, x in enumerate((name, f"d({name})/dt", f"d2({name})/dt2")) if x == column)
                  for name, column in zip(own, system.inputs, strict=True)]  # fmt: skip
        wanted = own if self.input_names is None else self.input_names
        chosen = []
        for name in wanted:
            places = [k for k, x in enumerate(own) if x == name or x.startswith(f"{name}[")]
            if not places:
                raise ArgumentError(f"there is no input '{name}'", f"known: {', '.join(own)}")
            chosen += places
        return chosen, np.array([orders[k] for k in chosen]), tuple(own[k] for k in chosen)

    def _frequencies(self, values: np.ndarray) -> np.ndarray:
        """The frequencies of the range, with more near resonances [Hz]."""
        size = np.sort(np.abs(values[values.imag >= 0])) / (2 * np.pi)
        size = size[size > 1e-7 * size.max(initial=0.0)]
        if not len(size) and (self.lowest is None or self.highest is None):
            raise ArgumentError(
                "the robot has no natural frequency from which the range follows", "give lowest and highest"
            )
        low = size[0] / DECADES_BESIDE if self.lowest is None else float(self.lowest)
        high = size[:MODES_IN_RANGE][-1] * DECADES_BESIDE if self.highest is None else float(self.highest)
        if not 0 < low < high:
            raise ArgumentError(f"the lowest frequency, {low:g} Hz, must be above 0 and below the highest, {high:g} Hz")
        turning = values[values.imag > 0]
        widths = np.maximum(np.abs(turning.real), NARROWEST * np.abs(turning)) / (2 * np.pi)
        near = (turning.imag[:, None] / (2 * np.pi) + widths[:, None] * AROUND).ravel()
        every = np.append(np.geomspace(low, high, self.count), near)
        return np.unique(np.clip(every[(every >= low * (1 - 1e-12)) & (every <= high * (1 + 1e-12))], low, high))


def _response(system: StateSpace, frequencies: np.ndarray, chosen: list[int], orders: np.ndarray) -> np.ndarray:
    """H at frequencies [Hz], frequencies x outputs x inputs; NaN where it does not exist."""
    n, B, D = len(system.A), system.B[:, chosen], system.D[:, chosen]
    response = np.zeros((len(frequencies), len(system.outputs), len(chosen)), dtype=complex)
    for k, frequency in enumerate(frequencies):
        s = 2j * np.pi * frequency
        try:
            moved = np.linalg.solve(s * np.eye(n) - system.A, B.astype(complex))
        except np.linalg.LinAlgError:
            response[k] = np.nan
            continue
        response[k] = (system.C @ moved + D) * s**orders
    return response


def _without_response(system: StateSpace, response: np.ndarray) -> np.ndarray:
    """Whether the response of an output to an input is round-off, outputs x inputs."""
    units = output_units(system.equations.model)
    own = [units.get(name) or units.get(name.rpartition(".")[0]) or name for name in system.outputs]
    peaks = np.nan_to_num(np.abs(response), nan=np.inf).max(axis=0)
    largest = np.array([peaks[[x == unit for x in own]].max(axis=0) for unit in own])
    return np.asarray(peaks <= ROUND_OFF * largest) & (peaks < np.inf)


frequency_response = function_of(FindFrequencyResponse)
