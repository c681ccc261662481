"""The matrix of implicit steps by recursions over the tree, against the assembled matrices K, C, M and J."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

import pliant
from conftest import RandomSystem, Sample
from pliant.engine import tables as table_module
from pliant.engine.layout import ArgumentsStruct
from pliant.engine.libraries import runtime
from pliant.engine.program import Workspace
from pliant.engine.tables import is_solved_by_tree, unknowns_beside
from pliant.robot.rod_switch import with_rod_model

KINDS = ["revolute", "rotation", "prismatic", "free", "rotation_vector", "translation", "revolute", "rotation"]
WEIGHTS = {"alpha": (1.0, 0.013, 2e-4), "rosenbrock": (4e4, 200.0, 1.0), "mass": (1.0, 0.0, 0.0)}


class Step:
    """The functions of step_matrix.c on a workspace whose tables ask for the tree form or for the assembled one."""

    def __init__(self, sample: Sample, *, by_tree: bool) -> None:
        program = sample.binding.program
        program.struct.by_tree = int(by_tree)
        self.sample, self.library = sample, runtime()
        self.work = Workspace(program)
        self.work.bind(sample.binding)
        d, p = ctypes.c_double, ctypes.c_void_p
        self.library.pl_step_linearize.argtypes = [p, d, p, p, p, p]
        self.library.pl_step_matrix.argtypes = [p, d, d, d, p, p]
        self.library.pl_step_mass_matrix.argtypes = [p]
        self.library.pl_step_solve.argtypes = [p, p]
        self.library.pl_step_product.argtypes = [p, p, p, p]
        self.library.pl_step_inertias.argtypes = [p, p]

    @property
    def jacobian(self) -> np.ndarray:
        """Values of the constraint Jacobian."""
        s = self.sample
        return s.binding.program.calls.constraints(s.binding, s.t, s.q, s.v)[-1]

    def linearize(self, v: np.ndarray | None = None) -> None:
        s = self.sample
        arrays = [s.q, s.v if v is None else v, s.a, s.multipliers]
        self.library.pl_step_linearize(self.work.address, s.t, *(x.ctypes.data for x in arrays))

    def evaluate(self, v: np.ndarray) -> None:
        s = self.sample
        self.library.pl_evaluate.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]
        self.library.pl_evaluate(self.work.address, s.t, s.q.ctypes.data, v.ctypes.data)

    def matrix(self, weights: tuple[float, float, float], blocks: np.ndarray, rows: np.ndarray | None) -> int:
        """Status; `used_tree` says whether the recursions did it alone: otherwise there is a second factorization."""
        address, before = None if rows is None else rows.ctypes.data, self._factorizations()
        status = int(self.library.pl_step_matrix(self.work.address, *weights, blocks.ctypes.data, address))
        self.used_tree = self._factorizations() == before + 1
        return status

    def _factorizations(self) -> int:
        return int(self.library.pl_factorizations(ctypes.c_void_p(self.work.address)))

    def solve(self, b: np.ndarray) -> np.ndarray:
        x = b.copy()
        self.library.pl_step_solve(self.work.address, x.ctypes.data)
        return x

    def product(self, a: np.ndarray, v: np.ndarray | None) -> np.ndarray:
        y = np.zeros(len(a))
        self.library.pl_step_product(
            self.work.address, a.ctypes.data, None if v is None else v.ctypes.data, y.ctypes.data
        )
        return y

    def inertias(self) -> np.ndarray:
        out = np.zeros(self.sample.system.v_size)
        self.library.pl_step_inertias(self.work.address, out.ctypes.data)
        return out


def assembled(sample: Sample, weights: tuple[float, float, float], blocks: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """[(cM M + cC C) B + cK K, -J'; L, 0] as a full matrix, from the assembled tangents."""
    s, system = sample, sample.system
    K, C, M, J = (x.toarray() for x in _matrices(sample))
    turn = np.eye(system.v_size)
    for (_, at), block in zip(system.quaternions(), blocks.reshape(-1, 3, 3), strict=True):
        turn[at : at + 3, at : at + 3] += block.T
    H = (weights[0] * M + weights[1] * C) @ turn + weights[2] * K
    L = np.zeros_like(J)
    tables = s.binding.program.tables
    L[tables.jacobian_rows, tables.jacobian_columns] = rows
    return np.block([[H, -J.T], [L, np.zeros((len(J), len(J)))]])


def _matrices(sample: Sample) -> tuple:
    s = sample
    found = s.binding.linearized(s.t, s.q, s.v, s.a, s.multipliers)
    return found.stiffness, found.damping, found.mass, found.jacobian


def draw(random_system: Callable[[int], RandomSystem], seed: int, case: str) -> Sample:
    """A random system of the sort that the tree form takes."""
    made = random_system(seed)
    made.routes = lambda: None
    kinds = [KINDS[k] for k in np.random.default_rng(seed).permutation(len(KINDS))]
    made.joints(kinds, several_nodes="nodes" in case, loose=3 if "constraints" in case else 0)
    if "inertias" in case:
        made.inertias(coupled=False)
    if "forces" in case:
        made.forces()
    if "constraints" in case:
        made.constraints()
    return made.finish()


CASES = ("masses", "nodes", "forces", "inertias", "constraints", "nodes forces inertias constraints")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_both_forms_give_the_same_steps(random_system: Callable[[int], RandomSystem], case: str, seed: int) -> None:
    """Solutions and products are those of the assembled matrices, for all weights, turned columns and other rows than J."""
    sample = draw(random_system, seed, case)
    rng = np.random.default_rng(seed)
    nv, m, nnz = sample.system.v_size, sample.system.rows, len(sample.binding.program.tables.jacobian_rows)
    step = Step(sample, by_tree=True)
    _, C, M, _ = _matrices(sample)
    for weights in WEIGHTS.values():
        step.linearize()
        blocks = 0.2 * rng.normal(size=9 * len(sample.system.quaternions()))
        rows = step.jacobian + 0.1 * rng.normal(size=nnz)
        assert step.matrix(weights, blocks, rows) == 0
        assert step.used_tree
        y, multipliers = rng.normal(size=nv), weights[0] * rng.normal(size=m)
        expected = np.concatenate([y, multipliers])
        found = step.solve(assembled(sample, weights, blocks, rows) @ expected)
        assert np.linalg.norm(found[:nv] - y) < 1e-9 * np.linalg.norm(y)
        assert np.linalg.norm(found[nv:] - multipliers) <= 1e-9 * np.linalg.norm(multipliers)
        a, v = rng.normal(size=nv), rng.normal(size=nv)
        # an evaluation of another state in between, as in the stages of a step, leaves the products as they are
        step.evaluate(2 * sample.v)
        np.testing.assert_allclose(step.product(a, v), M @ a + C @ v, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(step.product(a, None), M @ a, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(step.inertias(), M.diagonal(), rtol=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_the_mass_matrix_alone(random_system: Callable[[int], RandomSystem], case: str) -> None:
    """[M, -J'; J, 0] gives the accelerations that the assembled form gives, also after tangents that are no numbers."""
    sample = draw(random_system, 3, case)
    for first in (sample.v, np.full_like(sample.v, np.nan)):
        step = Step(sample, by_tree=True)
        step.linearize(first)
        a, found = np.zeros(sample.system.v_size), np.zeros(sample.system.rows)
        where = ArgumentsStruct(t=sample.t, q=sample.q.ctypes.data, v=sample.v.ctypes.data)
        out = (ctypes.c_void_p * 2)(a.ctypes.data, found.ctypes.data)
        status = step.library.pl_call_forward(ctypes.c_void_p(step.work.address), ctypes.byref(where), out)
        expected, multipliers = sample.oracle.forward(sample.t, sample.q, sample.v)
        assert status == 0
        np.testing.assert_allclose(a, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        np.testing.assert_allclose(found, multipliers, rtol=1e-9, atol=1e-9 * np.abs([1, *multipliers]).max())


# without its constraint the last body could turn freely, and has no inertia against that
HELD = """
pliant: 1
bodies:
  link: {mass: 1, center_of_mass: [0.5, 0, 0], inertia: {principal: [0.01, 0.1, 0.1]}, frames: {tip: {position: [1, 0, 0]}}}
  ghost: {frames: {tip: {position: [1, 0, 0]}}}
joints:
  hinge: {type: revolute, axis: y, child: link, angle: {initial: 0.4}}
  second: {type: revolute, axis: y, parent: link.tip, child: ghost, angle: {initial: 0.3}}
constraints:
  guide: {between: [world, ghost.tip], components: [z], expressed_in: world, holds: as at start}
"""


def test_the_assembled_form_serves_where_a_pivot_is_not_sound() -> None:
    """A coordinate that moves no mass is held by a constraint: no pivot in the tree's order, but the matrix is regular."""
    eqs = pliant.derive(pliant.load_text(HELD))
    q, v = eqs.initial_state()
    binding = eqs.binding
    sample = Sample(eqs.model.system, None, binding, None, 0.0, q, v, np.zeros(2), np.zeros(1))  # type: ignore[arg-type]
    step = Step(sample, by_tree=True)
    step.linearize()
    rows = step.jacobian.copy()
    assert step.matrix((1.0, 0.01, 1e-4), np.zeros(0), rows) == 0
    assert not step.used_tree
    expected = np.array([0.3, -0.2, 0.5])
    found = step.solve(assembled(sample, (1.0, 0.01, 1e-4), np.zeros(0), rows) @ expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


RUNS = {
    "ball joints with a loop": ("chain", "spherical"),
    "hinges": ("chain", "revolute"),
    "pcs": ("rod", "pcs:5"),
    "srl": ("rod", "srl:6"),
    "pcc": ("rod", "pcc:5"),
    "gvs": ("rod", "gvs:2"),
}
CHAIN = """
pliant: 1
bodies:
  link:
    count: 6
    mass: 1
    center_of_mass: [0.1, 0, 0]
    inertia: {principal: [0.01, 0.02, 0.02]}
    frames: {tip: {position: [0.2, 0, 0]}}
joints:
  hinge: {type: JOINT, parent: "link[i-1].tip", child: link, first_parent: world}
links: {cord: {type: axial, between: ["link[2].tip", "link[5].tip"], spring: {coefficient: 30, rest: 0.5}, damper: 0.5}}
constraints: {end: {between: [world, "link[6].tip"], components: [x, z], expressed_in: world, holds: as at start}}
"""


@pytest.mark.parametrize("method", [pliant.Rosenbrock, pliant.GeneralizedAlpha])
@pytest.mark.parametrize("name", RUNS)
def test_whole_runs_are_the_same(name: str, method: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """With chosen steps and with given ones, and the tree form is what ran."""
    sort, kind = RUNS[name]
    if sort == "rod":
        robot = with_rod_model(pliant.load("cantilever", set={"gravity": 9.81}), "rod", kind)
    else:
        robot = pliant.load_text(CHAIN.replace("JOINT", f"{kind}, axis: y" if kind == "revolute" else kind))
    runs = []
    for limit in (0.0, np.inf):
        monkeypatch.setattr(table_module, "TREE", table_module.TreeChoice(limit, most_beside=10.0))
        eqs = pliant.derive(robot)
        assert eqs.binding.program.tables.counts["by_tree"] == (limit == 0)
        runs.append([pliant.simulate(eqs, 0.05, method=m, save_every=0.01).q for m in (method(step=2e-3), method())])
    for one, other in zip(*runs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9 * np.abs(other).max())


def test_rule() -> None:
    """Long chains are solved by recursions; short ones, meshes, and chains with lines through them are not."""

    def by_tree(robot: pliant.RobotSpec) -> bool:
        return is_solved_by_tree(pliant.derive(robot).model.system)

    rod = pliant.load("cantilever")
    assert by_tree(with_rod_model(rod, "rod", "pcs:40"))
    assert by_tree(with_rod_model(rod, "rod", "srl:40"))
    assert not by_tree(with_rod_model(rod, "rod", "pcs:2"))
    assert not by_tree(with_rod_model(rod, "rod", "fe:40"))
    assert not by_tree(pliant.load("spider_web"))


def test_unknowns_beside_the_coordinates() -> None:
    """Two rows of the constraint, and six for each frame of the cord between two moving bodies."""
    system = pliant.derive(pliant.load_text(CHAIN.replace("JOINT", "spherical"))).model.system
    assert unknowns_beside(system) == 2 + 12
