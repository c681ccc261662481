"""Pieces of messages: enumerations that are cut off, and units."""

import pytest

from pliant.language.dimension import Dimension
from pliant.language.message_text import enumeration, nearest, unit_after_value, unit_text
from pliant.language.units import parse_unit


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a, b"),
        (["a", "b", "c"], "a, b and 1 more"),
        (["a", "b", "c", "d"], "a, b and 2 more"),
    ],
)
def test_enumerations_name_the_first_and_count_the_others(items, text):
    assert enumeration(items, 2) == text
    assert enumeration(items, 2, "pairs") == text + " pairs" * text.endswith("more")


def test_a_name_without_its_number_suggests_the_first_instance():
    assert nearest("pull1", ["pull2[1]", "pull1[1]", "pull1[2]"]) == "pull1[1]"
    assert nearest("pul1[2]", ["pull2[1]", "pull1[1]", "pull1[2]"]) == "pull1[2]"


def test_units_are_written_as_in_models_and_in_sentences():
    torque = parse_unit("N*m").dimension
    assert (unit_text(torque), f"3{unit_after_value(torque)}") == ("N*m", "3 N m")
    assert (unit_text(None, "-"), unit_text(Dimension(), "-"), unit_text(Dimension())) == ("", "-", "")
    assert (unit_after_value(None), unit_after_value(Dimension())) == ("", "")
