"""Columns of start values that are put together from scalars and matrices."""

from __future__ import annotations

import casadi as ca
import numpy as np

from pliant.parts.assembly.build import Column


def test_scalars_and_matrices_in_turn() -> None:
    p = ca.SX.sym("p")
    column = Column()
    column.append(1.0)
    column.extend([p, 3.0])
    column.extend_by_columns(ca.vertcat(ca.horzcat(4.0 * p, 6.0), ca.horzcat(5.0, 7.0)))
    column.extend_by_columns(ca.DM([8.0, 9.0]))
    column.append(10.0)
    assert len(column) == 10
    value = ca.Function("value", [p], [ca.densify(column.whole())])
    np.testing.assert_array_equal(np.array(value(2.0)).ravel(), [1, 2, 3, 8, 5, 6, 7, 8, 9, 10])
    for begin, count in ((0, 1), (1, 2), (3, 2), (5, 2), (7, 2), (9, 1)):
        part = ca.Function("part", [p], [ca.SX(column.part(begin, count))])
        np.testing.assert_array_equal(np.array(part(2.0)).ravel(), np.array(value(2.0)).ravel()[begin : begin + count])
    assert isinstance(column.part(7, 2), ca.DM)  # numbers stay numbers


def test_an_empty_column() -> None:
    assert Column().whole().numel() == 0
