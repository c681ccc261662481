"""Results read back from disk, and as tables for other programs."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pliant.language.files import write_whole
from pliant.solve.contents import Contents
from pliant.solve.netcdf_files import FORMAT, PATH_FORMAT, ResultFileError, load_dataset
from pliant.solve.result import Result, Timing
from pliant.solve.statics.path import Path as StaticPath
from pliant.solve.status import Status


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    dataset = load_dataset(path, FORMAT)
    about = dataset.attrs
    return Result(Status(about["status"]), about["message"], _timing(about), about["method"], Contents.of(dataset))


def load_path(file: str | os.PathLike[str]) -> StaticPath:
    """Read a static path that `Path.save` wrote."""
    dataset = load_dataset(file, PATH_FORMAT)
    about = dataset.attrs
    warnings = tuple(json.loads(about["warnings"]))
    return StaticPath(Status(about["status"]), about["message"], dataset, _timing(about), warnings)


def _timing(attributes: Mapping[str, str]) -> Timing:
    return Timing(**json.loads(attributes["timing"]))


def write_csv(result: Result, path: str | os.PathLike[str]) -> None:
    """Write time, coordinates, energies, named outputs and inputs (`input.NAME`) as a CSV table (all or nothing)."""
    target = Path(path)
    data = result.dataset
    columns: dict[str, Any] = {"time_s": data["time"].values}
    for name in map(str, data["coordinate"].values):
        columns[name] = data["q"].sel(coordinate=name).values
    for name in result.energy_names:
        columns[f"{name}_J"] = data[name].values
    for name in result.output_names:
        values = data[f"output.{name}"].values
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
