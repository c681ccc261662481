"""Edges of a mesh with separate values: forces of single edges, rods instead of beams, and faults."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import pliant
from pliant.language.faults import SpecError
from pliant.robot import load_text

LENGTH, EA, TIME = 0.2, 30.0, 2e-3

LINE = "0\nSECTION\n2\nHEADER\n9\n$INSUNITS\n70\n6\n0\nENDSEC\n0\nSECTION\n2\nENTITIES\n" + "".join(
    f"0\nLINE\n8\n0\n10\n{a}\n20\n0\n30\n0\n11\n{b}\n21\n0\n31\n0\n" for a, b in ((0.0, 0.2), (0.2, 0.4))
) + "0\nENDSEC\n0\nEOF\n"  # fmt: skip
"""Two edges in series along x."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "line.dxf").write_text(LINE)
    return tmp_path


def chain(kind: str, edges: str, folder: Path, more: str = "") -> pliant.Equations:
    """The line with its first node held; the edge from node 2 to node 3 is the set `tie`."""
    stiff = f"shape: stiffness, stiffness: [1, 1, {EA}, 1e-3, 1e-3, 1e-3], mass_per_length: 1"
    return pliant.derive(
        load_text(
            f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{pull: {{value: 0.7 N, input: true}}, power: 1.5}}
sections: {{strip: {{{stiff}, inertia_per_length: [1e-3, 1e-3, 2e-3]}}}}
meshes:
  net:
    type: {kind}
    drawing: {{file: line.dxf}}
    ends: free
    sets: {{root: {{nodes: 1}}, tie: {{nodes: [2, 3]}}, tip: {{nodes: 3}}}}
    held: {{root: world}}
    section: strip
    damping_time: {TIME}
    edges: {{{edges}}}
    {more}
""",
            folder=folder,
        )
    )


def tension(eqs: pliant.Equations, stretch: float, rate: float) -> float:
    """Tension [N] of the edge from node 2 to node 3 where it is longer by a stretch [m] that grows by a rate [m/s]."""
    q, v = eqs.initial_state()
    q[list(eqs.coordinates).index("net.n3.x")] += stretch
    at = list(eqs.rates).index("net.n3.x")
    v[at] = rate
    return float(eqs.inverse_dynamics(q, v, 0 * v)[at])


@pytest.mark.parametrize("kind", ["membrane", "shell"])
@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ("", lambda e, r: EA / LENGTH * (e + TIME * r)),
        ("tie: {damping_time: 10 ms}", lambda e, r: EA / LENGTH * (e + 10e-3 * r)),
        ("tie: {viscosity: 0.4}", lambda e, r: EA / LENGTH * (e + TIME * r) + 0.4 * r / LENGTH),
        (
            "tie: {viscosity: 0.4, damping_power: =power}",
            lambda e, r: EA / LENGTH * e + 0.4 * np.sign(r) * (abs(r) / LENGTH) ** 1.5,
        ),
        ("tie: {input: =pull}", lambda e, r: EA / LENGTH * (e + TIME * r) + 0.7),
        # strains are relative to the length at rest
        ("tie: {rest: 19 cm}", lambda e, r: EA / 0.19 * (e + 0.01 + TIME * r)),
        ("tie: {rest: 19 cm, viscosity: 0.4}", lambda e, r: EA / 0.19 * (e + 0.01 + TIME * r) + 0.4 * r / 0.19),
        ("all: {tightness: 0.9, damping_time: 0 s}", lambda e, r: EA / 0.18 * (e + 0.02)),
        ("all: {tightness: 0.9, damping_time: 0 s}, tie: {rest: 18.5 cm}", lambda e, r: EA / 0.185 * (e + 0.015)),
    ],
)
def test_an_edge_pulls_by_its_own_values(kind, edges, expected, folder):
    eqs = chain(kind, edges, folder)
    for e, r in ((0.01, 0.3), (0.02, -0.2)):
        assert tension(eqs, e, r) == pytest.approx(expected(e, r), rel=2e-5)


@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e6])
def test_a_mass_on_a_straight_rope_sags_as_far_as_the_stiffness_allows(stiffness):
    """Two ropes of half a metre with a mass of 1 kg between them, from small strains (2e-4) to large ones."""
    text = f"""
pliant: 1
meshes:
  rope:
    type: membrane
    drawing: {{nodes: [[0, 0, 0], [0.5, 0, 0], [1, 0, 0]], edges: [[1, 2], [2, 3]]}}
    node_mass: 1 kg
    stiffness: {stiffness} N
outputs: {{middle: {{frame: rope.n2, component: z}}}}
"""
    found = pliant.equilibrium(pliant.derive(load_text(text)))

    def unbalanced(sag):
        length = np.hypot(0.5, sag)
        return 2 * stiffness * (length / 0.5 - 1) * sag / length - 9.81

    assert found.outputs["middle"] == pytest.approx(-brentq(unbalanced, 1e-4, 10, xtol=1e-14), rel=2e-3)


def test_the_rest_of_the_mesh_keeps_its_values(folder):
    """The first edge is not in the set: node 2 feels both, and the difference is the second one's alone."""
    eqs = chain("membrane", "tie: {stiffness: 60 N}", folder)
    q, v = eqs.initial_state()
    names = list(eqs.coordinates)
    q[names.index("net.n2.x")] += 0.01
    q[names.index("net.n3.x")] += 0.02
    force = eqs.inverse_dynamics(q, v, 0 * v)
    at = [list(eqs.rates).index(f"net.n{k}.x") for k in (2, 3)]
    assert force[at] == pytest.approx([(EA - 60) / LENGTH * 0.01, 60 / LENGTH * 0.01], rel=1e-4)


def test_ropes_with_dampers_and_inputs_never_push(folder):
    eqs = chain("membrane", "tie: {viscosity: 5, input: =pull}", folder)
    assert tension(eqs, 0.01, -3.0) == 0.0
    assert tension(eqs, -0.01, 3.0) == 0.0
    assert tension(eqs, 0.01, 0.0) == pytest.approx(EA / LENGTH * 0.01 + 0.7, rel=1e-2)


def test_energy_of_driven_edges_is_balanced(folder):
    eqs = chain(
        "membrane", "tie: {viscosity: 0.05, damping_power: 1.5, input: =pull*sin(20*t)}", folder, "direction: both"
    )
    run = pliant.simulate(eqs, 0.5, rtol=1e-7, save_every=0.01)
    energy = run.energy
    open_ = energy["total"] - energy["total"][0] + energy["dissipated"] - energy["supplied"]
    assert energy["dissipated"][-1] > 1e-3
    assert np.abs(open_).max() < 1e-3 * energy["dissipated"][-1]


def test_nodes_have_inertia_of_their_own(folder):
    plain, heavy = (chain("shell", "", folder, more) for more in ("", "node_inertia: [1e-3, 2e-3, 2.5e-3]"))
    q, _ = plain.initial_state()
    added = (heavy.mass_matrix(q) - plain.mass_matrix(q)).toarray()
    expected = np.zeros_like(added)
    for k in (2, 3):
        for axis, value in zip("xyz", (1e-3, 2e-3, 2.5e-3), strict=True):
            at = list(plain.rates).index(f"net.n{k}.orientation.w{axis}")
            expected[at, at] = value
    np.testing.assert_allclose(added, expected, atol=1e-12)


STRIP = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {strip: {shape: rectangle, width: 1 cm, height: 2 mm}}
materials: {steel: {density: 7800 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
parameters: {load: {value: 0 N, input: true}}
meshes:
  strip:
    type: shell
    drawing: {file: line.dxf}
    ends: free
    sets: {root: {nodes: 1}, tip: {nodes: 3}}
    held: {root: world}
    section: strip
    material: steel
    EDGES
loads: {push: {frame: strip.tip, force: [0, 0, =load]}}
"""


@pytest.mark.parametrize("model", ["{kind: polynomial, order: 3}", "{kind: pcs, elements: 4}"])
def test_rods_as_edges_bend_as_rods_do(model, folder):
    """Clamped at one end: deflection by a force, and the lowest frequency, against Euler and Bernoulli."""
    E, second, line, length = 200e9, 1e-2 * (2e-3) ** 3 / 12, 7800 * 2e-5, 0.4
    exact = 1.8751040687**2 / (2 * np.pi) * np.sqrt(E * second / (line * length**4))
    found = {}
    for edges in ("", f"edges: {{all: {{model: {model}}}}}"):
        eqs = pliant.derive(load_text(STRIP.replace("EDGES", edges), folder=folder))
        rest = pliant.equilibrium(eqs, inputs={"load": 0.5})
        assert rest.frames["strip.tip"].position[2] == pytest.approx(0.5 * length**3 / (3 * E * second), rel=2e-2)
        found[bool(edges)] = pliant.modes(eqs, at=pliant.equilibrium(eqs), count=1).frequencies[0]
    tip, node = rest.frames["strip.e2.tip"], rest.frames["strip.tip"]
    np.testing.assert_allclose(tip.position, node.position, atol=1e-9)
    # lumped at three nodes the beams are off by nearly a percent; rods carry their mass along them
    assert abs(found[False] / exact - 1) > 0.007
    assert found[True] == pytest.approx(exact, rel=4e-3)


def test_rods_as_edges_take_the_values_of_their_set(folder):
    """A stretched rod pulls as a stretched beam does."""
    for edges in ("tie: {MODELtightness: 0.99}", "tie: {MODELtightness: 0.8}", "tie: {MODELinput: 2 kN}"):
        text = STRIP.replace("sets: {", "sets: {tie: {nodes: [2, 3]}, ")
        places = []
        for model in ("", "model: {kind: polynomial, order: 1}, "):
            eqs = pliant.derive(
                load_text(text.replace("EDGES", f"edges: {{{edges.replace('MODEL', model)}}}"), folder=folder)
            )
            places.append(pliant.equilibrium(eqs).frames["strip.tip"].position)
        assert places[0][0] < 0.4 - 1e-6
        np.testing.assert_allclose(places[0], places[1], atol=1e-9)


def test_rods_as_edges_are_damped_along_them(folder):
    """Viscosity is a share of EA: where a mode stretches the rods, its damping ratio is half that time by its angular frequency."""
    eqs = chain("shell", "all: {model: {kind: polynomial, order: 2}, damping_time: 0 s, viscosity: 0.03}", folder)
    modes = pliant.modes(eqs, at="initial")
    values = modes.eigenvalues[np.abs(modes.eigenvalues) > 1.0]
    stretched = values[values.real < -1e-6 * np.abs(values)]
    assert len(stretched) >= 2
    np.testing.assert_allclose(-stretched.real / np.abs(stretched) ** 2, 0.5 * 0.03 / EA, rtol=1e-6)
    first = np.abs(stretched).min()
    assert first == pytest.approx(np.pi / 2 * np.sqrt(EA) / 0.4, rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "edges", "words"),
    [
        ("membrane", "hem: {input: =pull}", "there is no set 'hem'"),
        ("membrane", "tip: {input: =pull}", "no edge has both ends in the set 'tip'"),
        ("membrane", "tie: {rest: 1 cm, tightness: 0.9}", "are redundant"),
        ("membrane", "tie: {viscosity: -1}", "viscosity must not be negative"),
        ("membrane", "tie: {rest: 0 m}", "rest"),
        ("membrane", "tie: {model: {kind: pcs}}", "unknown key 'model'"),
        ("shell", "tie: {viscosity: 3 N}", "viscosity"),
    ],
)
def test_values_of_edges_that_cannot_be_are_refused(kind, edges, words, folder):
    with pytest.raises(SpecError, match=words):
        chain(kind, edges, folder)


SEVERAL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {thick: 3 mm}
sections:
  strip: {shape: rectangle, width: 2 cm, height: 1 mm}
  rib: {shape: rectangle, width: 2 cm, height: =thick}
  measured: {shape: stiffness, stiffness: [50, 60, 70, 1e-3, 2e-3, 3e-3], mass_per_length: 0.2}
materials:
  felt: {density: 300 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.3}
  rubber: {density: 900 kg/m^3, youngs_modulus: 10 MPa, poissons_ratio: 0.3}
meshes:
  net:
    type: KIND
    drawing: {nodes: [[0, 0, 0], [0.2, 0, 0], [0.4, 0, 0], [0.6, 0, 0], [0.8, 0, 0]], edges: [[1, 2], [2, 3], [3, 4], [4, 5]]}
    ends: free
    sets: {root: {nodes: 1}, a: {nodes: [2, 3]}, b: {nodes: [3, 4]}, c: {nodes: [4, 5]}, tip: {nodes: 5}}
    held: {root: world}
    VALUES
"""


def several(kind: str, values: str) -> pliant.Equations:
    return pliant.derive(load_text(SEVERAL.replace("KIND", kind).replace("VALUES", values)))


@pytest.mark.parametrize("kind", ["membrane", "shell"])
def test_edges_have_sections_and_materials_of_their_own(kind):
    """The stretch of each edge under a common force, and the masses of halves of edges at each node."""
    eqs = several(
        kind,
        "section: strip\n    material: felt\n"
        "    edges: {a: {material: rubber}, b: {section: rib, material: rubber}, c: {section: measured}}",
    )
    for thick in (3e-3, 5e-3):
        q, v = eqs.initial_state()
        names = list(eqs.coordinates)
        stiffness = [2e6 * 2e-5, 1e7 * 2e-5, 1e7 * 2e-2 * thick, 70.0]
        moved = np.cumsum([5.0 * 0.2 / k for k in stiffness])
        for k in range(4):
            q[names.index(f"net.n{k + 2}.x")] += moved[k]
        force = eqs.inverse_dynamics(q, v, 0 * v, parameters={"thick": thick})
        at = [list(eqs.rates).index(f"net.n{k}.x") for k in (2, 3, 4, 5)]
        np.testing.assert_allclose(force[at], [0, 0, 0, 5.0], atol=1e-3)
        halves = 0.1 * np.array([300 * 2e-5, 900 * 2e-5, 900 * 2e-2 * thick, 0.2, 0.0])
        M = eqs.mass_matrix(q, parameters={"thick": thick}).toarray()
        np.testing.assert_allclose(M[at, at], halves[:4] + halves[1:], rtol=1e-12)


def test_edges_of_different_sections_bend_as_one_stepped_beam():
    """Four edges, of which two are stiffer: deflections by a force at the tip are integrals of moment over stiffness."""
    text = SEVERAL.replace("KIND", "shell").replace(
        "VALUES", "section: strip\n    material: felt\n    edges: {a: {section: rib}, b: {section: rib}}"
    )
    eqs = pliant.derive(load_text(text + "loads: {push: {frame: net.tip, force: [0, 0, 1e-7]}}\n"))
    ends = np.array([0.0, 0.2, 0.6, 0.8])
    stiffness = 2e6 * 0.02 * np.array([1e-3, 3e-3, 1e-3]) ** 3 / 12
    exact = sum(
        ((0.8 - a) ** 3 - (0.8 - b) ** 3) / (3 * k) for a, b, k in zip(ends[:-1], ends[1:], stiffness, strict=True)
    )
    assert pliant.equilibrium(eqs).frames["net.tip"].position[2] == pytest.approx(1e-7 * exact, rel=1e-3)


@pytest.mark.parametrize("kind", ["membrane", "shell"])
@pytest.mark.parametrize("others", ["node_mass: 2 g", ""])
def test_nodes_have_masses_of_their_own(kind, others):
    eqs = several(
        kind, f"section: strip\n    material: felt\n    {others}\n    nodes: {{tip: {{mass: 50 g}}, b: {{mass: 7 g}}}}"
    )
    q, _ = eqs.initial_state()
    M = eqs.mass_matrix(q).toarray()
    plain = 2e-3 if others else 0.2 * 300 * 2e-5
    at = [list(eqs.rates).index(f"net.n{k}.x") for k in (2, 3, 4, 5)]
    np.testing.assert_allclose(M[at, at], [plain, 7e-3, 7e-3, 50e-3], rtol=1e-12)
    if kind == "shell":  # half an edge of this mass is attached to the node
        assert M[at[3] + 4, at[3] + 4] == pytest.approx(50e-3 * 0.1**2 / 3, rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("membrane", "stiffness: 5 N, mass: 1 g, nodes: {tip: {mass: 1 g}}", "`mass` is that of the entire mesh"),
        ("membrane", "stiffness: 5 N, node_mass: 1 g, nodes: {all: {mass: 1 g}}", "mass of all nodes is `node_mass`"),
        ("membrane", "stiffness: 5 N, node_mass: 1 g, nodes: {hem: {mass: 1 g}}", "there is no set 'hem'"),
        ("membrane", "stiffness: 5 N, node_mass: 1 g, nodes: {tip: {mass: 0 g}}", "mass must be above zero"),
        ("membrane", "stiffness: 5 N, node_mass: 1 g, nodes: {a: {mass: 1 g}, b: {mass: 1 g}}", "node 3 is in 'a' and in 'b'"),
        ("shell", "section: strip, mass: 1 g, edges: {a: {material: felt}}", "`section` needs `material`"),
        ("shell", "section: strip, material: felt, edges: {a: {material: cotton}}", "cotton"),
        ("shell", "material: felt, mass: 1 g, edges: {a: {section: strip}}", "`material` needs `section`"),
        ("membrane", "node_mass: 1 g, edges: {a: {stiffness: 5 N}}", "the edges have no stiffness"),
        ("shell", "section: strip, material: felt, nodes: {tip: {mass: 1 g}}, edges: {a: {model: {kind: pcs}}}",
         "edges that are rods carry their mass along them"),
    ],
)  # fmt: skip
def test_sections_and_masses_that_cannot_be_are_refused(kind, values, words):
    with pytest.raises(SpecError, match=words):
        several(kind, values.replace(", ", "\n    ") if "{" not in values else "\n    ".join(split(values)))


def split(values: str) -> list[str]:
    """Parts of a flow mapping, at commas outside of braces."""
    parts, depth = [""], 0
    for letter in values:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
