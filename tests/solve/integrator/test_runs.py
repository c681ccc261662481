"""The time loops: the Python twin against C, both engines, jumps, step sizes, statuses."""

import numpy as np
import pytest
from integrator_systems import complete, prepare, setup

from pliant.solve.integrator import (
    ExplicitRungeKutta,
    GeneralizedAlpha,
    Newmark,
    PythonRun,
    Rosenbrock,
    SemiImplicit,
    RuntimeStatus,
    make_run,
)

RECORDS = ("sample_q", "sample_v", "sample_a", "sample_multipliers", "sample_work")
METHODS = {
    "explicit": ExplicitRungeKutta,
    "implicit": Rosenbrock,
    "generalized_alpha": GeneralizedAlpha,
    "newmark": Newmark,
    "semi_implicit": SemiImplicit,
}
BOTH = pytest.mark.parametrize("in_python", [False, True], ids=["C", "Python"])


def assert_same(run, other, tolerance):
    assert (run.steps, run.rejected, run.sampled) == (other.steps, other.rejected, other.sampled)
    for name in RECORDS:
        x, y = getattr(run, name), getattr(other, name)
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * (1 + np.abs(y).max()), err_msg=name)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["ball", "driven", "four_bar", "driven_four_bar", "top"])
def test_fixed_steps_in_python_are_those_in_c(name, method):
    system, until = setup(name), {"top": 0.02}.get(name, 0.2)
    times = np.linspace(0, until, 8)  # some within steps
    options = {"samples": times}
    runs = [complete(system, METHODS[method](step=until / 12.5), until, in_python=p, **options) for p in (False, True)]
    assert isinstance(runs[1], PythonRun)
    assert not isinstance(runs[0], PythonRun)
    assert runs[0].steps == 13
    # positions and rates to round-off; accelerations of implicit methods amplify it by the square of the step
    assert_same(runs[0], runs[1], 1e-10)
    for name in ("sample_q", "sample_v"):
        assert np.abs(getattr(runs[0], name) - getattr(runs[1], name)).max() < 1e-12 * (1 + np.abs(runs[0].v).max())


@pytest.mark.parametrize("method", METHODS)
def test_sparse_systems_take_the_same_steps(method):
    system = setup("net")
    assert system.engine.nv > 150
    assert not system.engine.tables.counts["kkt_dense"]
    runs = [complete(system, METHODS[method](step=1e-3), 4e-3, in_python=p) for p in (False, True)]
    assert_same(runs[0], runs[1], 1e-10)
    assert np.abs(runs[0].sample_v[-1] - system.v).max() > 0.01


def test_fixed_steps_that_newton_cannot_solve_are_halved_alike_and_end_on_stops():
    stop, step, times = 0.0712, 0.005, np.linspace(0, 0.2, 8)
    ends = []
    for in_python in (False, True):
        run = prepare(
            setup("squeezed"), GeneralizedAlpha(step=step), 0.2, stops=(stop,), samples=times, in_python=in_python
        )
        assert run.start() == RuntimeStatus.OK
        reached = [0.0]
        while (status := run.advance(1)) == RuntimeStatus.MAX_STEPS:
            reached.append(run.t)
        assert status == RuntimeStatus.OK
        ends.append((run, np.array([*reached, run.t])))
    (run, reached), (other, others) = ends
    assert_same(run, other, 1e-8)
    np.testing.assert_allclose(reached, others, rtol=0, atol=1e-12)
    assert run.rejected >= 2
    assert stop in reached
    taken = np.diff(reached)
    assert taken[0] == pytest.approx(stop / 15)
    assert taken.min() < 0.6 * step, "halved"
    assert np.diff(taken).max() > 0.45 * step, "and whole again after a while"
    assert taken.max() < step * (1 + 1e-6)


@pytest.mark.parametrize("method", ["explicit", "implicit", "generalized_alpha", "newmark"])
@pytest.mark.parametrize("name", ["ball", "stiff", "four_bar", "driven_four_bar"])
def test_adaptive_steps_in_python_are_those_in_c(name, method):
    system = setup(name, **({"k": 1e4, "c": 300.0} if name == "stiff" else {}))
    until, times = 0.1, np.linspace(0, 0.1, 8)
    chosen = METHODS[method](rtol=1e-5, max_step=until)
    runs = [complete(system, chosen, until, samples=times, in_python=p) for p in (False, True)]
    # round-off in an error estimate changes the next step a little, and so the rest, well within the tolerance
    assert_same(runs[0], runs[1], 1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["ball", "driven_four_bar"])
def test_the_interpreted_engine_runs_the_same_methods(name, method):
    until, chosen = 0.05, METHODS[method](step=0.01)
    times = np.linspace(0, until, 4)
    compiled = complete(setup(name), chosen, until, samples=times)
    other = complete(setup(name, interpreted=True), chosen, until, samples=times)
    assert isinstance(other, PythonRun)
    assert_same(compiled, other, 1e-10)


@pytest.mark.parametrize("method", METHODS)
@BOTH
def test_a_run_in_pieces_is_the_same_run(method, in_python):
    system = setup("four_bar")
    chosen = METHODS[method](step=0.005) if method == "semi_implicit" else METHODS[method](rtol=1e-4)
    times = np.linspace(0, 0.05, 4)
    whole = complete(system, chosen, 0.05, samples=times, in_python=in_python)
    pieces = prepare(system, chosen, 0.05, samples=times, in_python=in_python)
    assert pieces.start() == RuntimeStatus.OK
    statuses = []
    while not statuses or statuses[-1] == RuntimeStatus.MAX_STEPS:
        statuses.append(pieces.advance(3))
        assert pieces.sampled == np.sum(times <= pieces.t)
    assert statuses[-1] == RuntimeStatus.OK
    assert_same(whole, pieces, 0.0)


@pytest.mark.parametrize("method", METHODS)
@BOTH
def test_a_fixed_step_that_does_not_divide_the_way_is_cut_evenly(method, in_python):
    system = setup("driven")
    run = prepare(system, METHODS[method](step=0.03), 0.1, stops=(0.05,), in_python=in_python)
    assert run.start() == RuntimeStatus.OK
    ends = []
    while run.advance(1) == RuntimeStatus.MAX_STEPS:
        ends.append(run.t)
    # two steps to the stop, two to the end; never longer than asked for, and no sliver
    np.testing.assert_allclose([*ends, run.t], [0.025, 0.05, 0.075, 0.1], rtol=1e-14)
    assert run.step == 0.03


@pytest.mark.parametrize("in_python", [False, True], ids=["C", "Python"])
def test_round_off_leaves_no_sliver(in_python):
    run = complete(setup("held"), SemiImplicit(step=1e-3), 0.7, in_python=in_python)
    assert run.steps == 700


@pytest.mark.parametrize("name", ["pushed", "pushed_after"])
@pytest.mark.parametrize("method", ["explicit", "implicit", "generalized_alpha", "newmark"])
@BOTH
def test_a_jump_of_an_input_at_a_stop_is_met_exactly(name, method, in_python):
    """A mass at rest, pushed from 0.35 s on (or after it): x = 0.75 (t - 0.35)^2 with no error of the jump's making."""
    system, times = setup(name), np.array([0.2, 0.35, 0.5, 1.0])
    run = complete(system, METHODS[method](rtol=1e-6), 1.0, samples=times, stops=(0.35,), in_python=in_python)
    np.testing.assert_allclose(run.sample_q[:, 0], 0.75 * np.maximum(times - 0.35, 0) ** 2, atol=1e-14)
    np.testing.assert_allclose(run.sample_v[:, 0], 1.5 * np.maximum(times - 0.35, 0), atol=1e-13)
    # a sample on the jump shows what follows it
    np.testing.assert_allclose(run.sample_a[:, 0], [0, 1.5, 1.5, 1.5], atol=1e-12)
    np.testing.assert_allclose(run.sample_work[:, 1], run.sample_v[:, 0] ** 2, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
@BOTH
def test_a_prescribed_velocity_that_jumps_takes_effect_at_once(method, in_python):
    """The crank turns at 2 rad/s from 0.4 s to 1.2 s; the impulses at both ends are work of the drive."""
    system, times = setup("crank"), np.array([0.3, 0.4, 1.0, 1.2, 1.5])
    run = complete(system, METHODS[method](step=0.09), 1.5, samples=times, stops=(0.4, 1.2), in_python=in_python)
    np.testing.assert_allclose(run.sample_q[:, 0], [0, 0, 1.2, 1.6, 1.6], atol=1e-11)
    np.testing.assert_allclose(run.sample_v[:, 0], [0, 2, 2, 0, 0], atol=1e-11)
    np.testing.assert_allclose(run.sample_work[:, 1], 0.5 * 1.1 * run.sample_v[:, 0] ** 2, atol=1e-10)
    # while it turns evenly there is nothing to force
    np.testing.assert_allclose(run.sample_multipliers[:, 0], 0, atol=1e-9)


@BOTH
def test_a_prescribed_position_that_jumps_is_refused(in_python):
    system = setup("jerked")
    run = prepare(system, GeneralizedAlpha(), 1.0, stops=(0.4,), in_python=in_python)
    assert run.start() == RuntimeStatus.OK
    assert run.advance(1000) == RuntimeStatus.POSITION_JUMPS
    assert run.t == 0.4


@BOTH
def test_stops_without_a_jump_do_not_lower_the_order(in_python):
    """Every step ends on a stop; generalized-alpha must not forget its average there."""
    system = setup("driven")
    reference = complete(system, ExplicitRungeKutta(rtol=1e-12), 0.5)
    errors = []
    for count in (20, 40):
        stops = tuple(0.5 * np.arange(1, count) / count)
        method = GeneralizedAlpha(step=0.5, spectral_radius=0.0)
        run = complete(system, method, 0.5, stops=stops, in_python=in_python)
        assert run.steps == count
        errors.append(np.abs(run.sample_v - reference.sample_v).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.25)


@pytest.mark.parametrize("method", ["explicit", "implicit", "generalized_alpha"])
def test_a_pulse_during_rest_is_not_stepped_over(method):
    system, until = setup("pulse"), 10.0
    run = complete(system, METHODS[method](), until)
    assert run.sample_v[-1, 0] == pytest.approx(0.5 * 3 * 0.2 * np.sqrt(np.pi), rel=1e-3)


@BOTH
def test_inputs_changed_between_advances_take_effect_after_a_new_start(in_python):
    system = setup("held")
    run = prepare(system, ExplicitRungeKutta(step=0.25), 1.0, in_python=in_python)
    assert run.start() == RuntimeStatus.OK
    run.advance(2)
    assert (run.t, run.v[0]) == (0.5, 0.0)
    system.engine.held[:] = 4.0
    assert run.start() == RuntimeStatus.OK
    assert run.a[0] == pytest.approx(2.0)
    assert run.advance(10) == RuntimeStatus.OK
    assert run.v[0] == pytest.approx(1.0)
    assert run.work[1] == pytest.approx(1.0)


@BOTH
def test_a_run_returns_to_a_state_inside_its_last_step(in_python):
    system, times = setup("driven"), np.linspace(0, 1, 101)
    exact = complete(system, ExplicitRungeKutta(rtol=1e-10), 0.137)
    run = prepare(system, ExplicitRungeKutta(step=0.02), 1.0, samples=times, in_python=in_python)
    run.start()
    run.advance(7)
    assert run.sampled == 15
    assert run.go_to(0.137, exact.q, exact.v) == RuntimeStatus.OK
    assert run.t == 0.137
    assert run.sampled == 14
    np.testing.assert_allclose(run.a, exact.a)
    np.testing.assert_allclose(run.work, exact.work, atol=2e-6)


# -- statuses --------------------------------------------------------------------------------------------------------


@BOTH
def test_divergence_names_the_rate(in_python):
    system = setup("double_pendulum")
    system.v[1] = 1e80
    run = prepare(system, ExplicitRungeKutta(step=0.1), 1.0, in_python=in_python)
    status = run.start() or run.advance(100)
    assert status == RuntimeStatus.NOT_FINITE
    assert run.where in (0, 1)


@BOTH
def test_an_unstable_step_ends_as_not_finite(in_python):
    run = prepare(setup("spring", k=1e9), ExplicitRungeKutta(step=1e-2), 10.0, in_python=in_python)
    assert run.start() == RuntimeStatus.OK
    assert run.advance(10**5) == RuntimeStatus.NOT_FINITE
    assert run.where == 0
    assert np.all(np.isfinite(run.q))


@BOTH
def test_newton_gives_up_on_a_step_that_is_too_large(in_python):
    system = setup("four_bar")
    run = prepare(system, GeneralizedAlpha(step=5.0), 20.0, in_python=in_python)
    assert run.start() == RuntimeStatus.OK
    assert run.advance(100) == RuntimeStatus.NO_CONVERGENCE


@BOTH
def test_an_adaptive_run_shrinks_its_step_instead(in_python):
    run = prepare(setup("four_bar"), GeneralizedAlpha(rtol=1e-3, max_step=5.0), 0.1, in_python=in_python)
    assert run.start() == RuntimeStatus.OK
    assert run.advance(1000) == RuntimeStatus.OK


@BOTH
def test_a_step_below_the_smallest_is_told(in_python):
    """A jump that no stop announces takes ever smaller steps."""
    run = prepare(setup("pushed"), ExplicitRungeKutta(), 1.0, in_python=in_python, min_step=5e-3)
    assert run.start() == RuntimeStatus.OK
    assert run.advance(10**6) == RuntimeStatus.STEP_TOO_SMALL
    assert run.t == pytest.approx(0.35, abs=0.02)


@BOTH
def test_a_massless_coordinate_is_singular_from_the_start(in_python):
    run = prepare(setup("massless"), ExplicitRungeKutta(), 1.0, in_python=in_python)
    assert run.start() == RuntimeStatus.SINGULAR


@pytest.mark.parametrize("method", ["explicit", "implicit", "generalized_alpha"])
@BOTH
def test_a_drive_beyond_the_reach_of_the_mechanism_ends_the_run(method, in_python):
    """The rocker is driven further than the loop can follow; the run stops before, and says so."""
    run = prepare(setup("overdriven"), METHODS[method](rtol=1e-4), 5.0, in_python=in_python)
    assert run.start() == RuntimeStatus.OK
    status = RuntimeStatus(run.advance(10**5))
    assert status not in (RuntimeStatus.OK, RuntimeStatus.MAX_STEPS, RuntimeStatus.POSITION_JUMPS)
    assert 0 < run.t < 5
    assert system_violation(run) < 1e-10
    assert len(status.meaning) > 20


def system_violation(run):
    engine = getattr(run, "engine", None) or run._engine
    return np.abs(engine.constraints(run.t, run.q, run.v)[0]).max()


def test_the_loop_in_c_is_chosen_for_compiled_engines():
    assert not isinstance(make_run(setup("held").engine, ExplicitRungeKutta()), PythonRun)
    assert isinstance(make_run(setup("held", interpreted=True).engine, ExplicitRungeKutta()), PythonRun)
