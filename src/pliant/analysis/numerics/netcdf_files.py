"""Datasets of results as netCDF files, each with a format attribute and a checksum.

The attribute `format` names the kind of file and the version of its layout (`pliant-result-2`). The last 80 bytes of a file are a
line of text with the SHA-256 of all bytes before it. They lie behind the end that HDF5's own head states, so HDF5, and with it
netCDF and xarray, reads the file as if they were not there. HDF5 itself does not notice most damage, and one wrong byte among its
tables can make it loop forever; so Pliant compares the checksum before HDF5 sees a file. A checksum finds accidents, not intent.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.language.arguments import file_name
from pliant.language.files import write_whole

if TYPE_CHECKING:
    import xarray

FORMAT = "pliant-result-2"
SLASH = "::"
"""Replacement of the slash of `leg1/tip` in files: names of netCDF variables and dimensions must not contain a slash, and names of
models do not contain this text."""

LINE_BEGIN = b"\npliant sha256 "
LINE_SIZE = len(LINE_BEGIN) + 64 + 1


class ResultFileError(RuntimeError):
    """A result could not be written or read."""


def load_writer() -> None:
    """Import the packages that write files. Ctrl-C within an import leaves them unusable, so analyses whose results are saved after
    Ctrl-C import them first."""
    import_module("h5netcdf")


def save_dataset(dataset: xarray.Dataset, path: str | os.PathLike[str], kind: str) -> None:
    """Write a dataset as netCDF. The file appears complete or not at all; an older one is replaced only then."""
    target = file_name("path", path)
    # created in memory first: the HDF5 library crashes if the disk is full
    with _by_this_thread():
        content = _without_slashes(dataset).assign_attrs(format=kind).to_netcdf(engine="h5netcdf")
    try:
        write_whole(target, content, _line(hashlib.sha256(content)))
    except OSError as reason:
        raise ResultFileError(
            f"cannot write {target}: {reason.strerror or reason}. An earlier file of that name is unchanged; choose "
            "another place or free some space."
        ) from None


def partial_path(path: str | os.PathLike[str]) -> Path:
    """The file of an incomplete result: `run.partial.nc` for `run.nc`."""
    whole = Path(path)
    return whole.with_name(f"{whole.stem}.partial{whole.suffix}")


def compare_checksum(path: Path) -> None:
    """Raise ResultFileError if a file does not end in the checksum of its content, or cannot be read."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size - LINE_SIZE
            is_whole = size > 0 and _line(_checksum(file, size)) == file.read()
    except OSError as reason:
        raise ResultFileError(f"cannot read {path}: {reason.strerror or reason}") from None
    if not is_whole:
        raise ResultFileError(
            f"{path} is not a result of this program, or it is damaged: its checksum is missing or differs. Create it again, or "
            "use a backup."
        )


def _line(checksum: hashlib._Hash) -> bytes:
    return LINE_BEGIN + checksum.hexdigest().encode() + b"\n"


def _checksum(file: Any, size: int) -> hashlib._Hash:
    """SHA-256 of the next `size` bytes of a file."""
    found = hashlib.sha256()
    while size > 0 and (piece := file.read(min(size, 1 << 20))):
        found.update(piece)
        size -= len(piece)
    return found


def _by_this_thread() -> AbstractContextManager[Any]:
    """Prevent xarray from requesting locks from a Dask cluster, which it does if a client exists; nothing here uses Dask."""
    dask = sys.modules.get("dask")
    return nullcontext() if dask is None else dask.config.set(scheduler="synchronous")


def _without_slashes(dataset: xarray.Dataset) -> xarray.Dataset:
    """The dataset with the names of variables and dimensions used in files; the contents are unchanged."""
    names = {str(name) for name in (*dataset.variables, *dataset.dims)}
    return dataset.rename({name: name.replace("/", SLASH) for name in names if "/" in name})
