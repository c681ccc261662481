"""What the automatic choice takes, why it says it does, and when it thinks again."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.analysis.integrators import GeneralizedAlpha, Rosenbrock
from pliant.analysis.motion.method_choice import CHOICE, choose_method

OSCILLATOR = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {k: 100 N/m, c: 0 N*s/m}
bodies: {m: {mass: 2 kg}}
joints: {slide: {type: prismatic, axis: x, child: m, displacement: {initial: 0.1 m, spring: =k, damper: =c}}}
"""


def choice(eqs, until):
    state = eqs.initial_state()
    return choose_method(eqs.binding, 0.0, until, state.q, state.v)


@pytest.mark.parametrize(("k", "c", "rate"), [(800.0, 0.0, 20.0), (8.0, 500.0, 250.0), (2e6, 1.0, 1000.0)])
def test_the_fastest_rate_is_that_of_the_equations(k, c, rate):
    eqs = pliant.derive(pliant.load_text(OSCILLATOR)).at(parameters={"k": k, "c": c})
    state = eqs.initial_state()
    assert eqs.binding.fastest_rate(0.0, state.q, state.v) == pytest.approx(rate, rel=0.01)


def test_the_fastest_rate_is_that_of_allowed_motions():
    """Two equal masses on springs, tied to each other: one oscillator of twice the mass and stiffness."""
    eqs = pliant.derive(
        pliant.load_text("""
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {a: {mass: 1 kg}, b: {mass: 1 kg}}
joints:
  one: {type: prismatic, axis: x, child: a, displacement: {spring: 1 N/m}}
  two: {type: prismatic, axis: x, child: b, displacement: {spring: 199 N/m}}
constraints: {tie: {between: [a, b], components: x}}
""")
    )
    state = eqs.initial_state()
    assert eqs.binding.fastest_rate(0.0, state.q, state.v) == pytest.approx(10.0, rel=1e-6)


@pytest.mark.parametrize("robot", ["spring_mass_chain", "leaf_spring", "stiff_flop"])
def test_the_fastest_rate_is_the_largest_eigenvalue(robot):
    eqs = pliant.derive(robot)
    state = eqs.initial_state()
    a, multipliers = eqs.binding.forward(0.0, state.q, state.v)
    linear = eqs.binding.linearized(0.0, state.q, state.v, a, multipliers)
    mass = linear.mass.toarray()
    stiff, damped = (
        np.abs(np.linalg.eigvals(np.linalg.solve(mass, x.toarray()))).max() for x in (linear.stiffness, linear.damping)
    )
    found = eqs.binding.fastest_rate(0.0, state.q, state.v)
    assert found == pytest.approx(max(np.sqrt(stiff), damped), rel=0.05)


def test_the_fastest_rate_depends_on_nothing_before():
    eqs = pliant.derive("four_bar")
    state = eqs.initial_state()
    first = eqs.binding.fastest_rate(0.0, state.q, state.v)
    eqs.binding.forward(0.0, state.q + 0.1, state.v + 1.0)
    assert eqs.binding.fastest_rate(0.0, state.q, state.v) == first


def test_rigid_robots_are_integrated_explicitly():
    run = pliant.simulate(pliant.derive("double_pendulum"), 0.5)
    assert run.method.startswith("explicit")
    assert "no springs or dampers" in run.method


def test_a_stiff_robot_says_what_an_explicit_method_would_cost():
    eqs = pliant.derive("trunk")
    found = choice(eqs, 1.0)
    assert found.method.name == "implicit"
    said = float(found.why.split("would need ")[1].split(" steps")[0].replace(",", ""))
    state = eqs.initial_state()
    assert said == pytest.approx(eqs.binding.fastest_rate(0.0, state.q, state.v) / 3.3, rel=0.1)


def test_vibrations_that_all_take_part_are_resolved_explicitly():
    """A thousand periods of one oscillator: many steps for stability, and every one of them needed."""
    eqs = pliant.derive(pliant.load_text(OSCILLATOR)).at(parameters={"k": 2e4})
    assert choice(eqs, 60.0).method.name == "implicit", "as far as the start shows"
    run = pliant.simulate(eqs, 60.0)
    assert run.method.startswith("explicit")
    assert run.q[:, 0] == pytest.approx(0.1 * np.cos(100 * run.time), abs=1e-3)


def test_a_stiff_mode_that_nobody_excites_costs_no_steps():
    """A heavy mass on a soft spring carries a light one on a stiff spring: the slow motion alone is followed."""
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {k: 1e4 N/m}
bodies: {heavy: {mass: 1 kg}, light: {mass: 1 g}}
joints:
  slow: {type: prismatic, axis: x, child: heavy, displacement: {initial: 0.1 m, spring: 10 N/m}}
  fast: {type: prismatic, axis: x, parent: heavy, child: light, displacement: {spring: =k}}
"""
    steps = []
    for k in (1e4, 1e8):
        eqs = pliant.derive(pliant.load_text(text)).at(parameters={"k": k})
        run = pliant.simulate(eqs, 5.0)
        slow = np.sqrt(10 / 1.001)
        assert run["slow"].values == pytest.approx(0.1 * np.cos(slow * run.time), abs=1e-3)
        steps.append(run.timing.steps)
    assert max(steps) < 400


def test_a_run_that_becomes_stiff_changes_to_an_implicit_method():
    """A mass falls onto a stop that is soft where nothing touches it, and very stiff and damped below: it comes to rest there."""
    eqs = pliant.derive(
        pliant.load_text("""
pliant: 1
bodies: {ball: {mass: 0.1 kg, shape: {type: sphere, radius: 2 cm}}}
joints: {fly: {type: prismatic, axis: z, child: ball, displacement: {initial: 0.03 m}}}
links:
  stop: {type: axial, between: [world, ball], spring: {coefficient: 20 MN/m, rest: 2 cm}, damper: 50 kN*s/m,
         direction: compression}
""")
    )
    assert choice(eqs, 20.0).method.name == "explicit", "as far as the start shows"
    run = pliant.simulate(eqs, 20.0)
    assert run.method.startswith("implicit")
    assert "an explicit method would need" in run.method
    assert run["fly"].values[-1] == pytest.approx(pliant.equilibrium(eqs).q[0], abs=1e-6)


def test_the_same_run_takes_the_same_steps():
    eqs = pliant.derive("flexible_four_bar")
    first, again = (pliant.simulate(eqs, 0.3) for _ in range(2))
    assert first.method == again.method
    assert np.array_equal(first.q, again.q)


def test_tolerances_that_are_given_hold_for_whatever_is_chosen():
    run = pliant.simulate(pliant.derive("trunk"), 0.2, rtol=1e-5)
    assert "rtol 1e-05" in run.method


def test_a_start_far_from_balance_is_said_and_rest_is_not():
    eqs = pliant.derive(pliant.load("leg", variant="pretensioned"))
    thrown = pliant.simulate(eqs, 1e-4, start="initial")
    assert any("far from equilibrium" in said and "--start equilibrium" in said for said in thrown.remarks)
    resting = pliant.simulate(eqs, 0.1)
    assert not any("far from equilibrium" in said for said in resting.remarks)
    assert resting.energy["kinetic"].values.max() < 1e-12, "the model starts at rest"


def test_energy_that_the_steps_lose_is_said():
    """An oscillator with steps of a whole period."""
    eqs = pliant.derive(pliant.load_text(OSCILLATOR)).at(parameters={"k": 800.0})
    coarse = pliant.simulate(eqs, 20.0, method=pliant.GeneralizedAlpha(step=0.3, spectral_radius=0.5))
    assert any("of the energy exchanged was lost" in said and "a smaller step" in said for said in coarse.remarks)
    assert not pliant.simulate(eqs, 20.0).remarks


@pytest.mark.parametrize(("frequency", "until"), [(50, 4.0), (200, 1.0)])
def test_energy_that_vibrates_between_saved_times_counts_as_exchanged(frequency: int, until: float) -> None:
    """A mass under a force whose periods fit between the saved times, at which it is at rest."""
    eqs = pliant.derive(
        pliant.load_text("""
pliant: 1
parameters: {push: {value: 0 N, input: true}}
bodies: {mass: {mass: 1 kg}}
joints: {slide: {type: prismatic, axis: x, child: mass, displacement: {input: =push}}}
""")
    )
    shaken = pliant.simulate(eqs, until, inputs={"push": f"sin(2*pi*{frequency}*t) N"}, save_every=until / 20)
    most = 2 / (2 * np.pi * frequency) ** 2
    assert shaken.energy["kinetic"].values.max() < 1e-6 * most
    assert shaken.remarks == ()


@pytest.mark.filterwarnings("ignore:materials.steel.youngs_modulus")
@pytest.mark.parametrize("word", ["pcs:4", "gvs:2", "timoshenko:4", "cosserat:4"])
def test_a_linkage_with_a_stiff_bar_moves_as_the_rigid_one(word: str) -> None:
    """Also where it swings fastest, just before two seconds."""
    rigid = pliant.simulate(pliant.derive("four_bar"), 2.0, save_every=0.01)["q1"].values
    text = pliant.dump(pliant.load("flexible_four_bar")).replace(
        "youngs_modulus: 210 GPa", "youngs_modulus: 210000 GPa"
    )
    stiff = pliant.derive(pliant.load_text(text).with_rod("coupler", word))
    bending = pliant.simulate(stiff, 2.0, save_every=0.01)["q1"].values
    assert np.abs(bending - rigid).max() < 0.01 * np.ptp(rigid)


def pile(count: int, law: str = "friction: 0.4") -> pliant.Equations:
    """Balls in layers of four by four over the floor of a box, each a little beside the one below."""
    bodies, joints = [], []
    for i in range(count):
        x, y, z = 23 * (i % 4) + 11 + i % 3, 23 * (i // 4 % 4) + 11 + i % 5, 22 * (i // 16) + 11
        bodies.append(f"  b{i}: {{mass: 4 g, shape: {{type: sphere, radius: 10 mm}}}}")
        start = f"x: {{initial: {x} mm}}, y: {{initial: {y} mm}}, z: {{initial: {z} mm}}"
        joints.append(f"  f{i}: {{type: free, child: b{i}, {start}}}")
    walls = ["floor: {type: plane}", "left: {type: plane, normal: x}", "front: {type: plane, normal: y}",
             "right: {type: plane, normal: [-1, 0, 0], position: [98 mm, 0, 0]}",
             "back: {type: plane, normal: [0, -1, 0], position: [0, 98 mm, 0]}"]  # fmt: skip
    contact = f"  touch: {{between: all, stiffness: 10 kN/m, {law}}}"
    surfaces = [f"  {wall}" for wall in walls]
    parts = ["bodies:", *bodies, "joints:", *joints, "surfaces:", *surfaces, "contacts:", contact]
    return pliant.derive(pliant.load_text("\n".join(["pliant: 1", *parts])))


def test_impacts_of_a_pile_are_followed_only_where_they_matter():
    crowd = pile(64)
    state = crowd.initial_state()
    assert choice(crowd, 1.0).method == GeneralizedAlpha(rtol=CHOICE.crowd_tolerance)
    assert isinstance(choose_method(crowd.binding, 0.0, 1.0, state.q, state.v, rtol=1e-3).method, Rosenbrock)
    assert isinstance(choice(pile(20), 1.0).method, Rosenbrock)
    assert isinstance(choice(pile(64, "restitution: 0.5"), 1.0).method, Rosenbrock)
    assert isinstance(choice(pile(64, "dissipation: 1 s/m"), 1.0).method, Rosenbrock)


def test_a_pile_comes_to_rest_where_single_impacts_lead_it():
    crowd = pile(64)
    times = np.linspace(0, 0.3, 16)
    run = pliant.simulate(crowd, 0.3, save_at=times)
    assert "individual impacts are not resolved" in run.method
    energy = run.energy.total.to_numpy()
    assert np.diff(energy).max() <= 1e-6 * abs(energy[0])
    touching = crowd.contacts(run.q[-1], run.v[-1])
    assert len(touching) > 100
    assert touching.gap.min() > -0.02 * 0.01
    followed = pliant.simulate(crowd, 0.3, save_at=times, rtol=1e-2)
    heights = [x.q[-1].reshape(64, 7)[:, 2].mean() for x in (run, followed)]
    assert heights[0] == pytest.approx(heights[1], rel=0.04)  # chance decides who lies where
    assert run.timing.evaluations < 0.75 * followed.timing.evaluations
    assert run.timing.evaluations < 25 * run.timing.steps  # of Newton's method, where friction sticks and slips


def test_a_transient_that_decays_does_not_change_the_method():
    """Steps of a platform that is loaded suddenly become longer as stiff vibrations decay."""
    run = pliant.simulate(pliant.derive("parallel_rods"), 1.5, save_every=0.1)
    assert "Rosenbrock" in run.method
    assert run.remarks == ()  # neither energy nor rates of the model's own start
    fine = pliant.simulate(pliant.derive("parallel_rods"), 1.5, save_every=0.1, rtol=1e-6)
    assert np.abs(run["place"].values - fine["place"].values).max() < 1e-3 * np.ptp(fine["place"].values, axis=0).max()


def test_robots_at_rest_have_no_energy_remark():
    run = pliant.simulate(pliant.derive("leaf_spring"), 1.0)
    assert not any("energy" in note for note in run.remarks)
