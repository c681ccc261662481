"""Source text of a fleet's program: one robot as straight-line C, and the code of this folder that steps it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path, PurePosixPath

from pliant.analysis.integrators import Method
from pliant.engine.c_code import CFunction, straight_line
from pliant.engine.equations import Equations
from pliant.engine.model.inputs import SERIES
from pliant.fleet.methods import STEPS, Part, step_parts
from pliant.fleet.robot import Robot
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


CODE = Path(__file__).parent / "code"


@dataclass(frozen=True)
class Program:
    """C text of one robot (`robot.h`), and the options of the program: macros by name.

    operations: number of operations of each function of the robot.
    """

    text: str
    macros: Mapping[str, str]
    operations: Mapping[str, int]

    @property
    def defines(self) -> str:
        """The macros as lines of C."""
        return "".join(f"#define {name} {value}".rstrip() + "\n" for name, value in self.macros.items())

    @property
    def robot_file(self) -> str:
        """Contents of `robot.h`."""
        return f"{self.defines}\n{self.text}"


@cache
def code_file(name: str) -> str:
    """Text of a file of the folder `code`."""
    return (CODE / name).read_text(encoding="utf-8")


def included_file(line: str) -> str | None:
    """The file that a line of C includes, empty for one of the system; None if it includes nothing."""
    if not line.replace(" ", "").startswith("#include"):
        return None
    return line.split('"')[1] if '"' in line else ""


def one_text(name: str, robot: str) -> str:
    """A file of the folder `code` with all its includes from this folder, and the text of `robot.h`, in one text."""
    lines = []
    for line in code_file(name).splitlines(keepends=True):
        file = included_file(line)
        lines.append(line if not file else robot if file == "robot.h" else one_text(file, robot))
    return "".join(lines)


# -- the exported C of a robot as one text for GPU compilers -----------------------------------------------------------

NOT_NEEDED = (
    "main.c", "whole_run.c", "tape.c", "sensitivity.c", "adjoint.c", "adjoint_pairing.c", "adjoint_steps.c", "fastest_rate.c",
    "parameter_change.c",
)  # fmt: skip
"""Files that are not needed by programs which only take steps."""
LEFT_OUT = {
    "pl_tape_free": "(x) ((void)(x))",
    "pl_tape_refreshed": "(x) ((void)(x))",
    "pl_tape_add": "(x, h) PL_OK",
    "pl_run_unfollow": "(x) ((void)(x))",
    "pl_sensitivity_step": "(x, h) PL_OK",
}
"""Functions of those files that are called by others, as macros."""
SEVERAL_TIMES = "front_numbers.h"
"""A header without include guard: one text for each precision."""
NO_FUNCTION = ("static inline ", "static const ", "typedef", "else", "return")
"""Beginnings of lines with a parenthesis that are not marked."""


def one_source(files: Mapping[str, str]) -> str:
    """The C files, by path, as one text without includes.

    Functions that are not declared inline are marked with `NOT_INLINED`: otherwise GPU compilers inline all of them, which takes
    minutes.
    """
    by_name = {PurePosixPath(path).name: text for path, text in files.items()}
    known: set[str] = set()

    def expanded(text: str) -> str:
        lines = text.splitlines(keepends=True)
        return "".join(x if (file := included_file(x)) is None else header(PurePosixPath(file).name) for x in lines)

    def header(name: str) -> str:
        if not name or (name in known and name != SEVERAL_TIMES):
            return ""
        known.add(name)
        return expanded(by_name[name])

    headers = [header(name) for name in by_name if name.endswith(".h") and name != SEVERAL_TIMES]
    sources = {name: expanded(text) for name, text in by_name.items() if name.endswith(".c") and name not in NOT_NEEDED}
    shared = Counter(name for text in (*sources.values(), "".join(headers)) for name in _private_names(text))
    parts = [*headers, *(f"#undef {name}\n#define {name}{body}" for name, body in LEFT_OUT.items())]
    for file, text in sources.items():
        names = {name for name in _private_names(text) if shared[name] > 1}
        own = _not_inlined(_renamed(text, names, file.removesuffix(".c")))
        parts += [f"/* {file} */\n{own}", *(f"#undef {name}" for name in sorted(_macros(own)))]
    return "\n".join(parts)


def _macros(text: str) -> set[str]:
    """Names of macros."""
    lines = (line.replace("# ", "#").split() for line in text.splitlines() if line.lstrip().startswith("#"))
    return {words[1].partition("(")[0] for words in lines if words[0] == "#define"}


def _private_names(text: str) -> set[str]:
    """Names that are private to a file: functions, types, constants and tables, which are declared at the beginnings of lines."""
    names: set[str] = set()
    for line in text.splitlines():
        words = line.split()
        if line.startswith(("static ", "PL_INLINE ", "PL_NOINLINE static ")):
            names.add(_last_word(line.partition("(")[0].partition(" =")[0].partition("[")[0]))
        elif line.startswith("typedef ") and line.endswith(" {"):
            names.add(words[2])
        elif line.startswith(("typedef ", "} ")) and line.endswith(";") and ")(" not in line:
            names.add(_last_word(line.partition(" __attribute__")[0]))
    for before, after in pairwise(text.split("{")):
        if before.rpartition("\n")[2].startswith(("enum ", "typedef enum ")):
            members = (x.partition("=")[0].strip() for x in _without_comments(after.partition("}")[0]).split(","))
            names.update(filter(None, members))
    return names - _macros(text)


def _last_word(text: str) -> str:
    return text.rstrip(" ;").split()[-1].lstrip("*")


def _without_comments(text: str) -> str:
    first, *rest = text.split("/*")
    return first + "".join(part.partition("*/")[2] for part in rest)


def _renamed(text: str, names: set[str], prefix: str) -> str:
    """The text with the file's name as a prefix of these names, except members of structures."""
    parts, before = [], ""
    for is_word, run in groupby(text, lambda c: c.isalnum() or c == "_"):
        part = "".join(run)
        parts.append(f"{prefix}_{part}" if is_word and part in names and before not in (".", ">", '"') else part)
        before = part[-1]
    return "".join(parts)


def _not_inlined(text: str) -> str:
    """The text with a mark before each definition of a function that is not declared inline."""
    parts, at = [], 0
    for line in text.splitlines(keepends=True):
        head = line.partition("(")[0]
        ends = [end for mark in ";{}" if (end := text.find(mark, at)) >= 0]
        is_declaration = line[0].islower() and head != line and all(c.isalnum() or c in "_ *" for c in head)
        if is_declaration and not head.startswith(NO_FUNCTION) and text[at : min(ends) + 1].endswith(") {"):
            parts.append("NOT_INLINED ")
        parts.append(line)
        at += len(line)
    return "".join(parts)
