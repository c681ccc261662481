"""Forces of contacts in pictures: an arrow at each contact, as long as it lasts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pliant
from pliant.show.marks import PushMark, push_scale
from pliant.show.scene import make_scene, run_clip
from pliant.show.sketch import Drawing, front_view
from pliant.show.stage import make_stage, with_equal_pushes

BALLS = """
pliant: 1
bodies:
  big: {mass: 1 kg, shape: {type: sphere, radius: 2 cm}}
  small: {mass: 0.5 kg, shape: {type: sphere, radius: 1 cm}}
joints:
  one: {type: free, child: big, z: {initial: 5 cm}}
  two: {type: free, child: small, z: {initial: 9.9 mm}, x: {initial: 30 cm}}
surfaces:
  floor: {type: plane}
contacts:
  ground: {between: [floor, [big, small]], stiffness: 20 kN/m, friction: 0.3}
"""


@pytest.fixture(scope="module")
def eqs():
    return pliant.derive(pliant.load_text(BALLS))


@pytest.fixture(scope="module")
def run(eqs):
    return pliant.simulate(eqs, 0.4)


def test_a_scene_has_the_force_on_what_is_not_fixed_to_the_world(eqs, run) -> None:
    (push,) = make_scene(eqs, run.q[0]).pushes
    np.testing.assert_allclose(push.point, [0.3, 0, -5e-5], atol=1e-9)
    np.testing.assert_allclose(push.force, [0, 0, 20e3 * 1e-4], atol=1e-9)  # the floor is named first


def test_scenes_of_a_run_show_the_forces_that_were_there(eqs, run) -> None:
    clip = run_clip(eqs, run)
    assert [len(scene.pushes) for scene in clip.scenes] == run.contacts.count.tolist()
    found = np.array([push.force for scene in clip.scenes for push in scene.pushes])
    np.testing.assert_array_equal(found, -run.contacts.force)


def test_arrows_are_as_many_in_all_frames_and_stay_with_their_contact(eqs, run) -> None:
    scenes = run_clip(eqs, run).scenes
    padded = with_equal_pushes(scenes)
    assert {len(scene.pushes) for scene in padded} == {2}
    first = {scene.pushes[0].key for scene in padded}
    assert len(first - {-1}) == 1  # the small ball has touched from the start
    for scene, filled in zip(scenes, padded, strict=True):
        strong = [push for push in filled.pushes if np.any(push.force)]
        assert {push.key for push in strong} == {push.key for push in scene.pushes}
        # what touches nothing yet is where it will, so that no arrow flies in
        assert filled.pushes[1].point[0] == pytest.approx(0.0, abs=1e-9)
    stage = make_stage(scenes)
    arrows = {batch.shape: batch for batch in stage.batches if batch.layer == "loads"}
    assert arrows["cone"].positions.shape == (len(scenes), 2, 3)
    assert stage.pushes == 2
    assert len(make_stage(scenes[:1], pushes=5).batches[1].positions[0]) == 5


def test_impacts_do_not_make_the_other_arrows_small(eqs, run) -> None:
    scenes = run_clip(eqs, run).scenes
    strongest = max(np.linalg.norm(push.force) for scene in scenes for push in scene.pushes)
    assert push_scale(scenes) < 0.5 * strongest
    drawing = Drawing(scenes[-1], front_view(scenes[-1]), labels=False, frames=False, push=push_scale(scenes))
    bare = Drawing(scenes[-1], front_view(scenes[-1]), labels=False, frames=False, push=1e9)
    assert len(drawing.todo) == len(bare.todo) + 2
    assert len(scenes[-1].pushes) == 2


def test_parts_that_only_touch_have_no_arrow():
    """The foot of the hopper begins on the ground to rounding, which is a force of picometres."""
    eqs = pliant.derive("hopper")
    state = eqs.initial_state()
    assert not make_scene(eqs, state.q).pushes
    pressed = state.q.copy()
    pressed[[c.name for c in eqs.model.coordinates].index("rail")] -= 1e-6
    (push,) = make_scene(eqs, pressed).pushes
    assert push.force[2] > 0


def test_arrows_of_many_contacts_are_shorter():
    def scale(count):
        pushes = tuple(PushMark(k, np.zeros(3), np.array([0, 0, 2.0])) for k in range(count))
        eqs = pliant.derive("pendulum")
        return push_scale([replace(make_scene(eqs, np.zeros(1)), pushes=pushes)])

    assert [scale(count) for count in (0, 1, 6, 18)] == pytest.approx([0.0, 2.0, 2.0, 6.0])
