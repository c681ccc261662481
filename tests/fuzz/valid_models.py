"""Valid models drawn from the schema: `valid_model(seed)` is the plain data of one, small and of plausible size.

The types of fields decide what is drawn: a length is about as long as the robot, a reference names something of its kind, a part is
drawn field by field until it accepts its values. So a new part, field or type is drawn without a line written here. What the schema
cannot say is in the tables below: sizes of slender and thin things, durations, and how many parts a model has.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import annotated_types
import numpy as np
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from pliant.analysis.base import analysis
from pliant.analysis.derivation.check import check_source
from pliant.analysis.derivation.derive import derive
from pliant.language import dimension as dim
from pliant.language.base import Framed, Part, WordMappingOrObject, part_classes
from pliant.language.dimension import Dimension
from pliant.language.faults import ExpressionError, Fault, SpecError
from pliant.language.names import NameMarker, Reference
from pliant.language.parameter import finite
from pliant.language.scalar import CountMarker, FormulaMarker, PlainScalar, Quantity
from pliant.language.source import Source
from pliant.language.traversal import Leaf, collections, leaves, parts
from pliant.language.tree import from_plain
from pliant.robot import RobotSpec
from pliant.robot.analyses import analysis_names
from pliant.robot.flat import HOMES
from pliant.robot.flattening import flatten
from pliant.robot.structure import coordinate_table

Data: TypeAlias = dict[str, Any]

COLLECTIONS = collections(RobotSpec)
CARRIERS = tuple(
    name
    for name in COLLECTIONS
    if any(issubclass(part, Framed) for part in part_classes(get_args(RobotSpec.model_fields[name].annotation)[1]))
)
"""Collections of parts that have frames: each is fixed to a frame, or is the child of a joint."""
SUPPLIES = ("parameters", "materials", "sections", "models", "defaults", "variants")
"""Collections whose entries are drawn when something refers to them."""
LAST = ("inputs", "control", "task")
"""Collections whose entries act on what is there."""

GRAVITY = 9.81
ATTEMPTS = 60
"""Times that a part is drawn, until its values go together."""
DEEPEST = 3
"""Parts that may be drawn within each other: a rod with a section of sections."""
ROUNDS = 12
"""Times that parts at fault are taken out of a model."""

SLENDER = {
    "pliant.parts.section": 0.04, "pliant.parts.rod.chamber": 0.015, "pliant.parts.tendon": 0.05, "pliant.parts.body": 0.3,
    "pliant.parts.surface": 0.3, "pliant.parts.constraint": 0.01, "pliant.parts.magnet": 0.3, "pliant.analysis": 0.01,
}  # fmt: skip
"""Lengths in parts of these modules, relative to the robot's length."""

SIZES: Mapping[str, tuple[float, float]] = {
    "at": (0.15, 0.9), "start": (0.05, 0.4), "end": (0.5, 0.95), "Rod.length": (1.0, 1.6), "initial": (-0.3, 0.3),
    "rate": (-0.3, 0.3), "rounding": (0.001, 0.005), "through": (0.0, 0.3), "inner_radius": (0.2, 0.7),
    "Holes.radius": (0.03, 0.08), "Holes.positions": (-0.5, 0.5), "positions": (-2.0, 2.0), "FramePoint.position": (-5.0, 5.0),
    "Body.center_of_mass": (-1.0, 1.0), "Dipole.radius": (0.1, 0.5),
    "Membrane.stiffness": (5.0, 50.0), "MembraneEdges.stiffness": (5.0, 50.0), "limits.stiffness": (10.0, 1000.0),
    "muscle_radius": (0.05, 0.1), "Chamber.area": (1.0, 5.0), "tension": (0.05, 1.0), "armature": (0.0, 0.2), "delay": (0.0, 0.01),
}  # fmt: skip
"""Ranges of values of fields, by name or by class and name, relative to the size that their dimension says."""

NUMBERS: Mapping[str, tuple[float, float]] = {
    "density": (300, 3000), "poissons_ratio": (0.25, 0.5), "gent_limit": (8, 60), "shear_factors": (0.5, 1.0), "euler": (-3, 3),
    "vector": (-2, 2), "angle": (-2, 2), "turns": (-0.5, 0.5), "braid_angle": (0.4, 1.5), "area_growth": (1e-7, 1e-6),
    "ratio": (0.01, 0.2), "frequencies": (1, 50), "beta": (1e-4, 1e-2), "alpha": (0.1, 5), "damping_time": (1e-4, 1e-2),
    "spread": (0.01, 0.1), "restitution": (0.2, 1.0), "dissipation": (0.1, 50), "settling": (0.02, 0.2), "normal": (-1, 1),
    "axis": (-1, 1), "power": (0.5, 2), "damping_power": (0.5, 2), "tightness": (0.85, 1.05), "rtol": (1e-6, 1e-3),
    "tolerance": (1e-10, 1e-7), "scale": (0.5, 1.5), "magnetization": (1e4, 2e5), "remanence": (0.02, 1.3),
    "flux_density": (1e-3, 0.05), "gradient": (-0.5, 0.5), "moment_per_length": (0.01, 1), "Dipole.moment": (0.1, 10),
    "Coil.turns": (10, 300), "Coil.current": (0.5, 10),
}  # fmt: skip
"""Ranges of values in SI units, for numbers, times and properties of materials, whatever the robot's size."""

WORDS: Mapping[str, tuple[Any, ...]] = {
    "sample_time": ("10 ms", "20 ms"), "LearningTask.step": ("5 ms", "10 ms"), "SimulateOptions.step": ("1 ms",),
    "duration": ("60 ms", "200 ms"), "until": ("20 ms", 0.05), "save_every": ("5 ms", "10 ms"), "begin": (0, "10 ms"),
    "save_at": ([0.0, 0.01],), "ogden_terms": ([[1, 2]], [[0.7, 1.3], [0.3, 4]]), "max_points": (20,), "max_step": (0.05,),
    "vertices": (
        [[0, 0], [0.04, 0], [0.04, 0.03], [0, 0.03]],
        [[0, 0], [0.05, 0], [0.05, 0.01], [0.01, 0.01], [0.01, 0.05], [0, 0.05]],
    ),
    "RectangleDrawing.cells": ([1, 2], [2, 2]), "BlockDrawing.cells": ([1, 1, 1],), "spokes": (3, 4), "rings": (1, 2),
    "eyelets": (2, 4), "keep": (1, 2), "Rayleigh.modes": ([1, 2], [1, 4]), "branch": (1,), "MeshOutput.edge": ([1, 2], [2, 3]),
    "Piece.until": ("10 ms",),
}  # fmt: skip
"""Values of fields, instead of what their types say."""

TEXTS: Mapping[str, tuple[str, ...]] = {
    "description": ("as drawn", "a: b, [c] # d", ""), "name": ("drawn", "ein Roboter"), "unit": ("mm", "cm"),
    "time_unit": ("s", "ms"),
    "components": ("x", "xy", "xyz", "z"), "file": ("tetrahedron.obj",), "HeightFieldSurface.file": ("heights.csv",),
    "Series.file": ("signal.csv",), "column": ("value",), "time_column": ("t",), "label": ("corner",), "Series.unit": ("N", "m"),
}  # fmt: skip
"""Texts of fields, by name or by class and name."""

SHARES = {
    "count": 0.04, "mirror": 0.03, "around": 0.04, "first_parent": 0.02, "parent": 0.7, "position": 0.6, "rotation": 0.35,
    "motion": 0.04, "equal_to": 0.06, "density": 1.0, "youngs_modulus": 1.0, "poissons_ratio": 0.9, "Rod.material": 1.0,
    "Rod.model": 0.9, "elements": 0.8,
    "mass": 0.6, "shape": 0.4, "spring": 0.5, "damper": 0.6, "limits": 0.15, "Rod.shape": 0.2, "Rod.initial": 0.1, "rates": 0.1,
    "Body.parent": 0.1, "along": 0.1, "input": 0.3, "Parameter.input": 0.0, "controllers": 0.1, "direction": 0.15, "gravity": 0.5,
    "friction": 0.3, "Membrane.stiffness": 0.6, "held": 0.8, "sets": 0.8, "section": 0.7, "Attach.variant": 0.0,
    "RobotSpec.include": 0.0, "inertia": 0.3, "Dipole.radius": 1.0, "profile": 0.2, "segments": 0.4,
}  # fmt: skip
"""Probabilities that optional fields are given, by name or by class and name; of others a quarter."""

FILES = {
    "tetrahedron.obj": "g corner\nv 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
    "heights.csv": "0, 0.01, 0\n0, 0.02, 0.01\n",
    "signal.csv": "t,value\n0,0\n0.02,1\n0.05,0.5\n",
}
"""Files that models read, which are written beside them."""


class NothingThereError(Exception):
    """A reference has nothing of its kind to refer to, or a part has no values that go together."""


class NoReferenceError(NothingThereError):
    """A required field has nothing that it can refer to: drawing the part again would not help."""


@dataclass
class Coverage:
    """What was met in models: types of parts, their fields, pairs of types in one model, and what `check` has refused."""

    types: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    models: int = 0

    def add(self, model: ValidModel) -> None:
        """Count the parts of a model."""
        spec = model.spec()
        self.models += 1
        self.refused.update(re.sub(r"'[^']*'|[-+0-9.e]*\d[-+0-9.e]*", "_", fault.message) for fault in model.refused)
        found = {type(part).__name__ for part, _ in parts(spec)}
        self.types.update(found)
        self.fields.update(
            {f"{type(part).__name__}.{name}" for part, _ in parts(spec) for name in part.model_fields_set}
        )
        entries = {type(entry).__name__ for name in COLLECTIONS for entry in getattr(spec, name).values()}
        self.pairs.update(combinations(sorted(entries), 2))


@dataclass(frozen=True)
class ValidModel:
    """A model as plain data, and the faults for which parts of its first draft were taken out."""

    seed: int
    data: Data
    refused: tuple[Fault, ...]

    @property
    def text(self) -> str:
        """The text of a model file."""
        return json.dumps(self.data, indent=1)

    def spec(self) -> RobotSpec:
        """The robot."""
        return RobotSpec.from_source(source_of(self.data))


def source_of(data: Data) -> Source:
    """The source of a model given as plain data."""
    return Source("", from_plain(data), folder_with_files())


_folders: list[Path] = []


def folder_with_files() -> Path | None:
    """The folder of the files that models read."""
    return _folders[-1] if _folders else None


def write_files(folder: Path) -> None:
    """Write the files that models read, to the folder of the models."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    _folders.append(folder)


def schema_types() -> set[type[Part]]:
    """All types of parts in the schema."""
    found: set[type[Part]] = set()
    waiting: list[type[Part]] = [RobotSpec]
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.add(part)
            waiting += [inner for info in part.model_fields.values() for inner in part_classes(info.annotation)]
    return found


def valid_model(seed: int) -> ValidModel:
    """The model of a seed."""
    return _Draft(np.random.default_rng(seed)).model(seed)


class _Draft:
    """A model that grows.

    length [m], mass [kg]: its size. known: what references of each kind can name. choices: values of inputs, by name.
    """

    def __init__(self, rng: np.random.Generator, *, inner: bool = False) -> None:
        self.rng = rng
        self.inner = inner
        self.length, self.mass = self.decades(0.05, 2.0), self.decades(3e-3, 3.0)
        self.data: Data = {"pliant": 1}
        self.values: dict[str, float] = {}
        self.flat: RobotSpec | None = None
        self.coordinates: list[str] = []
        self.instances = 1
        self.depth = 0
        self.refused: list[Fault] = []

    # -- chance --------------------------------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def decades(self, low: float, high: float) -> float:
        return float(f"{np.exp(self.rng.uniform(np.log(low), np.log(high))):.3g}")

    def between(self, low: float, high: float) -> float:
        return float(f"{self.rng.uniform(low, high):.3g}")

    def choose(self, options: Iterable[Any]) -> Any:
        listed = list(options)
        if not listed:
            raise NothingThereError
        return listed[int(self.rng.integers(len(listed)))]

    # -- values --------------------------------------------------------------------------------------------------------

    def unit(self, dimension: Dimension) -> float:
        """The size of a quantity of this robot [SI]: weights are about as large as forces."""
        time = np.sqrt(self.length / GRAVITY)
        sizes = (self.length, self.mass, time, 1.0, 1.0)
        return float(np.prod([size ** float(power) for size, power in zip(sizes, dimension.exponents, strict=True)]))

    def number(self, owner: type[Part], name: str, marker: Quantity, *, signed: bool) -> float:
        """A bare value of a field [SI]."""
        dimension = marker.dimension
        if name == "youngs_modulus" or (name == "shear_modulus" and issubclass(owner, Part)):
            return float(f"{self.decades(5.0, 300.0) * 1000 * GRAVITY * self.length / 0.04**2:.3g}")
        default = owner.model_fields[name].default
        given = NUMBERS.get(f"{owner.__name__}.{name}", NUMBERS.get(name))
        if given and (
            dimension is None
            or name not in ("angle", "vector", "normal", "axis", "scale", "turns")
            or dimension.is_number
        ):
            return self.between(*given)
        size = 1.0 if dimension is None else self.unit(dimension)
        if dimension == dim.LENGTH:
            size *= next((share for module, share in SLENDER.items() if owner.__module__.startswith(module)), 0.5)
        if dimension in (dim.AREA, dim.SECOND_MOMENT, dim.BENDING_STIFFNESS, dim.ROTARY_PER_LENGTH):
            size *= 0.04 ** {dim.AREA: 2, dim.SECOND_MOMENT: 4}.get(dimension, 0)
        low, high = SIZES.get(f"{owner.__name__}.{name}", SIZES.get(name, (0.2, 1.0)))
        if isinstance(default, tuple) and default and isinstance(default[0], int | float):
            default = default[0]
        if isinstance(default, int | float) and default:
            return float(f"{default * self.between(0.6, 1.6):.3g}")
        value = float(f"{size * self.between(low, high):.3g}")
        return -value if signed and self.chance(0.5) else value

    def leaf(self, marker: Any, owner: type[Part], name: str, in_list: bool) -> Any:
        """A value of an annotated type."""
        if isinstance(marker, Quantity):
            if marker.words and self.chance(0.4):
                return marker.words[0]
            default = owner.model_fields[name].default
            length_or_angle = marker.dimension is None or marker.dimension in (dim.LENGTH, dim.NUMBER)
            signed = default == 0 or default == (0, 0, 0) or (in_list and (length_or_angle or marker.signal))
            signed = signed and name not in ("damping", "stiffness", "noise")
            return self.number(owner, name, marker, signed=signed and marker.dimension != dim.TIME)
        if isinstance(marker, WordMappingOrObject):
            return self.choose(marker.words)
        if isinstance(marker, PlainScalar):
            return self.between(0.2, 1.0)
        if isinstance(marker, CountMarker):
            self.instances = int(self.rng.integers(2, 4))
            return self.instances
        if isinstance(marker, FormulaMarker):
            output = self.choose(self.entries("outputs"))
            return self.choose((f"={output}", f"=2*{output}", f"={output}.norm", f"={output}.x", "=t/(1 s)"))
        if isinstance(marker, NameMarker):
            return f"n{int(self.rng.integers(1000))}"
        assert isinstance(marker, Reference), marker
        return self.reference(marker.kind)

    def entries(self, collection: str) -> list[str]:
        """Names of the parts of a collection, and of instances of repeated ones."""
        there = self.data.get(collection, {})
        flat = [] if self.flat is None else [*getattr(self.flat, collection)]
        return [*(name for name, entry in there.items() if not _repeated(entry) and name not in flat), *flat]

    def reference(self, kind: str) -> str:
        """Something of a kind; a supply is drawn if there is none, or sometimes."""
        if kind == "frame":
            return str(self.choose(self.frames()))
        if kind == "coordinate":
            return str(self.choose(self.coordinates))
        if kind == "input":
            return str(self.choose(name for name in self.entries("parameters") if self.is_input(name)))
        if kind == "parameter":
            return str(self.choose(self.entries("parameters")))
        homes = HOMES.get(kind, (f"{kind}s",))
        found = [name for home in homes for name in self.entries(home)]
        if kind in ("section", "material") and (not found or (self.depth < 2 and self.chance(0.3))):
            return self.add(f"{kind}s")
        if kind.endswith("surface") and self.chance(0.1):
            return "all"
        if kind == "body" or kind.startswith("body, rod"):  # what has a volume, or can touch
            bare = {} if self.flat is None else self.flat.bodies
            found = [x for x in found if x not in bare or bare[x].shape is not None]
            found = [x for x in found if x not in self.data.get("bodies", {}) or "shape" in self.data["bodies"][x]]
        return str(self.choose(found))

    def is_input(self, name: str) -> bool:
        entry = self.data.get("parameters", {}).get(name.partition("[")[0])
        return isinstance(entry, dict) and bool(entry.get("input"))

    def frames(self) -> list[str]:
        """All frames: those of the flat robot, and of parts that were added since."""
        found = ["world"]
        for home in CARRIERS:
            flat = {} if self.flat is None else getattr(self.flat, home)
            for name, thing in flat.items():
                found += [name, *(f"{name}.{inner}" for inner in thing.frame_names())]
            for name, entry in self.data.get(home, {}).items():
                if name not in flat and not _repeated(entry):
                    named = [x for x, frame in entry.get("frames", {}).items() if not _repeated(frame)]
                    found += [name, *(f"{name}.{inner}" for inner in named)]
        return found if self.chance(0.3) or len(found) == 1 else found[1:]

    # -- parts ---------------------------------------------------------------------------------------------------------

    def draw(
        self, annotation: Any, owner: type[Part], name: str, extras: tuple[Any, ...] = (), in_list: bool = False
    ) -> Any:
        """A value of a type, as plain data."""
        while get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            inner = [x for extra in more for x in (extra.metadata if isinstance(extra, FieldInfo) else [extra])]
            extras = (*inner, *extras)
        kinds = (Quantity, CountMarker, FormulaMarker, Reference, NameMarker, PlainScalar, WordMappingOrObject)
        marker = next((extra for extra in extras if isinstance(extra, kinds)), None)
        if marker is not None:
            return self.leaf(marker, owner, name, in_list)
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin in (Union, UnionType):
            return self.draw(self.choose(x for x in arguments if x is not NoneType), owner, name, in_list=in_list)
        if origin is Literal:
            return self.choose(arguments)
        if origin is tuple:
            least = next((x.min_length for x in extras if isinstance(x, annotated_types.MinLen)), 1)
            return self.items(arguments, least, owner, name)
        if origin is dict:
            return self.mapping(arguments, owner, name)
        if isinstance(annotation, type) and issubclass(annotation, Part):
            return self.part(annotation)
        return self.plain(annotation, extras, owner, name)

    def items(self, arguments: tuple[Any, ...], least: int, owner: type[Part], name: str) -> list[Any]:
        """A list with items of these types, or at least so many different ones of one type."""
        if arguments[-1] is not Ellipsis:
            return [self.draw(x, owner, name, in_list=True) for x in arguments]
        number = least + int(self.rng.integers(0, 2 if least > 1 else 3))
        drawn = [self.draw(arguments[0], owner, name, in_list=True) for _ in range(max(1, number))]
        return [x for k, x in enumerate(drawn) if x not in drawn[:k]]

    def plain(self, annotation: Any, extras: tuple[Any, ...], owner: type[Part], name: str) -> Any:
        """A number, a text or a flag."""
        if annotation is bool:
            return self.chance(0.5)
        if annotation is int:
            least = next((x.ge for x in extras if isinstance(x, annotated_types.Ge)), 0)
            return int(least) + int(self.rng.integers(0, 4))
        if annotation in (float, int | float):
            return self.between(0.1, 1.0)
        if annotation is str:
            if name == "model":
                return self.choose((*self.data.get("models", {}), "pendulum"))
            if name in ("parameter", "by"):
                return self.choose((*self.entries("parameters"), *self.entries("outputs")))
            return str(self.choose(TEXTS.get(f"{owner.__name__}.{name}", TEXTS.get(name, ("words",)))))
        raise NothingThereError(f"{owner.__name__}.{name}: {annotation}")

    def mapping(self, arguments: tuple[Any, ...], owner: type[Part], name: str) -> Data:
        """Some entries by name: of sets of nodes, coordinates or parameters where names have to be known."""
        number = 1 if self.chance(0.7) else 2
        if name in ("initial", "rates", "start", "at", "imperfection", "stop"):
            keys = [self.choose(self.coordinates).rpartition(".")[2] for _ in range(number)]
        elif name in ("held", "edges"):
            keys = ["all", "ends", "s1"][: number + 1]
        else:
            keys = [f"{name[0]}{k + 1}" for k in range(number)]
        value = arguments[1]
        return {key: self.draw(value, owner, name) for key in keys}

    def part(self, kind: type[Part], given: Mapping[str, Any] | None = None) -> Any:
        """A part whose values go together, as plain data."""
        for _ in range(ATTEMPTS):
            kept, self.instances = self.instances, 1 if "count" in kind.model_fields else self.instances
            supplies = {name: dict(self.data.get(name, {})) for name in SUPPLIES}
            try:
                data = self.fields(kind, dict(given or {}))
                self.accept(kind, data)
            except (NothingThereError, ValidationError, ExpressionError) as error:
                self.data.update({name: entries for name, entries in supplies.items() if entries or name in self.data})
                if isinstance(error, NoReferenceError):
                    raise
                continue
            finally:
                self.instances = kept
            if not given and kind.empty_word and not data:
                return kind.empty_word
            if not given and kind.short_form and set(data) == {kind.short_form} and self.chance(0.5):
                short = data[kind.short_form]
                return data if isinstance(short, dict | list) else short
            return data
        raise NothingThereError(kind.__name__)

    def fields(self, kind: type[Part], data: Data) -> Data:
        for name in kind.file_keys():
            info = kind.model_fields[name]
            if name in data:
                continue
            alternatives = get_args(info.annotation)
            if get_origin(info.annotation) is Literal and len(alternatives) == 1:
                if kind is not RobotSpec:
                    data[name] = alternatives[0]
                continue
            share = SHARES.get(f"{kind.__name__}.{name}", SHARES.get(name, 0.25))
            if not info.is_required() and not self.chance(share):
                continue
            try:
                word = WORDS.get(f"{kind.__name__}.{name}", WORDS.get(name))
                data[name] = (
                    deepcopy(self.choose(word))
                    if word
                    else self.draw(info.annotation, kind, name, tuple(info.metadata))
                )
            except NothingThereError:
                if info.is_required():
                    raise NoReferenceError(f"{kind.__name__}.{name}") from None
        return data

    def accept(self, kind: type[Part], data: Data) -> None:
        """Raise an error if the values of a part do not go together."""
        spec = kind.model_validate(data)
        if next(iter(spec.problems(self.value)), None) is not None:
            raise NothingThereError

    def value(self, scalar: Any) -> float:
        return finite(scalar, self.values)

    def add(self, collection: str, kind: type[Part] | None = None, **given: Any) -> str:
        """Draw an entry of a collection and return its name."""
        annotation = get_args(RobotSpec.model_fields[collection].annotation)[1]
        self.depth += 1
        try:
            if self.depth > DEEPEST:
                raise NoReferenceError
            kinds = [kind] if kind else list(self.rng.permutation(list(part_classes(annotation))))
            entry = self.first_of(kinds, given)
        finally:
            self.depth -= 1
        there = self.data.get(collection, {})
        name = next(x for k in range(1, 1000) if (x := f"{collection[:2]}{k}") not in there)
        self.data.setdefault(collection, {})[name] = entry
        self.decorate(collection, name)
        return name

    def first_of(self, kinds: Iterable[type[Part]], given: Data) -> Any:
        """A part of the first type that can be drawn here."""
        for kind in kinds:
            with suppress(NothingThereError):
                return self.part(kind, given)
        raise NothingThereError

    # -- forms of values -----------------------------------------------------------------------------------------------

    def decorate(self, collection: str, name: str) -> None:
        """Write some values of an entry in other forms: with units, as expressions, per instance, as signals, of the state."""
        entry = self.data[collection][name]
        annotation = get_args(RobotSpec.model_fields[collection].annotation)[1]
        kinds = [kind for kind in part_classes(annotation) if _is(kind, entry)]
        if not isinstance(entry, dict) or len(kinds) != 1:
            return
        spec = kinds[0].model_validate(entry)
        for leaf in leaves(spec):
            marker = leaf.marker
            if (
                not isinstance(marker, Quantity)
                or not isinstance(leaf.value, int | float)
                or isinstance(leaf.value, bool)
            ):
                continue
            before = json.dumps(entry)
            if not _put(entry, leaf.path, leaf.value):
                continue  # a default, or a short form
            text = self.other_form(leaf, marker, spec, entry)
            if text is not None:
                _put(entry, leaf.path, text)
                try:
                    self.accept(kinds[0], entry)
                except (NothingThereError, ValidationError, ExpressionError):
                    entry.clear()
                    entry.update(json.loads(before))

    def other_form(self, leaf: Leaf, marker: Quantity, spec: Part, entry: Data) -> Any:
        dimension = leaf.owner.dimension(leaf.field, self.value) or marker.dimension
        if dimension is None or marker.cycles:
            return None
        value, unit = float(leaf.value), dimension.unit
        written = f"{value!r}" if unit == "1" else f"{value!r} {unit}"
        quantity = f"{value!r}" if unit == "1" else f"({value!r} {unit})"
        if marker.signal and self.chance(0.4):
            if self.chance(0.6):
                return f"={self.parameter(value, unit, input=True)}"
            return self.choose((f"={quantity}*sin(20*t/(1 s))", f"=if(t < 20 ms, {quantity}, 0.5*{quantity})"))
        states = spec.state_names() if marker.of_state else {}
        if states and self.chance(0.2):
            state = self.choose(states)
            size = f"({self.unit(states[state])!r} {states[state].unit})" if states[state].unit != "1" else "1"
            return f"={quantity}*(1 + 0.1*({state}/{size})^2)"
        if self.chance(0.1):
            return f"={self.parameter(value, unit)}"
        if isinstance(entry.get("count"), int) and self.chance(0.2) and not isinstance(leaf.owner, type(None)):
            return {"each": [float(f"{value * (1 + 0.1 * k):.3g}") for k in range(entry["count"])]}
        return written if self.chance(0.2) else None

    def parameter(self, value: float, unit: str, *, input: bool = False) -> str:
        """A parameter of a value."""
        there = self.data.setdefault("parameters", {})
        name = f"{'u' if input else 'p'}{len(there) + 1}"
        text = f"{value!r} {unit}" if unit != "1" else value
        entry: Data = {"value": text}
        if input:
            entry["input"] = True
            if self.chance(0.5):
                bounds = sorted((-3 * abs(value), 3 * abs(value)))
                entry |= {"minimum": _with(bounds[0], unit), "maximum": _with(bounds[1], unit)}
        there[name] = entry if len(entry) > 1 or self.chance(0.5) else text
        self.values[name] = value
        return name

    # -- the model -----------------------------------------------------------------------------------------------------

    def model(self, seed: int = 0) -> ValidModel:
        for name in ("name", "description", "start", "world"):
            if self.chance(0.3) and not self.inner:
                info = RobotSpec.model_fields[name]
                self.data[name] = self.draw(info.annotation, RobotSpec, name)
        if not self.inner and self.chance(0.12):
            self.data["models"] = {"inner": self.attached()}
        self.tree()
        self.settle()
        self.look()
        others = [name for name in COLLECTIONS if name not in (*CARRIERS, *SUPPLIES, *LAST, "joints", "attach")]
        wanted = 1 + int(self.rng.integers(0, 3 if self.inner else 6))
        for collection in (self.choose(others) for _ in range(wanted)):
            self.try_to_add(collection)
        self.settle()
        if not self.inner:
            self.acting()
        self.settle()
        self.prune()
        return ValidModel(seed, self.data, tuple(self.refused))

    def prune(self) -> None:
        """Take out parameters, materials and sections that nothing uses any more."""
        for collection in ("parameters", "sections", "materials"):
            for name in [*self.data.get(collection, {})][::-1]:
                entry = self.data[collection].pop(name)
                others = {key: x for key, x in self.data.items() if key not in ("inputs", "variants")}
                if re.search(rf"\b{name}\b", json.dumps(others)):
                    self.data[collection][name] = entry
                else:
                    self.data.get("inputs", {}).pop(name, None)
                    self.data.get("variants", {}).get("other", {}).get(collection, {}).pop(name, None)
            if not self.data.get(collection):
                self.data.pop(collection, None)

    def attached(self) -> Data:
        inner = _Draft(self.rng, inner=True)
        inner.length, inner.mass = self.length, self.mass
        data = dict(inner.model().data)
        data.pop("pliant")
        return data

    def try_to_add(self, collection: str, **given: Any) -> None:
        with suppress(NothingThereError):
            self.add(collection, **given)

    def tree(self) -> None:
        """Parts with frames, each on a joint unless it is fixed by itself."""
        for _ in range(1 + int(self.rng.integers(0, 2 if self.inner else 4))):
            home = self.choose((*("bodies",) * 5, *("rods",) * 3, *CARRIERS))
            self.try_to_add(home)
            for name, entry in self.data.get(home, {}).items():
                fixed = not isinstance(entry, dict) or "parent" in entry or "along" in entry
                there = [joint["child"].partition(".")[0] for joint in self.data.get("joints", {}).values()]
                if home == "bodies" and not fixed and name not in there:
                    inner = [f"{name}.{x}" for x, y in entry.get("frames", {}).items() if not _repeated(y)]
                    self.data["bodies"] = {x: y for x, y in self.data["bodies"].items() if x != name}
                    try:
                        self.add("joints", child=self.choose([name, name, *inner]))
                    except NothingThereError:
                        continue
                    self.data["bodies"][name] = entry
                    self.look(joints_only=True)
        if self.data.get("models") or (not self.inner and self.chance(0.04)):
            self.try_to_add("attach")

    def acting(self) -> None:
        """What acts on the whole: controllers, tasks, signals of inputs, analyses, variants, defaults."""
        for collection, share in {"outputs": 0.4, "control": 0.4, "task": 0.2}.items():
            if self.chance(share):
                self.try_to_add(collection)
        for name in [x for x in self.data.get("parameters", {}) if self.is_input(x)]:
            if self.chance(0.4):
                self.signal(name)
        if self.chance(0.35):
            self.data["analyses"] = []
            for name in analysis_names():
                if self.chance(0.3):
                    with suppress(NothingThereError):
                        self.data["analyses"].append({name: self.part(analysis(name))})
        if self.chance(0.15) and self.values:
            name = self.choose(self.values)
            self.data["variants"] = {"other": {"parameters": {name: 0.9 * self.values[name]}}}
        if self.chance(0.1):
            self.share_a_value()

    def signal(self, name: str) -> None:
        """A signal of an input, about as large as its value."""
        annotation = get_args(RobotSpec.model_fields["inputs"].annotation)[1]
        try:
            drawn = self.draw(annotation, RobotSpec, "inputs")
        except NothingThereError:
            return
        size = abs(self.values.get(name, 1.0))
        self.data.setdefault("inputs", {})[name] = drawn if not isinstance(drawn, int | float) else size * drawn

    def share_a_value(self) -> None:
        """Move a value of a part to `defaults`."""
        collection = self.choose(name for name in COLLECTIONS if self.data.get(name) and name != "attach")
        if collection not in ("inputs", "outputs", "models", "variants", "defaults"):
            name = self.choose(self.data[collection])
            entry = self.data[collection][name]
            if isinstance(entry, dict) and "mass" in entry:
                self.data["defaults"] = {collection: {"mass": entry.pop("mass")}}

    # -- faults --------------------------------------------------------------------------------------------------------

    def look(self, *, joints_only: bool = False) -> None:
        """Note what there is to refer to. joints_only: coordinates of rods are not known until the robot is derived."""
        with suppress(SpecError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec = RobotSpec.from_source(source_of(self.data))
            self.flat = flatten(spec)
            self.coordinates = [entry.name for entry in coordinate_table(self.flat)]
            if not joints_only:
                self.coordinates = [*derive(spec).coordinates]

    def settle(self) -> None:
        """Take out what `check` refuses."""
        for _ in range(ROUNDS):
            faults = check_source(source_of(self.data))
            if not faults:
                break
            if any(fault.path == "bodies" for fault in faults):
                self.data["bodies"], self.data["joints"] = (
                    {"bo1": {"mass": self.mass}},
                    {"jo1": {"type": "free", "child": "bo1"}},
                )
                continue
            self.refused += faults
            for fault in faults:
                self.take_out(fault)

    def take_out(self, fault: Fault) -> None:
        """Take out a value at fault, or its part if that is gone already."""
        steps = [step for step in re.split(r"[.\[\]]+", fault.path.replace("variants.other.", "")) if step]
        if fault.message.startswith("in variant"):
            self.data.pop("variants", None)
            return
        if not steps:
            return
        if steps[0] in ("analyses", "defaults", "start", "variants"):
            self.data.pop(steps[0], None)
            return
        there = self.data.get(steps[0])
        if not isinstance(there, dict) or len(steps) < 2 or steps[1] not in there:
            for entries in [self.data[name] for name in COLLECTIONS if name in self.data] if len(steps) > 1 else []:
                for name in [name for name, entry in entries.items() if f'"{steps[1]}"' in json.dumps(entry)]:
                    del entries[name]
            return
        entry = there[steps[1]]
        kinds = [
            kind for kind in schema_types() if isinstance(entry, dict) and _is(kind, entry) and _home(kind) == steps[0]
        ]
        field_at_fault = steps[2] if len(steps) > 2 else ""
        if isinstance(entry, dict) and field_at_fault in entry and kinds and not _needed(kinds, field_at_fault):
            del entry[field_at_fault]
            return
        del there[steps[1]]
        self.take_out_attached(steps[0], steps[1], entry)

    def take_out_attached(self, home: str, name: str, entry: Any) -> None:
        """Take out the joints of a body that is gone, or the body of a joint that is gone."""
        if home == "bodies":
            joints = self.data.get("joints", {})
            for joint_name in [x for x, joint in joints.items() if joint["child"].partition(".")[0] == name]:
                del joints[joint_name]
        if home == "joints" and isinstance(entry, dict):
            self.data.get("bodies", {}).pop(entry["child"].partition(".")[0], None)


def _home(kind: type[Part]) -> str:
    for name in COLLECTIONS:
        if kind in part_classes(get_args(RobotSpec.model_fields[name].annotation)[1]):
            return name
    return ""


def _needed(kinds: Iterable[type[Part]], name: str) -> bool:
    return any(
        name not in kind.model_fields or kind.model_fields[name].is_required() or name in ("type", "shape_type")
        for kind in kinds
    )


def _is(kind: type[Part], entry: Any) -> bool:
    """Whether data can be of a type: its words that select types are those of the data."""
    if not isinstance(entry, dict):
        return False
    for name, info in kind.model_fields.items():
        words = get_args(info.annotation)
        if get_origin(info.annotation) is Literal and len(words) == 1 and entry.get(name, info.default) != words[0]:
            return False
    return entry.keys() <= kind.model_fields.keys()


def _repeated(entry: Any) -> bool:
    return isinstance(entry, dict) and "count" in entry


def _with(value: float, unit: str) -> Any:
    return value if unit == "1" else f"{value!r} {unit}"


def _put(data: Any, path: tuple[Any, ...], value: Any) -> bool:
    """Put a value at a path; whether there was one."""
    for step in path[:-1]:
        inside = isinstance(data, dict) and step in data
        if not inside and not (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            return False
        data = data[step]
    last = path[-1]
    if isinstance(data, dict) and isinstance(data.get(last), int | float):
        data[last] = value
        return True
    if isinstance(data, list) and isinstance(last, int) and last < len(data) and isinstance(data[last], int | float):
        data[last] = value
        return True
    return False


# -- smaller models --------------------------------------------------------------------------------------------------------


def _pieces(data: bytes, depth: int) -> list[Any]:
    """Paths and values of a case: everything that is a named entry, or at a depth below that."""
    found: list[Any] = []

    def walk(value: Any, path: tuple[Any, ...]) -> None:
        if isinstance(value, dict) and value and len(path) < depth:
            for key, inner in value.items():
                walk(inner, (*path, key))
        elif path == ("surfaces",):
            found.extend(((*path, k), inner) for k, inner in enumerate(value))
        else:
            found.append((path, value))

    walk(json.loads(data), ())
    return found


def _joined(pieces: list[Any]) -> bytes:
    data: Data = {"surfaces": [], "model": {}}
    for path, value in pieces:
        if path[0] == "surfaces":
            data["surfaces"].append(value)
            continue
        there = data
        for step in path[:-1]:
            there = there.setdefault(step, {})
        there[path[-1]] = value
    return json.dumps(data, indent=1).encode()


ENTRIES = (lambda data: _pieces(data, 3), _joined)
"""Parts of a model, by which a failing case is made smaller."""
FIELDS = (lambda data: _pieces(data, 5), _joined)
"""Fields of its parts, likewise."""
