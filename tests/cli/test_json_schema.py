"""The JSON Schema for editors accepts sound models and refuses broken shapes."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from generated import robots
from hypothesis import HealthCheck, given, settings

from make_reference import PAGE, examples
from pliant.cli.models import json_schema
from pliant.language.source import MODEL_FOLDER, bundled
from pliant.language.tree import parse_yaml

VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def test_it_is_a_schema() -> None:
    VALIDATOR.check_schema(json_schema())


@pytest.mark.parametrize("name", bundled())
def test_it_accepts_bundled_robots(name: str) -> None:
    data = parse_yaml((MODEL_FOLDER / f"{name}.yaml").read_text(), name).plain()
    VALIDATOR.validate(data)


@pytest.mark.parametrize(("kind", "accepted"), [("pcs", True), ("ebr", True), ("ebx", False), ("timoshenko", True)])
def test_it_knows_the_aliases_of_rod_models(kind: str, accepted: bool) -> None:
    data = {"pliant": 1, "rods": {"arm": {"length": 1, "section": "round", "material": "gum", "model": {"kind": kind}}}}
    assert VALIDATOR.is_valid(data) is accepted


def test_it_accepts_the_examples() -> None:
    for example in examples(PAGE.read_text(encoding="utf-8")):
        data = parse_yaml(example, "example").plain()
        VALIDATOR.validate(data)


@given(robots())
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_it_accepts_generated_robots(data: dict[str, Any]) -> None:
    VALIDATOR.validate(data)


@pytest.mark.parametrize(
    "data",
    [
        {"bodys": {}},
        {"bodies": {"rod": {"mas": 1}}},
        {"joints": {"hinge": {"type": "revolut", "child": "rod"}}},
        {"joints": {"hinge": {"type": "revolute"}}},
        {"bodies": {"rod": {"center_of_mass": [0, 0]}}},
        {"pliant": 2},
        {"bodies": {"a b": {}}},
    ],
)
def test_it_refuses_broken_shapes(data: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(data)
