"""Remarks on the cases of a sweep: one line for each kind, with the number of cases."""

import numpy as np

from pliant.show.plot.analyses import effects
from pliant.study.results import Table


def table(messages, status=None, **varied):
    count = len(messages)
    varied = varied or {"k": np.arange(count, dtype=float)}
    status = np.array(status or ["converged"] * count)
    return Table(varied, {"y": np.arange(count) ** 2.0}, {}, status, np.array(messages))


def test_remarks_that_differ_in_numbers_are_one_line():
    friction = "friction supports the pose: 'grip' sticks at 2 places with up to {} %; without friction it would fall"
    found = f"equilibrium found in 4 iterations; it is stable; {friction}"
    messages = [found.format(10), "equilibrium found in 1 iteration; it is stable", found.format(99), "diverged"]
    lines = table(messages, ["converged"] * 3 + ["failed"]).remarks()
    assert lines == [f"2 of 4 cases, as in case 0: {friction.format(10)}"]


def test_one_varied_value_is_a_line_through_all_cases():
    (ax,) = effects(table([""] * 17, hold=np.linspace(0, 4e5, 17)))
    assert max(len(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "-") == 17
    assert not ax.collections  # no error bars


def test_random_values_are_put_into_groups_and_those_of_grids_are_not():
    draw = np.random.default_rng(0).random((2, 100))
    for ax in effects(table([""] * 100, a=draw[0], b=draw[1])):
        assert [len(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "-"] == [8]
    a, b = (x.ravel() for x in np.meshgrid(np.linspace(0, 1, 15), np.linspace(0, 1, 16)))
    first, second = effects(table([""] * 240, a=a, b=b))
    assert [len(line.get_xdata()) for line in first.lines if line.get_linestyle() == "-"] == [15]
    assert [len(line.get_xdata()) for line in second.lines if line.get_linestyle() == "-"] == [16]
