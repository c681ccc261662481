"""Files in other formats that are given as models."""

from __future__ import annotations

from pathlib import Path

import pytest

import pliant
from pliant.language.source import reader_of

NOT_MODELS = {
    "arm.sdf": (b'<?xml version="1.0"?>\n<sdf version="1.9"></sdf>', "it is XML, but neither URDF nor MJCF"),
    "hand.stl": (b"\x84" * 84, "the file is not UTF-8 text"),
    "arm.py": (b"import pliant", "expected a mapping"),
}


@pytest.mark.parametrize("name", NOT_MODELS)
def test_a_file_that_is_no_model_is_refused(name: str, tmp_path: Path) -> None:
    data, message = NOT_MODELS[name]
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(pliant.SpecError, match=message):
        pliant.load(file)


def test_a_model_may_be_json(tmp_path: Path) -> None:
    file = tmp_path / "ball.json"
    file.write_bytes(b'{"pliant": 1, "bodies": {"ball": {"mass": 1, "parent": "world"}}}')
    assert list(pliant.load(file).bodies) == ["ball"]


def test_robots_are_told_by_their_root_element() -> None:
    before = b"\xef\xbb\xbf\n<?xml version='1.0'?>\n<!-- a > b --><!DOCTYPE robot [<!ENTITY a 'b'>]>\n"
    assert reader_of(before + b'<robot name="arm">').__name__ == "read_urdf"
    assert reader_of(b"<mujoco/>").__name__ == "read_mjcf"
    assert reader_of(b"<!-- <robot> --><sdf>") is None
    assert reader_of(b"robot: 1") is None
    assert reader_of(b"<!---->" * 20_000 + b"<") is None  # read once in any case
