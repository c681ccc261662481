"""Types of surfaces: their positions, bodies that stand and roll on them, and faults of model files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

import pliant
from pliant.engine.contacts import contact_gap
from pliant.language.faults import SpecError
from pliant.robot import load_text

BALL = """
pliant: 1
bodies: {{ball: {{mass: 100 g, shape: {{type: sphere, radius: 1 cm}}}}}}
joints: {{flight: {{type: free, child: ball}}}}
surfaces: {{thing: {{{surface}}}}}
contacts: {{touch: {{between: [ball, thing], friction: 0.5}}}}
"""


def ball(surface: str, folder: Path | None = None) -> pliant.Equations:
    return pliant.derive(load_text(BALL.format(surface=surface), folder=folder))


def gap(eqs: pliant.Equations, *place: float) -> float:
    q = eqs.initial_state().q.copy()
    q[:3] = place
    return contact_gap(eqs.binding, q, 0)


def test_a_cylinder_is_round_on_its_side_and_flat_at_its_ends() -> None:
    eqs = ball("type: cylinder, radius: 5 cm, length: 20 cm, rounding: 1 mm")
    for angle in np.linspace(0, 2, 7):
        assert gap(eqs, 0.07 * np.cos(angle), 0.07 * np.sin(angle), 0.03) == pytest.approx(0.01, abs=1e-12)
    assert gap(eqs, 0.02, 0.01, -0.13) == pytest.approx(0.02, abs=1e-12)
    endless = ball("type: cylinder, radius: 5 cm, axis: y")
    assert gap(endless, 0.07, 50.0, 0.0) == pytest.approx(0.01, abs=1e-9)


@pytest.mark.parametrize("shape", ["surfaces", "bodies"])
def test_an_ellipsoid_is_one_within_a_hundredth_of_its_semi_axes(shape: str) -> None:
    eqs = ball("type: ellipsoid, semi_axes: [5 cm, 8 cm, 3 cm]")
    if shape == "bodies":
        text = BALL.format(surface="type: plane").replace("between: [ball, thing]", "between: [ball, egg]")
        egg = "egg: {mass: 1 kg, parent: world, shape: {type: ellipsoid, semi_axes: [5 cm, 8 cm, 3 cm]}}, ball:"
        eqs = pliant.derive(load_text(text.replace("ball:", egg, 1)))
    for axis, reach in enumerate((0.05, 0.08, 0.03)):
        for side in (-1, 1):
            place = np.zeros(3)
            place[axis] = side * (reach + 0.03)
            assert gap(eqs, *place) == pytest.approx(0.02, abs=0.01 * reach)


@pytest.mark.parametrize("suffix", ["stl", "obj", "ply"])
def test_a_mesh_keeps_what_is_outside_out_and_pushes_out_what_is_inside(tmp_path: Path, suffix: str) -> None:
    mesh = trimesh.creation.torus(major_radius=60, minor_radius=20, major_sections=96, minor_sections=48)
    mesh.export(tmp_path / f"ring.{suffix}")
    eqs = ball(f"type: mesh, file: ring.{suffix}, unit: mm", tmp_path)
    rng = np.random.default_rng(0)
    for place in rng.uniform(-1, 1, (60, 3)) * [0.09, 0.09, 0.03]:
        around = np.hypot(np.hypot(place[0], place[1]) - 0.06, place[2])
        if around < 0.016:
            continue  # deeper than the search for exits
        assert gap(eqs, *place) == pytest.approx(around - 0.02 - 0.01, abs=4e-4), place


def test_a_hull_is_convex(tmp_path: Path) -> None:
    trimesh.creation.torus(major_radius=60, minor_radius=20).export(tmp_path / "ring.stl")
    eqs = ball("type: convex, file: ring.stl, unit: mm", tmp_path)
    assert gap(eqs, 0, 0, 0.05) == pytest.approx(0.02, abs=2e-4)
    points = "[[0, 0, 0], [10 cm, 0, 0], [0, 10 cm, 0], [0, 0, 10 cm]]"
    eqs = ball(f"type: convex, points: {points}, scale: 2, rounding: 1 mm")
    away = np.array([1, 1, 1]) / 3**0.5
    assert gap(eqs, *(0.2 / 3 + 0.05 * away)) == pytest.approx(0.04, abs=1e-9)


def test_a_height_field_is_where_its_heights_are(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "slope.txt", np.add.outer(0.3 * np.linspace(-0.5, 0.5, 11), 0.4 * np.linspace(-1, 1, 21)))
    eqs = ball("type: height_field, size: [2 m, 1 m], file: slope.txt", tmp_path)
    rng = np.random.default_rng(0)
    for x, y, h in rng.uniform(-1, 1, (20, 3)) * [0.8, 0.4, 0.1]:
        exact = (0.4 * x + 0.3 * y + h - 0.4 * x - 0.3 * y) / np.hypot(1, 0.5)
        assert gap(eqs, x, y, 0.4 * x + 0.3 * y + h) == pytest.approx(exact - 0.01, abs=1e-9)


def test_one_ball_on_ten_thousand_cells_is_found_among_few(tmp_path: Path) -> None:
    x = np.linspace(-0.5, 0.5, 101)
    np.savetxt(tmp_path / "field.txt", 0.02 * np.add.outer(np.sin(9 * x), np.cos(7 * x)))
    eqs = ball("type: height_field, size: [1 m, 1 m], file: field.txt", tmp_path)
    run = pliant.simulate(eqs, 0.5, start={"flight.z": 0.1})
    assert run.status == "completed"
    assert run.timing.run_s < 2


BOXES = 10


def test_a_stack_of_ten_boxes_stands() -> None:
    """A minute at the defaults, each box exactly on the one below; no box moves."""
    bodies = ", ".join(f"b{k}: {{mass: 1 kg, shape: {{type: box, size: [10 cm, 10 cm, 10 cm]}}}}" for k in range(BOXES))
    joints = ", ".join(f"j{k}: {{type: free, child: b{k}, z: {{initial: {5 + 10 * k} cm}}}}" for k in range(BOXES))
    text = f"""
pliant: 1
bodies: {{{bodies}}}
joints: {{{joints}}}
surfaces: {{floor: {{type: plane}}}}
contacts: {{any: {{between: all, friction: 0.5}}}}
"""
    eqs = pliant.derive(load_text(text))
    run = pliant.simulate(eqs, 60.0, save_every=10.0)
    q = np.asarray(run.q)
    assert np.abs(q[-1] - q[0]).max() < 1e-4


def test_a_box_that_hangs_over_too_far_falls() -> None:
    text = """
pliant: 1
bodies: {box: {mass: 1 kg, shape: {type: box, size: [10 cm, 10 cm, 10 cm]}}}
joints: {flight: {type: free, child: box, z: {initial: 5 cm}, x: {initial: OVER}}}
surfaces: {table: {type: box, size: [1 m, 1 m, 1 m], position: [-50 cm, 0, -50 cm]}}
contacts: {rest: {between: [box, table], friction: 0.5}}
"""
    for over, falls in (("-15 mm", False), ("5 mm", True)):
        q = np.asarray(pliant.simulate(pliant.derive(load_text(text.replace("OVER", over))), 1.0).q)
        assert (q[-1, 2] < -0.1) == falls


def test_a_cylinder_stands_and_rolls() -> None:
    text = """
pliant: 1
bodies: {can: {mass: 1 kg, shape: {type: cylinder, radius: 4 cm, length: 12 cm, axis: AXIS}}}
joints: {flight: {type: free, child: can, z: {initial: HEIGHT}, x: {rate: SPEED}}}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [can, floor], friction: 0.5}}
"""
    standing = text.replace("AXIS", "z").replace("HEIGHT", "6 cm").replace("SPEED", "0")
    q = np.asarray(pliant.simulate(pliant.derive(load_text(standing)), 5.0).q)
    assert np.abs(q[-1] - q[0]).max() < 1e-5
    rolling = text.replace("AXIS", "y").replace("HEIGHT", "4 cm").replace("SPEED", "0.6 m/s")
    run = pliant.simulate(pliant.derive(load_text(rolling)), 1.0)
    # sliding has become rolling, with two thirds of the speed
    assert np.asarray(run.v)[-1, 0] == pytest.approx(0.4, rel=2e-3)


@pytest.mark.parametrize("surface", ["type: mesh", "type: convex", "type: height_field, size: [1, 1]"])
def test_files_that_are_missing_or_no_such_thing_are_said(tmp_path: Path, surface: str) -> None:
    (tmp_path / "noise.stl").write_bytes(bytes(range(256)) * 4)
    (tmp_path / "empty.stl").write_bytes(b"")
    for name in ("none.stl", "../outside.stl", "noise.stl", "empty.stl"):
        with pytest.raises(SpecError) as found:
            ball(f"{surface}, file: {name}", tmp_path)
        assert [fault.path.split(".")[:2] for fault in found.value.faults] == [["surfaces", "thing"]], found.value


def test_a_mesh_that_is_not_closed_says_its_numbers(tmp_path: Path) -> None:
    mesh = trimesh.creation.icosphere(subdivisions=2)
    mesh.update_faces(np.arange(len(mesh.faces)) > 3)
    mesh.export(tmp_path / "open.stl")
    with pytest.raises(
        SpecError, match=r"open.stl is not closed: 6 of its 477 edges have one triangle only, the first near"
    ):
        ball("type: mesh, file: open.stl", tmp_path)
    assert gap(ball("type: mesh, file: open.stl, closed: false", tmp_path), 0, 0, 0.5) < 0.5
    box = trimesh.creation.box((1, 1, 1))
    box.invert()
    box.export(tmp_path / "inside_out.stl")
    with pytest.raises(SpecError, match=r"point inwards: its volume is -1 m\^3"):
        ball("type: mesh, file: inside_out.stl", tmp_path)


@pytest.mark.parametrize(
    ("surface", "message"),
    [
        ("type: box, size: [1, 0, 1]", "size must be above zero"),
        ("type: box, size: [1, 1, 1], rounding: 0.5", "rounding must be from 0 to below half"),
        ("type: cylinder, radius: 0", "radius must be above zero"),
        ("type: cylinder, radius: 1, rounding: 1 mm", "has no ends to round"),
        ("type: convex, points: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]", "the 4 points have no volume"),
        ("type: convex", "needs either `points` or a `file`"),
        ("type: height_field, size: [1, 1], heights: [[0, 1], [0]]", "all rows must have the same number of heights"),
        ("type: height_field, size: [0, 1], heights: [[0, 1], [0, 1]]", "size must be above zero"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_surface_is_said(surface: str, message: str) -> None:
    with pytest.raises(SpecError, match=message.replace("[", r"\[")):
        ball(surface)


def test_parameters_that_triangles_were_made_of_cannot_change() -> None:
    text = BALL.format(surface="type: height_field, size: [=width, 1], heights: [[0, 0], [0, 0]]").replace(
        "pliant: 1", "pliant: 1\nparameters: {width: 1 m}"
    )
    eqs = pliant.derive(load_text(text))
    with pytest.raises(ValueError, match="width"):
        eqs.at(parameters={"width": 2.0})
    sized = BALL.format(surface="type: box, size: [=width, 1, 1]").replace(
        "pliant: 1", "pliant: 1\nparameters: {width: 1 m}"
    )
    eqs = pliant.derive(load_text(sized))
    assert gap(eqs, 2, 0, 0) == pytest.approx(1.49, abs=1e-12)
    assert gap(eqs.at(parameters={"width": 2.0}), 2, 0, 0) == pytest.approx(0.99, abs=1e-12)


def test_rods_are_as_thick_as_their_sections_along_them() -> None:
    text = """
pliant: 1
sections: {thick: {shape: circle, radius: 2 cm}, thin: {shape: circle, radius: 1 cm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
bodies: {ball: {mass: 1 kg, shape: {type: sphere, radius: 1 cm}}}
joints: {flight: {type: free, child: ball}}
rods: {arm: {length: 40 cm, section: [thick, thin], material: rubber, model: {kind: cosserat, elements: 8}}}
contacts: {touch: {between: [ball, arm]}}
"""
    eqs = pliant.derive(load_text(text))
    for share in (0.1, 0.25, 0.8):
        assert gap(eqs, 0.1, 0, 0.4 * share) == pytest.approx(0.1 - 0.01 - (0.02 - 0.01 * share), abs=2e-4)
