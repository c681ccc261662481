"""Rods with fewer free strains: limits of stiff rods, exact restrictions of free ones; strains as polynomials."""

import numpy as np
import pytest
from rod_cases import ARM, arm, static

from pliant import derive, equilibrium, load_text, modes, simulate
from pliant.parts.rod.strains import LABELS, free_strains
from pliant.robot.rod_switch import with_rod_model

LOADS = {"gravity": 2.0, "fx": -0.2, "fy": 0.3, "fz": 0.3}
PLANAR = {"gravity": 2.0, "fx": -0.2, "fz": 0.3}
KINDS = ("pcs, elements: 3", "pseudo_rigid, elements: 3", "gvs, order: 1")
SETS = {"[planar, unshearable]": 2, "kirchhoff": 3}


def rod(kind, strains="null", extra=""):
    text = ARM.replace(
        "    section: thick", f"    section: thick\n    strains: {strains}\n    model: {{kind: {kind}}}{extra}"
    )
    return derive(load_text(text.replace("parameters:", "parameters:\n  factor: 1")))


def stiffened(kind, strains, extra=""):
    """The rod with all strains, and a factor on the stiffness of those that are not named."""
    free = free_strains([word.strip() for word in strains.strip("[]").split(",")])
    factors = ["1" if k in free else "=factor" for k in range(6)]
    return rod(kind, "null", f"\n    stiffness_factors: [{', '.join(factors)}]{extra}")


def tip(eqs, loads, **parameters):
    q = static(eqs, parameters, loads)
    return q, eqs.frame("arm.tip", q, parameters={**parameters, **loads})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("strains", "count"), SETS.items())
def test_stiff_rods_tend_to_rods_without_these_strains(kind, strains, count):
    loads = PLANAR if "planar" in strains else LOADS
    reduced, full = rod(kind, strains), stiffened(kind, strains)
    assert len(reduced.rates) * 6 == len(full.rates) * count
    _, end = tip(reduced, loads)
    off = [np.linalg.norm(tip(full, loads, factor=f)[1].position - end.position) for f in (10.0, 100.0, 1000.0)]
    assert off[0] > 1e-5
    assert off[0] / off[1] == pytest.approx(10, rel=0.2)
    assert off[1] / off[2] == pytest.approx(10, rel=0.03)


def test_a_stiff_rod_swings_as_one_without_these_strains():
    reduced, full = rod("pcs, elements: 3", "kirchhoff"), stiffened("pcs, elements: 3", "kirchhoff")
    ideal = modes(reduced, at="initial", count=3).frequencies
    off = [
        np.abs(modes(full, at="initial", count=3, parameters={"factor": f}).frequencies / ideal - 1)
        for f in (100.0, 1000.0)
    ]
    assert off[0] / off[1] == pytest.approx(10, rel=0.1)


CURVED = """
    rest: [0.02, 0, -0.05, 1.5, 0, 0.8]"""


@pytest.mark.parametrize("kind", KINDS)
def test_strains_that_are_not_free_stay_as_they_start(kind):
    """A rod that is bent and twisted at rest out of the plane that it may still bend in."""
    reduced, full = rod(kind, "[planar, unshearable]", CURVED), stiffened(kind, "[planar, unshearable]", CURVED)
    starts = [eqs.frame("arm.tip", eqs.initial_state().q) for eqs in (reduced, full)]
    assert starts[0].position == pytest.approx(starts[1].position, abs=1e-13)
    assert starts[0].rotation == pytest.approx(starts[1].rotation, abs=1e-13)
    _, end = tip(reduced, LOADS)
    assert np.linalg.norm(end.position - starts[0].position) > 0.02
    off = [np.linalg.norm(tip(full, LOADS, factor=factor)[1].position - end.position) for factor in (1e3, 1e4)]
    assert off[0] / off[1] == pytest.approx(10, rel=0.05)


EVERYTHING = """
pliant: 1
parameters: {pressure: {value: 20 kPa, input: true}, bend: 0.7 1/m}
sections:
  base: {shape: polygon, vertices: [[-10 mm, -8 mm], [12 mm, -6 mm], [8 mm, 9 mm], [-6 mm, 5 mm]]}
  end: {shape: polygon, vertices: [[-8 mm, -6 mm], [9 mm, -4 mm], [6 mm, 7 mm], [-5 mm, 4 mm]]}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 300 kPa, poissons_ratio: 0.45}}
rods:
  arm:
    rotation: {axis: x, angle: 60 deg}
    length: 20 cm
    section: [base, end]
    material: rubber
    law: neo_hookean
    rest: [0.01, 0, 0.02, =bend, 0.2, 0.5]
    damping: [0.1, 0.2, 0.3, 1e-4, 2e-4, 3e-4]
    rayleigh: {alpha: 2 1/s, beta: 3 ms}
    chambers: {side: {pressure: =pressure, area: 30 mm^2, positions: [[5 mm, 3 mm]]}}
    frames: {ring: 8 cm}
    strains: STRAINS
    model: {kind: KIND}
tendons:
  line: {type: tension, through: [{rod: arm, start: 0, end: 15 cm, offset: [8 mm, 0], eyelets: 3}], tension: 1 N}
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS[:2], "gvs, order: 1, elements: 2"])
def test_equations_are_those_of_all_strains_restricted(kind):
    """Tapered, pressed, pulled by a tendon, damped, curved at rest, with products of inertia: all at once."""
    full, reduced = (
        derive(load_text(EVERYTHING.replace("KIND", kind).replace("STRAINS", words)))
        for words in ("null", "[stretch, bend_y, twist]")
    )
    rng = np.random.default_rng(5)
    q, v = full.initial_state()
    kept = [full.coordinates.index(name) for name in reduced.coordinates]
    assert {name.partition(".")[2].partition("[")[0] for name in reduced.coordinates} == {"stretch", "bend_y", "twist"}
    q[kept] += 0.1 * rng.normal(size=len(kept))
    v[kept] = 0.1 * rng.normal(size=len(kept))
    for inputs, parameters in (({}, {}), ({"pressure": 1e4}, {"bend": 0.7})):
        whole, part = (eqs.at(inputs=inputs, parameters=parameters) for eqs in (full, reduced))
        small, slow = q[kept], v[kept]
        for frame in ("arm.ring", "arm.tip"):
            assert part.frame(frame, small, slow).velocity == pytest.approx(
                whole.frame(frame, q, v).velocity, abs=1e-13
            )
        M = whole.mass_matrix(q).toarray()[np.ix_(kept, kept)]
        np.testing.assert_allclose(part.mass_matrix(small).toarray(), M, rtol=1e-10, atol=1e-16)
        np.testing.assert_allclose(part.bias(small, slow), whole.bias(q, v)[kept], rtol=1e-9, atol=1e-12)
        ours, theirs = part.energy(small, slow), whole.energy(q, v)
        assert ours.kinetic == pytest.approx(theirs.kinetic, rel=1e-12)
        assert ours.potential == pytest.approx(theirs.potential, rel=1e-12)
        zero, none = np.zeros(len(q)), np.zeros(0)
        K = whole.linearization(q, v, a=zero, multipliers=none).stiffness.toarray()[np.ix_(kept, kept)]
        found = part.linearization(small, slow, a=np.zeros(len(kept)), multipliers=none).stiffness.toarray()
        np.testing.assert_allclose(found, K, rtol=1e-9, atol=1e-9 * np.abs(K).max())


def test_sections_in_a_plane_are_a_restriction_of_space():
    plane, space = rod("cosserat, elements: 3", "planar"), rod("cosserat, elements: 3")
    assert len(plane.rates) * 2 == len(space.rates)
    _, inside = tip(plane, PLANAR)
    _, outside = tip(space, PLANAR)
    assert np.linalg.norm(inside.position - [0.5, 0, 0]) > 0.05
    assert inside.position == pytest.approx(outside.position, abs=1e-9)


@pytest.mark.parametrize("kind", ["pcs, elements: 3", "gvs, order: 1"])
def test_energy_stays_while_a_rod_without_shear_falls(kind):
    eqs = rod(kind, "[planar, unshearable]").at(parameters={"gravity": 9.81})
    run = simulate(eqs, 0.5)
    assert run.remarks == ()
    kinetic, potential = run.energy["kinetic"].values, run.energy["potential"].values
    total = kinetic + potential
    assert np.ptp(total) < 1e-3 * kinetic.max()
    tips = run["arm.tip"].position
    assert np.ptp(tips[:, 2]) > 0.05
    assert np.abs(tips[:, 1]).max() < 1e-12


def test_a_planar_rod_of_ten_segments_without_shear_has_twenty_rates():
    names = rod("pcs, elements: 10", "[planar, unshearable]").coordinates
    assert set(names) == {f"arm.{label}[{k}]" for label in ("stretch", "bend_y") for k in range(1, 11)}


def test_words_combine_by_what_they_have_in_common():
    cases = {
        ("planar",): "shear_x stretch bend_y",
        ("planar_yz",): "shear_y stretch bend_x",
        ("kirchhoff",): "bend_x bend_y twist",
        ("unshearable", "inextensible"): "bend_x bend_y twist",
        ("planar", "kirchhoff"): "bend_y",
        ("bend_x", "twist", "stretch"): "stretch bend_x twist",
        ("bend_x", "twist", "planar_yz"): "bend_x",
        ("planar_xz", "planar_yz"): "stretch",
        (): "",
    }
    for words, expected in cases.items():
        assert [LABELS[k] for k in free_strains(words)] == expected.split()
    assert [LABELS[k] for k in free_strains(None)] == list(LABELS)


# -- arcs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("strains", "names"), [("planar", ["b_x", "length"]), ("[planar_yz, kirchhoff]", ["b_y"])])
def test_arcs_in_a_plane(strains, names):
    full, reduced = rod("pcc"), rod("pcc", strains)
    assert list(reduced.coordinates) == [f"arm.{name}[1]" for name in names]
    kept = [full.coordinates.index(name) for name in reduced.coordinates]
    q, v = full.initial_state()
    q[kept], v[kept] = q[kept] * 1.1 + 0.2, 0.5
    M = full.mass_matrix(q).toarray()[np.ix_(kept, kept)]
    np.testing.assert_allclose(reduced.mass_matrix(q[kept]).toarray(), M, rtol=1e-12)
    np.testing.assert_allclose(reduced.bias(q[kept], v[kept]), full.bias(q, v)[kept], rtol=1e-10, atol=1e-13)
    assert reduced.frame("arm.tip", q[kept]).position == pytest.approx(full.frame("arm.tip", q).position, abs=1e-13)


# -- strains as polynomials --------------------------------------------------------------------------------------------


def test_constant_strains_are_those_of_segments():
    segments, constant = rod("pcs, elements: 2"), rod("gvs, order: 0, elements: 2")
    assert segments.coordinates == constant.coordinates
    rng = np.random.default_rng(1)
    q, v = 0.2 * rng.normal(size=12), rng.normal(size=12)
    np.testing.assert_allclose(constant.forward_dynamics(q, v)[0], segments.forward_dynamics(q, v)[0], rtol=1e-9)


def test_polynomials_converge_fast_in_their_order_and_at_fourth_order_in_their_length():
    reference = arm("finite_element:24")
    exact = reference.frame("arm.tip", static(reference, {}, LOADS), parameters=LOADS).position
    error = {}
    for kind in ("gvs, order: 0", "gvs, order: 1", "gvs, order: 1, elements: 2", "gvs, order: 1, elements: 4"):
        error[kind] = np.linalg.norm(tip(rod(kind), LOADS)[1].position - exact)
    assert error["gvs, order: 1"] < error["gvs, order: 0"] / 8
    assert error["gvs, order: 1, elements: 4"] < error["gvs, order: 1, elements: 2"] / 10
    assert error["gvs, order: 1, elements: 4"] < 1e-4


def test_frequencies_of_polynomials():
    exact = modes(arm("finite_element:24"), at="initial", count=5).frequencies
    coarse, fine = (modes(rod(f"gvs, order: 1, elements: {n}"), at="initial", count=5).frequencies for n in (2, 4))
    assert fine == pytest.approx(exact, rel=3e-3)
    assert np.abs(fine / exact - 1).max() < np.abs(coarse / exact - 1).max() / 5


def test_an_order_for_each_strain():
    eqs = rod("gvs, order: {stretch: 0, bend_x: 1, bend_y: 2}", "[stretch, bend_x, bend_y]")
    assert list(eqs.coordinates) == [
        "arm.stretch[1]",
        *(f"arm.bend_x[{k}]" for k in (1, 2)),
        *(f"arm.bend_y[{k}]" for k in (1, 2, 3)),
    ]
    # a force across a slender rod bends it linearly along its length, its weight by a parabola: small ones are met exactly
    loads = {"gravity": 1e-4}
    q, end = tip(eqs, loads)
    E, inertia, mass = 200e3, 0.06**3 * 0.04 / 12, 1000 * 0.06 * 0.04
    assert end.position[2] == pytest.approx(-mass * 1e-4 * 0.5**4 / (8 * E * inertia), rel=1e-6)
    bend = q[3:]
    x = 0.5 * (np.polynomial.legendre.leggauss(3)[0] + 1)
    assert bend == pytest.approx(mass * 1e-4 * (0.5 * (1 - x)) ** 2 / (2 * E * inertia), rel=1e-6)


def test_a_curved_rod_starts_near_its_shape():
    points = "[[0, 0, 0], [1 cm, 0, 17 cm], [6 cm, 3 cm, 32 cm], [12 cm, 8 cm, 45 cm]]"
    text = f"\n    shape: {{type: points, points: {points}}}\n    stress_free: false"
    shape = rod("pcs, elements: 40", "null", text)
    at = shape.frame("arm.tip", shape.initial_state().q)
    for strains in ("null", "unshearable"):
        eqs = rod("gvs, order: 1, elements: 3", strains, text)
        assert np.linalg.norm(eqs.frame("arm.tip", eqs.initial_state().q).position - at.position) < 2e-3


def test_a_rod_that_is_free_of_stress_in_its_shape_stays_there():
    middle = "{at: 20 cm, position: [2 cm, 1 cm, 19 cm], rotation: {axis: y, angle: 20 deg}}"
    end = "{at: 0.5 m, position: [15 cm, 8 cm, 45 cm], rotation: {axis: y, angle: 50 deg}}"
    shape = f"\n    shape: {{type: poses, poses: [{{at: 0}}, {middle}, {end}]}}"
    for strains in ("null", "kirchhoff"):
        eqs = rod("gvs, order: 1, elements: 2", strains, shape)
        q, v = eqs.initial_state()
        assert eqs.energy(q, v).potential == pytest.approx(0, abs=1e-20)
        assert np.abs(eqs.bias(q, v)).max() < 1e-12
        found = equilibrium(eqs)
        np.testing.assert_allclose(found.q, q, atol=1e-10)


def test_switching_to_gvs_keeps_its_strains():
    text = ARM.replace("    section: thick", "    section: thick\n    strains: kirchhoff")
    switched = with_rod_model(load_text(text), "arm", "gvs:1")
    assert len(derive(switched).rates) == 6
