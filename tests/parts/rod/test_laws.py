"""Hyperelastic laws of rods: their known formulas, and integrals over the section of the solids' own energies."""

import numpy as np
import pytest

from pliant import AnalysisFailed, SpecError, derive, dump, equilibrium, load_text, simulate
from pliant.engine.kernel import coordinate_force_kernels
from pliant.engine.program import EvaluationError
from pliant.parts.rod.pieces import piece_force, segment_piece
from pliant.robot.rod_switch import with_rod_model

E, RADIUS, LENGTH = 200e3, 0.015, 0.3
AREA, SECOND = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
NUMBERS = {"neo_hookean": [], "mooney_rivlin": [0.3], "gent": [4.0], "ogden": [0.7, 1.8, 0.5, 4.0, -0.2, -2.0]}
WORDS = {
    "neo_hookean": "",
    "mooney_rivlin": ", mooney_ratio: 0.3",
    "gent": ", gent_limit: 4",
    "ogden": ", ogden_terms: [[0.7, 1.8], [0.5, 4], [-0.2, -2]]",
}

ROD = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{pull: 0 N, bend: 0 N*m, modulus: {E} Pa}}
sections: {{round: {{shape: circle, radius: {RADIUS}}}}}
materials: {{rubber: {{density: 1000, youngs_modulus: =modulus, poissons_ratio: 0.5 NUMBERS}}}}
rods: {{arm: {{length: {LENGTH}, section: round, material: rubber, law: LAW EXTRA}}}}
loads: {{tip: {{frame: arm.tip, force: [0, 0, =pull], moment: [=bend, 0, 0]}}}}
"""


def rod(law, word, extra=""):
    text = ROD.replace("NUMBERS", WORDS[law]).replace("LAW", law).replace("EXTRA", extra)
    return derive(with_rod_model(load_text(text), "arm", word))


def stored(law, F):
    """Energy per volume of the solid at deformation gradients F (..., 3, 3), from its definition."""
    C = np.swapaxes(F, -1, -2) @ F
    first = np.trace(C, axis1=-2, axis2=-1)
    second = (first**2 - np.trace(C @ C, axis1=-2, axis2=-1)) / 2
    c, shear = NUMBERS[law], E / 3
    if law == "neo_hookean":
        return shear / 2 * (first - 3)
    if law == "mooney_rivlin":
        return shear / 2 * ((1 - c[0]) * (first - 3) + c[0] * (second - 3))
    if law == "gent":
        return -shear / 2 * c[0] * np.log(1 - (first - 3) / c[0])
    stretches = np.sqrt(np.linalg.eigvalsh(C))
    total = 0.0
    for share, exponent in zip(c[::2], c[1::2], strict=True):
        mu = 2 * shear * share / exponent
        total = total + mu / exponent * (np.sum(stretches**exponent, axis=-1) - 3)
    return total


def uniaxial_stress(law, x):
    """Force per undeformed area in uniaxial stretch, as textbooks have it."""
    c, mu = NUMBERS[law], E / 3
    if law == "neo_hookean":
        return mu * (x - x**-2)
    if law == "mooney_rivlin":
        return mu * (x - x**-2) * (1 - c[0] + c[0] / x)
    if law == "gent":
        return mu * c[0] / (c[0] - x**2 - 2 / x + 3) * (x - x**-2)
    terms = zip(c[::2], c[1::2], strict=True)
    return sum(2 * mu * share / a * (x ** (a - 1) - x ** (-a / 2 - 1)) for share, a in terms)


def kernel_constants(law):
    G = E / 3
    stiffness = [G * AREA, G * AREA, E * AREA, E * SECOND, E * SECOND, 2 * G * SECOND]
    return np.concatenate([[1.0], stiffness, np.zeros(2), np.zeros(12), np.ones(6), NUMBERS[law]])


def section(law, strain):
    """Force along the strains and energy of a unit length of rod."""
    value = coordinate_force_kernels(piece_force(segment_piece(), law)).functions[0]
    force, powers = value(strain, np.zeros(6), kernel_constants(law), [])
    return np.asarray(force).ravel(), float(powers[0])


@pytest.mark.parametrize("law", WORDS)
@pytest.mark.parametrize("x", [0.6, 1.0, 1.7])
def test_uniaxial_stretch_is_exact(law, x):
    force, energy = section(law, [0, 0, x - 1, 0, 0, 0])
    assert -force[2] == pytest.approx(AREA * uniaxial_stress(law, x), rel=1e-12, abs=1e-9)
    assert energy == pytest.approx(AREA * stored(law, np.diag([x**-0.5, x**-0.5, x])), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("law", WORDS)
def test_small_strains_have_the_moduli_of_the_material(law):
    step = 1e-6
    for k, stiffness in enumerate(kernel_constants(law)[1:7]):
        strain = step * np.eye(6)[k]
        assert -section(law, strain)[0][k] == pytest.approx(stiffness * step, rel=3e-6)


@pytest.mark.parametrize("law", WORDS)
@pytest.mark.parametrize("x", [0.7, 1.0, 1.6])
@pytest.mark.parametrize("way", ["bend", "twist", "shear"])
def test_the_stretched_section_by_integration_over_its_points(law, x, way):
    """Second derivative of the energy of all points of a round section, by shear, bend or twist of the stretched rod."""
    r, weights = np.polynomial.legendre.leggauss(12)
    r, weights = RADIUS * (r + 1) / 2, weights / 2 * RADIUS
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    R, phi = np.meshgrid(r, angle, indexing="ij")
    dA = (weights * r)[:, None] * np.full(phi.shape, 2 * np.pi / 12)
    X, Y = R * np.cos(phi), R * np.sin(phi)

    def energy(amount):
        F = np.zeros((*R.shape, 3, 3))
        stretch = np.full(R.shape, x)
        if way == "bend":  # each fibre is in uniaxial stretch, and sits where the thinner section has it
            stretch = x + amount * Y / np.sqrt(x)
        for i in range(2):
            F[..., i, i] = stretch**-0.5
        F[..., 2, 2] = stretch
        if way == "twist":
            F[..., 0, 2], F[..., 1, 2] = -amount * Y / np.sqrt(x), amount * X / np.sqrt(x)
        if way == "shear":
            F[..., 0, 2] = amount
        return np.sum(dA * stored(law, F))

    h = {"bend": 1.0, "twist": 1.0, "shear": 0.02}[way]
    values = [energy(k * h) for k in (-2, -1, 0, 1, 2)]
    expected = (-values[0] + 16 * values[1] - 30 * values[2] + 16 * values[3] - values[4]) / (12 * h * h)
    at, step = {"bend": 3, "twist": 5, "shear": 0}[way], 1e-4
    strain = np.array([0, 0, x - 1, 0, 0, 0.0])
    strain[at] = step
    assert -section(law, strain)[0][at] / step == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("law", WORDS)
def test_forces_are_slopes_of_the_energy(law):
    strain = np.array([0.1, -0.05, 0.25, 3.0, -2.0, 4.0])
    force, _ = section(law, strain)
    for k in range(6):
        step = 1e-5 * np.eye(6)[k]
        up, down = (section(law, strain + s)[1] for s in (step, -step))
        assert force[k] == pytest.approx(-(up - down) / 2e-5, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("law", "word"), [("gent", "pcs:2"), ("gent", "finite_element:2"), ("ogden", "polynomial:1")])
def test_a_pulled_and_a_bent_rod_at_rest(law, word):
    eqs = rod(law, word)
    pulled = equilibrium(eqs, parameters={"pull": 60.0})
    x = pulled.frames["arm.tip"].position[2] / LENGTH
    assert AREA * uniaxial_stress(law, x) == pytest.approx(60.0, rel=1e-8)
    # pure bending: an arc whose curvature balances the moment
    moment = 0.002
    bent = equilibrium(eqs, parameters={"bend": moment})
    # the moment has a small part in the stretch, which bending of second order brings about
    assert bent.frames["arm.tip"].position[1] < 0
    turned = np.arctan2(bent.frames["arm.tip"].rotation[2, 1], bent.frames["arm.tip"].rotation[2, 2])
    assert turned == pytest.approx(moment / (E * SECOND) * LENGTH, rel=2e-3)


def test_the_limit_of_gent_is_reported_and_never_passed():
    eqs = rod("gent", "pcs:2")
    limit = max(np.roots([1, 0, -3 - 4.0, 2]).real)  # x^2 + 2/x - 3 = 4
    far = equilibrium(eqs, parameters={"pull": 5e4})
    x = far.frames["arm.tip"].position[2] / LENGTH
    assert limit * 0.98 < x < limit
    assert AREA * uniaxial_stress("gent", x) == pytest.approx(5e4, rel=1e-6)
    assert "left of the limit of its law 'gent' (gent_limit 4)" in far.remarks[0]
    with pytest.raises(EvaluationError, match=r"stretched to 4 of its length.* 0 left of the limit.*beyond"):
        equilibrium(eqs, start={"arm.stretch[1]": 3.0})
    with pytest.raises(EvaluationError, match="beyond"):
        simulate(eqs, 0.1, start={"arm.stretch[1]": 3.0})
    with pytest.raises(EvaluationError, match="compressed to -1 of its length: the law is not defined"):
        equilibrium(eqs, start={"arm.stretch[1]": -2.0})
    with pytest.raises(AnalysisFailed, match="left of the limit of its law 'gent'"):
        simulate(eqs, 0.5, parameters={"pull": 5e4})


def test_undamped_motion_conserves_the_energy_of_gent():
    run = simulate(rod("gent", "pcs:2"), 0.2, parameters={"pull": 20.0}, rtol=1e-9)
    assert float(run.energy.kinetic.max()) > 0.1
    assert np.ptp((run.energy.total - run.energy.supplied).values) < 1e-6


@pytest.mark.parametrize("law", ["mooney_rivlin", "gent", "ogden"])
def test_a_law_without_its_numbers_is_refused(law):
    key = {"mooney_rivlin": "mooney_ratio", "gent": "gent_limit", "ogden": "ogden_terms"}[law]
    text = ROD.replace("NUMBERS", "").replace("LAW", law).replace("EXTRA", "")
    with pytest.raises(SpecError, match=f"the law '{law}' of the rod 'arm' needs `{key}` of its material 'rubber'"):
        load_text(text)
    bare = text.replace(
        "shape: circle, radius: 0.015", "shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1"
    )
    with pytest.raises(SpecError, match=f"the law '{law}' needs `{key}` of a material"):
        load_text(bare.replace("material: rubber, ", ""))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (", gent_limit: 0", "gent_limit must be above zero"),
        (", mooney_ratio: 1.5", "mooney_ratio must be from 0 to 1"),
        (", ogden_terms: [[0.5, 2], [0.4, 4]]", "add up to 0.9, not to 1"),
        (", ogden_terms: [[1, 0]]", "exponent of an Ogden term cannot be zero"),
    ],
)
def test_numbers_of_laws_that_make_no_sense(numbers, message):
    with pytest.raises(SpecError, match=message):
        load_text(ROD.replace("NUMBERS", numbers).replace("LAW", "linear").replace("EXTRA", ""))


def test_laws_are_written_back():
    spec = load_text(ROD.replace("NUMBERS", WORDS["ogden"]).replace("LAW", "ogden").replace("EXTRA", ""))
    assert load_text(dump(spec)) == spec


HALVES = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {first: 0 N, second: 0 N, torque: 0 N*m}
sections: {thick: {shape: circle, radius: 15 mm}, thin: {shape: circle, radius: 12 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 200 kPa, poissons_ratio: 0.45}}
rods: {arm: {length: 0.3, section: [thick, thin], material: rubber, law: mean_stretch, frames: {middle: 0.15}, RATES}}
loads:
  middle: {frame: arm.middle, force: [0, 0, =first]}
  tip: {frame: arm.tip, force: [0, 0, =second], moment: [0, 0, =torque]}
"""
LOADS = {"first": 4.0, "second": 7.0, "torque": 0.004}


def updated_by_hand(loads):
    """The published update between steps, at rest: stiffness from the mean stretch, then strains, until nothing changes."""
    sections = [((3 * 0.015**k + 0.012**k) / 4, (0.015**k + 3 * 0.012**k) / 4) for k in (2, 4)]
    EA = [200e3 * np.pi * r2 for r2 in sections[0]]
    GJ = [200e3 / 2.9 * np.pi / 2 * r4 for r4 in sections[1]]
    pulls, x = [loads["first"] + loads["second"], loads["second"]], 1.0
    for _ in range(500):
        # of a piece 0.15 x long: E A / x^2 over its length, on its change of length
        changes = [pull / (stiffness / x**2 / (0.15 * x)) for pull, stiffness in zip(pulls, EA, strict=True)]
        turns = [loads["torque"] / (stiffness / x**3 / (0.15 * x)) for stiffness in GJ]
        before, x = x, 1 + sum(changes) / 0.3
        if abs(x - before) < 1e-15:
            break
    return changes, turns


@pytest.mark.parametrize("word", ["pcs:2", "pseudo_rigid:2", "cosserat:2", "finite_element:2", "pcc:2"])
def test_the_mean_stretch_of_the_rod_as_published_and_by_hand(word):
    """Two halves of different thickness under different pulls: both follow the mean of their stretches."""
    text = HALVES.replace("RATES", "damping: 0")
    eqs = derive(with_rod_model(load_text(text), "arm", word))
    loads = dict(LOADS, torque=0.0) if word == "pcc:2" else LOADS
    changes, turns = updated_by_hand(loads)
    assert changes[0] > 1.2 * changes[1]
    found = equilibrium(eqs, parameters=loads)
    assert found.iterations < 15
    middle, tip = (found.frames[f"arm.{x}"].position[2] for x in ("middle", "tip"))
    if word.startswith(("pcs", "cosserat", "pcc")):
        assert [middle - 0.15, tip - middle - 0.15] == pytest.approx(changes, rel=1e-8)
    else:  # these take the sections of a taper elsewhere, or carry a frame in the middle by one of two links
        assert tip - 0.3 == pytest.approx(sum(changes), rel=0.02)
    if word.startswith(("pcs", "cosserat")):
        R = found.frames["arm.tip"].rotation
        assert np.arctan2(R[1, 0], R[0, 0]) == pytest.approx(sum(turns), rel=1e-8)


@pytest.mark.parametrize("word", ["pcs:2", "cosserat:2", "polynomial:1", "pcc:2"])
def test_tangents_and_energies_of_the_mean_stretch(word):
    text = HALVES.replace(
        "RATES", "damping: 0.001, chambers: {one: {pressure: 20 kPa, radius: 4 mm, positions: [[6 mm, 2 mm]]}}"
    )
    eqs = derive(with_rod_model(load_text(text), "arm", word)).at(parameters=LOADS)
    rng = np.random.default_rng(1)
    n = len(eqs.rates)
    size = 0.05 if word.startswith(("pcs",)) else 0.005
    q, v = eqs.binding.increment(eqs.initial_state().q, size * rng.normal(size=n)), size * rng.normal(size=n)
    at, step = eqs.linearization(q, v, a=np.zeros(n)), 1e-7
    for k in range(n):
        way = step * np.eye(n)[k]
        pair = [eqs.inverse_dynamics(eqs.binding.increment(q, s), v, np.zeros(n)) for s in (way, -way)]
        column = at.stiffness.toarray()[:, k]
        assert column == pytest.approx(
            (pair[0] - pair[1]) / (2 * step), abs=2e-6 * np.abs(at.stiffness.toarray()).max()
        )
    run = simulate(eqs, 0.05, rtol=1e-8)
    energy = run.energy
    balance = (energy.total + energy.dissipated - energy.supplied).values
    assert np.ptp(balance) < 1e-5 * float(np.ptp(energy.supplied.values))


def test_laws_that_join_pieces_have_a_limit_and_say_so():
    with pytest.raises(SpecError, match="couples all pieces of a rod, which `cosserat` supports for up to 12"):
        with_rod_model(load_text(HALVES.replace(", RATES", "")), "arm", "cosserat:20")


@pytest.mark.parametrize("law", ["gent", "neo_hookean"])
def test_finite_elements_follow_laws_that_stiffen(law):
    """A muscle that shortens its side of the rod by half: near the end of the law, and as segments of constant strain have it."""
    chamber = ", chambers: {one: {pressure: 12 kPa, radius: 5 mm, braid_angle: 30 deg, positions: [[8 mm, 0]]}}"
    fine, found = (rod(law, word, chamber) for word in ("pcs:4", "finite_element:4"))
    tips = [equilibrium(eqs).frames["arm.tip"].position for eqs in (fine, found)]
    assert np.linalg.norm(tips[0] - [0, 0, LENGTH]) > 0.1
    np.testing.assert_allclose(tips[0], tips[1], atol=1e-8)
    run = simulate(found, 0.02, rtol=1e-7)
    balance = (run.energy.total - run.energy.supplied).values
    assert np.ptp(balance) < 1e-5 * float(np.ptp(run.energy.supplied.values))
