"""The default number that ranks the cases of a study."""

import numpy as np

from pliant.study.results import Table


def table(measures, units):
    count = len(next(iter(measures.values())))
    return Table(
        {}, {name: np.array(x) for name, x in measures.items()}, units, np.full(count, "completed"), np.full(count, "")
    )


def test_the_first_measure_that_differs():
    found = table(
        {"tip.x": [0.0, 3e-18, -2e-18], "tip.y": [np.nan, 0.04, 0.02], "tip.z": [0.1, 0.2, 0.3]},
        {"tip.x": "m", "tip.y": "m", "tip.z": "m"},
    )
    assert found.measure(None)[0] == "tip.y"  # tip.x differs by rounding errors of metres alone
    assert found.ranked(None) == [2, 1]
    assert found.measure("tip.x")[0] == "tip.x"


def test_small_numbers_of_another_unit_count():
    found = table({"strain": [1e-12, 2e-12], "tip": [1.0, 2.0]}, {"strain": "", "tip": "m"})
    assert found.measure(None)[0] == "strain"


def test_the_first_of_all_where_none_differs():
    found = table({"a": [1.0, 1.0], "b": [np.nan, 2.0]}, {})
    assert found.measure(None)[0] == "a"
