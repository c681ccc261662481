"""Reinforcement learning tasks: observations, actions, rewards and randomization."""

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import StrictBool

from pliant.language.base import OneOrList, Part, Problem
from pliant.language.names import CoordinateName, OutputName, ParameterName
from pliant.language.scalar import Number, Scalar, Time, Value
from pliant.robot.controllers import Dimensioned, InputNames, KnownDimensions


class RandomParameter(Part):
    """A parameter that differs between episodes: a property of the robot, or a goal."""

    parameter: ParameterName
    """The parameter."""
    minimum: Value
    """Least value [unit of the parameter]."""
    maximum: Value
    """Largest value [unit of the parameter]."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Bounds must be in order."""
        if value(self.minimum) > value(self.maximum):
            yield ("minimum",), f"`minimum` is above `maximum` for '{self.parameter}'", "exchange them"


class RandomStart(Part):
    """A coordinate that begins somewhere else in each episode."""

    above_zero = ("spread",)

    coordinate: CoordinateName
    """The coordinate."""
    spread: Value
    """Largest distance from its value at the start, to both sides [unit of the coordinate]."""


class LearningTask(Part):
    """A task for learning, which `pliant.gym.make` turns into an environment.

    At each sample the policy sees the observations and sets the actions, which are held until the next one; the reward is the
    value of an output after that time. Parameters and starts are drawn evenly between their bounds for each episode.
    """

    example: ClassVar[str] = """\
pliant: 1
parameters:
  torque: {value: 0 N*m, input: true, minimum: -3 N*m, maximum: 3 N*m}
  goal: {value: 0 rad, description: angle to reach}
bodies: {rod: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m], shape: {type: slender_rod, length: 1 m, axis: z}}}
joints: {hinge: {type: revolute, child: rod, axis: y, angle: {input: =torque, damper: 0.2 N*m*s/rad}}}
outputs:
  angle: {coordinate: hinge}
  error: {expression: =angle - goal}
  reward: {expression: =-(error/(1 rad))^2}
task:
  reach:
    sample_time: 20 ms
    step: 5 ms
    duration: 3 s
    observations: [error]
    reward: reward
    randomize: [{parameter: goal, minimum: -0.3 rad, maximum: 0.3 rad}]
    start: [{coordinate: hinge, spread: 0.5 rad}]
"""

    sample_time: Time
    """Time between two actions [s]."""
    step: Time
    """Time step of the integration [s]; the sample time is a multiple of it."""
    method: Literal["explicit", "symplectic_euler", "semi_implicit", "implicit"] = "semi_implicit"
    """Integration method, as of fleets."""
    duration: Time
    """Length of an episode [s], a multiple of the sample time."""
    actions: InputNames | None = None
    """Inputs that the policy sets, between the `minimum` and `maximum` of their parameters; otherwise all but those of `loads`."""
    observations: Annotated[tuple[OutputName, ...], OneOrList()] = ()
    """Outputs that the policy sees."""
    observe_state: StrictBool = True
    """Whether it sees all coordinates and rates, too."""
    reward: OutputName
    """Output that is the reward of a sample, a number."""
    end: OutputName | None = None
    """Output, a number, that ends the episode when it is above zero."""
    failure: Number = 0
    """Reward of a sample in which the motion diverges, which ends the episode [-]."""
    randomize: tuple[RandomParameter, ...] = ()
    """Parameters that differ between episodes. They may be goals, which only outputs depend on."""
    start: tuple[RandomStart, ...] = ()
    """Coordinates whose start differs between episodes."""
    description: str = ""
    """What a reader should know about it."""

    above_zero = ("sample_time", "step", "duration")

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Times must be positive multiples of each other."""
        for inner, outer in (("step", "sample_time"), ("sample_time", "duration")):
            short, long = value(getattr(self, inner)), value(getattr(self, outer))
            if short > 0 and long > 0 and abs(long / short - round(long / short)) > 1e-6:
                message = f"`{outer}` ({long:g} s) must be a multiple of `{inner}` ({short:g} s)"
                yield (outer,), message, "change one of them"

    def dimensioned(self, known: KnownDimensions) -> Iterator[Dimensioned]:
        """Bounds must have the dimensions of the bounded quantities."""
        for index, drawn in enumerate(self.randomize):
            for bound in ("minimum", "maximum"):
                yield ("randomize", index, bound), getattr(drawn, bound), known.inputs.get(drawn.parameter)
        for index, begun in enumerate(self.start):
            yield ("start", index, "spread"), begun.spread, known.coordinates.get(begun.coordinate)
