"""Folders of sweeps that are damaged in a way their checksums do not show, or untrusted: errors in words, nothing hangs."""

from __future__ import annotations

import json
import os
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

import pliant
from pliant.analysis.numerics.netcdf_files import ResultFileError
from pliant.cli import run as command
from pliant.study import folder as sweeps

OUTCOME: dict[str, Any] = {"case": 0, "status": "completed", "message": "", "arrays": {}, "labels": {}}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "sound"
    pliant.sweep("pendulum", {"length": [1.0, 2.0]}, folder, until=0.1, save_every=0.1)
    return folder


@pytest.fixture
def folder(sound, tmp_path):
    return Path(shutil.copytree(sound, tmp_path / "sweep"))


def _rewrite(folder: Path, manifest: dict[str, Any], table: Any) -> None:
    """Write a request with a valid checksum."""
    sealed = {**manifest, "sha256": sweeps._seal(manifest, table)}
    (folder / sweeps.MANIFEST).write_text(json.dumps(sealed))
    (folder / sweeps.CASES).write_text(json.dumps(table))


def _requested(folder: Path) -> tuple[dict[str, Any], Any]:
    manifest, table = (json.loads((folder / name).read_text()) for name in (sweeps.MANIFEST, sweeps.CASES))
    return manifest, table


def _refused(folder: Path) -> None:
    with pytest.raises(ResultFileError, match="does not contain a sweep"):
        pliant.load_sweep(folder)


KEYS = ("model", "analysis", "versions", "units", "structures", "which", "cases", "vary", "options", "seed")


@pytest.mark.parametrize("key", KEYS)
def test_a_manifest_without_a_key(folder, key):
    manifest, table = _requested(folder)
    del manifest[key]
    _rewrite(folder, manifest, table)
    _refused(folder)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [None, [1], {"\x1b[31m": 1}, "\x1b[31m"])
def test_a_manifest_with_a_wrong_value(folder, key, value):
    manifest, table = _requested(folder)
    _rewrite(folder, {**manifest, key: value}, table)
    _refused(folder)


@pytest.mark.parametrize(
    "table",
    [
        {},
        [],
        {"names": None, "rows": None},
        {"names": ["length"], "rows": [[1, 2], [3]]},
        {"names": ["length"], "rows": []},
        {"names": ["\x1b[31m"], "rows": [[1], [2]]},
    ],
)
def test_a_wrong_table_of_cases(folder, table):
    manifest, _ = _requested(folder)
    _rewrite(folder, manifest, table)
    _refused(folder)


def _record(about: Any, numbers: bytes = b"") -> bytes:
    text = about if isinstance(about, bytes) else json.dumps(about).encode()
    return (
        struct.pack("<4sIQI", b"plt1", len(text), len(numbers), zlib.crc32(numbers, zlib.crc32(text))) + text + numbers
    )


@pytest.mark.parametrize(
    "journal",
    [
        _record(b"[" * 100_000),
        _record({**OUTCOME, "case": 1e400}),
        _record({**OUTCOME, "case": 7}),
        _record({**OUTCOME, "status": [1]}),
        _record({**OUTCOME, "status": "\x1b[31m"}),
        _record({**OUTCOME, "labels": {"time": 5}}),
        _record({**OUTCOME, "labels": [1]}),
        _record({**OUTCOME, "arrays": {"q": [["time"], [1e30]]}}),
        _record({**OUTCOME, "arrays": {"q": [["time"], [-1]]}}, bytes(80)),
        _record({**OUTCOME, "arrays": {"q": [["time"], [1 << 40]]}}, bytes(80)),
        _record({**OUTCOME, "arrays": {"q": [[["a"]], [10]]}}, bytes(80)),
        _record({**OUTCOME, "arrays": {"q": [["x", "x"], [5, 2]]}}, bytes(80)),
        _record({**OUTCOME, "arrays": {"q": [["x"], [10]]}}, bytes(80))
        + _record({**OUTCOME, "case": 1, "arrays": {"q": [["y"], [5]]}}, bytes(40)),
    ],
)
def test_a_wrong_journal(folder, journal, capsys):
    (folder / sweeps.JOURNAL).write_bytes(journal)
    with pytest.raises(ResultFileError, match="journal"):
        pliant.load_sweep(folder)
    assert command(["sweep", str(folder), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["status"] == "error"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes")
@pytest.mark.parametrize("name", [sweeps.MANIFEST, sweeps.CASES, sweeps.JOURNAL])
@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", os.mkdir)])
def test_only_files_are_read(folder, name, make):
    (folder / name).unlink()
    make(folder / name)
    with pytest.raises(ResultFileError, match="not a file"):
        pliant.load_sweep(folder)


def test_a_lock_that_cannot_be_opened(folder):
    (folder / sweeps.LOCK).unlink()
    (folder / sweeps.LOCK).mkdir()
    with pytest.raises(ResultFileError, match="cannot write"):
        pliant.sweep("pendulum", {"length": [1.0, 2.0]}, folder, until=0.1, save_every=0.1)
