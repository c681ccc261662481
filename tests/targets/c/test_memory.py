"""Steps of exported C take no memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from c_export import FOUR_BAR, NET, Export, exported, needs_gcc, numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.analysis.derivation.derive import derive
from pliant.engine.tables import build_tables
from pliant.io.c_text import integers
from pliant.io.export_c import factor_bounds, pivoting_bounds
from pliant.robot import load_text

COUNT_MEMORY = """
#include <stdio.h>
#include <stdlib.h>
#include "robot_.h"
static long calls;
void *__real_malloc(size_t), *__real_calloc(size_t, size_t), *__real_realloc(void *, size_t);
void *__wrap_malloc(size_t n) { return ++calls, __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t m) { return ++calls, __real_calloc(n, m); }
void *__wrap_realloc(void *p, size_t n) { return ++calls, __real_realloc(p, n); }
int main(void) {
  robot_robot *robot = robot_new();
  const long creation = calls;
  int bad = 0;
  double q[ROBOT_POSITIONS], v[ROBOT_RATES] = {0}, a[ROBOT_RATES];
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 50; ++i) bad |= robot_step(robot, robot_default_step);
    bad |= robot_set_parameter(robot, 0, 300 + 1e4 * round) | robot_initial_state(robot);
    /* far apart, so that new pivots have to be found */
    for (int i = 0; i < ROBOT_POSITIONS; ++i)
      q[i] = robot_q(robot)[i] + (i < ROBOT_POSITIONS - 1) * 5.0 * ((i * round) % 7);
    bad |= robot_set_state(robot, 0.1 * round, q, v) | robot_forward_dynamics(robot, 0, q, v, a, NULL);
  }
  const long later = calls - creation;
  robot_free(robot);
  printf("%ld %ld %d\\n", creation, later, bad);
  return 0;
}
"""


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize(
    ("text", "method"),
    [(NET, "semi_implicit"), (NET[: NET.index("constraints:")], "generalized_alpha")],
    ids=["constrained", "factors kept with the steps taken"],
)
def test_steps_take_no_memory(text: str, method: str, tmp_path: Path) -> None:
    export = exported(text, tmp_path / "c", method)
    assert not build_tables(export.equations.model.system, export.equations.model.plan).counts["kkt_dense"]
    wrap = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc")]
    program = export.build(export.write(COUNT_MEMORY), *wrap)
    creation, later, bad = numbers(program)[0]
    assert creation > 5
    assert later == 0
    assert bad == 0


# long enough for recursions over the tree
LONG = """
pliant: 1
parameters: {mass: 300 kg}
bodies:
  link: {count: 40, mass: =mass, center_of_mass: [0.05, 0, 0], inertia: {principal: [1, 2, 3]},
         frames: {tip: {position: [0.1, 0, 0]}}}
joints: {hinge: {type: revolute, axis: y, parent: "link[i-1].tip", first_parent: world, child: link, angle: {damper: 5}}}
"""


@needs_gcc
def test_steps_of_long_chains_take_no_memory(tmp_path: Path) -> None:
    """Not even where the assembled matrices have to serve: those are there from the start."""
    export = exported(LONG, tmp_path / "c", "generalized_alpha")
    assert build_tables(export.equations.model.system, export.equations.model.plan).counts["by_tree"]
    wrap = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc")]
    creation, later, bad = numbers(export.build(export.write(COUNT_MEMORY), *wrap))[0]
    assert creation > 5
    assert later == 0
    assert bad == 0


RUN_OUT = """
#include <stdio.h>
#include <stdlib.h>
#include "robot_.h"
static long left, taken;
void *__real_malloc(size_t), *__real_calloc(size_t, size_t), *__real_realloc(void *, size_t), __real_free(void *);
static void *count(void *p) { return taken += p != NULL, p; }
void *__wrap_malloc(size_t n) { return left-- > 0 ? count(__real_malloc(n)) : NULL; }
void *__wrap_calloc(size_t n, size_t m) { return left-- > 0 ? count(__real_calloc(n, m)) : NULL; }
void *__wrap_realloc(void *p, size_t n) {
  if (left-- <= 0) return NULL;
  return p ? __real_realloc(p, n) : count(__real_realloc(p, n));
}
void __wrap_free(void *p) { taken -= p != NULL, __real_free(p); }
int main(void) {
  long leaks = 0;
  for (long n = 0;; ++n) {
    left = n;
    robot_robot *robot = robot_new();
    if (!robot) {
      leaks += taken != 0;
      continue;
    }
    robot_free(robot);
    leaks += taken != 0;
    printf("%ld %ld\\n", n, leaks);
    return 0;
  }
}
"""


@needs_gcc
def test_a_robot_without_memory_is_a_null_pointer_and_nothing_leaks(tmp_path: Path) -> None:
    export = exported(NET[: NET.index("constraints:")], tmp_path / "c", "generalized_alpha")
    wrap = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc", "free")]
    needed, leaks = numbers(export.build(export.write(RUN_OUT), *wrap))[0]
    assert needed > 5
    assert leaks == 0


FACTOR = """
#include <stdio.h>
#include <stdlib.h>
#include "runtime/pliant.h"
static long calls;
void *__real_realloc(void *, size_t);
void *__wrap_realloc(void *p, size_t n) { return ++calls, __real_realloc(p, n); }
@arrays@
int main(void) {
  double values[ENTRIES];
  for (int reserve = 0; reserve < 2; ++reserve) {
    pl_linear *f = pl_linear_new(SIZE, colptr, row, order, 0);
    if (reserve && pl_linear_reserve(f, LOWER, UPPER)) return 1;
    calls = 0;
    srand(1);
    int solved = 0;
    for (int round = 0; round < 200; ++round) {
      /* of very different sizes, so that other rows become pivots every time */
      for (int i = 0; i < ENTRIES; ++i) values[i] = 1.0 / (1 + (rand() % 1000) * (rand() % 1000) * (rand() % 1000));
      /* and many diagonals zero, so that rows have to be exchanged over whole columns */
      for (int j = 0; j < SIZE; ++j)
        for (int i = colptr[j]; i < colptr[j + 1]; ++i)
          if (row[i] == j && rand() % 2) values[i] = 0;
      solved += pl_linear_factor(f, values) == PL_OK;
    }
    printf("%ld %d\\n", calls, solved);
    pl_linear_free(f);
  }
  return 0;
}
"""


@needs_gcc
def test_reserved_room_is_enough_for_any_pivots(flier: Export) -> None:
    size, random = 200, np.random.default_rng(5)
    diagonal = np.eye(size, dtype=bool)
    # first columns that have their only other row far below, where no block reaches
    partners, far = np.roll(diagonal, size // 2, axis=0), np.arange(size) >= size // 2
    pattern = sp.csc_matrix((random.random((size, size)) < 0.1) & np.outer(far, far) | diagonal | partners)
    pattern.sort_indices()
    lower, upper = pivoting_bounds(pattern)
    counts = {"SIZE": size, "ENTRIES": pattern.nnz, "LOWER": lower, "UPPER": upper}
    arrays = [integers("static const int colptr", pattern.indptr), integers("static const int row", pattern.indices)]
    arrays += [integers("static const int order", range(size))]
    text = FACTOR.replace("@arrays@", "\n".join([*(f"#define {k} {v}" for k, v in counts.items()), *arrays]))
    without, reserved = numbers(flier.build(flier.write(text), "-Wl,--wrap=realloc"))
    assert without[0] > 0, "the test needs factors that outgrow the room they start with"
    assert reserved[0] == 0
    assert reserved[1] == without[1] > 100


def test_a_sparse_robot_gets_room_and_a_dense_one_needs_none() -> None:
    for text, dense in ((NET, False), (FOUR_BAR, True)):
        model = derive(load_text(text)).model
        tables = build_tables(model.system, model.plan)
        assert bool(tables.counts["kkt_dense"]) is dense
        assert (factor_bounds(tables) == (0, 0)) is dense


@given(st.integers(2, 12), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_the_bounds_hold_for_any_pivots(size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    pattern = (random.random((size, size)) < 0.25) | np.eye(size, dtype=bool)
    lower, upper = pivoting_bounds(sp.csc_matrix(pattern))
    structure = pattern.copy()
    for k in range(size):
        candidates = k + np.flatnonzero(structure[k:, k])
        if not len(candidates):
            break
        pivot = random.choice(candidates)
        structure[[k, pivot]] = structure[[pivot, k]]
        for i in range(k + 1, size):
            if structure[i, k]:
                structure[i, k + 1 :] |= structure[k, k + 1 :]
    else:
        assert np.tril(structure, -1).sum() <= lower
        assert np.triu(structure, 1).sum() <= upper


def test_the_bounds_are_those_of_a_dense_and_of_a_diagonal_matrix() -> None:
    assert pivoting_bounds(sp.csc_matrix(np.ones((6, 6)))) == (15, 15)
    assert pivoting_bounds(sp.identity(6, format="csc")) == (0, 0)
