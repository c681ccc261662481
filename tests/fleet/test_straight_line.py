"""Code of fleets: CasADi's functions on lanes, and elementary functions of lanes, against exact values."""

from __future__ import annotations

import ctypes

import casadi as ca
import numpy as np
import pytest

from pliant.engine import c_code
from pliant.engine.libraries import build_fast_library
from pliant.fleet.cpu import FLAGS, Cpu
from pliant.fleet.methods import factorized, packed, solve, solved
from pliant.fleet.source import CODE, code_file

COLUMNS = 16


def _evaluated(function: ca.Function, values: np.ndarray, *, single: bool = False) -> np.ndarray:
    """Results of a function of one argument (columns: robots), computed on lanes."""
    written = c_code.straight_line(function, "tried", ["x"], ["y"])
    text = f"""#include "lanes.h"
{written.text}
void run(const real *in, real *out) {{
  for (int at = 0; at < {COLUMNS}; at += LANES) {{
    R x[{function.numel_in(0)}], y[{function.numel_out(0)}];
    for (int i = 0; i < {function.numel_in(0)}; ++i) x[i] = *(const R *)(in + i * {COLUMNS} + at);
    tried(x, y);
    for (int i = 0; i < {function.numel_out(0)}; ++i) *(R *)(out + i * {COLUMNS} + at) = y[i];
  }}
}}
"""
    flags = (*FLAGS, *(["-DFLEET_SINGLE"] if single else []))
    files = {"tried.c": text, "lanes.h": code_file("lanes.h")}
    library = ctypes.CDLL(str(build_fast_library("tried", files, ["tried.c"], flags)))
    device = Cpu("single" if single else "double", 1)
    given, found = device.zeros(function.numel_in(0), COLUMNS), device.zeros(function.numel_out(0), COLUMNS)
    given[:] = values
    library.run(ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(found.ctypes.data))
    return np.array(found)


def _by_casadi(function: ca.Function, values: np.ndarray) -> np.ndarray:
    return np.asarray(function.map(values.shape[1])(values))


def _operations() -> ca.Function:
    """Every operation that occurs in equations."""
    x = ca.SX.sym("x", 3)
    a, b, c = ca.vertsplit(x)
    near = a < b
    found = [
        a + b, a - b, a * b, a / (2 + b), a / 7, (1 + c) / (2 + b), -a, 2 * a, a**2, a**3, a**2.5, 1 / (3 + a), ca.sqrt(a + 2),
        ca.sin(a), ca.cos(a), ca.sin(b), ca.cos(c), ca.tan(a), ca.asin(a), ca.acos(a), ca.atan(a), ca.sinh(a), ca.cosh(a),
        ca.tanh(a), ca.asinh(a), ca.acosh(a + 3), ca.atanh(a), ca.exp(a), ca.log(a + 2), ca.log1p(a), ca.expm1(a), ca.fabs(a),
        ca.floor(5 * a), ca.ceil(5 * a), ca.erf(a), ca.sign(a), ca.fmin(a, b), ca.fmax(a, b), ca.atan2(a, b), (a + 2) ** b,
        ca.fmod(a, 0.3), ca.copysign(a, b), ca.hypot(a, b), ca.if_else(near, a, b), ca.if_else(near, a, 0),
        near * 3 + c, ca.logic_not(near) + c,
        ca.if_else(ca.logic_and(near, b < c), a, c), ca.if_else(ca.logic_or(near, b <= c), a, c), ca.if_else(ca.eq(a, b), a, c),
        ca.if_else(ca.ne(a, b), a, c), ca.if_else(a, b, c), ca.SX(4.0), b,
    ]  # fmt: skip
    return ca.Function("tried", [x], [ca.vertcat(*found)])


def _samples() -> np.ndarray:
    values = np.random.default_rng(0).uniform(-0.95, 0.95, (3, COLUMNS))
    values[:, 0], values[1, 1] = 0.0, values[0, 1]
    return values


@pytest.mark.parametrize("part", [c_code.PART, 7])
def test_operations(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.setattr(c_code, "PART", part)  # also cut into many parts
    function, values = _operations(), _samples()
    assert np.allclose(
        _evaluated(function, values), _by_casadi(function, values), rtol=4e-15, atol=4e-16, equal_nan=True
    )


def test_operations_in_single_precision() -> None:
    function, values = _operations(), _samples().astype(np.float32).astype(float)
    assert np.allclose(
        _evaluated(function, values, single=True), _by_casadi(function, values), rtol=2e-6, atol=2e-7, equal_nan=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("single", [False, True])
def test_functions_to_the_last_digits(single: bool) -> None:
    real = np.float32 if single else np.float64
    x = ca.SX.sym("x", 256)
    function = ca.Function("tried", [x], [ca.vertcat(ca.sin(x), ca.cos(x), ca.exp(x))])
    rng = np.random.default_rng(2)
    most = 80.0 if single else 700.0
    spread = np.concatenate([rng.uniform(-1, 1, (96, COLUMNS)), rng.uniform(-most, most, (160, COLUMNS))])
    values = spread.astype(real).astype(float)
    found = _evaluated(function, values, single=single).reshape(3, 256, COLUMNS)
    exact = np.stack([f(values.astype(np.longdouble)) for f in (np.sin, np.cos, np.exp)])
    last = np.spacing(np.maximum(np.abs(exact).astype(real), real(1e-3)))
    assert float((np.abs(found - exact) / last).max()) < 2


def test_sine_and_exponential_at_their_ends() -> None:
    x = ca.SX.sym("x")
    function = ca.Function("tried", [x], [ca.vertcat(ca.sin(x), ca.cos(x), ca.exp(x))])
    values = np.zeros((1, COLUMNS))
    values[0, :9] = [1e7, -1e15, 1e300, 709.7, 710, -745, -800, np.nan, np.inf]
    found = _evaluated(function, values)
    assert np.allclose(found[:2, :3], [np.sin(values[0, :3]), np.cos(values[0, :3])], rtol=1e-14)
    assert np.isclose(found[2, 3], np.exp(709.7), rtol=1e-14)
    assert found[2, 4] == np.inf
    assert np.all(found[2, 5:7] == 0)
    assert np.isnan(found[:, 7]).all()
    assert np.isnan(found[:2, 8]).all()


def test_one_division_per_divisor() -> None:
    x = ca.SX.sym("x", 4)
    function = ca.Function("tried", [x], [ca.vertcat(x[0] / x[3], x[1] / x[3], x[2] / x[3], x[0] / 3)])
    text = c_code.straight_line(function, "tried", ["x"], ["y"]).text
    assert text.count(" / ") == 1


def test_elimination_keeps_the_pattern_of_trees() -> None:
    # two branches on a common trunk: entries between the branches stay zero
    rng = np.random.default_rng(4)
    pattern = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 0, 0, 1, 1], [1, 0, 0, 1, 1]])
    full = rng.normal(size=(5, 5)) * pattern
    symmetric, right = full @ full.T * pattern + 9 * np.eye(5), rng.normal(size=5)
    for matrix, is_symmetric in ((symmetric, True), (full + 9 * np.eye(5), False)):
        given = ca.SX(ca.sparsify(ca.DM(matrix)))
        rows, inverse = factorized(given, symmetric=is_symmetric)
        assert all(j in (0, 1, 2) for j in rows[1])
        assert all(j in (0, 3, 4) for j in rows[4])
        assert np.allclose(
            np.array(ca.DM(solve(given, ca.DM(right), symmetric=is_symmetric))).ravel(), np.linalg.solve(matrix, right)
        )
        numbers, again, again_inverse = packed(rows, inverse)
        assert numbers.numel() == sum(len(row) for row in rows)
        assert len(solved(again, again_inverse, list(right))) == 5


def test_code_of_the_folder_is_there() -> None:
    assert {p.name for p in CODE.iterdir()} >= {"lanes.h", "cpu.c", "steps.h"}
