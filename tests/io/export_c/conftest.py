"""Exports that several tests share; lets the tests import their helpers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from c_export import CHAIN, FLIER, FOUR_BAR, WIND, Export, exported


@pytest.fixture(scope="module")
def flier(tmp_path_factory: pytest.TempPathFactory) -> Export:
    base = tmp_path_factory.mktemp("flier")
    (base / "wind.csv").write_text(WIND, encoding="utf-8")
    return exported(FLIER, base / "c")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Export:
    return exported(CHAIN, tmp_path_factory.mktemp("chain") / "c")


@pytest.fixture(scope="module")
def four_bar(tmp_path_factory: pytest.TempPathFactory) -> Export:
    return exported(FOUR_BAR, tmp_path_factory.mktemp("four_bar") / "c")
