"""Controllers in model files: their fields and checks. `control/described.py` makes the controllers from them."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, StrictBool

from pliant.language.base import ByType, OneOrList, Part, Problem, ValueOrPart, not_negative, positive
from pliant.language.dimension import LENGTH, NUMBER, TIME, TORQUE, Dimension
from pliant.language.message_text import KeyPath
from pliant.language.names import ContactName, CoordinateName, FrameName, InputName, Name, OutputName
from pliant.language.placement import Axis, Rotations
from pliant.language.scalar import (
    AngularSpeed,
    AnySignal,
    ForceSignal,
    Frequency,
    Length,
    Number,
    Scalar,
    Time,
    Value,
    Vector,
)
from pliant.language.syntax import parse, symbols

InputNames: TypeAlias = Annotated[tuple[InputName, ...], Field(min_length=1), OneOrList()]


Dimensioned: TypeAlias = tuple[KeyPath, Scalar, Dimension | None]
"""A value whose dimension depends on the model: its location, the value, and that dimension (None: unknown)."""


@dataclass(frozen=True)
class KnownDimensions:
    """Dimensions of a model's inputs, coordinates and outputs by name; those known only for a built robot are missing."""

    inputs: Mapping[str, Dimension]
    coordinates: Mapping[str, Dimension]
    outputs: Mapping[str, Dimension]


def twice(part: Part, field: str, key: str) -> Iterator[Problem]:
    """The problem of each entry of a list whose `key` an entry before it has."""
    names = [getattr(entry, key) for entry in getattr(part, field)]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield (field, index, key), f"'{name}' has an entry in `{field}` before", "keep one of them"


class InputLimit(Part):
    """Limits of an actuator. An omitted bound is the `minimum` or `maximum` of the parameter, if it has one; the tension
    of a tendon is never negative."""

    above_zero = ("rate",)

    input: InputName
    """The input parameter."""
    lower: Value | None = None
    """Least value [unit of the parameter]."""
    upper: Value | None = None
    """Largest value [unit of the parameter]."""
    rate: Value | None = None
    """Largest change per second [unit of the parameter, per second]."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Bounds in order."""
        if self.lower is not None and self.upper is not None and value(self.lower) > value(self.upper):
            yield ("lower",), f"`lower` is above `upper` for input '{self.input}'", "exchange them"


class ControllerBase(Part):
    """A controller: it is called at its sample times, and its commands are constant in between."""

    above_zero = ("sample_time",)

    sample_time: Time
    """Time between two samples [s]."""
    delay: Time = 0
    """Time from a sample until its command takes effect [s]."""
    inputs: InputNames | None = None
    """Input parameters that it commands; default: all inputs but those of `loads`, which are disturbances, and for controllers that
    compute forces (`pid`, `constraint`, `statics`) those that prescribe motions."""
    limits: tuple[InputLimit, ...] = ()
    """Limits of the inputs, one entry for each limited input."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str]
    gain_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that are only gains of the controller."""

    def uses_beside_gains(self, names: Set[str]) -> bool:
        """Whether expressions in fields other than gains contain some of these parameters."""
        return any(
            names & symbols(parse(text)) for text in _expressions(self.model_dump(exclude=set(self.gain_fields)))
        )

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Delays are not negative, and no input has two limits."""
        if value(self.delay) < 0:
            yield ("delay",), "a delay cannot be negative", "use 0 for none"
        yield from twice(self, "limits", "input")

    def dimensioned(self, known: KnownDimensions) -> Iterator[Dimensioned]:
        """Values whose dimensions depend on the controlled quantities."""
        for index, limit in enumerate(self.limits):
            unit = known.inputs.get(limit.input)
            for bound, expected in (("lower", unit), ("upper", unit), ("rate", None if unit is None else unit / TIME)):
                if getattr(limit, bound) is not None:
                    yield ("limits", index, bound), getattr(limit, bound), expected


def _expressions(value: Any) -> Iterator[str]:
    """All expressions in a part and in its parts."""
    if isinstance(value, str):
        if value.startswith("="):
            yield value
    elif isinstance(value, Mapping | Sequence):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _expressions(item)


class PointingDirection(Part):
    """Where an axis of a frame is to point: `{target: [0, 0, 1]}`, `{axis: x, target: [1, 1, 0]}`."""

    target: Vector
    """Direction in the world, three numbers of any length."""
    axis: Axis = "z"
    """The frame's axis: x, y, z, or three numbers."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Directions must not be zero."""
        for field in ("target", "axis"):
            given = getattr(self, field)
            if not isinstance(given, str) and all(value(x) == 0 for x in given):
                yield (field,), f"`{field}` is a direction and cannot be zero", "give three numbers"


class TaskController(ControllerBase):
    """A controller that makes a frame or coordinates follow a path in time."""

    frame: FrameName | None = None
    """Frame whose position follows the path, and whose orientation or direction is controlled."""
    components: str = "xyz"
    """Components of the position in the world, some of x, y and z in order."""
    coordinates: Annotated[tuple[CoordinateName, ...], OneOrList()] = ()
    """Coordinates that follow the path, instead of a frame."""
    path: Annotated[tuple[AnySignal, ...], OneOrList()] = ()
    """The path: one value or expression of `t` for each component or coordinate [m or rad]. Without it the frame's
    position is free, and only its orientation or direction is controlled."""
    orientation: Rotations = ()
    """Reference orientation of the frame in the world (three components): one rotation, or a list applied in turn."""
    direction: PointingDirection | None = None
    """Reference direction of an axis of the frame (two components); the rotation about the axis is free."""
    least_squares: StrictBool = False
    """Whether to use least squares if the inputs cannot follow the path in all its components, or cannot balance the
    robot on it."""

    @property
    def placed(self) -> int:
        """Number of components of the position, or of coordinates, that follow the path."""
        return len(self.coordinates) or (len(self.components) if self.path else 0)

    @property
    def turned(self) -> int:
        """Number of controlled components of the orientation."""
        return (3 if self.orientation else 0) + (2 if self.direction is not None else 0)

    @property
    def size(self) -> int:
        """Number of controlled components."""
        return self.placed + self.turned

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        yield from super().problems(value)
        if (self.frame is None) == (not self.coordinates) and (self.path or self.turned or self.frame is not None):
            yield (), "the path needs either a `frame` or `coordinates`", "give one of them"
        wrong = [c for c in self.components if c not in "xyz"]
        if wrong or len(set(self.components)) != len(self.components) or not self.components:
            yield ("components",), f"`components` are some of x, y and z, not '{self.components}'", "write xy, or z"
        if self.orientation and self.direction is not None:
            yield ("direction",), "an orientation includes every direction of the frame", "keep one of the two"
        for field in ("orientation", "direction"):
            if getattr(self, field) and self.frame is None:
                yield (field,), f"`{field}` needs a frame, and none is given", "give `frame`"
        if not self.path and not self.size:
            yield (), "there is nothing to follow", "give a `path`, or an `orientation` or `direction` of the frame"
        elif len(self.path) != self.placed:
            message = f"the path has {len(self.path)} values for {self.placed} components"
            yield ("path",), message, "give one value or expression for each"

    def followers(self, known: KnownDimensions) -> list[Dimension | None]:
        """Dimensions of the controlled components: those that follow the path, then those that are constant."""
        placed = [known.coordinates.get(x) for x in self.coordinates] or [LENGTH] * self.placed
        return [*placed, *[NUMBER] * self.turned]

    def dimensioned(self, known: KnownDimensions) -> Iterator[Dimensioned]:
        yield from super().dimensioned(known)
        for index, (value, part) in enumerate(zip(self.path, self.followers(known), strict=False)):
            yield ("path", index), value, part


class ConstraintControlSpec(TaskController):
    """Prescribes the acceleration of a frame or of coordinates, that of the path plus feedback of the error, and solves
    the equations of motion for the inputs. With coordinates it is the computed-torque method."""

    above_zero = ("settling",)

    type: Literal["constraint"] = "constraint"
    settling: Time
    """Time constant of errors [s]; they decay without oscillation."""
    integral: StrictBool = False
    """Whether steady-state errors are removed by integration."""
    damping: AngularSpeed = 0
    """Damping of motions that the path does not prescribe, by redundant inputs [1/s]."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  torque: {value: 0 N*m, input: true}
bodies:
  arm: {mass: 1 kg, center_of_mass: [0.5 m, 0, 0], shape: {type: slender_rod, length: 1 m, axis: x}}
joints:
  hinge: {type: revolute, child: arm, axis: y, angle: {input: =torque}}
control:
  wave:
    type: constraint
    coordinates: hinge
    path: =0.5*sin(2*pi*t/2 s)
    settling: 50 ms
    sample_time: 2 ms
"""


GAINS = ("proportional", "derivative", "integral")
"""Gains of a PID controller."""

GainValues: TypeAlias = Annotated[tuple[Value, ...], Field(min_length=1), OneOrList()]


class PidControlSpec(TaskController):
    """Pulls coordinates or a frame to a path by a force proportional to the error, its integral and its rate, and adds the
    inputs that balance gravity, springs and elastic rods. Integration stops while inputs are saturated (anti-windup).
    It depends less on the model than `constraint`, which also compensates inertia and is faster if the model is accurate."""

    type: Literal["pid"] = "pid"
    proportional: GainValues
    """Force per error, one for all or one for each component or coordinate [N/m, N m/rad]."""
    derivative: GainValues = (0,)
    """Force per rate of the error [N s/m, N m s/rad]."""
    integral: GainValues = (0,)
    """Force per integral of the error over time [N/(m s), N m/(rad s)]."""
    compensation: Literal["none", "measured", "reference"] = "measured"
    """Inputs in addition to the feedback: those that balance the current pose (`measured`), those of the model's
    equilibrium on the path (`reference`), or the initial ones (`none`)."""

    gain_fields: ClassVar[tuple[str, ...]] = GAINS
    example: ClassVar[str] = """\
pliant: 1
parameters:
  torque: {value: 0 N*m, input: true, minimum: -20 N*m, maximum: 20 N*m}
bodies:
  arm: {mass: 1 kg, center_of_mass: [0.5 m, 0, 0], shape: {type: slender_rod, length: 1 m, axis: x}}
joints:
  hinge: {type: revolute, child: arm, axis: y, angle: {input: =torque}}
control:
  raise:
    type: pid
    coordinates: hinge
    path: -60 deg
    proportional: 30 N*m/rad
    derivative: 6 N*m*s/rad
    integral: 20 N*m/s
    compensation: measured
    sample_time: 2 ms
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        yield from super().problems(value)
        for field in GAINS:
            gains = getattr(self, field)
            if len(gains) not in (1, self.size):
                message = f"`{field}` has {len(gains)} values for {self.size} components"
                yield (field,), message, "give one for all, or one for each"
            for index, gain in enumerate(gains):
                if value(gain) < 0:
                    yield (field, index), f"`{field}` must not be negative: errors would grow", "change its sign"

    def dimensioned(self, known: KnownDimensions) -> Iterator[Dimensioned]:
        yield from super().dimensioned(known)
        parts = self.followers(known)
        for field, time in (("proportional", NUMBER), ("derivative", TIME), ("integral", NUMBER / TIME)):
            gains = getattr(self, field)
            for index, gain in enumerate(gains):
                units = set(parts) if len(gains) == 1 else set(parts[index : index + 1])
                unit = units.pop() if len(units) == 1 else None
                yield (field, index), gain, None if unit is None else TORQUE / unit / unit * time


class StaticControlSpec(TaskController):
    """Moves a frame or coordinates slowly along a path: the inputs at which the model is in equilibrium there, so that gravity and
    elasticity are compensated, plus feedback of the error through the derivative of the equilibrium by the inputs. With
    `contact` it presses on a surface with a `force` and moves along it."""

    type: Literal["statics"] = "statics"
    proportional: Number = 0
    """Fraction of the error that is corrected immediately [-]."""
    integral: AngularSpeed = 2
    """Rate at which errors are removed by integration [1/s]."""
    derivative: Time = 0
    """Gain on the rate of the error [s]."""
    contact: ContactName | None = None
    """Contact whose surface is pressed. The path of a frame is then in the axes of the plane (two values), along its surface."""
    force: ForceSignal | None = None
    """Force that presses on the contact's surface, along its normal; may vary in time [N]."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  pull: {value: 0 N, input: true}
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: wire, material: rubber, damping: [0, 0, 0, 1e-5, 1e-5, 1e-5], model: {kind: pcs, elements: 3}}
tendons:
  flexor: {type: tension, through: [{rod: arm, offset: [8 mm, 0]}], tension: =pull}
control:
  bend:
    type: statics
    frame: arm.tip
    components: x
    path: 3 cm
    sample_time: 50 ms
    limits: [{input: pull, lower: 0 N, upper: 5 N}]
"""

    @property
    def placed(self) -> int:
        return 2 if self.contact is not None and self.path and not self.coordinates else super().placed

    @property
    def size(self) -> int:
        return super().size + (self.force is not None)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        yield from super().problems(value)
        if (self.force is None) != (self.contact is None):
            given, other = ("force", "contact") if self.contact is None else ("contact", "force")
            yield (given,), f"`{given}` needs `{other}`", "a force presses on the surface of a contact; give both"
        if self.contact is not None and self.components != "xyz":
            message = "on the surface of a contact the path has its two values, not components of the world"
            yield ("components",), message, "leave out `components`"


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

    not_below_zero = ("deviation",)

    input: InputName
    """The input parameter; inputs of `loads` and others that are not commanded are possible."""
    deviation: Value
    """Standard deviation of disturbances of this input, which are constant within a sample and independent between samples
    [unit of the parameter]."""


class ProcessNoise(Part):
    """Random changes of a coordinate that the model does not explain, for the design of the observer."""

    not_below_zero = ("value", "rate")

    coordinate: CoordinateName
    """The coordinate; in a robot with closed loops an independent one."""
    value: Value = 0
    """Standard deviation of the random change of its value per sample [m or rad]."""
    rate: Value = 0
    """Standard deviation of the random change of its rate per sample [m/s or rad/s]."""


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


class ControlGroup(Part):
    """A local controller within a regulator: it commands its inputs from its own measurements only."""

    above_zero = ("priority",)

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
        """Check that the group has measurements."""
        if not self.coordinates and not self.outputs:
            yield (), "the group has no measurements", "add `coordinates` or `outputs`"


ONCE = {
    "coordinate_weights": "coordinate",
    "output_weights": "output",
    "input_weights": "input",
    "sensors": "output",
    "disturbances": "input",
    "process_noise": "coordinate",
}
"""Lists with one entry for each thing, and the key of that thing."""


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


Control: TypeAlias = Annotated[
    LqrControlSpec | PidControlSpec | ConstraintControlSpec | StaticControlSpec, ByType("controller")
]
"""A controller in a model file."""
