"""Polynomials along a rod: the published energy is an integral, and rods in a plane are restrictions of those in space."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pliant import Equations, SpecError, derive, equilibrium, load_text, simulate
from pliant.parts.rod.polynomial import radau

LENGTH, GA, EA, EI, GJ = 0.05, 33.5, 100.6, 3.9e-3, 2.6e-3
STIFFNESS = np.array([GA, GA, EA, EI, EI, GJ])
BAR = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{fx: {{value: 0 N, input: true}}, fz: {{value: 0 N, input: true}}}}
sections:
  bar: {{shape: stiffness, stiffness: {STIFFNESS.tolist()}, mass_per_length: 0.56, inertia_per_length: [1e-5, 1e-5, 2e-5]}}
rods:
  arm:
    length: {LENGTH}
    section: bar
    strains: STRAINS
    model: {{kind: rom, order: ORDER, map: published, orientation: ORIENTATION}}
loads: {{pull: {{frame: arm.tip, force: [=fx, 0, =fz]}}}}
outputs: {{tip: {{frame: arm.tip}}}}
"""


def bar(order: int, orientation: str = "three", strains: str = "null") -> Equations:
    text = BAR.replace("ORDER", str(order)).replace("ORIENTATION", orientation).replace("STRAINS", strains)
    return derive(load_text(text))


def published_energy(order: int, displacements: np.ndarray, turns: np.ndarray, orientation: str) -> float:
    """The elastic energy of the publication: eqs. 10 to 13, and a trapezoidal rule along the rod."""
    s = np.linspace(0, LENGTH, 2001)

    def series(first: int, sections: np.ndarray, values: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        powers = np.arange(first, first + order)
        C = np.linalg.solve(sections[:, None] ** powers, values - base)
        slopes = (powers * s[:, None] ** (powers - 1.0)) @ C
        return base + s[:, None] ** powers @ C, slopes

    at = LENGTH * radau(order)
    _, slope = series(2, at, displacements, np.zeros(3))
    slope = slope + [0, 0, 1]
    if orientation == "four":
        Q, dQ = series(1, at, turns, np.array([1.0, 0, 0, 0]))
        norm = np.linalg.norm(Q, axis=1, keepdims=True)
        dQ = dQ / norm - Q * np.sum(Q * dQ, axis=1, keepdims=True) / norm**3
        Q = Q / norm
    else:
        vector, dvector = series(1, at, turns, np.zeros(3))
        w = np.sqrt(1 - np.sum(vector**2, axis=1, keepdims=True))
        Q, dQ = np.hstack([w, vector]), np.hstack([-np.sum(vector * dvector, axis=1, keepdims=True) / w, dvector])
    w, u, dw, du = Q[:, :1], Q[:, 1:], dQ[:, :1], dQ[:, 1:]
    zeta = 2 * (w * du - dw * u - np.cross(u, du))
    turned_back = slope + 2 * np.cross(-u, np.cross(-u, slope)) + 2 * w * np.cross(-u, slope)
    strains = np.hstack([turned_back - [0, 0, 1], zeta])
    density = 0.5 * np.sum(STIFFNESS * strains**2, axis=1)
    return float(np.sum((density[1:] + density[:-1]) / 2) * (s[1] - s[0]))


@pytest.mark.parametrize("orientation", ["three", "four"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_energy_of_the_published_map_is_the_published_integral(order: int, orientation: str) -> None:
    eqs, random = bar(order, orientation), np.random.default_rng(order)
    displacements = 0.1 * LENGTH * radau(order)[:, None] ** 2 * random.normal(size=(order, 3))
    turns = 0.3 * radau(order)[:, None] * random.normal(size=(order, 3))
    if orientation == "four":
        turns = np.hstack([np.sqrt(1 - np.sum(turns**2, axis=1, keepdims=True)), turns])
    q = np.concatenate([displacements.ravel(), turns.ravel()])
    expected = published_energy(order, displacements, turns, orientation)
    assert eqs.energy(q, np.zeros(len(eqs.rates))).potential == pytest.approx(expected, rel=3e-5)


@pytest.mark.parametrize("force", [0.2, 1.0])
def test_the_published_example_at_rest(force: float) -> None:
    """The simple example of the publication (eqs. 14 to 16): three coefficients in a plane, found by minimizing its energy."""
    s = (np.arange(400) + 0.5) * LENGTH / 400

    def energy(C: np.ndarray) -> float:
        if abs(C[2]) * LENGTH >= 1:
            return 1e3
        theta, dx, dz = 2 * np.arcsin(C[2] * s), 2 * C[0] * s, 1 + 2 * C[1] * s
        shear, stretch = np.cos(theta) * dx - np.sin(theta) * dz, np.sin(theta) * dx + np.cos(theta) * dz - 1
        bend = 2 * C[2] / np.sqrt(1 - (C[2] * s) ** 2)
        stored = np.mean(0.5 * (GA * shear**2 + EA * stretch**2 + EI * bend**2)) * LENGTH
        return float(stored - force * C[0] * LENGTH**2)

    options = {"xatol": 1e-9, "fatol": 1e-16, "maxiter": 20000}
    found = minimize(energy, np.zeros(3), method="Nelder-Mead", options=options).x * LENGTH**2
    eqs = bar(1, strains="planar")
    assert eqs.coordinates == ("arm.displacement_x[1]", "arm.displacement_z[1]", "arm.quaternion_y[1]")
    tip = equilibrium(eqs, inputs={"fx": force}).outputs["tip"]
    assert np.asarray(tip) == pytest.approx([found[0], 0, LENGTH + found[1]], abs=3e-7)


def test_how_far_the_published_map_of_order_one_stretches() -> None:
    """As stated in the reference: three quarters of what it should under a load, half under its weight."""
    tip = equilibrium(bar(1), inputs={"fz": 0.1}).outputs["tip"]
    assert tip[2] - LENGTH == pytest.approx(0.75 * 0.1 * LENGTH / EA, rel=1e-6)
    hanging = derive(load_text(BAR.replace("[0, 0, 0]", "[0, 0, 9.81]").replace("ORDER", "1").replace(
        "ORIENTATION", "four").replace("STRAINS", "null")))  # fmt: skip
    tip = equilibrium(hanging).outputs["tip"]
    assert tip[2] - LENGTH == pytest.approx(0.5 * 0.56 * 9.81 * LENGTH**2 / (2 * EA), rel=1e-3)


ARM = """
pliant: 1
world: {gravity: [0, 0, -9.81]}
parameters: {pressure: {value: 20 kPa, input: true}, force: {value: 0.2 N, input: true}}
sections: {base: {shape: circle, radius: 10 mm}, end: {shape: circle, radius: 7 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 300 kPa, poissons_ratio: 0.45}}
bodies: {cart: {mass: 50 g, inertia: {principal: [1e-5, 1e-5, 1e-5]}}}
joints: {swing: {type: universal, child: cart, angle1: {initial: 0.3, rate: 1}, angle2: {initial: -0.2}}}
rods:
  arm:
    parent: PARENT
    rotation: [{axis: x, angle: 180 deg}, {axis: z, angle: TURN}]
    length: 20 cm
    section: [base, end]
    material: rubber
    damping: [0.1, 0.1, 0.3, 1e-4, 1e-4, 3e-4]
    rest: REST
    chambers: {side: {pressure: =pressure, area: 30 mm^2, positions: [POSITION]}}
    frames: {ring: 8 cm}
    strains: STRAINS
    model: {kind: polynomial, order: 2, map: MAP, orientation: ORIENTATION}
loads: {push: {frame: arm.tip, expressed_in: arm, force: FORCE}}
tendons: {line: {type: tension, through: [{rod: arm, start: 0, end: 15 cm, offset: POSITION, eyelets: 3}], tension: 0.5 N}}
outputs: {tip: {frame: arm.tip}, ring: {frame: arm.ring}}
"""
IN_PLANE = {
    "planar": {"POSITION": "[5 mm, 0]", "FORCE": "[=force, 0, 0]", "REST": "[0.01, 0, 0.02, 0, 0.7, 0]", "TURN": "0 deg"},
    "planar_yz": {
        "POSITION": "[0, 5 mm]", "FORCE": "[0, =force, 0]", "REST": "[0, 0.01, 0.02, 0.7, 0, 0]", "TURN": "90 deg",
    },
}  # fmt: skip


def arm(strains: str, values: dict[str, str], **others: str) -> Equations:
    text = ARM
    for word, value in {**values, **others, "STRAINS": strains}.items():
        text = text.replace(word, value)
    if others["PARENT"] == "world":
        text = "\n".join(line for line in text.splitlines() if not line.startswith(("bodies", "joints")))
    return derive(load_text(text))


@pytest.mark.slow
@pytest.mark.parametrize("strains", IN_PLANE)
@pytest.mark.parametrize("map", ["complete", "published"])
@pytest.mark.parametrize("orientation", ["three", "four"])
def test_a_rod_in_a_plane_moves_as_in_space(strains: str, map: str, orientation: str) -> None:
    options = {"PARENT": "world", "MAP": map, "ORIENTATION": orientation}
    space, plane = arm("null", IN_PLANE[strains], **options), arm(strains, IN_PLANE[strains], **options)
    assert len(plane.rates) == (8 if map == "complete" else 6)
    rests = [equilibrium(eqs).outputs for eqs in (space, plane)]
    np.testing.assert_allclose(rests[1]["ring"], rests[0]["ring"], atol=1e-9)
    assert abs(rests[0]["tip"][0]) > 1e-2
    runs = [simulate(eqs, 0.1, rtol=1e-7) for eqs in (space, plane)]
    np.testing.assert_allclose(runs[1]["tip"].values[-1], runs[0]["tip"].values[-1], atol=1e-6)


def test_a_rod_in_the_plane_of_a_base_that_swings_in_space() -> None:
    """Equations are those in space, restricted: also where the base leaves every plane."""
    options = {"PARENT": "cart", "MAP": "complete", "ORIENTATION": "three"}
    space, plane = (arm(words, IN_PLANE["planar"], **options) for words in ("null", "planar"))
    kept = [space.coordinates.index(name) for name in plane.coordinates]
    random = np.random.default_rng(3)
    small, slow = 0.05 * random.normal(size=len(kept)), random.normal(size=len(kept))
    q, v = np.zeros(len(space.rates)), np.zeros(len(space.rates))
    q[kept], v[kept] = small, slow
    M = space.mass_matrix(q).toarray()[np.ix_(kept, kept)]
    np.testing.assert_allclose(plane.mass_matrix(small).toarray(), M, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(plane.bias(small, slow), space.bias(q, v)[kept], rtol=1e-9, atol=1e-11)


def test_a_shape_or_a_rest_strain_out_of_the_plane_is_refused() -> None:
    out = {**IN_PLANE["planar"], "REST": "[0, 0, 0, 0.5, 0, 0]"}
    with pytest.raises(SpecError, match="out of the xz plane"):
        arm("planar", out, PARENT="world", MAP="complete", ORIENTATION="four")
    bent = BAR.replace("    section: bar", "    section: bar\n    shape: {type: arc, angle: 40 deg, direction: 90 deg}")
    with pytest.raises(SpecError, match="its shape leaves that plane"):
        derive(load_text(bent.replace("ORDER", "2").replace("ORIENTATION", "four").replace("STRAINS", "planar")))
