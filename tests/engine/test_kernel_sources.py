"""Fingerprints: equal for equal formulas, in every process; different when anything differs; none where that is not certain."""

import math
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial
from typing import Any

import casadi as ca
import numpy as np
import pytest

from pliant.engine import libraries as module
from pliant.engine.libraries import fingerprint
from pliant.parts.formula.relative import RelativeForce, relative_force
from pliant.parts.joint.coordinate import ORIENTATION_FORCE
from pliant.parts.motion import SCREW, Fields


def ours(text: str, **names: Any) -> Any:
    """What the text evaluates to, as if it stood in a module of this package."""
    scope = {"__name__": "pliant.parts.formula.made", **names}
    exec(f"def make({', '.join(names)}):\n    return {text}", scope)
    return scope["make"](**names)


DIFFERENT = [
    *(1, 1.0, True, "1", b"1", None, (1, 2), (2, 1), [1, 2], ((1,), 2), {"a": 1}, {"a": 2}, -0.0, 0.0, float("nan")),
    *(
        np.zeros(3),
        np.zeros((1, 3)),
        np.zeros(3, dtype=int),
        np.float64(1.0),
        ca.DM([1.0, 0.0]),
        ca.DM(2, 1),
        ca.DM(1, 2),
    ),
    *(ours("lambda x: x + 1"), ours("lambda x: x - 1"), ours("lambda x: x + 2"), ours("lambda x, y=1: x + 1")),
    *(ours("lambda x: x + a", a=1), ours("lambda x: x + a", a=2), ours("lambda x: lambda: x + 1")),
    *(ours("lambda x: x.real"), ours("lambda x: x.imag"), ours("lambda x: x in {1, 2}"), ours("lambda x: x in {1, 3}")),
    *(partial(ours("lambda x, y: x"), 1), partial(ours("lambda x, y: x"), 2), partial(ours("lambda x, y: x"), y=1)),
    *(SCREW, replace(SCREW, name="other"), replace(SCREW, constants=7), replace(SCREW, subspace=None)),
    *(Fields("a", "b:3"), Fields("b:3", "a"), ORIENTATION_FORCE, math.sin, math.cos, ca.sin),
]


def test_different_formulas_have_different_fingerprints() -> None:
    found = [fingerprint(x) for x in DIFFERENT]
    assert None not in found
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ours("lambda x: x + a", a=(1, np.ones(2))),
        lambda: cache(partial(ours("lambda x, y: x"), 1)),
        lambda: Fields("a", "b:3"),
        lambda: relative_force("r", constants=25, signals=0, deformation=SCREW.pose, law=SCREW.rate_matrix),
    ],
)
def test_formulas_that_are_made_alike_have_one_fingerprint(make: Any) -> None:
    first = fingerprint(make())
    assert first is not None
    assert fingerprint(make()) == first


def test_what_a_formula_calls_makes_a_difference() -> None:
    def force(options: int) -> RelativeForce:
        deformation = ours("lambda p, alpha, c: p * options", options=options)
        return relative_force("r", constants=25, signals=0, deformation=deformation, law=SCREW.rate_matrix)

    assert fingerprint(force(1)) == fingerprint(force(1)) != fingerprint(force(2))


def foreign(x: Any) -> Any:
    """A function of another package, whose source may change."""
    return x


class Unusual:
    """An object of another package."""


@pytest.mark.parametrize(
    "formula",
    [
        *(foreign, lambda x: x, Unusual(), Unusual, partial(foreign, 1), ours("lambda: f", f=foreign), ca.SX.sym("x")),
        ours("(f := (lambda: f))"),
        *(ca.Function("f", [ca.SX.sym("x")], [1]), replace(SCREW, pose=foreign), np.array([foreign]), {1: foreign}),
    ],
    ids=lambda formula: type(formula).__name__,
)
def test_what_is_not_ours_has_none(formula: Any) -> None:
    assert fingerprint(formula) is None


def test_other_sources_give_other_fingerprints(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    before = fingerprint(SCREW)
    (tmp_path / "parts").mkdir()
    found = []
    for text in ("x = 1", "x = 2"):
        (tmp_path / "parts" / "made.py").write_text(text)
        monkeypatch.setattr(module, "PACKAGE", tmp_path)
        module.formula_sources.cache_clear()
        found.append(fingerprint(SCREW))
    (tmp_path / "parts" / "made.py").unlink()
    module.formula_sources.cache_clear()
    assert fingerprint(SCREW) is None  # the formulas cannot be identified
    monkeypatch.undo()
    module.formula_sources.cache_clear()
    assert len({before, *found}) == 3
    assert fingerprint(SCREW) == before


def test_another_process_finds_the_same() -> None:
    code = (
        "from pliant.engine.libraries import fingerprint; from pliant.parts.rod.finite_element import DRAG, ELEMENT\n"
    )
    code += "print(fingerprint(DRAG), fingerprint(ELEMENT))"
    found = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(found) == 1
    assert b"None" not in found.pop()
