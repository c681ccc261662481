"""Meshes compared with exact solutions: mass and inertia, catenaries, beams, slack ropes; and faults of model files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from oracle import Oracle
from reference import assert_newmark_steps
from scipy.optimize import root

import pliant
from pliant.language.faults import SpecError
from pliant.robot import load_text


def dxf(chain: np.ndarray) -> str:
    """A DXF drawing in metres with the lines of a chain of points."""
    lines = []
    for a, b in pairwise(chain):
        codes = zip((10, 20, 30, 11, 21, 31), (*a, *b), strict=True)
        lines.append("0\nLINE\n8\n0\n" + "".join(f"{code}\n{float(x)!r}\n" for code, x in codes))
    head = "0\nSECTION\n2\nHEADER\n9\n$INSUNITS\n70\n6\n0\nENDSEC\n0\nSECTION\n2\nENTITIES\n"
    return head + "".join(lines) + "0\nENDSEC\n0\nEOF\n"


def rigid_inertia(eqs: pliant.Equations) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia about the world's origin, from the kinetic energy of rigid motions."""
    q, _ = eqs.initial_state()
    names = list(eqs.rates)
    motions = np.zeros((len(names), 6))
    for k, name in enumerate(names):
        node, _, component = name.rpartition(".")
        if component in "xyz" and "orientation" not in name:
            axis = "xyz".index(component)
            place = eqs.frame(node, q).position
            motions[k, axis] = 1
            for turn in range(3):
                motions[k, 3 + turn] = np.cross(np.eye(3)[turn], place)[axis]
        else:
            axis = ("wx", "wy", "wz").index(component)
            R = eqs.frame(node.removesuffix(".orientation"), q).rotation
            motions[k, 3:] = R[:, axis]
    M = motions.T @ (eqs.mass_matrix(q) @ motions)
    mass = M[0, 0]
    # rows: linear momentum of a unit turn is turn x (m c)
    center = np.array([M[1, 5], M[2, 3], M[0, 4]]) / mass
    return float(mass), center, M[3:, 3:]


ZIGZAG = np.array([[0, 0, 0], [0.3, 0.1, 0], [0.35, 0.4, 0.2], [0.1, 0.5, 0.6], [0.7, 0.2, 0.5]])


@pytest.mark.parametrize("how", ["mass: 2 kg", "section: bar, material: steel"])
def test_mass_center_and_inertia_of_a_shell_are_those_of_its_rods(how: str, tmp_path: Path) -> None:
    """Any wireframe: the sum of uniform bars with their sections, each about its own centre, moved to the origin."""
    (tmp_path / "a.dxf").write_text(dxf(ZIGZAG))
    both = "section: bar, material: steel"
    mass = how if how != both else ""
    text = f"""
pliant: 1
sections: {{bar: {{shape: circle, radius: 2 cm}}}}
materials: {{steel: {{density: 800 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.3}}}}
meshes:
  wire: {{type: shell, drawing: {{file: a.dxf}}, ends: free, {both}{", " + mass if mass else ""},
         position: [1 m, 2 m, 3 m], rotation: {{axis: [1, 2, 3], angle: 40 deg}}}}
"""
    eqs = pliant.derive(load_text(text, folder=tmp_path))
    mass_found, center, inertia = rigid_inertia(eqs)
    q, _ = eqs.initial_state()
    points = np.array([eqs.frame(f"wire.n{k + 1}", q).position for k in range(5)])
    vectors, middles = np.diff(points, axis=0), (points[1:] + points[:-1]) / 2
    lengths = np.linalg.norm(vectors, axis=1)
    per_length = 800 * np.pi * 0.02**2 if not mass else 2 / lengths.sum()
    masses = per_length * lengths
    exact = np.zeros((3, 3))
    for m, d, c, length in zip(masses, vectors / lengths[:, None], middles, lengths, strict=True):
        across, along = m * (length**2 / 12 + 0.02**2 / 4), m * 0.02**2 / 2
        exact += (
            across * (np.eye(3) - np.outer(d, d)) + along * np.outer(d, d) + m * (c @ c * np.eye(3) - np.outer(c, c))
        )
    assert mass_found == pytest.approx(masses.sum(), rel=1e-12)
    np.testing.assert_allclose(center, masses @ middles / masses.sum(), rtol=1e-12)
    np.testing.assert_allclose(inertia, exact, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("how", ["mass: 2 kg", "node_mass: 30 g"])
def test_mass_center_and_inertia_of_a_membrane_are_those_of_its_points(how: str, tmp_path: Path) -> None:
    (tmp_path / "a.dxf").write_text(dxf(ZIGZAG))
    mesh = f"wire: {{type: membrane, drawing: {{file: a.dxf}}, ends: free, stiffness: 5 N, {how}}}"
    eqs = pliant.derive(load_text(f"pliant: 1\nmeshes:\n  {mesh}\n", folder=tmp_path))
    mass, center, inertia = rigid_inertia(eqs)
    lengths = np.linalg.norm(np.diff(ZIGZAG, axis=0), axis=1)
    ends = np.concatenate([[0], lengths]) / 2 + np.concatenate([lengths, [0]]) / 2
    masses = 2 * ends / ends.sum() if how.startswith("mass") else np.full(5, 0.03)
    assert mass == pytest.approx(masses.sum(), rel=1e-12)
    np.testing.assert_allclose(center, masses @ ZIGZAG / masses.sum(), rtol=1e-12)
    exact = sum(m * (c @ c * np.eye(3) - np.outer(c, c)) for m, c in zip(masses, ZIGZAG, strict=True))
    np.testing.assert_allclose(inertia, exact, rtol=1e-12)


def catenary(lengths: np.ndarray, weights: np.ndarray, EA: float, end: tuple[float, float]) -> np.ndarray:
    """Places (x, z) of an elastic chain with weights [N] at its inner nodes, from the origin to its end [m].

    It has one horizontal force, vertical ones that grow by a node's weight, and links of the length that their tension makes.
    """
    offset = 1e-6 / 2 * lengths  # of a rope that is taut: its tension rises as a parabola over a strain of 1e-6

    def shape(forces: np.ndarray) -> np.ndarray:
        horizontal, first = forces
        vertical = first + np.concatenate([[0], np.cumsum(weights)])
        tension = np.hypot(horizontal, vertical)
        stretched = lengths + offset + tension * lengths / EA
        steps = (stretched / tension)[:, None] * np.column_stack([np.full(len(lengths), horizontal), vertical])
        return np.vstack([[0, 0], np.cumsum(steps, axis=0)])

    return shape(root(lambda forces: shape(forces)[-1] - end, [1.0, -weights.sum() / 2], tol=1e-13).x)


def test_a_hanging_chain_is_the_discrete_catenary(tmp_path: Path) -> None:
    """Ends of the drawing are ground points, as published."""
    links, EA, total, gravity = 12, 40.0, 0.6, 9.81
    chain = np.column_stack([np.linspace(0, 1, links + 1), np.zeros(links + 1), np.zeros(links + 1)])
    chain[:, 2] = -0.3 * np.sin(np.pi * chain[:, 0])
    (tmp_path / "a.dxf").write_text(dxf(chain))
    mesh = (
        f"net: {{type: membrane, drawing: {{file: a.dxf}}, mass: {total} kg, stiffness: {EA} N, damping_time: 0.1 s}}"
    )
    eqs = pliant.derive(load_text(f"pliant: 1\nmeshes:\n  {mesh}\n", folder=tmp_path))
    rest = pliant.equilibrium(eqs)
    found = np.array([eqs.frame(f"net.n{k + 1}", rest.q).position for k in range(links + 1)])
    lengths = np.linalg.norm(np.diff(chain, axis=0), axis=1)
    weights = gravity * total * (lengths[1:] + lengths[:-1]) / 2 / lengths.sum()
    np.testing.assert_allclose(found[:, [0, 2]], catenary(lengths, weights, EA, (1.0, 0.0)), atol=1e-9)
    assert found[:, 2].min() < -0.3


def test_a_net_hung_at_two_sides_is_a_trough_of_catenaries() -> None:
    """All strands from side to side hang alike, so the ropes across them carry nothing."""
    text = """
pliant: 1
meshes:
  net: {type: membrane, drawing: {rectangle: [1 m, 60 cm], cells: [8, 3]}, node_mass: 20 g, stiffness: 30 N, damping_time: 50 ms,
        sets: {left: {plane: x}, right: {plane: x, through: [1 m, 0, 0]}}, held: {left: world, right: world}}
"""
    eqs = pliant.derive(load_text(text))
    rest = pliant.equilibrium(eqs)
    assert (rest.status, rest.stable) == ("converged", True)
    found = np.array([eqs.frame(f"net.n{k + 1}", rest.q).position for k in range(36)]).reshape(4, 9, 3)
    exact = catenary(np.full(8, 0.125), np.full(7, 0.02 * 9.81), 30.0, (1.0, 0.0))
    for k, strand in enumerate(found):
        np.testing.assert_allclose(strand[:, [0, 2]], exact, atol=1e-9)
        np.testing.assert_allclose(strand[:, 1], 0.2 * k, atol=1e-9)
    assert exact[:, 1].min() < -0.05


STRIP = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{bar: {{shape: rectangle, width: 2 cm, height: 1 cm}}}}
materials: {{steel: {{density: 800 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.25}}}}
meshes:
  beam: {{type: shell, drawing: {{file: a.dxf}}, ends: free, section: bar, material: steel,
         sets: {{root: {{nodes: 1}}, tip: {{nodes: 4}}}}, held: {{root: world}}}}
loads:
  push: {{type: wrench, frame: beam.tip, force: {force}}}
"""


@pytest.mark.parametrize(("axis", "moment"), [("y", 1e-2 * 2e-2**3 / 12), ("z", 2e-2 * 1e-2**3 / 12)])
def test_edges_are_exact_timoshenko_beams(axis: str, moment: float, tmp_path: Path) -> None:
    """P L^3 / (3 E I) + P L / (k G A) however few edges there are; the section's y axis is nearest to z."""
    (tmp_path / "a.dxf").write_text(dxf(np.array([[0, 0, 0], [0.1, 0, 0], [0.15, 0, 0], [0.3, 0, 0]])))
    force = "[0, 1e-6 N, 0]" if axis == "y" else "[0, 0, 1e-6 N]"
    eqs = pliant.derive(load_text(STRIP.format(force=force), folder=tmp_path))
    rest = pliant.equilibrium(eqs)
    found = eqs.frame("beam.tip", rest.q).position["xyz".index(axis)]
    E, nu, area, length = 1e6, 0.25, 2e-4, 0.3
    k = 10 * (1 + nu) / (12 + 11 * nu)
    exact = 1e-6 * (length**3 / (3 * E * moment) + length / (k * E / (2 * (1 + nu)) * area))
    assert found == pytest.approx(exact, rel=1e-3)  # shear factors of rectangles differ in the third digit


ANGLE = "{shape: polygon, vertices: [[0, 0], [20 mm, 0], [20 mm, 4 mm], [4 mm, 4 mm], [4 mm, 30 mm], [0, 30 mm]]}"


@pytest.mark.parametrize("axis", [0, 1])
def test_beams_of_angle_iron_bend_sideways_too(axis: int, tmp_path: Path) -> None:
    """A force P along x bends an unsymmetric section by `P L^3 / (3 E) (I_x, -I_xy) / (I_x I_y - I_xy^2)` along x and y."""
    (tmp_path / "a.dxf").write_text(dxf(np.array([[0, 0, 0], [0.2, 0, 0], [0.6, 0, 0]])))
    text = STRIP.format(force="[0, 1e-6 N, 0]" if axis == 0 else "[0, 0, 1e-6 N]").replace("nodes: 4", "nodes: 3")
    text = text.replace("{shape: rectangle, width: 2 cm, height: 1 cm}", ANGLE)
    eqs = pliant.derive(load_text(text, folder=tmp_path))
    # the section's x and y are the world's y and z
    moved = eqs.frame("beam.tip", pliant.equilibrium(eqs).q).position[1:]
    sizes = np.array([[0.02, 0.004], [0.004, 0.026]])  # two rectangles
    places = np.array([[0.01, 0.002], [0.002, 0.017]])
    areas = sizes.prod(axis=1)
    places = places - areas @ places / areas.sum()
    I_y, I_x = (areas[:, None] * (sizes**2 / 12 + places**2)).sum(axis=0)
    I_xy = (areas * places.prod(axis=1)).sum()
    exact = 1e-6 * 0.6**3 / (3 * 1e6) / (I_x * I_y - I_xy**2) * np.array([[I_x, -I_xy], [-I_xy, I_y]])[axis]
    np.testing.assert_allclose(moved, exact, rtol=3e-3)  # shear adds a thousandth
    assert np.abs(exact).min() > 0.2 * np.abs(exact).max()


def test_ropes_that_go_slack_lose_energy_only() -> None:
    """A net is thrown together and falls: Newton's method gets through all switches, and nothing gains energy."""
    eqs = pliant.derive(pliant.load("net", set={"cells": 6}))
    q, v = eqs.initial_state()
    places = np.array([float(x) for x in q])
    v = v.copy()
    v[0::3], v[1::3] = -4 * (places[0::3] - 0.5), 2 * (places[1::3] - 0.5)
    run = pliant.simulate(
        eqs, 0.6, start=pliant.State(q, v), method=pliant.GeneralizedAlpha(step=1e-3, spectral_radius=0.5)
    )
    assert run.status == "completed"
    total = np.asarray(run.energy["total"])
    assert np.diff(total).max() < 1e-3 * (total[0] - total[-1])
    assert total[-1] < total[0] - 0.1


def test_meshes_move_as_casadi_says() -> None:
    for name, cells in (("net", 2), ("cloth", 1)):
        eqs = pliant.derive(pliant.load(name, set={"cells": cells}))
        q, v = eqs.initial_state()
        rng = np.random.default_rng(0)
        q = q + 0.01 * rng.normal(size=len(q))
        for at, _ in eqs.binding.system.quaternions():
            q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
        v = rng.normal(size=len(v))
        a, _ = eqs.forward_dynamics(q, v)
        exact, _ = Oracle(eqs.binding).forward(0.0, q, v)
        np.testing.assert_allclose(a, exact, rtol=1e-8, atol=1e-8 * np.abs(a).max())


def net(cells: int, fading: float) -> pliant.Equations:
    """The bundled net with other edges."""
    text = (Path(pliant.__file__).parent / "models" / "net.yaml").read_text(encoding="utf-8")
    text = text.replace("damping_time: 20 ms", f"damping_time: 20 ms\n    fading: {fading}")
    return pliant.derive(load_text(text, set={"cells": cells}))


def test_the_sag_of_the_net_is_that_of_its_ropes() -> None:
    """A wide transition from slack to taut would make it sag more."""
    sharp, wide, bundled = (
        float(pliant.equilibrium(eqs).outputs["sag"])
        for eqs in (net(6, 1e-7), net(6, 0.01), pliant.derive(pliant.load("net", set={"cells": 6})))
    )
    assert bundled == pytest.approx(sharp, rel=1e-3)
    assert wide < 1.05 * sharp


def test_long_steps_through_slack_and_taut_ropes_solve_the_equations_of_the_method() -> None:
    """Whatever Newton's method does to get there: kept factors, shortened iterations, another guess."""
    method = pliant.GeneralizedAlpha(step=0.06, spectral_radius=0.5)
    eqs = net(6, 0.01)
    run = pliant.simulate(eqs, 0.3, method=method, save_at=0.06 * np.arange(6))
    assert run.timing.steps == 5
    a = run.dataset["a"].values
    assert_newmark_steps(eqs.binding, method, run.time, run.q, run.v, a)
    assert float(run["sag"][-1]) < -0.1


def test_a_fixed_step_that_newton_cannot_solve_is_done_in_shorter_ones() -> None:
    eqs = net(20, 0.01)
    runs = [
        pliant.simulate(eqs, 0.2, method=pliant.GeneralizedAlpha(step=step, spectral_radius=0.5), save_at=[0.2])
        for step in (0.1, 0.05)
    ]
    assert runs[0].status == runs[1].status == "completed"
    assert (runs[0].timing.rejected, runs[1].timing.rejected) == (1, 0)
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-12)


def test_parameters_change_a_mesh_without_deriving_again() -> None:
    text = """
pliant: 1
parameters: {side: 1 m, EA: 30 N}
meshes:
  net: {type: membrane, drawing: {rectangle: [=side, =side], cells: [2, 2]}, mass: 1 kg, stiffness: =EA}
"""
    eqs = pliant.derive(load_text(text))
    q, _ = eqs.initial_state({"side": 2.0})
    np.testing.assert_allclose(q.reshape(3, 3, 3)[2, 2], [2, 2, 0])
    other = pliant.derive(load_text(text.replace("side: 1 m", "side: 2 m").replace("30 N", "50 N")))
    q, v = other.initial_state()
    q[2] += 0.3
    a, _ = other.forward_dynamics(q, v)
    np.testing.assert_allclose(eqs.forward_dynamics(q, v, parameters={"side": 2.0, "EA": 50.0})[0], a, rtol=1e-12)


def test_nodes_held_by_a_moving_body_go_with_it() -> None:
    eqs = pliant.derive(pliant.load("sleeve"))
    q, _ = eqs.initial_state()
    left, right = (eqs.frame(f"fabric.clamped_{k}", q).position for k in (1, 2))
    np.testing.assert_allclose(np.linalg.norm(left - right), 0.076)
    turned = eqs.state({"shoulder": 0.5}).q
    arm = eqs.frame("arm", turned)
    np.testing.assert_allclose(arm.rotation.T @ (eqs.frame("fabric.clamped_1", turned).position - arm.position),
                               [-0.038, 0, -0.103], atol=1e-12)  # fmt: skip


def test_the_sleeve_is_found_at_rest_on_its_hanging_arm() -> None:
    """From an arm held out level, with slack ropes that have no stiffness: both sides hang alike, outside of the arm, where
    friction does not hold them before."""
    eqs = pliant.derive(pliant.load("sleeve"))
    held = pliant.equilibrium(eqs)
    assert (held.status, held.stable) == ("converged", True)
    assert held.coordinates["shoulder"] == pytest.approx(-np.radians(85), abs=0.02)
    rest = pliant.equilibrium(eqs, parameters={"grip": 0})
    assert (rest.status, rest.stable) == ("converged", True)
    assert rest.coordinates["shoulder"] == pytest.approx(-np.radians(85), abs=1e-9)
    places = {k: rest.frames[f"fabric.n{k}"].position for k in range(1, 16)}
    for left, right in ((1, 3), (4, 6), (7, 9), (10, 12), (13, 15)):
        np.testing.assert_allclose(places[left], places[right] * [-1, 1, 1], atol=1e-9)
    depths = [0.03 - np.hypot(*place[:2]) for place in places.values() if -0.36 < place[2] < 0]
    assert 0 < max(depths) < 7e-3, "it lies on the arm"


def test_sections_of_given_stiffness_need_no_material() -> None:
    """Beams of measured stiffness give the same motion as those of the section and material that have it."""
    mesh = "drawing: {rectangle: [20 cm, 10 cm], cells: [2, 1]}, sets: {rim: {plane: x}}, held: {rim: world}"
    area, second, k = np.pi * 0.005**2, np.pi * 0.005**4 / 4, 6 * 1.25 / (7 + 6 * 0.25)
    stiffness = [k * 4e5 * area] * 2 + [1e6 * area] + [1e6 * second] * 2 + [8e5 * second]
    inertia = [800 * second, 800 * second, 1600 * second]
    sections = (
        "{shape: circle, radius: 5 mm}",
        f"{{shape: stiffness, stiffness: {stiffness}, mass_per_length: {800 * area}, inertia_per_length: {inertia}}}",
    )
    found = []
    for section, material in zip(sections, (", material: gel", ""), strict=True):
        text = f"""
pliant: 1
sections: {{bar: {section}}}
materials: {{gel: {{density: 800 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.25}}}}
meshes: {{cloth: {{type: shell, {mesh}, section: bar{material}}}}}
"""
        eqs = pliant.derive(load_text(text))
        q, v = eqs.initial_state()
        found.append(eqs.forward_dynamics(eqs.binding.increment(q, np.linspace(0, 0.02, len(v))), v)[0])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-6 * np.abs(found[0]).max())


def test_nodes_by_the_names_of_the_file(tmp_path: Path) -> None:
    """Lines of the layer `seam` support the net, although only the layer distinguishes them from the others."""
    (tmp_path / "a.dxf").write_text(dxf(ZIGZAG).replace("8\n0\n", "8\nseam\n", 2))
    held = "sets: {top: {label: seam}}, held: {top: world}, ends: free"
    mesh = f"{{type: membrane, drawing: {{file: a.dxf}}, mass: 1 kg, stiffness: 1 N, {held}}}"
    spec = load_text(f"pliant: 1\nmeshes:\n  net: {mesh}\n", folder=tmp_path)
    assert pliant.derive(spec).coordinates == tuple(f"net.n{k}.{axis}" for k in (4, 5) for axis in "xyz")


BAR = "sections: {bar: {shape: circle, radius: 1 cm}}\n"
FAULTS = {
    "no file": ("drawing: {file: none.iges}, mass: 1 kg, stiffness: 1 N", "there is no file"),
    "empty set": (
        "drawing: {rectangle: [1, 1], cells: [2, 2]}, mass: 1 kg, stiffness: 1 N, sets: {far: {box: [[5, 5, 5], [6, 6, 6]]}}",
        "has no nodes",
    ),
    "no set": (
        "drawing: {rectangle: [1, 1], cells: [2, 2]}, mass: 1 kg, stiffness: 1 N, held: {rim: world}",
        "no set 'rim'",
    ),
    "held twice": (
        "drawing: {rectangle: [1, 1], cells: [2, 2]}, mass: 1 kg, stiffness: 1 N, sets: {a: {plane: x}, b: {plane: y}}, "
        "held: {a: world, b: bar}",
        "node 1 is in 'a', held by world, and in 'b', held by bar",
    ),
    "no unit": ("drawing: {file: a.dxf, unit: furlong}, mass: 1 kg, stiffness: 1 N", "unknown unit 'furlong'"),
    "no mass": ("drawing: {rectangle: [1, 1], cells: [2, 2]}, stiffness: 1 N", "the mesh has no mass"),
    "no stiffness": ("drawing: {rectangle: [1, 1], cells: [2, 2]}, mass: 1 kg", "no stiffness"),
    "too large": ("drawing: {rectangle: [1, 1], cells: [2000, 2000]}, mass: 1 kg, stiffness: 1 N", "4004001 nodes"),
    "number": (
        "drawing: {rectangle: [1, 1], cells: [1, 1]}, mass: 1 kg, stiffness: 1 N, sets: {a: {nodes: 9}}",
        "no node 9",
    ),
    "label": (
        "drawing: {file: a.dxf}, mass: 1 kg, stiffness: 1 N, sets: {a: {label: rime}}",
        "no node has the label 'rime'",
    ),
    "no labels": (
        "drawing: {rectangle: [1, 1], cells: [1, 1]}, mass: 1 kg, stiffness: 1 N, sets: {a: {label: rim}}",
        "no node has the label 'rim'",
    ),
    "no material": (
        "drawing: {rectangle: [1, 1], cells: [1, 1]}, mass: 1 kg, section: bar",
        "`section` needs `material` beside it",
    ),
    "two spokes": ("drawing: {web: 1 m, spokes: 2, rings: 2}, mass: 1 kg, stiffness: 1 N", "three spokes"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_with_a_mesh_is_said(name: str, tmp_path: Path) -> None:
    mesh, message = FAULTS[name]
    (tmp_path / "a.dxf").write_text(dxf(ZIGZAG))
    with pytest.raises(SpecError, match=message):
        load_text(f"pliant: 1\n{BAR}meshes:\n  net: {{type: membrane, {mesh}}}\n", folder=tmp_path)


def test_a_reference_to_a_node_that_is_not_there() -> None:
    mesh = "net: {type: membrane, drawing: {rectangle: [1, 1], cells: [1, 1]}, mass: 1 kg, stiffness: 1 N}"
    with pytest.raises(SpecError, match="has no frame 'n5'"):
        load_text(f"pliant: 1\nmeshes:\n  {mesh}\noutputs:\n  place: {{frame: net.n5, quantity: position}}\n")


@pytest.mark.parametrize("held", ["world", "arm"])
def test_tangents_of_a_net(held: str) -> None:
    """Stiffness and damping are the derivatives of the residual: with ropes between nodes that are only displaced, to the world,
    and to a body that turns."""
    eqs = pliant.derive(
        load_text(f"""\
pliant: 1
bodies: {{arm: {{mass: 1 kg, inertia: {{principal: [0.1, 0.1, 0.1]}}}}}}
joints: {{hinge: {{type: revolute, axis: y, child: arm}}}}
meshes:
  net:
    type: membrane
    drawing: {{rectangle: [1 m, 60 cm], cells: [4, 2]}}
    sets: {{rim: {{plane: x}}}}
    held: {{rim: {held}}}
    mass: 200 g
    stiffness: 50 N
    damping_time: 10 ms
    direction: both
""")
    )
    bound, rng = eqs.binding, np.random.default_rng(0)
    q = rng.normal(size=bound.nq)
    v, a, no_rows = rng.normal(size=bound.nv), rng.normal(size=bound.nv), np.zeros(0)
    at = bound.linearized(0.0, q, v, a, no_rows)
    step = 1e-6
    for k in range(bound.nv):
        e = step * np.eye(bound.nv)[k]
        by_q = bound.inverse(0.0, bound.increment(q, e), v, a) - bound.inverse(0.0, bound.increment(q, -e), v, a)
        by_v = bound.inverse(0.0, q, v + e, a) - bound.inverse(0.0, q, v - e, a)
        for found, expected in ((at.stiffness, by_q / (2 * step)), (at.damping, by_v / (2 * step))):
            size = abs(found).max()
            np.testing.assert_allclose(found[:, [k]].toarray().ravel(), expected, rtol=0, atol=1e-7 * size)
