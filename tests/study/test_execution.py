"""Blocks of cases as they travel between processes."""

import pickle

import numpy as np

import pliant
from pliant.study.analyses import Motions
from pliant.study.many import packed, run_block
from pliant.study.structures import Values


def block_of(options, values, keep=("q", "output.tip")):
    return run_block(*packed(pliant.derive("stiff_flop")), Motions(options, keep), values)[1]


def test_a_block_gives_back_all_outcomes():
    wrong = Values({"length": -1.0})
    given = [Values(inputs={"p1": 1e4}), wrong, Values(inputs={"p1": 2e4})]
    found = pickle.loads(pickle.dumps(block_of({"until": 0.1}, given)))
    assert [x.status for x in found] == ["completed", "failed", "completed"]
    assert not found[1].arrays
    for k in (0, 2):
        alone = pliant.simulate(pliant.derive("stiff_flop"), 0.1, inputs=given[k].inputs)
        assert np.array_equal(found[k].arrays["q"][1], alone.q)
        assert np.array_equal(found[k].arrays["output.tip"][1], alone["tip"].values)


def test_what_is_not_computed_in_place_is_there_too():
    found = block_of({"until": 0.05}, [Values(inputs={"p1": 1e4})], keep=("kinetic",))
    alone = pliant.simulate(pliant.derive("stiff_flop"), 0.05, inputs={"p1": 1e4})
    assert np.array_equal(found[0].arrays["kinetic"][1], alone.recorded["kinetic"])
