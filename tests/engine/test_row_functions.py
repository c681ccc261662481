"""Functions of CasADi for many rows in one call give what single calls give."""

import casadi as ca
import numpy as np
import pytest

from pliant.engine.outputs import RowFunction


def made():
    x, y, z = ca.SX.sym("x", 3), ca.SX.sym("y", 2), ca.SX.sym("z", 0)
    return ca.Function("rows", [x, y, z], [ca.sin(x) * y[0], ca.dot(x, x) + y[1]])


def test_rows_are_single_calls_to_the_bit():
    function, rng = made(), np.random.default_rng(0)
    x, y = rng.normal(size=(7, 3)), rng.normal(size=2)
    first, second = RowFunction(function)(7, [x, y, np.zeros(0)])
    for k in range(7):
        a, b, *_ = (np.asarray(part).ravel() for part in function(x[k], y, ca.DM(0, 1)))
        assert np.array_equal(first[k], a)
        assert np.array_equal(second[k], b)


def test_arguments_of_another_size_are_refused():
    with pytest.raises(ValueError, match="3 numbers for 7 rows cannot have the shape"):
        RowFunction(made())(7, [np.zeros((6, 3)), np.zeros(2), np.zeros(0)])
