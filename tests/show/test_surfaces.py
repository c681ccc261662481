"""Surfaces of contacts: drawn where the equations put them, as large as the robot, in pictures and in pages."""

import json
import struct

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import pliant
from pliant.show.marks import right_triangles
from pliant.show.page import encoded
from pliant.show.report import report
from pliant.show.scene import SceneMaker, make_scene, run_clip
from pliant.show.sketch import front_view, sketch
from pliant.show.stage import make_stage

SEESAW = """
pliant: 1
parameters: {thick: 4 cm}
bodies:
  board: {mass: 1 kg, shape: {type: box, size: [1 m, 20 cm, 2 cm]}, frames: {top: {position: [0, 0, 1 cm]}}}
  ball: {mass: 100 g, shape: {type: sphere, radius: 3 cm}}
joints:
  turn: {type: revolute, child: board, axis: y, angle: {spring: 3 N*m, damper: 0.3 N*m*s, initial: 20 deg}}
  flight: {type: free, child: ball, z: {initial: 30 cm}}
surfaces:
  deck: {type: plane, parent: board.top}
  rail: {type: capsule, parent: board, position: [0, 10 cm, 0], axis: x, radius: =thick/2, length: 1 m}
  pole: {type: cylinder, axis: [0, 0, 2], position: [60 cm, 0, 0], radius: 5 cm}
  ground: {type: plane, position: [9 m, 9 m, -40 cm]}
contacts:
  touch: {between: [ball, [deck, rail, pole, ground]], stiffness: 500 N/m}
"""


@pytest.fixture(scope="module")
def seesaw():
    return pliant.derive(pliant.load_text(SEESAW))


def test_surfaces_stand_and_move_with_their_frames(seesaw):
    for angle in (0.0, 0.4):
        q = seesaw.state({"turn": angle}).q
        board = seesaw.frame("board", q)
        deck, rail, pole, floor = make_scene(seesaw, q, {"thick": 0.1}).surfaces
        np.testing.assert_allclose(deck.place, seesaw.frame("board.top", q).position, atol=1e-12)
        np.testing.assert_allclose(deck.axis, board.rotation[:, 2], atol=1e-12)
        np.testing.assert_allclose(rail.place, board.position + board.rotation @ [0, 0.1, 0], atol=1e-12)
        np.testing.assert_allclose(rail.axis, board.rotation[:, 0], atol=1e-12)
        assert (rail.radius, rail.half_length) == pytest.approx((0.05, 0.5))
        np.testing.assert_allclose(pole.axis, [0, 0, 1])
        assert [mark.moves for mark in (deck, rail, pole, floor)] == [True, True, False, False]


def test_endless_surfaces_are_shown_as_far_as_the_robot_reaches(seesaw):
    maker = SceneMaker(seesaw)
    poses = [seesaw.state({"turn": angle}).q for angle in (0.0, 0.3)]
    stage = make_stage([maker.at(q) for q in poses])
    shapes = {batch.shape: batch for batch in stage.batches if batch.layer == "contacts"}
    assert stage.size < 2
    assert shapes["cube"].positions.shape == (2, 2, 3)
    # the floor stays below the middle of the robot, though its place is far away; the deck moves with the board
    deck, floor = shapes["cube"].positions.transpose(1, 0, 2)
    np.testing.assert_allclose(floor[:, :2], np.tile(0.5 * (stage.low + stage.high)[:2], (2, 1)))
    np.testing.assert_allclose(floor[:, 2], -0.4, atol=0.01)
    assert np.linalg.norm(deck[1] - deck[0]) > 1e-3
    np.testing.assert_allclose(shapes["cube"].sizes[:, 1, :2], 1.3 * stage.size)
    assert shapes["ball"].positions.shape == (2, 2, 3)  # ends of the capsule
    assert stage.low[2] <= -0.4


def test_surfaces_of_triangles_cover_what_they_stand_for():
    """The pieces have the surface's area and lie on it; large ones are shown coarser, within their bounds."""
    rows = [[0.01 * ((i * j) % 7) for i in range(41)] for j in range(41)]
    text = f"""
pliant: 1
bodies: {{ball: {{mass: 100 g, shape: {{type: sphere, radius: 3 cm}}}}}}
joints: {{flight: {{type: free, child: ball, z: {{initial: 30 cm}}}}}}
surfaces:
  box: {{type: box, size: [20 cm, 30 cm, 40 cm], position: [1 m, 0, 0], rotation: {{axis: x, angle: 30 deg}}}}
  field: {{type: height_field, size: [1 m, 1 m], heights: {rows}}}
  can: {{type: cylinder, radius: 5 cm, length: 30 cm, position: [0, 1 m, 0]}}
contacts: {{touch: {{between: [ball, [box, field, can]]}}}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    scene = make_scene(eqs, eqs.initial_state().q)
    box, field, can = scene.surfaces
    places, axes, legs = right_triangles(box)
    assert 0.5 * np.prod(legs, axis=1).sum() == pytest.approx(2 * (0.06 + 0.08 + 0.12))
    corners = [places, places + axes[:, :, 0] * legs[:, :1], places + axes[:, :, 1] * legs[:, 1:]]
    turned = np.concatenate(corners) - box.place
    angle = np.radians(30)
    turn = np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])
    outside = np.abs(turned @ turn) - [0.1, 0.15, 0.2]
    np.testing.assert_allclose(outside.max(axis=1), 0, atol=1e-12)
    assert 100 < len(field.faces) <= 600
    assert np.abs(field.points[:, :2]).max() <= 0.5
    assert field.points[:, 2].min() >= 0
    assert field.points[:, 2].max() <= 0.06
    assert not can.is_endless
    shown = {batch.shape for batch in make_stage([scene]).batches if batch.layer == "contacts"}
    assert shown == {"triangle", "cylinder"}


def test_a_floor_leaves_a_planar_robot_planar_and_shows_a_flat_net_from_the_side():
    walker = """
pliant: 1
bodies: {leg: {mass: 1 kg, center_of_mass: [0, 0, -20 cm], frames: {foot: {position: [0, 0, -40 cm]}}}}
joints: {slide: {type: revolute, child: leg, axis: y, position: [0, 0, 40 cm], angle: {initial: 20 deg}}}
surfaces: {floor: {type: plane}, foot: {type: sphere, parent: leg.foot, radius: 0}}
contacts: {ground: {between: [foot, floor], stiffness: 1 kN/m}}
"""
    eqs = pliant.derive(pliant.load_text(walker))
    assert abs(front_view(make_scene(eqs, eqs.initial_state().q)).toward[1]) == pytest.approx(1)
    net = """
pliant: 1
meshes: {net: {type: membrane, drawing: {rectangle: [1, 1], cells: [2, 2]}, mass: 1 kg, stiffness: 10 N, position: [0, 0, 30 cm]}}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [net, floor], stiffness: 1 kN/m}}
"""
    eqs = pliant.derive(pliant.load_text(net))
    assert abs(front_view(make_scene(eqs, eqs.initial_state().q)).toward[2]) < 0.5


def test_pictures_show_surfaces_pale_behind_the_robot(seesaw):
    ax = sketch(seesaw)
    pale = [patch for patch in ax.patches if patch.get_alpha() is not None]
    assert len(pale) == 4
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    points = np.concatenate([patch.get_xy() for patch in pale])
    assert left < points[:, 0].min() < points[:, 0].max() < right
    assert low < points[:, 1].min() < points[:, 1].max() < high


def test_gltf_files_let_the_robot_show_through_surfaces(seesaw, tmp_path):
    file = tmp_path / "seesaw.glb"
    pliant.export_gltf(seesaw, file)
    raw = file.read_bytes()
    content = json.loads(raw[20 : 20 + struct.unpack("<I", raw[12:16])[0]])
    blended = [material for material in content["materials"] if material.get("alphaMode") == "BLEND"]
    assert len(blended) == 1
    assert blended[0]["pbrMetallicRoughness"]["baseColorFactor"][3] == pytest.approx(0.3)


def test_the_player_shows_and_hides_surfaces(browser, seesaw, tmp_path):
    run = pliant.simulate(seesaw, 0.4, save_every=0.05)
    assert len(run_clip(seesaw, run).scenes[0].surfaces) == 4
    page = tmp_path / "page.html"
    page.write_bytes(encoded(report(seesaw, [run])))
    browser.open(page.as_uri(), network=False)
    browser.wait(lambda: browser.run("return window.pliantPlayers.every(p => p.drawn > 0)"))
    browser.run("document.querySelector('.player canvas').scrollIntoView()")
    shown = browser.picture(".player canvas")
    browser.find(".player input.contacts").click()
    hidden = browser.picture(".player canvas")
    assert browser.differing(shown, hidden) > 0.03
    # the robot is seen through them
    assert browser.coloured(shown) > 0.3 * browser.coloured(hidden)
    assert not browser.errors()


def test_the_surface_of_a_body_is_behind_it_wherever_it_swings():
    eqs = pliant.derive("sleeve")
    for angle in (-1.5, -0.5, 0.0, 0.7, 1.6):
        ax = sketch(eqs, {"shoulder": angle}, view=(0.4, -1.0, 0.4))
        surfaces = [patch.zorder for patch in ax.patches if patch.get_alpha() == 0.5]
        solids = [patch.zorder for patch in ax.patches if patch.get_alpha() is None]
        assert len(surfaces) == 1
        assert surfaces[0] < min(solids)
