"""Mesh readers: the content of a file is read correctly, and no file can crash or hang them."""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

from pliant.cli import run
from pliant.language.source import FileProblem
from pliant.parts.mesh.formats import read_mesh
from pliant.parts.mesh.formats.dxf import DxfLimits
from pliant.parts.mesh.formats.wireframe import _joined, _near_pairs

SLEEVE = Path(os.environ.get("PLIANT_DATA", Path(__file__).parents[5] / "shared" / "data")) / "sleeve.iges"


def iges(lines: list[list[float]], *, unit: str = "2,2HMM", extra: str = "", matrix: str = "") -> str:
    """An IGES file with these lines (6 numbers each), inside a group."""
    head = f",,5Htest1,6Ht.iges,4Htest,4Htest,32,38,6,38,15,,1.,{unit},1,0.01,15H20260101.000000,1E-07,100.,,,11,0,,;"
    globals_ = [head[k : k + 72].ljust(72) for k in range(0, len(head), 72)]
    records = [f"402,{len(lines)}" + "".join(f",{2 * k + 3}" for k in range(len(lines))) + ";"]
    kinds, matrices = [402], [0]
    for line in lines:
        records.append("110," + ",".join(f"{x!r}" for x in line) + ";")
        kinds.append(110)
        matrices.append(2 * len(lines) + 3 if matrix else 0)
    for text in filter(None, (matrix, extra)):
        records.append(text)
        kinds.append(int(text.partition(",")[0]))
        matrices.append(0)
    directory, parameters = [], []
    for k, (kind, record, place) in enumerate(zip(kinds, records, matrices, strict=True)):
        pieces = [record[i : i + 64] for i in range(0, len(record), 64)]
        first = len(parameters) + 1
        parameters += [f"{piece:<64} {2 * k + 1:>7}" for piece in pieces]
        directory.append(f"{kind:>8}{first:>8}{0:>8}{0:>8}{0:>8}{0:>8}{place:>8}{0:>8}00000000")
        directory.append(f"{kind:>8}{0:>8}{0:>8}{len(pieces):>8}{0:>8}{'':>24}{0:>8}")
    out = [f"{'test':<72}S      1"]
    for letter, section in (("G", globals_), ("D", directory), ("P", parameters)):
        out += [f"{text:<72}{letter}{k:>7}" for k, text in enumerate(section, start=1)]
    return "\n".join([*out, "S      1G      1D      1P      1".ljust(72) + "T      1", ""])


def dxf(entities: str, unit: int = 4) -> str:
    header = f"0\nSECTION\n2\nHEADER\n9\n$INSUNITS\n70\n{unit}\n0\nENDSEC\n"
    return header + f"0\nSECTION\n2\nENTITIES\n{entities}0\nENDSEC\n0\nEOF\n"


def dxf_line(a: tuple[float, ...], b: tuple[float, ...]) -> str:
    return "0\nLINE\n8\n0\n" + "".join(
        f"{code}\n{x}\n" for code, x in zip((10, 20, 30, 11, 21, 31), (*a, *b), strict=True)
    )


TRIANGLES = np.array(
    [[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[1, 0, 0], [1, 1, 0], [0, 1, 0]]], dtype=float
)  # a square cut in two


def stl_text(triangles: np.ndarray) -> str:
    facets = [
        "facet normal 0 0 1\nouter loop\n"
        + "".join(f"vertex {x:g} {y:g} {z:g}\n" for x, y, z in t)
        + "endloop\nendfacet\n"
        for t in triangles
    ]
    return "solid square\n" + "".join(facets) + "endsolid square\n"


def stl_binary(triangles: np.ndarray) -> bytes:
    records = b"".join(struct.pack("<12fH", 0, 0, 1, *t.ravel(), 0) for t in triangles)
    return b"solid but binary".ljust(80) + struct.pack("<I", len(triangles)) + records


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_the_published_sleeve(capsys: pytest.CaptureFixture[str]) -> None:
    if not SLEEVE.is_file():
        pytest.skip(f"the published sleeve is not at {SLEEVE}")
    assert run(["mesh", str(SLEEVE), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["nodes"], answer["edges"], answer["merged"], answer["orphans"]) == (15, 22, 29, 0)
    assert (answer["unit"], answer["unit_assumed"]) == ("mm", False)
    np.testing.assert_allclose(answer["bounds_m"], [[-0.04, 0, -0.333], [0.036, 0.044, 0]], atol=1e-9)
    assert run(["mesh", str(SLEEVE)]) == 0
    assert "15, of which 0 have one edge" in capsys.readouterr().out


@pytest.mark.parametrize(("unit", "metres"), [("2,2HMM", 1e-3), ("1,2HIN", 0.0254), ("6,1HM", 1.0), ("3,2HCM", 0.01)])
def test_iges_lines_in_their_units(unit: str, metres: float, tmp_path: Path) -> None:
    path = written(tmp_path, "a.iges", iges([[0, 0, 0, 3, 0, 0], [3, 0, 1e-9, 3, 4, 0], [3, 4, 0, 3, 0, 0]], unit=unit))
    found = read_mesh(path)
    np.testing.assert_allclose(found.nodes, metres * np.array([[0, 0, 0], [3, 0, 0], [3, 4, 0]]), rtol=1e-12)
    assert found.edges.tolist() == [[0, 1], [1, 2]]
    assert (found.lines, found.merged, found.repeated) == (3, 3, 1)


def test_iges_transformations_polylines_and_points(tmp_path: Path) -> None:
    quarter_turn = "124,0.,-1.,0.,10.,1.,0.,0.,0.,0.,0.,1.,5.;"
    found = read_mesh(written(tmp_path, "a.igs", iges([[0, 0, 0, 2, 0, 0]], matrix=quarter_turn)))
    np.testing.assert_allclose(1e3 * found.nodes, [[10, 0, 5], [10, 2, 5]], atol=1e-12)
    polyline = "106,2,3,0.,0.,0.,0.,1.,0.,0.,1.,1.;"
    found = read_mesh(written(tmp_path, "b.igs", iges([[0, 0, 0, 2, 0, 0]], extra=polyline)))
    assert found.edges.tolist() == [[0, 1], [0, 2], [2, 3]]
    assert found.merged == 1
    arc = "100,0.,0.,0.,1.,0.,0.,1.;"
    assert read_mesh(written(tmp_path, "c.igs", iges([[0, 0, 0, 2, 0, 0]], extra=arc))).ignored == {"entity 100": 1}


def test_dxf_lines_polylines_and_faces(tmp_path: Path) -> None:
    square = "0\nLWPOLYLINE\n100\nAcDbEntity\n100\nAcDbPolyline\n70\n1\n38\n2\n"
    square += "10\n0\n20\n0\n10\n1\n20\n0\n10\n1\n20\n1\n10\n0\n20\n1\n"
    face = "0\n3DFACE\n10\n0\n20\n0\n30\n2\n11\n1\n21\n0\n31\n2\n12\n1\n22\n1\n32\n2\n13\n0\n23\n1\n33\n2\n"
    words = "0\nTEXT\n10\n0\n20\n0\n40\n1\n1\nhello\n"
    path = written(tmp_path, "a.dxf", dxf(dxf_line((0, 0, 0), (0, 0, 2)) + square + face + words, unit=5))
    found = read_mesh(path)
    corners = [[0, 0, 0], [0, 0, 2], [1, 0, 2], [1, 1, 2], [0, 1, 2]]
    np.testing.assert_allclose(found.nodes, 0.01 * np.array(corners))
    assert found.edges.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 1]]
    assert (found.unit, found.repeated, found.ignored) == ("cm", 4, {"TEXT": 1})


def test_dxf_polylines_in_axes_of_their_own(tmp_path: Path) -> None:
    corners = "10\n0\n20\n0\n10\n10\n20\n0\n10\n10\n20\n5\n"
    mirrored = "0\nLWPOLYLINE\n100\nAcDbEntity\n100\nAcDbPolyline\n90\n3\n210\n0\n220\n0\n230\n-1\n" + corners
    tilted = "0\nLWPOLYLINE\n100\nAcDbEntity\n100\nAcDbPolyline\n90\n3\n38\n2\n210\n1\n220\n0.2\n230\n0.3\n" + corners
    # files without a header are read as those with one, and older versions as those that know such polylines
    texts = [dxf(mirrored + tilted), dxf(mirrored + tilted).partition("ENDSEC\n")[2]]
    texts += [texts[0].replace("9\n$INS", f"9\n$ACADVER\n1\n{version}\n9\n$INS") for version in ("AC1009", "AC1027")]
    # where ezdxf 1.4.5 places these polylines (`vertices_in_wcs`)
    expected = [
        *([0, 0, 0], [-10, 0, 0], [-10, 5, 0]),
        *([1.8814, 0.3763, 0.5644], [-0.0797, 10.1821, 0.5644], [-1.4634, 9.9054, 5.3612]),
    ]
    for text in texts:
        found = read_mesh(written(tmp_path, "a.dxf", text), unit="mm")
        np.testing.assert_allclose(1e3 * found.nodes, expected, atol=6e-5)


def test_what_dxf_files_hold_besides_lines_is_counted(tmp_path: Path) -> None:
    paper = dxf_line((500, 0, 0), (501, 0, 0)).replace("8\n0\n", "8\n0\n67\n1\n", 1)
    words = "0\nTEXT\n10\n0\n20\n0\n40\n1\n1\nhello\n"
    found = read_mesh(written(tmp_path, "a.dxf", dxf(paper + 2 * words + dxf_line((0, 0, 0), (1, 0, 0)))))
    np.testing.assert_allclose(found.nodes, [[0, 0, 0], [1e-3, 0, 0]])
    assert found.ignored == {"LINE on paper": 1, "TEXT": 2}


def drawn(path: Path, draw: Callable[[Any], None]) -> Path:
    """A DXF file in metres that ezdxf writes."""
    document = pytest.importorskip("ezdxf").new(units=6)
    draw(document)
    document.saveas(path)
    return path


def test_dxf_curves_are_chords_on_them(tmp_path: Path) -> None:
    """Every node is on the curve, and no chord is farther from it than a hundredth of the radius."""

    def draw(document: Any) -> None:
        space = document.modelspace()
        space.add_circle((0, 0, 1), radius=2)
        space.add_arc((10, 0, 0), radius=3, start_angle=30, end_angle=120)
        space.add_lwpolyline([(20, 0, 1), (22, 0, 0), (22, 5, 0)], format="xyb")  # a half circle, then a line
        space.add_ellipse((30, 0, 0), major_axis=(2, 0, 0), ratio=0.5)

    found = read_mesh(drawn(tmp_path / "a.dxf", draw))
    middles = found.nodes[found.edges].mean(axis=1)

    def distances(points: np.ndarray, center: tuple[float, float], radius: float) -> np.ndarray:
        return np.abs(np.linalg.norm(points[:, :2] - center, axis=1) - radius) / radius

    for low, high, center, radius in ((-3, 3, (0, 0), 2), (7, 14, (10, 0), 3), (19, 23, (21, 0), 1)):
        nodes, chords = (x[(x[:, 0] > low) & (x[:, 0] < high) & (x[:, 1] < 4)] for x in (found.nodes, middles))
        chords = chords[chords[:, 1] < 2] if radius == 1 else chords
        chords = chords[chords[:, 1] <= 0] if radius == 1 else chords
        assert len(nodes) > 5
        assert distances(nodes, center, radius).max() < 1e-12
        assert 1e-3 < distances(chords, center, radius).max() < 0.0101
    ellipse = found.nodes[found.nodes[:, 0] > 25] - [30, 0, 0]
    np.testing.assert_allclose((ellipse[:, 0] / 2) ** 2 + ellipse[:, 1] ** 2, 1)
    assert [22, 5, 0] in found.nodes.round(12).tolist()
    assert found.pieces == 4


def test_dxf_splines_pass_through_their_points(tmp_path: Path) -> None:
    corners = [(0, 0, 0), (1, 2, 0), (3, 2, 1), (4, 0, 0)]
    found = read_mesh(drawn(tmp_path / "a.dxf", lambda document: document.modelspace().add_open_spline(corners)))
    # one cubic from corner to corner: a Bezier curve
    t = np.linspace(0, 1, 20001)[:, None]
    p = np.array(corners, dtype=float)
    curve = (1 - t) ** 3 * p[0] + 3 * t * (1 - t) ** 2 * p[1] + 3 * t**2 * (1 - t) * p[2] + t**3 * p[3]
    far = [np.linalg.norm(curve - node, axis=1).min() for node in found.nodes]
    assert len(found.nodes) > 8
    assert max(far) < 1e-3
    np.testing.assert_allclose(found.nodes[[0, -1]], [corners[0], corners[-1]])


def test_dxf_blocks(tmp_path: Path) -> None:
    """Nested blocks, rotated, scaled and in rows; entities on layer 0 are on that of the reference."""

    def draw(document: Any) -> None:
        inner = document.blocks.new("inner")
        inner.add_line((0, 0), (1, 0))
        inner.add_line((0, 0), (0, 1), dxfattribs={"layer": "own"})
        outer = document.blocks.new("outer")
        outer.add_blockref("inner", (10, 0), dxfattribs={"rotation": 90, "xscale": 2, "yscale": 2})
        document.modelspace().add_blockref(
            "outer", (0, 0, 5), dxfattribs={"layer": "net", "column_count": 3, "column_spacing": 100}
        )
        document.modelspace().add_blockref("nowhere", (0, 0))
        document.add_xref_def("/etc/passwd.dxf", "elsewhere")
        document.modelspace().add_blockref("elsewhere", (0, 0))

    found = read_mesh(drawn(tmp_path / "a.dxf", draw))
    expected = [[x, y, 5] for shift in (0, 100, 200) for x, y in ((10 + shift, 0), (10 + shift, 2), (8 + shift, 0))]
    assert sorted(found.nodes.round(9).tolist()) == sorted(map(list, expected))
    assert {name: len(nodes) for name, nodes in found.labels.items()} == {"net": 6, "own": 6}
    assert found.ignored == {"INSERT of a block that is not in the file": 2}


def test_dxf_faces_by_their_sides(tmp_path: Path) -> None:
    def draw(document: Any) -> None:
        space = document.modelspace()
        space.add_polyline3d([(0, 0, 0), (1, 0, 0), (1, 1, 2)])
        surface = space.add_polyface()
        surface.append_faces([[(5, 0, 0), (6, 0, 0), (6, 1, 0), (5, 1, 0)], [(6, 0, 0), (7, 0, 0), (6, 1, 0)]])
        surface.optimize()

    found = read_mesh(drawn(tmp_path / "a.dxf", draw))
    assert (len(found.nodes), len(found.edges), found.pieces) == (3 + 5, 2 + 6, 2)


def test_dxf_blocks_that_hold_themselves_or_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pliant.parts.mesh.formats.dxf.BLOCKS", DxfLimits(copies=1000))

    def loop(document: Any) -> None:
        block = document.blocks.new("a")
        block.add_line((0, 0), (1, 0))
        block.add_blockref("a", (1, 1))
        document.modelspace().add_blockref("a", (0, 0))

    def bomb(document: Any) -> None:
        document.blocks.new("b0").add_line((0, 0), (1, 0))
        for level in range(1, 12):
            block = document.blocks.new(f"b{level}")
            for k in range(10):
                block.add_blockref(f"b{level - 1}", (k, level))
        document.modelspace().add_blockref("b11", (0, 0))

    def rows(document: Any) -> None:
        document.blocks.new("c").add_line((0, 0), (1, 0))
        counts = {"column_count": 30000, "row_count": 30000, "column_spacing": 1, "row_spacing": 1}
        document.modelspace().add_blockref("c", (0, 0), dxfattribs=counts)

    for draw, words in ((loop, "more than 16 deep"), (bomb, "too large"), (rows, "too large")):
        start = time.perf_counter()
        with pytest.raises(FileProblem, match=words):
            read_mesh(drawn(tmp_path / "a.dxf", draw))
        assert time.perf_counter() - start < 5


def test_lines_end_at_line_ends_only(tmp_path: Path) -> None:
    drawing = dxf(dxf_line((0, 0, 0), (1000, 0, 0))).replace("8\n0\n", "8\nRand\x85 alt\x0c\n", 1)
    (tmp_path / "net.dxf").write_bytes(drawing.encode("latin-1"))
    assert len(read_mesh(tmp_path / "net.dxf").edges) == 1
    (tmp_path / "face.obj").write_bytes(b"v 0 0 0\r\nv 1 0 0\r\nv 0 1 0\r\nf 1 2 \\\r\n3\r\n")
    assert len(read_mesh(tmp_path / "face.obj").edges) == 3


@pytest.mark.parametrize("turned", [False, True])
def test_long_lines_are_cut_where_they_cross(turned: bool, tmp_path: Path) -> None:
    # three lines each way, as a net is drawn; one of them ends on another, and one passes above them all
    flat = [((0, y), (20, y)) for y in (0, 10, 20)] + [((x, 0), (x, 20)) for x in (0, 10)] + [((20, 10), (20, 20))]
    ends = np.array([[[*a, 0], [*b, 0]] for a, b in flat] + [[[0, 5, 3], [20, 5, 3]]], dtype=float)
    if turned:
        ends = ends @ np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    path = written(tmp_path, "a.dxf", dxf("".join(dxf_line(tuple(a), tuple(b)) for a, b in ends)))
    whole, cut = read_mesh(path), read_mesh(path, split=True)
    assert (len(whole.edges), whole.lines, whole.pieces) == (7, 7, 3)
    # 9 crossings less the corner that the short line does not reach, of which the end of its line remains, and the line above
    assert (len(cut.nodes), len(cut.edges), cut.lines, cut.pieces) == (11, 12, 7, 2)
    lengths = np.linalg.norm(np.diff(cut.nodes[cut.edges], axis=1)[:, 0], axis=1)
    np.testing.assert_allclose(np.sort(lengths), [0.01] * 11 + [0.02], atol=1e-9)
    assert len(cut.labels["0"]) == 11


def test_lines_that_lie_on_each_other_are_cut_at_their_ends(tmp_path: Path) -> None:
    lines = dxf_line((0, 0, 0), (3, 0, 0)) + dxf_line((1, 0, 0), (4, 0, 0)) + dxf_line((2, 0, 0), (2, 1, 0))
    found = read_mesh(written(tmp_path, "a.dxf", dxf(lines)), split=True)
    assert (len(found.nodes), len(found.edges), found.repeated, found.pieces) == (6, 5, 2, 1)


def test_surfaces_by_their_edges(tmp_path: Path) -> None:
    obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n"
    ply = (
        "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 2\n"
        "property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n3 0 1 2\n3 1 3 2\n"
    )
    files = {"a.stl": stl_text(TRIANGLES), "b.stl": stl_binary(TRIANGLES), "c.obj": obj, "d.ply": ply}
    for name, content in files.items():
        found = read_mesh(written(tmp_path, name, content), unit="mm")
        assert (len(found.nodes), len(found.edges)) == (4, 5), name
        np.testing.assert_allclose(found.bounds, [[0, 0, 0], [1e-3, 1e-3, 0]])
        assert (found.unit, found.assumed) == ("mm", False)
        assert read_mesh(tmp_path / name).assumed


def test_faces_with_more_corners_get_no_diagonals(tmp_path: Path) -> None:
    obj = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 2 0\nf 1/1 2/2 3/3 -2//\nf 2 5 3\nl 1 5\n"
    ply = (
        "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\nelement face 2\n"
        "property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n2 2 0\n4 0 1 2 3\n3 1 4 2\n"
    )
    head, _, body = ply.partition("end_header\n")
    records = [np.array(line.split(), dtype=float) for line in body.splitlines()]
    packed = [
        struct.pack(">3f", *r) if len(r) == 3 else struct.pack(f">B{len(r) - 1}i", int(r[0]), *map(int, r[1:]))
        for r in records
    ]
    binary = head.replace("ascii", "binary_big_endian").encode() + b"end_header\n" + b"".join(packed)
    square = {(0, 1), (1, 2), (2, 3), (0, 3), (1, 4), (2, 4)}
    for name, content, more in (("a.obj", obj, {(0, 4)}), ("b.ply", ply, set()), ("c.ply", binary, set())):
        found = read_mesh(written(tmp_path, name, content))
        ends = {tuple(sorted(int(k) for k in np.sum(found.nodes[edge] * [1, 10, 0], axis=1))) for edge in found.edges}
        number = {0: 0, 1: 1, 11: 2, 10: 3, 22: 4}
        assert {tuple(sorted(number[x] for x in pair)) for pair in ends} == square | more, name


def test_names_in_files_are_labels_of_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layers = dxf(dxf_line((0, 0, 0), (1, 0, 0)).replace("8\n0", "8\nrim") + dxf_line((1, 0, 0), (1, 1, 0)))
    path = written(tmp_path, "a.dxf", layers)
    assert {name: nodes.tolist() for name, nodes in read_mesh(path).labels.items()} == {"rim": [0, 1], "0": [1, 2]}
    assert run(["mesh", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == {"rim": 2, "0": 2}
    groups = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\ng low\nf 1 2 3\ng high all\nf 2 4 3\n"
    found = read_mesh(written(tmp_path, "b.obj", groups)).labels
    assert {name: nodes.tolist() for name, nodes in found.items()} == {
        "low": [0, 1, 2],
        "high": [1, 2, 3],
        "all": [1, 2, 3],
    }
    meshio = pytest.importorskip("meshio")
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=float)
    cells = [("tetra", [[0, 1, 2, 3], [1, 2, 3, 4]])]
    meshio.write(
        tmp_path / "c.inp", meshio.Mesh(points, cells, point_sets={"base": [0, 1, 2]}, cell_sets={"upper": [[1]]})
    )
    found = read_mesh(tmp_path / "c.inp").labels
    assert {name: nodes.tolist() for name, nodes in found.items()} == {"base": [0, 1, 2], "upper": [1, 2, 3, 4]}
    data = {"gmsh:physical": [np.array([7, 8])], "gmsh:geometrical": [np.array([1, 1])]}
    fields = {"foot": np.array([7, 3]), "head": np.array([8, 3])}
    meshio.write(
        tmp_path / "d.msh", meshio.Mesh(points, cells, cell_data=data, field_data=fields), file_format="gmsh22"
    )
    found = read_mesh(tmp_path / "d.msh").labels
    assert {name: nodes.tolist() for name, nodes in found.items()} == {"foot": [0, 1, 2, 3], "head": [1, 2, 3, 4]}


def test_tetrahedra_through_meshio(tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=float)
    path = tmp_path / "a.vtk"
    meshio.write(path, meshio.Mesh(points, [("tetra", [[0, 1, 2, 3], [1, 2, 3, 4]])]))
    found = read_mesh(path)
    # two tetrahedra that share a face: 6 + 6 - 3 edges
    assert (len(found.nodes), len(found.edges), found.assumed) == (5, 9, True)


def test_points_between_the_corners_of_cells_are_left_out(tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    between = [(corners[a] + corners[b]) / 2 for a, b in ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))]
    path = tmp_path / "a.vtk"
    # points between the corners come first, so that the numbers of the corners change
    meshio.write(path, meshio.Mesh([*between, *corners], [("tetra10", [[6, 7, 8, 9, 0, 1, 2, 3, 4, 5]])]))
    found = read_mesh(path)
    np.testing.assert_allclose(np.sort(found.nodes, axis=0), np.sort(corners, axis=0))
    assert (len(found.edges), found.orphans, found.ignored) == (6, 0, {"point between corners": 6})


def test_tolerance_and_orphans(tmp_path: Path) -> None:
    text = iges([[0, 0, 0, 10, 0, 0], [10.5, 0, 0, 20, 0, 0], [20, 0, 0, 20.2, 0, 0]], extra="116,0.,50.,0.,0;")
    path = written(tmp_path, "a.iges", text)
    apart, together = read_mesh(path), read_mesh(path, tolerance=1e-3)
    assert (len(apart.nodes), len(apart.edges), apart.orphans, apart.merged) == (6, 3, 1, 1)
    assert (len(together.nodes), len(together.edges), together.short, together.orphans) == (4, 2, 1, 1)
    with pytest.raises(FileProblem, match="larger than the mesh width"):
        read_mesh(written(tmp_path, "b.iges", iges([[0, 0, k, 1, 0, k] for k in range(200)])), tolerance=1.0)


BAD: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("a.iges", "", "is empty"),
    "binary": ("a.iges", b"\x00\x01\x02" * 50, "is a binary file"),
    "text": ("a.iges", "hello\n" * 20, "is not an IGES file"),
    "no lines": ("a.iges", iges([], extra="100,0.,0.,0.,1.,0.,0.,1.;"), "has no lines"),
    "unit": ("a.iges", iges([[0, 0, 0, 1, 0, 0]], unit="3,5HPARSE"), "unknown unit"),
    "number": ("a.iges", iges([[0, 0, 0, 1, 0, 0]]).replace("110,0,0", "110,x,0"), "no number where one is needed"),
    "short line": ("a.iges", iges([[0, 0, 0, 1, 0]]), "a line of a.iges has too few coordinates"),
    "short point": ("a.iges", iges([], extra="116,0.,1.;"), "a point of a.iges has too few coordinates"),
    "huge number": ("a.iges", iges([[0, 0, 0, 1e308, 0, 0]], unit="7,2HKM"), "is not finite"),
    "binary dxf": ("a.dxf", "AutoCAD Binary DXF\r\n", "binary DXF"),
    "dxf": ("a.dxf", "0\nSECTION\n2\nHEADER\n0\nENDSEC\n", "no section ENTITIES"),
    "stl": ("a.stl", b"\xff" * 200, "is not an STL file"),
    "cut stl": ("a.stl", stl_binary(TRIANGLES)[:-10], "is not an STL file"),
    "obj": ("a.obj", "v 0 0 0\n", "a.obj has no lines"),
    "obj point": ("a.obj", "v 0 0\n", "line 1 of a.obj is not a point"),
    "obj corner": ("a.obj", "v 0 0 0\nv 0 0 1\nf 1 2 3\n", "line 3 of a.obj refers to a point"),
    "obj zero": ("a.obj", "v 0 0 0\nv 0 0 1\nf 1 0 2\n", "line 3 of a.obj refers to a point"),
    "obj short": ("a.obj", "v 0 0 0\nv 0 0 1\nf 1\n", "line 3 of a.obj has too few corners"),
    "ply": ("a.ply", "ply\nformat ascii 1.0\nelement vertex 9\n", "has no complete header"),
    "suffix": ("a.txt", "hello", "an unknown mesh format"),
    "point": ("a.iges", iges([[1, 1, 1, 1, 1, 1]]), "are the same"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, content, message = BAD[name]
    path = written(tmp_path, file, content)
    with pytest.raises(FileProblem, match=message):
        read_mesh(path)
    assert run(["mesh", str(path), "--json"]) == 2
    out = capsys.readouterr()
    assert json.loads(out.out)["status"] == "error"
    assert "Traceback" not in out.err


def test_lines_of_impossible_length_are_refused_before_they_are_cut(tmp_path: Path) -> None:
    path = written(
        tmp_path, "a.dxf", dxf(dxf_line((0, 0, 0), (1e200, 0, 0)) + dxf_line((0, 1e200, 0), (1e200, -1e200, 0)))
    )
    with pytest.raises(FileProblem, match="implausibly large"):
        read_mesh(path, split=True)


def test_huge_and_missing_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.iges"
    with path.open("wb") as file:
        file.truncate(60_000_000)
    with pytest.raises(FileProblem, match="too large"):
        read_mesh(path)
    claims = b"x".ljust(80) + struct.pack("<I", 4_000_000_000) + b"0" * 50
    with pytest.raises(FileProblem):
        read_mesh(written(tmp_path, "b.stl", claims))
    with pytest.raises(FileProblem, match="cannot read"):
        read_mesh(tmp_path / "none.stl")
    with pytest.raises(FileProblem, match="not a unit of length"):
        read_mesh(written(tmp_path, "c.stl", stl_text(TRIANGLES)), unit="kg")


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """A few random changes: bytes, numbers, whole lines, cuts, repeats."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(0, max(1, len(out))))
        match int(rng.integers(0, 6)):
            case 0:
                out[at : at + 1] = bytes([int(rng.integers(0, 256))])
            case 1:
                del out[at : at + int(rng.integers(1, 100))]
            case 2:
                out[at:at] = out[at : at + int(rng.integers(1, 200))]
            case 3:
                out[at:at] = rng.choice([b"1e999", b"-1", b"99999999999", b"nan", b";", b",", b"\n", b"4294967295H"])
            case 4:
                lines = bytes(out).split(b"\n")
                rng.shuffle(lines)
                out = bytearray(b"\n".join(lines))
            case _:
                digits = [k for k, byte in enumerate(out) if 48 <= byte < 58]
                if digits:
                    out[digits[int(rng.integers(0, len(digits)))]] = 48 + int(rng.integers(0, 10))
    return bytes(out)


SOUND: dict[str, Callable[[], bytes]] = {
    "iges": lambda: iges(
        [[0, 0, k, 1, 0, k] for k in range(6)], matrix="124,1.,0.,0.,0.,0.,1.,0.,0.,0.,0.,1.,0.;"
    ).encode(),
    "dxf": lambda: dxf("".join(dxf_line((0, 0, k), (1, 0, k)) for k in range(6))).encode(),
    "stl": lambda: stl_text(TRIANGLES).encode(),
    "binary.stl": lambda: stl_binary(TRIANGLES),
    "ply": lambda: (
        b"ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 2\n"
        b"property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n3 0 1 2\n3 1 3 2\n"
    ),
    "obj": lambda: b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 2 0\ng rim\nf 1/1 2/2 3/3 -2//\nf 2 5 3\nl 1 5\n",
}


@pytest.mark.parametrize("kind", SOUND)
def test_mutated_files_never_crash_or_hang(kind: str, tmp_path: Path) -> None:
    """125 files of each kind (750 in all) are read or refused, each within a second."""
    rng = np.random.default_rng(len(kind))
    sound = SOUND[kind]()
    path = tmp_path / f"a.{kind}"
    path.write_bytes(sound)
    read_mesh(path)
    refused = 0
    for _ in range(125):
        path.write_bytes(mutated(sound, rng))
        start = time.perf_counter()
        try:
            found = read_mesh(path)
        except FileProblem:
            refused += 1
        else:
            assert np.all(np.isfinite(found.nodes))
            assert found.edges.max() < len(found.nodes)
        assert time.perf_counter() - start < 1
    assert refused > 10


@pytest.mark.parametrize(("count", "tolerance"), [(300, 0.05), (2000, 0.02), (2000, 1e-9), (1, 1.0), (40, 3.0)])
def test_near_pairs_and_what_they_join(count: int, tolerance: float) -> None:
    points = np.random.default_rng(5).random((count, 3))
    tree = scipy.spatial.cKDTree(points)
    expected = {(int(min(pair)), int(max(pair))) for pair in tree.query_pairs(tolerance)}
    found = _near_pairs(points, tolerance, most=len(expected))
    assert found is not None
    assert len(found) == len(expected)
    assert {(min(pair), max(pair)) for pair in found.tolist()} == expected
    label = _joined(count, found)
    graph = scipy.sparse.coo_matrix((np.ones(len(found)), found.T), shape=(count, count))
    parts, other = scipy.sparse.csgraph.connected_components(graph, directed=False)
    assert len(set(label.tolist())) == len(set(zip(label.tolist(), other.tolist(), strict=True))) == parts
    if expected:
        assert _near_pairs(points, tolerance, most=len(expected) - 1) is None
