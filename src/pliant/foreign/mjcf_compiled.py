"""MuJoCo's compiled model, created in a separate process with limits on time and memory."""

import contextlib
import importlib.util
import io
import math
import os
import posixpath
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, NoReturn
from xml.sax.saxutils import quoteattr

import numpy as np

from pliant.foreign import mjcf_child
from pliant.foreign.document import Document, Element, find_file, read_markup, read_number
from pliant.foreign.mjcf_cables import ELASTICITY, Cable, CableLoop, default_classes, read_cable, read_loop
from pliant.language.faults import Fault, SpecError
from pliant.language.limits import limits, most
from pliant.language.message_text import describe
from pliant.language.source import FileProblem, Source, check_file
from pliant.parts.mesh.formats import BINARY, TEXT

ONLY_DRAWN = ("visual", "statistic", "size", "custom", "sensor", "extension", "skin", "deformable")
"""Sections of a model that are removed from the text; those not in QUIET are noted."""
QUIET = ("visual", "statistic", "size", "custom", "sensor")
ASSETS = ("texture", "material", "skin")
"""Assets that are not used by surfaces."""
DRAWN = ("material", "texture", "matplane", "rgba")
"""Attributes for display only."""
NAMED = ("body", "joint", "freejoint", "geom", "site", "flexcomp")
DRIVEN = ("joint", "jointinparent", "tendon", "site", "body", "cranksite")
REPEATING = ("replicate", "composite", "flexcomp")
MESHES = (".stl", ".obj", ".msh")
HEIGHTS = (".png", ".bin", ".hf")
"""Formats of height fields: PNG, and MuJoCo's own format."""
REFERRING = ("equality", "contact", "tendon", "actuator", "sensor")
"""Sections of a model that refer to bodies, joints and sites."""
REFERENCES = (
    *("body", "body1", "body2", "joint", "joint1", "joint2", "jointinparent", "site", "site1", "site2"),
    *("geom", "geom1", "geom2", "objname", "refname", "cranksite", "slidersite"),
)
CABLE_SITE = "pliant_soft_"
"""Prefix of the names of sites that represent cables."""
TEXTS = (
    "name",
    "class",
    "childclass",
    "file",
    "joint",
    "site",
    "body",
    "body1",
    "body2",
    "mesh",
    "geom",
    "key",
    "value",
    "model",
)
NOT_FINITE = re.compile(r"(?i)(?:^|[\s+-])(?:nan|inf|infinity|[0-9.]+e\+?0*[1-9][0-9]{2,})(?:\s|$)")
"""A number that is not finite, or has an exponent of three or more digits."""


@dataclass
class MjcfText:
    """A text for MuJoCo.

    text: the XML. assets: contents of files by their names in the text. meshes: files of meshes by the name of the mesh, relative
    to the folder of the robot. lines: lines of elements in the file, by tag and name. unnamed: names that were generated here.
    cables: cables by the names of the sites that represent them. loops: equality constraints of cables. sensors: elements of
    sensors.
    """

    text: str = ""
    assets: dict[str, bytes] = field(default_factory=dict)
    meshes: dict[str, str] = field(default_factory=dict)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)
    unnamed: set[tuple[str, str]] = field(default_factory=set)
    cables: dict[str, Cable] = field(default_factory=dict)
    loops: list[CableLoop] = field(default_factory=list)
    sensors: list[Element] = field(default_factory=list)

    def line(self, name: str, *tags: str) -> int | None:
        """The line of the element with this name and one of these tags."""
        return next((self.lines[tag, name] for tag in tags if (tag, name) in self.lines), None)


def prepare(data: bytes, document: Document) -> MjcfText:
    """The text of an MJCF file for MuJoCo; faults are recorded in the document."""
    root = read_markup(data, document.source.file)
    _Includes(document).expand(root, document.source)
    mjcf = MjcfText()
    _attach_models(document, root, mjcf)
    _check_counts(document, root, 1)
    _check_finite(document, root)
    if document.faults:
        return mjcf
    _replace_cables(document, root, mjcf)
    mjcf.sensors = [sensor for section in root.all("sensor") for sensor in section.children]
    _remove_unsupported(document, root)
    _name_things(root, mjcf)
    _find_meshes(document, root, mjcf)
    mjcf.text = "".join(_written(root))
    return mjcf


@dataclass
class _Includes:
    """Resolves includes; each file may be included once, as in MuJoCo."""

    document: Document
    seen: set[FilePath] = field(default_factory=set)

    def expand(self, element: Element, source: Source) -> None:
        children: list[Element] = []
        for child in element.children:
            if child.tag == "include":
                children += self.included(child, source)
            else:
                self.expand(child, source)
                children.append(child)
        element.children = children

    def included(self, element: Element, source: Source) -> list[Element]:
        document, name = self.document, element.get("file")
        try:
            path = source.find(name)
            check_file(path, "the file", "model")
            if path in self.seen or path in source.parents:
                raise FileProblem(f"{describe(name)} is included twice")
            if len(self.seen) >= limits().includes:
                raise FileProblem("too many files are included", most("includes"))
            self.seen.add(path)
            root = read_markup(path.read_bytes(), name)
        except FileProblem as problem:
            document.fault(str(problem), problem.hint, line=element.line)
            return []
        for inner in root.walk():
            inner.line = element.line  # lines refer to the main file
        self.expand(root, replace(source, parents=(*source.parents, path)))
        return root.children


def _attach_models(document: Document, root: Element, mjcf: MjcfText, depth: int = 0) -> None:
    """Prepare the models that <attach> uses, as files for MuJoCo."""
    for asset in [element for element in root.walk() if element.tag == "asset"]:
        for model in asset.all("model"):
            try:
                if depth > 5 or len(mjcf.assets) >= limits().attached:
                    raise FileProblem("too many models are attached", most("attached"))
                path = document.source.find(model.get("file"))
                check_file(path, "the file", "model")
                inner = read_markup(path.read_bytes(), model.get("file"))
            except FileProblem as problem:
                document.fault(str(problem), problem.hint, line=model.line)
                continue
            model.attributes.setdefault("name", inner.get("model") or path.stem)
            folders = (*filter(None, [document.source.folder]), *document.source.roots)
            source = replace(document.source, folder=path.parent, roots=folders)
            _Includes(document).expand(inner, source)
            for element in inner.walk():
                element.line = model.line
            _attach_models(document, inner, mjcf, depth + 1)
            _check_counts(document, inner, 1)
            _check_finite(document, inner)
            _remove_unsupported(document, inner)
            _find_meshes(document, inner, mjcf, path.parent)
            file = f"model{len(mjcf.assets)}.xml"
            mjcf.assets[file] = "".join(_written(inner)).encode()
            model.attributes["file"] = file


def _check_counts(document: Document, element: Element, times: float) -> None:
    """Reject elements that are repeated more often than the limit on parts allows."""
    waiting = [(element, times)]
    while waiting:
        here, times = waiting.pop()
        if here.tag in REPEATING:
            counts = [read_number(word) for word in here.get("count", "1").split()]
            times *= math.prod(abs(count) for count in counts if count) or 1
        if times > limits().parts:
            document.fault(f"<{here.tag}> creates too many parts", most("parts"), line=here.line)
            return
        waiting += [(child, times) for child in here.children]


def _check_finite(document: Document, root: Element) -> None:
    """Reject numbers that are not finite."""
    for element in root.walk():
        for key, value in element.attributes.items():
            if key not in TEXTS and NOT_FINITE.search(value):
                message = f"`{key}` of <{element.tag}>: {describe(value)} is not finite"
                document.fault(message, "give finite numbers", line=element.line)


def _remove_unsupported(document: Document, root: Element) -> None:
    """Remove sections, elements and attributes that are not imported."""
    for child in root.children:
        plugins = {plugin.get("plugin") for plugin in child.children}
        if child.tag == "extension" and plugins == {ELASTICITY}:
            continue  # for cables, which are imported
        if child.tag in ONLY_DRAWN and child.tag not in QUIET and child.children:
            document.note(f"<{child.tag}> has no counterpart", line=child.line)
    root.children = [child for child in root.children if child.tag not in ONLY_DRAWN]
    for element in root.walk():
        if element.tag == "asset":
            element.children = [child for child in element.children if child.tag not in ASSETS]
        elif element.tag == "default":
            element.children = [child for child in element.children if child.tag not in ("material", "texture")]
        _note_unsupported_children(document, root, element)
        element.children = [
            child
            for child in element.children
            if child.tag not in ("plugin", "camera", "light") and (child.tag != "flexcomp" or _is_string(child))
        ]
        for key in DRAWN:
            element.attributes.pop(key, None)


def _note_unsupported_children(document: Document, root: Element, element: Element) -> None:
    for plugin in element.all("plugin"):
        document.note("plugins of MuJoCo are not imported", line=plugin.line)
    for camera in element.all("camera"):
        document.note("<camera> has no counterpart", line=camera.line, path=f"camera {camera.get('name')}".strip())
    for crowd in element.all("flexcomp"):
        if not _is_string(crowd):
            message = "<flexcomp> is not imported: of flexes only those of edges with a stiffness are read (dim=1)"
            document.note(message, "write it under `meshes` of the model", line=crowd.line)
            _drop_keys(document, root)


def _is_string(flex: Element) -> bool:
    """Whether a flex consists of nodes with three coordinates each and of edges that are springs."""
    edge = flex.first("edge")
    is_free = (
        flex.get("dof", "full") == "full" and flex.get("dim", "2") == "1" and flex.get("equality", "false") == "false"
    )
    return is_free and edge is not None and edge.get("equality", "false") == "false" and flex.first("plugin") is None


def _drop_keys(document: Document, root: Element) -> None:
    """Remove keyframes, because they contain positions of parts that are removed."""
    for key in root.all("keyframe"):
        if key.children:
            document.note(
                "<keyframe> is not imported, since it sets coordinates of parts that are not imported", line=key.line
            )
    root.children = [child for child in root.children if child.tag != "keyframe"]


def _replace_cables(document: Document, root: Element, mjcf: MjcfText) -> None:
    """Read cables and replace each by a site with its pose; newer versions of MuJoCo do not read them."""
    classes = default_classes(root)
    waiting = [(root, "main", False)]
    while waiting:
        here, class_name, is_repeated = waiting.pop()
        class_name = here.get("childclass") or class_name
        is_repeated = is_repeated or here.tag == "replicate"
        for k, child in enumerate(here.children):
            if child.tag != "composite":
                waiting.append((child, class_name, is_repeated))
                continue
            cable = None if is_repeated else read_cable(child, classes, class_name, document)
            if is_repeated:
                document.note("a <composite> that is repeated is not imported", line=child.line)
            site = f"{CABLE_SITE}{len(mjcf.cables) + 1}"
            place = {"name": site, "pos": child.get("offset") or "0 0 0"}
            place |= {"quat": child.get("quat")} if child.get("quat") else {}
            here.children[k] = Element("site" if cable else "light", place if cable else {}, child.line)
            if cable is not None:
                mjcf.cables[site] = cable
            _drop_keys(document, root)
    _remove_references(document, root, mjcf)


def _remove_references(document: Document, root: Element, mjcf: MjcfText) -> None:
    """Remove elements that refer to links of cables: equality constraints are read, others are noted."""
    parts = {name: site for site, cable in mjcf.cables.items() for name in cable.part_names()}
    if not parts:
        return
    for section in root.children:
        kept: list[Element] = []
        for child in section.children if section.tag in REFERRING else ():
            named = [x.get(key) for x in child.walk() for key in REFERENCES if x.get(key) in parts]
            loop = read_loop(child, mjcf.cables, parts, document) if section.tag == "equality" and named else None
            if loop is not None:
                mjcf.loops.append(loop)
            elif not named:
                kept.append(child)
            elif child.tag != "exclude":  # contacts of cables are not imported anyway
                message = f"<{child.tag}> is not imported: it refers to {describe(named[0])}, a part of a cable"
                document.note(message, "write it in the model, with the frames of the rod", line=child.line)
        if section.tag in REFERRING:
            section.children = kept


def _name_things(root: Element, mjcf: MjcfText) -> None:
    """Name all elements without a name, so that their lines can be found; actuators are named after what they drive."""
    taken = {(_space(element.tag), element.get("name")) for element in root.walk()}
    counts: dict[str, int] = {}
    for element, space in _nameable(root):
        if not element.get("name"):
            driven = next((element.get(key) for key in DRIVEN if element.get(key)), "") if space == "actuator" else ""
            stem = f"{driven}_{element.tag}" if driven else _space(element.tag)
            name = stem if driven else ""
            while not name or (space, name) in taken:
                counts[stem] = counts.get(stem, 0) + 1
                name = f"{stem}_{counts[stem]}"
            element.attributes["name"] = name
            taken.add((space, name))
            mjcf.unnamed.add((space, name))
        mjcf.lines.setdefault((_space(element.tag), element.get("name")), element.line)


def _nameable(root: Element) -> Iterator[tuple[Element, str]]:
    """Elements that can have a name, each with the space in which names must be unique."""
    for section in root.children:
        if section.tag == "worldbody":
            yield from ((element, _space(element.tag)) for element in section.walk() if element.tag in NAMED)
        elif section.tag in ("actuator", "tendon", "equality", "keyframe"):
            yield from ((element, section.tag) for element in section.children)


def _space(tag: str) -> str:
    return "joint" if tag == "freejoint" else tag


def _find_meshes(document: Document, root: Element, mjcf: MjcfText, beside: FilePath | None = None) -> None:
    """Read files of meshes and height fields; remove those that cannot be read, and the geoms that use them.

    beside: the folder of the file that names them, if it is not that of the robot.
    """
    place = _asset_places(root, "" if beside is None else str(beside))
    missing: dict[str, str] = {}
    flat: dict[str, str] = {}
    for asset in [element for element in root.walk() if element.tag == "asset"]:
        for mesh in asset.all("mesh"):
            given = mesh.get("file")
            name = mesh.get("name") or FilePath(given).stem
            mesh.attributes["name"] = name
            problem = _read_mesh(document, mesh, name, place(given), mjcf)
            if problem is not None:
                missing[name] = f"{given or name}: {problem}"
                asset.children.remove(mesh)
        for heights in asset.all("hfield"):
            given = heights.get("file")
            heights.attributes.setdefault("name", FilePath(given).stem)
            problem = _read_heights(document, heights, place(given), mjcf)
            if problem is not None:
                flat[heights.get("name")] = f"{given or heights.get('name')}: {problem}"
                asset.children.remove(heights)
    if missing:
        _without_meshes(document, root, missing)
    for element in root.walk() if flat else ():
        for shape in [child for child in element.children if child.get("hfield") in flat]:
            document.note(f"the height field {flat[shape.get('hfield')]}; it is not imported", line=shape.line)
            element.children.remove(shape)


def _asset_places(root: Element, beside: str) -> Callable[[str], str]:
    """The path of a file from its name in the text, as <compiler> defines it; its attributes are removed."""
    given_folder, strip = "", False
    for compiler in root.all("compiler"):
        given_folder = compiler.get("meshdir") or compiler.get("assetdir") or given_folder
        strip = compiler.get("strippath", str(strip).lower()) == "true"
        for key in ("meshdir", "assetdir", "texturedir", "strippath"):
            compiler.attributes.pop(key, None)
    folder = posixpath.join(beside, given_folder)
    return lambda given: posixpath.join(folder, posixpath.basename(given) if strip else given)


def _read_mesh(document: Document, mesh: Element, name: str, given: str, mjcf: MjcfText) -> FileProblem | None:
    """Read the file of a mesh; returns the problem, if any."""
    try:
        if "builtin" in mesh.attributes:
            raise FileProblem("meshes generated by MuJoCo are not supported")
        if not mesh.get("file"):  # its vertices are in the text
            return None
        if not given.lower().endswith(MESHES):
            raise FileProblem(
                f"meshes of the format {FilePath(given).suffix} are not supported", "convert it to STL or OBJ"
            )
        file = find_file(document, given)
        assert document.source.folder is not None
        path = document.source.folder / file
        check_file(path, "the file", "drawing")
        inner = f"mesh{len(mjcf.assets)}{path.suffix.lower()}"
        mjcf.assets[inner] = path.read_bytes()
        if path.suffix.lower() in (*TEXT, *BINARY):
            mjcf.meshes[name] = file
        mesh.attributes["file"] = inner
    except FileProblem as problem:
        return problem
    return None


def _read_heights(document: Document, heights: Element, given: str, mjcf: MjcfText) -> FileProblem | None:
    """Read the file of a height field; returns the problem, if any."""
    try:
        counts = [read_number(heights.get(key) or "0") or 0.0 for key in ("nrow", "ncol")]
        if 2 * math.prod(counts) > limits().triangles:
            raise FileProblem("it has too many heights", most("triangles"))
        if not heights.get("file"):  # its heights are in the text
            return None
        suffix = FilePath(given).suffix.lower()
        if suffix not in HEIGHTS:
            raise FileProblem(f"height fields of the format {suffix} are not supported", "convert it to PNG")
        file = find_file(document, given)
        assert document.source.folder is not None
        path = document.source.folder / file
        check_file(path, "the file", "table")
        data = path.read_bytes()
        if suffix == ".png" and 2 * math.prod(struct.unpack(">II", data[16:24].ljust(8, b"\0"))) > limits().triangles:
            raise FileProblem("it has too many heights", most("triangles"))
        inner = f"heights{len(mjcf.assets)}{suffix}"
        mjcf.assets[inner] = data
        heights.attributes["file"] = inner
    except FileProblem as problem:
        return problem
    return None


def _without_meshes(document: Document, root: Element, missing: dict[str, str]) -> None:
    """Remove geoms of missing meshes; this is a fault if the mass of a body depends on them."""
    for element in root.walk():
        for shape in [child for child in element.children if child.tag == "geom" and child.get("mesh") in missing]:
            message = f"the mesh {missing[shape.get('mesh')]}"
            if element.tag == "body" and element.first("inertial"):
                document.note(f"{message}; it is not imported", line=shape.line, path=f"body {element.get('name')}")
            else:
                hint = "declare its folder with --folder (in Python, `folders`), or give the body its inertia"
                document.fault(f"{message}; the mass of a body may depend on it", hint, line=shape.line)
            element.children.remove(shape)


def _written(element: Element) -> Iterator[str]:
    """The element as XML."""
    waiting: list[Element | str] = [element]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            yield here
            continue
        attributes = "".join(f" {key}={quoteattr(value)}" for key, value in here.attributes.items())
        yield f"<{here.tag}{attributes}>"
        waiting.append(f"</{here.tag}>")
        waiting.extend(reversed(here.children))


PATIENCE = 1.0 if sys.platform == "win32" else 5.0
"""Ratio of the wall-clock limit to the limit of processor time, which the system enforces, except on Windows."""
SAME_FRAME, SAME_AXES = 1, 3
"""MuJoCo's numbers for inertial frames that are equal to the frame of the body, or parallel to it."""
CONSTRAINED = {
    "EQUALITY": ("eq_active0",),
    "FRICTIONLOSS": ("dof_frictionloss", "tendon_frictionloss"),
    "LIMIT": ("jnt_limited", "tendon_limited"),
    "CONTACT": ("nmeeting",),
}
SPRINGS = ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly", "flex_edgestiffness")
DAMPERS = ("dof_damping", "dof_dampingpoly", "tendon_damping", "tendon_dampingpoly", "flex_edgedamping")
DISABLED = {
    **CONSTRAINED,
    "CONSTRAINT": tuple(key for keys in CONSTRAINED.values() for key in keys),
    "SPRING": SPRINGS,
    "DAMPER": DAMPERS,
    "PASSIVE": (*SPRINGS, *DAMPERS),
    "GRAVITY": ("opt_gravity",),
    "CLAMPCTRL": ("actuator_ctrllimited",),
    "ACTUATION": ("nu",),
}
"""Arrays of a model that become zero if its options disable a feature."""


class CompiledMjcf:
    """The numbers and arrays of a compiled model, by MuJoCo's names for them.

    disabled: names of disabled features, whose arrays become zero. `nmeeting` is zero if contacts are disabled, otherwise one.
    """

    def __init__(self, arrays: dict[str, np.ndarray], disabled: Collection[str] = ()) -> None:
        self._arrays = dict(arrays)
        self._names = arrays["names"].tobytes()
        for key in {key for name in disabled for key in DISABLED.get(name, ())} & set(arrays):
            self._arrays[key] = np.zeros_like(arrays[key])

    def __getattr__(self, key: str) -> Any:
        try:
            array = self._arrays[key]
        except KeyError:
            raise AttributeError(key) from None
        return array.item() if array.ndim == 0 else array

    def name(self, kind: str, k: int) -> str:
        """The name of the k-th object of a kind, empty if it has none.

        kind: body, jnt, geom, site, mesh, tendon, eq, actuator, flex, key, sensor.
        """
        return self._text(int(self._arrays[f"name_{kind}adr"][k]))

    def largest(self, key: str, k: int) -> float:
        """The largest entry of row `k` of an array; zero in versions of MuJoCo without this array."""
        rows = self._arrays.get(key)
        return 0.0 if rows is None else float(abs(rows[k]).max(initial=0.0) if rows.ndim > 1 else rows[k])

    @property
    def title(self) -> str:
        """The name of the model."""
        return self._text(0)

    def _text(self, start: int) -> str:
        return self._names[start : self._names.index(b"\0", start)].decode(errors="replace")


def compile_model(prepared: MjcfText, document: Document) -> CompiledMjcf:
    """MuJoCo's model; its warnings become notes. Raises SpecError if it rejects the text or exceeds the limits."""
    if sys.modules.get("mujoco", ...) is None or importlib.util.find_spec("mujoco") is None:
        _fail(document, "MJCF files need the package mujoco", "install pliant[import], or mujoco")
    answer, parts = _run_child(prepared, document)
    for text in dict.fromkeys(" ".join(warning.split()) for warning in answer["warnings"]):
        document.note(f"MuJoCo warns: {text}")
    if "memory" in answer:
        _fail(document, "MuJoCo needs too much memory to compile it", most("import_memory"))
    if "missing" in answer:
        _fail(document, f"the package mujoco cannot be loaded: {answer['missing']}", "install pliant[import] again")
    if "refused" in answer:  # the line number is removed, because the text for MuJoCo is a single line
        message = " ".join(answer["refused"].replace("XML Error:", "").replace("line 1", "").split()).strip(" ,")
        _fail(document, f"MuJoCo rejects it: {message or 'it gives no reason'}")
    arrays = {"nmeeting": np.ones((), dtype=int)}
    for (key, kind, shape), data in zip(answer["arrays"], parts, strict=True):
        arrays[key] = np.frombuffer(data, dtype=np.dtype(kind)).reshape(shape)
    _align(arrays)
    if "ACTUATION" in answer["disabled"] and arrays["nu"]:
        document.note("actuators are disabled by <flag> and not imported")
    return CompiledMjcf(arrays, answer["disabled"])


def _align(arrays: dict[str, np.ndarray]) -> None:
    """Set inertial frames within MuJoCo's tolerance (about 1e-6) of the frame of the body to that frame, as MuJoCo does."""
    same = arrays["body_sameframe"]
    arrays["body_ipos"] = np.where((same == SAME_FRAME)[:, None], 0.0, arrays["body_ipos"])
    turned = (same == SAME_FRAME) | (same == SAME_AXES)
    arrays["body_iquat"] = np.where(turned[:, None], [1.0, 0.0, 0.0, 0.0], arrays["body_iquat"])


def _run_child(prepared: MjcfText, document: Document) -> tuple[dict[str, Any], list[bytes]]:
    """The answer of the process that compiles; the process always ends with this call."""
    allowed = limits()
    seconds = min(allowed.import_time, allowed.time or math.inf)
    request = {
        "path": sys.path,
        "assets": [*prepared.assets],
        "seconds": math.ceil(seconds),
        "memory": int(min(allowed.import_memory, allowed.memory or math.inf)),
    }
    question = io.BytesIO()
    mjcf_child.send(question, request, [prepared.text.encode(), *prepared.assets.values()])
    command = [sys.executable, "-I", mjcf_child.__file__]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError as error:
        _fail(document, f"MuJoCo's compiler cannot be started: {error.strerror}", f"it runs in {sys.executable}")
    try:
        answer = process.communicate(question.getvalue(), timeout=seconds * PATIENCE)[0]
    except subprocess.TimeoutExpired:
        _raise_timeout(document)
    finally:
        process.kill()
        process.wait()
        for pipe in filter(None, (process.stdin, process.stdout)):
            with contextlib.suppress(OSError):
                pipe.close()
    if process.returncode != 0:
        _raise_crash(document, process.returncode)
    return mjcf_child.receive(io.BytesIO(answer))


def _raise_timeout(document: Document) -> NoReturn:
    _fail(document, "MuJoCo does not finish compiling it", f"check its numbers; {most('import_time')}")


def _raise_crash(document: Document, code: int) -> NoReturn:
    """Raise the fault of a process that ended without an answer: by a signal (negative codes), or an exit by MuJoCo."""
    if code in (-getattr(signal, "SIGXCPU", 24), -getattr(signal, "SIGKILL", 9)):
        _raise_timeout(document)
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"code {code}"
    hint = f"check its numbers; or it needs too much memory: {most('import_memory')}"
    _fail(document, f"MuJoCo's compiler crashes on it ({name})", hint)


def _fail(document: Document, message: str, hint: str = "") -> NoReturn:
    file = document.source.file
    raise SpecError([Fault(message, hint, file=file)], file)
