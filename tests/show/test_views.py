"""Where pictures are seen from, how large they are, and that rods have their true section in them."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import pliant
from pliant.cli import run as command
from pliant.language.arguments import ArgumentError
from pliant.show.camera import look_from, view_direction
from pliant.show.scene import make_scene
from pliant.show.sketch import pose_of, save

STRIPS = """\
pliant: 1
materials: {gum: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
sections:
  strip: {shape: rectangle, width: 4 mm, height: 20 mm}
  pipe: {shape: annulus, outer_radius: 20 mm, inner_radius: 14 mm}
rods:
  leg: {length: 0.2 m, section: strip, material: gum, model: {kind: pcs, elements: 2}}
  pipe: {position: [0.1, 0, 0], length: 0.2 m, section: pipe, material: gum, model: {kind: pcs, elements: 2}}
"""


@pytest.fixture(scope="module")
def strips():
    eqs = pliant.derive(pliant.load_text(STRIPS))
    scene = make_scene(eqs, pose_of(eqs, None)[1].q)
    return eqs, {rod.name: rod for rod in scene.rods}


@pytest.mark.parametrize(("view", "half"), [("front", 2e-3), ("right", 10e-3), ((1, -1, 0), 12e-3 / np.sqrt(2))])
def test_a_strip_is_as_wide_as_it_is_seen(strips, view, half):
    """Its width lies along x and its height along y, so from the front (along y) the narrow side is seen."""
    camera = look_from(view_direction(view), np.array([0, 0, -9.81]))
    leg, pipe = strips[1]["leg"], strips[1]["pipe"]
    np.testing.assert_allclose(leg.seen_half_widths(camera.project), half, rtol=1e-9)
    np.testing.assert_allclose(pipe.seen_half_widths(camera.project), 20e-3, rtol=1e-9)
    assert np.all(pipe.bore == 14e-3)
    assert not np.any(leg.bore)


def test_the_end_of_a_hollow_rod_shows_its_hole(strips):
    ax = pliant.sketch(strips[0], view="top", labels=False, frames=False)
    widths = sorted(np.ptp(patch.get_xy()[:, 0]) for patch in ax.patches)
    assert any(np.isclose(width, 28e-3, rtol=0.01) for width in widths)
    assert any(np.isclose(width, 40e-3, rtol=0.01) for width in widths)
    assert any(np.isclose(width, 4e-3, rtol=0.01) for width in widths)


@pytest.mark.parametrize(
    ("word", "right", "up"),
    [("front", [1, 0, 0], [0, 0, 1]), ("right", [0, 1, 0], [0, 0, 1]), ("top", [1, 0, 0], [0, 1, 0]),
     ("back", [-1, 0, 0], [0, 0, 1])],
)  # fmt: skip
def test_words_for_views(word, right, up):
    camera = look_from(view_direction(word), np.array([0, 0, -9.81]))
    np.testing.assert_allclose(camera.right, right, atol=1e-12)
    np.testing.assert_allclose(camera.up, up, atol=1e-12)


@pytest.mark.parametrize(
    ("view", "words"), [("frnt", "did you mean 'front'"), ("1,2", "three numbers"), ((0, 0, 0), "three")]
)
def test_wrong_views_are_refused(view, words):
    with pytest.raises(ArgumentError, match=words):
        view_direction(view)


def test_pictures_have_the_size_asked_for(strips, tmp_path, capsys):
    from PIL import Image

    save(pliant.sketch(strips[0], size=(500, 300)), tmp_path / "a.png")
    assert Image.open(tmp_path / "a.png").size == (500, 300)
    with pytest.raises(ArgumentError, match="64 to 8000"):
        pliant.sketch(strips[0], size=(500, 3))
    file = str(tmp_path / "b.png")
    options = ["--view", "corner", "--size", "320x240", "--no-frames", "--no-labels"]
    assert command(["picture", "four_bar", "--out", file, *options]) == 0
    assert Image.open(file).size == (320, 240)
    assert command(["picture", "four_bar", "--out", file, "--size", "wide"]) == 2
    assert "write --size 800x600" in capsys.readouterr().err


def test_films_are_seen_from_where_they_are_asked_to_be(tmp_path):
    from PIL import Image

    eqs = pliant.derive("double_pendulum")
    run = pliant.simulate(eqs, 0.1, save_every=0.05)
    front, top = tmp_path / "front.gif", tmp_path / "top.gif"
    for file, view in ((front, "front"), (top, "top")):
        pliant.film(eqs, run, file, fps=20, view=view, size=(200, 160), frames=False)
        assert Image.open(file).size == (200, 160)
    ink = [np.count_nonzero(np.asarray(Image.open(file).convert("L")) < 128, axis=1) for file in (front, top)]
    rows = [np.ptp(np.flatnonzero(x)) for x in ink]
    assert rows[0] != rows[1]
