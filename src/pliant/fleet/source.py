"""Source text of a fleet's program: one robot as straight-line C, and the code of this folder that steps it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CODE = Path(__file__).parent / "code"

_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)


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


def one_text(name: str, robot: str) -> str:
    """A file of the folder `code` with all its includes from this folder, and the text of `robot.h`, in one text."""

    def included(match: re.Match[str]) -> str:
        return robot if match[1] == "robot.h" else one_text(match[1], robot)

    return _INCLUDE.sub(included, code_file(name))
