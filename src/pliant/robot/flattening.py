"""Flattening: a model without attached models and repeats, in which every body, joint, link, ... is independent.

`link` with `count: 3` becomes `link[1]`, `link[2]`, `link[3]`; the body `bar` of a model attached as `left`
becomes `left/bar`, and that model's world the massless body `left/world`, welded where it was attached.
A body that is fixed without a joint has a weld of its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from pliant.language.base import FromFiles, Part, part_classes
from pliant.language.dimension import Dimension
from pliant.language.evaluate import THIS, UNKNOWN, OpenDimension, dimension_of, evaluate, to_node, unknown_name
from pliant.language.faults import ExpressionError, Fault, SpecError
from pliant.language.limits import limits, most
from pliant.language.message_text import KeyPath, nearest, unit_after_value
from pliant.language.names import NameMarker, Reference
from pliant.language.parameter import (
    TIME,
    Parameter,
    bounds_problems,
    finite,
    in_order,
    parameter_dimensions,
    wrong_dimension,
)
from pliant.language.placement import Around, Placement
from pliant.language.scalar import CountMarker, Each, FormulaMarker, Quantity, Repeated, Scalar
from pliant.language.source import MODEL_FOLDER, FileProblem, Source, bundled, read_source, shown_beside, with_variant
from pliant.language.syntax import Binary, Node, Number, Symbol, choose, parse, substitute, symbols, to_text
from pliant.language.traversal import Leaf, SplicedValues, collections, map_leaves
from pliant.language.tree import Tree
from pliant.parts.body import Along, Body
from pliant.parts.joint.types import JointBase, Weld
from pliant.parts.output.base import OutputBase
from pliant.parts.rod.rod import Rod, RodFrame
from pliant.robot.attach import Attach
from pliant.robot.fields import Robot, RobotFields, need_spec
from pliant.robot.flat import HOMES, INSTANCE_NAMES, ONCE, Flat, Instance, Origin, Override

Dimensions: TypeAlias = Mapping[str, Dimension | OpenDimension]
"""Dimensions of parameters by name."""


def read_attached(spec: RobotFields, attach: Attach, path: KeyPath, flat: Flat) -> RobotFields | None:
    """Read an attached model; None after a fault, which is recorded in `flat`.

    Only its structure is checked, because its values depend on the overrides.
    """
    outer = spec.source
    try:
        key = (attach.model, attach.variant, outer.file, outer.folder, outer.roots, outer.parents)
        if key not in flat.models:
            source = source_within(outer, attach.model) if attach.model in spec.models else _file(outer, attach.model)
            flat.models[key] = type(spec).from_source(with_variant(source, attach.variant), whole=False)
            flat.notes.extend(source.notes if source.file != outer.file else ())
        found: RobotFields = flat.models[key]
        return found
    except FileProblem as problem:
        match = nearest(attach.model, (*spec.models, *bundled())) if attach.model not in spec.models else None
        what = "model" if match in spec.models else "bundled robot"
        hint = f"did you mean the {what} '{match}'?" if match else problem.hint
        flat.fault(outer, (*path, "model"), str(problem), hint)
    except SpecError as error:
        flat.faults.extend(error.faults)
    return None


def _file(outer: Source, model: str) -> Source:
    """The source of a file, or of a bundled robot."""
    file = MODEL_FOLDER / f"{model}.yaml" if model in bundled() else outer.find(model)
    _refuse_circle(outer, file.resolve())
    roots = (*outer.roots, *((outer.folder,) if outer.folder else ()))
    return read_source(file, shown=shown_beside(file, outer), roots=roots, parents=outer.parents)


def source_within(outer: Source, model: str) -> Source:
    """The source of a model under `models`, which may also attach other models of that text."""
    here = FilePath(f"{outer.file or 'the model'}: models.{model}")
    _refuse_circle(outer, here)
    assert outer.tree is not None
    models = outer.tree.value["models"]
    own: Tree = models.value[model]
    content = {"pliant": Tree(1, own.place), "models": models, **own.value}
    return replace(outer, tree=Tree(content, own.place), parents=(*outer.parents, here))


def unattached(source: Source) -> list[tuple[str, str | None]]:
    """Models under `models` that nothing attaches, and variants that nothing selects; they have to be checked separately."""
    given = source.tree.value.get("models") if source.tree is not None else None
    if given is None or not isinstance(given.value, dict):
        return []
    known = [(name, variant) for name, model in given.value.items() for variant in (None, *_variants_of(model))]
    return sorted(set(known) - set(_attachments(source.all_variants or source.tree)), key=known.index)


def _variants_of(model: Tree) -> list[str]:
    variants = model.value.get("variants") if isinstance(model.value, dict) else None
    return [*variants.value] if variants is not None and isinstance(variants.value, dict) else []


def _attachments(tree: Tree | None) -> Iterator[tuple[str, str | None]]:
    """Model and variant of every entry of an `attach` in a text, those in variants and under `models` included."""
    for key, inner in tree.value.items() if tree is not None and isinstance(tree.value, dict) else ():
        if key == "attach" and isinstance(inner.value, dict):
            for entry in inner.plain().values():
                if isinstance(entry, dict) and isinstance(entry.get("model"), str):
                    yield entry["model"], entry.get("variant")
        else:
            yield from _attachments(inner)


def _refuse_circle(outer: Source, file: FilePath) -> None:
    if file in outer.parents:
        chain = " -> ".join(step.name for step in (*outer.parents, file))
        raise FileProblem(f"circular attachment of models: {chain}", "remove one of them")


def overrides_of(inner: RobotFields, given: Mapping[str, Override], flat: Flat) -> dict[str, Override]:
    """The valid ones of the values `given` for parameters of an attached model; faults of the others are recorded in `flat`.

    Names such as `name/parameter` belong to models attached to that model.
    """
    found: dict[str, Override] = {}
    _check_overridden(inner, given, flat)
    outer = parameter_dimensions(flat.things.get("parameters", {}))[0] if given else {}
    known = _alone(inner.parameters) if given else {}
    own = parameter_dimensions(known)[0]
    for key, override in given.items():
        first, slash, _ = key.partition("/")
        name = key.partition("[")[0]
        if not slash and name in known and (name == key or known[name].count is not None):
            problem = _override_problem(name, override, known, outer, own, flat)
            if problem is None:
                found[key] = override
            else:
                flat.fault(override.source, override.path, *problem)
        elif slash and first.partition("[")[0] in inner.attach:
            found[key] = override
        else:
            hint = unknown_name(key, {**inner.parameters, **{f"{inside}/": 0 for inside in inner.attach}}).hint
            message = f"the attached model has no parameter '{key}'"
            flat.fault(override.source, override.path, message, hint)
    return found


def _check_overridden(inner: RobotFields, given: Mapping[str, Override], flat: Flat) -> None:
    """Record faults of the values that are overridden, which are not evaluated elsewhere."""
    parameters, values = _alone(inner.parameters) if given else {}, dict[str, float]()
    for name in in_order(parameters)[0]:
        try:
            values[name] = finite(parameters[name].value, values)
        except ExpressionError as error:
            if name in given and error.name not in (*parameters, TIME):
                flat.fault(inner.source, ("parameters", name, "value"), str(error), error.hint)


def _alone(parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The parameters with one value each: the first one, where values are listed per instance."""

    def one(parameter: Parameter) -> Parameter:
        value = parameter.value
        return (
            parameter.model_copy(update={"value": value.each[0]})
            if isinstance(value, Each) and value.each
            else parameter
        )

    return {name: one(parameter) for name, parameter in parameters.items()}


def _override_problem(
    name: str, override: Override, inner: Mapping[str, Parameter], outer: Dimensions, own: Dimensions, flat: Flat
) -> tuple[str, str] | None:
    """Message and hint if a value for a parameter of an attached model has a wrong dimension or is out of bounds.

    outer, own: dimensions of the parameters of the flat model and of the attached one.
    """
    try:
        problem = wrong_dimension(override.node, own[name], {**outer, "t": UNKNOWN})
        if problem:
            return problem
        value = finite(to_text(override.node), flat.values)
    except ExpressionError as error:
        varies = error.name == TIME and inner[name].input
        return None if error.name in outer or varies else (str(error), error.hint)

    def number(scalar: Scalar) -> float:
        return float(evaluate(to_node(scalar), {}))

    found = bounds_problems(name, inner[name], value, own[name], own, number)
    return next(((message, hint) for path, message, hint in found if path == ("value",)), None)


WORLD = "world"

_INDEX = re.compile(r"\[([^\[\]]+)\]")


def flatten(spec: Robot) -> Robot:
    """The model with all repeated and attached parts expanded; raises SpecError if references or files are wrong."""
    need_spec(spec)
    return flatten_with_structure(spec)[0]


def flatten_with_structure(spec: Robot) -> tuple[Robot, frozenset[str]]:
    """The flat model, and the parameters that determine its structure."""
    flat = flatten_all(spec)
    faults = [*flat.faults, *(fault for _, fault in flat.incomplete.values() if fault is not None)]
    if faults or flat.incomplete:
        raise SpecError(faults or [Fault(f"{name} cannot be read") for name in flat.incomplete], spec.title)
    return flat_spec(spec, flat), _structural(flat)


def flat_spec(spec: Robot, flat: Flat) -> Robot:
    """The flat parts as a spec. It is derived from a checked one, so it is not checked again."""
    data: dict[str, Any] = {**flat.things, "analyses": flat.analyses}
    data |= {
        "flat": True,
        "name": spec.title,
        "description": spec.description,
        "world": spec.world,
        "start": spec.start,
    }
    made: Any = type(spec).model_construct(**data)
    flattened: Robot = made.with_source(spec.source)
    return flattened


def flatten_all(spec: RobotFields) -> Flat:
    """Flatten as far as possible, and record all faults."""
    flat = Flat()
    level = _Level(spec, flat, prefix="", overrides={})
    if spec.flat:
        level.keep()
    else:
        level.expand()
    return flat


def structural_parameters(spec: RobotFields) -> frozenset[str]:
    """Parameters that determine the structure of the model, such as the number of parts; other values make another model."""
    return _structural(flatten_all(spec))


def _structural(flat: Flat) -> frozenset[str]:
    parameters: Mapping[str, Parameter] = flat.things.get("parameters", {})
    structural, waiting = set(), list(flat.structural)
    while waiting:
        name = waiting.pop()
        if name in parameters and name not in structural:
            structural.add(name)
            waiting.extend(symbols(to_node(parameters[name].value)))
    return frozenset(structural)


def _not_flat(collection: str, thing: Any) -> str:
    """What flattening would have to expand in a part; empty if there is nothing."""
    if collection == "attach":
        return "attached models"
    if isinstance(thing, Part) and getattr(thing, "count", None) is not None:
        return "repeated parts"
    is_fixed = isinstance(thing, Body) and (thing.parent is not None or thing.along is not None)
    return "bodies that are fixed without a joint" if is_fixed else ""


class _Level:
    """A model that is being flattened: the top one or an attached one."""

    def __init__(self, spec: RobotFields, flat: Flat, *, prefix: str, overrides: Mapping[str, Override]) -> None:
        self.spec, self.source, self.flat, self.prefix = spec, spec.source, flat, prefix
        self.overrides = overrides
        self.along: list[BodyOnRod] = []
        single = {
            name: given
            for name, given in spec.parameters.items()
            if given.count is None and not isinstance(given.value, Each)
        }
        self._take(single)
        if len(single) < len(spec.parameters):  # counts and indices need the values of parameters that are not repeated
            self._take(self._instances())

    def _take(self, parameters: dict[str, Parameter]) -> None:
        """Register parameters, their names in the flat model, and their values."""
        self.parameters = parameters
        self.names: dict[str, Node] = {name: self._meaning(name) for name in parameters}
        self.values = self._numbers()

    def _meaning(self, parameter: str) -> Node:
        given = self._override(parameter)
        return Symbol(self.prefix + parameter) if given is None else given.node

    def _override(self, parameter: str) -> Override | None:
        """The value from an outer model, if any: for this parameter, or for all instances of a repeated parameter."""
        return self.overrides.get(parameter) or self.overrides.get(parameter.partition("[")[0])

    def _numbers(self) -> dict[str, float]:
        """Values of the parameters that can be evaluated; problems of the others are found by the checks."""
        values: dict[str, float] = {}
        for name in in_order(self.parameters)[0]:
            given = self._override(name)
            try:
                if given is not None:
                    values[name] = float(evaluate(given.node, self.flat.values))
                else:
                    own = to_node(self.parameters[name].value)
                    values[name] = self.flat.values[self.prefix + name] = float(evaluate(own, values))
            except ExpressionError:
                continue
        return values

    def _instances(self) -> dict[str, Parameter]:
        """All parameters, the repeated ones as their instances."""
        instances: dict[str, Parameter] = {}
        for name, parameter in self.spec.parameters.items():
            path = ("parameters", name)
            for instance in self._counted("parameters", name, parameter):

                def local(leaf: Leaf, instance: Instance = instance) -> Any:
                    return self._local(leaf.value, leaf.path, instance)

                alone = parameter.model_copy(update={"count": None}) if parameter.count is not None else parameter
                instances[instance.of(name)] = map_leaves(alone, local, path)
        return instances

    def keep(self) -> None:
        """Add the parts of this model, which is already flat, to the flat model unchanged."""
        for collection in collections(type(self.spec)):
            for name, thing in getattr(self.spec, collection).items():
                path = (collection, name)
                if what := _not_flat(collection, thing):
                    self.flat.fault(self.source, path, f"a flat model has no {what}", "remove `flat: true`")
                elif self.flat.room(1, self.source, path):
                    self._put(collection, name, thing, Origin(self.source, path))
        self.flat.analyses = self.spec.analyses

    def expand(self) -> None:
        """Add the parts of this model to the flat model, in the order of the schema."""
        spec = self.spec
        for name, parameter in self.parameters.items():
            if self._override(name) is None:  # uses of an overridden parameter are replaced by its value
                base, _, index = name.partition("[")
                origin = Origin(self.source, ("parameters", base), int(index[:-1]) if index else None)
                self.flat.add("parameters", self.prefix + name, self._changed(parameter, origin.path, ONCE), origin)
        for collection in collections(type(spec)):
            for name, thing in getattr(spec, collection).items() if collection != "parameters" else ():
                self._expand_part(collection, name, thing)
        fix_along(self.along, self.source, flat=self.flat)
        analyses = map_leaves(spec.analyses, self._change(ONCE), ("analyses",))
        if not self.prefix:
            self.flat.analyses = analyses
            return
        self.flat.without_effect[self.prefix] = map_leaves(spec.world, self._change(ONCE), ("world",)), analyses
        for key in ("world", "analyses"):
            self.flat.origins[key, self.prefix] = Origin(self.source, (key,))

    def _expand_part(self, collection: str, name: str, thing: Any) -> None:
        """Add the instances of one part to the flat model."""
        if collection == "joints":
            self._joint(name, thing)
            return
        if collection == "inputs":
            self._input(name, thing)
            return
        if self.prefix and isinstance(thing, OutputBase) and thing.is_of_whole_robot:
            return  # such as the energy, which would not be that of the attached model
        for instance in self._counted(collection, name, thing):
            if collection == "attach":
                self._attach(name, thing, instance)
            else:
                self._add(collection, name, self._one(thing, instance), instance)

    # -- instances ---------------------------------------------------------------------------------------------------

    def _counted(self, collection: str, name: str, thing: Any) -> list[Instance]:
        """The instances of a part, `ONCE` for one that is not repeated; none if the limit is exceeded."""
        count, path = getattr(thing, "count", None), (collection, name)
        if count is None:
            if getattr(thing, "first_parent", None) is not None:
                what, how = (
                    ("joint", "repeat the child with `count`") if collection == "joints" else ("rod", "add `count`")
                )
                self.flat.fault(
                    self.source, (*path, "first_parent"), f"the {what} is not repeated", f"remove it, or {how}"
                )
            return [ONCE] if self.flat.room(1, self.source, path) else []
        number = self._count(count, (*path, "count"))
        fits = self.flat.room(number, self.source, (*path, "count"))
        self.flat.counts[collection, self.prefix + name] = number if fits else 0
        if not fits:
            return []
        return [Instance(index, number) for index in range(1, number + 1)]

    def _one(self, thing: Any, instance: Instance) -> Any:
        """The part without the keys that repeat it; the first instance may have another parent."""
        if instance.index is None:
            return thing
        changed: dict[str, Any] = {"count": None}
        if (first := getattr(thing, "first_parent", None)) is not None:
            changed |= {"first_parent": None, **({"parent": first} if instance.index == 1 else {})}
        return thing.model_copy(update=changed)

    def _count(self, count: int | str, path: KeyPath) -> int:
        """The number of instances; 1 after a fault, so that the rest can be checked."""
        if isinstance(count, int):
            return count
        node = parse(count)
        self._note_structural(node)
        try:
            value = finite(count, self.values)
            dimension = dimension_of(node, parameter_dimensions(self.parameters)[0])
        except ExpressionError as error:
            self.flat.fault(self.source, path, str(error), error.hint)
            return 1
        unit = unit_after_value(None if isinstance(dimension, OpenDimension) else dimension)
        if unit or not (value >= 1 and value == round(value)):
            message = f"the number of instances must be a positive integer, but {count} is {value:g}{unit}"
            self.flat.fault(self.source, path, message, "use a parameter with an integer")
            return 1
        return int(min(value, 1e12))

    def _note_structural(self, node: Node) -> None:
        self.flat.structural |= symbols(substitute(node, self.names))

    def _index(self, node: Node, text: str, path: KeyPath, instance: Instance) -> int | None:
        """The value of the index in a name; None after a fault."""
        try:
            self._note_structural(node)
            index = finite(to_text(node), {**self.values, **instance.values})
        except ExpressionError as error:
            if error.name in INSTANCE_NAMES:
                error = ExpressionError(f"`{error.name}` is defined only in repeated parts")
            self.flat.fault(self.source, path, f"in the index of {text}: {error}", error.hint)
            return None
        if index != round(index):
            self.flat.fault(self.source, path, f"the index of {text} must be an integer, but it is {index:g}")
        return round(index)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _add(self, collection: str, name: str, thing: Any, instance: Instance = ONCE) -> None:
        path, full_name = (collection, name), self.prefix + instance.of(name)
        origin = Origin(self.source, path, instance.index)
        if isinstance(thing, Part):
            thing = self._changed(thing, path, instance)
        elif isinstance(thing, (str, float, int, Each)):
            thing = self._scalar(thing, path, instance)
        if isinstance(thing, Body) and (thing.parent is not None or thing.along is not None):
            thing = self._fixed(name, thing, instance)
        self._put(collection, full_name, thing, origin)

    def _put(self, collection: str, full_name: str, thing: Any, origin: Origin) -> None:
        """Add a part to the flat model, with its files read."""
        if isinstance(thing, FromFiles) and not thing.is_read:
            try:
                thing = self._with_files(thing)
            except (FileProblem, ExpressionError) as problem:
                self._leave_out(full_name, thing, origin, problem)
                return
        self.flat.add(collection, full_name, thing, origin)

    def _changed(self, thing: Part, path: KeyPath, instance: Instance) -> Any:
        """One instance of a part, with the names and values of the flat model."""
        expanded = PartInstance(thing, path, instance, self._count)
        for place in expanded.not_repeated:
            message = "`around` arranges the instances of a repeated part, but this is not repeated"
            self.flat.fault(self.source, place, message, "add `count`, or give the `angle`: {axis: z, angle: 30 deg}")
        return map_leaves(expanded.part, self._change(instance, frozenset(thing.state_names()), expanded), path)

    def _with_files(self, thing: FromFiles) -> FromFiles:
        """The part with the content of its files."""

        def value(scalar: Scalar) -> float:
            return finite(scalar, self.flat.values)

        for scalar in thing.values_read():
            self._note_structural(to_node(scalar))
        return thing.with_files(self.source, value)

    def _leave_out(self, name: str, thing: FromFiles, origin: Origin, problem: FileProblem | ExpressionError) -> None:
        """Record a part whose files, or a value needed to read them, cannot be read; the checks report the value."""
        fault = None
        if isinstance(problem, FileProblem):
            fault = self.source.fault((*origin.path, *problem.path), str(problem), problem.hint)
        self.flat.unread |= {origin.path}
        collection = str(origin.path[0])
        self.flat.incomplete[collection, name] = thing, fault
        self.flat.origins[collection, name] = origin

    def _joint(self, name: str, joint: JointBase) -> None:
        """A joint, once for each instance of its child."""
        body, _, frame = joint.child.partition(".")
        count = self.flat.counts.get(("bodies", self.prefix + body))
        if count is None:
            for instance in self._counted("joints", name, joint):
                self._add("joints", name, joint, instance)
            return
        self.flat.counts["joints", self.prefix + name] = count
        if not self.flat.room(count, self.source, ("joints", name)):
            return
        for instance in (Instance(index, count) for index in range(1, count + 1)):
            child = instance.of(body) + (f".{frame}" if frame else "")
            first = instance.index == 1 and joint.first_parent is not None
            parent = joint.first_parent if first else joint.parent
            single = joint.model_copy(update={"child": child, "parent": parent, "first_parent": None})
            self._add("joints", name, single, instance)

    def _input(self, name: str, signal: Any) -> None:
        """Add the signal of an input; one of a repeated parameter applies to all instances without their own signal."""
        base, _, index = name.partition("[")
        count = self.flat.counts.get(("parameters", self.prefix + base))
        own = range(1, count + 1) if count is not None and not index else [int(index[:-1]) if index else None]
        for instance in (Instance(number, count) for number in own):
            driven = instance.of(base)
            if (driven == name or driven not in self.spec.inputs) and self._override(driven) is None:
                path = ("inputs", name)
                thing = self._changed(signal, path, instance) if isinstance(signal, Part) else signal
                if isinstance(thing, (str, float, int, Each)):
                    thing = self._scalar(thing, path, instance)
                self._put("inputs", self.prefix + driven, thing, Origin(self.source, path, instance.index))

    def _fixed(self, name: str, body: Body, instance: Instance) -> Body:
        """The body without its attachment, which becomes a weld with the name of the body."""
        path, full_name = ("bodies", name), self.prefix + instance.of(name)
        if name in self.spec.joints:
            message = f"the weld of the body is called '{name}', but there is another joint of that name"
            self.flat.fault(self.source, path, message, "rename the joint")
            full_name += "/weld"
        if body.along is not None:
            self.along.append(BodyOnRod(instance.of(name), self.prefix, full_name, body.along, instance))
        weld = weld_at(body, body.parent or self.prefix + WORLD, self.prefix + instance.of(name))
        self.flat.add("joints", full_name, weld, Origin(self.source, path, instance.index))
        placed = ("parent", "along", *Placement.model_fields)
        update = {key: Body.model_fields[key].get_default(call_default_factory=True) for key in placed}
        free = body.model_copy(update=update)
        free.model_fields_set.difference_update(placed)  # so that the text of the flat model does not contain them
        return free

    # -- values ------------------------------------------------------------------------------------------------------

    def _change(
        self, instance: Instance, state: frozenset[str] = frozenset(), expanded: PartInstance | None = None
    ) -> Callable[[Leaf], Any]:
        """The function that transforms each value, name and reference of a part. state: quantities that coefficients may use."""

        def change(leaf: Leaf) -> Any:
            one = instance if expanded is None else expanded.instance_at(leaf.path)
            if isinstance(leaf.marker, Quantity):
                own = state if leaf.marker.of_state else frozenset()
                return self._scalar(leaf.value, leaf.path, one, own)
            if isinstance(leaf.marker, CountMarker) and leaf.field != ("count",):
                return self._count(leaf.value, leaf.path)
            if isinstance(leaf.marker, FormulaMarker):
                return self._formula(leaf.value, leaf.path, one)
            if isinstance(leaf.marker, Reference):
                return self._references(leaf, one)
            if isinstance(leaf.marker, NameMarker) and (self.prefix or instance.index is not None):
                return self.prefix + instance.of(leaf.value)
            return leaf.value

        return change

    def _local(self, value: Scalar, path: KeyPath, instance: Instance) -> Scalar:
        """The value of one instance, with the names of this model."""
        if isinstance(value, Each):
            value = self._pick(value, path, instance)
        if not isinstance(value, str) or not value.startswith("="):
            return value
        node = parse(value)
        numbers: dict[str, Node] = {name: Number(float(number)) for name, number in instance.values.items()}
        used, own = symbols(node) & numbers.keys(), self.values.get("count")
        if "count" in used and instance.index == 1 and own is not None and own != instance.count:
            message = (
                f"`count` is the number of instances here, {instance.count}, but there is also a parameter 'count'"
            )
            self.flat.fault(self.source, path, message, "rename the parameter")
        single = substitute(node, numbers) if used else node
        if "[" in value:
            single = choose(single, lambda index: self._index(index, value[1:], path, instance) or 1)
        return value if single == node else to_text(single)

    def _scalar(self, value: Scalar, path: KeyPath, instance: Instance, state: frozenset[str] = frozenset()) -> Scalar:
        """The value of one instance, with the names of the flat model."""
        value = self._local(value, path, instance)
        if not self.prefix or not isinstance(value, str) or not value.startswith("="):
            return value
        node = parse(value)
        used = symbols(node)
        # an outer model may have a parameter with the name of a state quantity of this part
        of_state: dict[str, Node] = {name: Symbol(THIS + name) for name in used & state - self.names.keys()}
        if not used & (self.names.keys() | of_state.keys()):
            return value
        return to_text(substitute(node, {**self.names, **of_state}))

    def _formula(self, text: str, path: KeyPath, instance: Instance) -> str:
        """An expression of outputs and parameters in flat names."""
        local = str(self._local(text, path, instance))
        if not self.prefix:
            return local
        node = parse(local)
        own: dict[str, Node] = {
            name: Symbol(self.prefix + name)
            for name in symbols(node)
            if "/" in name or re.split(r"[.\[]", name)[0] in self.spec.outputs
        }
        return to_text(substitute(node, {**self.names, **own}))

    def _pick(self, value: Each, path: KeyPath, instance: Instance) -> float | str:
        if instance.index is None:
            message = "`each` gives values per instance, but this is not repeated"
            self.flat.fault(self.source, path, message, "give one value, or repeat the part with `count`")
        elif len(value.each) != instance.count:
            message = f"`each` has {len(value.each)} values for {instance.count} instances"
            if instance.index == 1:
                self.flat.fault(self.source, path, message, "give one value per instance")
        else:
            return value.each[instance.index - 1]
        return value.each[0] if value.each else 0.0

    def _references(self, leaf: Leaf, instance: Instance) -> Any:
        """A reference in flat names. In a list the name of a repeated part refers to all of its instances."""
        assert isinstance(leaf.marker, Reference)
        name, dot, rest = leaf.value.partition(".")
        if leaf.in_list and "[" not in name:
            kind = leaf.marker.kind
            homes = ("bodies", "rods", "meshes") if kind == "frame" else HOMES.get(kind, (kind + "s",))
            count = next((n for home in homes if (n := self.flat.counts.get((home, self.prefix + name)))), None)
            if count is not None:
                instances = [f"{name}[{index}]{dot}{rest}" for index in range(1, count + 1)]
                return SplicedValues(tuple(self._reference(text, leaf.path, instance) for text in instances))
        return self._reference(leaf.value, leaf.path, instance)

    def _reference(self, text: str, path: KeyPath, instance: Instance) -> str:
        """A reference in flat names: prefix added, indices computed."""

        def number(match: re.Match[str]) -> str:
            try:
                index = self._index(parse("=" + match[1]), text, path, instance)
            except ExpressionError as error:
                self.flat.fault(self.source, path, f"in the index of {text}: {error}", error.hint)
                index = None
            return match[0] if index is None else f"[{index}]"

        return self.prefix + (_INDEX.sub(number, text) if "[" in text else text)

    # -- attached models ---------------------------------------------------------------------------------------------

    def _attach(self, name: str, attach: Attach, instance: Instance) -> None:
        flat, path = self.flat, ("attach", name)
        flat.attached += 1
        if flat.attached > limits().attached:
            if flat.attached == limits().attached + 1:
                flat.fault(self.source, path, "too many models are attached", most("attached"))
            return
        inner = read_attached(self.spec, attach, path, flat)
        if inner is None:
            flat.unread |= {path}
            return
        prefix = f"{self.prefix}{instance.of(name)}/"
        placed = self._changed(attach.model_copy(update={"count": None}), path, instance)
        given = {
            key: Override(to_node(value), self.source, (*path, "parameters", key))
            for key, value in placed.parameters.items()
        }
        for start in (name + "/", instance.of(name) + "/"):
            given |= {key.removeprefix(start): over for key, over in self.overrides.items() if key.startswith(start)}
        level = _Level(inner, flat, prefix=prefix, overrides=overrides_of(inner, given, flat))
        flat.add("bodies", prefix + WORLD, Body.model_construct(), Origin(self.source, path, instance.index))
        weld = weld_at(placed, placed.to, prefix + WORLD)
        flat.add("joints", prefix + WORLD, weld, Origin(self.source, path, instance.index))
        level.expand()


@dataclass(frozen=True)
class BodyOnRod:
    """A body along a rod: its name in its model, the prefix of that model, its weld, its location and its instance."""

    name: str
    prefix: str
    weld: str
    along: Along
    instance: Instance


def weld_at(place: Placement, parent: str, child: str) -> Weld:
    """A weld at a placement, which is already valid: validation would build its schema, which takes 10 ms."""
    where = {key: getattr(place, key) for key in Placement.model_fields}
    return Weld.model_construct(parent=parent, child=child, **where)


def fix_along(bodies: Sequence[BodyOnRod], source: Source, flat: Flat) -> None:
    """Weld bodies to the rods that they are placed `along`: at the given arc length, or spaced evenly with the last at the tip."""
    placed, rods, joints = (flat.things.get(key, {}) for key in ("bodies", "rods", "joints"))
    for body in bodies:
        rod = rods.get(body.along.rod)
        if rod is None:  # unknown or faulty: the body keeps the reference, so that the checks report it
            name = body.prefix + body.name
            if name in placed:
                placed[name] = placed[name].model_copy(update={"along": body.along})
            continue
        frame = "tip"
        if body.along.at is not None or body.instance.index != body.instance.count:
            frame = body.name
            if frame in rod.frames:
                message = f"the rod '{body.along.rod}' has a frame '{frame}' of its own"
                flat.fault(source, ("bodies", frame.partition("[")[0]), message, "rename one")
            frames = {**rod.frames, frame: RodFrame.model_construct(at=_arc_length(body, rod))}
            rods[body.along.rod] = rod.model_copy(update={"frames": frames})
            origin = flat.origins["bodies", body.prefix + body.name]
            flat.along[body.along.rod, frame] = replace(origin, path=(*origin.path, "along", "at"))
        joints[body.weld] = joints[body.weld].model_copy(update={"parent": f"{body.along.rod}.{frame}"})


def _arc_length(body: BodyOnRod, rod: Rod) -> Scalar:
    """Arc length of the body: as given, or its fraction of the length of the rod."""
    if body.along.at is not None:
        return body.along.at
    share = Binary("/", Number(float(body.instance.index or 1)), Number(float(body.instance.count or 1)))
    return to_text(Binary("*", to_node(rod.length), share))


EVENLY = "=2*pi*(i - 1)/count"
PAIRS_EVENLY = "=4*pi*floor((i - 1)/2)/count"
"""Default angles of instances around an axis, and of mirrored pairs of them."""

Count = Callable[[int | str, KeyPath], int]
"""The number of instances given by a `count` at a path."""


@cache
def _places(part: type[Part]) -> tuple[str, ...]:
    """Fields of a part that may contain repeated parts, or parts arranged around an axis or mirrored."""
    return tuple(
        name for name, field in part.model_fields.items() if any(map(_is_placed, part_classes(field.annotation)))
    )


@cache
def _is_placed(part: type[Part]) -> bool:
    return issubclass(part, Placement | Repeated) or bool(_places(part))


class PartInstance:
    """An instance of a part, with the repeated parts in it (frames, chambers) expanded.

    part: the part. not_repeated: paths of `around` without an angle in parts that are not repeated.
    """

    def __init__(self, part: Part, path: KeyPath, instance: Instance, count: Count) -> None:
        self._instance, self._count = instance, count
        self._within: dict[KeyPath, Instance] = {}
        self.not_repeated: list[KeyPath] = []
        self.part: Any = self._part(part, path, instance)

    def instance_at(self, path: KeyPath) -> Instance:
        """The innermost instance that the value at a path belongs to."""
        if self._within:
            for end in range(len(path), 0, -1):
                if path[:end] in self._within:
                    return self._within[path[:end]]
        return self._instance

    def _part(self, part: Part, path: KeyPath, instance: Instance) -> Part:
        changed: dict[str, Any] = {}
        values = part.__dict__
        for name in _places(type(part)):
            value = values[name]
            if isinstance(value, dict):
                new: Any = self._entries(value, (*path, name), instance)
            elif isinstance(value, tuple):
                new = self._list(value, (*path, name), instance)
            elif isinstance(value, Part) and not isinstance(value, Each):
                new = self._part(value, (*path, name), instance)
            else:
                continue
            if new is not value:
                changed[name] = new
        if isinstance(part, Placement) and (part.mirror is not None or part.around is not None):
            changed |= self._placement(part, path, instance)
        return part.model_copy(update=changed) if changed else part

    def _list(self, values: tuple[Any, ...], path: KeyPath, instance: Instance) -> tuple[Any, ...]:
        if not any(isinstance(value, Part) for value in values):
            return values
        new = tuple(
            self._part(value, (*path, at), instance) if isinstance(value, Part) else value
            for at, value in enumerate(values)
        )
        return new if any(a is not b for a, b in zip(new, values, strict=True)) else values

    def _entries(self, entries: dict[str, Any], path: KeyPath, instance: Instance) -> dict[str, Any]:
        if not any(isinstance(entry, Part) for entry in entries.values()):
            return entries
        expanded: dict[str, Any] = {}
        for name, entry in entries.items():
            if not isinstance(entry, Repeated) or entry.count is None:
                expanded[name] = self._part(entry, (*path, name), instance) if isinstance(entry, Part) else entry
                continue
            number = self._count(entry.count, (*path, name, "count"))
            single = entry.model_copy(update={"count": None})
            for own in (Instance(index, number) for index in range(1, number + 1)):
                place = (*path, own.of(name))
                self._within[place] = own
                expanded[own.of(name)] = self._part(single, place, own)
        return expanded if any(expanded.get(name) is not entry for name, entry in entries.items()) else entries

    def _placement(self, part: Placement, path: KeyPath, instance: Instance) -> dict[str, Any]:
        """The values of `mirror` and `around` of this instance, where they differ from those of the part."""
        changed: dict[str, Any] = {}
        if part.around is not None and part.around.angle is None:
            angle = EVENLY if part.mirror is None else PAIRS_EVENLY
            if instance.index is None:
                self.not_repeated.append((*path, "around"))
            else:
                changed["around"] = Around.model_construct(axis=part.around.axis, angle=angle)
        if part.mirror is not None and instance.index is not None and instance.index % 2:
            changed["mirror"] = None
        return changed
