"""Sound inputs of all kinds, which fuzzing damages, and grammars that it writes texts by."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import random
import re
import struct
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

import h5py
import numpy as np

from make_reference import PAGE, examples
from pliant.analysis.derivation.derive import derive
from pliant.analysis.path import continuation
from pliant.analysis.simulate import simulate
from pliant.io.results import load_result
from pliant.language.names import FUNCTIONS
from pliant.language.source import MODEL_FOLDER, bundled
from pliant.robot.reader import load
from pliant.study.many import sweep
from pliant.targets.fmu import export_fmu

BROKEN = Path(__file__).parents[1] / "spec" / "broken"


@cache
def models() -> list[str]:
    """The bundled robots, the examples of the reference, and the broken models of the tests."""
    texts = [(MODEL_FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in bundled()]
    texts += examples(PAGE.read_text(encoding="utf-8"))
    return texts + [path.read_text(encoding="utf-8") for path in sorted(BROKEN.glob("*.yaml"))]


@cache
def small_models() -> list[str]:
    """Bundled robots that are quick to analyse."""
    names = (
        "pendulum",
        "cart_pole",
        "double_pendulum",
        "four_bar",
        "hopper",
        "spring_mass_chain",
        "tumbling_body",
        "leg",
    )
    return [(MODEL_FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in (*names, "cc_arm_2", "stiff_flop")]


# -- drawings ----------------------------------------------------------------------------------------------------------------

SQUARE = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
TETRAHEDRA = ([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], [("tetra", [[0, 1, 2, 3], [1, 2, 3, 4]])])


@cache
def robots() -> list[tuple[str, str]]:
    """Robots in other formats: how the name ends, and the text."""
    root = Path(__file__).parents[2]
    files = [*(root / "tests" / "foreign" / "robots").iterdir(), *(root / "examples").glob("*.urdf")]
    return [(file.suffix, file.read_text(encoding="utf-8")) for file in sorted(files)]


@cache
def fmus() -> list[dict[str, bytes]]:
    """Contents of FMUs of both versions, by the names of their files; without libraries, and without most sources."""
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for version in ("3.0", "2.0"):
            file = Path(folder) / "cart_pole.fmu"
            with patch("pliant.targets.fmu.find_compiler", lambda: None):
                export_fmu(derive(load("cart_pole")), file, version=version)
            with zipfile.ZipFile(file) as archive:
                kept = [name for name in archive.namelist() if name.endswith((".xml", ".html", "/cart_pole.h"))]
                found.append(
                    {name: archive.read(name) for name in kept} | {"binaries/linux64/cart_pole.so": b"no library"}
                )
    return found


def crafted_fmu(contents: dict[str, bytes], chance: random.Random) -> bytes:
    """An FMU as a stranger may write it: files outside of it, bombs, endless descriptions, links, copies, passwords."""
    files = [*contents.items()]
    text = contents["modelDescription.xml"]
    value = chance.choice(
        [b"nan", b"-1", b"1e999", b"9" * 40, b"x", b"", b"../../evil", b"\xff\xfe", b"&#0;", b"&lt;", b"a" * 10**6]
    )
    attributes = re.findall(rb'[A-Za-z]+="[^"]*"', text)
    damage = chance.randrange(10)
    if damage == 0:
        name = chance.choice(["../x", "/tmp/x", "a/../../x", "C:\\x", "a" * 5000, "x\0y", "", ".", "binaries"])
        files.append((name, b"x"))
    elif damage == 1:
        files.append(("resources/zeros", bytes(chance.choice([10**5, 6 * 10**7]))))
    elif damage == 2:
        entity = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
        text = text.replace(b"?>", b"?>" + entity, 1).replace(b"Pliant", b"&b;")
    elif damage == 3:
        depth = chance.choice([300, 100_000])
        text = text.replace(b"<ModelVariables>", b"<ModelVariables>" + b"<a>" * depth + b"</a>" * depth, 1)
    elif damage == 4:
        line = chance.choice(re.findall(rb"<(?:Float64|Unit|ScalarVariable).*", text))
        text = text.replace(line, line * chance.choice([2, 20_000]), 1)
    elif damage == 5:
        files = [(name, data) for name, data in files if name != "modelDescription.xml"] * 2
    else:
        for _ in range(chance.randrange(1, 4)):
            old = chance.choice(attributes)
            text = text.replace(old, old.split(b"=")[0] + b'="' + value + b'"', 1)
    return _archive([(name, text if name == "modelDescription.xml" else data) for name, data in files], chance)


def _archive(files: list[tuple[str, bytes]], chance: random.Random) -> bytes:
    """A ZIP file, some of whose members are links or have a password."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # names that are there twice
        for name, data in files:
            info = zipfile.ZipInfo(name or "x")
            if chance.random() < 0.02:
                info.external_attr = 0o120777 << 16  # a link
            if chance.random() < 0.02:
                info.flag_bits |= 1  # a password
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


@cache
def drawings() -> list[tuple[str, bytes]]:
    """Small files of all formats: the ending of the name, and the content."""
    found = [(".dxf", _dxf()), (".obj", _obj()), (".stl", _stl_text()), (".stl", _stl_binary())]
    found += [(".ply", _ply(order)) for order in ("ascii", "binary_little_endian", "binary_big_endian")]
    found += [(".iges", _sleeve_lines())] * 2
    return found + _volumes() + _scenes()


_DXF_SPLINE = "0\nSPLINE\n100\nAcDbEntity\n8\n0\n100\nAcDbSpline\n70\n8\n71\n2\n72\n6\n73\n3\n" + "".join(
    f"40\n{knot}\n" for knot in (0, 0, 0, 1, 1, 1)
) + "".join(f"10\n{x}\n20\n{x * x}\n30\n0\n" for x in range(3))  # fmt: skip
_DXF_REFERENCE = (
    "0\nINSERT\n100\nAcDbEntity\n8\nnet\n100\nAcDbBlockReference\n2\ncell\n10\n5\n20\n0\n41\n2\n50\n30\n70\n3\n44\n4\n"
)
_DXF_BLOCK = (
    "0\nSECTION\n2\nBLOCKS\n0\nBLOCK\n100\nAcDbEntity\n8\n0\n100\nAcDbBlockBegin\n2\ncell\n70\n0\n10\n0\n20\n0\n30\n0\n3\ncell\n"
    "0\nLINE\n100\nAcDbEntity\n8\n0\n100\nAcDbLine\n10\n0\n20\n0\n11\n1\n21\n0\n"
    "0\nENDBLK\n100\nAcDbEntity\n8\n0\n100\nAcDbBlockEnd\n0\nENDSEC\n"
)


def _dxf() -> bytes:
    square = (
        "0\nLWPOLYLINE\n100\nAcDbEntity\n8\nrim\n100\nAcDbPolyline\n70\n1\n38\n2\n210\n0\n220\n0.6\n230\n0.8\n"
        + "".join(f"10\n{x}\n20\n{y}\n42\n0.5\n" for x, y, _ in SQUARE)
    )
    corners = "".join(f"0\nVERTEX\n8\n0\n10\n{x}\n20\n{y}\n30\n{z}\n" for x, y, z in SQUARE)
    polyline = f"0\nPOLYLINE\n8\n0\n66\n1\n70\n9\n{corners}0\nSEQEND\n"
    face = "0\n3DFACE\n8\nskin\n" + "".join(
        f"{10 * (axis + 1) + k}\n{p[axis]}\n" for k, p in enumerate(SQUARE) for axis in range(3)
    )
    lines = "".join(f"0\nLINE\n8\n0\n10\n{k}\n20\n0\n30\n0\n11\n0\n21\n{k}\n31\n1\n" for k in range(1, 6))
    curves = (
        "0\nCIRCLE\n10\n0\n20\n0\n40\n1\n0\nARC\n10\n0\n20\n0\n40\n1\n50\n10\n51\n200\n" + _DXF_SPLINE + _DXF_REFERENCE
    )
    entities = lines + square + polyline + face + curves + "0\nPOINT\n8\n0\n10\n1\n20\n2\n30\n3\n"
    header = "0\nSECTION\n2\nHEADER\n9\n$ACADVER\n1\nAC1015\n9\n$INSUNITS\n70\n4\n0\nENDSEC\n"
    return (header + _DXF_BLOCK + f"0\nSECTION\n2\nENTITIES\n{entities}0\nENDSEC\n0\nEOF\n").encode()


def _obj() -> bytes:
    points = "".join(f"v {x} {y} {z}\n" for x, y, z in SQUARE)
    return (points + "g low\nf 1/1 2/2 3/3\nf -1 -2 -4\ng high all\nl 1 3\nf 1 2 3 \\\n4\n").encode()


def _stl_text() -> bytes:
    corners = "".join(f"vertex {x} {y} {z}\n" for x, y, z in SQUARE[:3])
    return (f"solid s\nfacet normal 0 0 1\nouter loop\n{corners}endloop\nendfacet\n" * 2 + "endsolid s\n").encode()


def _stl_binary() -> bytes:
    corners = [x for point in SQUARE[:3] for x in point]
    return b"binary".ljust(80) + struct.pack("<I", 3) + 3 * struct.pack("<12fH", 0, 0, 1, *corners, 0)


def _ply(order: str) -> bytes:
    head = (
        f"ply\nformat {order} 1.0\ncomment a square\nelement vertex 4\nproperty float x\nproperty float y\n"
        "property float z\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n"
    ).encode()
    if order == "ascii":
        return head + b"0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n4 0 1 2 3\n"
    mark = "<" if "little" in order else ">"
    faces = struct.pack(f"{mark}B3iB4i", 3, 0, 1, 2, 4, 0, 1, 2, 3)
    return head + b"".join(struct.pack(f"{mark}3f", *point) for point in SQUARE) + faces


def _sleeve_lines() -> bytes:
    return (MODEL_FOLDER / "sleeve.iges").read_bytes()


def _scenes() -> list[tuple[str, bytes]]:
    """glTF in one file, with its data in it."""
    import trimesh

    solid = trimesh.Trimesh([*SQUARE[:3], (0, 0, 1)], [(0, 2, 1), (0, 1, 3)], process=False)
    whole = trimesh.Scene(solid).export(file_type="glb")
    length = int.from_bytes(whole[12:16], "little")
    tree = json.loads(whole[20 : 20 + length])
    tree["buffers"][0]["uri"] = (
        "data:application/octet-stream;base64," + base64.b64encode(whole[28 + length :]).decode()
    )
    return [(".glb", whole), (".gltf", json.dumps(tree, indent=1).encode())]


def _volumes() -> list[tuple[str, bytes]]:
    """What meshio writes."""
    import meshio

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix, options in (
            (".vtk", {}),
            (".vtu", {}),
            (".inp", {}),
            (".mesh", {}),
            (".msh", {"file_format": "gmsh22"}),
            (".xdmf", {"data_format": "XML"}),
            (".med", {}),
        ):
            path = Path(folder) / f"a{suffix}"
            meshio.write(path, meshio.Mesh(*TETRAHEDRA), **options)
            found.append((suffix, path.read_bytes()))
    return found


# -- results, recordings -------------------------------------------------------------------------------------------------------


@cache
def results() -> list[bytes]:
    """A motion and a path, as they are saved."""
    with tempfile.TemporaryDirectory() as folder:
        run, path = Path(folder) / "run.nc", Path(folder) / "path.nc"
        simulate(derive(load("pendulum")), 0.05, save_every=0.01).save(run)
        load_result(run)  # the damaged input is still valid
        continuation(derive(load("leaf_spring")), parameter="end_distance", to=0.499).save(path)
        return [run.read_bytes(), path.read_bytes()]


@cache
def swept() -> dict[str, bytes]:
    """The files of a finished sweep."""
    with tempfile.TemporaryDirectory() as folder:
        sweep(derive(load("pendulum")), {"mass": "1,2 kg"}, folder, until=0.01, workers=1)
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


SEAL = re.compile(rb"\npliant sha256 [0-9a-f]{64}\n\Z")
"""The checksum at the end of results that have one."""


def crafted_result(chance: random.Random) -> bytes:
    """A result with unexpected content, and a valid checksum."""
    data = chance.choice(results())
    seal = SEAL.search(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.nc"
        path.write_bytes(data[: seal.start()] if seal else data)
        with h5py.File(path, "r+") as file:
            for _ in range(chance.choice((1, 1, 2, 4))):
                with contextlib.suppress(KeyError, ValueError, TypeError, RuntimeError, OSError):
                    chance.choice((_other_attribute, _other_dataset, _other_numbers, _other_link))(file, chance)
        content = path.read_bytes()
    return content + (f"\npliant sha256 {hashlib.sha256(content).hexdigest()}\n".encode() if seal else b"")


def _other_attribute(file: h5py.File, chance: random.Random) -> None:
    things = [file, *(file[name] for name in file)]
    attributes = chance.choice(things).attrs
    name = chance.choice([*attributes, "extra"])
    if chance.random() < 0.4:
        del attributes[name]
    else:
        attributes[name] = chance.choice(
            ("", "{}", "[]", "nan", -1, np.inf, b"\xff", np.zeros(3), "x" * 5000, "pliant-result-9")
        )


def _other_dataset(file: h5py.File, chance: random.Random) -> None:
    name = chance.choice([*file, "extra", "a::b", "é"])
    if name in file:
        del file[name]
    if chance.random() < 0.7:
        shape = chance.choice(((), (0,), (3,), (2, 2), (200_000_000,), (10**6, 10**6)))
        file.create_dataset(name, shape, dtype=chance.choice(("f8", "i4", "S5", "f2", h5py.string_dtype())))


def _other_numbers(file: h5py.File, chance: random.Random) -> None:
    data = file[chance.choice(list(file))]
    if getattr(data, "size", 0) > 10**6:
        return  # a dataset that is only declared takes no room until it is written
    with contextlib.suppress(OverflowError, ValueError):  # not every number is one of every type
        data[...] = chance.choice((np.nan, np.inf, -1, 0, 1e308))


def _other_link(file: h5py.File, chance: random.Random) -> None:
    name = chance.choice(list(file))
    del file[name]
    file[name] = chance.choice((h5py.SoftLink(f"/{name}"), h5py.SoftLink("/"), h5py.ExternalLink("/etc/passwd", "/")))


@cache
def recordings() -> list[str]:
    """Columns with units, for a cart with a pole."""
    rows = [f"{0.01 * k:.2f},{np.sin(0.1 * k):.6f},{k}" for k in range(30)]
    tables = [["t_s,force_N,pole.angle_deg", *rows], ["time,force,x_mm", *rows], ['"t_ms" , "force_kN",a b', *rows]]
    return ["\n".join([*lines, ""]) for lines in tables]


# -- expressions ---------------------------------------------------------------------------------------------------------------

UNITS = ("mm", "kg", "N*m/rad", "deg", "kPa", "s", "m^2", "1/s", "parsec", "m^-0.5", "µm", "N/")
NAMES = ("length", "mass", "number", "t", "i", "count", "pi", "e", "nothing", "pull.x", "`a b`", "x.norm")


def expressions(chance: random.Random) -> str:
    """An expression by the grammar, mostly sound."""
    if chance.random() < 0.15:
        return f"{_number(chance)} {chance.choice(UNITS)}"
    return "=" + _expression(chance, chance.choice((1, 2, 3, 5, 8)))


def _expression(chance: random.Random, depth: int) -> str:
    kind = chance.randrange(8) if depth > 0 else chance.randrange(3)
    if kind == 0:
        return _number(chance)
    if kind == 1:
        return f"{_number(chance)} {chance.choice(UNITS)}"
    if kind == 2:
        return chance.choice(NAMES)
    if kind == 3:
        count = chance.choice((1, 1, 2, 3))
        inside = ", ".join(_expression(chance, depth - 2) for _ in range(count))
        return f"{chance.choice((*FUNCTIONS, 'foo'))}({inside})"
    if kind == 4:
        return f"({_expression(chance, depth - 1)})"
    if kind == 5:
        return chance.choice("-+") + _expression(chance, depth - 1)
    operator = chance.choice((*"+-*/^", "**", "<", "<=", "==", "!=", " + ", " * "))
    return _expression(chance, depth - 1) + operator + _expression(chance, depth - 1)


def _number(chance: random.Random) -> str:
    return chance.choice(
        ("0", "1", "2.5", ".5", "1e3", "1e308", "1e400", "1e-320", "007", "1.", "12345678901234567890")
    )


# -- variations ---------------------------------------------------------------------------------------------------------------


def variations() -> tuple[str, ...]:
    """What varies in a sweep."""
    return (
        "1:3:20 kPa", "log 1:100:5", "1, 2, 5 kPa", "pcs:4, cosserat:10", "normal(2, 0.1) kPa", "uniform(1, 2)", "1:3 m",
        "lognormal(1, 0.5) N", "triangular(1, 2, 3)", "sobol:100", "random:10", "halton:10", "latin:5", "-1:1:1e3", "1e3 mm",
    )  # fmt: skip
