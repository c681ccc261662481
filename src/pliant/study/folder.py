"""The folder of a sweep: a manifest of the request, the cases, and a journal of finished cases.

manifest.json   the model (text and checksum of each structure), versions, what varies, samples and seed, analysis and options
cases.json      names and values of all cases
runs.journal    outcomes, one record for each finished case
results.nc      everything as netCDF, written when a sweep ends
lock            held by the process that works here

Checksums detect damage. A record of the journal is written atomically as soon as its case is finished: a header (mark, sizes of its
two parts, checksum), the outcome of the case as JSON, and its numbers as in memory (little-endian, eight bytes each). An incomplete
record of a killed process is removed when the file is opened again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pliant.analysis.numerics.netcdf_files import ResultFileError
from pliant.analysis.numerics.result import versions
from pliant.engine.compiling import lock_file
from pliant.language.arguments import ArgumentError, file_name
from pliant.language.files import write_whole
from pliant.study.analyses import Outcome
from pliant.study.cases import Cases
from pliant.study.results import CaseResults
from pliant.study.structures import Structures

if TYPE_CHECKING:
    import xarray


def read_json(path: Path) -> Any:
    """The content of a file. Raises ResultFileError if there is none: no pipe or device is opened."""
    if not path.is_file():
        raise ResultFileError(f"cannot read {path}: {'it is not a file' if path.exists() else 'there is no such file'}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as reason:
        raise ResultFileError(f"cannot read {path}: {reason.strerror or reason}") from None
    except (ValueError, RecursionError):
        raise ResultFileError(f"{path} is damaged: it is not JSON") from None


_HEAD = struct.Struct("<4sIQI")
_MARK = b"plt1"
SYNC_SECONDS = 2.0
"""Interval between synchronizations to disk: at most this much is lost in a power failure."""


class Journal:
    """The file, opened for writing; `done` is the set of its cases."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: set[int] = set()
        end = 0
        if path.exists():
            for case, _, here in records(path):
                self.done.add(case)
                end = here
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            os.ftruncate(self._file, end)
            os.lseek(self._file, end, os.SEEK_SET)
        except OSError as reason:
            raise ResultFileError(f"cannot write {path}: {reason.strerror or reason}") from None
        self._end, self._synced = end, time.monotonic()

    def append(self, case: int, outcome: Outcome) -> None:
        """Write the outcome of a case. Raises ResultFileError, with the file unchanged, if the disk is full."""
        arrays = {name: (axes, np.asarray(x, dtype="<f8")) for name, (axes, x) in outcome.arrays.items()}
        about = {
            "case": case,
            "status": outcome.status,
            "message": outcome.message,
            "arrays": {name: [axes, x.shape] for name, (axes, x) in arrays.items()},
            "labels": outcome.labels,
        }
        text = json.dumps(about, ensure_ascii=False).encode()
        numbers = b"".join(x.tobytes() for _, x in arrays.values())
        record = _HEAD.pack(_MARK, len(text), len(numbers), zlib.crc32(numbers, zlib.crc32(text))) + text + numbers
        try:
            rest = memoryview(record)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as reason:
            os.ftruncate(self._file, self._end)
            os.lseek(self._file, self._end, os.SEEK_SET)
            raise ResultFileError(
                f"cannot write {self.path}: {reason.strerror or reason}. {len(self.done)} finished cases are saved; free some "
                "space and run the same command again to continue"
            ) from None
        self._end += len(record)
        self.done.add(case)
        if time.monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def close(self) -> None:
        """Synchronize everything to disk."""
        os.fsync(self._file)
        os.close(self._file)


def records(path: Path) -> Iterator[tuple[int, Outcome, int]]:
    """Numbers of cases, their outcomes, and the end of each record.

    An incomplete record at the end of the file is ignored. Damaged records before it are skipped with a warning.
    """
    if not path.is_file():
        raise ResultFileError(f"cannot read {path}: it is not a file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        at = 0
        while at < size:
            if found := _record_at(file, at, size):
                text, numbers = found
                at += _HEAD.size + len(text) + len(numbers)
                yield *_read(text, numbers), at
                continue
            begin, at = at, _next_record(file, at + 1, size)
            if at < size:
                warnings.warn(
                    f"{path} is damaged between its bytes {begin} and {at}; the cases there will be run again",
                    stacklevel=2,
                )


def _record_at(file: BinaryIO, at: int, size: int) -> tuple[bytes, bytes] | None:
    """The two parts of the record at an offset in a file of this size; None if there is no complete one."""
    file.seek(at)
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    mark, text_size, number_size, checksum = _HEAD.unpack(head)
    if mark != _MARK or at + _HEAD.size + text_size + number_size > size:
        return None
    text, numbers = file.read(text_size), file.read(number_size)
    return (text, numbers) if zlib.crc32(numbers, zlib.crc32(text)) == checksum else None


def _next_record(file: BinaryIO, at: int, size: int) -> int:
    """Offset of the next complete record; the size of the file if there is none."""
    file.seek(at)
    rest = file.read()
    place = rest.find(_MARK)
    while place >= 0:
        if _record_at(file, at + place, size):
            return at + place
        place = rest.find(_MARK, place + 1)
    return size


def _read(text: bytes, numbers: bytes) -> tuple[int, Outcome]:
    about, arrays, at = json.loads(text), {}, 0
    for name, (axes, shape) in about["arrays"].items():
        size = math.prod(shape)
        arrays[name] = tuple(axes), np.frombuffer(numbers, "<f8", size, at).reshape(shape)
        at += 8 * size
    labels: dict[str, Any] = {axis: tuple(x) for axis, x in about["labels"].items()}
    return about["case"], Outcome(about["status"], about["message"], arrays, labels)


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
        names = table["names"]
        rows = tuple({n: x for n, x in zip(names, row, strict=True) if x is not None} for row in table["rows"])
        return cls(path, manifest, rows)

    def gathered(self) -> CaseResults:
        """The outcomes so far."""
        results = CaseResults(len(self.rows))
        labels = [item["labels"] for item in self.manifest["structures"]]
        if (self.path / JOURNAL).exists():
            for case, outcome, _ in records(self.path / JOURNAL):
                if not 0 <= case < len(self.rows):
                    raise ResultFileError(
                        f"{self.path / JOURNAL} is the journal of another sweep: it has a case {case}"
                    )
                results.put(case, outcome, labels[self.manifest["which"][case]])
        return results

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
        self, folder: str | os.PathLike[str], cases: Cases, robots: Structures, labels: Sequence[Mapping[str, Any]],
        asked: Mapping[str, Any],
    ) -> None:  # fmt: skip
        """labels: of the axes of the results of each structure. asked: further entries of the manifest."""
        self.path = file_name("folder", folder)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as reason:
            raise ResultFileError(f"cannot create the folder {self.path}: {reason.strerror or reason}") from None
        others = [x.name for x in self.path.iterdir() if x.name != LOCK and not x.name.startswith(".")]
        if others and MANIFEST not in others and not set(others) <= {CASES}:
            raise ResultFileError(f"the folder {self.path} contains other files ({min(others)}); choose a new one")
        self._lock = _Lock(self.path / LOCK)
        try:
            manifest = _manifest(cases, robots, labels, asked)
            if (self.path / MANIFEST).exists():
                _refuse_other(self.path, SweepFolder.open(self.path).manifest, manifest)
            else:
                self._begin(cases, manifest)
            self.journal = Journal(self.path / JOURNAL)
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, cases: Cases, manifest: Mapping[str, Any]) -> None:
        names = list(cases.names)
        table = {"names": names, "rows": [[_plain(row.get(name)) for name in names] for row in cases]}
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


def _manifest(
    cases: Cases, robots: Structures, labels: Sequence[Mapping[str, Any]], asked: Mapping[str, Any]
) -> dict[str, Any]:
    texts = [eqs.model.text for eqs in robots.equations]
    return {
        "format": FORMAT,
        "model": robots.equations[0].model.spec.name or "robot",
        **asked,
        "cases": len(cases),
        "cases_sha256": _checksum(repr([sorted(row.items()) for row in cases])),
        "versions": versions(),
        "structures": [
            {"text": text, "sha256": _checksum(text), "labels": {axis: _plain(list(x)) for axis, x in own.items()}}
            for text, own in zip(texts, labels, strict=True)
        ],
        "which": list(robots.which),
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
