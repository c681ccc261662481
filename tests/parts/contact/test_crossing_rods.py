"""Rods that cross touch wherever they do: between their nodes, at them, and on the outer side of a bend."""

import numpy as np
import pytest

import pliant

TEXT = """
pliant: 1
parameters: {across: 0, height: 0}
materials:
  rubber: {density: 1100, youngs_modulus: 1e6, poissons_ratio: 0.45}
sections:
  wire: {shape: circle, radius: 5 mm}
rods:
  lower: {rotation: {axis: y, angle: 90 deg}, length: 0.2, section: wire, material: rubber, rest: [0, 0, 0, 0, BEND, 0],
    model: {kind: finite_element, elements: 10}}
  upper: {position: ["=across", -0.1, "=height"], rotation: {axis: x, angle: -90 deg}, length: 0.2, section: wire, material: rubber,
    model: {kind: finite_element, elements: 10}}
contacts:
  touch: {between: [lower, upper], stiffness: 1 kN/m}
"""
DEPTH = 1e-3


@pytest.mark.parametrize("bend", [0.0, 4.0])
def test_crossing_rods_touch_at_nodes_and_between_them(bend: float) -> None:
    eqs = pliant.derive(pliant.load_text(TEXT.replace("BEND", str(bend))))
    nodes = np.linspace(0, 0.2, 11)
    for s in np.concatenate([nodes[1:-1], 0.1 + np.linspace(-2e-3, 2e-3, 21), np.linspace(0.011, 0.189, 15)]):
        # the lower rod is an arc that bends down; between its nodes it is straight
        x, z = (np.sin(bend * s) / bend, (np.cos(bend * s) - 1) / bend) if bend else (s, 0.0)
        here = eqs.at(parameters={"across": float(x), "height": float(z + 0.01 * np.cos(bend * s) - DEPTH)})
        found = here.contacts(*here.initial_state())
        depth = -found.gap.min() if len(found) else 0.0
        assert depth > 0.7 * DEPTH, f"crossing at {s}: a depth of {depth}"
        force = np.linalg.norm(np.asarray(found.force).sum(axis=0))
        assert force > 0.99 * 1e3 * depth
