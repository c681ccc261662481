"""Meshes with more and more cells: shapes at rest and energies converge, to exact solutions where there are some."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

import pliant
from pliant.robot import load_text
from pliant.validation.statics import elastic_catenary

WIDTH, DENSITY = 0.03, 1000.0


def hanging(kind: str, nodes: np.ndarray, modulus: float, thickness: float) -> np.ndarray:
    """Places (x, z) of the nodes of a strip at rest between its ends, which are held."""
    edges = [[k, k + 1] for k in range(1, len(nodes))]
    text = f"""
pliant: 1
sections: {{strip: {{shape: rectangle, width: {WIDTH}, height: {thickness}}}}}
materials: {{rubber: {{youngs_modulus: {modulus}, poissons_ratio: 0.3, density: {DENSITY}}}}}
meshes:
  strip: {{type: {kind}, drawing: {{nodes: {nodes.tolist()}, edges: {edges}}}, section: strip, material: rubber}}
"""
    rest = pliant.equilibrium(pliant.derive(load_text(text)))
    assert rest.remarks == ()
    return np.array([rest.frames[f"strip.n{k + 1}"].position[[0, 2]] for k in range(len(nodes))])


def slack(cells: int) -> np.ndarray:
    """Links of a strip of one metre over a span of 0.7 m, drawn as an arc upwards, from which it falls through."""
    angles = np.linspace(-1, 1, cells)
    scale = brentq(lambda a: np.cos(a * angles).mean() - 0.7, 1e-3, 3.0)
    steps = np.column_stack([np.cos(scale * angles), 0 * angles, np.sin(scale * angles)]) / cells
    return np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])


def taut(cells: int) -> np.ndarray:
    """A straight strip of one metre."""
    return np.column_stack([np.linspace(0, 1, cells + 1), np.zeros((cells + 1, 2))])


@pytest.mark.parametrize("kind", ["shell", "membrane"])
@pytest.mark.parametrize(("drawn", "span", "modulus", "thickness"), [(slack, 0.7, 5e6, 2e-4), (taut, 1.0, 2e4, 1e-3)])
def test_a_strip_between_two_clamps_converges_to_the_elastic_catenary(kind, drawn, span, modulus, thickness):
    area = WIDTH * thickness
    errors = []
    for cells in (4, 8, 16):
        found = hanging(kind, drawn(cells), modulus, thickness)
        exact = elastic_catenary(np.linspace(0, 1, cells + 1), DENSITY * area * 9.81, modulus * area, 1.0, span)
        errors.append(np.abs(found - exact.T).max() / np.abs(exact[1]).max())
    assert errors[1] < 0.01
    assert errors[0] / errors[1] > 3.3
    assert errors[1] / errors[2] > 3.3


HELD = {
    "one side": "{a: world}",
    "two sides": "{a: world, b: world}",
    "four sides": "{a: world, b: world, c: world, d: world}",
}


@pytest.mark.parametrize("held", HELD)
def test_a_heavy_sheet_converges(held):
    """The same sheet as a grid of n x n strips: the place of a node, the energy, and strains that its weight explains."""
    places, energies = [], []
    for cells in (2, 4, 8):
        text = f"""
pliant: 1
sections: {{strip: {{shape: rectangle, width: {0.3 / cells}, height: 3 mm}}}}
materials: {{felt: {{youngs_modulus: 500 kPa, poissons_ratio: 0.3}}}}
meshes:
  sheet:
    type: shell
    drawing: {{rectangle: [30 cm, 30 cm], cells: [{cells}, {cells}]}}
    sets:
      {{a: {{plane: x}}, b: {{plane: x, through: [0.3, 0, 0]}}, c: {{plane: y}}, d: {{plane: y, through: [0, 0.3, 0]}},
       mark: {{nearest: [[{"0.3" if held == "one side" else "0.15"}, 0.15, 0]]}}}}
    held: {HELD[held]}
    section: strip
    material: felt
    mass: {0.081 * (cells + 1) / cells}
outputs:
  place: {{frame: sheet.mark}}
  energy: {{energy: elastic, part: sheet}}
  strain: {{mesh: sheet, edge: [1, {cells + 2}], quantity: strain}}
  strain_inside: {{mesh: sheet, edge: [{cells + 2}, {cells + 3}], quantity: strain}}
"""
        if held == "four sides":  # its first edge is between two nodes on the world
            text = text.replace(f"edge: [1, {cells + 2}]", f"edge: [2, {cells + 3}]")
        elif held in ("one side", "two sides"):
            text = text.replace(f"edge: [1, {cells + 2}]", "edge: [1, 2]")
        rest = pliant.equilibrium(pliant.derive(load_text(text)))
        assert (rest.status, rest.stable, rest.remarks) == ("converged", True, ())
        assert np.abs([rest.outputs["strain"], rest.outputs["strain_inside"]]).max() < 0.01
        places.append(np.array(rest.outputs["place"]))
        energies.append(rest.outputs["energy"])
    steps = [np.linalg.norm(b - a) for a, b in pairwise(places)]
    assert steps[1] < 0.55 * max(steps[0], 1e-3)
    assert energies[2] == pytest.approx(energies[1], rel=0.15)


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_a_hanging_block_is_as_long_as_its_bars(cells):
    """Bars along the block carry its weight: w L / (2 EA), up to the bending by masses that are not centred at their nodes."""
    text = f"""
pliant: 1
sections: {{bar: {{shape: rectangle, width: {0.1 / (cells + 1)}, height: {0.1 / (cells + 1)}}}}}
materials: {{gel: {{youngs_modulus: 20 kPa, poissons_ratio: 0.4}}}}
meshes:
  block:
    type: shell
    drawing: {{block: [10 cm, 10 cm, 20 cm], cells: [{cells}, {cells}, {2 * cells}]}}
    sets: {{top: {{plane: z, through: [0, 0, 20 cm]}}, bottom: {{plane: z}}}}
    held: {{top: world}}
    section: bar
    material: gel
    node_mass: {2.0 / (cells + 1) ** 2 / (2 * cells)}
"""
    rest = pliant.equilibrium(pliant.derive(load_text(text)))
    layers = 2 * cells
    tension = np.arange(1, layers + 1) / layers * 2.0 * 9.81  # below the top there are as many layers of nodes as cells
    longer = (tension * 0.2 / layers / (20e3 * 0.01)).sum()
    for k in range(1, (cells + 1) ** 2 + 1):
        assert rest.frames[f"block.bottom_{k}"].position[2] == pytest.approx(-longer, rel=0.03)
