"""Models with deliberate faults: each with the complete output of `pliant check`.

The files are in `broken/`; `broken/expected.txt` contains the faults of each, as displayed. To see what
changed after changing a message, run `python tests/robot/test_broken.py`, which writes the file again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pliant.analysis.derivation.check import check
from pliant.cli import run

FOLDER = Path(__file__).parent / "broken"
EXPECTED = FOLDER / "expected.txt"


def read_expected() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in EXPECTED.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(" "):
            found[line] = []
            last = line
        elif line:
            found[last].append(line.strip())
    return found


NAMES = sorted(path.name for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_model_is_refused_with_all_its_faults(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(FOLDER)
    faults = check(name)
    assert [str(fault) for fault in faults] == read_expected()[name]
    assert run(["check", name]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    for fault in faults:
        assert fault.message.isprintable()
        assert fault.message.splitlines()[0][:30] in captured.err


def test_there_are_enough_of_them() -> None:
    assert len(NAMES) >= 40
    assert set(read_expected()) == set(NAMES)


if __name__ == "__main__":
    os.chdir(FOLDER)
    blocks = ["\n".join([name, *(f"    {fault}" for fault in check(name))]) for name in NAMES]
    EXPECTED.write_text("\n".join(blocks) + "\n", encoding="utf-8")
