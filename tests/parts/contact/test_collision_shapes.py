"""Which parts touch each other: not connected ones, fabrics with all their items, and clear names."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.engine.contacts import contacts_at
from pliant.language.faults import SpecError
from pliant.robot import load_text

CHAIN = """
pliant: 1
sections: {round: {shape: circle, radius: 1 cm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
bodies:
  base: {mass: 1 kg, shape: {type: sphere, radius: 5 cm}}
  link: {mass: 1 kg, count: 3, shape: {type: sphere, radius: 5 cm}}
joints:
  root: {type: revolute, child: base, axis: y}
  hinge: {type: revolute, parent: "link[i-1]", first_parent: base, child: link, axis: y, position: [8 cm, 0, 0]}
rods:
  arm: {parent: base, length: 10 cm, section: round, material: rubber, model: {kind: cosserat, elements: 4}}
surfaces:
  floor: {type: plane, position: [0, 0, -4 cm]}
  cap: {type: sphere, parent: arm.tip, radius: 3 cm}
  nose: {type: sphere, parent: base, position: [0, 0, 6 cm], radius: 4 cm}
contacts:
  any: {between: all}
"""


def touching(eqs: pliant.Equations) -> set[frozenset[str]]:
    state = eqs.initial_state()
    return {frozenset(pair) for pair in contacts_at(eqs.binding, 0.0, state.q, state.v).pairs}


def test_joined_things_do_not_touch_but_all_others_do() -> None:
    """Neighbours in a chain, a rod and its base, parts fixed to the same frame; the ground touches all."""
    found = touching(pliant.derive(load_text(CHAIN)))
    links = [f"link[{k}]" for k in (1, 2, 3)]
    assert {frozenset((name, "floor")) for name in ("base", *links)} <= found
    assert frozenset(("nose", "link[1]")) not in found  # its parent is joined to the link
    assert not found & {frozenset(("base", "link[1]")), frozenset(links[:2]), frozenset(("base", "arm"))}
    assert not found & {
        frozenset(("base", "nose")),
        frozenset(("arm", "cap")),
        frozenset(("arm", "nose")),
        frozenset(("cap", "nose")),
    }
    closer = CHAIN.replace("position: [8 cm, 0, 0]", "position: [4 cm, 0, 0]")
    assert frozenset((links[0], links[2])) in touching(pliant.derive(load_text(closer)))


@pytest.mark.parametrize(
    ("between", "message"),
    [
        ("[base, arm]", "base and arm cannot touch: they are fixed to the same frame, or a joint, a rod's base"),
        ("base", "'base' is one rigid piece and cannot touch itself"),
        ("[base, hand]", "the body 'hand' has no shape, so nothing can touch it"),
        ("[base, wall]", "there is no body, rod, mesh or surface 'wall'"),
    ],
)
def test_contacts_of_what_cannot_touch_are_refused(between: str, message: str) -> None:
    text = CHAIN.replace("between: all", f"between: {between}").replace("bodies:", "bodies:\n  hand: {mass: 1 kg}")
    text = text.replace("joints:", "joints:\n  wrist: {type: free, child: hand}")
    with pytest.raises(SpecError) as found:
        pliant.derive(load_text(text))
    assert message in str(found.value)


def test_names_of_things_are_told_apart() -> None:
    with pytest.raises(SpecError, match="'base' is also a name in `bodies`"):
        load_text(CHAIN.replace("nose:", "base:"))
    with pytest.raises(SpecError, match="the name 'all' is reserved for all parts"):
        load_text(CHAIN.replace("nose:", "all:"))


CLOTH = """
pliant: 1
sections: {{sheet: {{shape: rectangle, width: 2 cm, height: 2 mm}}}}
materials: {{cloth: {{density: 300 kg/m^3, youngs_modulus: 1 MPa}}}}
meshes:
  cloth:
    type: membrane
    drawing: {{rectangle: [20 cm, 20 cm], cells: [5, 5], diagonals: true}}
    position: [-10 cm, -10 cm, {height}]
    sets: {{rim: {{nodes: [1, 6, 31, 36]}}}}
    {held}
    section: sheet
    material: cloth
    mass: 50 g
    damping_time: 10 ms
bodies: {{ball: {{mass: 200 g, shape: {{type: sphere, radius: 3 cm}}}}}}
joints: {{drop: {{type: free, child: ball, x: {{initial: 5 mm}}, y: {{initial: 3 mm}}, z: {{initial: {ball}}}}}}}
surfaces:
  floor: {{type: plane, position: [0, 0, -30 cm]}}
  table: {{type: box, size: [10 cm, 10 cm, 4 cm]}}
contacts: {{any: {{between: {between}, friction: 0.5, stiffness: 5 kN/m}}}}
outputs: {{push: {{contact: any, component: z}}}}
"""


def test_a_ball_lies_in_a_cloth_that_is_held() -> None:
    """Between nodes: its weight goes through triangles and edges, which leave no holes."""
    text = CLOTH.format(height="0", ball="3.2 cm", held="held: {rim: world}", between="[ball, cloth]")
    eqs = pliant.derive(load_text(text))
    run = pliant.simulate(eqs, 3.0, save_every=0.1)
    assert np.asarray(run["push"])[-10:].mean() == pytest.approx(0.2 * 9.81, rel=0.03)
    lowest = min(eqs.frame(f"cloth.n{k + 1}", np.asarray(run.q)[-1]).position[2] for k in range(36))
    assert eqs.frame("ball", np.asarray(run.q)[-1]).position[2] == pytest.approx(lowest + 0.03, abs=0.01)


def test_a_cloth_falls_on_a_table_and_stays_on_it() -> None:
    text = CLOTH.format(height="3 cm", ball="20 cm", held="", between="[cloth, table]")
    eqs = pliant.derive(load_text(text))
    run = pliant.simulate(eqs, 1.0, save_every=0.1)
    places = np.stack([np.asarray(eqs.frame(f"cloth.n{k + 1}", np.asarray(run.q)[-1]).position) for k in range(36)])
    over = (np.abs(places[:, 0]) < 0.04) & (np.abs(places[:, 1]) < 0.04)
    assert over.sum() >= 4
    assert np.all(np.abs(places[over, 2] - 0.021) < 2e-3)  # half the cloth above the table
    assert places[:, 2].min() < 0.02  # its corners hang down


THIN = """
pliant: 1
bodies:
  a: {mass: 1 kg, shape: {type: slender_rod, length: 1 m}}
  b: {mass: 1 kg, shape: SHAPE}
joints: {one: {type: free, child: a}, other: {type: free, child: b, z: {initial: 1 m}}}
contacts: {cross: {between: [a, b]}}
"""


def test_things_without_thickness_never_meet() -> None:
    with pytest.raises(SpecError, match="a and b have no thickness"):
        pliant.derive(load_text(THIN.replace("SHAPE", "{type: slender_rod, length: 1 m, axis: y}")))
    pliant.derive(load_text(THIN.replace("SHAPE", "{type: sphere, radius: 1 cm}")))


VALUES = """
pliant: 1
parameters: {modulus: 1 MPa, radius: 5 mm, rebound: 0.8}
sections: {round: {shape: circle, radius: =radius}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: =modulus, poissons_ratio: 0.48}}
rods: {rope: {length: 1 m, section: round, material: rubber, position: [0, 0, 4.5 mm], rotation: {axis: y, angle: 90 deg},
              model: {kind: cosserat, elements: 4}}}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [rope, floor], restitution: =rebound}}
"""


def test_contacts_follow_parameters_or_refuse_them() -> None:
    """Radius and stiffness of a rod's contacts, in derived equations as in a model loaded again."""
    eqs, state = pliant.derive(load_text(VALUES)), pliant.derive(load_text(VALUES)).initial_state()
    for name, value in (("modulus", 2e6), ("radius", 0.006)):
        changed = eqs.at(parameters={name: value})
        again = pliant.derive(load_text(VALUES, set={name: value}))
        force = changed.contacts(state.q, state.v).force
        assert np.allclose(force, again.contacts(state.q, state.v).force, rtol=1e-12)
        assert not np.allclose(force, eqs.contacts(state.q, state.v).force, rtol=0.1)
    with pytest.raises(ValueError, match="restitution cannot be changed"):
        eqs.at(parameters={"rebound": 0.5})


def test_rods_without_stations_cannot_touch() -> None:
    text = CHAIN.replace("kind: cosserat, elements: 4", "kind: timoshenko").replace(
        "between: all", "between: [arm, floor]"
    )
    with pytest.raises(SpecError, match="rods of the model 'timoshenko' cannot touch") as found:
        pliant.derive(load_text(text))
    assert found.value.faults[0].path == "contacts.any.between"
