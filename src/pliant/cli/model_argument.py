"""The argument of a command, a model or a saved result (which contains its model), and values of parameters and inputs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pliant.analysis.derivation.derive import derive
from pliant.analysis.motion.result import Result
from pliant.cli.command_output import answering
from pliant.cli.common import CommandError, ModelOptions
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, say_once
from pliant.engine.input_values import expanded_inputs, inputs_at_time, inputs_over_time, names_in
from pliant.engine.model.recorded_inputs import recorded_inputs
from pliant.io.results import load_result
from pliant.language.arguments import ArgumentError
from pliant.language.evaluate import to_node
from pliant.language.faults import ExpressionError, SpecError
from pliant.language.parameter import parameter_dimensions, wrong_dimension
from pliant.language.recording import READERS, WORKBOOKS, read_recording
from pliant.language.source import SET_FILE
from pliant.robot.reader import load, load_text
from pliant.robot.robot import RobotSpec
from pliant.robot.rod_switch import with_rod_model

RESULT_ENDING = ".nc"


def load_model(model: str, choices: ModelOptions) -> RobotSpec:
    """Load the robot of a command, with the requested rod models; raises SpecError with all faults."""
    given = read_settings(choices.set)
    try:
        spec = load(model, variant=choices.variant, set=given, folders=choices.folder or ())
    except SpecError as error:
        if all(fault.file == SET_FILE or (fault.file is None and given) for fault in error.faults):
            raise SpecError(error.faults, "--set") from None  # the faults are in the options, not in the file
        raise
    for remark in spec.remarks:
        say_once(str(remark))
    for choice in choices.rod or ():
        name, equals, kind = choice.partition("=")
        if not equals or not name.strip() or not kind.strip():
            raise CommandError(f"cannot read --rod {choice!r}", "write --rod arm=cosserat:10")
        try:
            spec = with_rod_model(spec, name.strip(), kind.strip())
        except ArgumentError as reason:
            raise CommandError(f"--rod {choice}: {reason.message}", reason.hint) from None
    return spec


def read_settings(
    settings: Sequence[str] | None, option: str = "--set", example: str = '"length=30 cm"'
) -> dict[str, float | str]:
    """`NAME=VALUE` options as a mapping; a value is a number, a number with a unit, or =expression."""
    found: dict[str, float | str] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise CommandError(f"cannot read {option} {setting!r}", f"write {option} {example}")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            found[name.strip()] = value.strip()
    return found


def read_value(eqs: Equations, name: str, text: str) -> float:
    """The value [SI] of a text: a number in SI units, or a number with a unit of the parameter's dimension."""
    environment = eqs.model.environment
    try:
        expected = environment.dimension(name)
        known, _ = parameter_dimensions(eqs.model.spec.parameters)
        problem = None if expected is None else wrong_dimension(to_node(text), expected, known)
        if problem is None:
            return float(environment.value(text))
    except ExpressionError as reason:
        raise CommandError(f"cannot read {text!r} for '{name}': {reason}") from None
    raise CommandError(f"{name} = {text}: {problem[0]}", problem[1])


def read_inputs(eqs: Equations, settings: Sequence[str] | None) -> dict[str, Any]:
    """Values of `--input` as analyses accept them: numbers, texts with units, expressions of t, or columns of recordings."""
    found: dict[str, Any] = {}
    for setting in settings or ():
        name, equals, value = (word.strip() for word in setting.partition("="))
        if setting.lower().endswith((*READERS, *WORKBOOKS)):
            file = value if equals else name
            given: dict[str, Any] = {**recorded_inputs(eqs.model, read_recording(file))}
            if equals and name in eqs.inputs and name not in given:
                raise CommandError(f"{file} has no column '{name}'", f"it has columns of {', '.join(given)}")
            given = {name: given.get(name)} if equals else given
        else:
            given = {**read_settings([setting], "--input", '"p1=20 kPa" or a file such as run.csv')}
        given = expanded_inputs(eqs.model, given)
        check_names("input", list(given), eqs.inputs)
        found |= given
    return found


def with_inputs(
    eqs: Equations, settings: Sequence[str] | None, *, begin: float = 0.0, end: float | None = None,
    free: Collection[str] = (),
) -> Equations:  # fmt: skip
    """The equations with the values of `--input`.

    begin, end: span over which functions of time are evaluated [s]; without an end, inputs have their values at `begin`.
    free: parameters that the command varies; inputs are evaluated once, so they must not depend on these parameters.
    """
    if not settings:
        return eqs

    def bound() -> Equations:
        given = read_inputs(eqs, settings)
        for name, value in given.items():
            if isinstance(value, str) and (used := names_in(value) & set(free)):
                raise CommandError(
                    f"the input '{name}' depends on the parameter '{min(used)}', which varies here",
                    "write the dependence into the model instead",
                )
        if end is None or not end > begin:
            return eqs.at(inputs=inputs_at_time(eqs, given, None, begin))
        return eqs.at(inputs=inputs_over_time(eqs, given, None, begin, end))

    return answering(bound)


@dataclass(frozen=True)
class ModelArgument:
    """A robot with its equations, and a run of it if one was given."""

    spec: RobotSpec
    equations: Equations
    run: Result | None = None


def open_subject(what: str, choices: ModelOptions) -> ModelArgument:
    """Open a model or a result; a result contains its model, so options of models are rejected for it."""
    if not what.endswith(RESULT_ENDING):
        spec = load_model(what, choices)
        return ModelArgument(spec, derive(spec))
    if any(vars(choices).values()):
        raise CommandError(f"{what} is a result and contains its model", "omit --set, --variant, --folder and --rod")
    run = answering(lambda: load_result(what))
    spec = load_text(run.recorded.attributes["model_text"])
    return ModelArgument(spec, derive(spec), run)
