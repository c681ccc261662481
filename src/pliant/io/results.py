"""Results read back from disk, and as tables for other programs."""

from __future__ import annotations

import csv
import io
import json
import os
import warnings
from pathlib import Path
from typing import Any, TypeVar

from pliant.io.result_reader import read_file
from pliant.language.files import write_whole
from pliant.solve.netcdf_files import ResultFileError
from pliant.solve.result import Result, Timing
from pliant.solve.statics.path import Path as StaticPath
from pliant.solve.status import Status

Kind = TypeVar("Kind", Result, StaticPath)


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` or `simulate(out=...)` wrote; one that has not come to its end is read with a warning.

    Raises ResultFileError, with the reason, where there is none or it is damaged.
    """
    read = _read(path, "result")
    return _whole(Result(**read, method=read["recorded"].attributes["method"]), path)


def load_path(file: str | os.PathLike[str]) -> StaticPath:
    """Read a static path that `Path.save` wrote; one that has not come to its end is read with a warning."""
    read = _read(file, "path")
    return _whole(StaticPath(**read, warnings=tuple(json.loads(read["recorded"].attributes["warnings"]))), file)


def _whole(found: Kind, file: str | os.PathLike[str]) -> Kind:
    """A result, with a word where it is partial."""
    if found.is_partial:
        count = f"{len(found.q)} saved {'states' if isinstance(found, Result) else 'points'}"
        warnings.warn(f"{os.fspath(file)} is partial ({count}): {found.message}", stacklevel=3)
    return found


def _read(file: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """What results of all kinds have."""
    recorded = read_file(file, kind)
    about = recorded.attributes
    timing = Timing(**json.loads(about["timing"]))
    return {"status": Status(about["status"]), "message": about["message"], "recorded": recorded, "timing": timing}


def write_csv(result: Result, path: str | os.PathLike[str]) -> None:
    """Write time, coordinates, energies, named outputs and inputs (`input.NAME`) as a CSV table (all or nothing)."""
    target = Path(path)
    data = result.recorded
    columns: dict[str, Any] = {"time_s": result.time}
    columns.update({name: result.q[:, k] for k, name in enumerate(data.names("coordinate"))})
    columns.update({f"{name}_J": data[name] for name in result.energy_names})
    for name in result.output_names:
        values = data[f"output.{name}"]
        if values.ndim == 1:
            columns[name] = values
        else:
            columns.update({f"{name}.{k}": values[:, k] for k in range(values.shape[1])})
    columns.update({f"input.{name}": values for name, values in result.inputs.items()})
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    try:
        write_whole(target, text.getvalue().encode())
    except OSError as reason:
        raise ResultFileError(f"cannot write {target}: {reason.strerror or reason}") from None
