"""Rods with rectangular and polygonal sections touch with their true section: at rest, pressed, sliding, and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pliant
from pliant.engine.contacts import Contacts, contacts_at
from pliant.robot import load_text

WIDTH, HEIGHT, LENGTH, MODULUS, DENSITY = 20e-3, 4e-3, 0.1, 1e6, 1100
FLAT = "{axis: [1, 1, 1], angle: 120 deg}"
"""The rod along x, its width along y, its height along z."""
ON_EDGE = "{axis: y, angle: 90 deg}"
"""The rod along x, its width along -z."""
UPRIGHT = "{axis: x, angle: 0}"
RECTANGLE = f"{{shape: rectangle, width: {WIDTH}, height: {HEIGHT}}}"
CLOCKWISE = "{shape: polygon, vertices: [[-10 mm, 3 mm], [10 mm, 3 mm], [10 mm, -1 mm], [-10 mm, -1 mm]]}"
ANGLE = "{shape: polygon, vertices: [[0, 0], [20 mm, 0], [20 mm, 2 mm], [2 mm, 2 mm], [2 mm, 20 mm], [0, 20 mm]]}"
ROD = f"""
pliant: 1
materials: {{soft: {{density: {DENSITY}, youngs_modulus: MODULUS, poissons_ratio: 0.45}}}}
sections: {{bar: SECTION}}
bodies: {{base: {{mass: 1 mg, inertia: {{principal: [1e-12, 1e-12, 1e-12 kg*m^2]}}}}}}
rods:
  bar: {{parent: base, rotation: ROTATION, length: {LENGTH}, section: bar, material: soft,
        model: {{kind: KIND, elements: ELEMENTS}}}}
"""
RESTING = (
    ROD
    + """
joints: {lift: {type: prismatic, axis: z, child: base, displacement: {initial: START}}}
surfaces: {floor: FLOOR}
contacts: {ground: {between: [bar, floor]}}
outputs:
  base: {frame: base, component: z}
  tip: {frame: bar.tip, component: z}
  force: {contact: ground, component: z}
  gap: {contact: ground, quantity: gap}
"""
)
PLANE = "{type: plane}"
TABLE = "{type: box, size: [50 cm, 50 cm, 10 cm], position: [0, 0, -5 cm]}"
WEIGHT = DENSITY * WIDTH * HEIGHT * 9.81
"""Per length [N/m]."""
PER_LENGTH = MODULUS * 1e8 / (MODULUS + 1e8) / 2
"""Default stiffness per length of a rod on a rigid surface [N/m^2]."""


DEFAULTS = {
    "MODULUS": MODULUS, "SECTION": RECTANGLE, "ROTATION": FLAT, "KIND": "pcs", "ELEMENTS": 5, "FLOOR": PLANE, "START": 0.0
}  # fmt: skip


def filled(text: str, **values: object) -> str:
    for name, value in {**DEFAULTS, **{key.upper(): value for key, value in values.items()}}.items():
        text = text.replace(name, str(value))
    return text


def at_rest(text: str, **values: object) -> dict[str, float]:
    rest = pliant.equilibrium(pliant.derive(load_text(filled(text, **values))))
    return {name: float(np.squeeze(value)) for name, value in rest.outputs.items()}


def contacts_of(eqs: pliant.Equations) -> Contacts:
    state = eqs.initial_state()
    return contacts_at(eqs.binding, 0.0, state.q, state.v)


@pytest.mark.parametrize("floor", [PLANE, TABLE])
@pytest.mark.parametrize("section", [RECTANGLE, CLOCKWISE])
@pytest.mark.parametrize(("rotation", "half"), [(FLAT, HEIGHT / 2), (ON_EDGE, WIDTH / 2)])
def test_a_strip_rests_on_its_sides(floor: str, section: str, rotation: str, half: float) -> None:
    """Flat at half its height, on edge at half its width, less a compression that converges with the number of elements."""
    errors = []
    for elements in (5, 20):
        found = at_rest(RESTING, floor=floor, section=section, rotation=rotation, start=half, elements=elements)
        assert found["force"] == pytest.approx(WEIGHT * LENGTH + 1e-6 * 9.81, rel=1e-6)
        errors.append(abs(half - found["base"] - WEIGHT / PER_LENGTH) / (WEIGHT / PER_LENGTH))
        assert errors[-1] < 0.06
    assert errors[1] < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cosserat", "gvs", "finite_element"])
def test_all_rod_models_have_sections(kind: str) -> None:
    model = RESTING.replace("kind: KIND, elements: ELEMENTS", f"kind: {kind}")
    found = at_rest(model, start=HEIGHT / 2)
    assert found["base"] == pytest.approx(HEIGHT / 2 - WEIGHT / PER_LENGTH, abs=2e-6)


def test_an_overlap_that_a_round_rod_misses() -> None:
    """A strip on edge whose axis is half its half-width above the floor."""
    robot = load_text(filled(RESTING, modulus=1e9, rotation=ON_EDGE, start=WIDTH / 4))
    assert not robot.remarks
    found = contacts_of(pliant.derive(robot))
    assert len(found) == 12
    assert np.allclose(found.gap, -WIDTH / 4)


@pytest.mark.parametrize("elements", [5, 40])
def test_a_strip_pressed_between_two_planes(elements: int) -> None:
    """Each side is compressed by the weight above it."""
    text = (
        ROD
        + """
joints:
  lift: {type: prismatic, axis: z, child: base, displacement: {initial: 2 mm}}
  slide: {type: prismatic, axis: z, child: lid, displacement: {initial: 4 mm}}
surfaces: {floor: {type: plane}, top: {type: plane, parent: lid, rotation: {axis: x, angle: 180 deg}}}
contacts: {press: {between: [bar, [floor, top]]}}
outputs:
  base: {frame: base, component: z}
  lid: {frame: lid, component: z}
  force: {contact: press, of: [bar, floor], component: z}
"""
    ).replace("kg*m^2]}}}", "kg*m^2]}}, lid: {mass: 100 g}}")
    found = at_rest(text, elements=elements)
    lid = 0.1 * 9.81 / LENGTH
    assert found["force"] == pytest.approx((WEIGHT + lid) * LENGTH, rel=1e-4)
    assert found["base"] == pytest.approx(HEIGHT / 2 - (WEIGHT + lid) / PER_LENGTH, abs=3e-7)
    assert found["lid"] - found["base"] == pytest.approx(HEIGHT / 2 - lid / PER_LENGTH, abs=3e-7)


@pytest.mark.parametrize(("axis", "friction"), [("x", 0.3), ("y", 0.2)])
def test_a_strip_slides_to_a_stop(axis: str, friction: float) -> None:
    """With different friction along and across the rod: v^2 / (2 mu g)."""
    text = (
        ROD
        + """
joints: {flight: {type: free, child: base, z: {initial: 1.9998 mm}, AXIS: {rate: 0.4 m/s}}}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [bar, floor], friction: {along: 0.3, across: 0.2}}}
"""
    )
    text = filled(text.replace("AXIS", axis), modulus=1e7, elements=3)
    run = pliant.simulate(pliant.derive(load_text(text)), 0.3)
    assert run[f"flight.{axis}"].values[-1] == pytest.approx(0.4**2 / (2 * friction * 9.81), rel=2e-3)
    assert abs(run[f"flight.{'y' if axis == 'x' else 'x'}"].values[-1]) < 1e-5


OBSTACLES = {
    "a sphere beside the axis": ("{type: sphere, radius: 5 mm, position: [5 cm, 7 mm, -5 mm]}", 1),
    "a capsule across": ("{type: capsule, radius: 1 cm, length: 20 cm, axis: y, position: [5 cm, 0, -1 cm]}", 2),
    "a cylinder across": ("{type: cylinder, radius: 1 cm, length: 20 cm, axis: y, position: [5 cm, 0, -1 cm]}", 2),
    "a narrow box": ("{type: box, size: [6 mm, 6 mm, 1 cm], position: [47 mm, 5 mm, -5 mm]}", 4),
    "the edge of a box": (
        "{type: box, size: [2 cm, 20 cm, 2 cm], position: [5 cm, 0, -14.142 mm], rounding: 0, rotation: {axis: y, angle: 45 deg}}",
        2,
    ),
    "a mesh": (
        "{type: mesh, rounding: 0, points: [[3 cm, 0, 0], [7 cm, 0, 0], [5 cm, 5 mm, -1 cm], [5 cm, -5 mm, -1 cm]], "
        "faces: [[1, 2, 3], [1, 4, 2], [1, 3, 4], [2, 4, 3]]}",
        8,
    ),
    "a convex surface": (
        "{type: convex, points: [[4 cm, 6 mm, 0], [6 cm, 6 mm, 0], [4 cm, 9 mm, 0], [6 cm, 9 mm, 0], [5 cm, 6 mm, -1 cm]]}",
        4,
    ),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("elements", [5, 24])
def test_a_strip_lies_on_obstacles(obstacle: str, elements: int) -> None:
    """All surfaces reach z = 0 below the strip; its base slides vertically. The contact points lie below the strip."""
    floor, most = OBSTACLES[obstacle]
    eqs = pliant.derive(load_text(filled(RESTING, modulus=1e9, elements=elements, start=1.98e-3, floor=floor)))
    rest = pliant.equilibrium(eqs)
    assert float(np.squeeze(rest.outputs["force"])) == pytest.approx(WEIGHT * LENGTH, rel=1e-3)
    assert abs(float(np.squeeze(rest.outputs["base"])) - HEIGHT / 2) < 1.2e-4
    found = rest.contacts
    assert 1 <= len(found) <= most * (1 if elements == 5 else 2)
    assert np.all(np.abs(found.place[:, 1]) < WIDTH / 2 + 1e-6)


def test_strips_touch_each_other() -> None:
    """A strip dropped across another one lies on it, a height above; aligned ones too."""
    rods = """
joints: {lift: {type: prismatic, axis: z, child: base, displacement: {initial: 3.99 mm}}}
contacts: {touch: {between: [low, bar]}}
outputs:
  base: {frame: base, component: z}
  force: {contact: touch, component: z, of: [bar, low]}
  gap: {contact: touch, quantity: gap}
"""
    low = f"  low: {{position: PLACE, rotation: {FLAT}, length: 100 mm, section: bar, material: soft}}"
    for place, rotation in (("[-50 mm, -50 mm, 0]", "{axis: x, angle: 90 deg}"), ("[3 mm, 4 mm, 0]", FLAT)):
        found = at_rest((ROD + low + rods).replace("PLACE", place), modulus=1e10, rotation=rotation)
        assert found["force"] == pytest.approx(WEIGHT * LENGTH, rel=1e-3)
        assert found["base"] == pytest.approx(HEIGHT, abs=2e-5)
        assert -1e-6 < found["gap"] < 0


@pytest.mark.parametrize(
    "section", [RECTANGLE, CLOCKWISE, ANGLE, "{shape: polygon, vertices: [[0, 0], [0, 1 cm], [1 cm, 0]]}"]
)
def test_strips_touch_themselves_only_where_they_meet(section: str) -> None:
    """Not in a bend, even with elements shorter than the thickness; but where a ring of more than a turn closes."""
    curled = ROD.split("bodies:")[0] + (
        "rods: {bar: {length: 20 cm, section: bar, material: soft, SHAPE model: {kind: pcs, elements: ELEMENTS}}}\n"
        "contacts: {self: {between: bar}}\n"
    )
    cases = [(0, 5, False), (0, 150, False), (300, 20, False), (300, 150, False), (400, 20, True), (400, 60, True)]
    for angle, elements, touches in cases:
        shape = f"shape: {{type: arc, angle: {angle} deg}}," if angle else ""
        eqs = pliant.derive(load_text(filled(curled.replace("SHAPE", shape), section=section, elements=elements)))
        assert bool(len(contacts_of(eqs))) == touches


@pytest.mark.parametrize("section", [RECTANGLE, "{shape: circle, radius: 4 mm}"])
def test_an_upright_rod_sinks_by_the_same_depth_with_any_number_of_elements(section: str) -> None:
    """Its end has the stiffness of corners, or of a ball, not of a part of its length."""
    text = RESTING.replace("displacement: {initial: START}", "displacement: {initial: -0.1}").replace(
        "rods:\n  bar: {", "rods:\n  bar: {strains: stretch, "
    )
    down = "{axis: x, angle: 180 deg}"
    depths = [
        at_rest(text, section=section, rotation=down, elements=n, floor="{type: plane, position: [0, 0, -20 cm]}")[
            "gap"
        ]
        for n in (2, 5, 40)
    ]
    assert depths == pytest.approx([depths[0]] * 3, rel=1e-6)


def test_tapered_strips_and_changed_parameters() -> None:
    """Sections with the same number of corners are interpolated; a parameter of the section moves the surface."""
    thin = "thin: {shape: rectangle, width: 1 cm, height: 2 mm}"
    text = RESTING.replace("sections: {", f"parameters: {{thick: 4 mm}}\nsections: {{{thin}, ")
    text = text.replace("section: bar,", "section: [bar, thin],")
    varying = "{shape: rectangle, width: 20 mm, height: =thick}"
    eqs = pliant.derive(load_text(filled(text, modulus=1e9, section=varying, elements=4)))
    for thick in (4e-3, 6e-3):
        here = eqs.at(parameters={"thick": thick})
        found = contacts_of(here)
        x = found.place[:, 0]
        assert len(found) == 10
        assert np.allclose(found.gap, -(thick / 2 + (1e-3 - thick / 2) * x / LENGTH), atol=2e-5)


def test_a_rod_from_round_to_rectangular_has_a_remark() -> None:
    text = RESTING.replace("sections: {", "sections: {round: {shape: circle, radius: 2 mm}, ")
    text = text.replace("section: bar,", "section: [bar, round],")
    robot = load_text(filled(text))
    assert any("touches as a round rod" in str(remark) for remark in robot.remarks)


@pytest.mark.parametrize("angle", [0, 45, 46])
def test_a_rod_lies_on_the_diagonal_of_a_face(angle: float) -> None:
    """The triangles of a box are not visible in its contacts: a rod along the diagonal sinks by the same depth."""
    text = RESTING.replace("prismatic, axis: z,", f"prismatic, axis: z, rotation: {{axis: z, angle: {angle} deg}},")
    round_rod = "{shape: circle, radius: 4 mm}"
    found = at_rest(text, section=round_rod, rotation=ON_EDGE, start=4e-3, floor=TABLE, elements=20)
    weight = DENSITY * math.pi * 4e-3**2 * 9.81
    assert 4e-3 - found["base"] == pytest.approx(weight / PER_LENGTH, rel=0.02)
