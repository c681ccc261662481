"""Results read back from disk: netCDF files whose checksum is right, so that Pliant wrote them as they are."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from pliant.analysis.base import analysis
from pliant.analysis.derivation.derive import derive
from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.labelled_arrays import LabelledArrays, Variable
from pliant.analysis.numerics.netcdf_files import FORMAT, SLASH, ResultFileError, compare_checksum, partial_path
from pliant.analysis.numerics.result import Timing
from pliant.analysis.numerics.status import Status
from pliant.analysis.result import FORMAT as ANALYSIS_FORMAT
from pliant.analysis.result import AnalysisResult
from pliant.language.arguments import file_name
from pliant.robot.reader import load_text


def load_result(path: str | os.PathLike[str]) -> Any:
    """Read the result of an analysis, written by its `save` or by `out=...`; an unfinished one is read with a warning.

    Raises ResultFileError, with the reason, if the file does not exist or is damaged.
    """
    source = file_name("the file of a result", path)
    if not source.is_file():
        raise ResultFileError(_not_there(source))
    compare_checksum(source)
    recorded = _read(source)
    stated = recorded.attributes.get("format")
    if stated not in (FORMAT, ANALYSIS_FORMAT):
        raise ResultFileError(f"{source} is not a result that this version of pliant reads: its format is {stated!r}")
    try:
        result = _motion(recorded) if stated == FORMAT else _of_analysis(recorded)
    except (KeyError, TypeError, ValueError) as reason:
        raise ResultFileError(f"{source} is not a readable result file: {reason}") from None
    if result.is_partial:
        saved = f" ({len(result.q)} saved states)" if isinstance(result, Result) else ""
        warnings.warn(f"{source} is partial{saved}: {result.message}", stacklevel=2)
    return result


def _not_there(source: Path) -> str:
    if source.exists():
        return f"{source} is not a file"
    partial = partial_path(source)
    unfinished = f", but {partial} contains the results of a run that did not finish" if partial.is_file() else ""
    return f"there is no file {source}{unfinished}"


def _motion(recorded: LabelledArrays) -> Result:
    """The result of a motion."""
    about = recorded.attributes
    timing, status = Timing(**json.loads(about["timing"])), Status(about["status"])
    return Result(status=status, message=about["message"], recorded=recorded, timing=timing, method=about["method"])


def _of_analysis(recorded: LabelledArrays) -> AnalysisResult:
    """The result of an analysis, with the equations of the model in its file."""
    about = recorded.attributes
    eqs = derive(load_text(about["model_text"]))
    own = {name: x for name, x in json.loads(about["parameters"]).items() if name not in eqs.model.structural}
    eqs = eqs.at(parameters=own, inputs=json.loads(about["inputs"]))
    return analysis(about["analysis"]).result.read(recorded, eqs)


# -- the file ----------------------------------------------------------------------------------------------------------

NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"


def _read(source: Path) -> LabelledArrays:
    """The content of a file written by `save_dataset`; xarray, which takes longer to import than this, is not needed."""
    import h5py

    def text_or_number(thing: Any, name: str) -> Any:
        value = thing.attrs[name]
        if isinstance(value, h5py.Empty):
            return ""  # HDF5's representation of an empty text
        return np.asarray(value).item() if np.size(value) == 1 else value

    variables: dict[str, Variable] = {}
    labels: dict[str, Variable] = {}
    with h5py.File(source, "r") as file:
        for stored, data in file.items():
            name, axes = stored.replace(SLASH, "/"), ()
            if h5py.h5ds.is_scale(data.id):
                if h5py.h5ds.get_scale_name(data.id).startswith(NO_VARIABLE):
                    continue
                axes = (name,) * data.ndim
            else:
                axes = tuple(axis[0].name.removeprefix("/").replace(SLASH, "/") for axis in data.dims)
            is_text = h5py.check_string_dtype(data.dtype) is not None
            values = data.asstr()[()].astype(np.str_) if is_text else data[()]
            if not is_text:
                values = np.asarray(values, dtype=float if values.dtype.kind == "f" else int)
            about = {x: text_or_number(data, x) for x in ("long_name", "units", "sample_dimension") if x in data.attrs}
            (labels if axes == (name,) else variables)[name] = axes, values, about
        attributes = {x: text_or_number(file, x) for x in file.attrs if not x.startswith("_NC")}
    return LabelledArrays.of_arrays(variables, labels, attributes)
