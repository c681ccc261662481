"""Straight-line code of one robot, compiled for vector lanes or a GPU: the fastest engine, for robots of up to thirty rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pliant.analysis.integrators import Method
from pliant.engine.equations import Equations
from pliant.fleet.cpu import Cpu, Engine, Group, notice_if_long
from pliant.fleet.cuda_runtime_engine import Cuda
from pliant.fleet.methods import frame_parts, output_parts
from pliant.fleet.robot import Robot
from pliant.fleet.source import Program, step_program, value_program
from pliant.language.arguments import ArgumentError


class StraightLineEngine(Engine):
    """Steps robots by straight-line code."""

    name = "straight-line code"

    def __init__(
        self, eqs: Equations, group: Group, device: Cpu | Cuda, method: Method, rows: Sequence[int],
        sizes: Sequence[float],
    ) -> None:  # fmt: skip
        """rows, sizes: active constraint rows by index, and the reference sizes of their values."""
        self._robot = Robot(eqs, group.inputs, group.parameters, rows, sizes)
        self._programs: dict[Any, Any] = {}
        self._step = float(method.step or 0.0)
        self._device, self._count = device, group.count
        self._title = eqs.model.spec.name or "the robot"
        self._run = self._loaded("step", lambda: step_program(self._robot, method))
        super().__init__(eqs, group, device, constants=self._robot.nc)

    def put_parameters(self, which: np.ndarray, parameters: np.ndarray) -> None:
        """Parameters of some robots (robots x parameters of the model)."""
        rows = self._robot.constant_rows(parameters)
        if not np.isfinite(rows).all():
            first = which[int(np.argmin(np.isfinite(rows).all(axis=1)))]
            raise ArgumentError(
                f"robot {first}: with its parameters some constants of the model are not finite numbers"
            )
        self.arrays["c"][:, self._device.read(which)] = self._device.own(rows.T)

    def step(self, n: int) -> None:
        """Advance all robots by n steps."""
        self._run(self.arrays, n, self._step)

    def outputs(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Outputs in the current states, one row per component (components x count)."""
        key = ("outputs", *names)
        if ("sizes", *key) not in self._programs:
            parts, sizes = output_parts(self._robot, names)
            self._programs["sizes", *key] = sizes
            self._loaded(key, lambda: value_program(self._robot, parts, sum(sizes.values())))
        sizes = self._programs["sizes", *key]
        values, at, found = self._evaluated(key, sum(sizes.values())), 0, {}
        for name, size in sizes.items():
            found[name] = values[at : at + size]
            at += size
        return found

    def frame(self, name: str) -> Any:
        """Rotation matrix by rows and position [m] of a frame (12 x count)."""
        key = "frame", name
        self._loaded(key, lambda: value_program(self._robot, frame_parts(self._robot, name), 12))
        return self._evaluated(key, 12)

    def _evaluated(self, key: Any, size: int) -> Any:
        """Values of a program (size x count)."""
        values = self._device.zeros(size, self._device.columns(self._count))
        self._programs[key]({**self.arrays, "values": values})
        return values[:, : self._count]

    def _loaded(self, key: Any, make: Callable[[], Program]) -> Callable[..., None]:
        if key not in self._programs:
            with notice_if_long(
                f"pliant: generating and compiling code for a fleet of {self._title} (once; up to half a minute)"
            ):
                self._programs[key] = self._device.load(make())
        return self._programs[key]
