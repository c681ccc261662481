"""Names of constants: values written by name are read by the same name, without loss or duplication."""

import casadi as ca
import numpy as np
import pytest

from pliant.parts.motion.base import Fields

LAYOUT = Fields("end:pose", "axes:matrix") + Fields("stiffness:6", "rest")


def test_what_is_written_is_read():
    values = {"end": list(range(12)), "axes": list(range(20, 29)), "stiffness": tuple(range(6)), "rest": 7.0}
    numbers = LAYOUT.write(**values)
    assert len(numbers) == LAYOUT.size == 28
    read = LAYOUT.read(ca.DM(numbers))
    assert float(read.rest) == 7.0
    assert numbers[LAYOUT.at["rest"]] == 7.0
    np.testing.assert_array_equal(np.ravel(np.array(read.stiffness)), range(6))
    rotation, position = read.end
    np.testing.assert_array_equal(rotation, np.arange(9).reshape(3, 3).T)  # by column
    np.testing.assert_array_equal(np.ravel(np.array(position)), [9, 10, 11])
    np.testing.assert_array_equal(read.axes, np.arange(20, 29).reshape(3, 3).T)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"stiffness": [1, 2], "rest": 0}, "'stiffness' has 3 numbers, not 2"),
        ({"stiffness": [1, 2, 3]}, "stiffness, rest are needed, not stiffness"),
        ({"stiffness": [1, 2, 3], "rest": 0, "power": 1}, "are needed, not stiffness, rest, power"),
    ],
)
def test_wrong_numbers_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Fields("stiffness:3", "rest").write(**values)


def test_names_are_used_once():
    with pytest.raises(ValueError, match="two constants are called 'rest'"):
        Fields("rest:3", "rest")
