"""Scores on samples excluded from a fit, and profiles of its likelihood: fits repeated with some samples or values withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.identify.search import Search, Solution
from pliant.language.arguments import ArgumentError

# A profile extends outward by quarters of the interval of a linear problem until its rise is sufficient, at most to this distance.
MOST_STEPS = 16


@dataclass(frozen=True, repr=False)
class HeldOut:
    """Errors on withheld samples, each predicted by a fit to the others.

    Attributes:
        rms: root of the mean squared distance, by output [SI unit of the output].
        distances: of every sample, by measurement and output [SI]; NaN for samples that were never withheld.
        predicted: concatenated outputs, times x components, for each measurement [SI].
        parameters: values found without each fold (SI units).
        spread: standard deviation of the parameters over the folds: small if no few samples dominate.
    """

    rms: Mapping[str, float]
    distances: Mapping[str, Mapping[str, np.ndarray]]
    predicted: Sequence[np.ndarray]
    parameters: Sequence[Mapping[str, float]]
    spread: Mapping[str, float]

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} {x:.3g}" for name, x in self.rms.items())
        spread = ", ".join(f"{name} {x:.2g}" for name, x in self.spread.items())
        return f"HeldOut: {len(self.parameters)} folds; root mean square error (SI): {errors}; spread: {spread}"


@dataclass(frozen=True, repr=False)
class Profile:
    """Profile of a fit: one parameter fixed, all others refitted.

    Attributes:
        name: the parameter.
        values: at which it was fixed (SI units), increasing.
        rise: of the sum of squares above the best fit's, in units of the deviations (twice the drop of the log-likelihood).
        interval: 95 % confidence interval, where the rise reaches the quantile; infinite on a side where it is not
            reached within the values.
    """

    name: str
    values: np.ndarray
    rise: np.ndarray
    interval: tuple[float, float]

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Profile of {self.name}: 95 % interval {low:.6g} to {high:.6g}, from {len(self.values)} fits"


def folds_of(search: Search, folds: int, groups: Sequence[np.ndarray] | None, seed: int) -> list[np.ndarray]:
    """The fold of every sample of each target; -1 where it is not fitted.

    Equilibria are assigned at random, and motions are cut into segments, because neighbouring samples have correlated
    errors. groups: labels per sample of each measurement; samples of one label stay together, also across
    measurements.
    """
    if groups is not None and len(groups) != len(search.targets):
        raise ArgumentError(f"give groups for each of the {len(search.targets)} measurements")
    rng = np.random.default_rng(seed)
    fitted = [target.samples.fitted for target in search.targets]
    if groups is not None:
        for target, labels in zip(search.targets, groups, strict=True):
            if len(labels) != len(target.samples.fitted):
                samples = f"{len(target.samples.fitted)} samples of {target.label}"
                raise ArgumentError(f"{len(labels)} groups are given for the {samples}")
        names, index = np.unique(np.concatenate([np.asarray(labels) for labels in groups]), return_inverse=True)
        dealt = np.split((rng.permutation(len(names)) % folds)[index], np.cumsum([len(mask) for mask in fitted])[:-1])
        return [np.where(mask, fold, -1) for mask, fold in zip(fitted, dealt, strict=True)]
    poses = rng.permutation(sum(int(t.samples.fitted.sum()) for t in search.targets if not t.is_motion)) % folds
    chosen, next_pose = [], 0
    for target, mask in zip(search.targets, fitted, strict=True):
        count = int(mask.sum())
        fold = np.full(len(mask), -1)
        if target.is_motion:
            fold[mask] = np.arange(count) * folds // max(count, 1)
        else:
            fold[mask] = poses[next_pose : next_pose + count]
            next_pose += count
        chosen.append(fold)
    return chosen


def cross_validate(
    search: Search, best: Solution, folds: int, groups: Sequence[np.ndarray] | None, seed: int
) -> HeldOut:
    """Fit without each fold, and predict it."""
    if folds < 2:
        raise ArgumentError("a cross-validation needs at least two folds")
    fold = folds_of(search, folds, groups, seed)
    if any(not any(np.any(f == k) for f in fold) for k in range(folds)):
        raise ArgumentError(f"there are too few samples for {folds} folds")
    predicted = [np.full_like(t.samples.measured, np.nan) for t in search.targets]
    values = []
    for k in range(folds):
        chosen = [(f >= 0) & (f != k) for f in fold]
        x = search.solve(best.x, chosen=chosen).x
        values.append(x)
        for path, whole, f in zip(search.values(x), predicted, fold, strict=True):
            whole[f == k] = path[f == k]
    distances: dict[str, dict[str, np.ndarray]] = {}
    by_output: dict[str, list[np.ndarray]] = {}
    for target, path in zip(search.targets, predicted, strict=True):
        for output, block in target.samples.blocks.items():
            far = np.linalg.norm((path - target.samples.measured)[:, block], axis=1)
            distances.setdefault(target.label, {})[output] = far
            by_output.setdefault(output, []).append(far[np.isfinite(far)])
    rms = {name: float(np.sqrt(np.mean(np.concatenate(far) ** 2))) for name, far in by_output.items()}
    by_name = search.unknowns.by_name
    spread = np.std(values, axis=0, ddof=1)
    return HeldOut(rms, distances, predicted, [by_name(x) for x in values], by_name(spread))


def profile(search: Search, best: Solution, name: str, values: np.ndarray | None) -> Profile:
    """Fix one parameter at values around the best, and fit the others; deviations are those of the best fit."""
    k = search.unknowns.labels.index(name)
    place = list(best.free).index(k)
    at, deviation = float(best.x[k]), float(np.sqrt(best.covariance[place, place]))
    free = np.delete(best.free, place)
    found = {at: 0.0}
    for side in (1, -1):
        x = best.x
        for value in _outward(search, k, at, side * best.reach * deviation / 4, values):
            x = x.copy()
            x[k] = value
            held = search.solve(x, free=free, deviations=best.deviations)
            x, found[value] = held.x, max(held.cost - best.cost, 0.0)
            if values is None and found[value] > (1.05 * best.reach) ** 2:
                break
    held_at = np.array(sorted(found))
    rise = np.array([found[value] for value in held_at])
    return Profile(name, held_at, rise, _interval(held_at, rise, int(np.argmax(held_at == at)), best.reach))


def _outward(search: Search, k: int, at: float, step: float, values: np.ndarray | None) -> list[float]:
    """Values of a parameter on one side of its best value, the nearest first."""
    if values is not None:
        side = values[(values - at) * step > 0]
        return [float(value) for value in side[np.argsort(np.abs(side - at))]]
    steps = at + step * np.arange(1, MOST_STEPS + 1)
    return [float(value) for value in steps if search.unknowns.low[k] <= value <= search.unknowns.high[k]]


def _interval(values: np.ndarray, rise: np.ndarray, middle: int, reach: float) -> tuple[float, float]:
    """Where the root of the rise, which is straight for a linear problem, reaches a number of deviations."""
    root = np.sqrt(rise)
    sides = []
    for way in (slice(middle, None, -1), slice(middle, None)):
        far, value = np.maximum.accumulate(root[way]), values[way]
        beyond = np.flatnonzero(far >= reach)
        if not len(beyond):
            sides.append(np.inf)
            continue
        j = int(beyond[0])
        share = (reach - far[j - 1]) / (far[j] - far[j - 1])
        sides.append(float(value[j - 1] + share * (value[j] - value[j - 1])))
    return (-np.inf if sides[0] == np.inf else sides[0]), sides[1]
