"""Every allocation of the runtime may fail: this is reported without a crash, and existing objects still work.

Runs in a separate process, with a runtime whose n-th allocation fails, for all n.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.numerics.status import AnalysisFailed
from pliant.analysis.simulate import simulate
from pliant.engine import compiling, libraries
from pliant.engine.compiling import Source
from pliant.engine.program import EvaluationError
from pliant.robot.reader import load

HEADER = """
#include <stdlib.h>
#define HERE const char *file, int line
void *pl_test_malloc(size_t n, HERE), *pl_test_calloc(size_t n, size_t m, HERE), *pl_test_realloc(void *p, size_t n, HERE);
#define malloc(n) pl_test_malloc(n, __FILE__, __LINE__)
#define calloc(n, m) pl_test_calloc(n, m, __FILE__, __LINE__)
#define realloc(p, n) pl_test_realloc(p, n, __FILE__, __LINE__)
"""
ALLOCATIONS = """
#include <stdio.h>
#undef malloc
#undef calloc
#undef realloc
static long left = -1;
static char failed[200];
void pl_fail_after(long n) { left = n, failed[0] = 0; }
const char *pl_failed(void) { return failed; }
static int fails(HERE) { return left >= 0 && left-- == 0 && snprintf(failed, sizeof failed, "%s:%d", file, line); }
void *pl_test_malloc(size_t n, HERE) { return fails(file, line) ? NULL : malloc(n); }
void *pl_test_calloc(size_t n, size_t m, HERE) { return fails(file, line) ? NULL : calloc(n, m); }
void *pl_test_realloc(void *p, size_t n, HERE) { return fails(file, line) ? NULL : realloc(p, n); }
"""


def failing(source: Source) -> Source:
    """The runtime with allocations that fail on request, compiled quickly."""
    files = {**source.files, "failing.h": HEADER, "allocations.c": ALLOCATIONS}
    flags = [*(flag for flag in source.flags if flag != "-O3"), "-O0", "-include", "failing.h"]
    return Source(source.name, files, [*source.main, "allocations.c"], flags, source.level)


def in_new_thread(work: Any) -> tuple[Any, str]:
    """The result of an operation, or the reported failure; in a separate workspace, as every thread has."""
    found: list[Any] = [None, ""]

    def run() -> None:
        try:
            found[0] = work()
        except (EvaluationError, AnalysisFailed, MemoryError) as error:
            found[1] = str(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0], found[1]


def try_all(name: str) -> dict[str, int]:
    """Let the n-th allocation fail, for all n; returns their number, and the number of reported failures."""
    made = compiling.runtime_source
    libraries.runtime_source = lambda *given: failing(made(*given))
    runtime = libraries.runtime_library()
    runtime.pl_failed.restype = ctypes.c_char_p
    eqs = derive(load(name))

    def work() -> list[Any]:
        rest = equilibrium(eqs, on_failure="return")
        run = simulate(eqs, 0.02)
        return [rest.message, rest.q, run.message, run.q]

    wanted, said = in_new_thread(work)
    assert wanted is not None, said
    n = told = 0
    while True:
        runtime.pl_fail_after(n)
        found, said = in_new_thread(work)
        failed = runtime.pl_failed().decode()
        runtime.pl_fail_after(-1)
        if not failed:  # and earlier failures have no effect
            assert all(np.array_equal(x, y) for x, y in zip(found, wanted, strict=True)), said
            return {"allocations": n, "said": told}
        messages = [said] if found is None else [found[0], found[2]]
        if any("memory" in message for message in messages):
            told += 1
        else:  # it was not needed after all
            assert all(np.array_equal(x, y) for x, y in zip(found, wanted, strict=True)), f"{failed} ({n}): {messages}"
        n += 1 + n // 20


@pytest.mark.slow
@pytest.mark.skipif(libraries.find_compiler() is None or sys.platform == "win32", reason="needs a C compiler")
@pytest.mark.parametrize("name", ["four_bar", "hopper"])
def test_every_allocation_may_fail(name: str) -> None:
    done = subprocess.run([sys.executable, str(Path(__file__)), name], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["allocations"] >= told["said"] > 3


if __name__ == "__main__":
    print(json.dumps(try_all(sys.argv[1])))
