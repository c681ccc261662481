"""Every example runs, and asserts the number it is about."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
NEEDED = {"inverse_problem_jax": "jax", "inverse_problem_torch": "torch"}
"""Packages that are extras, by example; without them it is skipped."""


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, monkeypatch):
    monkeypatch.setenv("PLIANT_COMPILE", "wait")  # they run long enough for optimized kernels to pay
    assert "assert " in path.read_text(), "an example checks its result"
    if path.stem in NEEDED:
        pytest.importorskip(
            NEEDED[path.stem], reason=f"needs {NEEDED[path.stem]}: pip install 'pliant[{NEEDED[path.stem]}]'"
        )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert isinstance(module.main(), float)
