"""Results on disk: netCDF files that hold the model, the settings and the versions beside the motion."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray

    from pliant.solve.path import Path as StaticPath
    from pliant.solve.result import Result

FORMAT = "pliant-result-1"
PATH_FORMAT = "pliant-path-1"


class ResultFileError(RuntimeError):
    """A result could not be written or read."""


def save_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result as netCDF. The file appears complete or not at all; an older one is replaced only then."""
    _save(result.dataset.assign_attrs(format=FORMAT), Path(path))


def save_path(path: StaticPath, file: str | os.PathLike[str]) -> None:
    """Write a static path as netCDF. The file appears complete or not at all."""
    _save(path.dataset.assign_attrs(format=PATH_FORMAT), Path(file))


def _save(dataset: xarray.Dataset, target: Path) -> None:
    # made in memory first: the HDF5 library does not survive a disk that fills up under it
    content = dataset.to_netcdf(engine="h5netcdf")
    try:
        write_whole(target, content)
    except OSError as reason:
        raise ResultFileError(
            f"cannot write {target}: {reason.strerror or reason}. An earlier file of that name is unchanged; choose "
            "another place or free some space."
        ) from None


def write_whole(target: Path, content: bytes | memoryview) -> None:
    """Write a file so that it is complete or not there; an older one is replaced only at the end."""
    handle, name = tempfile.mkstemp(dir=target.parent or ".", prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """Permissions that an ordinary new file would get, or those of the file that is replaced."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    from pliant.solve.result import Result, Timing

    dataset = _load(Path(path), FORMAT)
    attributes = dataset.attrs
    return Result(
        attributes["status"],
        attributes["message"],
        dataset,
        Timing(**json.loads(attributes["timing"])),
        attributes["method"],
        tuple(json.loads(attributes["warnings"])),
    )


def load_path(file: str | os.PathLike[str]) -> StaticPath:
    """Read a static path that `Path.save` wrote."""
    from pliant.solve.path import Path as StaticPath
    from pliant.solve.result import Timing

    dataset = _load(Path(file), PATH_FORMAT)
    attributes = dataset.attrs
    return StaticPath(
        attributes["status"],
        attributes["message"],
        dataset,
        Timing(**json.loads(attributes["timing"])),
        tuple(json.loads(attributes["warnings"])),
    )


def _load(source: Path, expected: str) -> xarray.Dataset:
    import xarray

    if not source.exists():
        raise ResultFileError(f"there is no file {source}")
    try:
        with xarray.open_dataset(source, engine="h5netcdf") as file:
            dataset = file.load()
    except (OSError, ValueError, KeyError) as reason:
        raise ResultFileError(f"{source} is not a readable result file: {reason}") from None
    found = dataset.attrs.get("format")
    if found != expected:
        readers = {
            FORMAT: "a simulated motion: read it with load_result",
            PATH_FORMAT: "a path: read it with load_path",
        }
        word = readers.get(str(found), "a netCDF file, but not a result of this program")
        raise ResultFileError(f"{source} is {word}")
    for name in ("coordinate", "rate", "frame", "constraint", "axis", "quaternion_part"):
        if name in dataset.coords:
            dataset = dataset.assign_coords({name: [str(x) for x in dataset[name].values]})
    return dataset


def write_csv(result: Result, path: str | os.PathLike[str]) -> None:
    """Write time, coordinates, energies, named outputs and inputs (`input.NAME`) as a CSV table (all or nothing)."""
    target = Path(path)
    data = result.dataset
    columns: dict[str, Any] = {"time_s": data["time"].values}
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
    columns.update({f"input.{name}": values for name, values in result.inputs.items()})
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    try:
        write_whole(target, text.getvalue().encode())
    except OSError as reason:
        raise ResultFileError(f"cannot write {target}: {reason.strerror or reason}") from None
