"""Exports that several tests share; lets the tests import their helpers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from c_export import CHAIN, FLIER, FOUR_BAR, TOUCHING, WIND, Export, exported


@pytest.fixture(scope="session")
def flier(tmp_path_factory: pytest.TempPathFactory) -> Export:
    base = tmp_path_factory.mktemp("flier")
    (base / "wind.csv").write_text(WIND, encoding="utf-8")
    # optimized, because some warnings come with that alone
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
