"""`pliant picture`: poses, inputs and saved results; `--input` of the other commands that show a robot."""

import numpy as np
import pytest
from PIL import Image

import pliant
from pliant.cli import run


def _pixels(path):
    return np.asarray(Image.open(path).convert("L"), dtype=int)


def test_poses_and_inputs_change_the_picture(tmp_path, capsys):
    drawn = {}
    for name, options in {
        "initial": [],
        "rest": ["--at", "equilibrium"],
        "bent": ["--at", "equilibrium", "--input", "p1=40 kPa"],
        "pose": ["--at", "stretch=0.1"],
    }.items():
        file = tmp_path / f"{name}.png"
        code = run(["picture", "stiff_flop", "--rod", "arm=pcs:1", "--out", str(file), "--size", "300x300", *options])
        assert code == (2 if name == "pose" else 0), capsys.readouterr().err
        if code == 0:
            drawn[name] = _pixels(file)
    assert "unknown coordinate or rate 'stretch'" in capsys.readouterr().err
    assert drawn["rest"].shape == (300, 300)
    assert np.abs(drawn["bent"] - drawn["rest"]).mean() > 1


def test_a_result_is_drawn_at_a_time(tmp_path, capsys):
    saved, early, late = tmp_path / "run.nc", tmp_path / "early.png", tmp_path / "late.png"
    assert run(["simulate", "pendulum", "--until", "0.5", "--save-every", "0.1", "--out", str(saved)]) == 0
    assert run(["picture", str(saved), "--time", "0", "--out", str(early), "--size", "300x300"]) == 0
    assert run(["picture", str(saved), "--out", str(late), "--size", "300x300"]) == 0
    assert np.abs(_pixels(early) - _pixels(late)).mean() > 1
    capsys.readouterr()
    assert run(["picture", str(saved), "--time", "9", "--out", str(late)]) == 2
    assert "states are saved from 0 to 0.5 s" in capsys.readouterr().err
    assert run(["picture", str(saved), "--at", "equilibrium", "--out", str(late)]) == 2
    assert "give a --time" in capsys.readouterr().err


def test_a_run_gives_its_state_at_a_saved_time():
    result = pliant.simulate(pliant.derive("pendulum"), 0.5, save_every=0.1)
    np.testing.assert_array_equal(result.state_at(0.21).q, result.q[2])
    with pytest.raises(ValueError, match="not within the run"):
        result.state_at(0.6)


def test_values_of_inputs_are_refused_where_they_would_have_no_effect(capsys):
    eqs = pliant.derive("gripper")
    with pytest.raises(ValueError, match="'pressure' is an input, not a parameter"):
        pliant.equilibrium(eqs, parameters={"pressure": 1e5})
    assert run(["equilibrium", "gripper", "--set", "pressure=100 kPa"]) == 2
    assert "use --input" in capsys.readouterr().err
