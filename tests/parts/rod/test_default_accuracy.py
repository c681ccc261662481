"""The errors of all rod models at their defaults, relative to exact solutions, are those that docs/rod-models.md states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant

PAGE = Path(__file__).parents[3] / "docs" / "rod-models.md"
LENGTH, RADIUS, MODULUS, DENSITY = 0.5, 1e-3, 2e9, 1200.0
AT = 0.4 * LENGTH
BENDING = MODULUS * np.pi * RADIUS**4 / 4
WAVES = np.array([1.875104, 4.694091, 7.854757])
"""Roots of cos(x) cosh(x) = -1: wave numbers of a cantilever times its length."""


def cantilever(model: str, frame: str, force: float) -> pliant.Equations:
    """A slender rod with a small transverse force on one of its frames."""
    return pliant.derive(
        pliant.load_text(
            f"""
pliant: 1
name: cantilever
world: {{gravity: [0, 0, 0]}}
sections: {{wire: {{shape: circle, radius: {RADIUS}}}}}
materials: {{nylon: {{density: {DENSITY}, youngs_modulus: {MODULUS} Pa, poissons_ratio: 0.35}}}}
rods:
  rod: {{length: {LENGTH}, section: wire, material: nylon, frames: {{p: {{at: {AT}}}}}, model: {{kind: {model}}}}}
loads:
  pull: {{frame: {frame}, force: [{force}, 0, 0]}}
"""
        )
    )


def deflection(model: str, frame: str) -> float:
    """Deflection of a frame under a force there, relative to the exact one minus one."""
    a = LENGTH if frame == "rod.tip" else AT
    force = 1e-3 * LENGTH * 3 * BENDING / a**3
    position = pliant.equilibrium(cantilever(model, frame, force)).frames[frame].position
    return float(abs(position[0] / (1e-3 * LENGTH) - 1))


def frequencies(model: str) -> np.ndarray:
    """The first bending frequencies in one plane, relative to the exact ones minus one."""
    found = pliant.modes(cantilever(model, "rod.tip", 0.0), at="initial").frequencies
    exact = WAVES**2 * np.sqrt(BENDING / (DENSITY * np.pi * RADIUS**2 * LENGTH**4)) / (2 * np.pi)
    one_plane = np.sort(found)[: 2 * len(exact) : 2]
    return np.abs(one_plane / exact[: len(one_plane)] - 1)


def rows() -> list[tuple[str, list[str]]]:
    """The table of the page: model and its cells."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("## Accuracy at the defaults")
    lines = [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(row[0].strip("`"), row[1:]) for row in cells]


def percent(value: float) -> str:
    """An error in the words of the page."""
    return "below 0.01 %" if value < 1e-4 else f"{float(f'{100 * value:.2g}'):g} %"


def stated(model: str) -> list[str]:
    """The cells of a model."""
    found = [percent(deflection(model, frame)) for frame in ("rod.tip", "rod.p")]
    modes = [percent(x) for x in frequencies(model)[:3]]
    return [*found, *(modes if model != "pcc" else [modes[0], "-", "-"])]


def test_the_page_has_all_models() -> None:
    assert [model for model, _ in rows()] == [
        "pcs", "gvs", "cosserat", "finite_element", "pseudo_rigid", "polynomial", "timoshenko", "pcc",
    ]  # fmt: skip


@pytest.mark.parametrize(("model", "cells"), rows())
def test_errors_at_the_defaults_are_as_stated(model: str, cells: list[str]) -> None:
    assert stated(model) == cells


def test_the_text_below_the_table_is_right() -> None:
    two = "gvs, elements: 2"
    assert percent(deflection(two, "rod.p")) == "0.32 %"
    assert percent(frequencies(two)[2]) == "0.62 %"
    force = 1e-3 * LENGTH * 3 * BENDING / AT**3
    tip = pliant.equilibrium(cantilever("gvs", "rod.p", force)).frames["rod.tip"].position[0]
    assert tip == pytest.approx(force * AT**2 * (3 * LENGTH - AT) / (6 * BENDING), rel=1e-4)
    for elements in (5, 10):  # with more, shear and rotary inertia matter as much
        expected = (WAVES / elements) ** 2 / 16
        np.testing.assert_allclose(frequencies(f"pcs, elements: {elements}"), expected, rtol=0.15)
