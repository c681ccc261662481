"""Results on disk: netCDF files that hold the model, the settings and the versions beside the motion."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pliant.solve.result import Result

FORMAT = "pliant-result-1"


class ResultFileError(RuntimeError):
    """A result could not be written or read."""


def save_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result as netCDF. The file appears complete or not at all; an older one is replaced only then."""
    target = Path(path)
    dataset = result.dataset.assign_attrs(format=FORMAT)
    handle = None
    try:
        handle, name = tempfile.mkstemp(dir=target.parent or ".", prefix=f".{target.name}.", suffix=".part")
        os.close(handle)
        dataset.to_netcdf(name, engine="h5netcdf")
        with open(name, "rb") as written:
            os.fsync(written.fileno())
        os.replace(name, target)
    except OSError as reason:
        if handle is not None:
            Path(name).unlink(missing_ok=True)
        raise ResultFileError(
            f"cannot write {target}: {reason.strerror or reason}. An earlier file of that name is unchanged; choose "
            "another place or free some space."
        ) from None
    except BaseException:
        if handle is not None:
            Path(name).unlink(missing_ok=True)
        raise


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    import xarray

    from pliant.solve.result import Result, Timing

    source = Path(path)
    if not source.exists():
        raise ResultFileError(f"there is no file {source}")
    try:
        with xarray.open_dataset(source, engine="h5netcdf") as file:
            dataset = file.load()
    except (OSError, ValueError, KeyError) as reason:
        raise ResultFileError(f"{source} is not a readable result file: {reason}") from None
    if dataset.attrs.get("format") != FORMAT:
        raise ResultFileError(f"{source} is a netCDF file, but not a result of this program")
    for name in ("coordinate", "rate", "frame", "constraint", "axis", "quaternion_part"):
        if name in dataset.coords:
            dataset = dataset.assign_coords({name: [str(x) for x in dataset[name].values]})
    attributes = dataset.attrs
    return Result(
        attributes["status"],
        attributes["message"],
        dataset,
        Timing(**json.loads(attributes["timing"])),
        attributes["method"],
        tuple(json.loads(attributes["warnings"])),
    )


def write_csv(result: Result, path: str | os.PathLike[str]) -> None:
    """Write time, coordinates, energies and named outputs as a CSV table (all or nothing)."""
    target = Path(path)
    data = result.dataset
    columns: dict[str, object] = {"time_s": data["time"].values}
    for name in map(str, data["coordinate"].values):
        columns[name] = data["q"].sel(coordinate=name).values
    for name in ("kinetic", "potential", "dissipated", "supplied"):
        columns[f"{name}_J"] = data[name].values
    for name in result.output_names:
        values = data[f"output.{name}"].values
        if values.ndim == 1:
            columns[name] = values
        else:
            columns.update({f"{name}.{k}": values[:, k] for k in range(values.shape[1])})
    handle, temporary = tempfile.mkstemp(dir=target.parent or ".", prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
