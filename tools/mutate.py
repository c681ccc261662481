"""Mutation testing: does a test fail when the code is changed?

    python tools/mutate.py src/pliant/parts/geometry/so3.py
    python tools/mutate.py src/pliant/engine/runtime/rosenbrock.c --tests tests/analysis/integrators/test_methods.py --most 20

Changes one operator or number of a file at a time, in a copy of the sources, and runs the tests that mirror its folder. Changes
that no test detects are listed: a test is missing, or the change has no effect (examine each). Kernels are interpreted and the
runtime is compiled without optimization, so that a mutant takes seconds.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
WAITING = 15.0
"""Maximum wall time, in multiples of the processor time: the machine may be busy."""

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.MatMult: "*", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=",
    ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.And: "or", ast.Or: "and",
}  # fmt: skip
"""Replacements of operators."""


@dataclass(frozen=True)
class Mutation:
    """A replacement of one piece of a source."""

    start: int
    end: int
    text: str

    def of(self, source: str) -> str:
        """The source with the change."""
        return source[: self.start] + self.text + source[self.end :]

    def line(self, source: str) -> int:
        """The line that is changed, counted from 1."""
        return source.count("\n", 0, self.start) + 1

    def shown(self, source: str) -> str:
        """The line that is changed, before and after."""
        first, last = source.rfind("\n", 0, self.start) + 1, source.find("\n", self.end)
        line, number = source[first : last if last > 0 else None], self.line(source)
        changed = line[: self.start - first] + self.text + line[self.end - first :]
        return f"{number}:\n  - {line.strip()}\n  + {changed.strip()}"


def python_mutations(source: str) -> Iterator[Mutation]:
    """One operator, sign or number of Python code at a time; strings and annotations are not changed."""
    lines = source.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def between(left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[Mutation]:
        begin, end = place(left.end_lineno or 1, left.end_col_offset or 0), place(right.lineno, right.col_offset)
        if type(operator) in OPERATORS and (match := re.search(r"[^\s()]+", source[begin:end])):
            yield Mutation(begin + match.start(), begin + match.end(), OPERATORS[type(operator)])

    for node in ast.walk(ast.parse(source)):
        for left, operator, right in _operations(node):
            yield from between(left, right, operator)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            begin = place(node.lineno, node.col_offset)
            yield Mutation(begin, place(node.operand.lineno, node.operand.col_offset), "")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            other = repr(node.value + 1 if isinstance(node.value, int) else 2 * node.value + (node.value == 0))
            yield Mutation(
                place(node.lineno, node.col_offset), place(node.end_lineno or 1, node.end_col_offset or 0), other
            )


def _operations(node: ast.AST) -> list[tuple[ast.expr, ast.AST, ast.expr]]:
    """The operators of an expression that stand between two operands, with these."""
    if isinstance(node, ast.BinOp):
        return [(node.left, node.op, node.right)]
    if isinstance(node, ast.BoolOp):
        return [(left, node.op, right) for left, right in pairwise(node.values)]
    if isinstance(node, ast.Compare):
        return list(zip([node.left, *node.comparators[:-1]], node.ops, node.comparators, strict=True))
    return []


C_OPERATORS = {
    " + ": " - ", " - ": " + ", " * ": " / ", " += ": " -= ", " -= ": " += ", " < ": " <= ", " <= ": " < ", " > ": " >= ",
    " >= ": " > ", " == ": " != ", " != ": " == ", " && ": " || ", " || ": " && ",
}  # fmt: skip
_C_PIECE = re.compile(
    r"(?P<skip>/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|^\s*#[^\n]*)|(?P<operator>"
    + "|".join(re.escape(x) for x in sorted(C_OPERATORS, key=len, reverse=True))
    + r")|(?<![\w.])(?P<number>\d+(?:\.\d+)?)(?![\w.])|(?<=[=(,] )(?P<sign>-)(?=\w)",
    re.DOTALL | re.MULTILINE,
)


def c_mutations(source: str) -> Iterator[Mutation]:
    """One operator, sign or number of C code at a time."""
    for found in _C_PIECE.finditer(source):
        text = found.group()
        if found["operator"]:
            yield Mutation(found.start(), found.end(), C_OPERATORS[text])
        elif found["number"]:
            yield Mutation(
                found.start(), found.end(), f"{2 * float(text) or 1.0}" if "." in text else str(int(text) + 1)
            )
        elif found["sign"]:
            yield Mutation(found.start(), found.end(), "")


def mirrored(file: Path) -> list[str]:
    """The tests of a source's folder."""
    folder = ROOT / "tests" / file.resolve().relative_to(ROOT / "src" / "pliant").parent
    while not folder.is_dir():
        folder = folder.parent
    return [str(folder)]


def is_noticed(copy: Path, tests: list[str], limit: float) -> str:
    """Run tests on the copy of the sources in a separate process: "killed", "survived" or "timeout"."""
    child = os.fork()
    if child == 0:
        os.setsid()  # processes started by tests end with them
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        sys.path[:0] = [str(copy)]
        os.environ["PYTHONPATH"] = os.pathsep.join([str(copy), str(ROOT / "tools")])
        os.environ["PLIANT_COMPILE"] = "never"
        code = 1
        try:
            import pytest

            code = int(
                pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(ROOT), *tests])
            )
        finally:
            os._exit(code)
    end = time.monotonic() + WAITING * limit
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            return "survived" if code == 0 else "timeout" if code == -signal.SIGXCPU else "killed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def main() -> int:
    """Run the command line: 1 if a mutant survives."""
    parser = argparse.ArgumentParser(description="Change code, and see whether a test fails.")
    parser.add_argument("file", type=Path, help="a source of the package, .py or .c")
    parser.add_argument("--tests", nargs="+", help="tests to run; else those of the same folder")
    parser.add_argument("--most", type=int, default=50, help="so many mutants at most, by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0, help="of the processor that tests may take")
    parser.add_argument("--lines", help="FIRST-LAST: lines to change")
    given = parser.parse_args()
    source = given.file.read_text(encoding="utf-8")
    mutations: Callable[[str], Iterator[Mutation]] = python_mutations if given.file.suffix == ".py" else c_mutations
    first, _, last = (given.lines or "").partition("-")
    possible = [
        x for x in mutations(source)
        if not first or int(first) <= x.line(source) <= int(last or first)
    ]  # fmt: skip
    random.Random(given.seed).shuffle(possible)
    tests = given.tests or mirrored(given.file)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__", "kernels"))
        compiling = copy / "pliant" / "engine" / "compiling.py"
        if given.file.suffix != ".py":
            compiling.write_text(compiling.read_text(encoding="utf-8").replace('"-O3"', '"-O0"', 1), encoding="utf-8")
        changed = copy / given.file.resolve().relative_to(ROOT / "src")
        if (sound := is_noticed(copy, tests, given.seconds)) != "survived":
            print(f"the tests do not pass without any change ({sound}): {' '.join(tests)}")
            return 2
        counts = {"killed": 0, "survived": 0, "timeout": 0}
        for mutation in possible[: given.most]:
            changed.write_text(mutation.of(source), encoding="utf-8")
            verdict = is_noticed(copy, tests, given.seconds)
            counts[verdict] += 1
            if verdict != "killed":
                print(f"{verdict}: {given.file}:{mutation.shown(source)}", flush=True)
    print(f"{given.file}: {len(possible)} mutations; " + ", ".join(f"{n} {word}" for word, n in counts.items()))
    return int(counts["survived"] > 0)


if __name__ == "__main__":
    for name in ("casadi", "scipy", "pydantic", "pytest", "hypothesis"):
        __import__(name)  # once for all mutants
    sys.exit(main())
