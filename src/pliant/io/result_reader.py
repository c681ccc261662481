"""Results read from netCDF files that may be damaged, old, or malicious.

A file is read only after its checksum was compared (`pliant.analysis.numerics.netcdf_files`). Then its content must be what
Pliant writes:
arrays of numbers and labels with known names, on known axes, whose bytes are in this file without compression. So nothing larger
than the file is allocated, no other file is opened, and no filter runs. Files of layout 1 have no checksum; HDF5 first reads them
in a separate process, which is terminated if it hangs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lazy_loader
import numpy as np

from pliant.analysis.numerics.labelled_arrays import LabelledArrays, Variable
from pliant.analysis.numerics.netcdf_files import SLASH, ResultFileError, has_checksum, partial_path
from pliant.io.result_layouts import ABOUT, LAYOUTS, Layout, LayoutError
from pliant.language.arguments import file_name

if TYPE_CHECKING:
    import h5py
else:
    h5py = lazy_loader.load(
        "h5py"
    )  # importing it takes as long as reading a small file, and commands import this module

MOST_NAMES = 100_000
"""Maximum number of variables and axes in a file."""
READ_AT_ONCE = 1 << 30
"""Maximum number of bytes for reading labels at a time, if each were as long as the file."""
OLD_FILE_SECONDS = 60.0
"""Time limit for reading a file without a checksum [s]."""

AXES = "DIMENSION_LIST"
"""Attribute of a dataset with references to the scales of its axes."""
NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"
UNREADABLE = (
    OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RuntimeError, OverflowError, MemoryError,
    NotImplementedError,
)  # fmt: skip
"""Exceptions raised by HDF5 and h5py for invalid files."""


def read_file(path: str | os.PathLike[str], *kinds: str) -> LabelledArrays:
    """The content of a file written by `save_dataset` as one of these types ("result", "path" or "analysis"), in this layout or an
    older one."""
    source = file_name("the file of a result", path)
    if not source.is_file():
        raise ResultFileError(_not_there(source))
    try:
        checked = has_checksum(source)
        if not checked:
            _try_apart(source, kinds[0])
    except OSError as reason:
        raise ResultFileError(f"cannot read {source}: {reason.strerror or reason}") from None
    return _read(source, kinds, checked=checked)


def _not_there(source: Path) -> str:
    if source.exists():
        return f"{source} is not a file"
    if partial_path(source).is_file():
        return (
            f"there is no file {source}, but {partial_path(source)} contains the results of a run that did not finish"
        )
    return f"there is no file {source}"


def _read(source: Path, kinds: Sequence[str], *, checked: bool) -> LabelledArrays:
    """Read a file whose checksum was compared, or of a layout that has none."""
    try:
        with h5py.File(source, "r") as file:
            layout = _layout(_attribute(file, "format"), kinds, checked=checked)
            return _Reader(file, layout, source.stat().st_size).read()
    except UNREADABLE as reason:
        known = isinstance(reason, LayoutError | OSError)  # messages of other errors concern this code
        words = reason if known else "its contents do not have the layout of a result"
        raise ResultFileError(f"{source} is not a readable result file: {words}") from None


def _layout(found: Any, kinds: Sequence[str], *, checked: bool) -> Layout:
    """The layout stated in a file."""
    readers = {"result": "a simulated motion", "analysis": "the result of an analysis"}
    stated, _, version = str(found).removeprefix("pliant-").rpartition("-")
    if not str(found).startswith("pliant-") or stated not in readers:
        raise LayoutError("it is a netCDF file, but not a result of this program")
    if stated not in kinds:
        raise LayoutError(f"it is {readers[stated]}: read it with load_result")
    if found not in LAYOUTS:
        raise LayoutError(f"it was written by a later version of pliant, in the layout '{found}'")
    if (int(version) > 1) != checked:
        raise LayoutError("its checksum is missing: it was written by another program, or truncated")
    return LAYOUTS[str(found)]


# -- files without a checksum -----------------------------------------------------------------------------------------------


def _try_apart(source: Path, kind: str) -> None:
    """Read a file of layout 1 in another process; raises ResultFileError if that fails or does not finish."""
    code = "import sys; from pliant.io.result_reader import try_old_file; try_old_file(*sys.argv[1:])"
    command = [sys.executable, "-P", "-c", code, str(source), kind]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=OLD_FILE_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise ResultFileError(f"{source} is damaged: the HDF5 library hangs on it") from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip() if done.returncode == 1 else ""
        raise ResultFileError(words or f"{source} is damaged: the HDF5 library crashes when it reads it")


def try_old_file(source: str, kind: str) -> None:
    """Read a file of layout 1 to test whether it is readable; ends the process with a message if it is not."""
    try:
        _read(Path(source), (kind,), checked=False)
    except ResultFileError as reason:
        print(reason, file=sys.stderr)
        raise SystemExit(1) from None


# -- contents of a file ------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads the arrays of an open file according to its layout; `size`: of the file [bytes]."""

    def __init__(self, file: h5py.File, layout: Layout, size: int) -> None:
        self.file, self.layout, self.size = file, layout, size
        self.left = size
        """Remaining bytes for arrays: all of them are in the file."""
        own = [x for x in file if isinstance(file.get(x, getlink=True), h5py.HardLink)]
        self._known = {hash(file[x].id) for x in own[:MOST_NAMES]}

    def read(self) -> LabelledArrays:
        variables: dict[str, Variable] = {}
        labels: dict[str, Variable] = {}
        for name, data in self._arrays():
            axes = self._axes(name, data)
            if not self.layout.knows(name, axes):
                raise LayoutError(f"it has an unexpected variable '{name}', or one with unexpected axes")
            about = {x: _attribute(data, x) for x in ABOUT if x in data.attrs}
            is_text = self.layout.is_text(name, h5py.check_string_dtype(data.dtype) is not None)
            read = (self._texts if is_text else self._numbers)(name, data)
            (labels if axes == (name,) else variables)[name] = axes, read, about
        attributes = {x: _attribute(self.file, x) for x in (*self.layout.attributes, "format") if x in self.file.attrs}
        self.layout.check(variables, labels, attributes)
        return LabelledArrays.of_arrays(variables, labels, attributes)

    def _arrays(self) -> Iterator[tuple[str, h5py.Dataset]]:
        """Datasets of the file by their names in models; without those that represent an axis without labels."""
        if len(self.file) > MOST_NAMES:
            raise LayoutError(f"there are {len(self.file)} variables in it")
        for name in self.file:
            if not isinstance(self.file.get(name, getlink=True), h5py.HardLink):
                raise LayoutError(f"'{name}' is a link to another place")
            data = self.file[name]
            if not isinstance(data, h5py.Dataset):
                raise LayoutError(f"'{name}' is not an array")
            if not h5py.h5ds.is_scale(data.id) or not h5py.h5ds.get_scale_name(data.id).startswith(NO_VARIABLE):
                yield name.replace(SLASH, "/"), data

    def _axes(self, name: str, data: h5py.Dataset) -> tuple[str, ...]:
        if h5py.h5ds.is_scale(data.id):
            return (name,) * data.ndim
        self._check_references(name, data)
        scales = [list(axis.values()) for axis in data.dims]
        if any(len(found) != 1 for found in scales):
            raise LayoutError(f"the axes of '{name}' have no names")
        for axis, (scale,) in enumerate(scales):
            if scale.shape != data.shape[axis : axis + 1]:
                raise LayoutError(f"'{name}' does not have the length of its axis")
        return tuple(str(scale.name).removeprefix("/").replace(SLASH, "/") for (scale,) in scales)

    def _check_references(self, name: str, data: h5py.Dataset) -> None:
        """Check that axes exist: the HDF5 library crashes if a scale has been removed from the file."""
        listed = np.asarray(data.attrs.get(AXES, ()), dtype=object)
        if listed.shape[:1] != (data.ndim,) or any(np.size(entry) != 1 for entry in listed):
            raise LayoutError(f"the axes of '{name}' have no names")
        for entry in listed:
            reference = np.asarray(entry, dtype=object).item()
            if (
                not isinstance(reference, h5py.Reference)
                or not reference
                or hash(self.file[reference].id) not in self._known
            ):
                raise LayoutError(f"the axes of '{name}' are missing")

    def _numbers(self, name: str, data: h5py.Dataset) -> np.ndarray:
        self._take(name, data, data.dtype.itemsize)
        if data.dtype.kind not in "fi" or data.dtype.itemsize > 8:
            raise LayoutError(f"'{name}' holds {data.dtype}, not numbers")
        return np.asarray(data[()], dtype=float if data.dtype.kind == "f" else int)

    def _texts(self, name: str, data: h5py.Dataset) -> np.ndarray:
        self._take(name, data, data.id.get_type().get_size())
        if h5py.check_string_dtype(data.dtype) is None:
            raise LayoutError(f"'{name}' holds {data.dtype}, not text")
        # each text may claim the length of the file, and refer to the same bytes as the others
        texts: list[str] = []
        step, letters = max(1, READ_AT_ONCE // self.size), 0
        for begin in range(0, len(data), step):
            texts += [x.decode() for x in data[begin : begin + step]]
            letters += sum(map(len, texts[begin:]))
            if letters > self.size:
                raise LayoutError(f"the texts of '{name}' are longer than the file")
        return np.array(texts, dtype=np.str_)

    def _take(self, name: str, data: h5py.Dataset, item: int) -> None:
        """Check that an array is entirely in this file, without compression."""
        plan = data.id.get_create_plist()
        if data.is_virtual or plan.get_external_count() or plan.get_nfilters():
            raise LayoutError(f"'{name}' is compressed, or lies in another file")
        size = data.size * item
        self.left -= size
        if data.id.get_storage_size() < size or self.left < 0:
            raise LayoutError(f"'{name}' has {data.size} numbers, which are not all in the file")


def _attribute(thing: Any, name: str) -> Any:
    """An attribute of a file or an array: a text or a number."""
    if name not in thing.attrs:
        raise LayoutError(
            "it is a netCDF file, but not a result of this program" if name == "format" else f"'{name}' is missing"
        )
    found = thing.attrs.get_id(name)
    if found.shape not in ((), (1,)):
        raise LayoutError(f"the attribute '{name}' is not a single text or number")
    value = thing.attrs[name]
    if isinstance(value, h5py.Empty):
        return ""  # HDF5's representation of an empty text
    value = value.item() if isinstance(value, np.ndarray | np.generic) else value
    value = value.decode() if isinstance(value, bytes) else value
    if not isinstance(value, str | float | int):
        raise LayoutError(f"the attribute '{name}' is not a text or a number")
    return value
