"""Checks of many cases at once give the same result for each as separate checks."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pliant.engine.model.limits import refusals

numbers = st.floats(-3, 3, allow_nan=False)


def check(values):
    """Goes different ways, divides, takes roots and uses float."""
    x, y = values["x"], values["y"]
    if x < 0:
        if y > 1:
            raise ValueError(f"y is {y:g}")
    elif 1 / x > 4:
        raise ValueError("x is small")
    if math.floor(float(y)) == 2 and not x:
        raise ValueError("both")


def refuse(values):
    try:
        check(values)
    except (ValueError, ZeroDivisionError) as reason:
        return reason
    return None


@given(st.lists(st.tuples(numbers, st.sampled_from([0.0, 2.0, 2.5])), min_size=1, max_size=30))
def test_groups_say_what_single_cases_say(rows):
    table = {"x": np.array([x for x, _ in rows]), "y": np.array([y for _, y in rows])}
    together = refusals(table, check, refuse)
    alone = [refuse({"x": x, "y": y}) for x, y in rows]
    assert [str(x) for x in together] == [str(x) for x in alone]


def test_cases_that_go_one_way_are_looked_at_together():
    looks = []

    def counted(values):
        looks.append(len(values["x"]))
        check(values)

    found = refusals({"x": np.linspace(1, 3, 100), "y": np.zeros(100)}, counted, refuse)
    assert found == [None] * 100
    assert looks == [100]
