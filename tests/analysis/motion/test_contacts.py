"""Contacts along a motion: their table, files, energy, states that remember them, events on touch and release."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import pliant
from pliant import Event
from pliant.engine.equations import Equations
from pliant.language.arguments import ArgumentError

G = 9.81
BLOCK = """
pliant: 1
world: {{gravity: [{pull}, 0, -9.81]}}
bodies:
  carriage: {{mass: 1 g}}
  block: {{mass: 1 kg, shape: {{type: sphere, radius: 2 cm}}}}
joints:
  along: {{type: prismatic, child: carriage, axis: x, displacement: {{rate: {rate}}}}}
  up: {{type: prismatic, parent: carriage, child: block, axis: z, displacement: {{initial: 1.95095 cm}}}}
surfaces:
  floor: {{type: plane}}
contacts:
  ground: {{between: [block, floor], stiffness: 20 kN/m, friction: 0.3}}
"""
BALLS = """
pliant: 1
bodies:
  big: {{mass: 1 kg, shape: {{type: sphere, radius: 2 cm}}}}
  small: {{mass: 0.5 kg, shape: {{type: sphere, radius: 1 cm}}}}
joints:
  one: {{type: free, child: big, z: {{initial: {height}}}, x: {{rate: 0.5 m/s}}}}
  two: {{type: free, child: small, z: {{initial: 9.9 mm}}, x: {{initial: 50 cm}}}}
surfaces:
  floor: {{type: plane}}
contacts:
  ground: {{between: [floor, [big, small]], stiffness: 20 kN/m, {law}}}
"""


def block(pull: float = 0.0, rate: float = 0.0) -> Equations:
    return pliant.derive(pliant.load_text(BLOCK.format(pull=pull, rate=rate)))


def balls(height: str = "10 cm", law: str = "dissipation: 0.3 s/m, friction: 0.3") -> Equations:
    return pliant.derive(pliant.load_text(BALLS.format(height=height, law=law)))


@pytest.fixture(scope="module")
def bouncing() -> pliant.Result:
    return pliant.simulate(balls(), 0.5, rtol=1e-6)


# -- the table ---------------------------------------------------------------------------------------------------------


def test_the_table_says_who_touches_whom_where_and_with_which_force(bouncing: pliant.Result) -> None:
    contacts = bouncing.contacts
    here = contacts.at(0.0)
    assert here.name == ("ground",)
    # the law names the floor first, so the force is that on the floor
    assert here.pairs == (("floor", "small"),)
    np.testing.assert_allclose(here.force, [[0, 0, -20e3 * 1e-4]], atol=1e-9)
    np.testing.assert_allclose(here.normal, [[0, 0, -1]])
    np.testing.assert_allclose(here.place, [[0.5, 0, -0.5e-4]], atol=1e-12)
    np.testing.assert_allclose(here.gap, -1e-4, atol=1e-12)
    turned = contacts.between("small", "floor").at(0.0)
    np.testing.assert_allclose(turned.force, -here.force)
    np.testing.assert_allclose(turned.normal, -here.normal)
    assert turned.pairs == (("small", "floor"),)


def test_rows_belong_to_their_times(bouncing: pliant.Result) -> None:
    contacts, height = bouncing.contacts, bouncing["one.z"].values
    of_big = contacts.between("big", "floor")
    assert set(of_big.count) == {0, 1}
    np.testing.assert_array_equal(of_big.count == 1, height < 0.02)
    np.testing.assert_allclose(of_big.gap, height[height < 0.02] - 0.02, atol=1e-12)
    np.testing.assert_array_equal(of_big.time, bouncing.time[height < 0.02])
    both = contacts.total_force
    np.testing.assert_allclose(both, -(of_big.total_force + contacts.between("small", "floor").total_force), atol=1e-12)
    # force and acceleration agree: M a = M g + force
    lifted = of_big.total_force[:, 2]
    np.testing.assert_allclose(lifted, bouncing["one.z"].acceleration + G, atol=1e-3 * lifted.max())


def test_sliding_and_sticking_are_told_apart() -> None:
    slides = pliant.simulate(block(rate=1.0), 0.2).contacts.at(0.2)
    assert not slides.sticks[0]
    np.testing.assert_allclose(slides.friction_force, [[-0.3 * 1.001 * G, 0, 0]], rtol=2e-3)
    assert slides.sliding_velocity[0, 0] == pytest.approx(1 - 0.3 * G * 0.2, rel=5e-3)
    sticks = pliant.simulate(block(pull=1.0), 0.5).contacts.at(0.5)
    assert sticks.sticks[0]
    np.testing.assert_allclose(sticks.friction_force, [[-1.001, 0, 0]], rtol=1e-4)
    assert "sticks" in repr(sticks)
    assert "block on floor" in repr(sticks)


def test_files_and_pickles_keep_contacts(bouncing: pliant.Result, tmp_path) -> None:
    bouncing.save(tmp_path / "run.nc")
    for back in (pliant.load_result(tmp_path / "run.nc"), pickle.loads(pickle.dumps(bouncing))):
        np.testing.assert_array_equal(back.contacts.rows, bouncing.contacts.rows)
        np.testing.assert_array_equal(back.contacts.begins, bouncing.contacts.begins)
        assert back.contacts.at(0.0).pairs == bouncing.contacts.at(0.0).pairs
        np.testing.assert_array_equal(back.final.contacts.rows, bouncing.final.contacts.rows)
    table = bouncing.dataset
    assert table["contact_force"].dims == ("contact", "axis")
    assert table["contact_force"].attrs["units"] == "N"
    assert int(table["contact_count"].sum()) == table.sizes["contact"]


def test_a_robot_without_contacts_has_an_empty_table() -> None:
    run = pliant.simulate(pliant.derive(pliant.load("four_bar")), 0.01)
    assert len(run.contacts) == 0
    assert len(run.contacts.count) == len(run.time)
    assert run.final.contacts is None
    assert "contact_count" not in run.dataset


def test_what_is_not_there_is_said(bouncing: pliant.Result) -> None:
    with pytest.raises(ArgumentError, match=r"no contact 'grund'.*ground"):
        bouncing.contacts["grund"]
    with pytest.raises(ArgumentError, match="no part that can touch 'ball'"):
        bouncing.contacts.between("ball", "floor")
    with pytest.raises(ArgumentError, match=r"not a saved time .the nearest one is 0\.1 s"):
        bouncing.contacts.at(0.1004)


def test_contacts_in_a_state(bouncing: pliant.Result) -> None:
    eqs = balls()
    now = eqs.contacts(bouncing.final)
    np.testing.assert_allclose(now.force, bouncing.contacts.at(0.5).force, rtol=1e-9, atol=1e-9)
    at_rest = eqs.contacts(bouncing.final.q)
    np.testing.assert_array_equal(at_rest.friction_force, 0)


# -- energy ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("eqs", "until", "within"),
    [
        (lambda: block(rate=1.0), 0.3, 1e-6),
        (lambda: block(rate=1.0), 0.5, 1e-4),
        (lambda: block(rate=0.001), 0.3, 1e-3),
        (lambda: balls(law="dissipation: 0.3 s/m"), 0.5, 3e-3),
        (lambda: balls(law="restitution: 1"), 0.5, 3e-3),
        (lambda: balls(), 0.5, 2e-2),
    ],
    ids=["sliding", "sliding to rest", "sticking", "bouncing", "bouncing without loss", "bouncing and rubbing"],
)
def test_what_is_lost_is_dissipated_and_energy_never_rises(eqs, until: float, within: float) -> None:
    """At the defaults: kinetic, potential and dissipated energy together stay what they are."""
    energy = pliant.simulate(eqs(), until).energy
    total, scale = energy.total.values, float(np.ptp(energy.kinetic.values))
    np.testing.assert_allclose(total + energy.dissipated.values, total[0], rtol=0, atol=within * scale)
    assert np.max(np.diff(total)) <= within * scale
    assert energy.dissipated.values[-1] >= 0


def test_stored_energy_is_that_of_the_springs_that_are_stretched() -> None:
    """A block that hangs on friction has stretched a spring of two thirds of the stiffness; evaluated without what is
    remembered, it would have stored nothing."""
    eqs = block(pull=2.0)
    run = pliant.simulate(eqs, 1.0)
    # m g in the normal spring and m a in the tangential one
    stored = 0.5 * G**2 / 20e3 + 0.5 * (2.0 * 1.001) ** 2 / (20e3 * 2 / 3)
    assert run.contacts.at(1.0).energy[0] == pytest.approx(stored, rel=1e-3)
    gravity = G * run["up"].values[-1] - 2.0 * 1.001 * run["along"].values[-1]
    assert run.energy.potential.values[-1] == pytest.approx(gravity + stored, rel=1e-6)
    assert eqs.energy(run.final).potential == pytest.approx(run.energy.potential.values[-1], rel=1e-12)
    np.testing.assert_allclose(eqs.forward_dynamics(run.final)[0], 0, atol=1e-3)


# -- states ------------------------------------------------------------------------------------------------------------


def test_a_run_that_is_continued_holds_what_sticks_where_it_is() -> None:
    eqs = block(pull=2.0)
    first = pliant.simulate(eqs, 1.0)
    second = pliant.simulate(eqs, 2.0, begin=1.0, start=first)
    whole = pliant.simulate(eqs, 2.0)
    place = first["along"].values[-1]
    assert place > 1e-4
    np.testing.assert_allclose(second["along"].values, place, rtol=0, atol=1e-10)
    np.testing.assert_allclose(second["along"].values[-1], whole["along"].values[-1], rtol=0, atol=1e-10)
    # a state without contact memory begins without friction, and slips on by the spring's stretch
    forgotten = pliant.State(first.final.q, first.final.v, 1.0)
    assert pliant.simulate(eqs, 2.0, begin=1.0, start=forgotten)["along"].values[-1] > place + 1e-4


def test_a_sliding_run_is_the_same_in_two_parts() -> None:
    eqs = balls()
    first = pliant.simulate(eqs, 0.137, rtol=1e-6)  # in the middle of an impact
    assert first.contacts.between("big", "floor").count[-1] == 1
    second = pliant.simulate(eqs, 0.3, begin=0.137, start=pickle.loads(pickle.dumps(first.final)), rtol=1e-6)
    whole = pliant.simulate(eqs, 0.3, rtol=1e-6)
    np.testing.assert_allclose(second.v[-1], whole.v[-1], rtol=1e-3, atol=5e-4)


# -- events ------------------------------------------------------------------------------------------------------------


def test_touch_is_found_when_it_happens() -> None:
    fall = np.sqrt(2 * 0.08 / G)
    run = pliant.simulate(balls(), 0.5, events=[Event.touch("ground", of=("floor", "big"))])
    assert run.status == "stopped"
    assert "touch of ground" in run.message
    assert run.time[-1] == pytest.approx(fall, rel=1e-12)
    assert np.all(run.contacts.between("big", "floor").gap > -1e-15)


def test_release_ends_the_contact_and_the_table() -> None:
    run = pliant.simulate(balls(), 0.5, events=[Event.release("ground", of=("big", "floor"))], save_every=1e-3)
    last = run.contacts.between("big", "floor")
    assert np.sum(last.count) > 10
    assert run.time[-1] < 0.2
    assert len(run.contacts.count) == len(run.time)
    assert run["one.z"].values[-1] == pytest.approx(0.02, abs=1e-12)
    assert run["one.z"].rate[-1] > 0.5


def test_an_event_inside_a_step_leaves_friction_as_it_was() -> None:
    """An event that changes nothing, found within the long steps of something that sticks."""
    eqs, calls = block(pull=2.0), []
    event = Event(lambda now: now.t - 0.6123, then=lambda now: calls.append(now.contacts))
    run = pliant.simulate(eqs, 1.0, events=[event])
    assert len(calls) == 1
    assert calls[0].sticks[0]
    np.testing.assert_allclose(calls[0].friction_force, [[-2.002, 0, 0]], rtol=1e-3)
    np.testing.assert_allclose(run["along"].values[-1], pliant.simulate(eqs, 1.0)["along"].values[-1], atol=1e-9)


def test_gaps_during_a_run() -> None:
    gaps = []
    pliant.simulate(
        balls(), 0.05, mid_step=lambda now: gaps.append((now.q["one.z"], now.gap("ground", ("floor", "big"))))
    )
    heights, found = np.array(gaps).T
    np.testing.assert_allclose(found, heights - 0.02, atol=1e-14)
    with pytest.raises(ArgumentError, match="no contact 'grip'"):
        pliant.simulate(balls(), 0.05, events=[Event.touch("grip")])
