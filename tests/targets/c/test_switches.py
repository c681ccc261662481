"""Exports warn about switching times that exported code does not locate."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import pliant
from pliant.targets.c import export_c


@pytest.mark.parametrize(
    ("force", "remark"), [("if(t < 0.3 s, 1 N, 0 N)", False), ("if(sin(9*t/1 s) > 0, 1 N, 0 N)", True)]
)
def test_conditions_that_are_not_linear_in_t_have_a_warning(force: str, remark: bool, tmp_path: Path) -> None:
    text = f"""
pliant: 1
bodies: {{cart: {{mass: 1 kg}}}}
joints: {{rail: {{type: prismatic, child: cart, axis: x, displacement: {{damper: 1 N*s/m, input: "={force}"}}}}}}
"""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        export_c(pliant.derive(pliant.load_text(text)), tmp_path / "cart")
    assert any("not linear in t" in str(x.message) for x in said) == remark
    assert ("not linear in t" in (tmp_path / "cart" / "README.txt").read_text().replace("\n", " ")) == remark
