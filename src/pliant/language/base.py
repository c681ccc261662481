"""Base classes of all parts of the language: immutability, short forms, selection by `type` or by key."""

from __future__ import annotations

import ast
import inspect
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from pliant.language.dimension import Dimension
from pliant.language.message_text import (
    KeyPath,
    describe,
    half_of_diameter,
    nearest,
    suggestion,
    type_of_others,
    with_article,
    word_of_others,
)

if TYPE_CHECKING:
    from pliant.language.source import Source

Problem: TypeAlias = tuple[KeyPath, str, str]
"""Something wrong with a part: the path in the part, a message and a hint."""


def positive(part: Part, value: Callable[[Any], float], *fields: str) -> Iterator[Problem]:
    """The problem of each of the fields that is given and not above zero; of lists, each entry."""
    yield from _outside(part, value, fields, lambda x: x <= 0, "must be above zero")


def not_negative(part: Part, value: Callable[[Any], float], *fields: str) -> Iterator[Problem]:
    """The problem of each of the fields that is given and below zero; of lists, each entry."""
    yield from _outside(part, value, fields, lambda x: x < 0, "must not be negative")


def _outside(
    part: Part, value: Callable[[Any], float], fields: Iterable[str], outside: Callable[[float], bool], words: str
) -> Iterator[Problem]:
    for field in fields:
        given = getattr(part, field)
        for path, entry in enumerate(given) if isinstance(given, tuple) else ((None, given),):
            if entry is not None and outside(number := value(entry)):
                yield (field,) if path is None else (field, path), f"{field} {words}, but it is {number:g}", ""


def problems_of(part: Part, value: Callable[[Any], float]) -> Iterator[Problem]:
    """All problems with the values of a part: values outside of the ranges that its classes state, then what it checks itself."""
    for base in type(part).__mro__:
        yield from positive(part, value, *vars(base).get("above_zero", ()))
        yield from not_negative(part, value, *vars(base).get("not_below_zero", ()))
    yield from part.problems(value)


PUSHES_AWAY = "it pushes away from its rest"
DRIVES = "it drives the motion instead of damping it"
"""Effects of negative coefficients of springs and dampers, for remarks."""


def fault(kind: str, message: str, *, hint: str = "", key: str = "") -> PydanticCustomError:
    """A fault found while reading a part. key: the key in the part at fault, if it is not the part itself."""
    text = message.replace("{", "{{").replace("}", "}}")
    return PydanticCustomError(kind, text, {"text": message, "hint": hint, "key": key})


class Part(BaseModel):
    """Base of every part of a model: immutable, rejects unknown keys, and may have a short form."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    short_form: ClassVar[str | None] = None
    """The field that a bare value sets: with `coefficient`, `spring: 5` means `{coefficient: 5}`."""

    empty_word: ClassVar[str | None] = None
    """The keyword for the part with all defaults: `free` for a coordinate."""

    example: ClassVar[str] = ""
    """A complete small model that uses this part, shown in the language reference and loaded by the tests."""

    above_zero: ClassVar[tuple[str, ...]] = ()
    not_below_zero: ClassVar[tuple[str, ...]] = ()
    """Fields whose values must be above zero, and not below it, where they are given; in addition to those of base classes."""

    odd_below_zero: ClassVar[Mapping[str, str]] = {}
    """Fields whose values may be negative but rarely are, with the effect of a negative value, which produces a remark."""

    @classmethod
    def file_keys(cls) -> tuple[str, ...]:
        """The keys that a file may have."""
        return tuple(cls.model_fields)

    @classmethod
    @cache
    def field_texts(cls) -> dict[str, str]:
        """The docstrings below the fields, by field. They are read from the source on demand, because this is slow and
        they are needed only for help, reference and editors."""
        texts: dict[str, str] = {}
        for base in reversed([base for base in cls.__mro__ if issubclass(base, Part) and base is not Part]):
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            for field, below in pairwise(getattr(tree, "body", [])):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(below, ast.Expr)
                    and isinstance(below.value, ast.Constant)
                ):
                    texts[ast.unparse(field.target)] = inspect.cleandoc(str(below.value.value))
        return {name: text for name, text in texts.items() if name in cls.model_fields}

    def dimension(self, path: KeyPath, value: Callable[[Any], float]) -> Dimension | None:
        """The dimension of the value at `path` if it depends on other values of this part, otherwise None.

        value: evaluates one of these.
        """
        return None

    def state_names(self) -> Mapping[str, Dimension]:
        """State quantities that the coefficients of this part may use by name, with their dimensions."""
        return {}

    def problems(self, value: Callable[[Any], float]) -> Iterator[Problem]:
        """Problems with the values of this part; `value` evaluates one of them."""
        yield from ()

    def __eq__(self, other: object) -> bool:
        """Whether the fields are equal; what was computed from them does not count."""
        return type(self) is type(other) and self.__dict__ == other.__dict__

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if cls.empty_word and isinstance(data, str) and data == cls.empty_word:
            data = {}
        if cls.short_form and data is not None and not isinstance(data, (Mapping, cls)):
            data = {cls.short_form: data}
        try:
            return handler(data)
        except ValidationError as error:
            raise with_known_keys(error, cls) from None

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        full = handler(schema)
        target = handler.resolve_ref_schema(full)
        texts = cls.field_texts()
        for name, shown in target["properties"].items():
            if name in texts:
                shown["description"] = texts[name]
        if cls.short_form is None and cls.empty_word is None:
            return full
        short = target["properties"][cls.short_form] if cls.short_form else {"const": cls.empty_word}
        bare = {key: value for key, value in target.items() if key != "description"}
        target.clear()
        target.update({"title": cls.__name__, "anyOf": [short, bare]})
        return full


def with_known_keys(error: ValidationError, part: type[Part]) -> ValidationError:
    """The same error, with the part's valid keys in the faults about unknown ones.

    The keys are available only here, so the suggestion is made here and not where faults are printed.
    """
    details: list[InitErrorDetails] = []
    for item in error.errors(include_url=False):
        location, context = item["loc"], item.get("ctx", {})
        kind: Any = item["type"]
        if kind == "extra_forbidden" and len(location) == 1:
            keys = part.file_keys()
            hint = half_of_diameter(location[0], item["input"], keys) or word_of_others(location[0], keys)
            hint = hint or suggestion(location[0], keys, f"known here: {', '.join(keys)}")
            kind = fault("unknown_key", f"unknown key '{location[0]}'", hint=hint)
        elif "text" in context:
            kind = fault(kind, context["text"], hint=context["hint"], key=context["key"])
        details.append(InitErrorDetails(type=kind, loc=location, input=item["input"], ctx=context))
    return ValidationError.from_exception_data(error.title, details)


class Framed(Part):
    """A part with frames: its own, which has its name (`bar`), and named ones (`bar.tip`).

    With a key `parent`, it is fixed to that frame; otherwise it is the child of a joint.
    """

    @abstractmethod
    def frame_names(self) -> tuple[str, ...]:
        """Names of its frames besides its own."""


class FromFiles(Part):
    """A part that depends on files or on values of parameters, which are known when the model is flattened."""

    @abstractmethod
    def with_files(self, source: Source, value: Callable[[Any], float]) -> Self:
        """The part with the content of its files; raises FileProblem. `value` evaluates one of its values."""

    def values_read(self) -> tuple[Any, ...]:
        """The values that `with_files` evaluates; parameters in them cannot change later."""
        return ()

    def __eq__(self, other: object) -> bool:
        """Whether the fields are equal, with the contents of files written out if both were read."""
        if type(self) is not type(other) or not isinstance(other, FromFiles):
            return False
        if self.is_read and other.is_read:
            return bool(self.without_files().__dict__ == other.without_files().__dict__)
        return self.__dict__ == other.__dict__

    @property
    @abstractmethod
    def is_read(self) -> bool:
        """Whether this part was returned by `with_files`."""

    @abstractmethod
    def without_files(self) -> Self:
        """The part with the contents of its files written out, so that it can be loaded without them; unchanged if not read."""


class Choice(ABC):
    """Annotation of a union of parts: the data determine the member, which is not found by trial.

    The selected tag appears in the locations of faults as `<tag>`, which distinguishes it from a key.
    """

    def __init__(self, what: str) -> None:
        self.what = what

    @abstractmethod
    def tags(self, members: tuple[type[Part], ...]) -> dict[str, type[Part]]:
        """The tag of each member."""

    @abstractmethod
    def find(self, data: Any, tags: dict[str, type[Part]]) -> str:
        """The tag of `data`; raises a fault that lists the choices."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        members: tuple[type[Part], ...] = get_args(source) or (source,)
        tags = self.tags(members)
        by_class = {member: tag for tag, member in tags.items()}

        def tag_of(data: Any) -> str:
            tag = by_class.get(type(data))
            return f"<{tag if tag is not None else self.find(data, tags)}>"

        choices = {f"<{tag}>": handler.generate_schema(member) for tag, member in tags.items()}
        tagged = core_schema.tagged_union_schema(choices, discriminator=tag_of)

        def check(data: Any) -> Any:
            tag_of(self.canonical(data))
            return self.canonical(data)

        # A discriminator cannot raise faults, so a validator before it does.
        return core_schema.no_info_before_validator_function(check, tagged)

    def canonical(self, data: Any) -> Any:
        """The data without aliases."""
        return data


class ByType(Choice):
    """Selection by the value of one key, as in `joints: {hinge: {type: revolute, ...}}`."""

    def __init__(
        self, what: str, *, key: str = "type", default: str | None = None, aliases: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(what)
        self.key, self.default, self.aliases = key, default, dict(aliases or {})

    def tags(self, members: tuple[type[Part], ...]) -> dict[str, type[Part]]:
        return {str(member.model_fields[self.key].default): member for member in members}

    def canonical(self, data: Any) -> Any:
        given = data.get(self.key) if isinstance(data, Mapping) else None
        return {**data, self.key: self.aliases[given]} if isinstance(given, str) and given in self.aliases else data

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        full = handler(schema)
        for member in full["oneOf"] if self.aliases else ():
            word = handler.resolve_ref_schema(member)["properties"][self.key]
            if others := [alias for alias, name in self.aliases.items() if name == word.get("const")]:
                word["enum"] = [word.pop("const"), *others]
        return full

    def find(self, data: Any, tags: dict[str, type[Part]]) -> str:
        known = ", ".join(tags)
        if not isinstance(data, Mapping):
            message = f"expected {with_article(self.what)} (a mapping with `{self.key}`), got {describe(data)}"
            raise fault("not_a_mapping", message)
        tag = data.get(self.key, self.default)
        if tag is None:
            message = f"the {self.what} has no `{self.key}`"
            raise fault("no_type", message, hint=f"add `{self.key}:` with one of {known}")
        if not isinstance(tag, str) or tag not in tags:
            match = nearest(tag, (*tags, *self.aliases))
            hint = type_of_others(tag, tags) or (
                f"did you mean '{self.aliases.get(match, match)}'?" if match else f"known: {known}"
            )
            raise fault("unknown_type", f"unknown {self.what} {self.key} {describe(tag)}", hint=hint, key=self.key)
        return tag


class ByKey(Choice):
    """Selection by the key that is present, as in `{quaternion: [1, 0, 0, 0]}`.

    keys: the key of each member; default: its first required field. bare: the key of the member that a bare text selects.
    """

    def __init__(self, what: str, *, keys: tuple[str, ...] = (), bare: str | None = None) -> None:
        super().__init__(what)
        self.keys, self.bare = keys, bare

    def tags(self, members: tuple[type[Part], ...]) -> dict[str, type[Part]]:
        keys = self.keys or tuple(next(_required(member)) for member in members)
        return dict(zip(keys, members, strict=True))

    def find(self, data: Any, tags: dict[str, type[Part]]) -> str:
        known = ", ".join(tags)
        if self.bare is not None and isinstance(data, str):
            return self.bare
        if not isinstance(data, Mapping):
            message = f"expected {with_article(self.what)} (a mapping with one of {known}), got {describe(data)}"
            raise fault("not_a_mapping", message)
        present = [tag for tag in tags if tag in data]
        if len(present) > 1:
            message = f"{with_article(self.what)} has one of {known}; here are {' and '.join(present)}"
            raise fault("ambiguous", message, hint="keep one of them", key=present[1])
        if not present:
            matches = [(key, nearest(key, tags)) for key in data]
            hints = [f"did you mean '{match}' instead of '{key}'?" for key, match in matches if match]
            hint = hints[0] if hints else f"give one of {known}"
            raise fault("no_key", f"the {self.what} has none of the keys {known}", hint=hint)
        return present[0]


def _required(part: type[Part]) -> Iterator[str]:
    return (name for name, field in part.model_fields.items() if field.is_required())


class WordOrList:
    """Annotation of a union of keywords and a list: text must be a keyword, anything else is the list."""

    tags = "<word>", "<list>"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices = dict(zip(self.tags, map(handler.generate_schema, get_args(source)), strict=True))
        return core_schema.tagged_union_schema(
            choices, discriminator=lambda data: self.tags[0] if isinstance(data, str) else self.tags[1]
        )


class WordOrMapping(WordOrList):
    """Annotation of a union of keywords and a mapping: text must be a keyword, anything else is the mapping."""

    tags = "<name>", "<mapping>"


class WordMappingOrObject:
    """Annotation of a keyword, values by name, or anything else, which Python code may give but a file may not (`IN_FILE`).

    words: the keywords. values: annotation of the mapping.
    """

    tags = "<name>", "<mapping>", "<object>"

    def __init__(self, *words: str, values: Any) -> None:
        self.words, self.values = words, values

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        members = (
            core_schema.literal_schema(list(self.words)), handler.generate_schema(self.values), core_schema.any_schema(),
        )  # fmt: skip
        choices = dict(zip(self.tags, members, strict=True))

        def tag_of(data: Any) -> str:
            return self.tags[0 if isinstance(data, str) else 1 if isinstance(data, Mapping) else 2]

        def check(data: Any, info: ValidationInfo) -> Any:
            if info.context == IN_FILE and tag_of(data) == self.tags[2]:
                known = " or ".join(self.words)
                raise fault("no_state", f"expected {known}, or a mapping (name: value), got {describe(data)}")
            return data

        return core_schema.with_info_before_validator_function(
            check, core_schema.tagged_union_schema(choices, discriminator=tag_of)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        full = handler(schema)
        return {"anyOf": [choice for choice in full.get("oneOf") or full.get("anyOf") or () if choice]}


class ReadBy:
    """Base of annotations of fields whose values are read by one function, in place of a schema of pydantic."""

    json_schema: ClassVar[JsonSchemaValue]
    """What a model file may contain there."""

    def read(self, value: Any) -> Any:
        """The value of the field; raises a fault."""
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return self.json_schema


IN_FILE = "in a file"
"""Context of the validation of what was read from a model file or given to a command, rather than by Python code."""


class InPython:
    """Annotation of a field that only Python code can give: an array, a function, an object. Files have no such key."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def check(data: Any, info: ValidationInfo) -> Any:
            if info.context == IN_FILE:
                raise PydanticCustomError("extra_forbidden", "only Python code can give it")
            return data

        return core_schema.with_info_plain_validator_function(check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {}


class OrObject:
    """Annotation of a field that Python code may also give as an object that no file can contain: an array, a method of
    integration. plain: types of data, which are validated."""

    def __init__(self, *plain: type) -> None:
        self.plain = plain

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(data: Any, inner: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
            return inner(data) if isinstance(data, self.plain) or info.context == IN_FILE else data

        return core_schema.with_info_wrap_validator_function(read, handler(source))


class OneOrList:
    """Annotation of a list that may be written as its only entry; with `times`, that entry is repeated."""

    def __init__(self, times: int = 1) -> None:
        self.times = times

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def as_list(data: Any) -> Any:
            return data if data is None or isinstance(data, (list, tuple)) else (data,) * self.times

        return core_schema.no_info_before_validator_function(as_list, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        full = handler(schema)
        return {"anyOf": [full.get("items") or full["prefixItems"][0], full]}


class ValueOrPart:
    """Annotation of a union of a value and a part: a mapping (or the keyword of the part) is read as the part."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        value, part = get_args(source)
        classes = tuple(part_classes(part))
        words = {member.empty_word for member in classes} - {None}

        def tag_of(data: Any) -> str:
            is_part = isinstance(data, classes) or (isinstance(data, Mapping) and "each" not in data)
            return "<part>" if is_part or (isinstance(data, str) and data in words) else "<value>"

        choices = {"<value>": handler.generate_schema(value), "<part>": handler.generate_schema(part)}
        return core_schema.tagged_union_schema(choices, discriminator=tag_of)


def part_classes(annotation: Any) -> Iterable[type[Part]]:
    """The part classes in an annotation such as `Annotated[A | B, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for member in get_args(annotation):
        yield from part_classes(member)


def read_errors(error: ValidationError) -> Iterable[tuple[KeyPath, str, str]]:
    """Path, message and hint of each fault that the schema found."""
    items = error.errors(include_url=False)
    for item in items:
        location, context = item["loc"], item.get("ctx", {})
        below = any(len(other["loc"]) > len(location) == _common(other["loc"], location) for other in items)
        if item["type"] == "too_short" and below:
            continue  # entries are missing only because they are faulty
        is_key = item["type"] in UNKNOWN_KEY  # then the last step was written by the user, and is not a tag
        last = len(location) - 1
        path = tuple(step for k, step in enumerate(location) if (is_key and k == last) or not _is_tag(step))
        if key := context.get("key"):
            path = (*path, key)
        message, hint = _words(str(item["type"]), item["input"], path, context, item["msg"])
        if item["type"] == "literal_error" and "<word>" in location:
            hint = hint or "a list of numbers is also allowed"
        yield path, message, hint


def _common(one: tuple[int | str, ...], other: tuple[int | str, ...]) -> int:
    """Number of leading steps that two locations have in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((k for k, (first, second) in pairs if first != second), min(len(one), len(other)))


UNKNOWN_KEY = ("extra_forbidden", "unknown_key")
"""Error types of unknown keys, of the schema library and of `with_known_keys`."""


def _is_tag(step: int | str) -> bool:
    return isinstance(step, str) and (step == "[key]" or (step.startswith("<") and step.endswith(">")))


TRUTHS = {"on": "true", "yes": "true", "off": "false", "no": "false"}
"""Words for true and false in other formats."""

_EXPECTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "int_parsing": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "tuple_type": "a list",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
}
_OTHER_WORDS = {
    "too_short": "the list is too short: it needs at least {min_length}",
    "too_long": "the list has {actual_length} entries instead of {max_length}",
    "greater_than_equal": "expected at least {ge}, got {got}",
    "greater_than": "expected more than {gt:g}, got {got}",
    "less_than_equal": "expected at most {le}, got {got}",
}


def _words(kind: str, value: Any, path: KeyPath, context: dict[str, Any], fallback: str) -> tuple[str, str]:
    """Message and hint of a fault, in place of the message of the schema library."""
    if "text" in context:
        return context["text"], context["hint"]
    last = path[-1] if path else ""
    if kind == "missing":
        if isinstance(last, int):
            return f"entry {last + 1} of the list is missing", ""
        return f"`{last}` is missing", f"add `{last}: ...`"
    if kind == "literal_error":
        choices = [choice.strip("'") for choice in _choices(context["expected"])]
        expected = ", ".join(choices[:-1]) + " or " + choices[-1] if len(choices) > 1 else choices[0]
        return f"expected {expected}, got {describe(value)}", suggestion(value, choices)
    if kind == "is_instance_of":
        return f"expected {with_article(context['class'])}, got {describe(value)}", ""
    if kind == "bool_type" and isinstance(value, str) and value in TRUTHS:
        return f"expected true or false, got {describe(value)}", f"write {TRUTHS[value]}"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {describe(value)}", ""
    if kind in _OTHER_WORDS:
        return _OTHER_WORDS[kind].format_map({**context, "got": describe(value)}), ""
    return fallback, ""


def _choices(expected: str) -> list[str]:
    return expected.replace(" or ", ", ").split(", ")
