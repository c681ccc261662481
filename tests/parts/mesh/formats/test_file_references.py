"""Mesh files that reach for other files, as some formats allow, are refused before anything is read from there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pliant.language.source import FileProblem
from pliant.parts.mesh.formats import read_mesh

meshio = pytest.importorskip("meshio")
h5py = pytest.importorskip("h5py")

POINTS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
TRIANGLE = meshio.Mesh(POINTS, [("triangle", np.array([[0, 1, 2]]))])


def refused(path: Path) -> str:
    with pytest.raises(FileProblem) as caught:
        read_mesh(path)
    return str(caught.value)


def test_data_in_the_file_itself_are_read(tmp_path: Path) -> None:
    for name, options in (("a.xdmf", {"data_format": "XML"}), ("a.vtu", {}), ("a.inp", {}), ("a.med", {})):
        TRIANGLE.write(tmp_path / name, **options)
        assert len(read_mesh(tmp_path / name).edges) == 3, name


@pytest.mark.parametrize("spelled", ["Binary", "HDF", "&#66;inary", "binary"])
def test_xdmf_with_data_elsewhere(tmp_path: Path, spelled: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(POINTS.astype("<f8").tobytes())
    folder = tmp_path / "models"
    folder.mkdir()
    TRIANGLE.write(folder / "a.xdmf", data_format="XML")
    text = (folder / "a.xdmf").read_text()
    at = text.index('Format="XML"', text.index("<Geometry"))
    (folder / "a.xdmf").write_text(text[:at] + text[at:].replace("XML", spelled, 1))
    assert refused(folder / "a.xdmf") == "a.xdmf has its data in another file"


@pytest.mark.parametrize("name", ["a.xdmf", "a.vtu"])
def test_xml_that_declares_entities(tmp_path: Path, name: str) -> None:
    TRIANGLE.write(tmp_path / name, **({"data_format": "XML"} if name == "a.xdmf" else {}))
    body = (tmp_path / name).read_text().removeprefix('<?xml version="1.0"?>\n')
    (tmp_path / name).write_text(f'<!DOCTYPE a [<!ENTITY b "{"x" * 1000}">]>\n' + body)
    assert "declares XML entities" in refused(tmp_path / name)
    (tmp_path / name).write_bytes(body.encode("utf-16"))
    assert "declares XML entities, or is not UTF-8" in refused(tmp_path / name)


@pytest.mark.parametrize("word", ["*INCLUDE", "*include", " * Include"])
def test_abaqus_include(tmp_path: Path, word: str) -> None:
    TRIANGLE.write(tmp_path / "inner.inp")
    (tmp_path / "a.inp").write_text(f"*HEADING\n{word}, INPUT=inner.inp\n")
    assert refused(tmp_path / "a.inp") == "a.inp includes another file"


def test_med_with_links_to_other_files(tmp_path: Path) -> None:
    TRIANGLE.write(tmp_path / "inner.med")
    with h5py.File(tmp_path / "a.med", "w") as file:
        file["ENS_MAA"] = h5py.ExternalLink(str(tmp_path / "inner.med"), "/ENS_MAA")
    assert refused(tmp_path / "a.med") == "a.med has its data in another file"
    with h5py.File(tmp_path / "b.med", "w") as file:
        group = file.create_group("x")
        group["again"] = file["/"]  # a circle is no reason to go on for ever
        file.create_dataset("y", (3,), "f8", external=[(str(tmp_path / "raw"), 0, 24)])
    assert refused(tmp_path / "b.med") == "b.med has its data in another file"


def test_med_with_virtual_data_of_other_files(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["secret"] = [1.0, 2.0, 3.0]
    with h5py.File(tmp_path / "a.med", "w") as file:
        layout = h5py.VirtualLayout((3,), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "secret", (3,))
        file.create_virtual_dataset("x", layout)
    assert refused(tmp_path / "a.med") == "a.med has its data in another file"


def test_data_much_larger_than_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_LIMITS", "drawing=1MB")
    with h5py.File(tmp_path / "a.med", "w") as file:
        file.create_dataset("x", (10**7,), "f8", chunks=(10**5,))  # none of them is stored
    assert refused(tmp_path / "a.med") == "a.med is too large when unpacked"
    zeros = np.zeros((10**6, 3))
    zeros[0, 0] = 1.0
    for compression in ("zlib", "lzma"):
        meshio.vtu.write(tmp_path / "a.vtu", meshio.Mesh(zeros, TRIANGLE.cells), compression=compression)
        assert (tmp_path / "a.vtu").stat().st_size < 1e6
        assert refused(tmp_path / "a.vtu") == "a.vtu is too large when unpacked"
    TRIANGLE.write(tmp_path / "a.vtu")
    assert len(read_mesh(tmp_path / "a.vtu").edges) == 3
