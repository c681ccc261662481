"""Steps of rods with absolute poses: carried increments, and the second derivatives of the energy along them."""

import numpy as np
import pytest

from pliant import derive, load_text
from pliant.analysis.statics.carried_sections import CarriedSections
from pliant.analysis.statics.relaxation import Relaxation
from pliant.analysis.statics.static_equations import StaticEquations

ROD = """
pliant: 1
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
bodies: {hub: {mass: 1 kg}, tip: {mass: 0.2 kg, center_of_mass: [5 cm, 2 cm, 0]}}
joints: {turn: {type: BASE, child: hub}, hold: {type: weld, parent: rod.tip, child: tip}}
rods:
  rod: {parent: hub, position: [2 cm, 0, 1 cm], rotation: {axis: x, angle: 20 deg}, length: 0.5 m, section: round, material: rubber,
        model: {kind: KIND, elements: 4}}
"""


def bent(kind, base="weld", size=0.05):
    kind, _, strains = kind.partition(" as ")
    text = ROD.replace("KIND", kind).replace("model:", f"strains: {strains or 'null'}, model:")
    eqs = derive(load_text(text.replace("BASE", base)))
    rng = np.random.default_rng(0)
    bound = eqs.binding
    return eqs, bound.increment(eqs.initial_state().q, size * rng.normal(size=bound.nv)), rng


@pytest.mark.parametrize("kind", ["cosserat", "finite_element", "finite_element as planar_xz"])
def test_the_tangent_is_the_second_derivative_of_the_energy_along_carried_increments(kind):
    eqs, q, rng = bent(kind, size=0.02)
    bound, carried = eqs.binding, CarriedSections(eqs.model)
    search = Relaxation(StaticEquations(bound, 0.0, 1e-10), carried, stable=True)
    place = search._at(q, np.zeros(0))
    K = search._tangent(place, np.eye(bound.nv), place.at.residual).stiffness
    plain = 0.5 * (place.at.stiffness + place.at.stiffness.T).toarray()
    zero, h = np.zeros(bound.nv), 2e-4
    for _ in range(3):
        x = rng.normal(size=bound.nv)
        energies = [bound.energies(0.0, carried.increment(bound, q, s * x), zero)[1] for s in (h, 0, -h)]
        exact = (energies[0] - 2 * energies[1] + energies[2]) / h**2
        assert x @ K @ x == pytest.approx(exact, rel=1e-4)
        assert abs(x @ plain @ x - exact) > 5 * abs(x @ K @ x - exact)


@pytest.mark.parametrize("kind", ["cosserat", "finite_element"])
def test_carried_increments_agree_to_first_order_and_keep_strains_linear(kind):
    eqs, q, rng = bent(kind)
    bound, carried = eqs.binding, CarriedSections(eqs.model)
    x = rng.normal(size=bound.nv)
    small = [np.abs(carried.increment(bound, q, s * x) - bound.increment(q, s * x)).max() for s in (1e-3, 1e-4)]
    assert small[0] / small[1] == pytest.approx(100, rel=0.05)
    # turning every section by the same angle more than the one before bends the rod into an arc without any stretch
    straight = eqs.initial_state().q
    rates = carried.rates.reshape(-1, 6)
    arc = np.zeros(bound.nv)
    k = np.arange(1, len(rates) + 1)
    places = bound.node_poses(straight)[1]
    nodes = [eqs.model.turn_limits[j].second for j in range(len(rates))]
    base = eqs.frames(straight)["rod"].position
    axis = np.array([1.0, 0, 0])
    turns = 0.3 * np.outer(k, axis)
    previous, before, shift = base, np.zeros(3), np.zeros(3)
    for j, node in enumerate(nodes):
        shift = shift + np.cross(0.5 * (before + turns[j]), places[node] - previous)
        arc[rates[j, :3]], arc[rates[j, 3:]] = shift, turns[j]
        previous, before = places[node], turns[j]
    after = bound.node_poses(carried.increment(bound, straight, arc))[1][nodes]
    chords = np.linalg.norm(np.diff(np.vstack([base, after]), axis=0), axis=1)
    np.testing.assert_allclose(chords, 0.125 * np.sin(0.15) / 0.15, rtol=1e-9)


def test_forces_are_transported_with_the_work_that_they_do_on_strains():
    eqs, q, rng = bent("finite_element", "revolute, axis: y")
    bound, carried = eqs.binding, CarriedSections(eqs.model)
    to = carried.increment(bound, q, 0.3 * rng.normal(size=bound.nv))
    force = rng.normal(size=bound.nv)
    there = carried.transported(bound, q, force, to)
    back = carried.transported(bound, to, there, q)
    np.testing.assert_allclose(back, force, atol=1e-9)
    assert np.abs(there - force).max() > 0.1
