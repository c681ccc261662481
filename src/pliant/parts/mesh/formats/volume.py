"""Volume and other meshes that meshio reads: the wireframe of their cells. They have no unit."""

import contextlib
import io
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pliant.language.limits import limits
from pliant.language.message_text import printable
from pliant.language.source import FileProblem
from pliant.parts.mesh.formats.wireframe import Drawing, sides

EDGES = {
    "line": [(0, 1)],
    "triangle": [(0, 1), (1, 2), (2, 0)],
    "quad": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "tetra": [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)],
    "pyramid": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)],
    "wedge": [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)],
    "hexahedron": [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)],
}
"""Edges of each type of cell; second-order cells have the same corners first and are treated as straight."""
SECOND_ORDER = {"line3": "line", "triangle6": "triangle", "quad8": "quad", "quad9": "quad", "tetra10": "tetra"}


def read_volume(path: Path, what: str) -> Drawing:
    """The edges of all cells; sets of points and of cells are labels."""
    try:
        import meshio
    except ImportError:
        raise FileProblem(f"reading {what} needs the package meshio", "install pliant[mesh]") from None
    refuse_other_files(path, what)
    _bound_unpacking()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            mesh = meshio.read(path)
        points = np.asarray(mesh.points, dtype=float)
        blocks = [(block.type, np.asarray(block.data, dtype=int)) for block in mesh.cells]
        labels = _labels(mesh, [cells for _, cells in blocks], len(points))
    except FileProblem as problem:
        raise FileProblem(f"{what} {problem}", problem.hint) from None
    except (Exception, SystemExit) as error:  # the reader may raise any exception on a broken file
        # its own messages are helpful, those of Python and NumPy are not
        why = f": {printable(str(error)[:100])}" if isinstance(error, meshio.ReadError) and str(error) else ""
        raise FileProblem(
            f"{what} is broken, or does not have the format of its suffix{why}", "export it again"
        ) from None
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise FileProblem(f"{what} has points without two or three coordinates")
    points = np.column_stack([points, np.zeros((len(points), 3 - points.shape[1]))])
    lines, ignored = [np.zeros((0, 2), dtype=int)], dict[str, int]()
    for kind, cells in blocks:
        edges = EDGES.get(SECOND_ORDER.get(kind, kind))
        if kind.startswith("polygon") and cells.ndim == 2:
            lines.append(sides(cells))
        elif edges is None:
            ignored[kind] = ignored.get(kind, 0) + len(cells)
        elif len(cells):
            lines.append(cells[:, np.array(edges)].reshape(-1, 2))
    pairs = np.concatenate(lines)
    # neighbours share edges: each is used once, as in a drawing
    _, first = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    pairs = pairs[np.sort(first)]
    if len(pairs) and not (pairs.min() >= 0 and pairs.max() < len(points)):
        raise FileProblem(f"{what} has cells with corners that it does not have")
    return _corners(Drawing(points, pairs, ignored=ignored, labels=labels), blocks)


class _Unpacking(threading.local):
    """Bytes that may still be unpacked from the file that a thread reads."""

    left = 0.0


_unpacking = _Unpacking()


def _bound_unpacking() -> None:
    """Limit what meshio unpacks from the next file: a small one may contain gigabytes of zeros."""
    from meshio.vtu import _vtu

    _unpacking.left = GROWTH * limits().drawing
    if not isinstance(_vtu.zlib, _Unpacker):
        _vtu.zlib = _Unpacker(_vtu.zlib, "decompressobj")
        _vtu.lzma = None if _vtu.lzma is None else _Unpacker(_vtu.lzma, "LZMADecompressor")


class _Unpacker:
    """zlib or lzma with a limit, for meshio."""

    def __init__(self, module: Any, reader: str) -> None:
        self.compress, self._new = module.compress, getattr(module, reader)

    def decompress(self, data: bytes) -> bytes:
        """The content of a block."""
        reader = self._new()
        found: bytes = reader.decompress(data, int(_unpacking.left) + 1)
        _unpacking.left -= len(found)
        if _unpacking.left < 0:
            raise FileProblem("is too large when unpacked", "use a coarser mesh")
        return found


def _corners(drawing: Drawing, blocks: list[tuple[str, np.ndarray]]) -> Drawing:
    """The drawing without the mid-edge points of second-order cells."""
    between = np.zeros(len(drawing.points), dtype=bool)
    for kind, cells in blocks:
        if kind in SECOND_ORDER:
            between[cells[:, np.max(EDGES[SECOND_ORDER[kind]]) + 1 :].ravel()] = True
    between[drawing.lines.ravel()] = False
    if not between.any():
        return drawing
    place = np.cumsum(~between) - 1
    return Drawing(
        drawing.points[~between],
        place[drawing.lines],
        ignored={**drawing.ignored, "point between corners": int(between.sum())},
        labels={name: place[members[~between[members]]] for name, members in drawing.labels.items()},
    )


def _labels(mesh: Any, blocks: list[np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Points of named sets: of points, of cells, and of Gmsh's physical groups."""
    labels: dict[str, list[np.ndarray]] = {}
    for name, members in mesh.point_sets.items():
        labels.setdefault(str(name), []).append(np.asarray(members, dtype=int).ravel())
    for name, parts in mesh.cell_sets.items():
        if not str(name).startswith("gmsh:"):
            for cells, part in zip(blocks, parts, strict=False):
                if part is not None and len(part):
                    labels.setdefault(str(name), []).append(cells[np.asarray(part, dtype=int)].ravel())
    groups = mesh.cell_data.get("gmsh:physical", [])
    for name, (number, dimension) in mesh.field_data.items():
        for block, cells, group in zip(mesh.cells, blocks, groups, strict=False):
            chosen = cells[np.asarray(group) == number]
            if block.dim == dimension and len(chosen):
                labels.setdefault(str(name), []).append(chosen.ravel())
    joined = {name: np.unique(np.concatenate(parts)) for name, parts in labels.items()}
    return {
        name: members for name, members in joined.items() if len(members) and 0 <= members[0] <= members[-1] < count
    }


GROWTH = 4
"""Maximum size of unpacked data, relative to the maximum size of a file."""

_DECLARATION = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
"""XML constructs that could change the meaning of the text, or make it grow without limit."""
_OTHER_FORMAT = re.compile(rb"\bFormat\s*=\s*(?!\"XML\"|'XML')", re.IGNORECASE)
"""Data of an XDMF file that are stored in other files."""
_INCLUDE = re.compile(rb"^\s*\*[\s*]*include\b", re.IGNORECASE | re.MULTILINE)


def refuse_other_files(path: Path, what: str) -> None:
    """Raise FileProblem if reading a file would open others, or if it declares entities; `what`: its name in messages."""
    suffix = path.suffix.lower()
    if suffix == ".med":
        _refuse_links(path, what)
        return
    data = path.read_bytes() if suffix in (".xdmf", ".vtu", ".inp") else b""
    if suffix in (".xdmf", ".vtu") and (_DECLARATION.search(data) or b"\0" in data[:200]):
        raise FileProblem(f"{what} declares XML entities, or is not UTF-8", "export it again, as plain XML in UTF-8")
    if suffix == ".xdmf" and _OTHER_FORMAT.search(data):
        raise FileProblem(f"{what} has its data in another file", "export it with the data in it (Format XML)")
    if suffix == ".inp" and _INCLUDE.search(data):
        raise FileProblem(f"{what} includes another file", "put its content in place of *INCLUDE")


def _refuse_links(path: Path, what: str) -> None:
    """The same for an HDF5 file: links to other files, data that are stored in them, and data that exist in its header only."""
    import h5py

    left = GROWTH * limits().drawing
    try:
        with h5py.File(path, "r") as file:
            for dataset in _own_datasets(file, set()):
                if dataset is None or dataset.external or dataset.is_virtual:
                    raise FileProblem(f"{what} has its data in another file", "export it with the data in it")
                left -= dataset.nbytes
                if left < 0:
                    raise FileProblem(f"{what} is too large when unpacked", "use a coarser mesh")
    except FileProblem:
        raise
    except Exception:  # any exception of HDF5 on a damaged file, in its own words
        raise FileProblem(f"{what} is broken, or does not have the format of its suffix", "export it again") from None


def _own_datasets(group: Any, seen: set[int]) -> Iterator[Any]:
    """The data sets in an HDF5 group and the groups in it, and None for a link to another file. seen: addresses of the groups
    that were examined already: groups may contain each other."""
    import h5py

    address = h5py.h5o.get_info(group.id).addr
    if address in seen:
        return
    seen.add(address)
    for name in group:
        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            yield None
        if isinstance(link, h5py.SoftLink | h5py.ExternalLink):
            continue  # a soft link is one to another object of this file, which is examined separately
        entry = group[name]
        if isinstance(entry, h5py.Group):
            yield from _own_datasets(entry, seen)
        elif isinstance(entry, h5py.Dataset):
            yield entry
