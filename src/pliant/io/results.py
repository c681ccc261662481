"""Results read back from disk."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, TypeVar

from pliant.io.result_reader import read_file
from pliant.solve.result import Result, Timing
from pliant.solve.statics.path import Path as StaticPath
from pliant.solve.status import Status

Kind = TypeVar("Kind", Result, StaticPath)


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result written by `Result.save` or `simulate(out=...)`; an unfinished one is read with a warning.

    Raises ResultFileError, with the reason, if the file does not exist or is damaged.
    """
    read = _read(path, "result")
    return _whole(Result(**read, method=read["recorded"].attributes["method"]), path)


def load_path(file: str | os.PathLike[str]) -> StaticPath:
    """Read a path written by `Path.save`; an unfinished one is read with a warning."""
    read = _read(file, "path")
    return _whole(StaticPath(**read, warnings=tuple(json.loads(read["recorded"].attributes["warnings"]))), file)


def _whole(found: Kind, file: str | os.PathLike[str]) -> Kind:
    """A result, with a warning if it is partial."""
    if found.is_partial:
        count = f"{len(found.q)} saved {'states' if isinstance(found, Result) else 'points'}"
        warnings.warn(f"{os.fspath(file)} is partial ({count}): {found.message}", stacklevel=3)
    return found


def _read(file: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Common attributes of results of all types."""
    recorded = read_file(file, kind)
    about = recorded.attributes
    timing = Timing(**json.loads(about["timing"]))
    return {"status": Status(about["status"]), "message": about["message"], "recorded": recorded, "timing": timing}
