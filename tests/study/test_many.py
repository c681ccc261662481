"""Many analyses are bitwise identical to single ones, on any number of threads and on executors."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import pliant
from pliant import ArgumentError
from pliant.study.many import LARGEST_TASK, _TaskSize


@pytest.fixture(scope="module")
def arm():
    return pliant.derive("stiff_flop")


CASES = pliant.cases(
    {
        "youngs_modulus": "80:200 kPa",
        "length": "40:50 mm",
        "chamber_radius": "2:3 mm",
        "p1": "0:30 kPa",
        "p2": "0:30 kPa",
    },
    "sobol:24",
)


def single(eqs, case, **options):
    inputs = {name: case[name] for name in case if name in eqs.inputs}
    parameters = {name: case[name] for name in case if name in eqs.parameters}
    return pliant.simulate(eqs, parameters=parameters, inputs=inputs, **options)


@pytest.mark.parametrize("workers", [1, 2])
def test_runs_are_those_of_simulate_to_the_bit(arm, workers):
    found = pliant.simulate_many(
        arm, CASES, 0.5, workers=workers, keep=("q", "v", "outputs", "kinetic", "frame_position")
    )
    for k in (0, 7, 23):
        run = single(arm, CASES[k], until=0.5)
        assert np.array_equal(found.q.values[k], run.q)
        assert np.array_equal(found.v.values[k], run.v)
        assert np.array_equal(found["output.tip"].values[k], run["tip"].values)
        assert np.array_equal(found["kinetic"].values[k], run.recorded["kinetic"])
        assert np.array_equal(found["frame_position"].values[k], run.recorded["frame_position"])
    assert list(found.status.values) == ["completed"] * 24
    assert found.youngs_modulus.values == pytest.approx([row["youngs_modulus"] for row in CASES])
    assert found.youngs_modulus.attrs["units"] == "Pa"
    assert found["output.tip"].attrs["units"] == "m"
    assert list(found.coordinate.values) == list(arm.coordinates)
    assert found.time.values[-1] == 0.5


def test_loops_starts_and_controllers():
    """Closed loops are closed, starts by name, and the model's controllers act, as in single runs."""
    loop = pliant.derive("four_bar")
    found = pliant.simulate_many(loop, [{"length2": 0.5, "q1": 0.3}, {"length2": 0.52}, {"d(q1)/dt": 2.0}], 0.2)
    runs = [
        pliant.simulate(loop, 0.2, parameters={"length2": 0.5}, start={"q1": 0.3}),
        pliant.simulate(loop, 0.2, parameters={"length2": 0.52}),
        pliant.simulate(loop, 0.2, start={"d(q1)/dt": 2.0}),
    ]
    assert all(np.array_equal(found.q.values[k], run.q) for k, run in enumerate(runs))
    swung = pliant.derive(pliant.load("cart_pole"))
    names = list(swung.parameters)[:1]
    held = pliant.simulate_many(swung, [{names[0]: swung.parameters[names[0]] * 1.1}], 0.3)
    run = pliant.simulate(swung, 0.3, parameters={names[0]: swung.parameters[names[0]] * 1.1})
    assert np.array_equal(held.q.values[0], run.q)


def test_inputs_over_time_and_texts_with_units(arm):
    given = [{"p1": lambda t: 2e4 * t, "length": "45 mm"}, {"p1": "20*t kPa"}, {"p1": ([0, 1], [0, 2e4])}]
    found = pliant.simulate_many(arm, given, 0.2)
    for k, (value, length) in enumerate([(lambda t: 2e4 * t, 0.045), ("20*t kPa", None), (([0, 1], [0, 2e4]), None)]):
        run = pliant.simulate(arm, 0.2, inputs={"p1": value}, parameters=None if length is None else {"length": length})
        assert np.array_equal(found.q.values[k], run.q)


def test_a_case_that_fails_keeps_its_reason_and_ends_nothing(arm):
    given = [
        {"length": 0.045},
        {"length": -1.0},
        {"spread": 5.0},
        {"length": 0.046, "arm.stretch[1]": -2.0},
        {"length": 0.047},
    ]
    found = pliant.simulate_many(arm, given, 0.1, workers=2)
    assert list(found.status.values) == ["completed", "failed", "failed", "failed", "completed"]
    for k, case in enumerate(given):
        if found.status.values[k] != "failed":
            continue
        start = {name: x for name, x in case.items() if name in arm.coordinates}
        rest = {name: x for name, x in case.items() if name not in arm.coordinates}
        with pytest.raises((ValueError, RuntimeError)) as error:
            pliant.simulate(arm, 0.1, parameters=rest, start=start or None)
        assert found.message.values[k] == str(error.value)
        assert np.all(np.isnan(found.q.values[k]))
    assert np.all(np.isfinite(found.q.values[[0, 4]]))


@pytest.mark.slow
def test_structures_are_derived_once_and_lie_side_by_side(monkeypatch):
    from pliant.study import structures

    derived = []
    plain = structures.derive
    monkeypatch.setattr(structures, "derive", lambda robot: derived.append(robot) or plain(robot))
    found = pliant.simulate_many("stiff_flop", {"p1": "0:20:3 kPa", "arm": ["pcs:1", "pcs:2"]}, 0.1)
    assert len(derived) == 3  # the model as it is, and two others
    for k, case in enumerate(pliant.cases({"p1": "0:20:3 kPa", "arm": ["pcs:1", "pcs:2"]})):
        eqs = pliant.derive(pliant.load("stiff_flop").with_rod("arm", case["arm"]))
        run = pliant.simulate(eqs, 0.1, inputs={"p1": case["p1"]})
        own = found.isel(case=k).sel(coordinate=list(eqs.coordinates))
        assert np.array_equal(own.q.values, run.q)
        others = [x for x in found.coordinate.values if x not in eqs.coordinates]
        assert np.all(np.isnan(found.isel(case=k).sel(coordinate=others).q.values))


def test_variants_and_counts_of_parts():
    found = pliant.equilibrium_many("stiff_flop", {"variant": ["paper_table", "loaded"], "p1": "0, 20 kPa"})
    for k, (variant, p1) in enumerate([("paper_table", 0.0), ("paper_table", 2e4), ("loaded", 0.0), ("loaded", 2e4)]):
        rest = pliant.equilibrium(pliant.derive(f"stiff_flop@{variant}"), inputs={"p1": p1})
        assert found["output.tip"].values[k] == pytest.approx(rest.outputs["tip"], abs=0)
    for robot in ("spring_mass_chain", pliant.load("spring_mass_chain")):
        counts = pliant.modes_many(robot, {"count": [3, 5]})
        assert [int(np.isfinite(x).sum()) for x in counts.frequencies.values] == [3, 5]


def test_rests_modes_and_linear_systems_are_the_single_ones(arm):
    given = [{"p1": 1e4, "length": 0.045}, {"p1": 2e4}, {"length": -1.0}]
    rests, modes, systems = (
        pliant.equilibrium_many(arm, given),
        pliant.modes_many(arm, given, count=4),
        pliant.linearize_many(arm, given, output_names=["tip"]),
    )
    for k, case in enumerate(given[:2]):
        here = arm.at(inputs={"p1": case["p1"]}, parameters={x: case[x] for x in case if x != "p1"})
        rest, at, system = (
            pliant.equilibrium(here),
            pliant.modes(here, count=4),
            pliant.linearize(here, output_names=["tip"]),
        )
        assert np.array_equal(rests.q.values[k], rest.q)
        assert rests.stable.values[k] == 1
        assert np.array_equal(modes.frequencies.values[k], at.frequencies)
        assert np.array_equal(modes.shapes_real.values[k], at.shapes.real)
        for name in "ABCD":
            assert np.array_equal(systems[name].values[k], getattr(system, name))
        assert list(systems.state.values) == list(system.states)
    for found in (rests, modes, systems):
        assert found.status.values[2] == "failed"
        assert "length must be above zero" in found.message.values[2]


def test_components_of_outputs_have_names(arm):
    """In studies and paths those of a single run."""
    cases, names = {"p1": [0.0, 1e4]}, list(pliant.simulate(arm, 0.01).dataset["output.tip.part"].values)
    assert names == ["x", "y", "z"]
    runs, rests = pliant.simulate_many(arm, cases, 0.01), pliant.equilibrium_many(arm, cases)
    for found in (runs, rests, pliant.continuation(arm, parameter="p1", to=1e4).recorded.dataset):
        assert list(found["output.tip.part"].values) == names
    assert rests["output.tip"].sel({"output.tip.part": "y"}).shape == (2,)


@pytest.mark.parametrize(
    ("cases", "options", "words"),
    [
        ([{"lenght": 1.0}], {}, "did you mean 'length'"),
        ([{"length": "2 kPa"}], {}, "expected a length"),
        ({"length": "1:3:2 kPa"}, {}, "the values of 'length' are in"),
        ([{"area": 1.0}], {}, "computed from others"),
        ([{"arm": 3.0}], {}, "is a rod"),
        ([{"arm": "pcz:3"}], {}, "unknown rod model"),
        ([{"variant": "loaded"}], {}, "no other variants"),
        ([3], {}, "a case cannot be"),
        ("length", {}, "cases cannot be"),
        ([{}], {"keep": ("qq",)}, "cannot keep 'qq'"),
        ([{}], {"untill": 3}, "no argument 'untill'"),
        ([{}], {"save_every": -1.0}, "save_every"),
        ([{}], {"workers": 0}, "workers"),
        ([{}], {"executor": 3}, "an executor cannot be"),
    ],
)
def test_what_would_fail_in_all_cases_is_refused_at_once(arm, cases, options, words):
    with pytest.raises((ArgumentError, pliant.SpecError)) as error:
        pliant.simulate_many(arm, cases, 0.1, **options)
    assert words in str(error.value)


def test_progress_says_how_far_it_is(arm):
    seen = []
    pliant.simulate_many(
        arm, [{}, {"length": -1.0}, {}], 0.05, workers=1, progress=lambda x: seen.append((x.done, x.failed, str(x)))
    )
    assert [x[:2] for x in seen] == [(1, 0), (2, 1), (3, 1)]
    assert "1 of 3 cases" in seen[0][2]
    assert "left" in seen[0][2]
    assert "(1 failed)" in seen[2][2]


def test_ctrl_c_returns_what_there_is(arm):
    def stop(pulse):
        if pulse.done == 2:
            raise KeyboardInterrupt

    found = pliant.simulate_many(arm, [{}] * 6, 0.05, workers=1, progress=stop)
    assert list(found.status.values) == ["completed", "completed", *["not run"] * 4]
    assert found.message.values[-1] == "stopped by Ctrl-C"


def test_executors_give_the_same_bits(arm):
    expected = pliant.simulate_many(arm, CASES[:6], 0.1)
    with ThreadPoolExecutor(2) as threads:
        assert expected.identical(pliant.simulate_many(arm, CASES[:6], 0.1, executor=threads))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        assert expected.identical(pliant.simulate_many(arm, CASES[:6], 0.1, executor=processes))


def test_tasks_take_about_a_second():
    pace = _TaskSize(100_000, 2, now=0.0)
    assert pace.size() == 1
    pace.note(1, 0.01, now=0.005)
    assert pace.size() == 100
    pace.note(100, 1e-6, now=0.005)
    assert 100 < pace.size() <= LARGEST_TASK
    pace.left = 80
    assert [pace.size() for _ in range(3)] == [10, 8, 7]


def test_tasks_are_few_where_each_is_a_job_that_has_to_be_started():
    """Two workers, 5 s for a job, 50 ms for a case."""
    pace, now, tasks = _TaskSize(64, 2, now=0.0), 0.0, []
    while pace.left > 0:
        pair = [pace.size() for _ in range(2) if pace.left > 0]
        now += 5 + 0.05 * max(pair)
        for size in pair:
            pace.note(size, 0.05 * size, now)
        tasks += pair
    assert tasks == [1, 1, 62]


class Later:
    """A job like submitit's: it is polled, and is not a future of Python."""

    def __init__(self, work):
        self.work, self.asked = work, 0

    def done(self):
        self.asked += 1
        return self.asked > 1

    def result(self):
        return self.work()

    def cancel(self):
        pass


class Unreliable:
    """Loses every third task, once or always."""

    def __init__(self, *, always):
        self.always, self.sent, self.lost = always, 0, 0

    def submit(self, function, *arguments):
        self.sent += 1
        number = self.sent

        def work():
            if number % 3 == 0 or (self.always and number > 3):
                self.lost += 1
                raise OSError("the worker is gone")
            return function(*arguments)

        return Later(work)


def test_lost_tasks_are_given_again(arm):
    executor = Unreliable(always=False)
    found = pliant.simulate_many(arm, CASES[:9], 0.05, executor=executor, workers=1)
    assert executor.lost > 0
    assert found.identical(pliant.simulate_many(arm, CASES[:9], 0.05))


def test_an_executor_that_loses_everything_is_said(arm):
    with pytest.raises(RuntimeError, match="the executor lost a task: OSError: the worker is gone"):
        pliant.simulate_many(arm, CASES[:9], 0.05, executor=Unreliable(always=True), workers=1)


@pytest.mark.parametrize("source", ["equations", "robot"])
def test_instances_of_a_repeated_rod_are_varied_together_and_singly(source):
    text = """
pliant: 1
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.5}}
sections: {cord: {shape: circle, radius: 4 mm}}
rods: {arm: {count: 2, length: 100 mm, section: cord, material: rubber, position: [=i*5 cm, 0, 0], model: {kind: pcs, elements: 2}}}
outputs: {tip: {frame: "arm[1].tip"}, other: {frame: "arm[2].tip"}}
"""
    robot = pliant.load_text(text)
    given = robot if source == "robot" else pliant.derive(robot)
    found = pliant.equilibrium_many(given, [{}, {"arm": "pcs:3"}, {"arm[2]": "pcs:3"}])
    tip, other = found["output.tip"].values[:, 2], found["output.other"].values[:, 2]
    assert tip[0] == pytest.approx(other[0], rel=1e-9)
    assert tip[1] == pytest.approx(other[1], rel=1e-9)
    assert tip[2] == pytest.approx(tip[0], rel=1e-9)
    assert other[2] == pytest.approx(other[1], rel=1e-9)
