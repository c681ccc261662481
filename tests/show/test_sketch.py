"""Pictures: their contents and camera, and that nothing is cut off."""

import json

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")


import pliant
from pliant.cli import run
from pliant.robot.rod_switch import with_rod_model
from pliant.show.camera import choose_camera, look_from
from pliant.show.page import player
from pliant.show.scene import CLIPS, make_scene, most_frames, result_clips, start_clip
from pliant.show.sketch import Drawing, pose_of, save, sketch

DOWN = np.array([0, 0, -9.81])


def scene_of(name):
    eqs = pliant.derive(name)
    return make_scene(eqs, eqs.initial_state().q)


@pytest.mark.parametrize("name", [robot.name for robot in pliant.bundled_robots()])
def test_every_bundled_robot_is_drawn_whole(name):
    ax = sketch(pliant.derive(name))
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    drawn = [np.asarray(line.get_xydata()) for line in ax.lines] + [patch.get_xy() for patch in ax.patches]
    drawn += [np.asarray(segment) for collection in ax.collections for segment in collection.get_segments()]
    assert len(drawn) > 3
    points = np.concatenate(drawn)
    assert points[:, 0].min() > left
    assert points[:, 0].max() < right
    assert points[:, 1].min() > low
    assert points[:, 1].max() < high
    assert ax.get_aspect() in ("equal", 1.0)


def test_bodies_stand_where_the_equations_put_them():
    eqs = pliant.derive("four_bar")
    q = eqs.initial_state().q
    solids = {solid.name: solid for solid in make_scene(eqs, q).solids}
    for name in ("bar1", "bar2", "bar3"):
        ends = [eqs.frame(frame, q).position for frame in (name, f"{name}.tip")]
        np.testing.assert_allclose(solids[name].points, ends, atol=1e-12)
    tip = eqs.frame("bar3.tip", q).position
    (pin,) = make_scene(eqs, q).constraints
    np.testing.assert_allclose(pin, [tip, tip], atol=1e-9)


def test_parameters_move_the_drawing():
    eqs = pliant.derive("pendulum")
    q = eqs.initial_state().q
    rod = make_scene(eqs, q, {"length": 2.0}).solids[0].points
    assert np.linalg.norm(rod[1] - rod[0]) == pytest.approx(2.0)


def test_a_planar_robot_is_seen_face_on_with_gravity_down():
    four_bar = scene_of("four_bar")
    camera = choose_camera(four_bar.plane_points(), four_bar.turns, four_bar.slides, four_bar.gravity)
    np.testing.assert_allclose([camera.right, camera.up], np.eye(3)[[0, 1]], atol=1e-12)
    cart_pole = scene_of("cart_pole")
    camera = choose_camera(cart_pole.plane_points(), cart_pole.turns, cart_pole.slides, cart_pole.gravity)
    np.testing.assert_allclose([camera.right, camera.up], np.eye(3)[[0, 2]], atol=1e-12)


def test_a_spatial_robot_is_seen_from_above_and_from_no_axis():
    camera = choose_camera(np.random.default_rng(0).normal(size=(6, 3)), [], [], DOWN)
    assert 0.2 < camera.toward @ np.array([0, 0, 1]) < 0.7
    assert np.all(np.abs(camera.toward) < 0.95)


def test_points_on_a_line_are_seen_from_the_side():
    camera = choose_camera(np.outer(np.arange(4.0), [1, 1, 0]), [], [], DOWN)
    assert abs(camera.toward @ np.array([1, 1, 0])) < 1e-12
    np.testing.assert_allclose(camera.up, [0, 0, 1], atol=1e-12)


def test_a_camera_is_right_handed_whatever_it_looks_along():
    for direction in np.concatenate([np.eye(3), -np.eye(3), [[1, 2, 3]]]):
        camera = look_from(direction, DOWN)
        np.testing.assert_allclose(np.cross(camera.right, camera.up), camera.toward, atol=1e-12)


@pytest.mark.parametrize("kind", ["pcs", "cosserat", "finite_element", "pseudo_rigid", "polynomial", "pcc"])
def test_a_bent_rod_is_an_arc(kind):
    """Also if the model provides only the poses of its two ends (pcc): a cubic piece is within 0.1 % of an arc of 2 rad."""
    model = f"{{kind: {kind}}}" if kind in ("polynomial", "pcc") else f"{{kind: {kind}, elements: 10}}"
    text = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{wire: {{shape: circle, radius: 5 mm}}}}
materials: {{rubber: {{density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}}}
rods:
  arm: {{length: 0.5 m, section: wire, material: rubber, rest: [0, 0, 0, 0, 4, 0], model: {model}}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    (rod,) = make_scene(eqs, eqs.initial_state().q).rods
    center = np.array([0.25, 0, 0])  # of a circle with curvature 4/m that starts along z
    np.testing.assert_allclose(np.linalg.norm(rod.points - center, axis=1), 0.25, atol=1.5e-3)
    length = np.linalg.norm(np.diff(rod.points, axis=0), axis=1).sum()
    assert length == pytest.approx(0.5, rel=5e-3)
    assert rod.grounded


@pytest.mark.parametrize("kind", ["pcc", "pcc_cog", "pcc:3"])
@pytest.mark.parametrize("angle", [2.5, 3.5, 5.0, 6.5, 9.0])
def test_an_arc_is_drawn_round_however_far_it_is_bent(kind, angle):
    """Its ends alone do not tell an arc of 200 degrees from one of 160 the other way round."""
    text = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{wire: {{shape: circle, radius: 5 mm}}}}
materials: {{rubber: {{density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}}}
rods:
  arm: {{length: 0.5 m, section: wire, material: rubber, rest: [0, 0, 0, 0, {2 * angle}, 0]}}
"""
    eqs = pliant.derive(with_rod_model(pliant.load_text(text), "arm", kind))
    (rod,) = make_scene(eqs, eqs.initial_state().q).rods
    radius = 0.5 / angle
    np.testing.assert_allclose(np.linalg.norm(rod.points - [radius, 0, 0], axis=1), radius, rtol=1e-4)
    assert np.linalg.norm(np.diff(rod.points, axis=0), axis=1).sum() == pytest.approx(0.5, rel=2e-3)
    np.testing.assert_allclose(rod.curvature, 1 / radius, rtol=2e-3)


def test_a_net_is_drawn_between_the_bodies_behind_and_before_it():
    ax = sketch(pliant.derive("tissue_block"), view=[0, -1, 0])
    behind, before = sorted(ax.collections, key=lambda lines: lines.get_zorder())
    layers = {patch.get_zorder() for patch in ax.patches}
    assert len(layers) == 2, "the probe, and its surface that the net is pressed by"
    assert behind.get_zorder() < min(layers) < max(layers) < before.get_zorder()
    # near edges are darker, and nothing is lost on the way: 4 x 4 x 2 cells with both diagonals of every face
    assert before.get_colors().mean() < behind.get_colors().mean()
    along = 3 * (4 * 5 + 5 * 4) + 5 * 5 * 2
    across = 2 * (3 * 4 * 4 + 2 * (5 * 4 * 2))
    assert len(before.get_segments()) + len(behind.get_segments()) == along + across


def test_pictures_of_large_nets_stay_small(tmp_path):
    text = """
pliant: 1
meshes: {net: {type: membrane, drawing: {rectangle: [1 m, 1 m], cells: [99, 99]}, mass: 0.3 kg, stiffness: 150 N}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    save(sketch(eqs, eqs.initial_state().q), tmp_path / "net.svg")
    assert (tmp_path / "net.svg").stat().st_size < 1e6
    assert most_frames(eqs) * 2 * 99 * 100 <= CLIPS.most_edges
    page = player("stage", "net", [start_clip(eqs)])
    assert "shown without numbers of nodes" in page
    assert len(page) < 2e6


def test_the_same_robot_gives_the_same_file(tmp_path):
    eqs = pliant.derive("pendulum")
    files = [tmp_path / f"{k}.svg" for k in range(2)]
    for file in files:
        save(sketch(eqs), file)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_command_writes_pictures(tmp_path, capsys, suffix):
    file = tmp_path / f"robot.{suffix}"
    assert run(["picture", "pendulum", "--out", str(file), "--at", "equilibrium", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == str(file)
    assert file.stat().st_size > 2000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "robot.txt"], "end it in .png, .svg or .pdf"),
        (["--out", "no/such/folder/robot.png"], "cannot write"),
        (["--out", "robot.png", "--at", "noon"], "write --at initial, --at equilibrium"),
    ],
)
def test_the_command_says_what_to_change(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert run(["picture", "pendulum", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_flat_rods_are_drawn_as_wide_as_they_are_seen() -> None:
    """The hopper's leg is a strip of 2 mm by 20 mm that bends over its thin side, in the x-z plane."""
    scene = scene_of("hopper")
    (leg,) = scene.rods
    for direction, half in (([0, -1, 0], 0.001), ([1, 0, 0], 0.01)):
        drawing = Drawing(scene, look_from(direction, scene.gravity), labels=False, frames=False)
        widths = leg.seen_half_widths(drawing.camera.project)
        assert np.median(widths) == pytest.approx(half, rel=0.02)


def test_slides_with_a_given_motion_stand_where_they_are_placed_and_end_outside() -> None:
    scene = scene_of("parallel_rods")
    slides = [joint for joint in scene.joints if joint.kind == "prismatic"]
    assert [np.hypot(*slide.place[:2]) for slide in slides] == pytest.approx([0.09] * 6)  # around the base
    assert len({tuple(np.round(slide.place, 6)) for slide in slides}) == 6
    drawing = Drawing(scene, look_from([0, -1, 0], scene.gravity), labels=False, frames=False)
    for slide in slides:
        assert slide.drive is not None
        assert slide.drive[2] < 0  # away from the platform
        place, out = drawing.camera.project(slide.place), drawing.camera.project(slide.drive)
        out = out / np.linalg.norm(out)
        end = place + drawing._free_from(place, out, scene.swept) * out
        assert end[1] == pytest.approx(min(drawing.camera.project(scene.outline_points())[:, 1]), abs=0.005)


PULLED = """
pliant: 1
parameters:
  pull: {value: 0 N, input: true}
  length: 30 cm
sections: {round: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.5}}
rods: {arm: {length: =length, section: round, material: rubber}}
tendons: {cable: {type: tension, tension: =pull, through: [{rod: arm, offset: [4 mm, 0]}]}}
loads: {push: {type: wrench, frame: arm.tip, force: [=0.01 * pull, 0, 0]}}
inputs: {pull: {ramp: {end: 0.5 s, after: 1 N}}}
"""


def test_what_depends_on_time_is_drawn_as_it_is_at_the_time_of_the_pose():
    eqs = pliant.derive(pliant.load_text(PULLED))
    rest = pliant.equilibrium(eqs, time=1.0)
    run = pliant.simulate(eqs, 1.0)

    def drawn(pose):
        ax = sketch(eqs, pose, labels=False, frames=False)
        taut = sum(line.get_marker() == "." for line in ax.lines)
        arrows = sum(len(patch.get_xy()) == 8 for patch in ax.patches)
        return taut, arrows

    assert drawn(None) == (0, 0)
    assert [drawn(pose) for pose in (rest, rest.state, run)] == [(1, 1)] * 3
    (clip,) = result_clips(pliant.modes(eqs, at=rest), most=1)
    assert not clip.scenes[0].tendons[0].slack


def test_poses_bring_their_parameters_along():
    eqs = pliant.derive(pliant.load_text(PULLED))
    rest = pliant.equilibrium(eqs, parameters={"length": 0.5})
    for pose in (rest, pliant.simulate(eqs, 0.01, parameters={"length": 0.5})):
        here, state = pose_of(eqs, pose)
        (rod,) = make_scene(here, state.q).rods
        assert np.linalg.norm(np.diff(rod.points, axis=0), axis=1).sum() == pytest.approx(0.5, rel=1e-2)


def test_poses_by_name_and_what_is_none():
    eqs = pliant.derive("four_bar")
    start, rest = pose_of(eqs, "initial")[1].q, pose_of(eqs, "equilibrium")[1].q
    np.testing.assert_array_equal(start, pose_of(eqs, None)[1].q)
    np.testing.assert_allclose(rest, pliant.equilibrium(eqs).q)
    closed = pose_of(eqs, {"q1": 1.0})[1]
    assert closed.q[0] == pytest.approx(1.0)
    assert np.abs(eqs.binding.constraint_values(0.0, closed.q, closed.v)[0]).max() < 1e-9
    with pytest.raises(pliant.ArgumentError, match="unknown state 'inital' as pose"):
        sketch(eqs, "inital")
    with pytest.raises(pliant.ArgumentError, match="q must have 3 entries"):
        sketch(eqs, [0.0, 1.0])


def test_a_rod_that_leaves_its_body_away_from_the_viewer_begins_behind_it():
    eqs = pliant.derive("gripper")
    here, state = pose_of(eqs, None)
    scene = make_scene(here, state.q)
    above = Drawing(scene, look_from((0.3, -1.0, 0.6), DOWN), labels=False, frames=False)
    below = Drawing(scene, look_from((0.3, -1.0, -0.6), DOWN), labels=False, frames=False)
    fingers = [rod.name for rod in scene.rods]
    assert all(above.layer[finger] < above.layer["palm"] for finger in fingers)
    assert any(below.layer[finger] > below.layer["palm"] for finger in fingers)


def test_thin_rods_are_as_thin_as_they_are():
    """Half a millimetre of a rod a metre long is more than a pixel wide and drawn so; thinner ones keep a pixel."""
    for radius, drawn in ((3e-3, 3e-3), (1e-4, 1.4e-3)):
        text = PULLED.replace("radius: 5 mm", f"radius: {radius} m").replace("length: 30 cm", "length: 1 m")
        eqs = pliant.derive(pliant.load_text(text.replace("offset: [4 mm, 0]", "offset: [0, 0]")))
        ax = sketch(eqs, labels=False, frames=False)
        widths = [np.ptp(patch.get_xy()[:, 0]) for patch in ax.patches if len(patch.get_xy()) > 20]
        assert min(widths) == pytest.approx(2 * drawn, rel=0.05)


@pytest.mark.parametrize("name", ["cantilever", "spring_mass_chain", "timoshenko_cantilever"])
@pytest.mark.parametrize("view", ["left", "right"])
def test_robots_seen_along_their_length_have_symbols_that_can_be_seen(name, view):
    ax = sketch(pliant.derive(name), view=view)
    length = float(np.ptp(scene_of(name).outline_points(), axis=0).max())
    assert 0.03 * length < np.ptp(ax.get_xlim()) < 0.3 * length
    if name != "spring_mass_chain":
        sections = [np.ptp(patch.get_xy(), axis=0) for patch in ax.patches]
        assert any(0.01 * length < min(size) for size in sections), "the end that faces the viewer is drawn"


def test_pictures_of_robots_of_all_sizes_are_the_same():
    """The letters of the world's axes need the same share of the picture of a microrobot as of a crane."""
    eqs = pliant.derive("pendulum")
    limits = [
        np.array([ax.get_xlim(), ax.get_ylim()]) / length
        for length in (1e-4, 1.0, 100.0)
        for ax in [sketch(eqs, parameters={"length": length})]
    ]
    assert limits[0] == pytest.approx(limits[1], rel=1e-6)
    assert limits[2] == pytest.approx(limits[1], rel=1e-6)
