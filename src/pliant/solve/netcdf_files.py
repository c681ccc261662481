"""Datasets of results as netCDF files with a format attribute."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.language.files import write_whole

if TYPE_CHECKING:
    import xarray

FORMAT = "pliant-result-1"
PATH_FORMAT = "pliant-path-1"
SLASH = "::"
"""What stands for the slash of `leg1/tip` in files: names of netCDF variables and dimensions may not contain one, and no name of a
model contains this."""


class ResultFileError(RuntimeError):
    """A result could not be written or read."""


def save_dataset(dataset: xarray.Dataset, path: str | os.PathLike[str], kind: str) -> None:
    """Write a dataset as netCDF. The file appears complete or not at all; an older one is replaced only then."""
    target = Path(path)
    # made in memory first: the HDF5 library does not survive a disk that fills up under it
    with _by_this_thread():
        content = _renamed(dataset, "/", SLASH).assign_attrs(format=kind).to_netcdf(engine="h5netcdf")
    try:
        write_whole(target, content)
    except OSError as reason:
        raise ResultFileError(
            f"cannot write {target}: {reason.strerror or reason}. An earlier file of that name is unchanged; choose "
            "another place or free some space."
        ) from None


def _by_this_thread() -> AbstractContextManager[Any]:
    """Keep xarray from asking a Dask cluster for locks, which it does where a client of one exists; nothing here is Dask's."""
    dask = sys.modules.get("dask")
    return nullcontext() if dask is None else dask.config.set(scheduler="synchronous")


def load_dataset(path: str | os.PathLike[str], expected: str) -> xarray.Dataset:
    """Read a dataset that `save_dataset` wrote as this kind."""
    import xarray

    source = Path(path)
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
    for name in (
        "coordinate",
        "rate",
        "frame",
        "constraint",
        "input",
        "axis",
        "quaternion_part",
        "contact_name",
        "thing",
    ):
        if name in dataset.coords:
            dataset = dataset.assign_coords({name: [str(x) for x in dataset[name].values]})
    return _renamed(dataset, SLASH, "/")


def _renamed(dataset: xarray.Dataset, old: str, new: str) -> xarray.Dataset:
    """The dataset with `old` replaced by `new` in the names of variables and dimensions; what they hold stays as it is."""
    names = {str(name) for name in (*dataset.variables, *dataset.dims)}
    return dataset.rename({name: name.replace(old, new) for name in names if old in name})
