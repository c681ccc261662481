"""Prescribed positions and accelerations that inputs drive: controllers, mid-step functions, Python inputs."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.analysis.integrators import ExplicitRungeKutta, GeneralizedAlpha, Rosenbrock, SemiImplicit
from pliant.language.arguments import ArgumentError

HEAD = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {u: {value: 0 UNIT, input: true}, scale: 1}
"""
ACCELERATED = (
    HEAD.replace("UNIT", "m/s^2")
    + """
bodies: {m: {mass: 2 kg}}
joints: {x: {type: prismatic, child: m, axis: x}}
constraints: {drive: {between: [world, m], components: [x], acceleration: =u}}
"""
)
MOVED = (
    HEAD.replace("UNIT", "m")
    + """
bodies: {m: {mass: 2 kg}}
joints: {x: {type: prismatic, child: m, axis: x, displacement: {motion: =scale*u}}}
"""
)
CRANE = """
pliant: 1
parameters: {u: {value: 0 UNIT, input: true}}
bodies:
  trolley: {mass: 5 kg}
  load: {mass: 20 kg, center_of_mass: [0, 0, -2 m], shape: {type: sphere, radius: 20 cm}}
joints:
  rail: {type: prismatic, child: trolley, axis: xMOTION}
  rope: {type: revolute, parent: trolley, child: load, axis: y}
"""
DRIVEN_CRANE = CRANE.replace("UNIT", "m/s^2").replace("MOTION", "") + (
    "constraints: {drive: {between: [world, trolley], components: [x], acceleration: =u}}\n"
)
MOVED_CRANE = CRANE.replace("UNIT", "m").replace("MOTION", ", displacement: {motion: =u}")


class Commands:
    """Commands u(t) every 10 ms."""

    sample_time = 0.01

    def __init__(self, function, delay: float = 0.0) -> None:
        self.function, self.delay, self.seen = function, delay, []

    def start(self, now) -> None:
        self.seen = []

    def command(self, now):
        self.seen.append(now)
        return self.function(now.t) if isinstance(self.function(now.t), dict) else {"u": self.function(now.t)}


def derived(text: str) -> pliant.Equations:
    return pliant.derive(pliant.load_text(text))


@pytest.fixture(scope="module")
def accelerated():
    return derived(ACCELERATED)


@pytest.fixture(scope="module")
def moved():
    return derived(MOVED)


@pytest.fixture(scope="module")
def crane():
    return derived(DRIVEN_CRANE)


def balance(run: pliant.Result) -> float:
    """Largest change of kinetic + potential + dissipated - supplied energy [J]."""
    e = run.energy
    return float(np.ptp(e["kinetic"].values + e["potential"].values + e["dissipated"].values - e["supplied"].values))


def force(run: pliant.Result) -> np.ndarray:
    return run.dataset["multiplier"].values[:, 0]


# -- accelerations -----------------------------------------------------------------------------------------------------


def set_to_one(now):
    now.inputs["u"] = 1.0


@pytest.mark.parametrize(
    "given",
    [
        {"controllers": Commands(lambda t: 1.0)},
        {"inputs": {"u": 1.0}},
        {"inputs": {"u": lambda t: 1.0}},
        {"inputs": {"u": "1 m/s^2"}},
        {"inputs": {"u": 1.0}, "mid_step": set_to_one},
    ],
    ids=["controller", "number", "function", "text", "mid-step"],
)
def test_two_kilograms_are_accelerated(accelerated, given):
    run = pliant.simulate(accelerated, 1.0, **given)
    assert run.status == "completed"
    assert run["x"].values[-1] == pytest.approx(0.5, abs=1e-12)
    assert run["x"].rate[-1] == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(force(run), 2.0, atol=1e-12)
    np.testing.assert_allclose(run["u"].values, 1.0)
    assert balance(run) < 1e-11
    assert run.energy["supplied"].values[-1] == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("method", [ExplicitRungeKutta, Rosenbrock, GeneralizedAlpha, SemiImplicit])
def test_every_method_follows_commands_that_change(accelerated, method):
    """Bang-bang with every method: the commands are held, so the motion is piecewise parabolic and exact."""
    run = pliant.simulate(
        accelerated,
        1.0,
        method=method(step=5e-3),
        controllers=Commands(lambda t: 3.0 if t < 0.495 else -1.0),
        save_every=0.1,
    )
    t = run.time
    expected = np.where(t <= 0.5, 1.5 * t**2, 0.375 + 1.5 * (t - 0.5) - 0.5 * (t - 0.5) ** 2)
    first_order = method is SemiImplicit
    np.testing.assert_allclose(run["x"].values, expected, atol=1e-2 if first_order else 1e-10)
    np.testing.assert_allclose(
        run["x"].rate, np.where(t <= 0.5, 3 * t, 1.5 - (t - 0.5)), atol=2e-2 if first_order else 1e-10
    )
    if not first_order:
        np.testing.assert_allclose(force(run)[t < 0.49], 6.0, atol=1e-8)
        np.testing.assert_allclose(force(run)[t > 0.51], -2.0, atol=1e-8)
        assert balance(run) < 1e-9


def test_a_delay_shifts_the_commands(accelerated):
    run = pliant.simulate(accelerated, 1.0, controllers=Commands(lambda t: 2.0, delay=0.25))
    assert run["x"].values[-1] == pytest.approx(0.75**2, abs=1e-12)


def test_a_mid_step_function_reverses_the_motion(accelerated):
    def reverse(now):
        now.inputs["u"] = 1.0 if now.t < 0.4 else -1.0

    method = ExplicitRungeKutta(step=0.01)
    run = pliant.simulate(accelerated, 1.0, method=method, inputs={"u": 1.0}, mid_step=reverse, save_every=0.01)
    turn = run.time[np.argmax(run["x"].rate)]
    t = run.time[-1] - turn
    assert turn == pytest.approx(0.4, abs=0.011)
    assert run["x"].values[-1] == pytest.approx(turn**2 / 2 + turn * t - t**2 / 2, abs=1e-12)


def test_time_and_commands_both_count():
    """The acceleration is a product of a commanded input and a function of time; the rate is continuous at every command."""
    text = ACCELERATED.replace("=u}}", '"=u*cos(5*t)"}}')
    run = pliant.simulate(derived(text), 1.0, rtol=1e-9, controllers=Commands(lambda t: 1.0 if t < 0.495 else 4.0))
    rate = np.sin(5 * 0.5) / 5 + 4 * (np.sin(5.0) - np.sin(2.5)) / 5
    assert run["x"].rate[-1] == pytest.approx(rate, abs=1e-9)
    assert balance(run) < 1e-6


def test_a_fast_acceleration_over_a_long_run_is_integrated(accelerated):
    """200 periods: a fixed number of samples would miss them."""
    run = pliant.simulate(accelerated, 10.0, inputs={"u": lambda t: np.cos(40 * np.pi * t)}, save_every=0.05, rtol=1e-8)
    w = 40 * np.pi
    np.testing.assert_allclose(run["x"].values, (1 - np.cos(w * run.time)) / w**2, atol=1e-8)


def test_the_base_of_a_crane_is_pushed_by_a_controller(crane):
    """Momentum and energy: what the drive pushes with is what the two masses gain."""
    run = pliant.simulate(
        crane, 2.0, controllers=Commands(lambda t: 1.5 * np.sign(np.cos(2 * t))), rtol=1e-9, save_every=0.001
    )
    assert balance(run) < 1e-5
    momentum = 5 * run["trolley"].velocity[:, 0] + 20 * (
        run["load"].velocity[:, 0] - 2 * np.cos(run["rope"].values) * run["rope"].rate
    )
    pushed = np.concatenate([[0.0], np.cumsum(0.5 * (force(run)[1:] + force(run)[:-1]) * np.diff(run.time))])
    np.testing.assert_allclose(momentum, pushed, atol=0.1)  # the rule of trapezoids across four jumps
    whole = pliant.simulate(
        crane, 2.0, inputs={"u": lambda t: 1.5 * np.sign(np.cos(2 * (t - t % 0.01 + 1e-9)))}, rtol=1e-9
    )
    assert run["rope"].values[-1] == pytest.approx(whole["rope"].values[-1], abs=2e-2)


def test_forward_dynamics_takes_the_acceleration(crane):
    q, v = np.array([0.3, 0.2]), np.array([0.1, -0.4])
    a, multipliers = crane.forward_dynamics(q, v, inputs={"u": 1.7})
    assert a[0] == pytest.approx(1.7, abs=1e-13)
    np.testing.assert_allclose(crane.inverse_dynamics(q, v, a), [multipliers[0], 0], atol=1e-10)
    symbolic = crane.casadi("forward_dynamics")(0.0, q, v, [1.7], list(crane.parameters.values()))
    np.testing.assert_allclose(np.asarray(symbolic[0]).ravel(), a, atol=1e-12)
    np.testing.assert_allclose(np.asarray(symbolic[1]).ravel(), multipliers, atol=1e-10)


def test_the_reduced_formulation_agrees(crane):
    given = {"inputs": {"u": lambda t: np.sin(4 * t)}, "rtol": 1e-9, "save_at": [1.0]}
    whole = pliant.simulate(crane, 1.0, **given)
    reduced = pliant.simulate(crane, 1.0, formulation="reduced", independent=("rope",), **given)
    np.testing.assert_allclose(reduced.q[-1], whole.q[-1], atol=1e-7)


def test_a_run_goes_on_from_where_an_acceleration_led(accelerated):
    half = pliant.simulate(accelerated, 0.5, inputs={"u": 1.0})
    rest = pliant.simulate(accelerated, 1.0, begin=0.5, start=half, controllers=Commands(lambda t: -1.0))
    assert rest["x"].values[-1] == pytest.approx(0.125 + 0.25 - 0.125, abs=1e-10)


# -- positions ---------------------------------------------------------------------------------------------------------


def test_sampled_positions_are_led_to(moved):
    """One sample late, and with the rate, energy and force of the motion."""
    period, w = 0.01, 3.0
    run = pliant.simulate(
        moved, 1.0, rtol=1e-8, controllers=Commands(lambda t: 0.1 * (1 - np.cos(w * t))), save_every=period
    )
    lag = run.time - period
    late = run.time > 0.1
    np.testing.assert_allclose(run["x"].values[late], 0.1 * (1 - np.cos(w * lag[late])), atol=1e-12)
    np.testing.assert_allclose(run["x"].values, run["u"].values, atol=1e-12)
    np.testing.assert_allclose(run["x"].rate[late], 0.1 * w * np.sin(w * lag[late]), atol=2e-3 * w * 0.1)
    np.testing.assert_allclose(run.energy["kinetic"].values, run["x"].rate ** 2, atol=1e-12)
    np.testing.assert_allclose(force(run)[late], 0.2 * w**2 * np.cos(w * lag[late]), atol=0.1 * 0.2 * w**2)
    assert balance(run) < 1e-6


def test_a_commanded_step_is_no_teleport(moved):
    run = pliant.simulate(moved, 0.1, controllers=Commands(lambda t: 0.1), rtol=1e-9, save_every=1e-4)
    x, v = run["x"].values, run["x"].rate
    assert np.max(np.abs(np.diff(x))) < 2e-4 * np.max(np.abs(v))
    np.testing.assert_allclose(np.gradient(x, run.time)[1:-1], v[1:-1], atol=1e-2 * np.max(np.abs(v)))
    assert x[-1] == pytest.approx(0.1, abs=1e-12)
    assert abs(run.energy["kinetic"].values[-1]) < 1e-12
    assert np.max(run.energy["kinetic"].values) > 100
    assert balance(run) < 1e-5 * np.max(run.energy["kinetic"].values)


def test_a_controller_that_falls_silent_leaves_the_position_at_rest(moved):
    run = pliant.simulate(
        moved, 0.1, controllers=Commands(lambda t: {"u": 0.01 * t} if t < 0.05 else {}), save_at=[0.1]
    )
    assert run["x"].values[-1] == pytest.approx(0.0004, abs=1e-12)
    assert run["x"].rate[-1] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        lambda t: 0.1 * np.sin(3 * t),
        (np.linspace(0, 1, 401), 0.1 * np.sin(3 * np.linspace(0, 1, 401))),
        "0.1 m * sin(3*t)",
    ],
    ids=["function", "array", "text"],
)
def test_positions_over_time_have_their_rates(moved, given):
    run = pliant.simulate(moved, 1.0, inputs={"u": given}, start={"d(x)/dt": 0.3}, rtol=1e-9)
    t = run.time
    np.testing.assert_allclose(run["x"].values, 0.1 * np.sin(3 * t), atol=1e-9)
    np.testing.assert_allclose(run["x"].rate, 0.3 * np.cos(3 * t), atol=1e-6)
    np.testing.assert_allclose(force(run)[1:-1], -1.8 * np.sin(3 * t[1:-1]), atol=1e-3)
    assert balance(run) < 1e-6
    assert run.remarks == ()


def test_straight_lines_between_samples_are_mentioned(moved):
    given = ([0.0, 0.5, 1.0], [0.0, 0.1, 0.0], "linear")
    run = pliant.simulate(moved, 1.0, inputs={"u": given}, start={"d(x)/dt": 0.2})
    assert any("jumps at 1 times" in note and "not in the multipliers" in note for note in run.remarks)
    assert balance(run) < 1e-9


@pytest.mark.parametrize(
    "change",
    [
        lambda now: now.inputs.update(u=0.2),
        lambda now: now.inputs.update(u=lambda t: 0.2 + t),
        lambda now: now.parameters.update(scale=3.0),
    ],
    ids=["number", "function", "parameter"],
)
def test_a_mid_step_jump_of_a_position_is_refused(moved, change):
    with pytest.raises(ArgumentError, match=r"for 'x' jumps from 0\.1 to .*no finite force can follow.*`acceleration`"):
        pliant.simulate(moved, 1.0, inputs={"u": 0.1}, mid_step=change)


def test_a_mid_step_function_may_go_on_smoothly_or_change_the_rate(moved):
    start = 0.5

    def drive(now):
        if now.t >= start and "way" not in now.memory:
            now.memory["way"] = begin = now.t
            now.inputs["u"] = lambda t: 0.2 * (t - begin)

    run = pliant.simulate(moved, 1.0, method=ExplicitRungeKutta(step=0.01), mid_step=drive, save_every=0.01)
    assert run["x"].values[-1] == pytest.approx(0.2 * 0.5, abs=0.003)
    late = run.time > 0.52
    np.testing.assert_allclose(run["x"].rate[late], 0.2, atol=1e-9)
    # the impulse is work of the drive
    assert run.energy["supplied"].values[-1] == pytest.approx(0.2**2, abs=1e-9)


# -- rates -------------------------------------------------------------------------------------------------------------

PACED = HEAD.replace("UNIT", "m/s") + (
    "bodies: {m: {mass: 2 kg}}\njoints: {x: {type: prismatic, child: m, axis: x}}\n"
    "constraints: {drive: {between: [world, m], components: x, rate: =u}}\n"
)


@pytest.fixture(scope="module")
def paced():
    return derived(PACED)


@pytest.mark.parametrize("given", [lambda t: np.sin(3 * t), "sin(3*t) m/s"], ids=["function", "text"])
def test_a_prescribed_rate_is_integrated(paced, given):
    run = pliant.simulate(paced, 1.0, inputs={"u": given}, rtol=1e-9)
    t = run.time
    np.testing.assert_allclose(run["x"].values, (1 - np.cos(3 * t)) / 3, atol=1e-9)
    np.testing.assert_allclose(run["x"].rate, np.sin(3 * t), atol=1e-9)
    np.testing.assert_allclose(force(run)[1:-1], 6 * np.cos(3 * t[1:-1]), atol=1e-4)
    assert balance(run) < 1e-6


def test_commanded_rates_are_led_to(paced):
    run = pliant.simulate(paced, 1.0, rtol=1e-8, controllers=Commands(lambda t: np.sin(3 * t)), save_every=0.01)
    late = run.time > 0.1
    lag = run.time[late] - 0.01
    np.testing.assert_allclose(run["x"].rate[late], np.sin(3 * lag), atol=1e-10)
    np.testing.assert_allclose(run["x"].values[late], (1 - np.cos(3 * lag)) / 3, atol=1e-3)
    np.testing.assert_allclose(force(run)[late], 6 * np.cos(3 * lag), atol=0.02)
    assert balance(run) < 1e-5


def test_a_rate_that_a_mid_step_function_sets_takes_effect_at_once(paced):
    def walk(now):
        now.inputs["u"] = 1.0 if now.t > 0.495 else 0.0

    run = pliant.simulate(paced, 1.0, method=ExplicitRungeKutta(step=0.01), mid_step=walk)
    assert run["x"].values[-1] == pytest.approx(0.5, abs=1e-9)
    assert run["x"].rate[-1] == pytest.approx(1.0, abs=1e-12)
    assert run.energy["supplied"].values[-1] == pytest.approx(1.0, abs=1e-9)


JOINTS = {
    "revolute": ("rad", "type: revolute, child: m, axis: z, angle: {motion: =u}"),
    "prismatic": ("m", "type: prismatic, child: m, axis: [1, 1, 0], displacement: {motion: =u}"),
    "cylindrical": ("m", "type: cylindrical, child: m, axis: z, displacement: {motion: =u}"),
    "universal": ("rad", "type: universal, child: m, angle1: {motion: =u}"),
    "planar": ("m", "type: planar, child: m, x: {motion: =u}"),
    "free": ("m", "type: free, child: m, y: {motion: =u}"),
}


@pytest.mark.parametrize("kind", JOINTS)
def test_every_joint_with_a_motion_follows_commands(kind):
    unit, joint = JOINTS[kind]
    text = HEAD.replace("UNIT", unit) + (
        "bodies: {m: {mass: 2 kg, center_of_mass: [0.2, 0.1, 0], shape: {type: sphere, radius: 10 cm}}}\n"
        f"joints: {{j: {{{joint}}}}}\n"
    )
    run = pliant.simulate(
        derived(text), 0.5, rtol=1e-8, controllers=Commands(lambda t: 0.3 * np.sin(5 * t) ** 2), save_every=0.01
    )
    assert run.status == "completed"
    assert run["u"].values[-1] == pytest.approx(0.3 * np.sin(5 * 0.49) ** 2, abs=1e-12)
    assert np.max(run.energy["kinetic"].values) > 1e-3
    assert run.constraint_error.max() < 1e-9
    assert balance(run) < 1e-5


def test_outputs_and_energies_seen_by_controllers_are_those_of_the_motion():
    text = MOVED_CRANE + "outputs: {swing: {coordinate: rope, quantity: acceleration}}\n"
    seen = []

    class Watching(Commands):
        def command(self, now):
            seen.append((now.t, now.outputs["swing"], now.energy.kinetic))
            return super().command(now)

    controller = Watching(lambda t: 0.2 * np.sin(3 * t) ** 2)
    run = pliant.simulate(derived(text), 0.5, rtol=1e-9, controllers=controller, save_every=0.01)
    t, swing, kinetic = np.array(seen[5:]).T
    np.testing.assert_allclose(swing, np.interp(t, run.time, run["swing"].values), atol=1e-6)
    np.testing.assert_allclose(kinetic, np.interp(t, run.time, run.energy["kinetic"].values), atol=1e-9)


def test_controllers_and_mid_step_functions_keep_each_others_inputs():
    text = HEAD.replace("UNIT", "N") + (
        "bodies: {m: {mass: 2 kg}}\njoints: {x: {type: prismatic, child: m, axis: x, displacement: {input: =u*scale}}}\n"
    )

    def change(now):
        now.parameters["scale"] = 1.0 if now.t < 0.5 else 2.0

    run = pliant.simulate(
        derived(text), 1.0, method=ExplicitRungeKutta(step=0.01), controllers=Commands(lambda t: 4.0), mid_step=change
    )
    assert run["x"].rate[-1] == pytest.approx(4 / 2 * 0.5 + 8 / 2 * 0.5, abs=0.05)
    np.testing.assert_allclose(run["u"].values[1:], 4.0)


# -- rods on moving bases ----------------------------------------------------------------------------------------------

RODS = {
    "pcs": "elements",
    "finite_element": "elements",
    "cosserat": "elements",
    "pseudo_rigid": "elements",
    "polynomial": "order",
}


@pytest.mark.parametrize("kind", RODS)
def test_rods_are_carried_by_commanded_bases(kind):
    rod = f"""
sections: {{round: {{shape: circle, radius: 1 cm}}}}
materials: {{rubber: {{density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.45}}}}
bodies: {{base: {{mass: 0.3 kg}}}}
rods: {{rod: {{parent: base, length: 0.4 m, section: round, material: rubber, rayleigh: {{beta: 5 ms}},
        model: {{kind: {kind}, {RODS[kind]}: 3}}}}}}
joints: {{rail: {{type: prismatic, child: base, axis: xMOTION}}}}
"""
    head = HEAD.replace("UNIT", "m/s^2")
    constraint = "constraints: {drive: {between: [world, base], components: [x], acceleration: =u}}\n"
    pushed = derived(head + rod.replace("MOTION", "") + constraint)
    run = pliant.simulate(pushed, 0.3, controllers=Commands(lambda t: 1.0 if t < 0.145 else -1.0), rtol=1e-6)
    assert run.status == "completed"
    assert run["rail"].values[-1] == pytest.approx(0.15**2, abs=1e-10)
    assert balance(run) < 1e-6
    led = derived(HEAD.replace("UNIT", "m") + rod.replace("MOTION", ", displacement: {motion: =u}"))
    run = pliant.simulate(led, 0.2, controllers=Commands(lambda t: 0.05 * np.sin(10 * t) ** 2), rtol=1e-6)
    assert run["rail"].values[-1] == pytest.approx(0.05 * np.sin(1.9) ** 2, abs=1e-10)
    assert np.max(run.energy["kinetic"].values) == pytest.approx(0.045, rel=0.05)
    assert balance(run) < 3e-5
