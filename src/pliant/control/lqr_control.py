"""LQR: stabilizes the robot about a state, by feedback designed from the linear equations about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool

from pliant.analysis.equilibrium import Equilibrium, equilibrium
from pliant.analysis.linearize import StateSpace, linearize
from pliant.analysis.motion.plant import Plant
from pliant.control.base import ControllerBase, Dimensioned, KnownDimensions, twice
from pliant.control.closed_loop import closed_loop
from pliant.control.decentralized import Group, decentralized_lqr
from pliant.control.discrete import discretize
from pliant.control.feedback import StateFeedback
from pliant.control.limits import Limits
from pliant.control.lqr import Weights, lqr, weight_matrix
from pliant.control.observer import Observer, kalman
from pliant.control.reduction import Reduction, reduce
from pliant.control.static_model import rest_with
from pliant.control.task import Coordinates, FramePosition, Task
from pliant.language.base import OneOrList, Part, Problem, ValueOrPart, not_negative, positive
from pliant.language.dimension import TIME
from pliant.language.names import CoordinateName, FrameName, InputName, Name, OutputName
from pliant.language.scalar import Frequency, Length, Number, Scalar, Value

REST = 1e-3
"""Accelerations below this are those of a state of rest [m/s^2 or rad/s^2]."""

ONCE = {
    "coordinate_weights": "coordinate",
    "output_weights": "output",
    "input_weights": "input",
    "sensors": "output",
    "disturbances": "input",
    "process_noise": "coordinate",
}
"""Lists with one entry for each thing, and the key of that thing."""

CHECKED = 800
"""Largest number of states for which the complete loop is checked; beyond, it takes minutes."""


class CoordinateWeight(Part):
    """Cost of deviations of a coordinate."""

    coordinate: CoordinateName
    """The coordinate."""
    value: Number = 0
    """Weight of the square of its deviation [per SI unit squared]."""
    rate: Number = 0
    """Weight of the square of its rate [per SI unit squared]."""


class OutputWeight(Part):
    """Cost of deviations of an output."""

    output: OutputName
    """The output."""
    weight: Number
    """Weight of the square of its deviation [per SI unit squared]."""


class InputWeight(Part):
    """Cost of the effort of an input."""

    input: InputName
    """The input parameter."""
    weight: Number
    """Weight of the square of its deviation [per SI unit squared]."""


class Sensor(Part):
    """An output that is measured."""

    output: OutputName
    """The output."""
    noise: Value
    """Standard deviation of its noise, for the design and in simulations [unit of the output]."""
    design_noise: Value | None = None
    """Standard deviation for the design of the observer, if it is not that of the simulated noise, which may then be 0
    [unit of the output]."""

    @property
    def assumed(self) -> Scalar:
        """The standard deviation that the observer is designed for."""
        return self.noise if self.design_noise is None else self.design_noise

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """No sensor is perfect."""
        if self.design_noise is None:
            yield from positive(self, value, "noise")
        else:
            yield from positive(self, value, "design_noise")
            yield from not_negative(self, value, "noise")


class Disturbance(Part):
    """Uncertainty of an input, for the design of the observer or of `groups`."""

    input: InputName
    """The input parameter; inputs of `loads` and others that are not commanded are possible."""
    deviation: Value
    """Standard deviation of disturbances of this input, which are constant within a sample and independent between samples
    [unit of the parameter]."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Deviations are nonnegative."""
        yield from not_negative(self, value, "deviation")


class ProcessNoise(Part):
    """Random changes of a coordinate that the model does not explain, for the design of the observer."""

    coordinate: CoordinateName
    """The coordinate; in a robot with closed loops an independent one."""
    value: Value = 0
    """Standard deviation of the random change of its value per sample [m or rad]."""
    rate: Value = 0
    """Standard deviation of the random change of its rate per sample [m/s or rad/s]."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Deviations are nonnegative."""
        yield from not_negative(self, value, "value", "rate")


class InputValue(Part):
    """A value of an input."""

    input: InputName
    """The input parameter."""
    value: Value
    """Its value [unit of the parameter]."""


class CoordinateValue(Part):
    """A value of a coordinate."""

    coordinate: CoordinateName
    """The coordinate."""
    value: Value
    """Its value [m or rad]."""


class HeldPose(Part):
    """An equilibrium, stable or not: for given `inputs`, or with given values of `coordinates` or a `frame`, for which the inputs
    are computed."""

    inputs: tuple[InputValue, ...] = ()
    """Values of inputs; default: those of the model. If coordinates or a frame are given and the inputs for them are
    not unique, those nearest to these values are used (a pretension)."""
    coordinates: tuple[CoordinateValue, ...] = ()
    """Values of coordinates at the equilibrium."""
    frame: FrameName | None = None
    """Frame with a given position at the equilibrium, instead of coordinates."""
    components: str = "xyz"
    """Components of the frame's position in the world, some of x, y and z in order."""
    position: Annotated[tuple[Length, ...], OneOrList()] = ()
    """Their values, one for each [m]."""
    near: tuple[CoordinateValue, ...] = ()
    """Coordinates of the pose from which the search starts, if it is not the start; the nearest equilibrium is used,
    stable or not."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Check that the pose is not empty or redundant."""
        for field, key in (("inputs", "input"), ("coordinates", "coordinate"), ("near", "coordinate")):
            yield from twice(self, field, key)
        if not (self.inputs or self.coordinates or self.frame or self.near):
            yield (), "the pose is empty", "give `inputs`, `coordinates`, `frame` or `near`; or write `equilibrium`"
        if self.frame is not None and self.coordinates:
            yield ("frame",), "give either `coordinates` or `frame`", "both define the pose"
        if self.frame is not None and len(self.position) != len(self.components):
            message = f"the position has {len(self.position)} values for {len(self.components)} components"
            yield ("position",), message, "give one value for each"
        if self.frame is None and self.position:
            yield ("position",), "a position of which frame?", "give `frame`"
        if any(c not in "xyz" for c in self.components) or len(set(self.components)) != len(self.components):
            yield ("components",), f"`components` are some of x, y and z, not '{self.components}'", "write xy, or z"

    def dimensioned(self, known: KnownDimensions) -> Iterator[Dimensioned]:
        """Values of inputs and coordinates."""
        for index, held in enumerate(self.inputs):
            yield ("inputs", index, "value"), held.value, known.inputs.get(held.input)
        for field in ("coordinates", "near"):
            for index, given in enumerate(getattr(self, field)):
                yield (field, index, "value"), given.value, known.coordinates.get(given.coordinate)

    def find(self, plant: Plant, use: tuple[str, ...] | None, limits: Limits) -> Equilibrium:
        """The pose, with its inputs."""
        eqs, number = plant.equations, plant.number
        near = {x.coordinate: number(x.value) for x in (*self.near, *self.coordinates)}
        start = eqs.state(near, parameters=plant.parameters).q
        inputs = {x.input: number(x.value) for x in self.inputs}
        if not self.coordinates and self.frame is None:
            return equilibrium(
                eqs, start=start, inputs=inputs, parameters=plant.parameters,
                stability="any" if self.near else "stable", on_failure="return",
            )  # fmt: skip
        if self.frame is not None:
            task: Task = FramePosition(self.frame, self.components)
            value = [number(x) for x in self.position]
        else:
            task = Coordinates(tuple(x.coordinate for x in self.coordinates))
            value = [number(x.value) for x in self.coordinates]
        return rest_with(
            eqs, task, np.array(value), start=start, inputs=inputs, use=use, limits=limits, parameters=plant.parameters
        )


class ControlGroup(Part):
    """A local controller within a regulator: it commands its inputs from its own measurements only."""

    inputs: Annotated[tuple[InputName, ...], Field(min_length=1), OneOrList()]
    """The inputs that it commands; every input belongs to one group."""
    coordinates: Annotated[tuple[CoordinateName, ...], OneOrList()] = ()
    """Coordinates that it measures, each with its rate. In a robot with closed loops only independent ones; use
    outputs for others."""
    outputs: Annotated[tuple[OutputName, ...], OneOrList()] = ()
    """Outputs that it measures."""
    priority: Number = 1
    """Factor by which the cost of the effort of its inputs is divided, so that it contributes more [-]."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Check that the group has measurements, and its priority."""
        yield from positive(self, value, "priority")
        if not self.coordinates and not self.outputs:
            yield (), "the group has no measurements", "add `coordinates` or `outputs`"


class LqrControlSpec(ControllerBase):
    """A linear quadratic regulator about an equilibrium; with `sensors`, using the estimates of a Kalman filter; with `groups`,
    decentralized."""

    type: Literal["lqr"] = "lqr"
    about: Annotated[Literal["equilibrium", "initial"] | HeldPose, ValueOrPart()] = "equilibrium"
    """The state that it stabilizes: the equilibrium, the initial state, or another equilibrium given by inputs,
    coordinates or a frame."""
    coordinate_weights: tuple[CoordinateWeight, ...] = ()
    """Costs of coordinates."""
    output_weights: tuple[OutputWeight, ...] = ()
    """Costs of outputs."""
    input_weights: tuple[InputWeight, ...] = ()
    """Costs of inputs; 1 for those without an entry."""
    keep: Annotated[int, Field(ge=1, strict=True)] | None = None
    """Design for this many of the slowest modes only; default: all."""
    below: Frequency | None = None
    """Design for the modes below this frequency only [Hz]."""
    sensors: tuple[Sensor, ...] = ()
    """Measured outputs; without entries the full state is used."""
    disturbances: tuple[Disturbance, ...] = ()
    """Uncertainty of inputs, for the observer: commanded ones, by default one unit, and others, by default none."""
    process_noise: tuple[ProcessNoise, ...] = ()
    """Random changes of coordinates, for the observer, in addition to `disturbances`; larger values make it trust its
    sensors more and the model less."""
    groups: dict[Name, ControlGroup] = Field(default_factory=dict)
    """Local controllers by name, instead of a centralized one. The cost is then that after impulses of the inputs in
    `disturbances`, which may include inputs that it does not command, or by default of its own inputs."""
    share: StrictBool = False
    """Whether inputs that are not saturated compensate for saturated ones, so that tendons stay in tension."""
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    """Seed of the sensors' noise in simulations."""
    independent: Annotated[tuple[CoordinateName, ...], OneOrList()] | None = None
    """Independent coordinates of a robot with closed loops; default: chosen for good conditioning."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  force: {value: 0 N, input: true}
bodies:
  cart: {mass: 1 kg}
  pole: {mass: 100 g, center_of_mass: [0, 0, 0.5 m], shape: {type: slender_rod, length: 1 m, axis: z}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {input: =force}}
  hinge: {type: revolute, parent: cart, child: pole, axis: y}
outputs:
  cart: {coordinate: rail}
  pole: {coordinate: hinge}
control:
  balance:
    type: lqr
    about: initial
    sample_time: 20 ms
    delay: 5 ms
    limits: [{input: force, lower: -20 N, upper: 20 N}]
    coordinate_weights: [{coordinate: rail, value: 10, rate: 1}, {coordinate: hinge, value: 50, rate: 1}]
    input_weights: [{input: force, weight: 0.1}]
    sensors: [{output: cart, noise: 1 mm}, {output: pole, noise: 1e-3}]
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """At least one weight, at most one selection of modes, and inputs of the pose only for commanded inputs."""
        yield from super().problems(value)
        for field, key in ONCE.items():
            yield from twice(self, field, key)
        if isinstance(self.about, HeldPose) and self.inputs is not None:
            for index, given in enumerate(self.about.inputs):
                if given.input not in self.inputs:
                    message = f"the pose has another value of '{given.input}', which this controller does not set"
                    hint = "add it to `inputs` of the controller, or give it that value in the model"
                    yield ("about", "inputs", index, "input"), message, hint
        if not self.coordinate_weights and not self.output_weights:
            hint = "add `coordinate_weights` or `output_weights`"
            yield (), "no quantity has a weight", hint
        if self.keep is not None and self.below is not None:
            yield ("below",), "give either `keep` or `below`", "both select the modes of the design"
        if self.groups and self.sensors:
            message = "an estimate of all states is not a local one: `groups` and `sensors` cannot be combined"
            yield ("sensors",), message, "let the groups measure `outputs`, or remove `groups`"
        for field, users in (("process_noise", self.sensors), ("disturbances", self.sensors or self.groups)):
            if getattr(self, field) and not users:
                message = f"`{field}` tunes the observer, and without `sensors` there is none"
                yield (field,), message, f"add `sensors`, or remove `{field}`"

    def dimensioned(self, known: KnownDimensions) -> Iterator[Dimensioned]:
        """As for all controllers; noise is of outputs, disturbances of inputs."""
        yield from super().dimensioned(known)
        for index, sensor in enumerate(self.sensors):
            for key in ("noise", "design_noise"):
                if getattr(sensor, key) is not None:
                    yield ("sensors", index, key), getattr(sensor, key), known.outputs.get(sensor.output)
        for index, disturbance in enumerate(self.disturbances):
            yield ("disturbances", index, "deviation"), disturbance.deviation, known.inputs.get(disturbance.input)
        for index, noise in enumerate(self.process_noise):
            unit = known.coordinates.get(noise.coordinate)
            yield ("process_noise", index, "value"), noise.value, unit
            yield ("process_noise", index, "rate"), noise.rate, None if unit is None else unit / TIME
        if isinstance(self.about, HeldPose):
            for path, value, expected in self.about.dimensioned(known):
                yield ("about", *path), value, expected

    def build(self, plant: Plant, name: str) -> StateFeedback:
        """Linearize, reduce, discretize, design."""
        eqs, number = plant.equations, plant.number
        at, inputs = None, None
        if self.about != "initial":
            if isinstance(self.about, HeldPose):
                rest = self.about.find(plant, self.inputs, self.input_limits(plant))
            else:
                rest = equilibrium(eqs, parameters=plant.parameters, on_failure="return")
            if rest.status != "converged":
                raise ValueError(rest.message)
            at, inputs = rest.state, rest.inputs
        linear = linearize(eqs, at=at, inputs=inputs, parameters=plant.parameters, independent=self.independent)
        if linear.residual > REST:
            raise ValueError(
                f"the state to stabilize is not an equilibrium (accelerations up to {linear.residual:.3g}). Start "
                "at an equilibrium, or use the equilibrium or another pose (`about`)"
            )
        commanded = self.inputs or eqs.model.actuators
        pushes = linear.select(tuple(d.input for d in self.disturbances)).B * [
            number(d.deviation) for d in self.disturbances
        ]
        linear = whole = linear.select(commanded, None)
        states = {w.coordinate: number(w.value) for w in self.coordinate_weights}
        states |= {f"d({w.coordinate})/dt": number(w.rate) for w in self.coordinate_weights}
        reduction = None
        weights: Weights = states
        if self.keep is not None or self.below is not None:
            reduction = reduce(linear, keep=self.keep, below=None if self.below is None else number(self.below))
            weights = reduction.back.T @ weight_matrix(states, linear.states, "state", 0.0) @ reduction.back
            linear = reduction.linear
        sampled = discretize(linear, number(self.sample_time), delay=number(self.delay))
        efforts = {w.input: number(w.weight) for w in self.input_weights}
        results = {w.output: number(w.weight) for w in self.output_weights}
        if self.groups:
            groups = {
                name: Group(group.inputs, group.coordinates, group.outputs, number(group.priority))
                for name, group in self.groups.items()
            }
            regulator = decentralized_lqr(
                sampled, groups, states=weights, inputs=efforts, outputs=results, reduction=reduction,
                disturbances=pushes if self.disturbances else None,
            )  # fmt: skip
            reduction = None
        else:
            regulator = lqr(sampled, states=weights, inputs=efforts, outputs=results)
        noise = {s.output: number(s.noise) for s in self.sensors}
        others = pushes[:, [d.input not in commanded for d in self.disturbances]]
        controller = StateFeedback(
            eqs, regulator, reduction, self._observer(plant, linear, whole, reduction, others) if noise else None,
            limits=self.input_limits(plant), share=self.share, noise=noise, seed=self.seed, name=name,
        )  # fmt: skip
        size = len(whole.states)
        if size > CHECKED:
            text = f"the complete loop was not checked: {size} states are too many (up to {CHECKED})"
            controller.warnings += (text,) if self.keep is not None or self.below is not None else ()
        elif warning := closed_loop(controller, whole).warning:
            controller.warnings += (warning,)
        return controller

    def _observer(
        self, plant: Plant, linear: StateSpace, whole: StateSpace, reduction: Reduction | None, others: np.ndarray
    ) -> Observer:
        """The Kalman filter on `linear`, the robot `whole` or its `reduction`; others: effects of disturbances by other inputs."""
        number = plant.number
        variances = {s.output: number(s.assumed) ** 2 for s in self.sensors}
        seen = linear.select(None, tuple(variances))
        sampled = discretize(seen, number(self.sample_time), delay=number(self.delay))
        spread = dict.fromkeys(seen.inputs, 1.0)
        spread |= {d.input: number(d.deviation) ** 2 for d in self.disturbances if d.input in spread}
        random = {x.coordinate: number(x.value) ** 2 for x in self.process_noise}
        random |= {f"d({x.coordinate})/dt": number(x.rate) ** 2 for x in self.process_noise}
        process = weight_matrix(random, whole.states, "state", 0.0)
        if reduction is not None:
            process, others = reduction.onto @ process @ reduction.onto.T, reduction.onto @ others
        return kalman(sampled, process=process, inputs=spread, disturbances=others, outputs=variances)
