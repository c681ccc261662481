"""The search for garbage is off inside, and as it was before afterwards."""

from __future__ import annotations

import gc

import pytest

from pliant import derive
from pliant.engine.model.model import no_collection


@pytest.mark.parametrize("on", [True, False])
def test_the_setting_comes_back(on: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with no_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is on
        derive("pendulum")
        assert gc.isenabled() is on
    finally:
        (gc.enable if before else gc.disable)()
