"""Forces and lengths of edges of meshes: equilibrium of a node, rates, and faults."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import SpecError, State, derive, equilibrium, load_text, simulate
from pliant.parts.mesh.base import MembraneEdges, ShellEdges

NET = """\
pliant: 1
meshes:
  net:
    type: membrane
    drawing: {rectangle: [0.2 m, 0.2 m], cells: [2, 2]}
    sets: {corners: {nearest: [[0, 0, 0], [0.2 m, 0, 0], [0, 0.2 m, 0], [0.2 m, 0.2 m, 0]]}}
    held: {corners: world}
    mass: 0.12 kg
    stiffness: 50 N
    tightness: 0.9
    damping_time: 20 ms
outputs:
"""


NODE, OTHERS = 5, (2, 4, 6, 8)
"""The node in the middle of the net, and its neighbours."""


def text() -> str:
    lines = "".join(
        f"  {x}{k}: {{mesh: net, edge: [{pair[0]}, {pair[1]}], quantity: {x}}}\n"
        for k in OTHERS
        for pair in [(NODE, k) if k > NODE else (k, NODE)]
        for x in ("force", "strain", "length", "rate")
    )
    places = "".join(f"  p{k}: {{frame: net.n{k}}}\n" for k in (NODE, *OTHERS))
    return NET + lines + places


def test_edges_hold_a_node():
    """The pulls of its four edges carry a node's weight: a third of that of the net, which hangs by twelve edges."""
    found = equilibrium(derive(load_text(text()))).outputs
    pull = np.zeros(3)
    for k in OTHERS:
        way = np.array(found[f"p{k}"]) - found[f"p{NODE}"]
        assert found[f"length{k}"] == pytest.approx(np.linalg.norm(way), rel=1e-12)
        assert found[f"strain{k}"] == pytest.approx(found[f"length{k}"] / 0.09 - 1, rel=1e-9)
        pull += found[f"force{k}"] * way / np.linalg.norm(way)
    np.testing.assert_allclose(pull, [0, 0, 9.81 * 0.12 * 4 / 24], atol=1e-8)


def test_rates_are_those_of_lengths():
    run = simulate(derive(load_text(text())), 0.1, save_every=1e-3, rtol=1e-8)
    k = OTHERS[0]
    slope = np.gradient(run[f"length{k}"].values, run.time)
    np.testing.assert_allclose(run[f"rate{k}"].values[5:-5], slope[5:-5], atol=2e-3)


def test_the_strain_of_a_bent_edge_is_that_along_it() -> None:
    """A strip that is stretched by a hundredth and bent by 140 deg: its nodes are nearer to each other than without load."""
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections:
  strip: {shape: stiffness, stiffness: [9, 9, 9, 1e-4, 1e-4, 1e-4], mass_per_length: 0.1, inertia_per_length: [1e-5, 1e-5, 2e-5]}
meshes:
  strip:
    type: shell
    drawing: {nodes: [[0, 0, 0], [10 cm, 0, 0]], edges: [[1, 2]]}
    ends: free
    sets: {root: {nodes: 1}}
    held: {root: world}
    section: strip
    edges: {all: {tightness: 0.99}}
outputs:
  strain: {mesh: strip, edge: [1, 2], quantity: strain}
  length: {mesh: strip, edge: [2, 1], quantity: length}
"""
    eqs = derive(load_text(text))
    half = np.radians(70)
    chord = 0.1 * np.sin(half) / half
    q, v = eqs.initial_state()
    q[:] = [chord * np.cos(half), 0, chord * np.sin(half), np.cos(half), 0, -np.sin(half), 0]
    run = simulate(eqs, 1e-6, start=State(q, v))
    assert run["length"].values[0] == pytest.approx(chord, rel=1e-12)
    assert run["strain"].values[0] == pytest.approx(1 / 0.99 - 1, rel=1e-9)


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        ("[1, 9]", "no edge between its nodes 1 and 9.*node 1 has edges to"),
        ("[1, 12]", "has no node 12.*count from 1 to 9"),
    ],
)
def test_edges_that_are_not_there_are_refused(edge, message):
    with pytest.raises(SpecError, match=message):
        load_text(NET + f"  wrong: {{mesh: net, edge: {edge}}}\n")


def test_edges_that_are_rods_have_a_length_but_no_force() -> None:
    text = ShellEdges.example + "outputs: {pull: {mesh: frame, edge: [1, 2], quantity: QUANTITY}}\n"
    assert derive(load_text(text.replace("QUANTITY", "length"))).model.spec.outputs
    with pytest.raises(SpecError, match="edges of the mesh 'frame' are rods"):
        derive(load_text(text.replace("QUANTITY", "force")))
    with pytest.raises(SpecError, match="its edges have no 'strain'"):
        derive(load_text(text.replace("QUANTITY", "strain")))


def test_a_power_of_damping_needs_a_viscosity() -> None:
    text = MembraneEdges.example
    assert load_text(text.replace("{stiffness: 200 N}", "{damping_power: 0.5}"))  # the viscosity is that of `all`
    with pytest.raises(SpecError, match="`damping_power` needs `viscosity` beside it"):
        load_text(text.replace("all: {viscosity: 0.2}", "all: {damping_power: 0.5}"))
