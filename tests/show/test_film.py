"""Films: the right length, moving, and with messages about missing programs."""

import io
import json
import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageSequence

import pliant
from pliant.cli import run as command
from pliant.language.arguments import ArgumentError
from pliant.show.film import _gif, film


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("film") / "run.nc"
    pliant.simulate(pliant.derive("four_bar"), 0.4, save_every=0.05).save(file)
    return file


def test_a_gif_moves_and_keeps_its_size(saved, tmp_path, capsys):
    target = tmp_path / "run.gif"
    assert command(["film", str(saved), str(target), "--fps", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["frames"] == 5
    with Image.open(target) as image:
        frames = [np.asarray(frame.convert("RGB")).astype(int) for frame in ImageSequence.Iterator(image)]
    assert len(frames) == 5
    for a, b in pairwise(frames):
        changed = np.abs(a - b).max(axis=2) > 40
        assert 0.002 < changed.mean() < 0.5
    # everything stays inside: the outermost dots are white in every frame
    for frame in frames:
        edges = np.concatenate([frame[0], frame[-1], frame[:, 0], frame[:, -1]])
        assert edges.min() > 240


def test_the_ground_of_a_hinge_stays_where_it_is(tmp_path):
    """The upper rod begins level and then hangs and swings to both sides; its ground is on one side of it in all frames."""
    eqs = pliant.derive("double_pendulum")
    film(eqs, pliant.simulate(eqs, 1.5, save_every=0.1), tmp_path / "run.gif", fps=10, labels=False)
    with Image.open(tmp_path / "run.gif") as image:
        frames = [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]
    rows = [np.median(np.nonzero(np.all(frame == 0xD9, axis=2))[0]) for frame in frames]
    assert np.ptp(rows) < 1.0


def test_colours_of_a_gif_are_those_of_the_picture_in_every_frame(tmp_path):
    """White stays white, and a body keeps its colour, however few dots of it the first frame has."""
    flat = np.full((40, 60, 3), 255, dtype=np.uint8)
    pictures = []
    shades = np.random.default_rng(0).integers(0, 255, (12, 30, 3))  # more colours than the format has
    for k in range(4):
        picture = flat.copy()
        picture[2:4, 2:4] = (0, 158, 115)
        picture[20:32, 10:40] = shades if k == 0 else (0, 158, 115)
        picture[35 + k] = (254, 254, 254)  # nearly white is not white
        pictures.append(picture)
    with Image.open(io.BytesIO(_gif(iter(pictures), 10.0))) as image:
        frames = [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]
    for picture, frame in zip(pictures, frames, strict=True):
        known = np.ones((40, 60), dtype=bool)
        known[20:32, 10:40] = picture is not pictures[0]
        np.testing.assert_array_equal(frame[known], picture[known])


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg on this machine")
def test_an_mp4_has_the_length_of_the_motion(saved, tmp_path):
    target = tmp_path / "run.mp4"
    assert command(["film", str(saved), str(target), "--fps", "10", "--speed", "0.5"]) == 0
    words = [
        "ffprobe",
        "-v",
        "error",
        "-count_frames",
        "-select_streams",
        "v:0",
        "-show_entries",
        "stream=nb_read_frames,width",
    ]
    found = subprocess.run([*words, "-of", "json", str(target)], capture_output=True, text=True, check=True)
    (stream,) = json.loads(found.stdout)["streams"]
    assert int(stream["nb_read_frames"]) == 9
    assert stream["width"] % 2 == 0


def test_what_is_missing_is_said(saved, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    refused = {
        (str(saved), "run.mp4"): "ffmpeg, which writes .mp4, is not installed",
        (str(saved), "run.avi"): "end it in .mp4 or .gif",
        ("four_bar", "run.gif"): "is not a result",
        (str(tmp_path / "none.nc"), "run.gif"): "there is no file",
    }
    for (result, out), words in refused.items():
        assert command(["film", result, str(tmp_path / out)]) == 2
        assert words in capsys.readouterr().err
    assert command(["film", str(saved), str(tmp_path / "run.gif"), "--speed", "0.001"]) == 2
    assert "more than 3000" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["fps", "speed"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_rates_that_are_not_positive_are_refused(tmp_path, capsys, saved, name, value):
    eqs = pliant.derive("four_bar")
    run = pliant.simulate(eqs, 0.1, save_every=0.05)
    with pytest.raises(ArgumentError, match=f"{name} must be a positive number"):
        pliant.film(eqs, run, tmp_path / "run.gif", **{name: value})
    assert command(["film", str(saved), str(tmp_path / "run.gif"), f"--{name}={value}"]) == 2
    assert f"--{name} must be at" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
