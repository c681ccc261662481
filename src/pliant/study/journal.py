"""Outcomes on disk, as a sequence of records: a record is written atomically as soon as its case is finished.

A record is a header (mark, sizes of its two parts, checksum), the outcome of the case as JSON, and its numbers as in
memory (little-endian, eight bytes each). An incomplete record of a killed process is removed when the file is opened
again.
"""

from __future__ import annotations

import json
import math
import os
import struct
import time
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pliant.analysis.numerics.netcdf_files import ResultFileError
from pliant.study.analyses import Outcome
from pliant.study.folder_layout import LayoutProblem, Record, read_record

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
        record = _record(case, outcome)
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


def _record(case: int, outcome: Outcome) -> bytes:
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
    return _HEAD.pack(_MARK, len(text), len(numbers), zlib.crc32(numbers, zlib.crc32(text))) + text + numbers


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
                yield *_read(path, text, numbers), at
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


def _read(path: Path, text: bytes, numbers: bytes) -> tuple[int, Outcome]:
    try:
        record = read_record(text)
        return record.case, _outcome(record, numbers)
    except ValueError as reason:
        raise ResultFileError(f"{path} is not the journal of a sweep: {reason}") from None


def _outcome(record: Record, numbers: bytes) -> Outcome:
    arrays, at = {}, 0
    for name, (axes, shape) in record.arrays.items():
        size = math.prod(shape)
        if at + 8 * size > len(numbers):
            raise LayoutProblem(f"the numbers of '{name}' are missing")
        arrays[name] = tuple(axes), np.frombuffer(numbers, "<f8", size, at).reshape(shape)
        at += 8 * size
    labels: dict[str, Any] = {axis: tuple(x) for axis, x in record.labels.items()}
    return Outcome(record.status, record.message, arrays, labels)
