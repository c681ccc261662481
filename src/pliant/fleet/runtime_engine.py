"""The runtime as engine of a fleet: robots of any size, with contacts, with every method, stepped one by one in each thread."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pliant.analysis.integrators import Method, make_run
from pliant.analysis.motion.step_times import NONE, stop_times
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.layout import RuntimeStatus
from pliant.engine.outputs import evaluate_outputs, output_size
from pliant.engine.program import EvaluationError
from pliant.engine.time_loop import TimeLoop
from pliant.fleet.cpu import Cpu, Engine, Group
from pliant.language.arguments import ArgumentError

DIVERGED, NO_MEMORY = 1, 2
"""Values of `status`."""
NEAR = 1e-9
"""Fraction of a step below which two times are equal."""
HALVINGS = 128
"""Maximum number of steps into which one may be divided if Newton's iterations do not converge, or inputs jump."""


class RuntimeEngine(Engine):
    """Steps robots by the time loops of `simulate`, one for each robot."""

    name = "runtime"

    def __init__(self, eqs: Equations, group: Group, device: Cpu, method: Method, bound: Binding) -> None:
        """bound: the current values of all robots, with the active constraint rows."""
        super().__init__(eqs, group, device, constants=len(group.parameters))
        self._eqs, self._group, self._device, self._method, self._bound = eqs, group, device, method, bound
        self._inputs = [eqs.inputs.index(name) for name in group.inputs]
        self._own = [bound] * group.count
        self._runs: list[_Run | None] = [None] * group.count
        run = make_run(self._bound, self._method)
        needed, free = run.memory * self._group.count, _free_memory()
        if needed > 0.8 * free:
            raise ArgumentError(
                f"{self._group.count} robots need {needed / 1e9:.3g} GB in the runtime; {free / 1e9:.3g} GB are free",
                f"use at most {int(0.8 * free / run.memory)} robots, or pliant.simulate_many",
            )

    def put_parameters(self, which: np.ndarray, parameters: np.ndarray) -> None:
        """Parameters of some robots, by index (robots x parameters of the model)."""
        constants = self._eqs.model.system.constants.of_cases(parameters)
        for k, robot in enumerate(which.tolist()):
            if not np.isfinite(constants[k]).all():
                raise ArgumentError(
                    f"robot {robot}: with its parameters some constants of the model are not finite numbers"
                )
            self._own[robot] = self._bound.with_parameters(parameters[k], constants[k])

    def step(self, n: int) -> None:
        """Advance all robots by n steps."""
        self._device.each(self._group.count, lambda robot: self._advance(robot, n))

    def _advance(self, robot: int, n: int) -> None:
        arrays = self.arrays
        status, time, q, v = arrays["status"][0], arrays["time"][0], arrays["q"][:, robot], arrays["v"][:, robot]
        if status[robot]:
            return
        run = self._prepared(robot, float(time[robot]), q, v)
        if run is None or not run.go(self._eqs, n, float(self._method.step or 0)):
            status[robot] = NO_MEMORY if run is not None and run.lacks_memory else DIVERGED
            self._runs[robot] = None
            if run is None:
                return
        time[robot], q[:], v[:] = run.t, run.q, run.v

    def _prepared(self, robot: int, t: float, q: np.ndarray, v: np.ndarray) -> _Run | None:
        """The run of a robot with the state and inputs of the arrays; None if these are not finite."""
        values = self.arrays["u"][:, robot]
        if not (np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(values).all()):
            return None
        run = self._runs[robot]
        if run is None or not run.is_at(t, q, v):  # the memory of contacts is reset if a state was written
            run = self._runs[robot] = _Run(make_run(self._own[robot], self._method), t, q, v, self._method)
        held = dict(zip(self._inputs, values.tolist(), strict=True))
        if run.parameters is not self._own[robot] or run.held != held:
            run.put(self._own[robot], held)
        return run

    def outputs(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Outputs in the current states, one row per component (components x count)."""
        model = self._eqs.model
        found = {name: np.full((output_size(model, name), self._group.count), np.nan) for name in names}

        def evaluate(robot: int) -> None:
            bound, t, q, v = self._bound_now(robot)
            run = self._runs[robot]
            dissipated = 0.0 if run is None or not run.is_at(t, q, v) else float(run.loop.work[0])
            try:
                a, multipliers = bound.forward(t, q, v)
            except EvaluationError:
                return
            values = evaluate_outputs(model, bound, t, q, v, a, multipliers, dissipated)
            for name, rows in found.items():
                rows[:, robot] = values[name]

        self._device.each(self._group.count, evaluate)
        return found

    def frame(self, name: str) -> Any:
        """Rotation matrix by rows and position [m] of a frame (12 x count)."""
        found, entry = np.zeros((12, self._group.count)), self._eqs.model.frames[name]
        for robot in range(self._group.count):
            rotations, positions = self._own[robot].node_poses(self.arrays["q"][:, robot].copy())
            R, placed = rotations[entry.node], self._own[robot].constants[entry.constants :]
            found[:9, robot] = np.ravel(R @ placed[:9].reshape(3, 3).T)
            found[9:, robot] = positions[entry.node] + R @ placed[9:12]
        return found

    def _bound_now(self, robot: int) -> tuple[Binding, float, np.ndarray, np.ndarray]:
        """Current values, time and state of a robot from the arrays, with its contacts."""
        held = dict(zip(self._inputs, self.arrays["u"][:, robot].tolist(), strict=True))
        bound, run = self._own[robot].with_held(held), self._runs[robot]
        t, q, v = (
            float(self.arrays["time"][0, robot]),
            self.arrays["q"][:, robot].copy(),
            self.arrays["v"][:, robot].copy(),
        )
        if run is not None and bound.system.contacts.laws and run.is_at(t, q, v):
            bound = bound.with_contacts(run.loop.contacts.rows)
        return bound, t, q, v


class _Run:
    """The time loop of one robot, and its current state."""

    def __init__(self, loop: TimeLoop, t: float, q: np.ndarray, v: np.ndarray, method: Method) -> None:
        self.loop, self.t, self.q, self.v = loop, t, q.copy(), v.copy()
        self.parameters: Binding | None = None
        self.held: dict[int, float] = {}
        self.bound: Binding | None = None
        self.lacks_memory = False
        self._is_started = False
        step = float(method.step or 0)
        loop.configure(
            t=t, q=q, v=v, stops=np.array([t + step]), samples=NONE, step=step, fixed=True,
            rtol=method.relative_tolerance, atol=method.absolute_tolerance, max_step=step,
        )  # fmt: skip

    def is_at(self, t: float, q: np.ndarray, v: np.ndarray) -> bool:
        """Whether this is the current state."""
        return t == self.t and np.array_equal(q, self.q) and np.array_equal(v, self.v)

    def put(self, parameters: Binding, held: dict[int, float]) -> None:
        """Set other values."""
        self.parameters, self.held = parameters, held
        self.bound = parameters.with_held(held)
        self.loop.rebind(self.bound)
        self._is_started = False

    def go(self, eqs: Equations, n: int, step: float) -> bool:
        """Advance by n steps; False if the motion could not continue: the state is then the last valid one."""
        assert self.bound is not None, "values are set before steps are taken"
        status = RuntimeStatus.OK if self._is_started else self.loop.start()
        self._is_started = True
        if status == RuntimeStatus.OK:
            end, near = self.t + n * step, NEAR * step
            self.loop.go_on(stop_times(eqs, self.bound, self.t, end, NONE))
            status = self.loop.advance(HALVINGS * n)
            if len(stop_times(eqs, self.bound, end - near, end + near, NONE)) > 1:
                self._is_started = False  # an input jumps at the end of these steps
        self.lacks_memory = status == RuntimeStatus.OUT_OF_MEMORY
        q, v = self.loop.q, self.loop.v
        if np.isfinite(q).all() and np.isfinite(v).all():
            self.t, self.q, self.v = self.loop.t, q.copy(), v.copy()
        return status == RuntimeStatus.OK


def _free_memory() -> float:
    """Available memory of this machine [bytes]; infinite if unknown."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
