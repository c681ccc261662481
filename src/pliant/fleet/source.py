"""Source text of a fleet's program: one robot as straight-line C, and the code of this folder that steps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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
