"""Contents of the live page: the pose for the current slider values, solved with the compiled equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.analysis.modes import ModesResult, modes
from pliant.equations.equations import Equations, Values
from pliant.equations.outputs import evaluate_outputs, output_units
from pliant.equations.workspace import EvaluationError
from pliant.solve.result import Result
from pliant.solve.state import AssemblyError, assemble
from pliant.solve.statics.equilibrium import Equilibrium, equilibrium
from pliant.spec.derive import derive
from pliant.spec.robot import RobotSpec
from pliant.spec.rod_switch import with_rod_model
from pliant.view.clips import run_maker, run_scenes
from pliant.view.marks import Scene
from pliant.view.scene import SceneMaker

MOST_MODES = 12
MOST_NUMBERS = 9
"""Outputs with more numbers are not written out on the page."""
ROUND_OFF = 1e-12
"""Numbers below this are written as 0 (SI units)."""


@dataclass(frozen=True)
class SliderValues:
    """Values of the sliders by name (SI units)."""

    parameters: Values = field(default_factory=dict)
    inputs: Values = field(default_factory=dict)
    start: Values = field(default_factory=dict)


@dataclass(frozen=True)
class DisplayedScene:
    """A scene, its caption, and the robot's outputs as text, one per line."""

    scene: Scene
    words: str
    outputs: str = ""


class LiveRobot:
    """A robot posed by slider values; each equilibrium is the initial guess of the next one."""

    def __init__(self, eqs: Equations, run: Result | None = None) -> None:
        self.eqs, self.run = eqs, run
        self._maker: SceneMaker | None = None
        self._rest: np.ndarray | None = None
        self._start: Mapping[str, float] = {}
        self._found: tuple[SliderValues, ModesResult] | None = None
        self._positions: tuple[SliderValues, int, list[np.ndarray]] | None = None

    def start(self, choice: SliderValues) -> DisplayedScene:
        """The initial pose, moved onto its constraints."""
        bound = self.eqs.at(inputs=choice.inputs, parameters=choice.parameters).binding
        start = self.eqs.state(choice.start, parameters=choice.parameters)
        made = assemble(self.eqs, bound, 0.0, start.q, start.v, start.given)
        zero = np.zeros(bound.nv)
        found = evaluate_outputs(self.eqs.model, bound, 0.0, made.q, made.v, zero, np.zeros(bound.m), 0.0)
        spec = self.eqs.model.spec.outputs  # forces are those of a motion or of rest
        known = {name: x for name, x in found.items() if name in spec and spec[name].is_of_positions_and_velocities}
        words = "; ".join(made.messages) or "the initial pose"
        return self._shown(choice, made.q, 0.0, words, self._told(known))

    def rest(self, choice: SliderValues) -> DisplayedScene:
        """The equilibrium near the last one, or near the start if that was changed."""
        found = self._solve(choice)
        return self._shown(choice, found.q, 0.0, found.message, self._told(found.outputs))

    def inputs(self, choice: SliderValues) -> dict[str, float]:
        """All inputs with these values of the sliders (SI units); the model's own may depend on its parameters."""
        signals = self.eqs.at(inputs=choice.inputs, parameters=choice.parameters).binding.signals(0.0)[0]
        return dict(zip(self.eqs.inputs, signals.tolist(), strict=True))

    def _told(self, outputs: Mapping[str, Any]) -> str:
        units = output_units(self.eqs.model)
        lines = []
        for name, value in outputs.items():
            numbers = np.ravel(value)
            if numbers.size > MOST_NUMBERS:
                continue  # a profile along a rod
            text = ", ".join(f"{x:.4g}" for x in np.where(np.abs(numbers) > ROUND_OFF, numbers, 0.0))
            unit = units.get(name, "")
            lines.append(f"{name} = {text}" + ("" if unit in ("", "-") else f" {unit}"))
        return "\n".join(lines)

    def mode(self, choice: SliderValues, number: int, phase: float) -> DisplayedScene:
        """A mode (from 1) about the equilibrium, at a phase between 0 and 1."""
        if self._found is None or self._found[0] != choice:
            q = self._solve(choice).q
            self._found = (
                choice,
                modes(self.eqs, at=q, count=MOST_MODES, inputs=choice.inputs, parameters=choice.parameters),
            )
        found = self._found[1]
        if number > found.shapes.shape[1]:
            raise ValueError(f"the robot has {found.shapes.shape[1]} modes")
        if self._positions is None or self._positions[:2] != (choice, number):
            self._positions = choice, number, found.positions(number - 1)
        positions = self._positions[2]
        words = f"mode {number}: {found.words(number - 1)}, damping ratio {found.damping_ratios[number - 1]:.3g}"
        return self._shown(choice, positions[int(phase * len(positions)) % len(positions)], 0.0, words)

    def at_time(self, t: float) -> DisplayedScene:
        """The run at a time [s] after its start."""
        assert self.run is not None
        times = self.run.time
        k = int(np.argmin(np.abs(times - times[0] - t)))
        self._maker = self._maker or run_maker(self.eqs, self.run)
        (scene,) = run_scenes(self.eqs, self.run, [k], self._maker)
        told = self._told({name: self.run[name].values[k] for name in self.run.output_names})
        return DisplayedScene(scene, f"t = {times[k]:.4g} s", told)

    def mode_count(self) -> int:
        """Number of modes that can be shown."""
        return min(MOST_MODES, max(0, len(self.eqs.rates) - self.eqs.model.system.rows))

    def _solve(self, choice: SliderValues) -> Equilibrium:
        begin = self._rest
        if begin is None or choice.start != self._start:
            begin = self.eqs.state(choice.start, parameters=choice.parameters).q
        found = equilibrium(
            self.eqs, start=begin, inputs=choice.inputs, parameters=choice.parameters, on_failure="return"
        )
        if found.status != "converged":
            raise ValueError(found.message)
        self._rest, self._start = found.q, dict(choice.start)
        return found

    def _shown(self, choice: SliderValues, q: np.ndarray, t: float, words: str, outputs: str = "") -> DisplayedScene:
        return DisplayedScene(SceneMaker(self.eqs, choice.parameters, inputs=choice.inputs).at(q, t), words, outputs)


EXPECTED = (AssemblyError, EvaluationError, ValueError)
"""Errors that can be caused, and fixed, by slider values."""


class Overlays:
    """The same robot with another model of one rod, derived once for each choice."""

    def __init__(self, spec: RobotSpec) -> None:
        self.spec = spec
        self._known: dict[tuple[str, str], LiveRobot] = {}

    def __contains__(self, choice: tuple[str, str]) -> bool:
        """Whether a rod and model have been derived."""
        return choice in self._known

    def robot(self, rod: str, model: str) -> LiveRobot:
        """The robot with that rod in a model such as `cosserat:10`."""
        if (rod, model) not in self._known:
            self._known[rod, model] = LiveRobot(derive(with_rod_model(self.spec, rod, model)))
        return self._known[rod, model]
