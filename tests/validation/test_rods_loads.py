"""Loads along rods and at places of them, in every model, against linear theory and the continuous rod."""

import numpy as np
import pytest
from scipy.integrate import solve_bvp

from pliant import derive, equilibrium, load_text
from pliant.language.faults import SpecError
from pliant.robot.rod_switch import with_rod_model

L, E, G, R = 0.5, 1e6, 4e5, 0.02
AREA, MOMENT = np.pi * R**2, np.pi * R**4 / 4
NU = E / (2 * G) - 1
EA, EI, GA = E * AREA, E * MOMENT, 6 * (1 + NU) / (7 + 6 * NU) * G * AREA

ROD = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {fx: 0 N/m, fz: 0 N/m, my: 0 N, pull: 0 N}
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, shear_modulus: 0.4 MPa}}
rods: {arm: {length: 0.5 m, section: round, material: rubber, frames: {inside: 0.2 m}}}
loads:
  spread: {type: distributed, rod: arm, force: [=fx, 0, =fz], moment: [0, =my, 0], OPTIONS}
  inside: {frame: arm.inside, force: [=pull, 0, 0]}
"""
# the number of elements, and what it may be off by: second order in its square, spectral for polynomials
KINDS = {"pcs:16": 4e-3, "cosserat:16": 4e-3, "pseudo_rigid:16": 4e-3, "polynomial:4": 1e-3, "finite_element:8": 6e-4}


def rod(word, options="axes: world"):
    return derive(with_rod_model(load_text(ROD.replace("OPTIONS", options)), "arm", word))


def continuous(fx, fz, my):
    """Tip (x, z) of the plane rod that shears and stretches, by a boundary-value problem; loads per length."""

    def slopes(s, y, share):
        angle, n_x, n_z, m = y[2:]
        c, w = np.cos(angle), np.sin(angle)  # in (x, z) the tangent is (w, c), the section's x axis (c, -w)
        stretch, shear = 1 + (n_x * w + n_z * c) / EA, (n_x * c - n_z * w) / GA
        x_s, z_s = stretch * w + shear * c, stretch * c - shear * w
        along_x, along_z, about_y = (np.full_like(s, share * load) for load in (fx, fz, my))
        # moments about +y, which turns z to x
        return np.vstack([x_s, z_s, m / EI, -along_x, -along_z, -(z_s * n_x - x_s * n_z) - about_y])

    s = np.linspace(0, L, 41)
    y = np.zeros((6, len(s)))
    y[1] = s
    for share in np.linspace(0.2, 1, 5):
        found = solve_bvp(
            lambda s, y, share=share: slopes(s, y, share), lambda a, b: np.concatenate([a[:3], b[3:]]), s, y, tol=1e-8
        )
        assert found.success
        s, y = found.x, found.y
    return found.y[:2, -1]


@pytest.mark.parametrize(("word", "within"), KINDS.items())
def test_a_small_uniform_load_bends_as_in_linear_theory(word, within):
    q = 1e-3
    tip = equilibrium(rod(word), parameters={"fx": q}).frames["arm.tip"]
    assert tip.position[0] == pytest.approx(q * L**4 / (8 * EI) + q * L**2 / (2 * GA), rel=within)
    assert tip.rotation[0, 2] == pytest.approx(q * L**3 / (6 * EI), rel=within)


@pytest.mark.parametrize(("word", "within"), KINDS.items())
def test_large_dead_loads_against_the_continuous_rod(word, within):
    loads = {"fx": 3.0, "fz": -1.0, "my": 0.1}
    expected = continuous(**loads)
    found = equilibrium(rod(word), parameters=loads)
    assert found.status == "converged"
    x, _, z = found.frames["arm.tip"].position
    assert abs(x) > 0.15
    assert np.hypot(x - expected[0], z - expected[1]) < within * L


@pytest.mark.parametrize("axes", ["world", "section"])
@pytest.mark.parametrize("profile", ["[1]", "[0, 2, 0.5, 1, 0]"])
def test_forces_along_finite_elements_act_on_their_curves(axes, profile):
    """Several times as accurate as at the nodes, where lumped elements have them."""
    model, tips = load_text(ROD.replace("OPTIONS", f"axes: {axes}, profile: {profile}")), []
    for word, mass in (("finite_element:8", "consistent"), ("finite_element:8", "lumped"), ("finite_element:48", None)):
        eqs = derive(model.with_rod("arm", word, **({"mass": mass} if mass else {})))
        tips.append(equilibrium(eqs, parameters={"fx": 3.0, "fz": -1.0}).frames["arm.tip"].position)
    curves, nodes = (np.linalg.norm(tip - tips[2]) for tip in tips[:2])
    assert curves < nodes / 5
    assert curves < 2e-4 * L


@pytest.mark.parametrize("word", ["finite_element:4", "timoshenko:4"])
def test_supports_of_a_beam_of_two_spans(word):
    """Redundant supports under a uniform load: the reactions of the Timoshenko beam."""
    q = 1e-3
    text = ROD.replace("OPTIONS", "axes: world").replace("0.2 m", "0.25 m")
    text += """
constraints:
  middle: {between: [world, arm.inside], components: x}
  end: {between: [world, arm.tip], components: x}
outputs: {at_middle: {constraint: middle}, at_end: {constraint: end}}
"""
    eqs = derive(with_rod_model(load_text(text), "arm", word))
    found = equilibrium(eqs, parameters={"fx": q}).outputs

    def by_force(a, x):  # deflection at x of the cantilever with a unit force at a
        return min(a, x) ** 2 * (3 * max(a, x) - min(a, x)) / (6 * EI) + min(a, x) / GA

    def by_load(x):
        return q * x**2 * (6 * L**2 - 4 * L * x + x**2) / (24 * EI) + q * (L * x - x**2 / 2) / GA

    places = [L / 2, L]
    expected = np.linalg.solve([[by_force(a, x) for a in places] for x in places], [by_load(x) for x in places])
    assert [found["at_middle"], found["at_end"]] == pytest.approx(-expected, rel=1e-6)


@pytest.mark.parametrize("word", KINDS)
def test_a_load_at_a_place_of_the_rod(word):
    # beyond the load the rod stays straight; before it, a cantilever of 0.2 m
    F, a = 1e-2, 0.2
    tip = equilibrium(rod(word), parameters={"pull": F}).frames["arm.tip"]
    expected = F * a**3 / (3 * EI) + F * a / GA + F * a**2 / (2 * EI) * (L - a)
    # polynomials smooth the corner in the moment; links carry it on the next one
    assert tip.position[0] == pytest.approx(
        expected, rel={"polynomial:4": 0.03, "pseudo_rigid:16": 0.1, "pcs:16": 2e-2}.get(word, 5e-3)
    )


def test_unknown_rods_are_named():
    with pytest.raises(SpecError, match="there is no rod 'leg'"):
        load_text(ROD.replace("OPTIONS", "axes: world").replace("rod: arm", "rod: leg"))
