"""What drives add to coordinates: dry friction and the inertia of rotors."""

from __future__ import annotations

import numpy as np
import pytest

import pliant

TEXT = """\
pliant: 1
world: {gravity: [0, 0, 0]}
bodies:
  rod: {mass: 2 kg, center_of_mass: [30 cm, 0, 0], inertia: {principal: [0.1, 0.1, 0.1]}}
  tip: {mass: 1 kg, center_of_mass: [0, 10 cm, 20 cm]}
  ball: {mass: 1 kg, center_of_mass: [0, 0, 10 cm], inertia: {principal: [0.1, 0.2, 0.2]}}
joints:
  turn: {type: revolute, axis: y, child: rod, angle: {TURN}}
  slide: {type: prismatic, axis: x, parent: rod, child: tip, displacement: {SLIDE}}
  knot: {type: spherical, parent: tip, child: ball, orientation: {BALL}}
"""


def equations(turn: str = "", slide: str = "", ball: str = "") -> pliant.Equations:
    text = TEXT.replace("TURN", turn).replace("SLIDE", slide).replace("BALL", ball)
    return pliant.derive(pliant.load_text(text))


def test_armatures_stand_on_the_diagonal_of_the_mass_matrix() -> None:
    plain, driven = equations(), equations("armature: 0.7", "armature: 0.4 kg", "armature: 0.2 kg*m^2")
    rng = np.random.default_rng(2)
    for _ in range(3):
        q, v = np.concatenate([rng.normal(size=2), [0.5, 0.5, -0.5, 0.5]]), rng.normal(size=5)
        added = (driven.mass_matrix(q) - plain.mass_matrix(q)).toarray()
        assert added == pytest.approx(np.diag([0.7, 0.4, 0.2, 0.2, 0.2]), abs=1e-14)
        # the torques of gyroscopic motion of rotors about the ball's own axes vanish, as its rates are about all of them alike
        assert driven.bias(q, v) == pytest.approx(plain.bias(q, v), abs=1e-12)
        a, _ = driven.forward_dynamics(q, v)
        assert driven.mass_matrix(q) @ a + driven.bias(q, v) == pytest.approx(np.zeros(5), abs=1e-12)


def test_gravity_does_not_pull_at_armatures() -> None:
    text = TEXT.replace("gravity: [0, 0, 0]", "gravity: [1, 2, -9]").replace("SLIDE", "").replace("BALL", "")
    plain, driven = (pliant.derive(pliant.load_text(text.replace("TURN", x))) for x in ("", "armature: 3"))
    q = np.array([0.3, 0.1, 1, 0, 0, 0])
    assert driven.bias(q, np.zeros(5)) == pytest.approx(plain.bias(q, np.zeros(5)), abs=1e-12)


def test_friction_stops_a_slide_after_its_way_and_takes_its_energy() -> None:
    text = """\
pliant: 1
bodies: {sledge: {mass: 2 kg}}
joints: {slide: {type: prismatic, axis: x, child: sledge, displacement: {rate: 3 m/s, friction: 4 N}}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    run = pliant.simulate(eqs, 3.0, save_every=0.01)
    ways = run.q[:, 0]
    # v^2 / (2 a) with a = F / m; the motion below the slip speed of 1 mm/s continues for a moment
    assert ways[-1] == pytest.approx(9 / (2 * 2), abs=2e-3)
    assert run.v[100, 0] == pytest.approx(1.0, rel=1e-4)
    assert float(run.energy["dissipated"][-1]) == pytest.approx(0.5 * 2 * 9, rel=1e-3)


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ("friction: -1", "torque must not be negative"),
        ("friction: {torque: 1, slip_speed: 0}", "slip_speed must be above zero"),
        ("armature: -1", "armature must not be negative"),
        ("friction: 2 N", "expected a torque"),
        ("armature: 1 kg", "expected a moment of inertia"),
    ],
)
def test_values_that_make_no_sense_are_refused(turn: str, said: str) -> None:
    with pytest.raises(pliant.SpecError, match=said):
        equations(turn)


def test_the_inertia_of_a_body_without_mass_counts() -> None:
    text = "pliant: 1\nbodies: {wheel: {mass: 0, inertia: {principal: [1, 1, 2]}}}\njoints: {axle: {type: revolute, child: wheel}}"
    eqs = pliant.derive(pliant.load_text(text))
    assert eqs.mass_matrix([0.0]).toarray() == pytest.approx(np.array([[2.0]]))
    assert not pliant.load_text(text).remarks
