"""What varies, from values and texts: combinations and samples."""

import numpy as np
import pytest

import pliant
from pliant import ArgumentError, cases


def column(found, name):
    return np.array([row[name] for row in found])


def test_combinations_of_ranges_and_lists():
    found = cases({"k": "1:3:5 kPa", "arm": "pcs:4, cosserat:10"})
    assert len(found) == 10
    assert found.names == ("k", "arm")
    assert list(column(found, "k")[::2]) == [1000, 1500, 2000, 2500, 3000]
    assert {row["arm"] for row in found} == {"pcs:4", "cosserat:10"}
    assert [dict(x) for x in found[:2]] == [{"k": 1000.0, "arm": "pcs:4"}, {"k": 1000.0, "arm": "cosserat:10"}]


def test_lists_with_units_and_logarithmic_ranges():
    assert [row["d"] for row in cases({"d": "1, 2, 5 mm"})] == pytest.approx([1e-3, 2e-3, 5e-3])
    assert [row["d"] for row in cases({"d": "1 mm, 2 cm"})] == pytest.approx([1e-3, 2e-2])
    assert [row["d"] for row in cases({"d": "log 1:100:3 Pa"})] == pytest.approx([1, 10, 100])
    assert [row["d"] for row in cases({"d": np.array([1.0, 2.0])})] == [1.0, 2.0]


@pytest.mark.parametrize("kind", ["random", "sobol", "halton", "latin"])
def test_samples_have_the_distribution_that_is_meant(kind):
    vary = {
        "a": "1:3 kPa",
        "b": "normal(2, 0.5) mm",
        "c": "lognormal(2, 0.1)",
        "d": "triangular(0, 1, 4)",
        "e": "x, y, z",
    }
    found = cases(vary, f"{kind}:1024", seed=1)
    assert len(found) == 1024
    slack = 6 if kind == "random" else 1
    a, b, c, d = (column(found, name) for name in "abcd")
    assert (a.min(), a.max()) == pytest.approx((1000, 3000), abs=20)
    assert a.mean() == pytest.approx(2000, abs=10 * slack)
    assert (b.mean(), b.std()) == pytest.approx((2e-3, 0.5e-3), abs=1e-5 * slack)
    assert (np.median(c), np.log(c).std()) == pytest.approx((2, 0.1), rel=0.01 * slack)
    assert d.mean() == pytest.approx(5 / 3, rel=0.01 * slack)
    assert d.std() == pytest.approx(np.sqrt((16 + 1 - 4) / 18), rel=0.02 * slack)
    counts = np.unique(column(found, "e"), return_counts=True)[1]
    assert counts == pytest.approx(1024 / 3, abs=30 if kind == "random" else 4)


def test_a_range_with_a_number_is_sampled_at_its_values():
    found = cases({"k": "1:3:20 kPa", "arm": "pcs:4,cosserat:10"}, "sobol:1000")
    assert len(found) == 1000
    values, counts = np.unique(column(found, "k"), return_counts=True)
    assert values == pytest.approx(np.linspace(1000, 3000, 20))
    assert counts.min() >= 45


def test_samples_follow_their_seed():
    first, again, other = (cases({"a": "0:1"}, "sobol:8", seed=seed).rows for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("vary", "sample", "words"),
    [
        ({"k": "3:1:5 kPa"}, None, "is empty"),
        ({"k": "1:3:0 kPa"}, None, "has 0 values"),
        ({"k": "1:3 kPa"}, None, "infinitely many values"),
        ({"k": "normal(1, 2)"}, None, "infinitely many values"),
        ({"k": "1:3:4 kPaa"}, None, "unknown unit 'kPaa'"),
        ({"k": "log -1:3:4"}, None, "no logarithms"),
        ({"k": "1 mm, 2 s"}, None, "differ in dimension"),
        ({"k": "1 mm, 2"}, None, "has no unit"),
        ({"k": []}, None, "no values"),
        ({"k": "norml(1, 2)"}, "sobol:8", "did you mean 'normal'"),
        ({"k": "normal(1, 0)"}, "sobol:8", "above zero"),
        ({"k": "uniform(2, 1)"}, "sobol:8", "is not a distribution"),
        ({"k": "normal(1)"}, "sobol:8", "takes 2 numbers"),
        ({"k": "1:3"}, "sobol", "number of samples"),
        ({"k": "1:3"}, "soboll:8", "did you mean 'sobol'"),
        ({"k": "1:3:1000", "l": "1:3:1000", "m": "1:3:1000"}, None, "1e+09 combinations"),
        ({"k": [float("nan")]}, None, "not finite"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(vary, sample, words):
    with pytest.raises(ArgumentError) as error:
        cases(vary, sample)
    assert words in str(error.value)


def test_a_parameter_called_start_is_one() -> None:
    """`start` in a case is an initial state only where the model has no such name; the bundled sleeve has one."""
    eqs = pliant.derive(
        pliant.load_text("""
pliant: 1
parameters: {start: {value: 2 m}}
bodies: {a: {mass: 1 kg}}
joints: {slide: {type: prismatic, axis: x, child: a, displacement: {initial: =start}}}
""")
    )
    found = pliant.simulate_many(eqs, {"start": [1.0, 3.0]}, 0.1)
    assert found["q"].values[:, 0, 0].tolist() == [1.0, 3.0]
