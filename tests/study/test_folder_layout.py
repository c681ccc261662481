"""Folders of sweeps in which something is not a file: errors in words, nothing hangs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import pliant
from pliant.analysis.numerics.netcdf_files import ResultFileError
from pliant.study import folder as sweeps


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "sound"
    pliant.sweep("pendulum", {"length": [1.0, 2.0]}, folder, until=0.1, save_every=0.1)
    return folder


@pytest.fixture
def folder(sound, tmp_path):
    return Path(shutil.copytree(sound, tmp_path / "sweep"))


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
