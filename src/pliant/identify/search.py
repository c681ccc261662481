"""Bounded least squares over several measurements, with priors: residuals in units of their deviations, exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from pliant.identify.measurement import Prediction, Samples
from pliant.language.arguments import ArgumentError


@dataclass(frozen=True)
class SearchSettings:
    """Numbers that the search of a fit decides by."""

    difference: float = 1e-3
    """Without exact derivatives parameters are varied by this fraction of their scale: far above the error of a
    simulation, far below a significant change."""
    tolerance: float = 1e-5
    """The search ends when a step changes parameters or the sum of squares by less than this fraction, below their uncertainty."""
    settled: float = 0.02
    """Deviations estimated from the residuals of a fit, and the fit weighted by them, are repeated until they agree to this."""
    rounds: int = 8
    """Largest number of these repetitions."""
    remembered: int = 64
    """Cached evaluations: those of one step are used repeatedly, older ones hardly ever."""
    broken: float = 1e6
    """Residual of a failed simulation, in units of the deviation: worse than any other."""
    stuck: float = 0.1
    """Fraction of the sum of squares that derivatives predict to be removable, above which a completed search was stuck."""
    at_bound: float = 1e-4
    """Distance from a bound, relative to that between both bounds, within which a value is on it."""
    no_effect: float = 1e-6
    """Change of all residuals, in standard deviations, by a change of a parameter by its own value, below which it
    has no effect."""
    dependent: float = 1e-13
    """Relative eigenvalue of the normal equations below which a combination of parameters has no effect."""
    involved: float = 1e-3
    """Component of a parameter in such a combination above which it is undetermined."""


SEARCH = SearchSettings()


ENDED = {
    0: "stopped at the maximum number of evaluations before it converged; start closer, or fit fewer parameters",
    1: "converged: the gradient of the sum of squares vanishes",
    2: f"converged: the last step changed the sum of squares by less than {SEARCH.tolerance:.0e} of it",
    3: f"converged: the last step changed the parameters by less than {SEARCH.tolerance:.0e} of them",
    4: f"converged: the last step changed parameters and sum of squares by less than {SEARCH.tolerance:.0e} of them",
}
"""Descriptions of the end of a search, by the status of `least_squares`."""
AGAINST = (
    "stopped: no step along the derivatives lowers the sum of squares, as where the model cannot be simulated nearby or jumps from "
    "one pose to another; start from other values, or give bounds or priors that keep the search away"
)


@dataclass(frozen=True)
class Unknowns:
    """Unknowns of a fit: names, start values, scales of the search, bounds, and priors (means and deviations; the
    latter infinite without a prior)."""

    labels: tuple[str, ...]
    start: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    @cached_property
    def with_prior(self) -> np.ndarray:
        """Whether each unknown has a prior."""
        return np.isfinite(self.deviation)

    def by_name(self, values: np.ndarray) -> dict[str, float]:
        """Numbers by label."""
        return dict(zip(self.labels, np.asarray(values).tolist(), strict=True))


@dataclass(frozen=True)
class Target:
    """A prepared measurement: its samples, their prediction, the parameters of the prediction with their indices
    among the unknowns, and known deviations [SI], by output."""

    label: str
    samples: Samples
    prediction: Prediction
    names: tuple[str, ...]
    where: np.ndarray
    known: Mapping[str, float]

    @property
    def is_motion(self) -> bool:
        """Whether its samples are a time series."""
        return len(self.samples.times) > 1 and hasattr(self.prediction, "span")


@dataclass(frozen=True)
class Solution:
    """Solution of a fit, with the data for confidence intervals.

    x: values of all unknowns [SI]; residual, jacobian: of samples and priors in units of their deviations, by the free unknowns
    [SI]; cost: sum of squares; deviations: per target and output [SI]; independent: effective number of independent residuals.
    """

    x: np.ndarray
    free: np.ndarray
    residual: np.ndarray
    jacobian: np.ndarray
    cost: float
    deviations: Mapping[tuple[int, str], float]
    independent: float
    on_bound: np.ndarray
    success: bool
    message: str

    @cached_property
    def covariance(self) -> np.ndarray:
        """Deviations of the free unknowns."""
        size = np.linalg.norm(self.jacobian, axis=0)
        size = np.where(size > 0, size, 1.0)
        J = self.jacobian / size
        return np.asarray(np.linalg.pinv(J.T @ J, hermitian=True) / np.outer(size, size))

    @property
    def undetermined(self) -> np.ndarray:
        """Whether the samples and priors do not determine each free unknown: they do not depend on it, or only on a combination of
        it and others."""
        size = np.linalg.norm(self.jacobian, axis=0)
        # the change of all residuals, each in units of its deviation, if the unknown changes by its own value
        effect = size * np.abs(self.x[self.free])
        J = self.jacobian / np.where(size > 0, size, 1.0)
        values, vectors = np.linalg.eigh(J.T @ J)
        lost = (
            np.abs(vectors[:, values < SEARCH.dependent * max(float(values[-1]), 1.0)]).max(axis=1, initial=0.0)
            > SEARCH.involved
        )
        return np.asarray((effect < SEARCH.no_effect) | lost)

    @property
    def reach(self) -> float:
        """Half width of a 95 % interval in standard deviations."""
        return float(scipy.special.stdtrit(max(self.independent - len(self.free), 1.0), 0.975))


Masks = Sequence[np.ndarray]
"""The fitted samples of each target."""


class Search:
    """The problem of a fit, which is solved with all or some of its samples and unknowns."""

    def __init__(
        self, unknowns: Unknowns, targets: Sequence[Target], progress: Callable[[int, float], None] | None
    ) -> None:
        self.unknowns, self.targets, self.progress = unknowns, tuple(targets), progress
        self.count = 0
        self._known: dict[bytes, list[tuple[np.ndarray | None, np.ndarray | None]]] = {}

    @property
    def reason(self) -> str:
        """Why some derivatives are finite differences; empty if all are exact."""
        return next((t.prediction.reason for t in self.targets if t.prediction.reason), "")

    def values(self, x: np.ndarray) -> list[np.ndarray]:
        """The predictions of all targets; NaN if the model cannot be simulated."""
        return [
            np.full_like(target.samples.measured, np.nan) if path is None else path
            for target, (path, _) in zip(self.targets, self._evaluated(x), strict=True)
        ]

    def solve(
        self, x: np.ndarray, *, chosen: Masks | None = None, free: np.ndarray | None = None,
        deviations: Mapping[tuple[int, str], float] | None = None,
    ) -> Solution:  # fmt: skip
        """Least squares from x [SI]. chosen: samples to use, the fitted ones by default. free: indices of free unknowns, all
        by default. deviations: given values; by default unknown ones are estimated."""
        chosen = [t.samples.fitted for t in self.targets] if chosen is None else chosen
        free = np.arange(len(x)) if free is None else free
        if deviations is not None:
            return self._weighted(x, chosen, free, deviations)
        persistence = dict.fromkeys(self._keys, 1.0)
        # for one output without a prior the weight has no effect
        single = len(self._keys) == 1 and not self.unknowns.with_prior.any()
        found, weights = None, self._scatter(x, chosen, len(free), persistence)
        for _ in range(SEARCH.rounds):
            found = self._weighted(x if found is None else found.x, chosen, free, weights)
            last, weights = weights, self._scatter(found.x, chosen, len(free), persistence)
            if single or all(abs(weights[key] / last[key] - 1) < SEARCH.settled for key in weights):
                break
        assert found is not None
        return self._finished(found, chosen, weights, persistence)

    # -- one weighting ---------------------------------------------------------------------------------------------------

    def _weighted(
        self, x: np.ndarray, chosen: Masks, free: np.ndarray, deviations: Mapping[tuple[int, str], float]
    ) -> Solution:
        scale = self.unknowns.scale

        def at(z: np.ndarray) -> np.ndarray:
            full = x.copy()
            full[free] = x[free] + scale[free] * z
            return full

        def residual(z: np.ndarray) -> np.ndarray:
            return self._residual(at(z), chosen, deviations)

        def jacobian(z: np.ndarray) -> np.ndarray:
            return self._jacobian(at(z), chosen, deviations)[:, free] * scale[free]

        if not len(free):
            left = residual(np.zeros(0))
            empty = np.zeros((len(left), 0))
            return Solution(
                x, free, left, empty, float(left @ left), deviations, len(left), np.zeros(0, bool), True, ""
            )
        low, high = ((bound[free] - x[free]) / scale[free] for bound in (self.unknowns.low, self.unknowns.high))
        found = scipy.optimize.least_squares(
            residual, np.clip(np.zeros(len(free)), low, high), jac=jacobian, x_scale="jac", bounds=(low, high),
            ftol=SEARCH.tolerance, xtol=SEARCH.tolerance, gtol=SEARCH.tolerance,
        )  # fmt: skip
        success, message = bool(found.success), ENDED[found.status]
        if success and _promised(found.fun, found.jac, found.active_mask == 0) > SEARCH.stuck:
            success, message = False, AGAINST
        size = sum(int(mask.sum()) * t.samples.measured.shape[1] for mask, t in zip(chosen, self.targets, strict=True))
        return Solution(
            at(found.x), free, found.fun, found.jac / scale[free], float(2 * found.cost), deviations,
            float(size), (found.active_mask != 0) | (np.minimum(found.x - low, high - found.x) < SEARCH.at_bound * (high - low)),
            success, message,
        )  # fmt: skip

    def _finished(
        self, found: Solution, chosen: Masks, deviations: Mapping[tuple[int, str], float],
        persistence: Mapping[tuple[int, str], float],
    ) -> Solution:  # fmt: skip
        """The same with residuals and derivatives in units of the resulting deviations."""
        residual = self._residual(found.x, chosen, deviations)
        jacobian = self._jacobian(found.x, chosen, deviations)[:, found.free]
        independent = 0.0
        for index, output, block in self._each():
            size = int(chosen[index].sum()) * (block.stop - block.start)
            independent += size / persistence[index, output]
        independent += self.unknowns.with_prior.sum()
        return Solution(
            found.x, found.free, residual, jacobian, float(residual @ residual), deviations, independent, found.on_bound,
            found.success, found.message,
        )  # fmt: skip

    def _scatter(
        self, x: np.ndarray, chosen: Masks, free: int, persistence: dict[tuple[int, str], float]
    ) -> dict[tuple[int, str], float]:
        """Deviations of the residuals by target and output, as if samples were independent; stores their correlation
        length in `persistence`."""
        paths = self.values(x)
        total = sum(int(mask.sum()) * t.samples.measured.shape[1] for mask, t in zip(chosen, self.targets, strict=True))
        share = max(1.0 - free / max(total, 1), 1.0 / max(total, 1))
        scatter = {}
        for index, output, block in self._each():
            target = self.targets[index]
            measured = target.samples.measured[:, block]
            left = np.nan_to_num((paths[index][:, block] - measured)[chosen[index]], nan=1.0)
            if target.is_motion:
                persistence[index, output] = persistence_of(left)
            variance = float(np.mean(left**2)) / share * persistence[index, output] if left.size else 1.0
            floor = 1e-12 * float(np.max(np.abs(measured), initial=0.0)) or 1e-12
            scatter[index, output] = target.known.get(output, max(np.sqrt(variance), floor))
        return scatter

    def _each(self) -> list[tuple[int, str, slice]]:
        return [(k, name, block) for k, t in enumerate(self.targets) for name, block in t.samples.blocks.items()]

    @cached_property
    def _keys(self) -> list[tuple[int, str]]:
        return [(index, output) for index, output, _ in self._each()]

    # -- residuals -------------------------------------------------------------------------------------------------------

    def _residual(self, x: np.ndarray, chosen: Masks, deviations: Mapping[tuple[int, str], float]) -> np.ndarray:
        return self._weighed([path for path, _ in self._evaluated(x)], x, chosen, deviations)

    def residual_of(self, paths: Sequence[np.ndarray | None], found: Solution) -> np.ndarray:
        """Residuals of other predictions of all targets at the solution, with its weights."""
        return self._weighed(paths, found.x, [t.samples.fitted for t in self.targets], found.deviations)

    def _weighed(
        self, paths: Sequence[np.ndarray | None], x: np.ndarray, chosen: Masks,
        deviations: Mapping[tuple[int, str], float],
    ) -> np.ndarray:  # fmt: skip
        parts = []
        for index, path in enumerate(paths):
            samples, sigma = self.targets[index].samples, self._sigma(index, deviations)
            left = np.full_like(samples.measured, SEARCH.broken) if path is None else (path - samples.measured) / sigma
            parts.append(left[chosen[index]].ravel())
        has = self.unknowns.with_prior
        parts.append(((x - self.unknowns.mean) / self.unknowns.deviation)[has])
        return np.concatenate(parts)

    def _jacobian(self, x: np.ndarray, chosen: Masks, deviations: Mapping[tuple[int, str], float]) -> np.ndarray:
        parts = []
        for index, slopes in enumerate(self._slopes(x)):
            by = (slopes / self._sigma(index, deviations)[:, None])[chosen[index]]
            parts.append(by.reshape(-1, len(x)))
        parts.append(np.diag(1 / self.unknowns.deviation)[self.unknowns.with_prior])
        return np.concatenate(parts)

    def _sigma(self, index: int, deviations: Mapping[tuple[int, str], float]) -> np.ndarray:
        samples = self.targets[index].samples
        sigma = np.empty(samples.measured.shape[1])
        for output, block in samples.blocks.items():
            sigma[block] = deviations[index, output]
        return sigma

    def _slopes(self, x: np.ndarray) -> list[np.ndarray]:
        """Derivatives of each target with respect to all unknowns, samples x components x unknowns [SI]."""
        found = []
        for target, (path, slopes) in zip(self.targets, self._evaluated(x), strict=True):
            if path is None:
                values = ", ".join(f"{n} = {v:.4g}" for n, v in self.unknowns.by_name(x).items())
                raise ArgumentError(
                    f"the model cannot be simulated with {values}; change these values or narrow the bounds"
                )
            full = np.zeros((*path.shape, len(x)))
            full[:, :, target.where] = self._differences(target, x) if slopes is None else slopes
            found.append(full)
        return found

    def _differences(self, target: Target, x: np.ndarray) -> np.ndarray:
        columns = []
        for k in target.where:
            step = np.zeros(len(x))
            step[k] = SEARCH.difference * (abs(x[k]) or self.unknowns.scale[k])
            sides = [target.prediction.values(self.values_for(target, x + sign * step)) for sign in (1, -1)]
            self.count += 2
            if sides[0] is None or sides[1] is None:
                raise ArgumentError(
                    f"the model cannot be simulated with {self.unknowns.labels[k]} near {x[k]:.4g}; narrow its bounds"
                )
            columns.append((sides[0] - sides[1]) / (2 * step[k]))
        return np.stack(columns, axis=2)

    def values_for(self, target: Target, x: np.ndarray) -> dict[str, float]:
        """Parameters of the model for the prediction of a target, by name."""
        return dict(zip(target.names, x[target.where].tolist(), strict=True))

    def _evaluated(self, x: np.ndarray) -> list[tuple[np.ndarray | None, np.ndarray | None]]:
        """Values, and their derivatives if they are exact: most steps are accepted, so that they will be needed."""
        key = x.tobytes()
        if key not in self._known:
            if len(self._known) >= SEARCH.remembered:
                self._known.clear()
            self._known[key] = [self._of_target(target, x) for target in self.targets]
            self.count += 1
            self._tell(x)
        return self._known[key]

    def _of_target(self, target: Target, x: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
        values = self.values_for(target, x)
        try:
            if target.prediction.reason:
                path, slopes = target.prediction.values(values), None
            else:
                path, slopes = target.prediction.derivatives(values, target.names) or (None, None)
        except ArgumentError:
            if not self.count:
                raise
            return None, None  # values that the model rejects, such as a modulus below zero
        if path is not None and path.shape != target.samples.measured.shape:
            raise ArgumentError(
                f"the outputs {', '.join(target.samples.blocks)} have {path.shape[1]} components and "
                f"{target.samples.measured.shape[1]} columns of the recording are given"
            )
        return path, slopes

    def _tell(self, x: np.ndarray) -> None:
        if self.progress is None:
            return
        distances = mean_distances(self.targets, self.values(x), [t.samples.fitted for t in self.targets])
        if np.isfinite(distances):
            self.progress(self.count, distances)


def _promised(residual: np.ndarray, jacobian: np.ndarray, inside: np.ndarray) -> float:
    """The fraction of the sum of squares that a Gauss-Newton step would remove if the residuals were linear."""
    total = float(residual @ residual)
    if not total or not inside.any():
        return 0.0
    step = least_squares_step(jacobian[:, inside], residual)
    left = residual - jacobian[:, inside] @ step
    return 1.0 - float(left @ left) / total


def least_squares_step(jacobian: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Changes of the unknowns that produce a residual: columns are scaled first, as units of unknowns differ by many orders of
    magnitude, and small columns would be treated as dependent."""
    size = np.linalg.norm(jacobian, axis=0)
    size = np.where(size > 0, size, 1.0)
    return np.asarray(np.linalg.lstsq(jacobian / size, residual, rcond=None)[0] / size)


def mean_distances(targets: Sequence[Target], paths: Sequence[np.ndarray], masks: Masks) -> float:
    """Mean distance over the chosen samples and all outputs, in thousandths of their units; NaN if there are none."""
    found = [
        1e3 * np.linalg.norm((path - target.samples.measured)[mask][:, block], axis=1)
        for target, path, mask in zip(targets, paths, masks, strict=True)
        for block in target.samples.blocks.values()
    ]
    distances = np.concatenate(found)
    return float(distances.mean()) if distances.size else float("nan")


def persistence_of(left: np.ndarray) -> float:
    """Number of correlated neighbouring samples, from the autocorrelation of the residuals (samples x components)."""
    left = left - left.mean(axis=0)
    power = np.sum(left * left)
    persistence = 1.0
    for lag in range(1, len(left)):
        share = np.sum(left[lag:] * left[:-lag]) / power if power > 0 else 0.0
        if share <= 0:
            break
        persistence += 2 * share
    return persistence
