"""Flattening: a model without attached models and repeats, every body, joint, link, ... standing alone.

`link` with `count: 3` becomes `link[1]`, `link[2]`, `link[3]`; the body `bar` of a model attached as `left`
becomes `left/bar`, and that model's world the massless body `left/world`, welded where it was attached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, TypeAlias

from pliant.body.body import Body
from pliant.joint.base import JointBase
from pliant.joint.weld import Weld
from pliant.language.base import FromFiles, Part
from pliant.language.collection import collections
from pliant.language.dimension import Dimension
from pliant.language.environment import TIME, finite, in_order, parameter_dimensions, to_node
from pliant.language.evaluate import UNKNOWN, OpenDimension, dimension_of, evaluate, unknown_name
from pliant.language.expected import bounds_problems, wrong_dimension
from pliant.language.faults import Fault, SpecError
from pliant.language.limits import limits, most
from pliant.language.names import NameMarker, Reference
from pliant.language.parameter import Parameter
from pliant.language.scalar import CountMarker, Each, FormulaMarker, Quantity, Scalar
from pliant.language.source import MODEL_FOLDER, FileProblem, bundled, read_source, shown_beside, with_variant
from pliant.language.state_formula import THIS
from pliant.language.syntax import ExpressionError, Node, Number, Symbol, parse, substitute, symbols, to_text
from pliant.language.walk import Leaf, map_leaves
from pliant.language.words import KeyPath, nearest
from pliant.output.base import OutputBase
from pliant.spec.flat import ONCE, Flat, Instance, Origin, Override

if TYPE_CHECKING:
    from pliant.spec.attach import Attach
    from pliant.spec.robot import RobotSpec

WORLD = "world"

Dimensions: TypeAlias = Mapping[str, Dimension | OpenDimension]
"""Those of parameters, by name."""

_REFERENCE = re.compile(r"(?P<name>[A-Za-z0-9_/]+)(?:\[(?P<index>[^\]]+)\])?(?P<rest>\..*)?")


def flatten(spec: RobotSpec) -> RobotSpec:
    """The model with everything standing alone; raises SpecError if references or files are wrong."""
    return flatten_with_structure(spec)[0]


def flatten_with_structure(spec: RobotSpec) -> tuple[RobotSpec, frozenset[str]]:
    """The flat model, and the parameters that decide how many things there are in it."""
    flat = flatten_all(spec)
    faults = [*flat.faults, *(fault for _, fault in flat.incomplete.values() if fault is not None)]
    if faults or flat.incomplete:
        raise SpecError(faults or [Fault(f"{name} cannot be read") for name in flat.incomplete], spec.title)
    return flat_spec(spec, flat), _structural(flat)


def flat_spec(spec: RobotSpec, flat: Flat) -> RobotSpec:
    """The flat things as a spec. It is made from a checked one, so it is not checked again."""
    data: dict[str, Any] = {**flat.things, "analyses": flat.analyses}
    data |= {"name": spec.title, "description": spec.description, "world": spec.world, "start": spec.start}
    return type(spec).model_construct(**data).with_source(spec.source)


def flatten_all(spec: RobotSpec) -> Flat:
    """Flatten as far as possible, and note everything that is wrong."""
    flat = Flat()
    _Level(spec, flat, prefix="", overrides={}).expand()
    return flat


def structural_parameters(spec: RobotSpec) -> frozenset[str]:
    """Parameters that decide how many things there are: a change of value makes another model."""
    return _structural(flatten_all(spec))


def _structural(flat: Flat) -> frozenset[str]:
    parameters: Mapping[str, Parameter] = flat.things.get("parameters", {})
    found, waiting = set(), list(flat.structural)
    while waiting:
        name = waiting.pop()
        if name in parameters and name not in found:
            found.add(name)
            waiting.extend(symbols(to_node(parameters[name].value)))
    return frozenset(found)


class _Level:
    """One model, the top one or an attached one, on its way into the flat model."""

    def __init__(self, spec: RobotSpec, flat: Flat, *, prefix: str, overrides: Mapping[str, Override]) -> None:
        self.spec, self.source, self.flat, self.prefix = spec, spec.source, flat, prefix
        self.overrides = overrides
        self.names: dict[str, Node] = {
            name: overrides[name].node if name in overrides else Symbol(prefix + name) for name in spec.parameters
        }
        self.values = self._numbers()

    def _numbers(self) -> dict[str, float]:
        """Values of the parameters that have one; what is wrong with the others is found by the checks."""
        values: dict[str, float] = {}
        for name in in_order(self.spec.parameters)[0]:
            given = self.overrides.get(name)
            try:
                if given is not None:
                    values[name] = float(evaluate(given.node, self.flat.values))
                else:
                    own = to_node(self.spec.parameters[name].value)
                    values[name] = self.flat.values[self.prefix + name] = float(evaluate(own, values))
            except ExpressionError:
                continue
        return values

    def expand(self) -> None:
        """Put the parts of this model into the flat one, in the order of the schema."""
        spec = self.spec
        for collection in collections(type(spec)):
            for name, thing in getattr(spec, collection).items():
                if collection == "attach":
                    self._attach(name, thing)
                elif collection == "joints":
                    self._joint(name, thing)
                elif self.prefix and isinstance(thing, OutputBase) and thing.is_of_whole_robot:
                    continue  # such as the energy, which is not that of the attached model
                elif collection not in ("parameters", "inputs"):
                    count = getattr(thing, "count", None)
                    number = None if count is None else self._count(count, (collection, name, "count"))
                    self._repeat(collection, name, thing, number)
                elif name not in self.names or self.names[name] == Symbol(self.prefix + name):
                    self._add(collection, name, thing)  # what an outer model overrides is gone
        analyses = map_leaves(spec.analyses, self._change(ONCE), ("analyses",))
        if not self.prefix:
            self.flat.analyses = analyses
            return
        self.flat.without_effect[self.prefix] = map_leaves(spec.world, self._change(ONCE), ("world",)), analyses
        for key in ("world", "analyses"):
            self.flat.origins[key, self.prefix] = Origin(self.source, (key,))

    def _count(self, count: int | str, path: KeyPath) -> int:
        """The number of instances as a number; 1 where it is wrong, so that the rest can be checked."""
        if isinstance(count, int):
            return count
        node = parse(count)
        self._note_structural(node)
        try:
            value = finite(count, self.values)
            dimension = dimension_of(node, parameter_dimensions(self.spec.parameters)[0])
        except ExpressionError as error:
            self.flat.fault(self.source, path, str(error), error.hint)
            return 1
        unit = "" if isinstance(dimension, OpenDimension) or dimension.is_number else f" {dimension.unit}"
        if unit or not (value >= 1 and value == round(value)):
            message = f"the number of instances must be a whole number from 1 on, but {count} is {value:g}{unit}"
            self.flat.fault(self.source, path, message, "use a parameter with a whole number")
            return 1
        return int(min(value, 1e12))

    def _note_structural(self, node: Node) -> None:
        self.flat.structural |= symbols(substitute(node, self.names))

    def _add(self, collection: str, name: str, thing: Any, instance: Instance = ONCE) -> None:
        path = (collection, name)
        full_name = f"{self.prefix}{name}{instance.suffix}"
        origin = Origin(self.source, path, instance.index)
        if isinstance(thing, Part):
            thing = map_leaves(thing, self._change(instance, frozenset(thing.state_names())), path)
            if isinstance(thing, FromFiles):
                try:
                    thing = self._with_files(thing)
                except (FileProblem, ExpressionError) as problem:
                    self._leave_out(full_name, thing, origin, problem)
                    return
        elif isinstance(thing, (str, float, int, Each)):
            thing = self._scalar(thing, path, instance)
        self.flat.add(collection, full_name, thing, origin)

    def _with_files(self, thing: FromFiles) -> FromFiles:
        """The part with what its files say."""

        def value(scalar: Scalar) -> float:
            return finite(scalar, self.flat.values)

        for scalar in thing.values_read():
            self._note_structural(to_node(scalar))
        return thing.with_files(self.source, value)

    def _leave_out(self, name: str, thing: FromFiles, origin: Origin, problem: FileProblem | ExpressionError) -> None:
        """Note a part whose files cannot be read, or a value that reading them needs; that is reported where the value stands."""
        fault = None
        if isinstance(problem, FileProblem):
            fault = self.source.fault((*origin.path, *problem.path), str(problem), problem.hint)
        self.flat.unread |= {origin.path}
        collection = str(origin.path[0])
        self.flat.incomplete[collection, name] = thing, fault
        self.flat.origins[collection, name] = origin

    def _repeat(self, collection: str, name: str, thing: Any, count: int | None) -> None:
        if count is None:
            if self.flat.room(1, self.source, (collection, name)):
                self._add(collection, name, thing)
            return
        self.flat.counts[collection, self.prefix + name] = count
        if self.flat.room(count, self.source, (collection, name, "count")):
            single = thing.model_copy(update={"count": None})
            for index in range(1, count + 1):
                self._add(collection, name, single, Instance(index, count))

    def _joint(self, name: str, joint: JointBase) -> None:
        body, _, frame = joint.child.partition(".")
        count = self.flat.counts.get(("bodies", self.prefix + body))
        if count is None:
            if joint.first_parent is not None:
                hint = "remove it, or repeat the child with `count`"
                self.flat.fault(self.source, ("joints", name, "first_parent"), "the joint is not repeated", hint)
            self._repeat("joints", name, joint, None)
            return
        self.flat.counts["joints", self.prefix + name] = count
        if not self.flat.room(count, self.source, ("joints", name)):
            return
        for index in range(1, count + 1):
            child = f"{body}[{index}]" + (f".{frame}" if frame else "")
            first = index == 1 and joint.first_parent is not None
            parent = joint.first_parent if first else joint.parent
            single = joint.model_copy(update={"child": child, "parent": parent, "first_parent": None})
            self._add("joints", name, single, Instance(index, count))

    def _change(self, instance: Instance, state: frozenset[str] = frozenset()) -> Callable[[Leaf], Any]:
        """What happens to each value, name and reference of a thing whose coefficients may use these names of its state."""

        def change(leaf: Leaf) -> Any:
            if isinstance(leaf.marker, Quantity):
                own = state if leaf.marker.of_state else frozenset()
                return self._scalar(leaf.value, leaf.path, instance, own)
            if isinstance(leaf.marker, CountMarker) and leaf.field != ("count",):
                return self._count(leaf.value, leaf.path)
            if isinstance(leaf.marker, FormulaMarker):
                return self._formula(leaf.value)
            if isinstance(leaf.marker, Reference):
                return self._reference(leaf.marker.kind, leaf.value, leaf.path, instance)
            if isinstance(leaf.marker, NameMarker) and (self.prefix or instance.index is not None):
                return f"{self.prefix}{leaf.value}{instance.suffix}"
            return leaf.value

        return change

    def _scalar(self, value: Scalar, path: KeyPath, instance: Instance, state: frozenset[str] = frozenset()) -> Scalar:
        if isinstance(value, Each):
            value = self._pick(value, path, instance)
        if not isinstance(value, str) or not value.startswith("="):
            return value
        node = parse(value)
        numbers: dict[str, Node] = {name: Number(float(number)) for name, number in instance.values.items()}
        used = symbols(node)
        if self.prefix:  # an outer model may have a parameter called like a quantity of the state in here
            numbers |= {name: Symbol(THIS + name) for name in used & state - self.names.keys()}
        if not used & (self.names.keys() | numbers.keys()) or (not self.prefix and not used & numbers.keys()):
            return value
        return to_text(substitute(node, {**self.names, **numbers}))

    def _formula(self, text: str) -> str:
        """An expression of outputs and parameters in flat names."""
        node = parse(text)
        own: dict[str, Node] = {
            name: Symbol(self.prefix + name)
            for name in symbols(node)
            if "/" in name or name.partition(".")[0] in self.spec.outputs
        }
        if not self.prefix:
            return text
        return to_text(substitute(node, {**self.names, **own}))

    def _pick(self, value: Each, path: KeyPath, instance: Instance) -> float | str:
        if instance.index is None:
            message = "`each` gives values per instance, but this is not repeated"
            self.flat.fault(self.source, path, message, "give one value, or repeat the thing with `count`")
        elif len(value.each) != instance.count:
            message = f"`each` has {len(value.each)} values for {instance.count} instances"
            if instance.index == 1:
                self.flat.fault(self.source, path, message, "give one value per instance")
        else:
            return value.each[instance.index - 1]
        return value.each[0] if value.each else 0.0

    def _reference(self, kind: str, text: str, path: KeyPath, instance: Instance) -> str:
        """A reference in flat names: prefix added, index computed."""
        if text == WORLD:
            return self.prefix + WORLD
        match = _REFERENCE.fullmatch(text)
        if match is None or match["index"] is None:
            return self.prefix + text
        try:
            node = parse("=" + match["index"])
            self._note_structural(node)
            index = finite("=" + match["index"], {**self.values, **instance.values})
        except ExpressionError as error:
            self.flat.fault(self.source, path, f"in the index of {text}: {error}", error.hint)
            return self.prefix + text
        if index != round(index):
            self.flat.fault(self.source, path, f"the index of {text} must be a whole number, but it is {index:g}")
        return f"{self.prefix}{match['name']}[{index:.0f}]{match['rest'] or ''}"

    def _attach(self, name: str, attach: Attach) -> None:
        flat, path = self.flat, ("attach", name)
        flat.attached += 1
        if flat.attached > limits().attached:
            if flat.attached == limits().attached + 1:
                flat.fault(self.source, path, "too many models are attached", most("attached"))
            return
        inner = self._read(attach, path)
        if inner is None:
            flat.unread |= {path}
            return
        overrides = self._overrides(name, attach, inner)
        prefix = f"{self.prefix}{name}/"
        level = _Level(inner, flat, prefix=prefix, overrides=overrides)
        # of values that were checked with the attachment: what is checked anew needs its schema, which takes 10 ms to build
        ground = Weld.model_construct(parent=attach.to, child=name, position=attach.position, rotation=attach.rotation)
        weld = map_leaves(ground, self._change(ONCE), path).model_copy(update={"child": prefix + WORLD})
        flat.add("bodies", prefix + WORLD, Body.model_construct(), Origin(self.source, path))
        flat.add("joints", prefix + WORLD, weld, Origin(self.source, path))
        level.expand()

    def _read(self, attach: Attach, path: KeyPath) -> RobotSpec | None:
        """The attached model, checked for its shape only: its values depend on the overrides."""
        try:
            if attach.model in bundled():
                file: FilePath = MODEL_FOLDER / f"{attach.model}.yaml"
            else:
                file = self.source.find(attach.model)
            if file.resolve() in self.source.parents:
                chain = " -> ".join(step.name for step in (*self.source.parents, file))
                raise FileProblem(f"models attach each other in a circle: {chain}", "remove one of them")
            roots = (*self.source.roots, *((self.source.folder,) if self.source.folder else ()))
            key = (file, attach.variant, roots, self.source.parents)
            if key not in self.flat.models:
                shown = shown_beside(file, self.source)
                source = read_source(file, shown=shown, roots=roots, parents=self.source.parents)
                self.flat.models[key] = type(self.spec).from_source(with_variant(source, attach.variant), whole=False)
            return self.flat.models[key]
        except FileProblem as problem:
            match = nearest(attach.model, bundled())
            hint = f"did you mean the bundled robot '{match}'?" if match else problem.hint
            self.flat.fault(self.source, (*path, "model"), str(problem), hint)
        except SpecError as error:
            self.flat.faults.extend(error.faults)
        return None

    def _overrides(self, name: str, attach: Attach, inner: RobotSpec) -> dict[str, Override]:
        """Values for the attached model's parameters, given here or, as `name/parameter`, further out."""
        given = {
            key: Override(to_node(self._scalar(value, path, ONCE)), self.source, path)
            for key, value in attach.parameters.items()
            for path in [("attach", name, "parameters", key)]
        }
        start = name + "/"
        given |= {key.removeprefix(start): over for key, over in self.overrides.items() if key.startswith(start)}
        found: dict[str, Override] = {}
        outer = parameter_dimensions(self.flat.things.get("parameters", {}))[0] if given else {}
        own = parameter_dimensions(inner.parameters)[0] if given else {}
        for key, override in given.items():
            first, slash, _ = key.partition("/")
            if key in inner.parameters:
                problem = self._override_problem(key, override, inner.parameters, outer, own)
                if problem is None:
                    found[key] = override
                else:
                    self.flat.fault(override.source, override.path, *problem)
            elif slash and first in inner.attach:
                found[key] = override
            else:
                hint = unknown_name(key, {**inner.parameters, **{f"{inside}/": 0 for inside in inner.attach}}).hint
                message = f"the attached model has no parameter '{key}'"
                self.flat.fault(override.source, override.path, message, hint)
        return found

    def _override_problem(
        self, name: str, override: Override, inner: Mapping[str, Parameter], outer: Dimensions, own: Dimensions
    ) -> tuple[str, str] | None:
        """What is wrong with a value for an attached model's parameter: its dimension, or its bounds. outer, own: dimensions of the
        flat model's parameters and of the attached one's."""
        try:
            problem = wrong_dimension(override.node, own[name], {**outer, "t": UNKNOWN})
            if problem:
                return problem
            value = finite(to_text(override.node), self.flat.values)
        except ExpressionError as error:
            varies = error.name == TIME and inner[name].input
            return None if error.name in outer or varies else (str(error), error.hint)

        def number(scalar: Scalar) -> float:
            return float(evaluate(to_node(scalar), {}))

        found = bounds_problems(name, inner[name], value, own[name], own, number)
        return next(((message, hint) for path, message, hint in found if path == ("value",)), None)
