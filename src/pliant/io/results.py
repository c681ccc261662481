"""Results read back from disk."""

from __future__ import annotations

import json
import os
from typing import Any

from pliant.solve.labelled import Labelled
from pliant.solve.netcdf_files import FORMAT, PATH_FORMAT, load_dataset
from pliant.solve.result import Result, Timing
from pliant.solve.statics.path import Path as StaticPath
from pliant.solve.status import Status


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    read = _read(path, FORMAT)
    return Result(**read, method=read["recorded"].attributes["method"])


def load_path(file: str | os.PathLike[str]) -> StaticPath:
    """Read a static path that `Path.save` wrote."""
    read = _read(file, PATH_FORMAT)
    return StaticPath(**read, warnings=tuple(json.loads(read["recorded"].attributes["warnings"])))


def _read(file: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """What results of all kinds have."""
    recorded = Labelled.of(load_dataset(file, kind))
    about = recorded.attributes
    timing = Timing(**json.loads(about["timing"]))
    return {"status": Status(about["status"]), "message": about["message"], "recorded": recorded, "timing": timing}
