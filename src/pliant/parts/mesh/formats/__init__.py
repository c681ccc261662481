"""Meshes from files: wireframes of nodes and edges, one format per file. A new format is one more reader here."""

from dataclasses import replace
from pathlib import Path

from pliant.language.dimension import LENGTH
from pliant.language.faults import ExpressionError
from pliant.language.source import FileProblem, check_file
from pliant.language.units import parse_unit
from pliant.parts.mesh.formats.dxf import read_dxf
from pliant.parts.mesh.formats.iges import read_iges
from pliant.parts.mesh.formats.surfaces import SCENES, read_obj, read_ply, read_scene, read_stl
from pliant.parts.mesh.formats.volume import read_volume
from pliant.parts.mesh.formats.wireframe import Drawing, Wireframe, check_coordinates, join, merging
from pliant.parts.mesh.formats.wireframe import split as cut

TEXT = {".iges": read_iges, ".igs": read_iges, ".dxf": read_dxf, ".obj": read_obj}
BINARY = {".stl": read_stl, ".ply": read_ply}
MESHIO = (".msh", ".vtk", ".vtu", ".inp", ".mesh", ".xdmf", ".med")
"""Formats read by meshio, without those whose readers can loop forever on a broken file."""
UNIT_METRES = {"inch": 0.0254, "mile": 1609.344, "mil": 2.54e-5, "uin": 2.54e-8, "yd": 0.9144, "ft": 0.3048, "dm": 0.1}
UNIT_HINT = "such as mm, cm, m or inch"


def read_mesh(
    path: Path | str, *, tolerance: float | None = None, unit: str | None = None, split: bool = False
) -> Wireframe:
    """The wireframe of a mesh file in metres; raises FileProblem with the reason if it is invalid.

    `tolerance` [m]: ends of lines closer than this are one node; by default a millionth of the drawing's size. `unit`: the
    unit of the file's numbers, if the file does not state it (otherwise metres are assumed) or is wrong. `split`:
    whether lines that cross or touch get a node there.
    """
    path = Path(path)
    if tolerance is not None and not 0 <= tolerance < float("inf"):
        raise FileProblem(f"the tolerance must be a length from 0 on, not {tolerance:g}")
    drawing = _read(path)
    name = unit or drawing.unit or "m"
    scale, lines = metres(name), len(drawing.lines)
    if split and lines:
        check_coordinates(drawing.points, scale, path.name)
        drawing = cut(drawing, merging(drawing.points) if tolerance is None else tolerance / scale, path.name)
    return replace(join(drawing, scale, name, tolerance, path.name, assumed=not (unit or drawing.unit)), lines=lines)


def metres(unit: str) -> float:
    """One unit of length in metres."""
    if unit in UNIT_METRES:
        return UNIT_METRES[unit]
    try:
        parsed = parse_unit(unit)
    except ExpressionError as error:
        raise FileProblem(str(error), error.hint or UNIT_HINT) from None
    if parsed.dimension != LENGTH:
        raise FileProblem(f"{unit} is not a unit of length", UNIT_HINT)
    return float(parsed.factor)


def _read(path: Path) -> Drawing:
    suffix, what = path.suffix.lower(), path.name or str(path)
    if suffix not in (*TEXT, *BINARY, *SCENES, *MESHIO):
        known = ", ".join((*TEXT, *BINARY, *SCENES, *MESHIO))
        raise FileProblem(f"{what} has an unknown mesh format ({suffix or 'no suffix'})", f"known: {known}")
    try:
        check_file(path, what, "drawing")
        if path.stat().st_size == 0:
            raise FileProblem(f"{what} is empty")
        if suffix in MESHIO:
            return read_volume(path, what)
        data = path.read_bytes()
    except FileProblem:
        raise
    except OSError as error:
        raise FileProblem(f"cannot read {what}: {error.strerror or error}") from None
    if suffix in SCENES:
        return read_scene(data, what, path)
    if suffix in BINARY:
        return BINARY[suffix](data, what)
    if b"\0" in data:
        raise FileProblem(f"{what} is a binary file", "export it as text")
    return TEXT[suffix](_text(data), what)


def _text(data: bytes) -> str:
    """The text of a file. Characters other than line ends at which Python splits lines, such as 0x85, become spaces."""
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode("latin-1")
    return lines.translate(dict.fromkeys((0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x85), " "))
