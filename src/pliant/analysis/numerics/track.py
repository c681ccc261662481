"""One named quantity over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy
from numpy.lib.mixins import NDArrayOperatorsMixin

from pliant.language.message_text import suggestion

Part = np.ndarray | Callable[[], np.ndarray]
"""Values, or a function that computes them on demand."""


class Track(NDArrayOperatorsMixin):
    """A coordinate, rate, frame, output or input of a result over time; it works as the array of its values.

    A coordinate also has `rate` and `acceleration` (not the parts of a quaternion), a rate `acceleration`. The values of a frame
    are its `position` [m]; it also has `quaternion` [w, x, y, z], `rotation` (3 x 3, frame to world), `velocity` [m/s] and
    `angular_velocity` [rad/s], in world axes. Arrays have one row per saved time.

    Attributes:
        name, kind: name of the quantity, and "coordinate", "rate", "frame", "output" or "input".
        time: saved times [s].
        values: in SI units.
        unit: of the values; "-" for pure numbers, empty if unknown.
    """

    def __init__(
        self, name: str, kind: str, time: np.ndarray, values: np.ndarray, unit: str, parts: Mapping[str, Part]
    ) -> None:
        self.name, self.kind, self.time, self.values, self.unit = name, kind, time, values, unit
        self._parts = dict(parts)

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrices of a frame, times x 3 x 3."""
        w, *xyz = self.quaternion.T
        return np.asarray(scipy.spatial.transform.Rotation.from_quat(np.stack([*xyz, w], axis=-1)).as_matrix())

    def __getattr__(self, name: str) -> Any:
        parts = self.__dict__.get("_parts", {})
        if name in parts:
            return np.asarray(parts[name]() if callable(parts[name]) else parts[name])
        if "values" in self.__dict__ and not name.startswith("_") and hasattr(np.ndarray, name):
            return getattr(self.values, name)
        known = ("time", "values", "unit", *parts, *(("rotation",) if "quaternion" in parts else ()))
        hint = suggestion(name, known)
        raise AttributeError(
            f"the {self.__dict__.get('kind', 'track')} '{self.__dict__.get('name', '')}' has {', '.join(known)}, but no '{name}'"
            + (f"; {hint}" if hint else "")
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parts": {name: getattr(self, name) for name in self._parts}}

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parts]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        plain = (x.values if isinstance(x, Track) else x for x in inputs)
        return getattr(ufunc, method)(*plain, **keywords)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __repr__(self) -> str:
        unit = f" [{self.unit}]" if self.unit else ""
        return f"Track of the {self.kind} '{self.name}'{unit}: {len(self)} times; {', '.join(self._parts) or 'values'}"
