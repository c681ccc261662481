"""Scenes and stages: everything is at the position given by the equations, for any renderer."""

from dataclasses import replace

import numpy as np
import pytest

import pliant
from pliant.show.marks import MeshMark
from pliant.show.scene import SceneMaker, make_scene
from pliant.show.stage import carried_turns, make_stage, unit_shape

ROPE = """
pliant: 1
parameters: {push: {value: 3 N, input: true}}
bodies:
  weight: {mass: 2 kg, shape: {type: box, size: [10 cm, 20 cm, 30 cm]}}
joints:
  flight: {type: free, child: weight, z: {initial: -1 m}}
links:
  rope: {type: axial, between: [world, weight], spring: {coefficient: 4 kN/m, rest: 1.1 m}, direction: tension}
loads:
  wind: {frame: weight, position: [5 cm, 0, 0], force: [0, =push, 0], expressed_in: weight}
inputs:
  push: =3 N * (1 + t/1 s)
"""


def rotated(turns, vectors):
    w, u = turns[..., :1], turns[..., 1:]
    return vectors + 2 * np.cross(u, np.cross(u, vectors) + w * vectors)


def corners(batch, k=0):
    """Corners of all copies of a batch in frame k (copies x corners x 3)."""
    mesh = unit_shape(batch.shape)
    local = mesh.vertices[None] * batch.sizes[k][:, None]
    return batch.positions[k][:, None] + rotated(np.broadcast_to(batch.turns[k][:, None], (*local.shape[:2], 4)), local)


def test_ropes_are_slack_below_their_length_and_loads_follow_time():
    eqs = pliant.derive(pliant.load_text(ROPE))
    q = eqs.initial_state().q
    scene = make_scene(eqs, q)
    assert scene.links[0].slack
    np.testing.assert_allclose(scene.loads[0].force, [0, 3, 0])
    np.testing.assert_allclose(scene.loads[0].point, [0.05, 0, -1])
    lower = eqs.state({"flight.z": -1.2}).q
    later = make_scene(eqs, lower, t=2.0)
    assert not later.links[0].slack
    np.testing.assert_allclose(later.loads[0].force, [0, 9, 0])
    held = make_scene(eqs, lower, inputs={"push": 1.0}, t=2.0)
    np.testing.assert_allclose(held.loads[0].force, [0, 1, 0])


def test_boxes_have_their_size_and_place():
    eqs = pliant.derive(pliant.load_text(ROPE))
    q = eqs.state({"flight.x": 0.3, "flight.orientation.qw": 0.5, "flight.orientation.qx": 0.5,
                             "flight.orientation.qy": 0.5, "flight.orientation.qz": 0.5}).q  # fmt: skip
    (cube,) = (b for b in make_stage([make_scene(eqs, q)]).batches if b.shape == "cube")
    found = corners(cube)[0]
    motion = eqs.frame("weight", q)
    np.testing.assert_allclose(found.mean(axis=0), motion.position, atol=1e-12)
    # a third of a turn about (1, 1, 1) brings x to y, y to z, z to x
    np.testing.assert_allclose(np.ptp(found, axis=0), [0.3, 0.1, 0.2], atol=1e-12)


@pytest.mark.parametrize("name", ["stiff_flop", "four_bar", "cart_pole", "spring_mass_chain"])
def test_all_frames_of_a_run_stay_in_its_box(name):
    eqs = pliant.derive(name)
    run = pliant.simulate(eqs, 0.3, save_every=0.1)
    maker = SceneMaker(eqs)
    stage = make_stage([maker.at(q) for q in run.q])
    assert stage.frames == len(run.time)
    margin = 0.6 * stage.size  # rails and springs reach beyond bodies
    for batch in stage.batches:
        np.testing.assert_allclose(np.linalg.norm(batch.turns, axis=2), 1, atol=1e-12)
        for k in range(stage.frames):
            assert np.all(corners(batch, k) > stage.low - margin)
            assert np.all(corners(batch, k) < stage.high + margin)


def test_a_rod_is_a_closed_tube_along_its_curve():
    eqs = pliant.derive("stiff_flop")
    rest = pliant.equilibrium(eqs, inputs={"p1": 6e4})
    scene = make_scene(eqs, rest.q)
    (rod,) = scene.rods
    tubes = next(b for b in make_stage([scene]).batches if b.layer == "rods")
    count = len(rod.points) - 1
    along = rotated(tubes.turns[0], np.broadcast_to([0.0, 0, 1], tubes.positions[0].shape))
    ends = [tubes.positions[0] + sign * 0.5 * tubes.sizes[0][:, 2:] * along for sign in (-1, 1)]
    pieces = next(k for k in range(len(along)) if np.allclose(ends[0][k], rod.points[0], atol=1e-9))
    starts, stops = (x[pieces : pieces + count] for x in ends)
    # each piece reaches over the corner to the next, by what the outer side of the bend needs and no more
    over = np.linalg.norm(stops[:-1] - rod.points[1:-1], axis=1)
    bend = np.arccos(
        np.clip(np.einsum("ij,ij->i", along[pieces : pieces + count - 1], along[pieces + 1 : pieces + count]), -1, 1)
    )
    np.testing.assert_allclose(over, rod.half_sizes[1:-1, 1] * np.tan(bend / 2), atol=1e-7)
    np.testing.assert_allclose([starts[0], stops[-1]], rod.points[[0, -1]], atol=1e-9)
    # curvature of the drawn curve is that of the model: the angle between its ends over its length
    tip, base = eqs.frame("arm.tip", rest.q).rotation[:, 2], eqs.frame("arm", rest.q).rotation[:, 2]
    length = np.linalg.norm(np.diff(rod.points, axis=0), axis=1).sum()
    assert rod.curvature.mean() == pytest.approx(np.arccos(tip @ base) / length, rel=0.05)


def test_nets_are_edges_between_their_nodes():
    eqs = pliant.derive("pendulum")
    nodes = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.5]])
    mesh = MeshMark("net", nodes, np.array([[0, 1], [1, 2], [2, 3]]))
    scene = replace(make_scene(eqs, eqs.initial_state().q), meshes=(mesh,))
    stage = make_stage([scene])
    tubes = next(b for b in stage.batches if b.shape == "cylinder" and b.layer == "robot")
    for edge in mesh.edges:
        middle, length = nodes[edge].mean(axis=0), np.linalg.norm(np.diff(nodes[edge], axis=0))
        (k,) = np.nonzero(np.linalg.norm(tubes.positions[0] - middle, axis=1) < 1e-12)[0]
        assert tubes.sizes[0, k, 2] == pytest.approx(length)
    assert [label.text for label in stage.labels if label.layer == "nodes"] == ["n1", "n2", "n3", "n4"]
    np.testing.assert_array_equal([label.positions[0] for label in stage.labels if label.layer == "nodes"], nodes)


NET = """
pliant: 1
parameters: {tight: {value: 1}}
world: {gravity: [0, 0, 0]}
bodies: {frame: {mass: 1 kg}}
joints: {turn: {type: revolute, child: frame, axis: z, position: [0, 0, 1 m]}}
meshes:
  net:
    type: membrane
    parent: frame
    drawing: {rectangle: [2 m, 1 m], cells: [2, 1]}
    sets: {left: {plane: x}}
    held: {left: frame}
    mass: 1 kg
    stiffness: 10 N
    tightness: =tight
"""


def test_nets_of_models_stand_where_the_equations_put_them():
    eqs = pliant.derive(pliant.load_text(NET))
    q = eqs.state({"turn": 0.5, "net.n2.x": 0.4, "net.n2.y": 0.1, "net.n2.z": 1.2}).q
    scene = make_scene(eqs, q)
    (mesh,) = scene.meshes
    np.testing.assert_allclose(mesh.nodes, [eqs.frame(f"net.n{k}", q).position for k in range(1, 7)], atol=1e-15)
    assert mesh.held.tolist() == [0, 3]
    assert not scene.links
    assert not any(name.startswith("net") for name in scene.frames)
    edges = [tuple(edge) for edge in mesh.edges]
    lengths = {edge: np.linalg.norm(mesh.nodes[edge[1]] - mesh.nodes[edge[0]]) for edge in edges}
    short = {edge for edge in edges if lengths[edge] < 1 - 1e-9} - {(0, 3)}
    assert {edges[k] for k in mesh.slack} == short
    assert len(short) == 1  # the second node came nearer to the first and went away from the others
    assert not len(make_scene(eqs, q, {"tight": 0.1}).meshes[0].slack)
    # slack edges are thinner, and pieces stay the same from pose to pose
    stage = make_stage([make_scene(eqs, eqs.initial_state().q), scene])
    tubes = next(b for b in stage.batches if b.shape == "cylinder" and b.layer == "robot")
    assert np.sum(tubes.sizes[1, :, 0] < 0.9 * tubes.sizes[0, :, 0]) == len(short)


def test_boxes_hold_rods_with_their_width():
    eqs = pliant.derive("cc_arm_2")
    scene = make_scene(eqs, eqs.initial_state().q)
    stage = make_stage([scene])
    (tubes,) = (b for b in stage.batches if b.layer == "rods")
    # the sides of tubes have sixteen corners, so they reach a little less far than round ones
    reached = corners(tubes).reshape(-1, 3)
    assert np.all(reached.min(axis=0) >= stage.low - 1e-9)
    assert np.all(reached.max(axis=0) <= stage.high + 1e-9)


def test_turns_follow_directions_without_jumps():
    rng = np.random.default_rng(1)
    angles = np.cumsum(rng.normal(scale=0.1, size=(200, 5, 2)), axis=0) + np.array([np.pi, 0])
    theta, phi = angles[..., 0], angles[..., 1]
    # these hang along -z and swing about it, where naive choices roll over
    directions = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    turns = carried_turns(directions)
    np.testing.assert_allclose(rotated(turns, np.broadcast_to([0.0, 0, 1], directions.shape)), directions, atol=1e-9)
    steps = 2 * np.arccos(np.clip(np.abs(np.einsum("tij,tij->ti", turns[1:], turns[:-1])), 0, 1))
    swung = np.arccos(np.clip(np.einsum("tij,tij->ti", directions[1:], directions[:-1]), -1, 1))
    np.testing.assert_allclose(steps, swung, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "volume"), [("ball", 4 / 3 * np.pi), ("cylinder", np.pi), ("cone", np.pi / 3), ("cube", 1)]
)
def test_unit_shapes_are_closed_and_face_outward(name, volume):
    mesh = unit_shape(name)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    # the divergence theorem: a flat-sided shape inside the round one has a little less
    assert 0.93 * volume < np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 < 1.0001 * volume
    flat = np.cross(b - a, c - a)
    wide = np.linalg.norm(flat, axis=1) > 1e-9
    assert np.all(np.einsum("ij,ij->i", flat, mesh.normals[mesh.faces].mean(axis=1))[wide] > 0)
