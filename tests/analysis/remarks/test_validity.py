"""Words where a result leaves the range of its model, and silence where it does not."""

import math

import numpy as np
import pytest

from pliant import derive, equilibrium, load, load_text, simulate
from pliant.analysis.remarks.validity import parts_beyond_range

ROD = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {force: 0 N, moment: 0 N*m, pull: 0 N}
sections: {wire: {shape: circle, radius: 5 mm}}
materials: {stuff: {density: 1000 kg/m^3, youngs_modulus: MODULUS, poissons_ratio: 0.3}}
rods: {rod: {length: 50 cm, section: wire, material: stuff, model: MODEL}}
loads:
  tip: {frame: rod.tip, force: [=force, 0, =pull], moment: [0, =moment, 0]}
outputs: {tip: {frame: rod.tip, quantity: position}}
"""
BENDING = np.pi / 4 * 0.005**4
AREA = np.pi * 0.005**2


def rod(model, modulus="1 MPa"):
    return derive(load_text(ROD.replace("MODEL", model).replace("MODULUS", modulus)))


def notes(eqs, **parameters):
    found = equilibrium(eqs, parameters=parameters, stability="any")  # even where it would buckle or flutter
    return parts_beyond_range(eqs.model, eqs.at(parameters=parameters).binding, found.q[None])


@pytest.mark.parametrize("plane", ["", ", strains: planar_xz"])
def test_a_linear_beam_says_where_deflections_are_not_small(plane):
    """A force at the tip: linear and exact deflection, and the error that the warning names."""
    linear, exact = rod("{kind: timoshenko, elements: 4}" + plane), rod("{kind: finite_element, elements: 20}")
    stiffness = 1e6 * BENDING / 0.5**2
    assert notes(linear, force=0.38 * stiffness) == []  # 0.19 rad
    for load_factor in (0.6, 1.0, 1.6):
        force = load_factor * stiffness
        (note,) = notes(linear, force=force)
        assert "'timoshenko' is for small deflections" in note
        said = float(note.partition("about ")[2].partition(" percent")[0]) / 100
        found, true = (equilibrium(x, parameters={"force": force}).outputs["tip"][0] for x in (linear, exact))
        assert found / true - 1 == pytest.approx(said, rel=0.5)
    (note,) = notes(linear, force=10 * stiffness)
    assert "useless" in note
    run = simulate(linear, 0.01, parameters={"force": 10 * stiffness}, start="equilibrium")
    assert any("useless" in note for note in run.remarks)


KINDS = ("pcs", "finite_element", "cosserat", "pseudo_rigid", "polynomial", "pcc")


@pytest.mark.parametrize("kind", KINDS)
def test_extreme_strains_of_a_linear_law_are_said(kind):
    eqs = rod(f"{{kind: {kind}}}")
    for strain in (0.45, 0.55, -0.55):
        found = notes(eqs, pull=strain * 1e6 * AREA)
        if abs(strain) < 0.5:
            assert found == []
        else:
            (note,) = found
            assert f"is {'stretched' if strain > 0 else 'compressed'} by {100 * abs(strain):.3g} percent" in note


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pcs", "finite_element", "cosserat", "polynomial, order: 6", "pcc, sections: 4"])
def test_bending_of_stiff_and_soft_rods(kind):
    """A moment that bends the rod by 4 rad strains the outside by 4 percent; 8 percent are too much for metal, not for rubber."""
    metal, rubber = rod(f"{{kind: {kind}}}", "200 GPa"), rod(f"{{kind: {kind}}}")
    assert notes(metal, moment=4.0 / 0.5 * 2e11 * BENDING) == []
    (note,) = notes(metal, moment=8.0 / 0.5 * 2e11 * BENDING)
    assert "of strain outside, more than a stiff material withstands" in note
    assert float(note.partition("bent to ")[2].partition(" ")[0]) == pytest.approx(8, abs=0.3)
    assert notes(rubber, moment=8.0 / 0.5 * 1e6 * BENDING) == []


@pytest.mark.parametrize(
    "name", ["trunk", "stiff_flop", "three_section_arm", "timoshenko_cantilever", "leaf_spring", "cantilever"]
)
def test_bundled_robots_at_rest_are_in_range(name):
    eqs = derive(load(name))
    found = equilibrium(eqs)
    assert parts_beyond_range(eqs.model, eqs.binding, found.q[None]) == []


def test_a_link_whose_ends_turn_over_says_so():
    text = """
pliant: 1
bodies: {wheel: {mass: 1 kg, inertia: {principal: [0.1, 0.1, 0.1]}}}
joints: {axle: {type: revolute, child: wheel, axis: z}}
links: {mount: {type: beam, between: [world, wheel], stiffness: [1, 1, 1, 1, 1, 1]}}
"""
    eqs = derive(load_text(text))
    assert parts_beyond_range(eqs.model, eqs.binding, np.array([[2.9]])) == []
    (note,) = parts_beyond_range(eqs.model, eqs.binding, np.array([[0.0], [3.1], [0.0]]))
    assert "the ends of the link 'mount' turn by 178 deg against each other" in note


def test_a_strip_is_strained_across_its_thickness():
    """Bent by 5 rad over its thin side a strip is strained by 0.5 percent outside, whatever its width."""
    text = ROD.replace("{shape: circle, radius: 5 mm}", "{shape: rectangle, width: 4 cm, height: 1 mm}")
    eqs = derive(load_text(text.replace("MODEL", "{kind: pcs, elements: 8}").replace("MODULUS", "200 GPa")))
    q = eqs.initial_state().q
    for turn, axis, count in ((5.0, "bend_x", 0), (5.0, "bend_y", 1)):
        bent = q.copy()
        bent[[k for k, name in enumerate(eqs.coordinates) if name.startswith(f"rod.{axis}[")]] = turn / 0.5
        assert len(parts_beyond_range(eqs.model, eqs.binding, bent[None])) == count


FINGER = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {moment: 60 mN*m}
sections: {s: {shape: circle, radius: 6 mm}}
materials: {m: {density: 1100 kg/m^3, youngs_modulus: 6 MPa, poissons_ratio: 0.45}}
rods: {finger: {length: 12 cm, section: s, material: m, model: {kind: pcs, elements: ELEMENTS}}}
loads: {bend: {frame: finger.tip, moment: [0, =moment, 0]}}
surfaces: {wall: {type: plane, position: [0, 0, -5 cm]}}
contacts: {touch: {between: [finger, wall]}}
"""


@pytest.mark.parametrize(("elements", "is_off"), [(1, True), (12, False)])
def test_rods_that_bend_between_their_stations(elements: int, is_off: bool) -> None:
    eqs = derive(load_text(FINGER.replace("ELEMENTS", str(elements))))
    rest = equilibrium(eqs)
    remarks = [note for note in rest.remarks if "straight edges" in note]
    assert bool(remarks) == is_off
    if is_off:
        # an arc of length l that turns by the angle M l / (E I): its height over the chord
        turn = 0.06 * 0.12 / (6e6 * 3.14159265 * 0.006**4 / 4)
        height = 0.12 / turn * (1 - math.cos(turn / 2))
        assert f"{1e3 * height:.2g} mm off" in remarks[0]


TOPPLED = """
pliant: 1
materials: {s: {density: 1070 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.49}}
sections: {c: {shape: circle, radius: 5 mm}}
rods: {arm: {length: 60 cm, section: c, material: s, law: LAW, model: {kind: MODEL}}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("law", ["linear", "neo_hookean"])
@pytest.mark.parametrize("kind", ["pcs", "gvs", "pcc, sections: 5", "polynomial"])
def test_a_rod_that_turns_by_more_than_half_a_revolution_between_stations_is_not_compressed(kind, law):
    """A slender rod that toppled over and hangs is curled at its base and hardly stretched."""
    eqs = derive(load_text(TOPPLED.replace("LAW", law).replace("MODEL", kind)))
    found = equilibrium(eqs, on_failure="return")
    assert found.frames["arm.tip"].position[2] < -0.4
    assert [note for note in found.remarks if "compressed" in note or "stretched" in note] == []
    run = simulate(eqs, 0.01, start=found.state)  # nor is it refused as a start
    assert [note for note in run.remarks if "compressed" in note or "stretched" in note] == []


@pytest.mark.parametrize("turns", [0.5, 0.97, 1.0, 1.6])
@pytest.mark.parametrize("stretch", [0.0, 0.7])
def test_strains_of_a_coil_are_those_of_its_model(turns, stretch):
    """Rods of two segments, each of which turns by this many revolutions."""
    eqs = derive(load_text(TOPPLED.replace("LAW", "linear").replace("MODEL", "pcs, elements: 2")))
    q = eqs.initial_state().q
    for k, name in enumerate(eqs.coordinates):
        q[k] = {"bend_x": turns * 2 * np.pi / 0.3, "stretch": stretch}.get(
            name.partition(".")[2].partition("[")[0], 0.0
        )
    notes = [note for note in parts_beyond_range(eqs.model, eqs.binding, q[None]) if "arm" in note]
    assert len(notes) == (1 if stretch else 0)
    assert all("stretched by 70 percent" in note for note in notes)


def test_a_rod_that_is_twisted_far_is_not_stretched():
    """By 90 deg per element: the centres of its sections stay in place."""
    text = ROD.replace("MODEL", "{kind: cosserat, elements: 2}").replace("MODULUS", "200 GPa")
    eqs = derive(load_text(text.replace("moment: [0, =moment, 0]", "moment: [0, 0, =moment]")))
    assert notes(eqs, moment=np.pi / 0.5 * 2e11 / 2.6 * 2 * BENDING) == []


STRIP = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {pull: 0 N, moment: 0 N*m, lift: 0 N}
sections: {strip: {shape: rectangle, width: 3 cm, height: 2 mm}}
materials: {stuff: {density: 300 kg/m^3, youngs_modulus: MODULUS, poissons_ratio: 0.4}}
meshes:
  strip:
    type: KIND
    drawing: {nodes: [[0, 0, 0], [10 cm, 0, 0], [20 cm, 0, 0]], edges: [[1, 2], [2, 3]]}
    ends: free
    sets: {root: {nodes: 1}, tip: {nodes: 3}}
    held: {root: world}
    section: strip
    material: stuff
loads: {tip: {frame: strip.tip, force: [=pull, 0, =lift], moment: [0, =moment, 0]}}
"""


@pytest.mark.parametrize("kind", ["shell", "membrane"])
@pytest.mark.parametrize(("modulus", "most"), [(5e5, 0.5), (2e11, 0.05)])
def test_extreme_strains_of_edges_are_said(kind, modulus, most):
    text = STRIP.replace("KIND", kind).replace("MODULUS", f"{modulus} Pa")
    text = text if kind == "shell" else text.replace("moment: [0, =moment, 0]", "moment: [0, 0, 0]")
    eqs = derive(load_text(text))
    assert notes(eqs, pull=0.9 * most * modulus * 6e-5) == []
    (note,) = notes(eqs, pull=1.1 * most * modulus * 6e-5)
    assert f"an edge of the mesh 'strip' is stretched by {110 * most:.3g} percent" in note


def test_edges_that_turn_over_are_said():
    """By a moment, 85 and 175 deg from node to node."""
    eqs = derive(load_text(STRIP.replace("KIND", "shell").replace("MODULUS", "500 kPa")))
    per_turn = 5e5 * 0.03 * 0.002**3 / 12 / 0.1
    assert notes(eqs, moment=-math.radians(85) * per_turn) == []
    (note,) = notes(eqs, moment=-math.radians(175) * per_turn)
    assert "an edge of the mesh 'strip' turns by 175 deg" in note


LINK = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: 0 N, pull: 0 N}
bodies: {plate: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}}
joints: {float: {type: free, child: plate, z: {initial: 20 cm}}}
links: {strut: {type: beam, between: [world, plate], stiffness: STIFFNESS}}
loads: {push: {frame: plate, force: [=push, 0, =pull]}}
"""


def test_beam_links_that_are_moved_far_sideways_are_said():
    """A strut of 20 cm that is 600 times as stiff along it as across, moved by five times its length."""
    soft = derive(load_text(LINK.replace("STIFFNESS", "[1, 1, 600, 10, 10, 10]")))
    assert notes(soft, push=0.01, pull=20.0) == []
    (note,) = notes(soft, push=1.0)
    assert "the link 'strut' is moved sideways" in note
    assert "use a rod" in note
    # springs that are as stiff across as along hold more than a stretched beam
    even = derive(load_text(LINK.replace("STIFFNESS", "[600, 600, 600, 10, 10, 10]")))
    assert notes(even, push=600.0) == []


HANGING = """
pliant: 1
parameters: {youngs_modulus: 1 MPa, weight: 0 N, moment: 0 N*m}
sections: {wire: {shape: circle, radius: 2 mm}}
materials: {stuff: {density: 1000 kg/m^3, youngs_modulus: =youngs_modulus, poissons_ratio: 0.5}}
bodies: {block: {mass: 1 kg}}
joints: {hold: {type: weld, child: block, rotation: {axis: y, angle: ANGLE}}}
rods: {rod: {parent: block, length: 1, section: wire, material: stuff, MODEL}}
loads:
  lead: {frame: rod.tip, force: [0, 0, =-weight], moment: [0, =moment, 0]}
"""


def hanging(model, angle=90, frames=""):
    return derive(load_text(HANGING.replace("MODEL", f"model: {model}{frames}").replace("ANGLE", f"{angle} deg")))


def softness(ratio):
    """Young's modulus of a rod with w L^3 / EI of this [Pa]."""
    return 1000 * 9.81 * np.pi * 0.002**2 / (ratio * np.pi / 4 * 0.002**4)


def coarse(found):
    return [note for note in found.remarks if "the result is coarse" in note]


@pytest.mark.parametrize("model", [*(f"{{kind: {kind}}}" for kind in (*KINDS[1:5], "gvs"))])
def test_bends_shorter_than_elements_are_said_until_there_are_enough(model):
    """A soft rod under its weight, w L^3 / EI = 1000: the layer at its support is a thirtieth of its length."""
    at = {"youngs_modulus": softness(1000)}
    (note,) = coarse(equilibrium(hanging(model), parameters=at))
    count = int(note.partition("such as ")[2].split()[0])
    assert count == 32
    assert not coarse(equilibrium(hanging(model), parameters={"youngs_modulus": softness(10)}))


def test_as_many_elements_as_said_are_enough():
    found = equilibrium(hanging("{kind: finite_element, elements: 32}"), parameters={"youngs_modulus": softness(1000)})
    assert not coarse(found)
    # of the boundary-value problem EI angle'' = -w (L - s) cos(angle)
    assert found.frames["rod.tip"].position[0] == pytest.approx(0.045986, rel=3e-3)


def test_they_are_said_of_other_loads_and_in_motion():
    eqs = hanging("{kind: cosserat, elements: 10}")
    stiff = {"youngs_modulus": softness(1)}
    bending = stiff["youngs_modulus"] * np.pi / 4 * 0.002**4
    assert not coarse(equilibrium(eqs, parameters=stiff))
    assert not coarse(equilibrium(eqs, parameters={**stiff, "weight": 30 * bending}))
    assert coarse(equilibrium(eqs, parameters={**stiff, "weight": 1000 * bending}))
    assert coarse(simulate(eqs, 0.01, parameters={**stiff, "weight": 1000 * bending}, start="equilibrium"))


def test_bends_that_are_not_coarse_are_not_said():
    soft = {"youngs_modulus": softness(1000)}
    for model in ("{kind: pcs}", "{kind: finite_element}", "{kind: cosserat}"):
        assert not coarse(equilibrium(hanging(model, angle=180), parameters=soft))  # straight down
        stiff = softness(0.001)
        bent = {"youngs_modulus": stiff, "moment": 4 * stiff * np.pi / 4 * 0.002**4}
        assert not coarse(equilibrium(hanging(model), parameters=bent, stability="any"))  # most of a circle
    # a moment that acts on a frame on the rod bends a half of it
    text = HANGING.replace("MODEL", "model: {kind: pcs, elements: 4}, frames: {half: {at: 50 cm}}").replace(
        "rod.tip", "rod.half"
    )
    eqs = derive(load_text(text.replace("ANGLE", "90 deg")))
    assert not coarse(equilibrium(eqs, parameters=bent, stability="any"))
