"""A differentiable analysis as a JAX function: supports `grad`, `jit` and `vmap`."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.language.arguments import ArgumentError

if TYPE_CHECKING:
    from pliant.gradient.differentiable import Arrays, Differentiable, Pullback

KEPT = 2
"""Maximum number of recorded motions between a call and its gradient, per core; each may use as much memory as one record."""


def jax_function(f: Differentiable) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """`Differentiable.to_jax`."""
    try:
        import jax
    except ImportError as reason:
        raise ModuleNotFoundError("jax is not installed: pip install 'pliant[jax]'", name="jax") from reason
    cases = _Cases(f)

    def number_type() -> Any:
        """float64, or float32 unless `jax_enable_x64` is set."""
        return jax.dtypes.canonicalize_dtype(np.float64)

    def results(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
        return {name: jax.ShapeDtypeStruct(shape, number_type()) for name, shape in shapes.items()}

    def given_shapes() -> dict[str, tuple[int, ...]]:
        return {name: x.shape for name, x in f.initial.items()}

    @jax.custom_vjp
    def call(values: dict[str, Any]) -> Any:
        return jax.pure_callback(cases.outputs, results(f.shapes), values, vmap_method="broadcast_all")

    def forward(values: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return jax.pure_callback(cases.recorded, results(f.shapes), values, vmap_method="broadcast_all"), values

    def backward(values: dict[str, Any], given: dict[str, Any]) -> tuple[Any]:
        shapes = results(given_shapes())
        return (jax.pure_callback(cases.cotangents, shapes, values, given, vmap_method="broadcast_all"),)

    call.defvjp(forward, backward)

    def function(values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Outputs by name at these values by name; omitted arguments have their initial values."""
        given = dict(values or {})
        f.check_argument_names(given)
        full = {name: jax.numpy.asarray(given.get(name, x), number_type()) for name, x in f.initial.items()}
        for name, shape in given_shapes().items():
            if full[name].shape != shape:
                raise ArgumentError(f"'{name}' has shape {full[name].shape}; it must be {shape}")
        found: dict[str, Any] = call(full)
        return found

    return function


class _Cases:
    """One case or a batch, in one thread per core: arrays by name with leading batch axes."""

    def __init__(self, f: Differentiable) -> None:
        self._f = f
        self._cores = os.cpu_count() or 1
        self._kept: OrderedDict[bytes, Pullback] = OrderedDict()
        self._lock = threading.Lock()

    def outputs(self, values: Mapping[str, Any]) -> Arrays:
        return self._over_cases(self._f, self._f.shapes, values)

    def recorded(self, values: Mapping[str, Any]) -> Arrays:
        return self._over_cases(self._record, self._f.shapes, values)

    def cotangents(self, values: Mapping[str, Any], given: Mapping[str, Any]) -> Arrays:
        shapes = {name: x.shape for name, x in self._f.initial.items()}
        return self._over_cases(self._pull_back, shapes, values, given)

    def _over_cases(
        self, function: Callable[..., Arrays], shapes: Mapping[str, tuple[int, ...]], *given: Mapping[str, Any]
    ) -> Arrays:
        own = {name: x.ndim for name, x in self._f.initial.items()} | {n: len(s) for n, s in self._f.shapes.items()}
        arrays = [{name: np.asarray(x) for name, x in one.items()} for one in given]
        name, first = next(iter(arrays[0].items()))
        lead = first.shape[: first.ndim - own[name]]
        number_type = first.dtype
        cases = [
            [{n: x[at].astype(float) for n, x in one.items()} for one in arrays] for at in np.ndindex(*lead)
        ]  # fmt: skip
        if len(cases) == 1:
            found = [function(*cases[0])]
        else:
            with ThreadPoolExecutor(min(self._cores, max(len(cases), 1))) as pool:
                found = list(pool.map(lambda case: function(*case), cases))
        return {
            n: np.array([one[n] for one in found], dtype=number_type).reshape(lead + tuple(shape))
            for n, shape in shapes.items()
        }

    def _record(self, values: Arrays) -> Arrays:
        found, pullback = self._f.vjp(values)
        self._keep(values, pullback)
        return found

    def _pull_back(self, values: Arrays, given: Arrays) -> Arrays:
        with self._lock:
            pullback = self._kept.pop(_key(values), None)  # used by one thread at a time
        if pullback is None:
            pullback = self._f.vjp(values)[1]
        found = pullback(given)
        self._keep(values, pullback)
        return found

    def _keep(self, values: Arrays, pullback: Pullback) -> None:
        with self._lock:
            self._kept[_key(values)] = pullback
            while len(self._kept) > KEPT * self._cores:
                self._kept.popitem(last=False)


def _key(values: Arrays) -> bytes:
    return b"".join(np.ascontiguousarray(values[name]).tobytes() for name in sorted(values))
