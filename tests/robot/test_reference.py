"""The language reference: up to date, and every example loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from make_reference import PAGE, SECTIONS, examples, page
from pliant.analysis.base import Analysis
from pliant.robot.reader import load_text
from reference_text import EXAMPLES

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_schema_says() -> None:
    assert page() == TEXT, "run `python tools/make_reference.py`"


@pytest.mark.parametrize("example", list(examples(TEXT)), ids=range(len(list(examples(TEXT)))))
def test_an_example_loads(example: str, tmp_path: Path) -> None:
    for other in examples(TEXT):
        if other.startswith("# common.yaml"):
            (tmp_path / "common.yaml").write_text(other)
    if not example.startswith("# common.yaml"):
        robot = load_text(example, folder=tmp_path)
        assert robot.joints or robot.rods or robot.meshes or "attach" in example


def test_every_part_has_an_example() -> None:
    for title, parts in SECTIONS:
        assert title in EXAMPLES or any(part.example for part in parts), title
        if title in ("Joints", "Links", "Constraints", "Loads"):
            assert all(part.example for part in parts)


def test_the_python_example_says_the_same_as_the_first_one() -> None:
    code = TEXT.split("```python\n")[1].partition("```")[0]
    names: dict[str, Any] = {}
    exec(code.replace("print(", "str("), names)
    assert names["robot"] == load_text(next(iter(examples(TEXT))))


def test_all_parts_can_be_imported_from_one_place() -> None:
    import pliant.parts

    for title, parts in SECTIONS:
        for part in parts:
            if part.model_fields and not issubclass(part, Analysis):
                assert getattr(pliant.parts, part.__name__) is part, title
