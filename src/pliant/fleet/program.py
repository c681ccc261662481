"""Programs of fleets: one robot's functions written as straight-line C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pliant.analysis.integrators import Method
from pliant.engine.c_code import CFunction, straight_line
from pliant.engine.equations import Equations
from pliant.engine.model.inputs import SERIES
from pliant.fleet.methods import STEPS, Part, step_parts
from pliant.fleet.robot import Robot
from pliant.fleet.source import Program
from pliant.language.arguments import ArgumentError


@dataclass(frozen=True)
class Most:
    """Sizes of robots above which straight-line code is too long."""

    operations: int = 120_000
    """Of one function: compilers take minutes for more."""
    frames: int = 80
    rates: int = 50


MOST = Most()


class TooLong(ArgumentError):
    """A robot whose straight-line code would be too long."""


def why_no_straight_line(eqs: Equations, method: Method) -> str:
    """Why this robot and method have no straight-line code; empty if they have."""
    system = eqs.model.system
    if type(method) not in STEPS:
        return f"the method '{method.name}' has no straight-line code"
    if system.contacts.laws:
        return "this robot has contacts"
    if any(kind == SERIES for kind in eqs.binding.input_kind):
        return "an input of this robot follows a recording"
    for what, size, most in (("frames", len(system.nodes), MOST.frames), ("rates", system.v_size, MOST.rates)):
        if size > most:
            return f"this robot has {size} {what}, and straight-line code supports at most {most}"
    return ""


def step_program(robot: Robot, method: Method) -> Program:
    """The program that advances robots by a method."""
    name, parts = step_parts(robot, method)
    sizes = {}
    for each in parts:
        if each.name == "robot_linear":
            sizes = {
                f"N_{x.upper()}": str(each.function.numel_out(each.results.index(x)))
                for x in ("factors", "M", "C", "J", "L")
            }
    return _program(robot, parts, {name: "", "WITH_STEPS": "", **sizes})


def value_program(robot: Robot, parts: Sequence[Part], size: int) -> Program:
    """The program that evaluates functions of states; all but the last compute their arguments."""
    needs = {"WITH_ACCELERATIONS": ""} if len(parts) > 1 else {}
    return _program(robot, parts, {"WITH_VALUES": "", "N_VALUES": str(size), **needs})


def _program(robot: Robot, parts: Sequence[Part], macros: Mapping[str, str]) -> Program:
    written: dict[str, CFunction] = {}
    for each in parts:
        _refuse_long(each)
        written[each.name] = straight_line(each.function, each.name, each.arguments, each.results)
    sizes = {"NQ": robot.nq, "NV": robot.nv, "NU": robot.nu, "NC": robot.nc, "NM": robot.m}
    return Program(
        "\n".join(function.text for function in written.values()),
        {**{name: str(size) for name, size in sizes.items()}, **macros},
        {name: function.operations for name, function in written.items()},
    )


def _refuse_long(each: Part) -> None:
    count = each.function.n_instructions()
    if count > MOST.operations:
        what = (
            "the derivatives that an implicit step needs" if each.name != "robot_forward" else "the equations of motion"
        )
        raise TooLong(
            f"{what} of this robot have {count} operations in straight-line code, more than {MOST.operations}"
        )
