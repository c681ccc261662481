"""Expressions: reading, writing back, evaluating, dimensions."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pliant
from pliant.language import dimension as dim
from pliant.language.evaluate import UNKNOWN, dimension_of, evaluate
from pliant.language.faults import ExpressionError
from pliant.language.syntax import (
    ARGUMENTS,
    COMPARISONS,
    Binary,
    Call,
    Negative,
    Node,
    Number,
    Symbol,
    parse,
    substitute,
    symbols,
    to_text,
)
from pliant.language.units import parse_unit

VALUES = {"length": 0.3, "mass": 2.0, "t": 1.5}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50 mm", 0.05),
        ("-3", -3.0),
        (".5e-3 kPa", 0.5),
        ("28 g", 0.028),
        ("90 deg", math.pi / 2),
        ("=2 + 3*4", 14.0),
        ("=2^3^2", 512.0),
        ("=2**-1", 0.5),
        ("=-2^2", -4.0),
        ("=(-2)^2", 4.0),
        ("=8/4/2", 1.0),
        ("=2 - 3 - 4", -5.0),
        ("=- -3", 3.0),
        ("=length + 5 mm", 0.305),
        ("=2*length", 0.6),
        ("=2 N*m * mass", 4.0),
        ("=2 N*mass", 4.0),
        ("=9.81 m/s^2*mass", 19.62),
        ("=t/1 s", 1.5),
        ("=1/2 s", 0.5),
        ("=if(t < 1 s, 10, 20)", 20.0),
        ("=if(t >= 1 s, 10, 1/0)", 10.0),
        ("=step(t - 1 s) + step(t - 2 s)", 1.0),
        ("=min(3, 1, 2) + max(3, 1, 2)", 4.0),
        ("=sign(-3) * abs(-4) + floor(2.7)", -2.0),
        ("=atan2(1, 1)", math.pi / 4),
        ("=sin(pi/2) + cos(0) + tan(0)", 2.0),
        ("=log(e) + log10(100) + exp(0) + sqrt(16)", 8.0),
        ("=asin(1) + acos(1) + atan(0) + sinh(0) + cosh(0) + tanh(0)", math.pi / 2 + 1),
        ("=(1 == 1) + (1 != 1) + (2 > 1) + (2 <= 1)", 2.0),
    ],
)
def test_value(text: str, value: float) -> None:
    assert evaluate(parse(text), VALUES) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("fast", "cannot read 'fast'", "begins with ="),
        ("1,5 m", "cannot read", "point"),
        ("5 foot pounds", "unknown unit 'pounds'", ""),
        ("5 kPA", "unknown unit 'kPA'", "'kPa'"),
        ("=2 length", "unknown unit 'length'", "put *"),
        ("=sinus(1)", "unknown function 'sinus'", "'sin'"),
        ("=sin", "no arguments", "sin(...)"),
        ("=atan2(1)", "takes 2 arguments, not 1", ""),
        ("=if(1, 2)", "takes 3 arguments, not 2", ""),
        ("=min(1)", "takes 2 to 8 arguments, not 1", ""),
        ("=(1 + 2", "not closed", ""),
        ("=1 + ", "ends too early", ""),
        ("=1 2", "unexpected '2'", ""),
        ("=1e999", "too large", ""),
        ("=", "empty", ""),
    ],
)
def test_what_cannot_be_read(text: str, message: str, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert hint in caught.value.hint


@pytest.mark.parametrize("text", ["=1/0", "=sqrt(-1)", "=log(0)", "=(-1)^0.5", "=exp(1000)", "=nothing"])
def test_what_has_no_value(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(parse(text), VALUES)


names = st.sampled_from(["length", "mass", "t", "left/length", "pi"])
quantities = st.sampled_from(["5 mm", "2 N*m", "9.81 m/s^2", "30 deg", "1.5 kg"])


def quantity(text: str) -> Number:
    number, _, unit = text.partition(" ")
    parsed = parse_unit(unit)
    return Number(float(number) * parsed.factor, parsed, text)


leaves = st.one_of(
    st.floats(0, 1e6).map(lambda value: Number(float(value))), names.map(Symbol), quantities.map(quantity)
)


def grow(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    def call(name: str) -> st.SearchStrategy[Node]:
        least, most = ARGUMENTS.get(name, (1, 1))
        return st.lists(inner, min_size=least, max_size=min(most, 3)).map(lambda a: Call(name, tuple(a)))

    return st.one_of(
        inner.map(Negative),
        st.tuples(st.sampled_from(["+", "-", "*", "/", "^", *COMPARISONS]), inner, inner).map(lambda a: Binary(*a)),
        st.sampled_from(["sin", "abs", "min", "if", "atan2", "step"]).flatmap(call),
    )


trees = st.recursive(leaves, grow, max_leaves=12)


@given(trees)
@settings(max_examples=300, deadline=None)
def test_text_reads_back_to_the_same_tree(tree: Node) -> None:
    assert parse(to_text(tree)) == tree


@given(trees)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_numbers_arrays_and_symbols_agree(tree: Node) -> None:
    assume("atan2" not in to_text(tree))  # it distinguishes -0 from 0, which symbols do not
    values = {"length": 0.3, "mass": 2.0, "t": 1.5, "left/length": 0.7}
    try:
        expected = float(evaluate(tree, values))
    except ExpressionError:
        return
    if not math.isfinite(expected) or abs(expected) > 1e12:
        return
    symbol = {name: ca.SX.sym("x") for name in values}
    function = ca.Function("f", list(symbol.values()), [ca.SX(evaluate(tree, symbol))])
    assert float(function(*values.values())) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    with np.errstate(all="ignore"):
        try:
            array = evaluate(tree, {**values, "t": np.array([1.5, 1.5])})
        except ExpressionError:
            return
    assert np.broadcast_to(array, 2)[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_names_are_found_and_replaced() -> None:
    node = parse("=a*b + sin(a)")
    assert symbols(node) == {"a", "b"}
    replaced = substitute(node, {"a": parse("2 m"), "b": Symbol("left/b")})
    assert to_text(replaced) == "=2 m * `left/b` + sin(2 m)"
    assert parse(to_text(replaced)) == replaced


KNOWN = {"length": dim.LENGTH, "mass": dim.MASS, "bare": UNKNOWN, "t": UNKNOWN}


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("50 mm", dim.LENGTH),
        ("30 deg", dim.NUMBER),
        ("=length + 5", dim.LENGTH),
        ("=2*length", dim.LENGTH),
        ("=length^2", dim.AREA),
        ("=sqrt(length^2)", dim.LENGTH),
        ("=length/length", dim.NUMBER),
        ("=mass*9.81 m/s^2", dim.FORCE),
        ("=if(length > 3, mass, 2 kg)", dim.MASS),
        ("=max(length, 3 mm)", dim.LENGTH),
        ("=2 N*m*sin(2*pi*t)", dim.TORQUE),
        ("=abs(-length)", dim.LENGTH),
        ("=length*step(t)", dim.LENGTH),
    ],
)
def test_dimension(text: str, dimension: dim.Dimension) -> None:
    assert dimension_of(parse(text), KNOWN) == dimension


@pytest.mark.parametrize("text", ["=5", "=2*3", "=bare*length", "=bare + 1", "=t"])
def test_a_bare_number_fits_everywhere(text: str) -> None:
    assert not isinstance(dimension_of(parse(text), KNOWN), dim.Dimension)


@pytest.mark.parametrize(
    "text", ["=length + mass", "=length < mass", "=sin(length)", "=length^bare", "=max(length, mass)", "=2^mass"]
)
def test_dimensions_that_do_not_fit(text: str) -> None:
    with pytest.raises(ExpressionError):
        dimension_of(parse(text), KNOWN)


@pytest.mark.parametrize(
    "text",
    ["2 m ^2", "2 m^\t3", "5 N m", "-5 N/(m*s)", "4 m²", "3 °", "5 mm^0.5 s", "3 1/s", "2 (1)", "7 N*m", "-2 m^2"],
)
def test_values_keep_their_meaning_in_expressions(text: str) -> None:
    value = parse(text)
    again = parse(to_text(Binary("*", value, value)))
    for node in (parse(to_text(value)), again.left, again.right):
        assert evaluate(node, {}) == evaluate(value, {})
        assert dimension_of(node, {}) == dimension_of(value, {})


def test_a_parameter_of_an_attached_model_with_spaces_in_its_unit() -> None:
    part = "{pliant: 1, parameters: {a: 1 m^2}, bodies: {b: {mass: '=a*1 kg/m^2'}}, joints: {j: JOINT}}".replace(
        "JOINT", "{type: prismatic, parent: world, child: b, axis: x}"
    )
    text = "pliant: 1\nmodels: {{m: {}}}\nattach: {{x: {{model: m, to: world, parameters: {{a: {}}}}}}}"
    for written in ("2 m^2", "2 m ^2", "2 m m", "2 (m*m)"):
        eqs = pliant.derive(pliant.load_text(text.format(part, written)))
        assert eqs.mass_matrix([0.0])[0, 0] == pytest.approx(2.0), written
