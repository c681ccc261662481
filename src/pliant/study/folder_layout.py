"""Contents of the files of a sweep: what is read from them is checked first, because a folder may be damaged, or untrusted.

A checksum detects accidents only; an untrusted folder may have a valid one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue, ValidationError

from pliant.analysis.numerics.netcdf_files import ResultFileError


def _no_control_characters(name: str) -> str:
    if not name.isprintable():
        raise ValueError("a name contains control characters")
    return name


Name = Annotated[str, AfterValidator(_no_control_characters)]
"""A text that tables show."""


class _Content(BaseModel):
    model_config = ConfigDict(strict=True)


class Structure(_Content):
    """A model, as text with its checksum, and the labels of the axes of its results."""

    text: str
    sha256: str
    labels: dict[Name, list[Name | float]]


class Manifest(_Content):
    """The request of a sweep; `which`: the structure of each case."""

    format: str
    sha256: str
    model: Name
    analysis: Name
    vary: dict[Name, JsonValue]
    sample: str | None
    seed: int
    options: dict[Name, JsonValue]
    keep: list[Name] | None
    cases: int
    cases_sha256: str
    versions: dict[Name, Name]
    units: dict[Name, Name]
    structures: list[Structure]
    which: list[int]


class CaseTable(_Content):
    """Values of all cases: one row for each, in the order of the names."""

    names: list[Name]
    rows: list[list[JsonValue]]


class Record(_Content):
    """The outcome of a case, without its numbers: of each array, the axes and the shape."""

    case: int
    status: Name
    message: str
    arrays: dict[Name, tuple[list[Name], list[int]]]
    labels: dict[Name, list[Name | float]]


class LayoutProblem(ValueError):
    """Contents that are not those of a sweep."""


def read_json(path: Path) -> Any:
    """The content of a file. Raises ResultFileError if there is none: no pipe or device is opened."""
    if not path.is_file():
        raise ResultFileError(f"cannot read {path}: {'it is not a file' if path.exists() else 'there is no such file'}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as reason:
        raise ResultFileError(f"cannot read {path}: {reason.strerror or reason}") from None
    except (ValueError, RecursionError):
        raise ResultFileError(f"{path} is damaged: it is not JSON") from None


def check_request(manifest: Any, table: Any) -> None:
    """Check the types of a manifest and of the table of its cases, and that they belong together; raises LayoutProblem."""
    with _in_words():
        Manifest.model_validate(manifest)
        CaseTable.model_validate(table)
    count, structures = len(table["rows"]), len(manifest["structures"])
    if manifest["cases"] != count or len(manifest["which"]) != count:
        raise LayoutProblem("the numbers of its cases differ")
    if any(len(row) != len(table["names"]) for row in table["rows"]):
        raise LayoutProblem("a case has too many or too few values")
    if not structures or not all(0 <= which < structures for which in manifest["which"]):
        raise LayoutProblem("a case has no structure")


def read_record(text: bytes) -> Record:
    """The record of a case; raises LayoutProblem."""
    with _in_words():
        record = Record.model_validate_json(text)
    for axes, shape in record.arrays.values():
        if len(axes) != len(shape) or len(set(axes)) != len(axes) or min(shape, default=0) < 0:
            raise LayoutProblem("the shape of an array does not fit its axes")
    return record


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"][:2])) or "its content"
        raise LayoutProblem(f"{place}: {first['msg']}") from None
