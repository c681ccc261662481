"""Calls of evaluations: the extension module and ctypes alike, arguments of all sorts, workspaces of threads, held inputs."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la

import pliant
from pliant.engine import binding, compiling, ctypes_calls, libraries
from pliant.engine import program as calls
from pliant.engine.binding import Binding
from pliant.engine.compiling import find_compiler
from pliant.engine.program import EvaluationError, Program
from pliant.language.arguments import ArgumentError

ROBOTS = ("cart_pole", "four_bar", "tumbling_body", "stiff_flop", "trunk")


@pytest.fixture(scope="module", params=ROBOTS)
def eqs(request: pytest.FixtureRequest) -> pliant.Equations:
    return pliant.derive(request.param)


@pytest.fixture(scope="module")
def cart_pole() -> pliant.Equations:
    return pliant.derive("cart_pole")


@pytest.fixture
def by_ctypes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are made from here on have no extension module."""
    for module in (calls, binding):
        monkeypatch.setattr(module, "extension_module", lambda: ctypes_calls)


def state_of(eqs: pliant.Equations) -> tuple[np.ndarray, np.ndarray]:
    """A state that is not the start."""
    rng, (q, v) = np.random.default_rng(3), eqs.initial_state()
    return eqs.binding.increment(q, 0.02 * rng.normal(size=len(v))), 0.1 * rng.normal(size=len(v))


TAKES = {
    "forward": "t q v", "forward_derivatives": "t q v", "inverse": "t q v a", "linearized": "t q v a multipliers",
    "constraints": "t q v", "constraint_sizes": "t q v", "sizes": "q", "fastest_rate": "t q v", "row_independence": "t q v",
    "acceleration_tangent": "t q v a", "input_tangent": "t q v",
    "mass_matrix": "q", "energies": "t q v", "signals": "t", "project": "t q v tolerance", "increment": "q v",
    "node_poses": "q", "node_twists": "q v", "node_accelerations": "t q v a", "node_subspaces": "q",
    "node_jacobian": "q frames", "frame_poses": "q frames", "frame_velocities": "q v frames",
    "frame_accelerations": "q v a frames", "frame_jacobian": "q frames",
}  # fmt: skip
"""All evaluations, with their arguments."""


def everything(bound: Binding, q: Any, v: Any) -> Iterator[tuple[str, Any]]:
    """Results of every evaluation by name."""
    rest, none, frames = np.full(bound.nv, 0.3), np.full(bound.m, 0.2), np.array([[0, 0], [1, 0]], dtype=np.int32)
    given = {"t": 0.3, "tolerance": 1e-10, "q": q, "v": v, "a": rest, "multipliers": none, "frames": frames}
    listed = {name: call for name, call in vars(bound.program.calls).items() if callable(call)}
    assert listed.keys() == TAKES.keys()
    for name, call in listed.items():
        if name != "forward_derivatives" or not bound.m:
            yield name, call(bound, *(given[x] for x in TAKES[name].split()))


def flat(found: Any) -> list[np.ndarray]:
    return list(found) if isinstance(found, tuple) else [found]


# -- two ways to call ---------------------------------------------------------------------------------------------------------


def test_the_extension_module_is_there() -> None:
    """The tests below compare it with ctypes; wherever they run there is a compiler with the headers of Python and NumPy."""
    assert libraries.extension_module() is not ctypes_calls


def test_ctypes_gives_the_same_bits(eqs: pliant.Equations, by_ctypes: None) -> None:
    bound, (q, v) = eqs.binding, state_of(eqs)
    if bound.m:
        q, v = bound.project(0.3, q, v)
    program = Program(bound.system, eqs.model.plan)
    other = Binding.of(
        program, constants=bound.constants, parameters=bound.parameters, held=bound.held, input_kind=bound.input_kind
    )
    assert isinstance(program.workspace(other).handle, ctypes_calls.Handle)
    there = dict(everything(other, q, v))
    for name, found in everything(bound, q, v):
        for x, y in zip(flat(found), flat(there[name]), strict=True):
            assert x.shape == y.shape
            assert x.tobytes() == y.tobytes(), name
    with pytest.raises(EvaluationError, match="finite"):
        other.forward(0.0, q, np.full(len(v), np.nan))


def test_a_program_without_the_module_answers_alike(by_ctypes: None) -> None:
    """The public interface, from the first call: the same messages."""
    eqs = pliant.derive(pliant.load("pendulum"))
    q, v = eqs.initial_state()
    np.testing.assert_array_equal(eqs.forward_dynamics(q, v)[0], pliant.derive("pendulum").forward_dynamics(q, v)[0])
    refusals(eqs, q, v)


# -- arguments ----------------------------------------------------------------------------------------------------------------


def test_numbers_of_all_sorts_are_taken(eqs: pliant.Equations) -> None:
    bound, (q, v) = eqs.binding, state_of(eqs)
    q, v = np.round(q, 3), np.round(v, 3)
    expected = bound.inverse(0.25, q, v, v)
    spread = np.zeros((2, len(v)))
    spread[1] = v
    swapped = v.astype(v.dtype.newbyteorder())
    for same in (list(v), tuple(v), spread.T[:, 1], swapped, v[:, None], np.asfortranarray(v)):
        np.testing.assert_array_equal(bound.inverse(0.25, list(q), same, v), expected)
    np.testing.assert_array_equal(eqs.inverse_dynamics(list(q), swapped, list(v), t=0.25), expected)
    np.testing.assert_array_equal(eqs.inverse_dynamics(pliant.State(q, v, 0.25), a=v), expected)
    np.testing.assert_allclose(
        bound.inverse(0, q, v.astype(np.float32), v), bound.inverse(0, q, v, v), rtol=1e-5, atol=1e-4
    )
    v.flags.writeable = False
    np.testing.assert_array_equal(bound.inverse(0.25, q, v, v), expected)


def refusals(eqs: pliant.Equations, q: np.ndarray, v: np.ndarray) -> None:
    """Invalid arguments, with the messages."""
    long = np.zeros(len(q) + 1)
    with pytest.raises(ValueError, match=f"^q has {len(q)} numbers in this model, not {len(q) + 1}$"):
        eqs.binding.forward(0.0, long, v)
    with pytest.raises(ArgumentError, match=rf"^q must have {len(q)} entries in one dimension; it has shape"):
        eqs.forward_dynamics(long, v)
    with pytest.raises(ArgumentError, match=r"^v must have \d+ entries in one dimension; it has shape"):
        eqs.forward_dynamics(q, v[:, None])
    with pytest.raises(ArgumentError, match=r"^v must have \d+ entries in one dimension"):
        eqs.forward_dynamics(q)
    with pytest.raises(ArgumentError, match=r"^a must have \d+ entries in one dimension, not be 'fast'"):
        eqs.inverse_dynamics(q, v, "fast")
    with pytest.raises(ArgumentError, match=r"^v has a number that is not finite at index 0"):
        eqs.energy(q, np.full(len(v), np.nan))
    with pytest.raises(ArgumentError, match="a State has its rates"):
        eqs.forward_dynamics(pliant.State(q, v), v)
    with pytest.raises((TypeError, ValueError)):
        eqs.forward_dynamics(q, v, t="now")  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused_in_words(cart_pole: pliant.Equations) -> None:
    refusals(cart_pole, *state_of(cart_pole))


def test_the_module_refuses_what_would_read_elsewhere(cart_pole: pliant.Equations) -> None:
    bound, (q, v) = cart_pole.binding, state_of(cart_pole)
    call = bound.program.calls
    for wrong in ((bound, 0.0, q), (bound, 0.0, q, v, v), ()):
        with pytest.raises(TypeError, match="takes a binding and 3 arguments"):
            call.forward(*wrong)
    for frames in (np.zeros((1, 2)), np.zeros(2, dtype=np.int32), [[0, 0]], np.zeros((1, 3), dtype=np.int32)):
        with pytest.raises(TypeError, match="frames must be pairs of 32-bit integers"):
            call.frame_poses(bound, q, frames)
    with pytest.raises(AttributeError):
        call.forward(None, 0.0, q, v)
    module = libraries.extension_module()
    for takes, gives, why in (
        ((("mass", 1),), ((1,),), "no evaluation takes 'mass'"),
        ((("q", 1),) * 9, ((1,),), "more arguments"),
        ((("q", 1),), ((1,),) * 9, "more arguments"),
        ((("q", 1),), ((1, 1, 1, 1),), "more arguments"),
    ):
        with pytest.raises(ValueError, match=why):
            module.call(call.caller, 1, takes, gives)


def test_results_are_new_arrays(eqs: pliant.Equations) -> None:
    bound, (q, v) = eqs.binding, state_of(eqs)
    first, kept = dict(everything(bound, q, v)), {}
    for name, found in first.items():
        kept[name] = [x.copy() for x in flat(found)]
        for x in flat(found):
            x.fill(np.nan)
    for name, found in everything(bound, q, v):
        for x, y in zip(flat(found), kept[name], strict=True):
            np.testing.assert_array_equal(x, y)
    matrix, other = bound.mass_matrix(q), bound.mass_matrix(q)
    matrix.data[:], matrix.indices[:] = 0.0, 0
    np.testing.assert_array_equal(bound.mass_matrix(q).toarray(), other.toarray())
    assert other.has_canonical_format
    assert other.has_sorted_indices


# -- workspaces -----------------------------------------------------------------------------------------------------------------


def test_threads_that_have_ended_leave_no_workspace_behind(cart_pole: pliant.Equations) -> None:
    """Numbers of threads are used again; what the last thread had is not."""
    q, v = state_of(cart_pole)
    expected, found = cart_pole.forward_dynamics(q, v)[0], []
    for k in range(50):
        thread = threading.Thread(target=lambda: found.append(cart_pole.forward_dynamics(q, v)[0]))
        thread.start()
        thread.join()
        if k % 3 == 0:
            found.append(cart_pole.at(inputs={"force": 0.0}).forward_dynamics(q, v)[0])
    assert len(found) == 67
    for x in found:
        np.testing.assert_array_equal(x, expected)


def test_large_systems_let_other_threads_run() -> None:
    """Two threads at the same time, in a system of which evaluations do not hold Python's lock."""
    eqs = pliant.derive(pliant.load("net", set={"cells": 8}))
    assert len(eqs.model.system.nodes) >= calls.LARGE
    q, v = state_of(eqs)
    expected = eqs.forward_dynamics(q, v)[0]

    def job(k: int) -> bool:
        return all(np.array_equal(eqs.forward_dynamics(q, v)[0], expected) for _ in range(50))

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(job, range(3)))


def test_a_program_goes_with_its_equations() -> None:
    """Calls and workspaces refer to their program and vice versa: this keeps nothing alive."""
    eqs = pliant.derive(pliant.load("pendulum"))
    q, v = eqs.initial_state()
    eqs.forward_dynamics(q, v)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(eqs.forward_dynamics, q, v).result()
    program = weakref.ref(eqs.binding.program)
    del eqs
    gc.collect()
    assert program() is None


# -- inputs that are held -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ["cart_pole", "stiff_flop", "trunk"])
def test_held_inputs_are_those_of_a_binding_made_anew(robot: str) -> None:
    eqs = pliant.derive(robot)
    values = {name: 0.3 + k for k, name in enumerate(eqs.inputs)}
    there = eqs.at(inputs=values)
    again = eqs._core.bind(values, {})
    assert there.binding.same_values(again)
    assert there.binding.constants is eqs.binding.constants
    assert not np.array_equal(there.binding.held, eqs.binding.held)
    q, v = state_of(eqs)
    np.testing.assert_array_equal(there.forward_dynamics(q, v, t=0.4)[0], again.forward(0.4, q, v)[0])
    assert there.given_inputs == values
    assert eqs.given_inputs == {}
    name = eqs.inputs[0]
    again = there.at(inputs={name: 7.0})
    assert again.given_inputs == {**values, name: 7.0}
    assert again.binding.same_values(eqs._core.bind({**values, name: 7.0}, {}))


def test_an_input_that_is_led_becomes_a_held_one_and_back(cart_pole: pliant.Equations) -> None:
    led = cart_pole.at(inputs={"force": ([0.0, 1.0], [0.0, 4.0])})
    assert led.binding.signals(0.5)[0][0] == pytest.approx(2.0)
    held = led.at(inputs={"force": 3.0})
    assert held.binding.signals(0.5)[0][0] == 3.0
    assert held.binding.same_values(cart_pole.at(inputs={"force": 3.0}).binding)
    assert held.at(inputs={"force": ([0.0, 1.0], [0.0, 4.0])}).binding.signals(0.5)[0][0] == pytest.approx(2.0)


def test_other_parameters_are_kept_with_held_inputs(cart_pole: pliant.Equations) -> None:
    other = cart_pole.at(parameters={"friction": 0.7}).at(inputs={"force": 2.0})
    both = cart_pole.at(parameters={"friction": 0.7}, inputs={"force": 2.0})
    assert other.binding.same_values(both.binding)
    assert other.parameters["friction"] == 0.7


@pytest.mark.parametrize("bad", [np.nan, np.inf, "fast", None, [1.0]])
def test_inputs_of_no_use_are_refused(cart_pole: pliant.Equations, bad: Any) -> None:
    with pytest.raises(ArgumentError, match="force"):
        cart_pole.at(inputs={"force": bad})
    with pytest.raises(ArgumentError, match="unknown input 'forse'"):
        cart_pole.at(inputs={"forse": 1.0})


# -- constraint rows, frames --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ["four_bar", "six_leg"])
def test_row_independence_is_the_ratio_of_pivots(robot: str) -> None:
    eqs = pliant.derive(robot)
    q, v = state_of(eqs)
    bound = eqs.binding
    jacobian = bound.constraints(0.0, q, v)[3].toarray()
    jacobian = jacobian / np.maximum(
        np.abs(jacobian).max(axis=0), 1e-300
    )  # units of coordinates, then of constraints, do not count
    jacobian = jacobian / np.abs(jacobian).max(axis=1)[:, None]
    diagonal = np.abs(np.diag(la.qr(jacobian.T, mode="economic", pivoting=True)[1]))
    found = bound.program.calls.row_independence(bound, 0.0, q, v)[0]
    assert found == pytest.approx(diagonal[-1] / diagonal[0], rel=1e-6)


def test_frames_move_as_their_poses_change(eqs: pliant.Equations) -> None:
    """Velocities and accelerations against differences of poses along a motion, Jacobians against velocities."""
    q, v = state_of(eqs)
    a, h, name = np.full(len(v), 0.4), 1e-4, eqs.frame_names[-1]
    moves = [eqs.binding.increment(q, s * h * v + (s * h) ** 2 / 2 * a) for s in (-1, 1)]
    now, (before, after) = eqs.frame(name, q, v, a), [eqs.frame(name, x) for x in moves]
    np.testing.assert_allclose((after.position - before.position) / (2 * h), now.velocity, atol=1e-6)
    assert now.acceleration is not None
    second = (after.position - 2 * now.position + before.position) / h**2
    np.testing.assert_allclose(second, now.acceleration, atol=2e-5 * (1 + np.abs(now.acceleration).max()))
    turned = (after.rotation - before.rotation) @ now.rotation.T / (2 * h)
    np.testing.assert_allclose(turned[[2, 0, 1], [1, 2, 0]], now.angular_velocity, atol=1e-6)
    rates = eqs.frame_jacobian(name, q) @ v
    np.testing.assert_allclose(rates, np.concatenate([now.velocity, now.angular_velocity]), atol=1e-12)
    node = eqs.model.frames[name].node
    twist = eqs.binding.node_twists(q, v)[node]
    np.testing.assert_allclose(eqs.binding.node_jacobian(q, node) @ v, twist, atol=1e-12)
    assert eqs.frame(name, q).velocity is None
    assert list(eqs.frames(q)) == list(eqs.frame_names)


# -- where the module comes from --------------------------------------------------------------------------------------------------


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a package without compiled code."""
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PLIANT_COMPILE", "background")
    monkeypatch.setattr(libraries, "BINARY_FOLDER", tmp_path / "binary")
    return tmp_path / "cache"


def module_found() -> Any:
    return libraries.extension_module.__wrapped__()


def test_the_module_is_compiled_into_the_cache(fresh: Path) -> None:
    assert module_found().__name__ == "_pliant_calls"
    assert {p.suffix for p in fresh.iterdir()} == {compiling.SUFFIX, ".sum", ".lock"}


@pytest.mark.parametrize("missing", ["python", "numpy"])
def test_without_headers_calls_go_through_ctypes(fresh: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    found = compiling.extension_headers()
    assert len(found) == 2
    left = {name: place for name, place in found.items() if not name.startswith(missing)}
    monkeypatch.setattr(libraries, "extension_headers", lambda: left)
    assert module_found() is ctypes_calls
    assert not fresh.exists()


def test_code_that_is_refused_is_not_tried_again(fresh: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usual, log = find_compiler(), tmp_path / "asked"
    assert usual is not None
    script = tmp_path / "cc"
    script.write_text(f"#!/bin/sh\necho x >> {log}\nexit 1\n", encoding="ascii")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    for _ in range(2):
        assert module_found() is ctypes_calls
    assert log.read_text(encoding="ascii").split() == ["x"]


def test_nothing_is_compiled_where_that_is_not_wanted(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_COMPILE", "never")
    assert module_found() is ctypes_calls
    monkeypatch.setenv("PLIANT_COMPILE", "background")
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiling.importlib.util, "find_spec", lambda name: None)
    assert module_found() is ctypes_calls


@pytest.mark.parametrize("t", [float("nan"), float("inf"), "a", [1.0, 2.0]])
@pytest.mark.parametrize("way", ["extension", "ctypes"])
def test_a_time_is_a_finite_number(t: Any, way: str, request: pytest.FixtureRequest) -> None:
    if way == "ctypes":
        request.getfixturevalue("by_ctypes")
    eqs = pliant.derive("pendulum")
    q, v = eqs.initial_state()
    with pytest.raises(ValueError, match="t must be a finite number, not"):
        eqs.forward_dynamics(q, v, t=t)
    assert np.isfinite(eqs.forward_dynamics(q, v, t=2)[0]).all()
