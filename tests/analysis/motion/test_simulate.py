"""The simulation verb: reference motions, conservation, events, mid-step functions, stops."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pliant import (
    AnalysisFailed,
    Event,
    ExplicitRungeKutta,
    GeneralizedAlpha,
    Rosenbrock,
    SemiImplicit,
    State,
    derive,
    dump,
    equilibrium,
    load,
    load_result,
    load_text,
    simulate,
)
from pliant.analysis.numerics.state import AssemblyError

# Reference page of the four-bar: state at t = 2 s from rest, known to six digits.
FOUR_BAR = {"q1": -0.007104, "q2": 1.783227, "q3": 0.485388}


@pytest.fixture(scope="module")
def four_bar():
    return derive(load("four_bar"))


@pytest.mark.parametrize("formulation", ["multipliers", "reduced"])
def test_four_bar_meets_the_reference_in_both_formulations(four_bar, formulation):
    run = simulate(four_bar, 2.0, save_at=[0.0, 1.0, 2.0], rtol=1e-10, formulation=formulation)
    assert run.status == "completed"
    for name, value in FOUR_BAR.items():
        assert run[name].values[-1] == pytest.approx(value, abs=1e-6)
    assert run["q1"].rate[-1] == pytest.approx(1.154631, abs=1e-5)
    total = run.energy["total"].values
    assert np.ptp(total) < 1e-8 * abs(total[0])
    assert run.constraint_error.max() < 1e-10


def test_both_formulations_agree_with_each_other(four_bar):
    runs = [simulate(four_bar, 0.6, save_at=[0.6], rtol=1e-10, formulation=f) for f in ("multipliers", "reduced")]
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-8)
    np.testing.assert_allclose(runs[0].dataset["multiplier"][-1], runs[1].dataset["multiplier"][-1], rtol=1e-5)


def test_default_tolerances_reach_a_thousandth(four_bar):
    run = simulate(four_bar, 2.0, save_at=[2.0])
    for name, value in FOUR_BAR.items():
        assert run[name].values[-1] == pytest.approx(value, abs=1e-3)
    assert "automatic" in run.method


def test_generalized_alpha_is_of_second_order_on_the_four_bar(four_bar):
    exact = simulate(four_bar, 1.0, save_at=[1.0], rtol=1e-11).q[-1]
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        run = simulate(four_bar, 1.0, save_at=[1.0], method=GeneralizedAlpha(step=step))
        errors.append(np.abs(run.q[-1] - exact).max())
        assert run.constraint_error.max() < 1e-10
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 1.9)
    assert np.all(orders < 2.2)


def test_a_start_off_the_loop_is_moved_onto_it_and_said_so(four_bar):
    q, v = four_bar.initial_state()
    run = simulate(four_bar, 0.1, start=State(q + [0.0, 0.05, 0.0], v))
    assert run.constraint_error.max() < 1e-10
    assert any("violated the constraints by 0.0" in note for note in run.remarks)


def test_a_loop_that_cannot_close_is_refused():
    spec = load("four_bar", set={"length2": "5 cm"})
    with pytest.raises(AssemblyError, match="cannot be closed"):
        simulate(derive(spec), 1.0)


def test_tumbling_body_keeps_energy_and_angular_momentum_for_a_minute():
    eqs = derive(load("tumbling_body"))
    run = simulate(eqs, 60.0, rtol=1e-12, save_every=5.0)
    assert np.ptp(run.energy["total"].values) < 1e-8 * run.energy["total"].values[0]
    momenta = []
    for q, v in zip(run.q, run.v, strict=True):
        twist = eqs.binding.node_twists(q, v)[1]
        R = eqs.binding.node_poses(q)[0][1]
        inertia = eqs.mass_matrix(q).toarray()[3:, 3:]
        momenta.append(R @ inertia @ R.T @ twist[3:])
    momenta = np.array(momenta)
    assert np.abs(momenta - momenta[0]).max() < 1e-8 * np.linalg.norm(momenta[0])
    # about its middle axis it tumbles: the spin in the body's own axes changes sign again and again
    spin = run.v[:, 3 + int(np.argmax(np.abs(run.v[0, 3:])))]
    assert spin.min() < 0 < spin.max()


def test_double_pendulum_keeps_its_energy():
    run = simulate(derive(load("double_pendulum")), 20.0, rtol=1e-12, save_every=1.0)
    total = run.energy["total"].values
    assert np.ptp(total) < 1e-8 * np.abs(total).max()


OSCILLATOR = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {c: 0.4 N*s/m, force: {value: 0 N, input: true}}
bodies: {m: {mass: 2 kg}}
joints:
  x: {type: prismatic, child: m, axis: x, displacement: {initial: 0.3 m, spring: 50 N/m, damper: =c, input: =force}}
outputs: {place: {coordinate: x}}
"""


@pytest.mark.parametrize(
    "method", [ExplicitRungeKutta(rtol=1e-9), Rosenbrock(rtol=1e-8), GeneralizedAlpha(step=1e-3), None]
)
def test_energy_balance_with_a_damper_closes(method):
    run = simulate(derive(load_text(OSCILLATOR)), 3.0, method=method, save_every=0.5)
    energy = run.energy
    balance = energy["total"].values + energy["dissipated"].values
    np.testing.assert_allclose(balance, balance[0], rtol=2e-6)
    assert energy["dissipated"].values[-1] > 0.1


def test_work_of_an_input_closes_the_balance():
    text = OSCILLATOR + "inputs: {force: {sine: {amplitude: 3 N, frequency: 0.8 Hz}}}\n"
    run = simulate(derive(load_text(text)), 4.0, rtol=1e-9)
    energy = run.energy
    balance = energy["total"] + energy["dissipated"] - energy["supplied"]
    np.testing.assert_allclose(balance.values, balance.values[0], rtol=1e-6)
    assert np.ptp(energy["supplied"].values) > 0.1


def test_input_steps_are_met_exactly():
    """An undamped oscillator pushed from t = 1 s on has a closed-form motion."""
    text = OSCILLATOR + "inputs: {force: {step: {at: 1 s, before: 0 N, after: 10 N}}}\n"
    run = simulate(derive(load_text(text)), 3.0, rtol=1e-10, parameters={"c": 0.0}, save_at=[0.5, 1.0, 3.0])
    x1, v1 = 0.3 * np.cos(5), -1.5 * np.sin(5)
    exact = 0.2 + (x1 - 0.2) * np.cos(10) + v1 / 5 * np.sin(10)
    assert run["x"].values[-1] == pytest.approx(exact, abs=1e-8)
    assert run["x"].values[0] == pytest.approx(0.3 * np.cos(2.5), abs=1e-8)


def test_saved_times_between_steps_are_as_accurate_as_the_steps():
    eqs = derive(load_text(OSCILLATOR))
    run = simulate(eqs, 4.0, rtol=1e-9, parameters={"c": 0.0}, save_every=0.01)
    np.testing.assert_allclose(run["x"].values, 0.3 * np.cos(5 * run.time), atol=1e-7)
    np.testing.assert_allclose(run["x"].rate, -1.5 * np.sin(5 * run.time), atol=1e-6)


def test_an_event_is_located_and_stops_the_run():
    eqs = derive(load_text(OSCILLATOR))
    event = Event(lambda now: now.q[0], direction="falling", name="crossing")
    run = simulate(eqs, 4.0, rtol=1e-10, parameters={"c": 0.0}, events=[event])
    assert run.status == "stopped"
    assert run.time[-1] == pytest.approx(np.pi / 10, abs=1e-8)
    assert "crossing" in run.message
    named = simulate(eqs, 4.0, parameters={"c": 0.0}, events=[Event("place", stop=False, name="zero")])
    assert named.status == "completed"
    np.testing.assert_allclose(named.events["zero"], np.pi / 10 * (2 * np.arange(6) + 1), atol=1e-6)
    assert "zero at t = 0.314" in named.remarks[0]


def test_a_mid_step_function_sets_inputs_and_parameters():
    """Bang-bang braking by the input brings the oscillator to rest much sooner than its damper would."""
    eqs = derive(load_text(OSCILLATOR))

    def brake(now):
        now.inputs["force"] = -2.0 * np.sign(now.v[0])

    braked = simulate(eqs, 3.0, method=ExplicitRungeKutta(max_step=5e-3), mid_step=brake)
    free = simulate(eqs, 3.0)
    assert braked.energy["total"].values[-1] < 0.2 * free.energy["total"].values[-1]

    def stiffen(now):
        now.parameters["c"] = 50.0

    assert abs(simulate(eqs, 3.0, mid_step=stiffen)["x"].values[-1]) > 0.01


def test_ctrl_c_keeps_what_was_computed(four_bar):
    def interrupt(t, end, steps):
        if t > 0.5:
            raise KeyboardInterrupt

    run = simulate(four_bar, 50.0, progress=interrupt, method=ExplicitRungeKutta(step=1e-4))
    assert run.status == "stopped"
    assert "Ctrl-C" in run.message
    assert 0.5 < run.time[-1] < 50.0
    assert len(run.time) > 1


def test_a_diverging_run_stops_with_time_coordinate_and_advice():
    text = """
pliant: 1
bodies: {m: {mass: 1 kg}}
joints: {x: {type: prismatic, child: m, axis: x, displacement: {initial: 1 m, spring: 1e9}}}
"""
    run = simulate(derive(load_text(text)), 10.0, method=ExplicitRungeKutta(step=1e-2), on_failure="return")
    assert run.status == "failed"
    assert "'x' is no longer a finite number at t = " in run.message
    assert "implicit" in run.message
    assert np.all(np.isfinite(run.q))


def test_a_stiff_robot_gets_an_implicit_method_and_says_why():
    text = """
pliant: 1
bodies: {m: {mass: 1 g}}
joints: {x: {type: prismatic, child: m, axis: z, displacement: {spring: 1e4, damper: 100}}}
"""
    run = simulate(derive(load_text(text)), 5.0)
    assert run.status == "completed"
    assert "stiff" in run.method
    assert run.timing.steps < 300
    assert run["x"].values[-1] == pytest.approx(-1e-3 * 9.81 / 1e4, rel=1e-4)


def test_a_prescribed_motion_is_followed_and_its_force_returned():
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 3 kg}}
joints: {x: {type: prismatic, child: m, axis: x, displacement: {motion: "=0.2 m * sin(2*t/1 s)"}}}
"""
    run = simulate(derive(load_text(text)), 3.0, rtol=1e-9, save_every=0.1)
    np.testing.assert_allclose(run["x"].values, 0.2 * np.sin(2 * run.time), atol=1e-10)
    np.testing.assert_allclose(run.dataset["multiplier"][:, 0], -3 * 0.8 * np.sin(2 * run.time), atol=1e-6)
    # the drive's work is the kinetic energy
    kinetic = run.energy["kinetic"].values
    np.testing.assert_allclose(run.energy["supplied"].values, kinetic - kinetic[0], atol=1e-6)


@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_a_stiff_part_on_a_driven_base_carries_the_force_of_its_load(rtol: float) -> None:
    """A load cell of 1e8 N/m: if steps moved the base alone onto its motion, the cell would be compressed by their error."""
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {base: {mass: 500 g}, load: {mass: 1 kg}}
joints:
  drive: {type: prismatic, child: base, axis: x, displacement: {motion: "=0.1 m*sin(2*pi*t/1 s)"}}
  cell: {type: prismatic, parent: base, child: load, axis: x, displacement: {name: squeeze, spring: 1e8 N/m, damper: 1e3 N*s/m}}
"""
    run = simulate(derive(load_text(text)), 1.0, rtol=rtol, save_at=np.linspace(0, 1, 51))
    force = -1e8 * run["squeeze"].values - 1e3 * run["squeeze"].rate
    np.testing.assert_allclose(force, -0.1 * (2 * np.pi) ** 2 * np.sin(2 * np.pi * run.time), atol=0.01)
    assert not run.remarks


FOUR_BAR_WITH_CELL = """
pliant: 1
world: {gravity: [0, -9.81, 0]}
defaults: {joints: {type: revolute, axis: z}, bodies: {mass: 1 kg}}
bodies:
  bar1: {center_of_mass: [0.06, 0, 0], shape: {type: slender_rod, length: 0.12}, frames: {tip: {position: [0.12, 0, 0]}}}
  bar2: {center_of_mass: [0.25, 0, 0], shape: {type: slender_rod, length: 0.5}, frames: {tip: {position: [0.5, 0, 0]}}}
  bar3: {center_of_mass: [0.095, 0, 0], shape: {type: slender_rod, length: 0.19}, frames: {tip: {position: [0.19, 0, 0]}}}
  end: {mass: 200 g, shape: {type: sphere, radius: 1 cm}}
joints:
  j1: {child: bar1, position: [150 mm, 0, 0]}
  j2: {parent: bar1.tip, child: bar2, angle: {initial: 1.776959543840297}}
  cell: {type: prismatic, axis: x, parent: bar2.tip, child: end, displacement: {name: squeeze, spring: 1e8, damper: 1e3}}
  j3: {child: bar3, position: [0, 400 mm, 0], angle: {initial: 0.489957326253728}}
constraints: {pin: {between: [end, bar3.tip], components: [x, y], expressed_in: world}}
"""


@pytest.mark.parametrize(("between", "limit"), [(False, 0.3), (True, 2.5)])
def test_a_stiff_part_of_a_loop_carries_the_force_that_accurate_steps_give(between: bool, limit: float) -> None:
    """A load cell in the coupler of a linkage, with forces up to 32 N: moved onto the constraints by mass alone it shows 125 N."""
    eqs, times = derive(load_text(FOUR_BAR_WITH_CELL)), np.linspace(0, 1, 41)
    accurate = simulate(eqs, 1.0, rtol=1e-7, save_at=times)["squeeze"].values
    run = simulate(eqs, 1.0, save_at=times, save_between=between)
    assert "implicit" in run.method
    assert np.abs(1e8 * (run["squeeze"].values - accurate)).max() < limit


def test_a_prescribed_acceleration_is_integrated():
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 3 kg, shape: {type: sphere, radius: 10 cm}}}
joints: {fly: {type: free, child: m, x: {rate: 0.5 m/s}}}
constraints:
  guide: {between: [world, m], components: [x], acceleration: "=if(t < 1 s, 2 m/s^2, 0)"}
"""
    run = simulate(derive(load_text(text)), 2.0, rtol=1e-9, save_at=[1.0, 2.0])
    assert run["fly.x"].values[0] == pytest.approx(0.5 + 1.0, abs=1e-6)
    assert run["fly.x"].values[1] == pytest.approx(1.5 + 2.5, abs=1e-6)


def test_starting_from_an_equilibrium_stays_there():
    eqs = derive(load("pendulum"))
    run = simulate(eqs, 1.0, start=equilibrium(eqs))
    assert np.ptp(run["hinge"].values) < 1e-9


def test_a_run_goes_on_from_the_end_of_another(four_bar):
    whole = simulate(four_bar, 1.0, rtol=1e-10, save_at=[1.0])
    half = simulate(four_bar, 0.5, rtol=1e-10)
    rest = simulate(four_bar, 1.0, begin=0.5, start=half, rtol=1e-10, save_at=[1.0])
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-7)


def test_casadi_and_scipy_give_the_same_motion(four_bar):
    """Accelerations of the symbolic equations, integrated by another package."""
    run = simulate(four_bar, 0.3, rtol=1e-8, save_at=[0.3])
    forward, u, p = four_bar.casadi("forward_dynamics"), four_bar.input_vector(), list(four_bar.parameters.values())
    n = len(four_bar.rates)

    def slope(t, x):
        return np.concatenate([x[n:], np.asarray(forward(t, x[:n], x[n:], u, p)[0]).ravel()])

    state = four_bar.binding.project(0.0, *four_bar.initial_state())
    end = solve_ivp(slope, (0, 0.3), np.concatenate(state), method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(run.q[-1], end[:n], atol=1e-6)
    np.testing.assert_allclose(run.v[-1], end[n:], atol=1e-5)
    multipliers = np.asarray(forward(0.3, run.q[-1], run.v[-1], u, p)[1]).ravel()
    np.testing.assert_allclose(run.dataset["multiplier"].values[-1], multipliers, atol=1e-6)


def test_semi_implicit_holds_a_stiff_spring_at_a_coarse_step():
    text = """
pliant: 1
bodies: {m: {mass: 1 kg}}
joints: {x: {type: prismatic, child: m, axis: z, displacement: {spring: 1e8, damper: 1e3}}}
"""
    run = simulate(derive(load_text(text)), 1.0, method=SemiImplicit(step=1e-2))
    assert run["x"].values[-1] == pytest.approx(-9.81 / 1e8, rel=1e-3)


@pytest.mark.parametrize(
    ("span", "message"), [((1.0, 0.0), "go forward"), ((0.0, float("nan")), "finite"), ((0.0, 0.0), "go forward")]
)
def test_time_spans_that_make_no_sense_are_refused(four_bar, span, message):
    with pytest.raises(ValueError, match=message):
        simulate(four_bar, span[1], begin=span[0])


def test_saving_outside_the_run_is_refused(four_bar):
    with pytest.raises(ValueError, match="between 0 and 1 s"):
        simulate(four_bar, 1.0, save_at=[0.5, 1.5])


def test_saving_on_the_way_keeps_what_a_mid_step_function_has_set(tmp_path, monkeypatch):
    from pliant.analysis.motion import run as module

    monkeypatch.setattr(module, "PACE", module.Pace(least_save_cost=0.0))
    eqs = derive(load_text(OSCILLATOR))

    def once(now):
        if "done" not in now.memory:
            now.memory["done"] = True
            now.parameters["c"] = 5.0

    method = ExplicitRungeKutta(max_step=0.02)
    plain = simulate(eqs, 0.4, method=method, mid_step=once)
    saved = simulate(eqs, 0.4, method=method, mid_step=once, out=tmp_path / "run.nc")
    np.testing.assert_allclose(saved["x"].values, plain["x"].values, atol=1e-12)


def test_frames_are_worked_out_a_few_states_at_a_time(monkeypatch):
    """The same numbers, and little memory beside what is kept: a net of ten thousand nodes has megabytes per state."""
    import tracemalloc

    eqs = derive(load("net", set={"cells": 20}))

    def run():
        return simulate(eqs, 0.1, method=SemiImplicit(step=1e-3), save_every=5e-4)

    whole = run()
    monkeypatch.setattr("pliant.analysis.motion.derived_quantities.CHUNK_BYTES", 3_000_000)
    tracemalloc.start()
    few = run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    kept = sum(x.nbytes for x in few.dataset.variables.values())
    assert kept > 10_000_000
    assert peak < kept + 8_000_000
    for name, values in whole.dataset.data_vars.items():
        np.testing.assert_array_equal(values, few.dataset[name], err_msg=str(name))


def test_a_failed_reduced_run_raises_with_what_was_computed_and_saves_it(tmp_path):
    """The independent coordinate of a four-bar turns back, where the mechanism is in a dead position for it."""
    eqs = derive(load("four_bar"))
    file = tmp_path / "run.nc"
    asked = {"formulation": "reduced", "independent": ("q3",), "save_every": 0.01, "out": file}
    with pytest.raises(AnalysisFailed, match=r"dead position|step size") as failure:
        simulate(eqs, 20.0, start={"q1": 1.0}, **asked)
    kept = failure.value.result
    assert kept.status == "failed"
    assert 0 < kept.time[-1] < 20
    with pytest.warns(UserWarning, match="is partial"):
        assert load_result(file.with_suffix(".partial.nc")).status == "failed"
    same = simulate(eqs, 20.0, start={"q1": 1.0}, on_failure="return", **asked)
    assert same.status == "failed"
    assert same.message == str(failure.value)
    with pytest.raises(ValueError, match="on_failure"):
        simulate(eqs, 1.0, on_failure="ignore")


def test_a_run_that_cannot_go_on_says_when_why_and_what_to_do():
    """A crank that is driven farther than its linkage lets it."""
    before = "initial: 0.4899573262537283"
    text = dump(load("four_bar"))
    assert before in text
    text = text.replace(before, "motion: =0.4899573262537283 + 3 rad/s * t")
    eqs = derive(load_text(text))
    with pytest.raises(AnalysisFailed) as failure:
        simulate(eqs, 5.0)
    run = failure.value.result
    assert run.status == "failed"
    assert str(failure.value) == run.message
    assert 0 < run.time[-1] < 5.0
    assert run.message.startswith(f"the mechanism reaches a dead point at t = {run.time[-1]:.6g} s: the constraints ")
    assert "'q3'" in run.message


@pytest.mark.parametrize("formulation", ["multipliers", "reduced"])
def test_a_time_limit_stops_a_run_with_what_was_computed(formulation):
    eqs = derive("four_bar")
    run = simulate(eqs, 1e5, save_every=1.0, timeout=0.05, formulation=formulation)
    assert run.status == "stopped"
    assert run.message.startswith("stopped by the time limit of 0.05 s at t = ")
    assert run.interrupted
    assert 0 <= run["q1"].time[-1] < 1e5
    with pytest.raises(ValueError, match="timeout must be a positive number"):
        simulate(eqs, 1.0, timeout=0)


def test_a_motion_that_diverges_by_its_step_is_said_to_do_so():
    """Whichever number breaks first."""
    text = """
pliant: 1
world: {gravity: [9.81 m/s^2, 0, 0]}
sections: {round: {shape: circle, radius: 9 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 400 MPa, poissons_ratio: 0.45}}
rods: {arm: {length: 20 cm, section: round, material: rubber, model: {kind: finite_element, elements: 3}}}
"""
    eqs = derive(load_text(text))
    for method in ("explicit", "symplectic_euler"):
        with pytest.raises(AnalysisFailed, match=r"diverges.*a smaller step or an\s+implicit method"):
            simulate(eqs, 1.0, method=method, step=2e-3)
