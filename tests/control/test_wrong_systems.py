"""Designs given the wrong thing: words that name the right one."""

from __future__ import annotations

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
