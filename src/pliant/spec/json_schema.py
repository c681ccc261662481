"""The JSON Schema of the language, for editors."""

from __future__ import annotations

from typing import Any

from pliant.spec.robot import RobotSpec


def json_schema() -> dict[str, Any]:
    """The schema of a model file as a JSON Schema (draft 2020-12)."""
    schema = RobotSpec.model_json_schema()
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Pliant robot model, version 1",
    }
    return {**head, **{key: value for key, value in schema.items() if key not in head}}
