"""Beams as edges of shells, in displacements and rotations of any size: energies, symmetries, exact solutions, convergence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from pliant.robot import load_text

E, NU, WIDTH, HEIGHT, LENGTH = 5e5, 0.4, 0.03, 0.002, 0.2
EA, EI = E * WIDTH * HEIGHT, E * WIDTH * HEIGHT**3 / 12


def strip(points: object, held: str = "", more: str = "", world: str = "{gravity: [0, 0, 0]}") -> pliant.Equations:
    """A chain of edges through points [m]."""
    places = np.asarray(points, dtype=float).tolist()
    return pliant.derive(
        load_text(f"""
pliant: 1
world: {world}
sections: {{strip: {{shape: rectangle, width: {WIDTH}, height: {HEIGHT}}}}}
materials: {{felt: {{youngs_modulus: {E}, poissons_ratio: {NU}, density: 300}}}}
meshes:
  strip:
    type: shell
    drawing: {{nodes: {places}, edges: {[[k, k + 1] for k in range(1, len(places))]}}}
    ends: free
    sets: {{root: {{nodes: 1}}, tip: {{nodes: {len(places)}}}}}
    held: {{{held}}}
    section: strip
    material: felt
{more}
""")
    )


def straight(cells: int) -> np.ndarray:
    return np.column_stack([np.linspace(0, LENGTH, cells + 1), np.zeros((cells + 1, 2))])


def state(eqs: pliant.Equations, poses: dict[str, tuple[np.ndarray, Rotation]]) -> np.ndarray:
    """Coordinates with these positions and orientations of nodes."""
    q, _ = eqs.initial_state()
    names = list(eqs.coordinates)
    for node, (place, turn) in poses.items():
        at = names.index(f"strip.{node}.x")
        x, y, z, w = turn.as_quat()
        q[at : at + 7] = [*place, w, x, y, z]
    return q


def potential(eqs: pliant.Equations, q: np.ndarray) -> float:
    return float(eqs.energy(q, np.zeros(len(eqs.rates))).potential)


UPRIGHT = Rotation.identity()


@pytest.mark.parametrize("moved", [0.002, 0.02, 0.2, 1.0, 5.0])
@pytest.mark.parametrize("across", [(0, 0, 1), (0, 1, 0), (0, 0.6, -0.8)])
def test_an_end_that_moves_sideways_stretches_the_edge(moved: float, across: tuple[float, float, float]) -> None:
    eqs = strip(straight(1), "root: world")
    found = potential(eqs, state(eqs, {"n2": (np.array([LENGTH, 0, 0]) + moved * np.array(across), UPRIGHT)}))
    stretch = EA / (2 * LENGTH) * (np.hypot(LENGTH, moved) - LENGTH) ** 2
    angle, shear = np.arctan2(moved, LENGTH), E / (2 * (1 + NU)) * WIDTH * HEIGHT * 0.86
    bends = EI, EI * (WIDTH / HEIGHT) ** 2
    turned = [x**2 / (LENGTH**2 / (12 * B) + 1 / shear) for x, B in zip((across[2], across[1]), bends, strict=True)]
    assert found == pytest.approx(stretch + LENGTH / 2 * angle**2 / LENGTH**2 * sum(turned) * LENGTH**2, rel=1e-2)
    assert found > stretch


def test_rigid_motions_store_nothing_and_turn_forces_with_them() -> None:
    """A deformed edge anywhere, turned by any angle: the same energy, and the same forces in its own axes."""
    rng = np.random.default_rng(1)
    eqs = strip(straight(2))
    here = {f"n{k}": (rng.normal(size=3), Rotation.from_rotvec(0.8 * rng.normal(size=3))) for k in (1, 2, 3)}
    undeformed = {f"n{k + 1}": (place, UPRIGHT) for k, place in enumerate(straight(2))}
    still = np.zeros(len(eqs.rates))
    for start in (undeformed, here):
        q = state(eqs, start)
        energy, force = potential(eqs, q), eqs.inverse_dynamics(q, still, still).reshape(3, 6)
        for angle in (1.0, 2.0, np.pi, 5.0):
            turn, shift = Rotation.from_rotvec(angle * np.array([2, -1, 2]) / 3), rng.normal(size=3)
            q = state(eqs, {n: (turn.apply(p) + shift, turn * R) for n, (p, R) in start.items()})
            assert potential(eqs, q) == pytest.approx(energy, rel=1e-10, abs=1e-18)
            turned = eqs.inverse_dynamics(q, still, still).reshape(3, 6)
            np.testing.assert_allclose(turned[:, :3], turn.apply(force[:, :3]), atol=1e-10 * (1 + np.abs(force).max()))
            # moments are in the axes of the nodes
            np.testing.assert_allclose(turned[:, 3:], force[:, 3:], atol=1e-10 * (1 + np.abs(force).max()))


def test_it_does_not_matter_which_end_is_the_first() -> None:
    rng = np.random.default_rng(2)
    for _ in range(5):
        poses = [(rng.normal(size=3), Rotation.from_rotvec(rng.normal(size=3))) for _ in range(2)]
        found = []
        for order in ((0, 1), (1, 0)):
            eqs = strip(straight(1)[list(order)])
            found.append(potential(eqs, state(eqs, {f"n{k + 1}": poses[i] for k, i in enumerate(order)})))
        assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize(("cells", "turn"), [(1, 0.5), (1, 1.5), (3, 2.0), (3, 4.0)])
def test_a_moment_bends_edges_into_an_exact_arc(cells: int, turn: float) -> None:
    eqs = strip(
        straight(cells), "root: world", f"loads: {{m: {{frame: strip.tip, moment: [0, {-EI * turn / LENGTH}, 0]}}}}"
    )
    tip = pliant.equilibrium(eqs).frames["strip.tip"]
    radius = LENGTH / turn
    np.testing.assert_allclose(tip.position, [radius * np.sin(turn), 0, radius * (1 - np.cos(turn))], atol=1e-6)


def test_a_moment_twists_an_edge_without_shortening_it() -> None:
    eqs = strip(straight(1), "root: world", "loads: {m: {frame: strip.tip, moment: [1e-4, 0, 0]}}")
    tip = pliant.equilibrium(eqs).frames["strip.tip"]
    np.testing.assert_allclose(tip.position, [LENGTH, 0, 0], atol=1e-12)
    assert np.linalg.norm(Rotation.from_matrix(tip.rotation).as_rotvec()) > 1.0


def test_a_heavy_strip_converges_to_a_rod() -> None:
    """Clamped level, it hangs down: four edges are within a hundredth of its length, and the order is above two."""
    rod = f"""
pliant: 1
sections: {{strip: {{shape: rectangle, width: {HEIGHT}, height: {WIDTH}}}}}
materials: {{felt: {{youngs_modulus: {E}, poissons_ratio: {NU}, density: 300}}}}
rods: {{rod: {{length: {LENGTH}, section: strip, material: felt, rotation: {{axis: y, angle: 90 deg}}, strains: planar,
       model: {{kind: finite_element, elements: 32}}}}}}
"""
    exact = pliant.equilibrium(pliant.derive(load_text(rod))).frames["rod.tip"].position
    errors = []
    for cells in (2, 4, 8):
        eqs = strip(straight(cells), "root: world", world="{gravity: [0, 0, -9.81]}")
        errors.append(np.linalg.norm(pliant.equilibrium(eqs).frames["strip.tip"].position - exact) / LENGTH)
    assert errors[1] < 0.01
    assert errors[1] / errors[2] > 5


def test_flying_strips_keep_their_energy() -> None:
    """Thrown with a spin of two turns a second and its ends turned against each other: only internal forces act."""
    eqs = strip(straight(3))
    q, v = eqs.initial_state()
    v.reshape(4, 6)[:, 3:] = [3.0, 12.0, 5.0]
    v.reshape(4, 6)[:, :3] = np.cross([3.0, 12.0, 5.0], straight(3) - [0.05, 0, 0]) + [0, 0, 2.0]
    v.reshape(4, 6)[[0, 3], 4] += [60.0, -60.0]
    run = pliant.simulate(eqs, 0.5, start=pliant.State(q, v), rtol=1e-7, save_every=0.05)
    total, stored = run.energy["total"].values, run.energy["potential"].values
    assert stored.max() > 1e-4
    assert np.abs(total - total[0]).max() < 0.02 * stored.max()


def test_the_energy_is_continuous_where_an_edge_turns_over() -> None:
    """Rotations of slightly less and slightly more than half a turn from one node to the other, about any axis."""
    eqs, rng = strip(straight(1)), np.random.default_rng(4)
    for _ in range(10):
        axis, place = rng.normal(size=3), LENGTH * rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        energies = [
            potential(eqs, state(eqs, {"n2": (place, Rotation.from_rotvec(angle * axis))}))
            for angle in (np.pi - 1e-7, np.pi + 1e-7)
        ]
        assert energies[0] == pytest.approx(energies[1], rel=1e-5)
