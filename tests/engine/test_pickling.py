"""Equations, results and controllers pickled and copied after use: what comes back gives the same answers, here and elsewhere."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest

import pliant
from pliant.analysis.equilibrium import Equilibrium
from pliant.analysis.linearize import StateSpace
from pliant.analysis.modes import ModesResult
from pliant.analysis.motion.sampled_control import model_controllers
from pliant.control import (
    ConstraintControl,
    Coordinates,
    ExtendedKalman,
    FramePosition,
    Goal,
    Limits,
    Pid,
    PidControl,
    Predictive,
    Reference,
    Several,
    StateFeedback,
    StaticControl,
    Tracking,
    discretize,
    kalman,
    lqr,
    luenberger,
    plan,
    reduce,
)
from pliant.engine.model import model as models
from pliant.language.time_series import TimeSeries, interpolated

ROBOTS = ("four_bar", "tumbling_body", "three_section_arm", "trunk", "cloth")
"""A loop, a free body, arcs with chambers, tendons, and a mesh."""


def through_pickle(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


def forgotten(thing: Any) -> Any:
    """What another process would make of it: no model is known there."""
    data, known = pickle.dumps(thing), models._known
    try:
        models._known = WeakValueDictionary()
        return pickle.loads(data)
    finally:
        models._known = known


WAYS = {"pickle": through_pickle, "elsewhere": forgotten, "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return WAYS[request.param]


def answers(eqs: pliant.Equations, seed: int = 0) -> list[np.ndarray]:
    """Evaluations of every kind in a random state near the start."""
    rng = np.random.default_rng(seed)
    q, v = eqs.initial_state()
    q, v = eqs.binding.increment(q, 0.01 * rng.normal(size=len(v))), 0.1 * rng.normal(size=len(v))
    a, multipliers = eqs.forward_dynamics(q, v, t=0.05)
    linear = eqs.linearization(q, v, t=0.05)
    energy = eqs.energy(q, v, t=0.05)
    frame = eqs.frame(eqs.frame_names[-1], q, v)
    parameters = np.array(list(eqs.parameters.values()))
    motion = (frame.position, frame.rotation, frame.velocity)
    tangents = (linear.stiffness.data, linear.damping.data, linear.mass.data)
    return [a, multipliers, *tangents, np.array([energy.total]), *eqs.binding.signals(0.05), *motion, parameters]


def assert_equal(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(x, y)


# -- equations -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ROBOTS)
def test_equations_that_were_used(robot: str, way: Callable[[Any], Any]) -> None:
    eqs = pliant.derive(robot)
    before = answers(eqs)
    other = way(eqs)
    assert_equal(answers(other), before)
    assert_equal(answers(eqs), before)
    for name in ("coordinates", "rates", "inputs", "constraint_names", "frame_names", "parameters"):
        assert getattr(other, name) == getattr(eqs, name)
    assert repr(other) == repr(eqs)


@pytest.mark.parametrize("robot", ["cart_pole", "stiff_flop"])
def test_equations_at_other_values(robot: str, way: Callable[[Any], Any]) -> None:
    eqs = pliant.derive(robot)
    name = next(iter(eqs.parameters))
    there = eqs.at(parameters={name: 1.1 * eqs.parameters[name]}, inputs={eqs.inputs[0]: 0.7})
    before = answers(there)
    other = way(there)
    assert_equal(answers(other), before)
    assert other.given_inputs == there.given_inputs
    assert other.given_parameters == there.given_parameters
    # and continues from there
    further = {"inputs": {eqs.inputs[-1]: 0.2}}
    assert_equal(answers(other.at(**further)), answers(there.at(**further)))
    assert not np.array_equal(answers(eqs)[0], before[0])


def test_values_outside_of_their_limits_stay(way: Callable[[Any], Any]) -> None:
    text = """
pliant: 1
parameters: {stiffness: {value: 100 N/m, minimum: 10 N/m, maximum: 1000 N/m}}
bodies: {b: {mass: 1 kg}}
joints: {j: {type: prismatic, axis: z, child: b, displacement: {spring: =stiffness, initial: 0.1}}}
"""
    eqs = pliant.derive(pliant.load_text(text)).at(parameters={"stiffness": 2000.0}, within_limits=False)
    assert_equal(answers(way(eqs)), answers(eqs))


def test_equations_driven_by_a_series(way: Callable[[Any], Any]) -> None:
    time = np.linspace(0, 0.5, 26)
    eqs = pliant.derive("cart_pole").at(inputs={"force": interpolated(time, np.sin(9 * time), "cubic")})
    run = pliant.simulate(eqs, 0.5)
    other = way(eqs)
    assert isinstance(other.given_inputs["force"], TimeSeries)
    assert_equal(answers(other), answers(eqs))
    np.testing.assert_array_equal(pliant.simulate(other, 0.5).q, run.q)
    assert np.ptp(run.q[:, 0]) > 1e-3


def test_what_comes_back_to_where_it_was_shares_the_program() -> None:
    eqs = pliant.derive("pendulum")
    assert through_pickle(eqs).binding.program is eqs.binding.program
    assert forgotten(eqs).binding.program is not eqs.binding.program


def test_a_structural_parameter_stays_structural(way: Callable[[Any], Any]) -> None:
    eqs = pliant.derive(pliant.load("spring_mass_chain", set={"count": 4}))
    other = way(eqs)
    assert other.rates == eqs.rates
    with pytest.raises(ValueError, match="'count' determines the number of parts"):
        other.at(parameters={"count": 7.0})


# -- what analyses return ------------------------------------------------------------------------------------------------


def numbers(found: Any) -> list[np.ndarray]:
    """What a result says, as numbers."""
    if isinstance(found, pliant.Result | pliant.Path):
        data = found.dataset
        return [data[name].values for name in sorted(map(str, data.data_vars)) if data[name].dtype.kind == "f"]
    if isinstance(found, Equilibrium):
        frames = [frame.position for frame in found.frames.values()]
        return [found.q, found.state.multipliers, *frames, *map(np.asarray, found.outputs.values())]
    if isinstance(found, ModesResult):
        return [found.frequencies, found.damping_ratios, found.shapes]
    assert isinstance(found, StateSpace)
    return [getattr(found, name) for name in "ABCD"]


def static_path(eqs: pliant.Equations) -> pliant.Path:
    name, value = next(iter(eqs.parameters.items()))
    return pliant.continuation(eqs, parameter=name, to=1.05 * value)


ANALYSES: dict[str, Callable[[pliant.Equations], Any]] = {
    "equilibrium": pliant.equilibrium,
    "modes": lambda eqs: pliant.modes(eqs, at=pliant.equilibrium(eqs)),
    "result": lambda eqs: pliant.simulate(eqs, 0.05),
    "state space": lambda eqs: pliant.linearize(eqs, at=pliant.equilibrium(eqs)),
    "path": static_path,
}


@pytest.fixture(scope="module", params=["four_bar", "stiff_flop"])
def eqs(request: pytest.FixtureRequest) -> pliant.Equations:
    return pliant.derive(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("analysis", ANALYSES)
def test_what_analyses_return(eqs: pliant.Equations, analysis: str, way: Callable[[Any], Any]) -> None:
    found = ANALYSES[analysis](eqs)
    shown = str(found)
    other = way(found)
    assert type(other) is type(found)
    assert numbers(found)
    assert_equal(numbers(other), numbers(found))
    assert str(other) == shown
    # and it serves: as a start, or in the next analysis
    if analysis == "equilibrium":
        runs = [pliant.simulate(eqs, 0.02, start=x) for x in (found, other)]
        np.testing.assert_array_equal(runs[1].q, runs[0].q)
    elif analysis == "result":
        runs = [pliant.simulate(eqs, 0.06, begin=0.05, start=x) for x in (found, other)]
        np.testing.assert_array_equal(runs[1].q, runs[0].q)
        np.testing.assert_array_equal(other.energy["total"].values, found.energy["total"].values)
    elif analysis == "path":
        assert len(other) == len(found)
        np.testing.assert_array_equal(other.value, found.value)


# -- controllers ---------------------------------------------------------------------------------------------------------

SAMPLE = 0.02
WEIGHTS: dict[str, Any] = {"states": [10.0, 50.0, 1.0, 1.0], "inputs": 0.1}
Closed = tuple[pliant.Equations, Any, pliant.State]


def upright() -> tuple[pliant.Equations, Any]:
    eqs = pliant.derive("cart_pole")
    return eqs, pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge"))


def leaning() -> pliant.State:
    return pliant.State(np.array([0.0, 0.1]), np.zeros(2))


def regulator() -> Closed:
    eqs, space = upright()
    limits = Limits(lower={"force": -10.0}, upper={"force": 10.0})
    return eqs, StateFeedback(eqs, lqr(discretize(space, SAMPLE), **WEIGHTS), limits=limits), leaning()


def with_kalman_filter() -> Closed:
    eqs, space = upright()
    seen = discretize(space.select(outputs=("cart", "pole")), SAMPLE)
    observer = kalman(seen, process=1e-6, inputs=1.0, outputs=1e-6)
    noise = {"cart": 1e-4, "pole": 1e-4}
    return eqs, StateFeedback(eqs, lqr(seen, **WEIGHTS), observer=observer, noise=noise, seed=4), leaning()


def with_luenberger_observer() -> Closed:
    eqs, space = upright()
    seen = discretize(space.select(outputs=("cart", "pole")), SAMPLE)
    observer = luenberger(seen, [0.5, 0.55, 0.6, 0.65])
    return eqs, StateFeedback(eqs, lqr(seen, **WEIGHTS), observer=observer), leaning()


def pid() -> Closed:
    eqs = pliant.derive("cart_pole")
    task, path = Coordinates(("rail",)), Reference.circle([0.0], [0.0], [0.1], 0.5)
    return eqs, PidControl(eqs, task, path, Pid(30.0, 8.0, 2.0), "none", sample_time=SAMPLE), leaning()


def constraint() -> Closed:
    eqs = pliant.derive("cart_pole")
    path = Reference.through([0.0, 0.2, 0.4], [[0.0], [0.02], [0.01]])
    feedback = Pid.critical(0.1)
    return eqs, ConstraintControl(eqs, Coordinates(("rail",)), path, feedback, sample_time=SAMPLE), leaning()


def statics() -> Closed:
    eqs = pliant.derive("stiff_flop")
    limits = Limits(lower=dict.fromkeys(eqs.inputs, 0.0), upper=dict.fromkeys(eqs.inputs, 2e5))
    task = Several((FramePosition("tip", "x"), FramePosition("tip", "y")))
    control = StaticControl(eqs, task, Reference.constant([0.004, -0.002]), limits=limits, integral=3.0)
    return eqs, control, pliant.equilibrium(eqs).state


def predictive() -> Closed:
    eqs = pliant.derive("cart_pole")
    limits = Limits(lower={"force": -3.0}, upper={"force": 3.0})
    reference = Reference.constant([0.1, 0.0])
    control = Predictive(eqs, ("cart", "pole"), reference, sample_time=0.04, horizon=10, change=1e-3, limits=limits)
    return eqs, control, leaning()


def tracking() -> Closed:
    eqs, space = upright()
    trajectory = plan(eqs, 0.4, Goal({"rail": 0.05}), start=leaning(), intervals=10)
    hold = lqr(discretize(space, SAMPLE), **WEIGHTS)
    return eqs, Tracking(eqs, trajectory, hold, sample_time=SAMPLE, **WEIGHTS), leaning()


def from_a_file() -> Closed:
    """A controller as a model file describes it, its path an expression of time."""
    control = "{type: constraint, coordinates: rail, path: =5 cm*sin(t/1 s), settling: 0.1 s, sample_time: 20 ms}"
    text = pliant.dump(pliant.load("cart_pole")) + f"control: {{follow: {control}}}\n"
    eqs = pliant.derive(pliant.load_text(text))
    return eqs, model_controllers(eqs)[0], leaning()


CONTROLLERS = (
    regulator,
    with_kalman_filter,
    with_luenberger_observer,
    pid,
    constraint,
    statics,
    predictive,
    tracking,
    from_a_file,
)


@pytest.fixture(scope="module", params=CONTROLLERS, ids=lambda make: make.__name__)
def closed(request: pytest.FixtureRequest) -> tuple[pliant.Equations, Any, pliant.State, pliant.Result]:
    eqs, controller, start = request.param()
    return eqs, controller, start, controlled(eqs, controller, start)


def controlled(eqs: pliant.Equations, controller: Any, start: pliant.State) -> pliant.Result:
    method = pliant.GeneralizedAlpha(step=0.005)
    return pliant.simulate(eqs, 0.2, start=start, controllers=controller, method=method)


@pytest.mark.slow
def test_a_controller_that_was_used(closed: Any, way: Callable[[Any], Any]) -> None:
    eqs, controller, start, run = closed
    other = way(controller)
    assert type(other) is type(controller)
    again = controlled(eqs, other, start)
    np.testing.assert_array_equal(again.q, run.q)
    for name in eqs.inputs:
        np.testing.assert_array_equal(again.inputs[name], run.inputs[name])
    assert max(np.ptp(run.inputs[name]) for name in eqs.inputs) > 0, "the controller does something"
    # together with the equations it was made for
    model, both = way((eqs, controller))
    np.testing.assert_array_equal(controlled(model, both, start).q, run.q)


def test_an_extended_kalman_filter_goes_on(way: Callable[[Any], Any]) -> None:
    eqs = pliant.derive("double_pendulum")
    output = next(name for name, x in pliant.equilibrium(eqs).outputs.items() if np.size(x) == 3)
    truth = pliant.simulate(eqs, 0.4, save_every=SAMPLE)
    wrong = pliant.State(truth.q[0] + [0.2, -0.2], truth.v[0])
    first = ExtendedKalman(eqs, (output,), wrong, SAMPLE, deviation=[0.3, 0.3, 1, 1], process=1e-6, noise=1e-6)
    for k in range(10):
        first.correct(truth[output].values[k], k * SAMPLE, {})
        first.predict(k * SAMPLE, {})
    filters = first, way(first)
    # in sequence: a shallow copy shares nothing that a step changes in place
    for one in filters:
        for k in range(10, 20):
            one.correct(truth[output].values[k], k * SAMPLE, {})
            one.predict(k * SAMPLE, {})
    np.testing.assert_array_equal(filters[1].state.q, filters[0].state.q)
    np.testing.assert_array_equal(filters[1].covariance, filters[0].covariance)


def test_designs_and_plans(way: Callable[[Any], Any]) -> None:
    _, space = upright()
    sampled = discretize(space, SAMPLE)
    found = [
        sampled,
        lqr(sampled, **WEIGHTS),
        reduce(space, keep=2),
        Goal({"rail": 0.0}),
        Limits(lower={"force": -1.0}),
    ]
    for thing in found:
        other = way(thing)
        assert type(other) is type(thing)
        assert repr(other) == repr(thing)


# -- fleets and products with Jacobians -----------------------------------------------------------------------------------


def test_a_fleet_that_was_used(way: Callable[[Any], Any]) -> None:
    eqs = pliant.derive("cart_pole")
    fleet = pliant.Fleet(eqs, 5, step=1e-3, inputs="force", parameters={"length": np.linspace(0.4, 0.6, 5)})
    fleet.step({"force": np.arange(5.0)}, 20)
    other = way(fleet)
    assert_equal([other.q, other.v, other.time, other.inputs], [fleet.q, fleet.v, fleet.time, fleet.inputs])
    before = fleet.q.copy()
    other.step(n=20)
    np.testing.assert_array_equal(fleet.q, before)  # its memory is its own
    fleet.step(n=20)
    assert_equal([other.q, *other.outputs().values()], [fleet.q, *fleet.outputs().values()])
    for one in (fleet, other):
        one.reset([1])
    np.testing.assert_array_equal(other.q, fleet.q)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"until": 0.05}, {"analysis": "equilibrium"}], ids=["motion", "rest"])
def test_products_with_jacobians(options: dict[str, Any], way: Callable[[Any], Any]) -> None:
    at = pliant.differentiable(pliant.derive("stiff_flop"), "tip", ["p1", "youngs_modulus"], **options).linearize()
    other = way(at)
    along, across = {"p1": 100.0}, {"tip": np.ones_like(at.outputs["tip"])}
    assert_equal([other.vjp(across)["p1"], other.outputs["tip"]], [at.vjp(across)["p1"], at.outputs["tip"]])
    np.testing.assert_array_equal(other.jvp(along)["tip"], at.jvp(along)["tip"])
    assert np.any(at.vjp(across)["p1"])


# -- other processes -----------------------------------------------------------------------------------------------------


def analyse(eqs: pliant.Equations) -> tuple[Any, Any, Any, pliant.Equations]:
    """What a worker does."""
    rest = pliant.equilibrium(eqs)
    return rest, pliant.modes(eqs, at=rest), pliant.simulate(eqs, 0.05), eqs


@pytest.mark.slow
def test_a_pool_of_processes_returns_what_is_found_here() -> None:
    soft = pliant.derive("stiff_flop")
    rising = interpolated(np.linspace(0, 1, 11), 1e4 * np.linspace(0, 1, 11) ** 2, "cubic")
    given = [pliant.derive("four_bar").at(parameters={"length2": 0.52}), soft.at(inputs={soft.inputs[0]: rising})]
    here = [analyse(eqs) for eqs in given]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        there = pool.map(analyse, given, chunksize=1)
    for eqs, ours, theirs in zip(given, here, there, strict=True):
        for x, y in zip(ours[:3], theirs[:3], strict=True):
            assert type(x) is type(y)
            assert_equal(numbers(y), numbers(x))
        back = theirs[3]
        assert_equal(answers(back), answers(eqs))
        assert back.binding.program is eqs.binding.program, "what was sent there is known here"
