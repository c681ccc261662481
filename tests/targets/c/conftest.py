"""Exports that several tests share; allows the tests to import their helpers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import c_export
from c_export import CHAIN, FLIER, FOUR_BAR, TOUCHING, WIND, Export, exported


@pytest.fixture(scope="session", autouse=True)
def object_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One folder of compiled files for all workers of this session."""
    base = tmp_path_factory.getbasetemp()
    c_export.store = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "object_files"
    c_export.store.mkdir(exist_ok=True)


@pytest.fixture(scope="session")
def flier(tmp_path_factory: pytest.TempPathFactory) -> Export:
    base = tmp_path_factory.mktemp("flier")
    (base / "wind.csv").write_text(WIND, encoding="utf-8")
    # its own files optimized, because some warnings come with that alone
    return exported(FLIER, base / "c", optimize="-O2")


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Export:
    return exported(CHAIN, tmp_path_factory.mktemp("chain") / "c")


@pytest.fixture(scope="session")
def four_bar(tmp_path_factory: pytest.TempPathFactory) -> Export:
    return exported(FOUR_BAR, tmp_path_factory.mktemp("four_bar") / "c")


@pytest.fixture(scope="session")
def touching(tmp_path_factory: pytest.TempPathFactory) -> Export:
    return exported(TOUCHING, tmp_path_factory.mktemp("touching") / "c")
