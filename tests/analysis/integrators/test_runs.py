"""The time loop: its steps against plain ones in NumPy, jumps, step sizes, samples, statuses."""

from dataclasses import replace

import numpy as np
import pytest
from integrator_systems import complete, prepare, setup
from reference import EXPONENTS, Reference, assert_newmark_steps

from pliant.analysis.integrators import (
    ExplicitRungeKutta,
    GeneralizedAlpha,
    Newmark,
    Rosenbrock,
    SemiImplicit,
    SymplecticEuler,
)
from pliant.engine.layout import RuntimeStatus

RECORDS = ("sample_q", "sample_v", "sample_a", "sample_multipliers", "sample_work")
METHODS = {
    "explicit": ExplicitRungeKutta,
    "implicit": Rosenbrock,
    "generalized_alpha": GeneralizedAlpha,
    "newmark": Newmark,
    "semi_implicit": SemiImplicit,
    "symplectic_euler": SymplecticEuler,
}


def assert_same(run, other, tolerance):
    assert (run.steps, run.rejected, run.sampled) == (other.steps, other.rejected, other.sampled)
    for name in RECORDS:
        x, y = getattr(run, name), getattr(other, name)
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * (1 + np.abs(y).max()), err_msg=name)


def assert_near(found, expected, tolerance, what):
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * (1 + np.abs(expected).max(initial=0.0)), what


def assert_at(run, state, tolerance):
    """The run has reached that state."""
    for name in ("q", "v", "a", "multipliers", "work"):
        assert_near(getattr(run, name), getattr(state, name), tolerance, (name, run.t))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["ball", "driven", "four_bar", "driven_four_bar", "top"])
def test_fixed_steps_are_those_of_the_formulas(name, method):
    """Every step, and samples within steps."""
    system, until = setup(name), {"top": 0.02}.get(name, 0.2)
    times = np.linspace(0, until, 8)[:-1] + until / 900
    chosen = METHODS[method](step=until / 12.5)
    run = prepare(system, chosen, until, samples=times)
    assert run.start() == RuntimeStatus.OK
    plain = Reference(system.binding, chosen, system.q, system.v)
    count = 0
    # accelerations of implicit methods amplify round-off by the square of the step
    for step in range(13):
        assert run.advance(1) == (RuntimeStatus.OK if step == 12 else RuntimeStatus.MAX_STEPS)
        plain.step(until / 13)
        assert run.t == pytest.approx(plain.state.t, rel=1e-13)
        assert_at(run, plain.state, 1e-10)
        for key in ("q", "v"):
            assert_near(getattr(run, key), getattr(plain.state, key), 1e-12 * (1 + np.abs(run.v).max()), key)
        while count < len(times) and times[count] < plain.state.t:
            expected = plain.between(times[count])
            for key in ("q", "v", "a", "multipliers", "work"):
                assert_near(getattr(run, f"sample_{key}")[count], getattr(expected, key), 1e-9, (key, times[count]))
            count += 1
    assert run.steps == 13
    assert run.sampled == count == len(times)


@pytest.mark.parametrize("method", METHODS)
def test_sparse_systems_take_the_same_steps(method):
    system = setup("net")
    assert system.binding.nv > 150
    assert not system.binding.program.tables.counts["kkt_dense"]
    chosen = METHODS[method](step=1e-3)
    run, plain = complete(system, chosen, 4e-3), Reference(system.binding, chosen, system.q, system.v)
    for _ in range(4):
        plain.step(1e-3)
    assert_at(run, plain.state, 1e-10)
    assert np.abs(run.v - system.v).max() > 0.01


def test_fixed_steps_that_newton_cannot_solve_are_halved_and_end_on_stops():
    system, stop, step = setup("squeezed"), 0.0712, 0.005
    chosen = GeneralizedAlpha(step=step)
    run = prepare(system, chosen, 0.2, stops=(stop,))
    assert run.start() == RuntimeStatus.OK
    reached, states, rejected = [0.0], [(run.q.copy(), run.v.copy(), run.a.copy())], [0]
    status = RuntimeStatus.MAX_STEPS
    while status == RuntimeStatus.MAX_STEPS:
        status = run.advance(1)
        reached.append(run.t)
        rejected.append(run.rejected)
        states.append((run.q.copy(), run.v.copy(), run.a.copy()))
    assert status == RuntimeStatus.OK
    assert run.rejected >= 2
    assert stop in reached
    taken = np.diff(reached)
    assert taken.min() < 0.6 * step
    # each refusal halves the equal steps to the next stop; after sixteen calm steps one halving is taken back, where a longer step
    # begins on the grid of those steps
    halvings = calm = 0
    part = 0.0  # of a whole step
    for k, h in enumerate(taken):
        halvings += rejected[k + 1] - rejected[k]
        if rejected[k + 1] > rejected[k]:
            calm = 0
        left = (stop if reached[k] < stop else 0.2) - reached[k]
        whole = left / (max(1, np.ceil(left / step + part - 1e-6)) - part)
        assert h == pytest.approx(whole / 2**halvings, rel=1e-9), k
        part = (part + 0.5**halvings) % 1
        calm += halvings > 0
        if calm >= 16 and part % 0.5 ** (halvings - 1) == 0:
            halvings, calm = halvings - 1, 0
    assert np.diff(taken).max() > 0.45 * step, "and whole again after a while"
    assert taken.max() < step * (1 + 1e-6)
    # and every step solves the equations of the method
    assert_newmark_steps(system.binding, chosen, reached, *(np.array(x) for x in zip(*states, strict=True)))


@pytest.mark.parametrize("step", [0.004, 0.02])
def test_halved_steps_do_not_depend_on_the_distance_of_the_next_stop(step):
    """As if each step were a run of its own, which ends on a stop: exported C takes them so."""
    system, count = setup("squeezed"), 60
    grid = step * np.arange(1, count + 1)

    def steps(stops: tuple[float, ...]) -> np.ndarray:
        run = prepare(system, GeneralizedAlpha(step=step), grid[-1], stops=stops)
        assert run.start() == RuntimeStatus.OK
        reached = []
        while run.advance(1) == RuntimeStatus.MAX_STEPS:
            reached.append(run.t)
        assert run.rejected >= 2
        return np.array([*reached, run.t])

    far, near = steps(()), steps(tuple(grid[:-1]))
    assert len(far) > count, "some are halved"
    np.testing.assert_allclose(far, near, rtol=1e-12)
    assert np.abs(far[:, None] - grid).min(axis=0).max() < 1e-12, "and whole steps end where they would without halving"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["explicit", "implicit", "generalized_alpha", "newmark"])
@pytest.mark.parametrize("name", ["ball", "stiff", "four_bar", "driven_four_bar", "flying", "turning"])
def test_adaptive_steps_follow_the_error_of_the_formulas(name, method):
    """Every accepted step: its end, an error below one, and the next step size according to the error. The run ends so much later
    that its energy balance does not affect the tolerance yet."""
    system = setup(name, **({"k": 1e4, "c": 300.0} if name == "stiff" else {}))
    until, exponent = 0.1, EXPONENTS[method]
    chosen = METHODS[method](rtol=1e-5, max_step=until)
    run = prepare(system, chosen, 1000 * until, stops=(until,))
    assert run.start() == RuntimeStatus.OK
    plain = Reference(system.binding, chosen, system.q, system.v)
    assert run.step == pytest.approx(first_step(plain, until), rel=1e-6)
    previous, rejected, checked = 1.0, 0, 0
    while run.t < until:
        t, planned = run.t, run.step
        assert run.advance(1) == RuntimeStatus.MAX_STEPS
        h = run.t - t
        error = plain.step(h)
        assert error < 1 + 1e-6
        assert_at(run, plain.state, 1e-7)
        failed = run.rejected > rejected
        factor = 0.9 * max(error, 1e-10) ** (-0.7 / exponent) * previous ** (0.4 / exponent)
        factor = min(1.0 if failed else 5.0, max(0.2, factor))
        # a step shortened by the end does not affect the planned longer one
        expected = h * factor if factor < 1 or failed else max(planned, h * factor)
        assert run.step == pytest.approx(min(until, expected), rel=1e-3), (t, error)
        previous, rejected, checked = max(error, 1e-4), run.rejected, checked + 1
        # the reference continues from the same state, so that single steps are compared
        plain.state = replace(
            plain.state, **{x: getattr(run, x).copy() for x in ("q", "v", "a", "multipliers", "work")}
        )
    assert checked == run.steps > 2


def first_step(plain, span):
    """A hundredth of the time in which the robot goes as far as it is large."""
    s, b = plain.state, plain.binding
    size = b.sizes(s.q)[0]
    (speed, spin), (acceleration, angular) = plain._frames(s.q, s.v), plain._frames(s.q, s.a)
    times = [spin and 1 / spin, angular and 1 / np.sqrt(angular)]
    times += [speed and size / speed, acceleration and np.sqrt(size / acceleration)]
    return 0.01 * min([span, *(x for x in times if x)])


@pytest.mark.parametrize("method", METHODS)
def test_a_run_in_pieces_is_the_same_run(method):
    system = setup("four_bar")
    chosen = METHODS[method](step=0.005) if METHODS[method].order == 1 else METHODS[method](rtol=1e-4)
    times = np.linspace(0, 0.05, 4)
    whole = complete(system, chosen, 0.05, samples=times)
    pieces = prepare(system, chosen, 0.05, samples=times)
    assert pieces.start() == RuntimeStatus.OK
    statuses = []
    while not statuses or statuses[-1] == RuntimeStatus.MAX_STEPS:
        statuses.append(pieces.advance(3))
        assert pieces.sampled == np.sum(times <= pieces.t)
    assert statuses[-1] == RuntimeStatus.OK
    assert_same(whole, pieces, 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_a_fixed_step_that_does_not_divide_the_way_is_cut_evenly(method):
    system = setup("driven")
    run = prepare(system, METHODS[method](step=0.03), 0.1, stops=(0.05,))
    assert run.start() == RuntimeStatus.OK
    ends = []
    while run.advance(1) == RuntimeStatus.MAX_STEPS:
        ends.append(run.t)
    # two steps to the stop, two to the end; never longer than requested, and no very short step
    np.testing.assert_allclose([*ends, run.t], [0.025, 0.05, 0.075, 0.1], rtol=1e-14)
    assert run.step == 0.03


def test_round_off_leaves_no_sliver():
    run = complete(setup("held"), SemiImplicit(step=1e-3), 0.7)
    assert run.steps == 700


@pytest.mark.parametrize("name", ["pushed", "pushed_after"])
@pytest.mark.parametrize("method", ["explicit", "implicit", "generalized_alpha", "newmark"])
def test_a_jump_of_an_input_at_a_stop_is_met_exactly(name, method):
    """A mass at rest, pushed from 0.35 s on (or after it): x = 0.75 (t - 0.35)^2 with no error of the jump's making."""
    system, times = setup(name), np.array([0.2, 0.35, 0.5, 1.0])
    run = complete(system, METHODS[method](rtol=1e-6), 1.0, samples=times, stops=(0.35,))
    np.testing.assert_allclose(run.sample_q[:, 0], 0.75 * np.maximum(times - 0.35, 0) ** 2, atol=1e-14)
    np.testing.assert_allclose(run.sample_v[:, 0], 1.5 * np.maximum(times - 0.35, 0), atol=1e-13)
    # a sample on the jump shows what follows it
    np.testing.assert_allclose(run.sample_a[:, 0], [0, 1.5, 1.5, 1.5], atol=1e-12)
    np.testing.assert_allclose(run.sample_work[:, 1], run.sample_v[:, 0] ** 2, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_a_prescribed_velocity_that_jumps_takes_effect_at_once(method):
    """The crank turns at 2 rad/s from 0.4 s to 1.2 s; the impulses at both ends are work of the drive."""
    system, times = setup("crank"), np.array([0.3, 0.4, 1.0, 1.2, 1.5])
    run = complete(system, METHODS[method](step=0.09), 1.5, samples=times, stops=(0.4, 1.2))
    np.testing.assert_allclose(run.sample_q[:, 0], [0, 0, 1.2, 1.6, 1.6], atol=1e-11)
    np.testing.assert_allclose(run.sample_v[:, 0], [0, 2, 2, 0, 0], atol=1e-11)
    np.testing.assert_allclose(run.sample_work[:, 1], 0.5 * 1.1 * run.sample_v[:, 0] ** 2, atol=1e-10)
    # while it turns evenly there is nothing to force
    np.testing.assert_allclose(run.sample_multipliers[:, 0], 0, atol=1e-9)


def test_a_prescribed_position_that_jumps_is_refused():
    system = setup("jerked")
    run = prepare(system, GeneralizedAlpha(), 1.0, stops=(0.4,))
    assert run.start() == RuntimeStatus.OK
    assert run.advance(1000) == RuntimeStatus.POSITION_JUMPS
    assert run.t == 0.4


def test_stops_without_a_jump_do_not_lower_the_order():
    """Every step ends on a stop; generalized-alpha must not forget its average there."""
    system = setup("driven")
    reference = complete(system, ExplicitRungeKutta(rtol=1e-12), 0.5)
    errors = []
    for count in (20, 40):
        stops = tuple(0.5 * np.arange(1, count) / count)
        method = GeneralizedAlpha(step=0.5, spectral_radius=0.0)
        run = complete(system, method, 0.5, stops=stops)
        assert run.steps == count
        errors.append(np.abs(run.sample_v - reference.sample_v).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.25)


@pytest.mark.parametrize("method", ["explicit", "implicit", "generalized_alpha"])
def test_a_pulse_during_rest_is_not_stepped_over(method):
    system, until = setup("pulse"), 10.0
    run = complete(system, METHODS[method](), until)
    assert run.sample_v[-1, 0] == pytest.approx(0.5 * 3 * 0.2 * np.sqrt(np.pi), rel=1e-3)


def test_inputs_changed_between_advances_take_effect_after_a_new_start():
    system = setup("held")
    run = prepare(system, ExplicitRungeKutta(step=0.25), 1.0)
    assert run.start() == RuntimeStatus.OK
    run.advance(2)
    assert (run.t, run.v[0]) == (0.5, 0.0)
    run.rebind(setup("held", inputs={"u": 4.0}).binding)
    assert run.start() == RuntimeStatus.OK
    assert run.a[0] == pytest.approx(2.0)
    assert run.advance(10) == RuntimeStatus.OK
    assert run.v[0] == pytest.approx(1.0)
    assert run.work[1] == pytest.approx(1.0)


def test_a_run_returns_to_a_state_inside_its_last_step():
    system, times = setup("driven"), np.linspace(0, 1, 101)
    exact = complete(system, ExplicitRungeKutta(rtol=1e-10), 0.137)
    run = prepare(system, ExplicitRungeKutta(step=0.02), 1.0, samples=times)
    run.start()
    run.advance(7)
    assert run.sampled == 15
    assert run.go_to(0.137, exact.q, exact.v) == RuntimeStatus.OK
    assert run.t == 0.137
    assert run.sampled == 14
    np.testing.assert_allclose(run.a, exact.a)
    np.testing.assert_allclose(run.work, exact.work, atol=2e-6)


# -- statuses --------------------------------------------------------------------------------------------------------


def test_divergence_names_the_rate():
    system = setup("double_pendulum")
    system.v[1] = 1e80
    run = prepare(system, ExplicitRungeKutta(step=0.1), 1.0)
    status = run.start() or run.advance(100)
    assert status == RuntimeStatus.NOT_FINITE
    assert run.where in (0, 1)


def test_an_unstable_step_ends_as_not_finite():
    run = prepare(setup("spring", k=1e9), ExplicitRungeKutta(step=1e-2), 10.0)
    assert run.start() == RuntimeStatus.OK
    assert run.advance(10**5) == RuntimeStatus.NOT_FINITE
    assert run.where == 0
    assert np.all(np.isfinite(run.q))


def test_newton_gives_up_on_a_step_that_is_too_large():
    system = setup("four_bar")
    run = prepare(system, GeneralizedAlpha(step=5.0), 20.0)
    assert run.start() == RuntimeStatus.OK
    assert run.advance(100) == RuntimeStatus.NO_CONVERGENCE


def test_an_adaptive_run_shrinks_its_step_instead():
    run = prepare(setup("four_bar"), GeneralizedAlpha(rtol=1e-3, max_step=5.0), 0.1)
    assert run.start() == RuntimeStatus.OK
    assert run.advance(1000) == RuntimeStatus.OK


def test_a_step_below_the_smallest_is_told():
    """A force that grows without bound takes ever smaller steps, however long the run is to be."""
    run = prepare(setup("spike"), ExplicitRungeKutta(), 1.0)
    assert run.start() == RuntimeStatus.OK
    assert run.advance(10**6) == RuntimeStatus.STEP_TOO_SMALL
    assert run.t == pytest.approx(0.35, abs=1e-9)


def test_a_massless_coordinate_is_singular_from_the_start():
    run = prepare(setup("massless"), ExplicitRungeKutta(), 1.0)
    assert run.start() == RuntimeStatus.SINGULAR


@pytest.mark.parametrize("method", ["explicit", "implicit", "generalized_alpha"])
def test_a_drive_beyond_the_reach_of_the_mechanism_ends_the_run(method):
    """The rocker is driven further than the loop can follow; the run stops before, with a message."""
    system = setup("overdriven")
    run = prepare(system, METHODS[method](rtol=1e-4), 5.0)
    assert run.start() == RuntimeStatus.OK
    status = RuntimeStatus(run.advance(10**5))
    assert status not in (RuntimeStatus.OK, RuntimeStatus.MAX_STEPS, RuntimeStatus.POSITION_JUMPS)
    assert 0 < run.t < 5
    assert np.abs(system.binding.constraints(run.t, run.q, run.v)[0]).max() < 1e-10
    assert len(status.meaning) > 20


@pytest.mark.parametrize("name", ["ball", "driven", "four_bar", "driven_four_bar"])
def test_what_is_sampled_within_steps_does_not_change_implicit_steps(name):
    """A step begins with the evaluation that the one before has ended with, unless something else was evaluated since."""
    system, ends = setup(name), []
    for samples in (np.zeros(0), np.linspace(0, 0.2, 57)):
        run = complete(system, Rosenbrock(rtol=1e-4), 0.2, samples=samples)
        ends.append((run.steps, run.q.copy(), run.v.copy(), run.work.copy()))
    (steps, *alone), (others, *sampled) = ends
    assert steps == others > 5
    for x, y in zip(alone, sampled, strict=True):
        assert np.array_equal(x, y)


def test_an_implicit_step_evaluates_seven_times():
    """Five stages, the middle for its work, and the end, which is the first stage of the next step."""
    run = complete(setup("ball"), Rosenbrock(step=0.01), 0.1)
    assert run.steps == 10
    assert run.evaluations == 7 * run.steps + 2  # and the start twice: for its acceleration, and as a first stage
