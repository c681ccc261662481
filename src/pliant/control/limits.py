"""Actuator limits: bounds and rates, optimal commands within them, and warnings about saturation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from pliant.engine.core import check_names
from pliant.engine.equations import Equations
from pliant.language.arguments import ArgumentError, mapping, matrix, number, of_type, real, vector
from pliant.language.message_text import describe
from pliant.language.syntax import Symbol, parse
from pliant.parts.tendon import TensionTendon

SHORT = 1e-3
"""Saturation below this fraction of the request is not reported."""
NAMED = 3
"""Number of inputs that a message names."""
SHARE = (
    "Hold another state, for example with other inputs that share the load (a pretension of the tendons on the other side), or "
    "widen the limits"
)


LIMITS_HINT = "write pliant.control.Limits(lower={...}, upper={...})"


@dataclass(frozen=True)
class Limits:
    """Bounds of inputs by name: `lower`, `upper` [unit of the input] and `rate` [unit per second]; inputs that are not named have
    none."""

    lower: Mapping[str, float] = field(default_factory=dict)
    upper: Mapping[str, float] = field(default_factory=dict)
    rate: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what in ("lower", "upper", "rate"):
            object.__setattr__(self, what, mapping(what, getattr(self, what)))

    def bounds(self, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds in the order of `names`, infinite if there is none."""
        for what, table in (("lower", self.lower), ("upper", self.upper), ("rate", self.rate)):
            for name, value in table.items():
                check_names("input", [name], names)
                if real(f"{what} of input '{name}'", value, "a number").shape != ():
                    raise ArgumentError(f"{what} of input '{name}' must be a number, not {describe(value)}")
        lower = np.array([float(self.lower.get(name, -np.inf)) for name in names])
        upper = np.array([float(self.upper.get(name, np.inf)) for name in names])
        for name, rate in self.rate.items():
            if not float(rate) > 0:
                raise ValueError(f"the largest rate of input '{name}' must be above zero; it is {rate:g} per second")
        for name, low, high in zip(names, lower, upper, strict=True):
            if not low <= high:
                raise ValueError(f"the bounds of input '{name}' exclude each other: {low:g} to {high:g}")
        return lower, upper

    def within(self, names: tuple[str, ...], before: np.ndarray | None, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Bounds `time` [s] after the command `before`, including rate limits."""
        lower, upper = self.bounds(names)
        if before is not None and self.rate:
            reach = np.array([float(self.rate.get(name, np.inf)) * time for name in names])
            # a command outside its bounds returns at the rate limit
            lower, upper = (np.clip(bound, before - reach, before + reach) for bound in (lower, upper))
        return lower, upper


def declared_limits(eqs: Equations, names: Sequence[str]) -> Limits:
    """Limits from the model: `minimum` and `maximum` of the parameters; tensions of tendons are nonnegative."""
    lower, upper = {}, {}
    for name in names:
        low, high = eqs.declared_bounds(name)
        lower[name], upper[name] = (max(low, 0.0) if pulled_by(eqs, name) else low), high
    return Limits(lower, upper)


def actuator_limits(eqs: Equations, names: tuple[str, ...], limits: Limits | None) -> Limits:
    """The limits of a controller of these inputs: its own, and otherwise those declared by the model."""
    check_names("input", names, eqs.inputs)
    if limits is not None:
        of_type("limits", limits, Limits, LIMITS_HINT)
    given, declared = Limits() if limits is None else limits, declared_limits(eqs, names)
    given.bounds(names)
    both = Limits({**declared.lower, **given.lower}, {**declared.upper, **given.upper}, given.rate)
    both.bounds(names)
    return both


def pulled_by(eqs: Equations, name: str) -> tuple[str, ...]:
    """The tendons whose tension is this input."""
    wanted = Symbol(name)
    return tuple(
        tendon
        for tendon, spec in eqs.model.spec.tendons.items()
        if isinstance(spec, TensionTendon) and isinstance(spec.tension, str) and parse(spec.tension) == wanted
    )


@dataclass(frozen=True)
class Allocation:
    """Inputs within bounds, and their deviation from the request.

    Attributes:
        inputs: the inputs (m).
        asked: the requested inputs, without bounds (m).
        binding: which of them are limited by an active bound (m, booleans).
        missed: missing part of the wanted effect, relative to its size, for any reason.
        cut: part of the effect that is lost to bounds, relative to the effect without them.
    """

    inputs: np.ndarray
    asked: np.ndarray
    binding: np.ndarray
    missed: float
    cut: float


def allocate(
    effect: np.ndarray, wanted: np.ndarray, lower: np.ndarray, upper: np.ndarray, *,
    preferred: np.ndarray | None = None, regularization: float = 1e-8,
) -> Allocation:  # fmt: skip
    """Inputs u (m) within bounds whose effect (k x m) u is closest to `wanted` (k).

    If there are many solutions, the one closest to `preferred` is returned, by default the smallest; a pretension keeps
    antagonistic tendons from going slack.
    """
    effect = matrix("effect", effect, "with a row per effect and a column per input")
    rows, columns = effect.shape
    lower, upper = (real(name, x, "bounds") for name, x in (("lower", lower), ("upper", upper)))
    if lower.shape != (columns,) or upper.shape != (columns,) or not np.all(lower <= upper):
        raise ArgumentError(
            f"lower and upper must be bounds of {columns} inputs that do not exclude each other", "they may be infinite"
        )
    if preferred is not None:
        preferred = vector("preferred", preferred, columns)
    regularization = number("regularization", regularization, at_least=0.0)
    return closest_inputs(
        effect, vector("wanted", wanted, rows), lower, upper, preferred=preferred, regularization=regularization
    )


def closest_inputs(
    effect: np.ndarray, wanted: np.ndarray, lower: np.ndarray, upper: np.ndarray, *,
    preferred: np.ndarray | None = None, regularization: float = 1e-8,
) -> Allocation:  # fmt: skip
    """`allocate` of arrays that are known to be valid."""
    if preferred is None:
        preferred = np.clip(0.0, lower, upper)
    scale = np.linalg.norm(effect) or 1.0
    root = np.sqrt(regularization)
    rows = np.vstack([effect / scale, root * np.eye(effect.shape[1])])
    target = np.concatenate([wanted / scale, root * preferred])
    asked = np.asarray(np.linalg.lstsq(rows, target, rcond=None)[0])
    u = asked.copy()
    if np.any(asked < lower) or np.any(asked > upper):
        fixed = ~(upper > lower)
        u = np.where(fixed, lower, np.clip(preferred, lower, upper))
        if not np.all(fixed):
            rest = target - rows[:, fixed] @ u[fixed]
            bounds = (lower[~fixed], upper[~fixed])
            best = np.linalg.lstsq(rows[:, ~fixed], rest, rcond=None)[0]
            if np.any(best < bounds[0]) or np.any(best > bounds[1]):
                best = scipy.optimize.lsq_linear(rows[:, ~fixed], rest, bounds, method="bvls", tol=1e-14).x
            u[~fixed] = best
    size = float(np.linalg.norm(wanted))
    # direction in which each input would have to change to come closer
    pull = effect.T @ (wanted - effect @ u)
    pull = np.where(np.abs(pull) > 1e-6 * np.linalg.norm(effect, axis=0) * size, pull, 0.0)
    binding = ((u >= upper) & (pull > 0)) | ((u <= lower) & (pull < 0))
    if not size:
        return Allocation(u, asked, binding, 0.0, 0.0)
    missed, lost, had = (float(np.linalg.norm(x)) for x in (effect @ u - wanted, effect @ (asked - u), effect @ asked))
    return Allocation(u, asked, binding, missed / size, lost / had if lost > 1e-9 * size else 0.0)


class DesignError(ValueError):
    """A controller that cannot be designed: its inputs do not move the task, or it responds too slowly."""


class OutOfReach(ValueError):
    """A state that is unreachable within the limits of the inputs."""


def check_holding(
    eqs: Equations, names: tuple[str, ...], values: np.ndarray, limits: Limits, *,
    where: str = "the state to stabilize", hint: str = SHARE,
) -> None:  # fmt: skip
    """Reject inputs at rest outside of the limits, by name."""
    lower, upper = limits.bounds(names)
    room = 1e-6 * (1e-9 + np.abs(values))
    outside = [k for k in range(len(names)) if not lower[k] - room[k] <= values[k] <= upper[k] + room[k]]
    if outside:
        # largest violation first
        outside.sort(key=lambda k: -max(lower[k] - values[k], values[k] - upper[k]))
        raise OutOfReach(f"{where} needs {_listed(eqs, names, values, lower, upper, outside)}. {hint}")


def _listed(
    eqs: Equations, names: tuple[str, ...], asked: np.ndarray, lower: np.ndarray, upper: np.ndarray,
    chosen: Sequence[int],
) -> str:  # fmt: skip
    """The selected inputs: the request for each, and its active limit."""
    parts = []
    for k in chosen[:NAMED]:
        below = asked[k] < lower[k]
        side = f"{'below' if below else 'above'} its {'lower' if below else 'upper'} limit of"
        bound = _quantity(eqs, names[k], lower[k] if below else upper[k])
        parts.append(f"{_spoken(eqs, names[k])} at {_quantity(eqs, names[k], asked[k])}, {side} {bound}")
    more = len(chosen) - NAMED
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")


def _spoken(eqs: Equations, name: str) -> str:
    tendons = pulled_by(eqs, name)
    if not tendons:
        return f"the input '{name}'"
    return f"the input '{name}' (tension of {'tendons' if len(tendons) > 1 else 'tendon'} {', '.join(tendons)})"


def _quantity(eqs: Equations, name: str, value: float) -> str:
    dimension = eqs.model.environment.dimension(name)
    unit = "" if dimension is None or dimension.is_number else f" {dimension.unit}"
    return f"{float(value):.4g}{unit}"


class Shortfalls:
    """Saturation over a run: number of samples, and the worst of them."""

    def __init__(self, eqs: Equations, names: tuple[str, ...], limits: Limits) -> None:
        self.eqs, self.names, self.limits = eqs, names, limits
        self.reset()

    def reset(self) -> None:
        """Reset at the beginning of a run."""
        self.samples = self.short = 0
        self.worst: tuple[float, float, np.ndarray, np.ndarray] | None = None

    def add(self, t: float, given: np.ndarray, binding: np.ndarray, cut: float) -> bool:
        """One sample at time t [s]: the inputs, which of them are limited, and the missing fraction `cut` of the
        request; returns whether it is reported."""
        self.samples += 1
        is_short = cut > SHORT
        if is_short:
            self.short += 1
            if self.worst is None or cut > self.worst[0]:
                self.worst = (cut, t, np.array(given), np.array(binding))
        return is_short

    def standing(self, values: np.ndarray, chosen: np.ndarray) -> str:
        """The selected inputs (m, booleans) with their active limits."""
        lower, upper = self.limits.bounds(self.names)
        room = 1e-9 * (1 + np.abs(values))
        parts = []
        for k in np.flatnonzero(chosen):
            name = self.names[k]
            if values[k] >= upper[k] - room[k]:
                where = f"at its upper limit of {_quantity(self.eqs, name, upper[k])}"
            elif values[k] <= lower[k] + room[k]:
                where = f"at its lower limit of {_quantity(self.eqs, name, lower[k])}"
            else:
                where = f"changing at its rate of {_quantity(self.eqs, name, self.limits.rate.get(name, np.inf))}/s"
            parts.append(f"{_spoken(self.eqs, name)} {where}")
        # mention the upper limit: lines cannot push anyway
        parts.sort(key=lambda text: "lower limit" in text)
        more = len(parts) - NAMED
        return "; ".join(parts[:NAMED]) + (f"; and {more} more" if more > 0 else "")

    def one_sided(self, values: np.ndarray) -> str:
        """The inputs at a limit, with a hint; empty if there are none."""
        lower, upper = self.limits.bounds(self.names)
        room = 1e-9 * (1 + np.abs(values))
        stuck = (values <= lower + room) | (values >= upper - room)
        if not np.any(stuck):
            return ""
        return (
            f"the state to stabilize has {self.standing(values, stuck)}, from which they can move in one direction only; "
            "use a pretension, or `share` among the inputs"
        )

    def remarks(self, title: str) -> list[str]:
        """Warnings of the run."""
        if self.worst is None:
            return []
        cut, t, given, binding = self.worst
        return [
            f"{title}: inputs were saturated at {self.short} of {self.samples} samples; at worst, at t = {t:.4g} s, "
            f"{100 * cut:.3g} % of the command was missing, with {self.standing(given, binding)}"
        ]


def named(controller: Any) -> str:
    """Name of a controller in messages."""
    return f"controller '{getattr(controller, 'name', '') or type(controller).__name__}'"
