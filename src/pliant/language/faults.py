"""Faults: errors in a model, with location and suggested fix."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pliant.language.message_text import INSTANCE, KeyPath, merged_instances, printable


@dataclass(frozen=True)
class Place:
    """A line of a file (counted from 1)."""

    file: str
    line: int | None


@dataclass(frozen=True)
class Fault:
    """One error in a model.

    message: the error. hint: a suggested fix. path: location in the model (`joints.hinge.axis`). file, line: location in the
    text, with lines counted from 1; None for a model built in Python.
    """

    message: str
    hint: str = ""
    path: str = ""
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line is not None else f"{self.file}: " if self.file else ""
        path = f"{self.path}: " if self.path else ""
        return printable(place + path + self.message + (f" ({self.hint})" if self.hint else ""))

    def as_dict(self) -> dict[str, Any]:
        """The fault as plain data, for JSON."""
        order = ("file", "line", "path", "message", "hint")
        return {key: asdict(self)[key] for key in order}


def gathered(notes: Sequence[Fault], where: str = "; pliant import lists them") -> list[Fault]:
    """Notes on imported files, with equal messages of a file combined into one that states their number.

    where: text after the number, which tells where all of them are listed.
    """
    kinds: dict[tuple[str | None, str], list[Fault]] = {}
    for note in notes:
        kinds.setdefault((note.file, note.message), []).append(note)
    return [
        same[0]
        if len(same) == 1
        else replace(same[0], path="", message=f"{same[0].message} ({len(same)} times{where})")
        for same in kinds.values()
    ]


def merged_faults(faults: Sequence[Fault]) -> list[Fault]:
    """The faults in order, with those that differ only in the number of an instance of a repeated part as one."""
    kinds: dict[tuple[str | None, int | None, str], list[Fault]] = {}
    for fault in faults:
        kinds.setdefault((fault.file, fault.line, INSTANCE.sub("[]", _joined(fault))), []).append(fault)
    out = []
    for same in kinds.values():
        for text in merged_instances([_joined(fault) for fault in same]):
            path, message, hint = text.split("\0")
            out.append(replace(same[0], path=path, message=message, hint=hint))
    return out


def _joined(fault: Fault) -> str:
    return "\0".join(x.replace("\0", " ") for x in (fault.path, fault.message, fault.hint))


class SpecError(Exception):
    """A model with faults; `faults` lists all of them.

    Not a ValueError, because the schema library would treat that as a fault of a single field.
    """

    def __init__(self, faults: Sequence[Fault], model: str = "") -> None:
        self.faults = tuple(faults)
        self.model = model
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __str__(self) -> str:
        number = len(self.faults)
        head = f"{self.model or 'the model'} has {number} fault{'s' if number != 1 else ''}:"
        return "\n".join([head, *(f"  {fault}" for fault in self.faults)])


def path_text(path: KeyPath) -> str:
    """A path as text: `joints.arm.transforms[1].rotate`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


class ExpressionError(ValueError):
    """An invalid value or expression.

    `hint` suggests a fix; `name` is the unknown name, if that is the reason.
    """

    def __init__(self, message: str, hint: str = "", *, name: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.name = name
