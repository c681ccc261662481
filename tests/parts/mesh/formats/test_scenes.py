"""COLLADA and glTF files: their triangles at their positions in the scene, in metres; malicious ones are rejected with a
message."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.language.source import FileProblem
from pliant.parts.mesh.formats import read_mesh

trimesh = pytest.importorskip("trimesh")

DAE = """\
<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="centimeter" meter="0.01"/><up_axis>Z_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="12">0 0 0 10 0 0 0 20 0 0 0 30</float_array>
      <technique_common><accessor source="#a" count="4" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s">
    <node id="n"><translate>1 2 3</translate><instance_geometry url="#g"/></node>
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""
CORNERS = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.3]])
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


def scene() -> trimesh.Scene:
    solid = trimesh.Trimesh(CORNERS, FACES, process=False)
    found = trimesh.Scene()
    found.add_geometry(solid, transform=trimesh.transformations.translation_matrix([0.01, 0.02, 0.03]))
    return found


def files(folder: Path) -> dict[str, Path]:
    (folder / "a.glb").write_bytes(scene().export(file_type="glb"))
    for name, data in scene().export(file_type="gltf").items():
        (folder / name.replace("model.gltf", "a.gltf")).write_bytes(data)
    (folder / "a.dae").write_text(DAE)
    return {suffix: folder / f"a.{suffix}" for suffix in ("glb", "gltf", "dae")}


@pytest.mark.parametrize("suffix", ["glb", "gltf", "dae"])
def test_triangles_are_where_the_scene_has_them(suffix: str, tmp_path: Path) -> None:
    if suffix == "dae":
        pytest.importorskip("collada")
    found = read_mesh(files(tmp_path)[suffix])
    expected = CORNERS + [0.01, 0.02, 0.03]
    order = np.lexsort(found.nodes.round(6).T), np.lexsort(expected.round(6).T)
    assert found.nodes[order[0]] == pytest.approx(expected[order[1]], abs=1e-7)
    assert (len(found.edges), len(found.faces)) == (6, 4)
    solid = trimesh.Trimesh(found.nodes, found.faces, process=False)
    assert solid.volume == pytest.approx(0.1 * 0.2 * 0.3 / 6, rel=1e-6)  # outside is outside


@pytest.mark.parametrize("suffix", ["glb", "dae"])
def test_surfaces_and_robots_take_them(suffix: str, tmp_path: Path) -> None:
    if suffix == "dae":
        pytest.importorskip("collada")
    files(tmp_path)
    urdf = f"""<robot name="r"><link name="base">
      <visual><geometry><mesh filename="a.{suffix}" scale="2 2 2"/></geometry></visual></link></robot>"""
    (tmp_path / "r.urdf").write_text(urdf)
    robot = pliant.load(tmp_path / "r.urdf")
    assert robot.surfaces["base_visual"].file == f"a.{suffix}"
    assert pliant.check(tmp_path / "r.urdf") == []


def glb(tree: dict[str, object]) -> bytes:
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    return b"glTF" + struct.pack("<II", 2, 20 + len(text)) + struct.pack("<I", len(text)) + b"JSON" + text


NESTED = "".join(
    f'<node id="n{k}"><instance_node url="#n{k + 1}"/><instance_node url="#n{k + 1}"/></node>' for k in range(40)
)
HOSTILE = {
    "entities.dae": (DAE.replace("<COLLADA", '<!DOCTYPE c [<!ENTITY a "b">]><COLLADA', 1).encode(), "document type"),
    "archive.dae": (b"PK\x03\x04" + b"a" * 100, "not text"),
    "nested.dae": (DAE.replace("<library_v", f"<library_nodes>{NESTED}</library_nodes><library_v", 1).encode(), "instances"),
    "cut.dae": (DAE[:700].encode(), "is damaged"),
    "huge.glb": (glb({"accessors": [{"count": 10**12, "type": "VEC3", "componentType": 5126}]}), "too large"),
    "loop.glb": (glb({"scenes": [{"nodes": [0]}], "nodes": [{"children": [1]}, {"children": [0]}]}), "do not form a tree"),
    "words.glb": (b"glTF" + b"\xff" * 40, "is not a glTF file"),
    "none.gltf": (b"[]", "is not a glTF file"),
    "outside.gltf": (
        json.dumps({
            "asset": {"version": "2.0"}, "buffers": [{"uri": "../../etc/passwd", "byteLength": 12}],
            "bufferViews": [{"buffer": 0, "byteLength": 12}],
            "accessors": [{"bufferView": 0, "count": 1, "type": "VEC3", "componentType": 5126}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "nodes": [{"mesh": 0}], "scenes": [{"nodes": [0]}],
        }).encode(),
        "outside of its folder",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str, tmp_path: Path) -> None:
    if name == "cut.dae":
        pytest.importorskip("collada")
    data, said = HOSTILE[name]
    (tmp_path / name).write_bytes(data)
    began = time.process_time()
    with pytest.raises(FileProblem, match=said):
        read_mesh(tmp_path / name)
    assert time.process_time() - began < 5


def crowded(repeats: int) -> dict[str, bytes]:
    """Files whose nodes show one geometry of a thousand triangles again and again."""
    count, node = "3000", '<node><instance_geometry url="#g"/></node>'
    indices = " ".join(["0 2 1"] * 1000)
    dae = DAE.replace("0 2 1 0 1 3 0 3 2 1 2 3", indices).replace("</visual_scene>", f"{node * repeats}</visual_scene>")
    tree = {
        "asset": {"version": "2.0"}, "buffers": [{"uri": "points.bin", "byteLength": 12 * int(count)}],
        "bufferViews": [{"buffer": 0, "byteLength": 12 * int(count)}],
        "accessors": [{"bufferView": 0, "count": int(count), "type": "VEC3", "componentType": 5126}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}] * repeats, "scenes": [{"nodes": list(range(repeats))}],
    }  # fmt: skip
    return {"a.dae": dae.encode(), "a.gltf": json.dumps(tree).encode()}


@pytest.mark.parametrize("name", ["a.dae", "a.gltf"])
def test_copies_of_a_geometry_are_counted_before_they_are_made(name: str, tmp_path: Path) -> None:
    if name == "a.dae":
        pytest.importorskip("collada")
    (tmp_path / "points.bin").write_bytes(np.random.default_rng(0).random((3000, 3)).astype("<f4").tobytes())
    (tmp_path / name).write_bytes(crowded(3)[name])
    assert len(read_mesh(tmp_path / name).edges) > 2
    (tmp_path / name).write_bytes(crowded(20_000)[name])
    began = time.process_time()
    with pytest.raises(FileProblem, match="is too large"):
        read_mesh(tmp_path / name)
    assert time.process_time() - began < 5


def test_gltf_reads_no_textures_and_limited_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setattr(image, "open", lambda *given: pytest.fail("a texture was opened"))
    (tmp_path / "points.bin").write_bytes(np.random.default_rng(0).random((3000, 3)).astype("<f4").tobytes())
    tree = json.loads(crowded(1)["a.gltf"])
    textured = {
        "images": [{"uri": "points.bin"}], "textures": [{"source": 0}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
    }  # fmt: skip
    tree["meshes"][0]["primitives"][0]["material"] = 0
    (tmp_path / "a.gltf").write_text(json.dumps({**tree, **textured}))
    read_mesh(tmp_path / "a.gltf")
    (tmp_path / "a.gltf").write_text(json.dumps({**tree, "buffers": tree["buffers"] * 40}))
    monkeypatch.setenv("PLIANT_LIMITS", "drawing=1MB")
    with pytest.raises(FileProblem, match="too much data in other files"):
        read_mesh(tmp_path / "a.gltf")
