"""glTF files: read by another library, they hold the robot at its place, size and time."""

import json
import struct

import numpy as np
import pytest

import pliant
from pliant.cli import run as command


def document(file):
    """The text part of a .glb file, and its binary part."""
    raw = file.read_bytes()
    magic, version, length = struct.unpack("<III", raw[:12])
    assert (magic, version, length) == (0x46546C67, 2, len(raw))
    size = struct.unpack("<I", raw[12:16])[0]
    return json.loads(raw[20 : 20 + size]), raw[28 + size :]


BOX = """
pliant: 1
bodies: {box: {mass: 1 kg, shape: {type: box, size: [30 cm, 20 cm, 10 cm]}}}
joints: {fixed: {type: weld, child: box, position: [1 m, 2 m, 3 m]}}
"""


def test_another_library_reads_the_robot_in_its_place(tmp_path):
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    (tmp_path / "box.yaml").write_text(BOX)
    file = tmp_path / "box.glb"
    assert command(["export", str(tmp_path / "box.yaml"), "--gltf", str(file)]) == 0
    low, high = trimesh.load(file).bounds
    # y points up there: what was z is y, what was y is -z
    np.testing.assert_allclose(high - low, [0.3, 0.1, 0.2], rtol=1e-5)
    np.testing.assert_allclose(0.5 * (high + low), [1, 3, -2], rtol=1e-5)


def test_a_run_moves_as_simulated(tmp_path, capsys):
    run = pliant.simulate(pliant.derive("pendulum"), 0.5, save_every=0.1)
    run.save(tmp_path / "run.nc")
    file = tmp_path / "run.glb"
    assert command(["export", str(tmp_path / "run.nc"), "--gltf", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["frames"] == 6
    data, binary = document(file)

    def numbers(accessor):
        entry = data["accessors"][accessor]
        view = data["bufferViews"][entry["bufferView"]]
        size = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[entry["type"]]
        return np.frombuffer(binary, "<f4", entry["count"] * size, view["byteOffset"]).reshape(-1, size)

    animation = data["animations"][0]
    tracks = [
        (
            numbers(animation["samplers"][c["sampler"]]["input"])[:, 0],
            numbers(animation["samplers"][c["sampler"]]["output"]),
        )
        for c in animation["channels"]
        if c["target"]["path"] == "translation"
    ]
    centre = 0.5 * (run["rod"].position + run["rod.tip"].position)
    np.testing.assert_allclose(tracks[0][0], run.time, atol=1e-6)
    assert any(np.allclose(values, centre, atol=1e-6) for _, values in tracks)


def test_wrong_requests_are_refused(tmp_path, capsys):
    for arguments, words in (
        (["--gltf", str(tmp_path / "a.obj")], "end it in .glb"),
        (["--gltf", str(tmp_path / "a.glb"), "--c", str(tmp_path / "c")], "2 exports"),
        ([], "nothing to export"),
    ):
        assert command(["export", "pendulum", *arguments]) == 2
        assert words in capsys.readouterr().err
