"""Every elastic connection of two frames in large rotations: rigid ones store nothing, and turn the forces of a deformed one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from pliant.robot import load_text

BODIES = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections:
  strip: {shape: rectangle, width: 3 cm, height: 4 mm}
  square: {shape: rectangle, width: 1 cm, height: 1 cm}
materials: {rubber: {youngs_modulus: 1 MPa, poissons_ratio: 0.4, density: 1000 kg/m^3}}
bodies:
  a: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}
  b: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}
joints:
  fly_a: {type: free, child: a}
"""
LOOSE = "  fly_b: {type: free, child: b, z: {initial: 30 cm}}\n"
SIX = "stiffness: [30, 40, 500, 3, 4, 1], damping: [1, 1, 1, 0.1, 0.1, 0.1]"
ENDS = "sets: {one: {nodes: 1}, two: {nodes: 3}}, held: {one: a, two: b}, ends: free"
CHAIN = f"drawing: {{nodes: [[0, 0, 0], [0, 1 cm, 15 cm], [0, 0, 30 cm]], edges: [[1, 2], [2, 3]]}}, {ENDS}"
ROD = "  weld: {type: weld, parent: rod.tip, child: b}\nrods:\n  rod: {parent: a, length: 30 cm, section: SECTION, "
ROD += "material: rubber, "
MODELS = {
    "axial": LOOSE + "links: {c: {type: axial, between: [a, {frame: b, position: [1 cm, 0, 2 cm]}], spring: 500, damper: 2}}",
    **{
        f"beam {m}": LOOSE + f"links: {{c: {{type: beam, between: [a, b], map: {m}, {SIX}}}}}"
        for m in ("midpoint", "first", "published")
    },
    "membrane": LOOSE
    + f"meshes: {{m: {{type: membrane, {CHAIN}, section: strip, material: rubber, direction: both, damping_time: 1 ms}}}}",
    "shell": LOOSE + f"meshes: {{m: {{type: shell, {CHAIN}, section: strip, material: rubber, damping_time: 1 ms}}}}",
    **{
        f"rod {kind}": ROD.replace("SECTION", "square" if "pcc" in kind else "strip") + f"model: {{kind: {kind}}}}}"
        for kind in (
            "cosserat, elements: 3", "cosserat, elements: 2, map: midpoint", "cosserat, elements: 2, map: published",
            "finite_element, elements: 2", "pseudo_rigid, elements: 2", "pcs, elements: 2", "polynomial, order: 2", "gvs, order: 1",
            "pcc, sections: 2", "timoshenko, elements: 2",
        )
    },
}  # fmt: skip


def turned(eqs: pliant.Equations, q: np.ndarray, turn: Rotation, shift: np.ndarray) -> np.ndarray:
    """The coordinates after a rigid motion of everything: of frames that are free in the world."""
    names, moved = list(eqs.coordinates), q.copy()
    for k, name in enumerate(names):
        if not name.endswith(".x") or f"{name[:-2]}.orientation.qw" not in names:
            continue
        at = names.index(f"{name[:-2]}.orientation.qw")
        w, x, y, z = q[at : at + 4]
        x, y, z, w = (turn * Rotation.from_quat([x, y, z, w])).as_quat()
        moved[k : k + 3] = turn.apply(q[k : k + 3]) + shift
        moved[at : at + 4] = [w, x, y, z]
    if "m.n2.x" in names and "m.n2.orientation.qw" not in names:  # a point mass
        k = names.index("m.n2.x")
        moved[k : k + 3] = turn.apply(q[k : k + 3]) + shift
    return moved


def own_axes(eqs: pliant.Equations, force: np.ndarray, turn: Rotation) -> np.ndarray:
    """Generalized forces with those along the world's axes turned back."""
    names, found = list(eqs.rates), force.copy()
    for k, name in enumerate(names):
        is_free = f"{name[:-2]}.orientation.wx" in names or name == "m.n2.x"
        if name.endswith(".x") and is_free:
            found[k : k + 3] = turn.inv().apply(force[k : k + 3])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_rigid_rotations_store_nothing_and_turn_forces(name: str) -> None:
    eqs = pliant.derive(load_text(BODIES + MODELS[name]))
    rng = np.random.default_rng(3)
    straight, still = eqs.initial_state()[0], np.zeros(len(eqs.rates))
    bent = eqs.binding.increment(straight, 0.05 * rng.normal(size=len(still)))
    for q in (straight, bent):
        energy, force = eqs.energy(q, still).potential, eqs.inverse_dynamics(q, still, still)
        assert (energy > 1e-5) == (q is bent)
        for angle in (0.5, 2.0, np.pi, 4.0, 6.0):
            turn, shift = Rotation.from_rotvec(angle * np.array([1, 2, -2]) / 3), rng.normal(size=3)
            moved = turned(eqs, q, turn, shift)
            assert eqs.energy(moved, still).potential == pytest.approx(energy, rel=1e-9, abs=1e-15)
            found = own_axes(eqs, eqs.inverse_dynamics(moved, still, still), turn)
            np.testing.assert_allclose(found, force, atol=1e-9 * (1 + np.abs(force).max()))


@pytest.mark.parametrize("name", ["axial", "membrane", "shell", "rod finite_element, elements: 2"])
@pytest.mark.parametrize("moved", [0.1, 0.3])
def test_an_end_that_is_moved_far_stretches_what_is_between(name: str, moved: float) -> None:
    """At least the energy of a straight spring of the new length."""
    eqs = pliant.derive(load_text(BODIES + MODELS[name].replace("[0, 1 cm, 15 cm]", "[0, 0, 15 cm]")))
    names = list(eqs.coordinates)
    q, v = eqs.initial_state()
    free = {k: name for k, name in enumerate(names) if name.endswith(".x") and not name.startswith("fly_a")}
    for k, coordinate in free.items():  # inner nodes on the line between the ends
        q[k] += moved * q[k + 2] / 0.3 if "fly_b" not in coordinate else moved
    length, start = np.hypot(0.3, moved), 0.3
    stiffness = 500.0 if name == "axial" else 1e6 * 0.03 * 0.004 / 0.3
    if name == "axial":
        start, length = np.hypot(0.01, 0.32), np.hypot(0.01 + moved, 0.32)
    assert eqs.energy(q, v).potential > 0.999 * stiffness * (length - start) ** 2 / 2
