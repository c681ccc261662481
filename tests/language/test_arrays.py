"""Small functions of arrays agree with NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.language.arrays import distinct, others


@pytest.mark.parametrize("values", [[], [3], [2, 1, 2, 2, 0, 1], [[0.5, -1.0], [0.5, 2.0]]])
def test_distinct_is_unique(values: list) -> None:
    given = np.array(values)
    np.testing.assert_array_equal(distinct(given), np.unique(given))


def test_others_is_the_difference_from_a_range() -> None:
    taken = np.array([[1, 2], [4, 5], [2, 1]])
    np.testing.assert_array_equal(others(7, taken), np.setdiff1d(np.arange(7), taken))
    np.testing.assert_array_equal(others(3, np.zeros((0, 4), dtype=int)), [0, 1, 2])
    assert len(others(0, np.zeros(0, dtype=int))) == 0
