"""Stiffness and damping of contacts are the derivatives of their forces: by finite differences, for all shapes and laws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pliant
from pliant.engine.contacts import contacts_at

HEAD = """
pliant: 1
bodies:
  a: {{mass: 1 kg, shape: {{type: {a}}}}}
  b: {{mass: 1 kg, shape: {{type: {b}}}}}
joints:
  fa: {{type: free, child: a, z: {{initial: 9 cm}}}}
  fb: {{type: free, child: b, x: {{initial: {x}}}, z: {{initial: {z}}}}}
"""
LAW = "friction: {{along: {friction}, across: {across}}}, stiffness: 20000, exponent: {exponent}, dissipation: 0.5 s/m"
BALLS = (
    HEAD.format(a="sphere, radius: 10 cm", b="sphere, radius: 5 cm", x="3 cm", z="23 cm")
    + """
surfaces: {floor: {type: plane, normal: [0.1, 0.2, 1]}}
contacts: {touch: {between: all, LAW}}
"""
)
CAPSULES = """
surfaces:
  ca: {type: capsule, parent: a, axis: x, radius: 3 cm, length: 20 cm}
  cb: {type: capsule, parent: b, axis: AXIS, radius: 2 cm, length: 15 cm}
contacts: {touch: {between: [ca, cb], LAW}}
"""
BOXES = HEAD.format(a="box, size: [20 cm, 10 cm, 6 cm]", b="box, size: [10 cm, 20 cm, 4 cm]", x="1 cm", z="13.9 cm") + (
    "contacts: {touch: {between: [a, b], LAW}}\n"
)
STRIPS = """
pliant: 1
materials: {{m: {{density: 1000 kg/m^3, youngs_modulus: 10 MPa, poissons_ratio: 0.3}}}}
sections:
  flat: {{shape: rectangle, width: 4 cm, height: 2 cm}}
  roof: {{shape: polygon, vertices: [[-2 cm, -1 cm], [2 cm, -1 cm], [0, 2 cm]]}}
rods:
  low: {{length: 30 cm, rotation: {{axis: [1, 1, 1], angle: 120 deg}}, section: flat, material: m,
        model: {{kind: pcs, elements: 3}}}}
  high: {{length: 30 cm, position: [15 cm, {y}, 19.5 mm], rotation: {{axis: {axis}, angle: {angle}}}, section: roof, material: m,
         model: {{kind: pcs, elements: 3}}}}
contacts: {{touch: {{between: [low, high], LAW}}}}
"""
SMALL = {"a": "sphere, radius: 1 cm", "b": "sphere, radius: 1 cm"}
CASES = {
    "balls and a plane": BALLS,
    "capsules that cross": HEAD.format(**SMALL, x="1 cm", z="13.8 cm") + CAPSULES.replace("AXIS", "y"),
    "capsules almost in line": HEAD.format(**SMALL, x="4 cm", z="13.8 cm") + CAPSULES.replace("AXIS", "[1, 0.3, 0]"),
    "a capsule on its end": HEAD.format(**SMALL, x="3 cm", z="21 cm") + CAPSULES.replace("AXIS", "z"),
    "boxes": BOXES,
    "strips that cross": STRIPS.format(y="14 cm", axis="x", angle="90 deg"),
    "strips in line": STRIPS.format(y="1 cm", axis="[1, 1, 1]", angle="120 deg"),
}


STEPS = (1e-6, 1e-7, 1e-8)
"""Of the differences: the best of them counts, as small depths want small steps and large forces large ones."""


def error(exact: np.ndarray, residual: Callable[[np.ndarray], np.ndarray]) -> float:
    """Of a matrix of derivatives against central differences, over its largest entry."""
    units = np.eye(len(exact))
    tried = [np.array([(residual(h * e) - residual(-h * e)) / (2 * h) for e in units]).T for h in STEPS]
    return min(np.abs(exact - found).max() / np.abs(found).max() for found in tried)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("friction", "across"), [(0, 0), (0.5, 0.5), (0.5, 0.2), (50, 50)])
@pytest.mark.parametrize("exponent", [1, 1.5])
def test_tangents_are_derivatives(case: str, friction: float, across: float, exponent: float) -> None:
    """Of contacts that remember a little slip and much of it, and move: sticking and sliding, going in and out.

    The stiffness leaves out that directions of friction turn with their axis. Boxes have none.
    """
    text = CASES[case].replace("LAW", LAW.format(friction=friction, across=across, exponent=exponent))
    eqs = pliant.derive(pliant.load_text(text))
    binding, rng = eqs.binding, np.random.default_rng(3)
    v, zero = 0.5 * rng.standard_normal(binding.nv), np.zeros(binding.nv)
    q = binding.increment(np.array(eqs.initial_state().q), 1e-3 * rng.standard_normal(binding.nv))
    for before in (0.01, 0.2):
        bound = binding.with_contacts(contacts_at(binding, 0.0, q, before * v).rows, since=q)
        assert len(contacts_at(bound, 0.0, q, v)) > 0
        found = bound.linearized(0.0, q, v, zero, np.zeros(bound.m))
        assert error(found.damping.toarray(), lambda d, bound=bound: bound.inverse(0.0, q, v + d, zero)) < 1e-6
        if friction == across or case == "boxes":
            moved = error(
                found.stiffness.toarray(), lambda d, bound=bound: bound.inverse(0.0, binding.increment(q, d), v, zero)
            )
            assert moved < 1e-6
