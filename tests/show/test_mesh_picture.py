"""`pliant show MODEL --mesh`: the numbered picture of meshes, and the table of imported data."""

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import pliant
from pliant.cli import run
from pliant.show.sketch import NUMBERS_UP_TO, draw_meshes

TWO = """
pliant: 1
bodies: {frame: {mass: 1 kg}}
joints: {turn: {type: revolute, child: frame, axis: y}}
meshes:
  net: {type: membrane, drawing: {file: lines.dxf}, mass: 1 kg, stiffness: 10 N, sets: {pair: {nodes: [2, 4]}}, held: {pair: frame}}
  web: {type: membrane, drawing: {web: 20 cm, spokes: 5, rings: 1}, mass: 1 g, stiffness: 1 N}
"""
LINES = [
    ((0, 0, 0), (1, 0, 0)),
    ((1, 0, 0), (1, 1, 0)),
    ((1, 1, 0), (0, 1, 0)),
    ((0, 1, 0), (1, 1, 0)),
    ((1, 1, 0), (2, 2, 0)),
]


@pytest.fixture
def model(tmp_path):
    codes = (10, 20, 30, 11, 21, 31)
    entities = "".join(
        "0\nLINE\n8\n0\n" + "".join(f"{code}\n{x}\n" for code, x in zip(codes, (*a, *b), strict=True)) for a, b in LINES
    )
    header = "0\nSECTION\n2\nHEADER\n9\n$INSUNITS\n70\n5\n0\nENDSEC\n"
    (tmp_path / "lines.dxf").write_text(f"{header}0\nSECTION\n2\nENTITIES\n{entities}0\nENDSEC\n0\nEOF\n")
    (tmp_path / "two.yaml").write_text(TWO)
    return tmp_path / "two.yaml"


def numbers(ax):
    """Where the picture has each number."""
    return {words.get_text(): np.array(words.xy) for words in ax.texts if words.get_text().isdigit()}


def test_every_node_has_its_number_at_its_place_and_sets_their_marks(model):
    net, web = draw_meshes(pliant.load(model)).axes
    # the net is flat and seen face-on: a node is drawn at its x and y
    places = {"1": (0, 0), "2": (1, 0), "3": (1, 1), "4": (0, 1), "5": (2, 2)}
    found = numbers(net)
    assert set(found) == set(places)
    for number, place in places.items():
        np.testing.assert_allclose(found[number], 0.01 * np.array(place), atol=1e-12)
    # the first scatter is all nodes, then one per set
    marks = {c.get_label(): np.asarray(c.get_offsets()) for c in net.collections if "(" in str(c.get_label())}
    assert set(marks) == {"ends (3, held by world)", "pair (2, held by frame)"}
    np.testing.assert_allclose(marks["pair (2, held by frame)"], [found["2"], found["4"]], atol=1e-12)
    assert "5 nodes, 4 edges, 20 x 20 mm" in net.get_title()
    assert {words.get_text() for words in net.texts} >= {"x", "y"}, "the axes that sets are chosen in"
    assert len(numbers(web)) == 11
    assert [text.get_text() for text in web.get_legend().get_texts()] == ["ends (5, held by world)"]


def test_the_table_says_what_was_read(model, capsys):
    picture = model.with_name("picture.png")
    assert run(["show", str(model), "--mesh", str(picture), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    net, web = answer["meshes"]
    assert {k: net[k] for k in ("lines", "merged", "repeated", "short", "orphans", "unit", "unit_assumed")} == {
        "lines": 5, "merged": 5, "repeated": 1, "short": 0, "orphans": 0, "unit": "cm", "unit_assumed": False,
    }  # fmt: skip
    assert (net["nodes"], net["edges"], net["held"]) == (5, 4, 4)
    assert net["sets"] == {"all": 5, "ends": 3, "pair": 2}
    assert net["held_by"] == {"ends": "world", "pair": "frame"}
    assert web["lines"] is None
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert run(["show", str(model), "--mesh", str(picture)]) == 0
    table = " ".join(capsys.readouterr().out.split())
    assert (
        "lines in the file 5, 1 repeated, 0 without length ends merged 5 nodes without edges 0 pieces 1 not read nothing "
        "unit of the file cm" in table
    )
    assert "set pair 2 nodes, held by frame" in table


@pytest.mark.parametrize("name", ["sleeve", "net", "cloth", "tissue_block", "spider_web"])
def test_bundled_meshes_are_numbered(name):
    spec = pliant.load(name)
    (ax,) = draw_meshes(spec).axes
    from pliant.robot.flattening import flatten

    (mesh,) = flatten(spec).meshes.values()
    assert set(numbers(ax)) == {str(k + 1) for k in range(len(mesh.lattice.shares))}


def test_of_large_meshes_only_sets_are_numbered():
    (ax,) = draw_meshes(pliant.load("net", set={"cells": 30})).axes
    assert NUMBERS_UP_TO < 31 * 31
    assert set(numbers(ax)) == {"1", "31", "931", "961", "481"}


def test_what_cannot_be_drawn_is_said(capsys, tmp_path):
    assert run(["show", "pendulum", "--mesh", str(tmp_path / "a.png")]) == 2
    assert "the robot has no meshes" in capsys.readouterr().err
    assert run(["show", "net", "--mesh", str(tmp_path / "no" / "a.png"), "--json"]) == 2
    message = json.loads(capsys.readouterr().out)["message"]
    assert message.startswith("cannot write") and ".part" not in message  # noqa: PT018
    assert run(["show", "net", "--mesh", str(tmp_path / "a.xyz")]) == 2
    assert "end it in .png, .svg or .pdf" in capsys.readouterr().err
    assert not list(Path(tmp_path).iterdir())
