"""Slides: the ground, rails and mounts stay in place while the carriage moves."""

import numpy as np
import pytest

import pliant
from pliant.show.scene import SceneMaker, run_scenes
from pliant.show.sketch import Drawing, front_view
from pliant.show.symbols import scene_copies

MODEL = """pliant: 1
bodies:
  car: {mass: 1 kg, shape: {type: box, size: [0.2, 0.1, 0.1]}}
  pole: {mass: 0.1 kg, shape: {type: slender_rod, length: 0.5 m, axis: z}, center_of_mass: [0, 0, -0.25]}
joints:
  rail: {type: prismatic, child: car, axis: x, displacement: {DISPLACEMENT}}
  hinge: {type: revolute, parent: car, child: pole, axis: y}
"""
DISPLACEMENTS = {
    "driven": 'motion: "=0.3 m*sin(3*t/(1 s))"',
    "spring": "spring: 5 N/m, initial: 0.3 m",
    "rail": "rate: 0.6 m/s",
}

INPUT = "parameters: {drive: {value: 0 m, input: true}}\nbodies:"


@pytest.fixture(params=DISPLACEMENTS)
def eqs(request):
    return pliant.derive(pliant.load_text(MODEL.replace("DISPLACEMENT", DISPLACEMENTS[request.param])))


def grounds(scenes, monkeypatch):
    """Places of the ground symbols on pictures of the scenes, with one camera."""
    found = []
    monkeypatch.setattr(Drawing, "_ground", lambda self, center, *rest: found[-1].append(center))
    camera = front_view(*scenes)
    for scene in scenes:
        found.append([])
        Drawing(scene, camera, labels=False, frames=False, size=1.0, center=np.zeros(3))
    return np.array(found)


def test_the_ground_stays_in_films(eqs, monkeypatch):
    run = pliant.simulate(eqs, 2.0, save_every=0.1)
    scenes = list(run_scenes(eqs, run, range(len(run.time))))
    child = np.array([scene.joints[0].child[0] for scene in scenes])
    assert np.ptp(child) > 0.5  # the carriage moves
    places = grounds(scenes, monkeypatch)
    assert places.shape[1] > 0
    np.testing.assert_allclose(places, places[:1] + 0 * places, atol=1e-12)
    if places.shape[1] == 1:  # the carriage never reaches its mount
        assert child.min() - 0.1 > places[0, 0, 0] or child.max() + 0.1 < places[0, 0, 0]


def test_the_ground_stays_if_poses_are_drawn_one_by_one(eqs, monkeypatch):
    """As on the live page and on pictures: the range of the motion is not known."""
    poses = [np.array([x, 0.3]) for x in (-0.4, 0.0, 0.4)]
    places = grounds([SceneMaker(eqs).at(q) for q in poses], monkeypatch)
    np.testing.assert_allclose(places, places[:1] + 0 * places, atol=1e-12)


def test_the_ground_stays_if_an_input_moves_the_carriage(monkeypatch):
    """As with a slider of the live page."""
    driven = MODEL.replace("DISPLACEMENT", "motion: =drive").replace("bodies:", INPUT)
    eqs = pliant.derive(pliant.load_text(driven))
    scenes = []
    for x in (-0.4, 0.0, 0.4):
        here = {"drive": x}
        scenes.append(SceneMaker(eqs, inputs=here).at(eqs.at(inputs=here).initial_state().q))
    places = grounds(scenes, monkeypatch)
    assert np.ptp([scene.joints[0].child[0] for scene in scenes]) == pytest.approx(0.8)
    np.testing.assert_allclose(places, places[:1] + 0 * places, atol=1e-12)


def test_far_ends_stay_in_three_dimensions(eqs):
    run = pliant.simulate(eqs, 2.0, save_every=0.2)
    scenes = list(run_scenes(eqs, run, range(len(run.time))))
    ends = []
    for scene in scenes:
        made = scene_copies(scene, 1.0, 1.0, 1.0, 1.0, np.zeros(3)).copies
        ends.append(
            np.concatenate([x.ends.reshape(-1, 3) for every in made.values() for x in every if x.ends is not None])
        )
    still = np.ptp(np.array(ends), axis=0).max(axis=1) < 1e-12
    assert still.any()  # an end of the rail, the spring or the rod of the drive


def test_springs_are_as_long_as_their_coordinate_says(monkeypatch):
    """In single pictures too: the wall stays, also beside a carriage that is further back than at the start."""
    eqs = pliant.derive(pliant.load_text(MODEL.replace("DISPLACEMENT", "spring: 5 N/m")))
    ways = np.array([-0.1, 0.0, 0.1, 0.2])
    marks = [SceneMaker(eqs).at(np.array([x, 0.0])).joints[0] for x in ways]
    starts = np.array([mark.spring_start(0.6) for mark in marks])
    lengths = np.array([mark.child[0] - mark.behind for mark in marks]) - starts[:, 0]
    np.testing.assert_allclose(lengths, lengths[1] + ways, atol=1e-12)
    assert lengths.min() > 0.05
    far = SceneMaker(eqs).at(np.array([-1.0, 0.0])).joints[0]
    assert far.child[0] - far.behind - far.spring_start(0.6)[0] > 0.05  # never inside the carriage
