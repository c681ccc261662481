"""Base of all targets: options, checks of files and folders, the result of an export, and the public function of a target."""

import inspect
import os
import re
import secrets
import shutil
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol, Self, TypeVar
from xml.sax.saxutils import quoteattr

import numpy as np
from pydantic import StrictBool, ValidationError

from pliant.engine.equations import need_equations
from pliant.io.c_text import ExportError
from pliant.language.arguments import ArgumentError, file_name, known_keywords
from pliant.language.base import Part, read_errors
from pliant.language.files import write_whole


@dataclass(frozen=True)
class Export:
    """What an export has written.

    Attributes:
        path: the file or the folder.
        files: all files written.
        remarks: what is approximated or omitted, and limits of what was written, one sentence each; empty for an exact copy.
    """

    path: Path
    files: tuple[Path, ...]
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        return f"{len(self.files)} files in {self.path}; README.txt there explains how to build them"

    def facts(self) -> dict[str, Any]:
        """Further results by name, for `--json`."""
        return {}


class Target(Part):
    """A format that robots are written in.

    A subclass is everything about a target: its docstring is its section of the documentation; its fields, each with a docstring,
    are the keywords of its Python function and the options of the command; `write` writes. `exporter` makes its function, whose
    line among the public names of the package (`export_...`) registers the target.
    """

    name: ClassVar[str] = ""
    """Name of the option of the command, and of the function: `export_` and this name."""
    title: ClassVar[str] = ""
    """Name of the format in texts."""
    summary: ClassVar[str] = ""
    """Help of its option: what is written."""
    suffix: ClassVar[str] = ""
    """End of the names of its files; empty for a folder."""
    flags: ClassVar[Mapping[str, str]] = {}
    """Options of the command that are not called `--` and the name of the field."""
    omits: ClassVar[str] = ""
    """What the format cannot express, for the table of targets."""
    forms: ClassVar[Mapping[str, str]] = {}
    """What becomes of the parts of a robot, for the documentation."""
    of_motions: ClassVar[bool] = False
    """Whether motions (saved results) are written too, not only robots."""
    warns: ClassVar[bool] = False
    """Whether the Python function repeats the remarks as warnings: for those that concern accuracy, not what the format lacks."""

    @abstractmethod
    def write(self, robot: Any, path: Path) -> Export:
        """Write a robot (or a motion) to a path that was checked, and return what was written.

        Raises ExportError if the robot cannot be written.
        """

    @classmethod
    def of(cls, options: Mapping[str, Any], shown: Callable[[str], str] = str) -> Self:
        """The target with these options; raises ArgumentError for wrong ones. shown: an option's name in messages."""
        try:
            return cls(**options)
        except ValidationError as error:
            path, message, hint = next(iter(read_errors(error)))
            raise ArgumentError(f"{shown(str(path[0]))}: {message}", hint) from None

    @classmethod
    def documentation(cls) -> str:
        """Its description, and that of each option."""
        options = [f"{name}: {' '.join(text.split())}" for name, text in cls.field_texts().items()]
        return "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", *options])

    def export(self, robot: Any, path: str | os.PathLike[str]) -> Export:
        """Check a robot and a path, and write. Raises ExportError and ArgumentError."""
        if not self.of_motions:
            need_equations(robot)
        place = file_name("folder" if not self.suffix else "file", path)
        self.check_place(place)
        return self.write(robot, place)

    def check_place(self, place: Path) -> None:
        """Reject a path that cannot be written to."""
        if place.suffix != self.suffix:
            raise ExportError(f"cannot determine the format of {str(place)!r}", f"end it in {self.suffix}")
        if place.is_dir():
            raise ExportError(f"{place} is a folder", "give the name of a file")


class FolderTarget(Target):
    """A target that writes a folder of files."""

    force: StrictBool = False
    """Write into a folder that is not empty: files of the export's own names are replaced, nothing is removed."""

    def check_place(self, place: Path) -> None:
        """Reject a folder that cannot be written to, or that is not empty."""
        if place.exists() and not place.is_dir():
            raise ExportError(f"{place} is a file, not a folder", "give a folder that is new or empty")
        try:
            occupied = place.is_dir() and any(place.iterdir())
        except OSError as reason:
            raise ExportError(f"the folder {place} cannot be read: {reason.strerror}") from None
        if occupied and not self.force:
            raise ExportError(
                f"the folder {place} is not empty",
                "give a new or empty folder, or use --force (force=True) to replace the export's own files in it",
            )


# -- files -----------------------------------------------------------------------------------------------------------


def write_file(file: Path, content: bytes) -> None:
    """Write a file whole or not at all; raises ExportError if that is impossible."""
    try:
        write_whole(file, content)
    except OSError as reason:
        raise ExportError(f"cannot write {file}: {reason.strerror or reason}", "choose another place") from reason


def write_files(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Write all files; each file appears complete or not at all, and a new folder only with all files."""
    try:
        if folder.exists():
            _write_each(folder, files)
        else:
            folder.parent.mkdir(parents=True, exist_ok=True)
            building = folder.with_name(f".{folder.name}-{secrets.token_hex(6)}")  # a unique name
            building.mkdir()
            try:
                _write_each(building, files)
                building.rename(folder)
            except BaseException:
                shutil.rmtree(building, ignore_errors=True)
                raise
    except OSError as reason:
        where = reason.filename2 or reason.filename or folder
        raise ExportError(
            f"cannot write {where}: {reason.strerror or reason}", "choose a folder with write permission and free space"
        ) from reason
    return tuple(folder / file for file in files)


def _write_each(folder: Path, files: Mapping[str, str]) -> None:
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        write_whole(path, text.encode())


# -- the function of a target ----------------------------------------------------------------------------------------

Options = ParamSpec("Options")
Robot = TypeVar("Robot", contravariant=True)
Written = TypeVar("Written", bound=Export, covariant=True)


class Writes(Protocol[Robot, Written]):
    """A target, by the types of what it writes and returns."""

    def write(self, robot: Robot, path: Path) -> Written:
        """Write a robot."""


def exporter(
    target: Callable[Options, Writes[Robot, Written]],
) -> Callable[Concatenate[Robot, str | os.PathLike[str], Options], Written]:
    """The public function of a target: `export_c(eqs, folder, ...)`. Its keywords, their types and its documentation are those of
    the class."""
    assert isinstance(target, type)
    assert issubclass(target, Target)
    kind: type[Target] = target
    place = "file" if kind.suffix else "folder"
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.annotation)
        for name, field in kind.model_fields.items()
    ]
    both = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("eqs", place)]
    signature = inspect.Signature([*both, *keywords])

    def export(*arguments: Any, **options: Any) -> Any:
        given = signature.bind(*arguments, **options).arguments
        robot, path = given.pop("eqs"), given.pop(place)
        done = kind.of(given).export(robot, path)
        for remark in done.remarks if kind.warns else ():
            warnings.warn(remark, stacklevel=3)
        return done

    export.__name__ = export.__qualname__ = f"export_{kind.name}"
    export.__module__ = kind.__module__
    export.__doc__ = kind.documentation()
    export.__signature__ = signature  # type: ignore[attr-defined]
    export.target = kind  # type: ignore[attr-defined]
    return known_keywords(export)


_NOT_XML = re.compile("[^\\t\\n\\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def valid(text: str) -> str:
    """Text with a space in the place of control characters, which XML cannot contain."""
    return _NOT_XML.sub(" ", text)


class XmlText:
    """Lines of a document; elements are opened and closed in turn."""

    def __init__(self) -> None:
        self._lines = ['<?xml version="1.0" encoding="utf-8"?>']
        self._open: list[str] = []

    def comment(self, lines: Iterable[str]) -> None:
        """A comment with any characters."""
        text = [self._safe(line) for line in lines]
        self._line("<!--")
        self._lines += [f"{'  ' * len(self._open)}  {line}" for line in text]
        self._line("-->")

    def open(self, tag: str, attributes: Mapping[str, Any] | None = None) -> None:
        """Begin an element."""
        self._line(f"<{tag}{self._attributes(attributes)}>")
        self._open.append(tag)

    def close(self) -> None:
        """End the current element."""
        tag = self._open.pop()
        self._line(f"</{tag}>")

    def leaf(self, tag: str, attributes: Mapping[str, Any] | None = None) -> None:
        """An element without children."""
        self._line(f"<{tag}{self._attributes(attributes)}/>")

    def text(self) -> str:
        """The document."""
        assert not self._open, "an element is still open"
        return "\n".join([*self._lines, ""])

    def _line(self, text: str) -> None:
        self._lines.append("  " * len(self._open) + text)

    @staticmethod
    def _safe(text: str) -> str:
        """Text that is valid in a comment: no double dashes, no dash at its end, only valid XML characters."""
        kept = "".join(letter if letter.isprintable() else " " for letter in text)
        while "--" in kept:
            kept = kept.replace("--", "- -")
        return kept.rstrip("-")

    @staticmethod
    def _attributes(attributes: Mapping[str, Any] | None) -> str:
        given = {name: value for name, value in (attributes or {}).items() if value is not None}
        return "".join(f" {name}={quoteattr(valid(written(value)))}" for name, value in given.items())


def written(value: Any) -> str:
    """A text unchanged; numbers such that they are read back exactly, several separated by spaces."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else " " for letter in value)
    return " ".join(map(_number, np.atleast_1d(np.asarray(value, dtype=float))))


def _number(value: float) -> str:
    text = repr(float(value) + 0.0)  # no minus in front of zero
    return text.removesuffix(".0")
