"""The folder of a sweep: a manifest of the request, the cases, and a journal of finished cases.

manifest.json   the model (text and checksum of each structure), versions, what varies, samples and seed, analysis and options
cases.json      names and values of all cases
runs.journal    outcomes, one record for each finished case
results.nc      everything as netCDF, written when a sweep ends
lock            held by the process that works here
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.analysis.numerics.netcdf_files import ResultFileError
from pliant.analysis.numerics.versions import versions
from pliant.engine.compiling import lock_file
from pliant.language.arguments import ArgumentError, file_name
from pliant.language.files import write_whole
from pliant.study.case_results import CaseResults
from pliant.study.folder_layout import LayoutProblem, check_request, read_json
from pliant.study.journal import Journal, records

if TYPE_CHECKING:
    import xarray

    from pliant.study.many import Study

FORMAT = "pliant-sweep-1"
MANIFEST, CASES, JOURNAL, LOCK, RESULTS = "manifest.json", "cases.json", "runs.journal", "lock", "results.nc"


@dataclass(frozen=True)
class SweepFolder:
    """A folder with a sweep, for reading."""

    path: Path
    manifest: Mapping[str, Any]
    rows: tuple[dict[str, Any], ...]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> SweepFolder:
        """The sweep of a folder. Raises ResultFileError if there is none."""
        path = file_name("folder", folder)
        if not (path / MANIFEST).exists():
            raise ResultFileError(f"{path} contains no sweep: it has no {MANIFEST}")
        manifest, table = (read_json(path / name) for name in (MANIFEST, CASES))
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ResultFileError(f"{path} contains a sweep of another version of pliant")
        if manifest.get("sha256") != _seal(manifest, table):
            raise ResultFileError(f"the sweep in {path} is damaged: the checksum of {MANIFEST} and {CASES} differs")
        try:
            check_request(manifest, table)
        except LayoutProblem as problem:
            raise ResultFileError(f"{path} does not contain a sweep of this program: {problem}") from None
        names = table["names"]
        rows = tuple({n: x for n, x in zip(names, row, strict=True) if x is not None} for row in table["rows"])
        return cls(path, manifest, rows)

    def gathered(self) -> CaseResults:
        """The outcomes so far."""
        found = CaseResults(len(self.rows))
        labels = [item["labels"] for item in self.manifest["structures"]]
        if (self.path / JOURNAL).exists():
            for case, outcome, _ in records(self.path / JOURNAL):
                if not 0 <= case < len(self.rows):
                    raise ResultFileError(
                        f"{self.path / JOURNAL} is the journal of another sweep: it has a case {case}"
                    )
                try:
                    found.put(case, outcome, labels[self.manifest["which"][case]])
                except (ValueError, IndexError, TypeError):  # of arrays whose shapes do not fit
                    raise ResultFileError(
                        f"{self.path / JOURNAL} is damaged: the results of case {case} do not fit those of the others"
                    ) from None
        return found

    def dataset(self) -> xarray.Dataset:
        """The outcomes so far as one dataset; cases that are not done have the status "not run"."""
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        varied = {name: [row.get(name) for row in self.rows] for name in names}
        told = self.manifest
        attributes = {
            "model": told["model"],
            "model_text": told["structures"][0]["text"],
            "analysis": told["analysis"],
            "versions": ", ".join(f"{name} {version}" for name, version in told["versions"].items()),
        }
        return self.gathered().dataset(varied, told["units"], attributes)


def load_sweep(folder: str | os.PathLike[str]) -> xarray.Dataset:
    """Load the results of a sweep from its folder: all finished cases, whether the sweep has ended, is running or was killed."""
    return SweepFolder.open(folder).dataset()


class OpenSweep:
    """A folder that this process writes a sweep into, exclusively."""

    def __init__(
        self, folder: str | os.PathLike[str], study: Study, asked: Mapping[str, Any], units: Mapping[str, str]
    ) -> None:
        self.path = file_name("folder", folder)
        self._make_folder()
        self._lock = _Lock(self.path / LOCK)
        try:
            manifest = _manifest(study, asked, units)
            if (self.path / MANIFEST).exists():
                _refuse_other(self.path, SweepFolder.open(self.path).manifest, manifest)
            else:
                self._begin(study, manifest)
            self.journal = Journal(self.path / JOURNAL)
        except BaseException:
            self._lock.release()
            raise

    def _make_folder(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as reason:
            raise ResultFileError(f"cannot create the folder {self.path}: {reason.strerror or reason}") from None
        others = [x.name for x in self.path.iterdir() if x.name != LOCK and not x.name.startswith(".")]
        if others and MANIFEST not in others and not set(others) <= {CASES}:
            raise ResultFileError(f"the folder {self.path} contains other files ({min(others)}); choose a new one")

    def _begin(self, study: Study, manifest: Mapping[str, Any]) -> None:
        names = list(study.cases.names)
        table = {"names": names, "rows": [[_plain(row.get(name)) for name in names] for row in study.cases]}
        try:
            write_whole(self.path / CASES, json.dumps(table).encode())
            # the manifest comes last: a folder that has one is complete
            sealed = {**manifest, "sha256": _seal(manifest, table)}
            write_whole(self.path / MANIFEST, json.dumps(sealed, indent=1, ensure_ascii=False).encode())
        except OSError as reason:
            raise ResultFileError(f"cannot write into {self.path}: {reason.strerror or reason}") from None

    def close(self) -> None:
        """Release the folder."""
        self.journal.close()
        self._lock.release()


def _manifest(study: Study, asked: Mapping[str, Any], units: Mapping[str, str]) -> dict[str, Any]:
    texts = [eqs.model.text for eqs in study.structures.equations]
    return {
        "format": FORMAT,
        "model": study.structures.equations[0].model.spec.name or "robot",
        "analysis": study.analysis.name,
        **asked,
        "cases": len(study.cases),
        "cases_sha256": _checksum(repr([sorted(row.items()) for row in study.cases])),
        "versions": versions(),
        "units": dict(units),
        "structures": [
            {"text": text, "sha256": _checksum(text), "labels": {axis: _plain(list(x)) for axis, x in labels.items()}}
            for text, labels in zip(texts, study.labels, strict=True)
        ],
        "which": list(study.structures.which),
    }


def _seal(manifest: Mapping[str, Any], table: Any) -> str:
    """The checksum of the request of a sweep, as stored in its manifest."""
    stated = {name: value for name, value in manifest.items() if name != "sha256"}
    return _checksum(json.dumps([stated, table], sort_keys=True))


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if hasattr(value, "item"):
        return value.item()
    raise ArgumentError(f"a case of a sweep cannot have the value {value!r}", "give numbers and texts")


def _refuse_other(path: Path, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Reject a sweep that differs from the one in the folder."""
    pairs: list[tuple[Any, ...]] = [
        (key, there.get(key), wanted.get(key))
        for key in ("model", "analysis", "vary", "sample", "seed", "options", "keep")
    ]
    pairs += [("the model", *([x["sha256"] for x in told["structures"]] for told in (there, wanted)))]
    pairs += [("cases", there.get("cases_sha256"), wanted.get("cases_sha256"))]
    pairs += [("the version of pliant", *(told["versions"]["pliant"] for told in (there, wanted)))]
    for name, old, new in pairs:
        if json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True):
            short = name.startswith("the ") or name == "cases"
            what = f"{name} differs" if short else f"its {name} is {json.dumps(old)}, not {json.dumps(new)}"
            raise ResultFileError(
                f"{path} contains another sweep: {what}. Use the command that started it, or choose another folder"
            )


class _Lock:
    """Locks a folder for the lifetime of this process."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as reason:
            raise ResultFileError(f"cannot write into {path.parent}: {reason.strerror or reason}") from None
        if not lock_file(self._file):
            os.close(self._file)
            raise ResultFileError(f"another sweep is running in {path.parent}; wait for it, or choose another folder")

    def release(self) -> None:
        """Release the lock."""
        os.close(self._file)
