"""Designs with wrong arguments: messages that name the right ones."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import derive, linearize
from pliant.control import StateFeedback, discretize, lqr, reduce
from pliant.language.arguments import ArgumentError


def test_words_for_what_is_no_linear_system():
    """A reduction holds a system, and a feedback designed on its modes needs it."""
    eqs = derive("stiff_flop")
    linear = linearize(eqs)
    reduced = reduce(linear, keep=3)
    with pytest.raises(ArgumentError, match=r"not a Reduction.*discretize\(reduced.linear, ...\)"):
        discretize(reduced, 0.001)
    with pytest.raises(ArgumentError, match=r"not a Reduction.*lqr\(reduced.linear"):
        lqr(reduced)
    with pytest.raises(ArgumentError, match="it is sampled already"):
        discretize(discretize(reduced.linear, 0.001), 0.001)
    regulator = lqr(discretize(reduced.linear, 0.001))
    with pytest.raises(ArgumentError, match=r"designed on mode1.*not states of the robot.*reduction=reduced"):
        StateFeedback(eqs, regulator)
    with pytest.raises(ArgumentError, match=r"on `.linear` of this reduction"):
        StateFeedback(eqs, regulator, reduction=reduce(linear, keep=5))
    assert StateFeedback(eqs, regulator, reduction=reduced).sample_time == 0.001


def test_a_discrete_system_selects_signals_and_spillover_names_the_inputs_it_expects():
    """A system is the same if it is selected before or after sampling; a gain of other inputs is rejected with a message."""
    linear = linearize(derive("arm_with_rod"), at="initial")
    torques = linear.select(inputs="torque", outputs="tip")
    assert torques.inputs == tuple(f"torque[{k}]" for k in range(1, 7))
    assert torques.outputs == ("tip.x", "tip.y", "tip.z")
    reduction = reduce(linear, below=30)
    sampled = discretize(reduction.linear, 0.002, delay=0.001)
    one, other = (
        sampled.select("torque", "tip"),
        discretize(reduction.linear.select("torque", "tip"), 0.002, delay=0.001),
    )
    for name in "ABCD":
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    with pytest.raises(ValueError, match="select the inputs before the reduction"):
        reduction.spillover(np.zeros((6, len(reduction.linear.states))))
