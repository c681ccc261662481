"""The analyses that a model lists, by name; their options are read when the analyses run or the model is checked, so that loading a
model needs none of them."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import GetJsonSchemaHandler, ModelWrapValidatorHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from pliant.language.base import Part, fault
from pliant.language.message_text import describe, nearest
from pliant.language.provided import analyses


def analysis_names() -> tuple[str, ...]:
    """Names of all analyses."""
    return tuple(analyses())


class AnalysisOptions(Part):
    """The options of an analysis as its fields; analyses derive from it."""

    name: ClassVar[str]
    """Name of the command and of the key in model files; the module is called so too."""


class ListedAnalysis(Part):
    """An analysis of the list `analyses`: its name, which is the only key, and its options: `{modes: {count: 5}}`."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  mass: {mass: 1 kg}
joints:
  slide: {type: prismatic, child: mass, axis: z, displacement: {spring: 100 N/m, damper: 1 N*s/m}}
analyses:
  - equilibrium: {}
  - modes: {count: 1, at: equilibrium}
  - simulate: {until: 5 s, start: initial}
"""

    name: str
    """Name of the analysis."""
    options: dict[str, Any]
    """Its options, as written."""

    def as_data(self) -> dict[str, Any]:
        """The analysis as in a file."""
        return {self.name: self.options}

    @model_validator(mode="wrap")
    @classmethod
    def _read_entry(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, cls):
            return data
        known = ", ".join(analysis_names())
        if isinstance(data, AnalysisOptions):  # an analysis made in Python
            given = {name: getattr(data, name) for name in data.model_fields_set}
            return handler({"name": data.name, "options": given})
        if not isinstance(data, Mapping):
            raise fault("not_a_mapping", f"expected an analysis (a mapping with one of {known}), got {describe(data)}")
        if set(data) == {"name", "options"}:
            return handler(data)
        present = [name for name in analysis_names() if name in data]
        if len(present) > 1 or (present and len(data) > 1):
            others = [str(name) for name in data if name != present[0]]
            message = f"an analysis has one of {known}; here are {' and '.join([present[0], *others])}"
            raise fault("ambiguous", message, hint="keep one of them", key=others[0])
        if not present:
            matches = [(key, nearest(key, analysis_names())) for key in data]
            hints = [f"did you mean '{match}' instead of '{key}'?" for key, match in matches if match]
            hint = hints[0] if hints else f"give one of {known}"
            raise fault("no_key", f"the analysis has none of the keys {known}", hint=hint)
        options = data[present[0]]
        if not isinstance(options, Mapping):
            message = f"expected a mapping (key: value), got {describe(options)}"
            raise fault("not_a_mapping", message, hint="write {} for the defaults", key=present[0])
        return handler({"name": present[0], "options": dict(options)})

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "object", "description": cls.__doc__, "maxProperties": 1,
                "properties": {name: {"type": "object"} for name in analysis_names()}}  # fmt: skip
