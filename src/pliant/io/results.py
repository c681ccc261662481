"""Results read back from disk."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, TypeVar

from pliant.analysis.base import analysis
from pliant.analysis.derivation.derive import derive
from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.labelled_arrays import LabelledArrays
from pliant.analysis.numerics.netcdf_files import ResultFileError
from pliant.analysis.numerics.result import Timing
from pliant.analysis.numerics.status import Status
from pliant.analysis.result import AnalysisResult
from pliant.io.result_reader import read_file
from pliant.robot.reader import load_text

Kind = TypeVar("Kind", Result, AnalysisResult)


def load_result(path: str | os.PathLike[str]) -> Any:
    """Read the result of an analysis, written by its `save` or by `out=...`; an unfinished one is read with a warning.

    Raises ResultFileError, with the reason, if the file does not exist or is damaged.
    """
    recorded = read_file(path, "result", "analysis")
    if "analysis" in recorded.attributes:
        return _whole(_of_analysis(recorded, path), path)
    read = _common(recorded)
    return _whole(Result(**read, method=recorded.attributes["method"]), path)


def _of_analysis(recorded: LabelledArrays, path: str | os.PathLike[str]) -> AnalysisResult:
    """The result of an analysis, with the equations of the model in its file."""
    about = recorded.attributes
    eqs = derive(load_text(about["model_text"]))
    own = {name: x for name, x in json.loads(about["parameters"]).items() if name not in eqs.model.structural}
    try:
        eqs = eqs.at(parameters=own, inputs=json.loads(about["inputs"]))
        return analysis(about["analysis"]).result.read(recorded, eqs)
    except (KeyError, TypeError, ValueError) as reason:
        raise ResultFileError(f"{os.fspath(path)} is not a readable result file: {reason}") from None


def _whole(found: Kind, file: str | os.PathLike[str]) -> Kind:
    """A result, with a warning if it is partial."""
    if found.is_partial:
        saved = f" ({len(found.q)} saved states)" if isinstance(found, Result) else ""
        warnings.warn(f"{os.fspath(file)} is partial{saved}: {found.message}", stacklevel=3)
    return found


def _common(recorded: LabelledArrays) -> dict[str, Any]:
    """Attributes of a motion."""
    about = recorded.attributes
    timing = Timing(**json.loads(about["timing"]))
    return {"status": Status(about["status"]), "message": about["message"], "recorded": recorded, "timing": timing}
