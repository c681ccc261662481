"""C code of kernels, for one instance and for several at once: the bits of CasADi's virtual machine; and its results in the
runtime."""

from __future__ import annotations

import ctypes

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.engine.c_code import kernel_code
from pliant.engine.kernel import Kernels
from pliant.engine.libraries import load_kernels
from pliant.robot.rod_switch import with_rod_model

WIDTH = 4


def everything() -> ca.Function:
    """Every operation that formulas use."""
    x = ca.SX.sym("x", 4)
    a, b, c, d = x[0], x[1], x[2], x[3]
    singles = (ca.sin, ca.cos, ca.tan, ca.asin, ca.acos, ca.atan, ca.sinh, ca.cosh, ca.tanh, ca.exp, ca.log, ca.sqrt)
    more = (ca.fabs, ca.floor, ca.ceil, ca.sign, ca.log1p, ca.expm1, ca.erf, ca.logic_not)
    found = [f(a) for f in (*singles, *more)]
    found += [
        ca.atan2(a, b),
        a**c,
        a**3,
        ca.fmin(a, b),
        ca.fmax(a, b),
        ca.fmod(a, b),
        ca.copysign(a, d),
        ca.hypot(a, b),
    ]
    found += [
        a < c,
        a <= b,
        a == b,
        a != c,
        ca.logic_and(a > 1, b <= 2),
        ca.logic_or(a > 1, d < 0),
        1 / a,
        -a,
        2 * a - 1,
    ]
    found += [
        ca.if_else(a < c, b, d),
        ca.if_else(a == b, 1, np.inf),
        ca.if_else(d < 0, np.nan, a),
        ca.power(a, d - d),
        5,
    ]
    found += [
        -0.0,
        0.0,
        ca.fmin(a - a, -0.0 * b),
        ca.fmax(-0.0 * b, a - a),
        (a < c) * 3 / (b < d) + (c <= d),
        ca.if_else(ca.logic_not(a < c), b, -d),
        a,
    ]
    return ca.Function("everything", [x], [ca.vertcat(*found)])


@pytest.mark.parametrize("width", [1, WIDTH])
def test_compiled_code_has_the_bits_of_the_virtual_machine(width: int):
    """Of a single evaluation, and in each lane."""
    function = everything()
    call, _, on_lanes = load_kernels((Kernels.of("everything", function, lanes=int(width > 1)),)).entry("everything")
    assert (on_lanes is None) == (width == 1)
    call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_int)(on_lanes or call)
    rng = np.random.default_rng(0)
    for values in rng.uniform(0.1, 0.95, (WIDTH // width, 4, width)):
        given = np.ascontiguousarray(values)
        given[1, 0], given[3, -1], given[2, width // 2] = given[0, 0], -given[3, -1], 0.0
        found = np.zeros((function.nnz_out(), width))
        call((ctypes.c_void_p * 1)(given.ctypes.data), (ctypes.c_void_p * 1)(found.ctypes.data), None, None, 0)
        for lane in range(width):
            expected = np.array(function(given[:, lane])).ravel()
            same = (found[:, lane] == expected) & (np.signbit(found[:, lane]) == np.signbit(expected))
            same |= np.isnan(found[:, lane]) & np.isnan(expected)
            assert same.all(), np.flatnonzero(~same)


def test_results_that_are_not_wanted():
    x = ca.SX.sym("x")
    function = ca.Function("two_results", [x], [ca.sin(x), ca.vertcat(x, 2)])
    call = load_kernels((Kernels.of("two_results", function),)).entry("two_results")[0]
    given, found = np.array([0.3]), np.zeros(2)
    results = (ctypes.c_void_p * 2)(None, found.ctypes.data)
    call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_int)(call)
    call((ctypes.c_void_p * 1)(given.ctypes.data), results, None, None, 0)
    assert found.tolist() == [0.3, 2.0]


def test_functions_that_call_others_are_refused():
    x = ca.MX.sym("x")
    inner = ca.Function("inner", [x], [ca.sin(x)], {"never_inline": True})
    with pytest.raises(ValueError, match="plain"):
        kernel_code(ca.Function("outer", [x], [inner(x)]))


@pytest.mark.parametrize("count", [1, 3, 4, 6])
def test_numbers_of_instances_that_do_not_fill_the_lanes(count: int):
    """For any number of elements, stored and dissipated energies are consistent with forces and inertia."""
    eqs = pliant.derive(with_rod_model(pliant.load("cantilever"), "rod", f"finite_element:{count}"))
    rng = np.random.default_rng(count)
    state = eqs.initial_state()
    q = eqs.binding.increment(state.q, 0.05 * rng.normal(size=eqs.binding.nv))
    v = 0.3 * rng.normal(size=eqs.binding.nv)
    a, _ = eqs.binding.forward(0.0, q, v)
    # the power of all forces is the change of kinetic and potential energy
    step = 3e-8
    ahead, behind = (eqs.binding.increment(q, s * step * v + 0.5 * (s * step) ** 2 * a) for s in (1, -1))
    first, second = (eqs.binding.energies(0.0, x, v + s * step * a) for s, x in ((1, ahead), (-1, behind)))
    kinetic, potential = ((first[k] - second[k]) / (2 * step) for k in (0, 1))
    here = eqs.binding.energies(0.0, q, v)
    assert kinetic + potential == pytest.approx(here[3] - here[2], abs=1e-6 * abs(kinetic))


@pytest.mark.parametrize("model", ["pcs:1", "pcs:5", "polynomial:3", "pcc_cog:3", "pcc:5"])
def test_tangents_of_relative_rods_are_derivatives_of_their_forces(model: str):
    """Nodes that do not fill the lanes, elements of more than six coordinates, inertia that is not rigid."""
    eqs = pliant.derive(with_rod_model(pliant.load("cantilever"), "rod", model))
    binding, rng = eqs.binding, np.random.default_rng(1)
    x, v, a = rng.normal(size=(3, binding.nv))
    q = binding.increment(eqs.initial_state().q, 0.1 * x)
    found = binding.linearized(0.0, q, v, a, np.zeros(binding.m))
    force = np.abs(found.residual).max()
    # forces are quadratic in v and linear in a: differences are exact there, and steps may be long
    for order, (matrix, step) in enumerate(((found.stiffness, 1e-5), (found.damping, 1.0), (found.mass, 1.0))):
        dense = matrix.toarray()
        for j in range(binding.nv):
            unit = step * np.eye(3 * binding.nv)[order * binding.nv + j].reshape(3, -1)
            ahead, behind = (
                binding.inverse(0.0, binding.increment(q, s * unit[0]), v + s * unit[1], a + s * unit[2])
                for s in (1, -1)
            )
            noise = 1e-14 * force / step + 1e-7 * np.abs(dense).max()
            assert dense[:, j] == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=noise), (order, j)
