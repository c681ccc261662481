"""The JSON Schema of the language, for editors."""

from __future__ import annotations

from typing import Any

from pliant.analysis.base import analysis
from pliant.robot.robot import RobotSpec


def json_schema() -> dict[str, Any]:
    """The schema of a model file as a JSON Schema (draft 2020-12).

    It describes the structure of one file: keys that `defaults` or another file may supply are not required, and references,
    dimensions and values are checked by `pliant check` only.
    """
    schema = _loosened(RobotSpec.model_json_schema())
    for collection in schema["properties"].values():
        for entry in collection.get("patternProperties", {}).values():
            kind = schema["$defs"].get(entry.get("$ref", "").rpartition("/")[2], {})
            kind.pop("required", None)  # `defaults` may supply these keys
    for entry in schema["properties"]["models"]["patternProperties"]:
        schema["properties"]["models"]["patternProperties"][entry] = {"$ref": "#"}
    _with_options_of_analyses(schema)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Pliant robot model, version 1"}
    return {**head, **{key: value for key, value in schema.items() if key not in head}}


def _with_options_of_analyses(schema: dict[str, Any]) -> None:
    """Add the options of each analysis to the entries of `analyses`."""
    entry = schema["$defs"]["ListedAnalysis"]["properties"]
    for name in entry:
        kind = analysis(name)
        options = _loosened(kind.model_json_schema(ref_template="#/$defs/{model}"))
        schema["$defs"] |= options.pop("$defs", {})
        options["properties"] = {key: options["properties"][key] for key in kind.file_keys()}
        entry[name] = options


def _loosened(schema: Any) -> Any:
    """The schema with choices that may overlap, because `type` may come from defaults, and without names of other patterns."""
    if isinstance(schema, list):
        return [_loosened(child) for child in schema]
    if not isinstance(schema, dict):
        return schema
    loose = {"anyOf" if key == "oneOf" else key: _loosened(child) for key, child in schema.items()}
    if "patternProperties" in loose and loose.get("type") == "object":
        loose["additionalProperties"] = False
    return loose
