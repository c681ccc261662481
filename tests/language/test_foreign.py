"""Files of other kinds that are given as models."""

from __future__ import annotations

from pathlib import Path

import pytest

import pliant
from pliant.language.foreign import foreign, reader_of

FILES = {
    "arm.usda": (b"#usda 1.0\n", "a USD scene", "does not import it"),
    "arm.usd": (b"PXR-USDC\x00\x08", "a USD scene", "does not import it"),
    "arm.sdf": (b'<?xml version="1.0"?>\n<sdf version="1.9"></sdf>', "an SDF model", "does not import it"),
    "other.xml": (b"<?xml version='1.0'?><COLLADA></COLLADA>", "XML", "does not import it"),
    "report.html": (b"<!doctype html><html></html>", "a web page", "the model that it is a report of"),
    "arm.py": (b"import pliant", "Python code", "run it with python"),
    "arm.json": (b'{"links": []}', "JSON that is not a model", "begins with `pliant: 1`"),
    "answer.json": (b'{"model": "four_bar", "status": "ok"}', "the JSON output of a command", "its model is four_bar"),
    "hand.stl": (b"\0" * 84, "a mesh or drawing", "pliant mesh"),
    "hand.txt": (b"solid hand\nendsolid", "an STL mesh", "pliant mesh"),
    "run.nc": (b"\x89HDF\r\n\x1a\n", "a netCDF or HDF5 file", "pliant view"),
    "run.csv": (b"t,x\n0,1\n", "a table", "pliant fit"),
    "look.png": (b"\x89PNG\r\n", "a picture", "the model that it was drawn from"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_kind_is_called_what_it_is(name: str, tmp_path: Path) -> None:
    data, what, hint = FILES[name]
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(pliant.SpecError) as caught:
        pliant.load(file)
    (fault,) = caught.value.faults
    assert fault.message == f"the file is not a model: it is {what}"
    assert hint in fault.hint


def test_models_are_left_alone(tmp_path: Path) -> None:
    text = b'{"pliant": 1, "bodies": {"ball": {"mass": 1, "parent": "world"}}}'
    file = tmp_path / "ball.json"
    file.write_bytes(text)
    assert list(pliant.load(file).bodies) == ["ball"]
    assert foreign(Path("arm.yaml"), b"pliant: 1\nbodies: {}\n") is None


def test_robots_are_told_by_their_root_element() -> None:
    before = b"\xef\xbb\xbf\n<?xml version='1.0'?>\n<!-- a > b --><!DOCTYPE robot [<!ENTITY a 'b'>]>\n"
    assert reader_of(before + b'<robot name="arm">').__name__ == "read_urdf"
    assert reader_of(b"<mujoco/>").__name__ == "read_mjcf"
    assert reader_of(b"<!-- <robot> --><sdf>") is None
    assert reader_of(b"robot: 1") is None
    assert reader_of(b"<!---->" * 20_000 + b"<") is None  # read once in any case
