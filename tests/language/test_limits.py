"""The list of limits, and the effect of `PLIANT_LIMITS`."""

from __future__ import annotations

import pytest

from pliant.language.faults import SpecError
from pliant.language.limits import VARIABLE, Limits, limits, most


def test_defaults_and_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert limits() == Limits()
    assert limits().time is None
    monkeypatch.setenv(VARIABLE, " elements=2e4, memory = 1.5 GB,time=30,drawing=300kB,")
    found = limits()
    assert (found.elements, found.memory, found.time, found.drawing) == (20_000, 1.5e9, 30, 300e3)
    assert found.parts == Limits().parts
    assert most("elements") == "at most 20000, unless PLIANT_LIMITS=elements=... sets another limit"
    assert most("drawing").startswith("at most 0.3 MB")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("element=3", "unknown limit 'element' (did you mean 'elements'?)"),
        ("time", "cannot read 'time'"),
        ("time=-3", "cannot read 'time=-3'"),
        ("time=0", "cannot read 'time=0'"),
        ("memory=2 TB", "cannot read 'memory=2 TB'"),
        ("time=nan", "cannot read"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(SpecError, match="PLIANT_LIMITS") as caught:
        limits()
    assert message in str(caught.value)
