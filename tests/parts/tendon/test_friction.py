"""Friction of tendons at their guides: the capstan equation, energy, and what holds at rest."""

import numpy as np
import pytest

import pliant
from pliant import load_text

MU, TURN, GUIDES = 0.3, 2.5, 6
SHARE = np.exp(-MU * TURN)
"""Guides in a row on a circle; the line turns by the same angle at each, and by TURN [rad] in all."""


def drum(tendon: str, slider: str = "", parameters: str = "") -> pliant.Equations:
    """A slider on a line that goes around a drum of GUIDES posts to a winch; the last span lies along the slider's axis."""
    step = TURN / GUIDES
    heading, place, points = np.array([-1.0, 0.0]), np.array([0.0, 0.0]), []
    for _ in range(GUIDES):  # from the slider's side to the winch
        points.append(place)
        c, s = np.cos(step), np.sin(step)
        heading = np.array([[c, -s], [s, c]]) @ heading
        place = place + 0.1 * heading
    points.append(place)
    through = ", ".join(f"{{frame: world, position: [{float(x)!r}, 0, {float(z)!r}]}}" for x, z in reversed(points))
    text = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{pull: {{value: 10 N, input: true}}, wound: {{value: 0 m, input: true}}{parameters}}}
bodies: {{slider: {{mass: 2 kg}}}}
joints: {{x: {{type: prismatic, child: slider, axis: x, position: [1 m, 0, 0], displacement: {{{slider}}}}}}}
tendons: {{line: {{through: [{through}, slider], {tendon}}}}}
outputs:
  tension: {{tendon: line}}
  end: {{tendon: line, quantity: end_tension}}
"""
    return pliant.derive(load_text(text))


@pytest.mark.parametrize(
    "law", ["type: tension, tension: =pull", "type: elastic, stiffness: 5 kN/m, shortening: =wound"]
)
@pytest.mark.parametrize("way", [1, -1])
def test_a_line_that_slides_around_a_drum_loses_tension_by_the_capstan_equation(law, way):
    """The slider creeps at the speed at which its damper balances the line's end: an account of that force of its own."""
    damping = 40.0
    drive = "" if way > 0 else ", input: 40 N"  # pulls the line out against the winch
    eqs = drum(f"{law}, friction: {MU}", f"damper: {damping} N*s/m{drive}")
    inputs = {"wound": lambda t: way * 0.1 * t} if "wound" in law else {}
    run = pliant.simulate(eqs, 1.5, inputs=inputs, save_every=0.01)
    end = run["end"].values[-1]
    assert run["tension"].values[-1] * SHARE**way == pytest.approx(end, rel=1e-3)
    force = -damping * run.v[-1, 0] + (40.0 if way < 0 else 0.0) - 2.0 * run["x"].acceleration[-1]
    assert force == pytest.approx(end, rel=1e-3)
    energy = run.energy
    lost = energy["total"] - energy["total"][0] + energy["dissipated"] - energy["supplied"]
    assert np.abs(lost).max() < 2e-3 * energy["dissipated"][-1]


@pytest.mark.parametrize(("at_rest", "share"), [("none", 1.0), ("pulled", SHARE), ("released", 1 / SHARE)])
def test_at_rest_friction_is_what_the_model_says(at_rest, share):
    eqs = drum(f"type: tension, tension: =pull, friction: {MU}, at_rest: {at_rest}", "spring: 500 N/m")
    rest = pliant.equilibrium(eqs)
    assert -500 * rest.coordinates["x"] == pytest.approx(10 * share, rel=2e-3)
    assert any("at rest" in x and "'line'" in x for x in rest.remarks) == (at_rest == "none")


def test_a_stretched_line_has_its_mean_tension_by_its_law():
    """Slider almost fixed: all of what is wound in stretches the line."""
    k = 2e3
    eqs = drum(f"type: elastic, stiffness: {k}, shortening: =wound, friction: {MU}, at_rest: pulled", "spring: 1e9 N/m")
    rest = pliant.equilibrium(eqs, inputs={"wound": 0.01})
    first, last = rest.outputs["tension"], rest.outputs["end"]
    assert last / first == pytest.approx(SHARE, rel=2e-3)
    shares = np.exp(-MU * TURN * np.arange(GUIDES + 1) / GUIDES)
    lengths = np.array([0.1] * GUIDES + [1.0])
    assert first * shares @ lengths / lengths.sum() == pytest.approx(k * 0.01, rel=2e-3)


def test_friction_in_a_motion_never_gives_energy():
    """A pendulum's line forth and back over a post: what it loses is what friction takes."""
    text = """
pliant: 1
bodies: {bob: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m], frames: {tip: {position: [0, 0, -0.5 m]}}}}
joints: {hinge: {type: revolute, child: bob, axis: y, angle: {initial: 1 rad}}}
tendons:
  line:
    type: elastic
    through: [{frame: world, position: [1 m, 0, 0.2 m]}, {frame: world, position: [0.4 m, 0, 0.1 m]}, bob.tip]
    stiffness: 20 N/m
    rest: 0.8 m
    friction: 0.4
    slip_speed: 5 mm/s
"""
    run = pliant.simulate(pliant.derive(load_text(text)), 3.0, save_every=0.01, rtol=1e-6)
    energy = run.energy
    dissipated = energy["dissipated"].values
    assert np.diff(dissipated).min() > -1e-4 * dissipated[-1]
    assert dissipated[-1] > 0.05
    total = energy["total"].values - energy["total"].values[0] + dissipated
    assert np.abs(total).max() < 1e-3 * dissipated[-1]


def test_friction_that_cannot_be_is_refused():
    with pytest.raises(pliant.SpecError, match="has no point with friction between them"):
        load_text("""
pliant: 1
bodies: {bob: {mass: 1 kg}}
joints: {x: {type: prismatic, child: bob, axis: x}}
tendons: {line: {type: tension, through: [world, bob], tension: 1 N, friction: 0.1}}
""")
    with pytest.raises(pliant.SpecError, match="must not be negative"):
        drum("type: tension, tension: =pull, friction: -0.1")
    with pytest.raises(pliant.SpecError, match="has none at rest"):
        drum("type: tension, tension: =pull, at_rest: pulled")
