"""Rods with large rotations: every model reaches the limit of its states, and reports it."""

import numpy as np
import pytest

from pliant import derive, equilibrium, load, load_text
from pliant.analysis.remarks.validity import parts_beyond_range
from pliant.language.faults import SpecError
from pliant.parts.rod.polynomial import radau
from pliant.robot.rod_switch import parse_rod_model, with_rod_model

BENDING = 1e7 * np.pi / 4 * 0.01**4


def cantilever(word, **changes):
    model = parse_rod_model(word).model_copy(update=changes)
    return derive(with_rod_model(load("cantilever"), "rod", model))


def bent(eqs, angle):
    """The state of a rod bent about its y axis by an angle from base to tip [rad], all along."""
    q = eqs.initial_state().q
    for name, (first, place) in PLACES[eqs.model.spec.rods["rod"].model.kind](eqs).items():
        turn = angle * place / 2
        at = eqs.coordinates.index(name)
        q[at : at + len(first)] = [f(turn) for f in first]
    return q


# a section's quaternion in world axes after a quarter turn about y; the vector part of one against the base
TURNED = (lambda x: np.cos(np.pi / 4 + x), lambda x: 0.0, lambda x: np.sin(np.pi / 4 + x), lambda x: 0.0)
PLACES = {
    "cosserat": lambda eqs: {f"rod.section[{k}].orientation.qw": (TURNED, k / 2) for k in (1, 2)},
    "polynomial": lambda eqs: {
        f"rod.quaternion_y[{k + 1}]": ((np.sin,), x)
        for k, x in enumerate(radau(eqs.model.spec.rods["rod"].model.order))
    },
}


@pytest.mark.parametrize(
    ("word", "changes", "total", "hint"),
    [
        ("cosserat:2", {}, 2 * np.pi, "use more elements"),
        ("polynomial:4", {"orientation": "three"}, np.pi, "orientation: four"),
    ],
)
def test_near_the_end_of_its_states_a_rod_says_so(word, changes, total, hint):
    eqs = cantilever(word, **changes)
    calm, near = bent(eqs, 0.9 * total), bent(eqs, 0.98 * total)
    # sections are turned where they stand, which tears the rod: its strains are another matter
    assert not [x for x in parts_beyond_range(eqs.model, eqs.binding, calm[None]) if "can follow" in x]
    (note,) = (x for x in parts_beyond_range(eqs.model, eqs.binding, np.array([calm, near, calm])) if "can follow" in x)
    assert "can follow up to 180 deg" in note
    assert hint in note


def test_an_equilibrium_near_the_end_says_so():
    eqs = cantilever("cosserat:1")
    found = equilibrium(eqs, parameters={"tip_moment": 0.97 * np.pi * BENDING}, stability="any")
    assert found.status == "converged"
    assert "turns by 175 deg" in found.remarks[0]
    half = equilibrium(eqs, parameters={"tip_moment": 0.5 * np.pi * BENDING}, stability="any")
    assert not [note for note in half.remarks if "can follow" in note]


COIL = """
pliant: 1
sections: {wire: {shape: circle, radius: 1 mm}}
materials: {steel: {density: 7800, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
rods: {coil: {length: 0.3 m, section: wire, material: steel, shape: {type: helix, radius: 1 cm, turns: 3}}}
"""


@pytest.mark.parametrize(
    ("word", "changes", "message"),
    [
        ("cosserat:6", {}, "180 deg"),
        ("finite_element:4", {}, "180 deg"),
        ("pseudo_rigid:10", {}, "90 deg"),
        ("polynomial:8", {"orientation": "three"}, "180 deg"),
    ],
)
def test_a_shape_that_turns_too_far_is_refused(word, changes, message):
    model = parse_rod_model(word).model_copy(update=changes)
    with pytest.raises(SpecError, match=message):
        derive(with_rod_model(load_text(COIL), "coil", model))
    finer = with_rod_model(
        load_text(COIL), "coil", "polynomial:8" if "polynomial" in word else f"{word.partition(':')[0]}:16"
    )
    assert derive(finer).rates
