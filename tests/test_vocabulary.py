"""One vocabulary: names are the same in Python, in model files and on the command line, and errors about
words of other programs give ours."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

import pliant
from pliant import cli
from pliant.analysis.base import analysis as analysis_class
from pliant.analysis.base import analysis_of
from pliant.language.base import read_errors

VERBS = {
    "equilibrium": (pliant.equilibrium, {"timeout", "on_failure", "out"}),
    "equilibria": (pliant.equilibria, {"timeout", "on_failure", "out"}),
    "modes": (pliant.modes, {"timeout", "on_failure", "out"}),
    "linearize": (pliant.linearize, {"timeout", "on_failure", "out"}),
    "simulate": (pliant.simulate, {"events", "mid_step", "progress", "out", "timeout", "on_failure"}),
    "path": (pliant.continuation, {"timeout", "on_failure", "out"}),
}
"""Function, and what only Python can give."""

ONLY_COMMANDS = {"path": {"point", "axes", "plot"}}
COMMON = {"model", "set", "rod", "variant", "folder", "inputs", "out", "report", "json", "timeout"}

OSCILLATOR = """
pliant: 1
parameters: {push: {value: 0 N, input: true}}
bodies: {block: {mass: 1 kg}}
joints: {slide: {type: prismatic, child: block, axis: x, displacement: {spring: 25 N/m, damper: 0.1, input: =push}}}
outputs: {place: {coordinate: slide}}
"""

FLYING = """
pliant: 1
bodies: {stone: {mass: 1 kg, shape: {type: box, size: [10 cm, 20 cm, 30 cm]}}}
joints: {flight: {type: free, child: stone}}
"""


@pytest.fixture(scope="module")
def slider():
    return pliant.derive(pliant.load_text(OSCILLATOR))


@pytest.fixture(scope="module")
def stone():
    return pliant.derive(pliant.load_text(FLYING))


# -- the same names on three surfaces ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VERBS)
def test_functions_have_the_names_of_the_schema(name):
    function, further = VERBS[name]
    found = set(inspect.signature(function).parameters)
    assert found == set(analysis_class(name).options()) | {"eqs", "inputs", "parameters"} | further


@pytest.mark.parametrize("name", VERBS)
def test_commands_have_the_names_of_the_schema(name):
    schema = analysis_class(name)
    command = cli.command(name)
    found = {parameter.name: parameter for parameter in command.params}
    plot = {"plot"} if schema.result.plots else set()
    assert set(found) - {"help"} == set(schema.options()) | COMMON | plot | ONLY_COMMANDS.get(name, set())
    for field in schema.options():
        if field in schema.flags:
            assert schema.flags[field] in found[field].opts
        else:
            assert f"--{field.replace('_', '-')}" in found[field].opts
        assert schema.field_texts()[field]
        assert found[field].help


# -- words of other programs -------------------------------------------------------------------------------------------

OF_OTHERS = {"dt": "step", "t_end": "until", "x0": "start", "t_eval": "save_at", "solver": "method", "tol": "rtol"}


@pytest.mark.parametrize(("word", "own"), OF_OTHERS.items())
def test_words_of_other_programs_are_answered_with_ours(slider, capsys, tmp_path, word, own):
    with pytest.raises(pliant.ArgumentError, match=f"no argument '{word}'.*write `{own}`"):
        pliant.simulate(slider, **{word: 1.0})
    model = tmp_path / "model.yaml"
    model.write_text(OSCILLATOR + f"analyses: [{{simulate: {{until: 1 s, {word}: 1}}}}]\n")
    assert re.search(f"unknown key '{word}'.*write `{own}`", str(pliant.check(model)[0]))
    option = f"--{word.replace('_', '-')}"
    assert cli.run(["simulate", "pendulum", option, "1"]) == 2
    error = capsys.readouterr().err
    assert f"no such option: {option}" in error
    assert f"write --{own.replace('_', '-')}" in error


def test_unknown_names_are_refused_with_the_nearest(slider):
    with pytest.raises(pliant.ArgumentError, match=r"no argument 'save_evry'.*did you mean 'save_every'"):
        pliant.simulate(slider, 1.0, save_evry=0.1)


def test_unknown_states_and_words_for_truth_values_are_refused(slider, capsys):
    with pytest.raises(pliant.ArgumentError, match="at: expected initial or equilibrium, got 'start'"):
        pliant.modes(slider, at="start")
    assert cli.run(["picture", "pendulum", "--out", "x.png", "--at", "start"]) == 2
    assert "write --at initial" in capsys.readouterr().err
    with pytest.raises(ValidationError) as caught:
        analysis_class("simulate").of_file({"until": 1, "controllers": "off"})
    assert [x[1:] for x in read_errors(caught.value)] == [("expected true or false, got 'off'", "write false")]


# -- the same numbers from all of them ---------------------------------------------------------------------------------


def test_model_files_and_python_do_the_same(slider):
    text = "{until: 0.5 s, begin: 100 ms, start: {slide: 0.3, d(slide)/dt: 1}, method: explicit, step: 1 ms, "
    text += "save_at: [0.2, 500 ms]}"
    spec = pliant.load_text(OSCILLATOR + f"analyses: [simulate: {text}]\n")
    (analysis,) = spec.analyses
    written = pliant.simulate(slider, **analysis_of(analysis).in_si(slider).given())
    given = pliant.simulate(
        slider,
        0.5,
        begin=0.1,
        start={"slide": 0.3, "d(slide)/dt": 1.0},
        method="explicit",
        step=1e-3,
        save_at=[0.2, 0.5],
    )
    np.testing.assert_array_equal(written.q, given.q)
    np.testing.assert_array_equal(written.time, [0.2, 0.5])
    method = pliant.ExplicitRungeKutta(step=1e-3)
    start = pliant.State(np.array([0.3]), np.array([1.0]))
    by_object = pliant.simulate(slider, 0.5, begin=0.1, start=start, method=method, save_at=[0.2, 0.5])
    np.testing.assert_array_equal(by_object.q, given.q)


def test_a_path_may_be_listed_in_a_model_file(capsys, tmp_path):
    model = tmp_path / "robot.yaml"
    model.write_text(OSCILLATOR + "analyses: [path: {parameter: push, to: 5 N}]\n")
    assert cli.run(["run", str(model), "--out", str(tmp_path / "out")]) == 0
    assert "'push' reached 5" in capsys.readouterr().out
    assert pliant.load_result(tmp_path / "out" / "1_path.nc")["slide"][-1] == pytest.approx(0.2)


def test_states_between_steps_are_interpolated(slider):
    options = {"method": "explicit", "step": 0.01, "start": {"slide": 0.3}, "rtol": None}
    exact = pliant.simulate(slider, 0.1, save_at=[0.0333], **options)
    between = pliant.simulate(slider, 0.1, save_at=[0.0333], save_between=True, **options)
    assert between.timing.steps == 10
    assert exact.timing.steps > 10
    assert between.q[0, 0] == pytest.approx(exact.q[0, 0], abs=1e-7)
    with pytest.raises(pliant.ArgumentError, match="save_every and save_at"):
        pliant.simulate(slider, 0.1, save_at=[0.1], save_every=0.1)


def test_the_equilibrium_is_a_state_by_name(slider):
    rest = pliant.equilibrium(slider, inputs={"push": 5.0})
    run = pliant.simulate(slider, 0.1, start="equilibrium", inputs={"push": 5.0})
    np.testing.assert_allclose(run.q[0], rest.q)
    about = pliant.linearize(slider, at="equilibrium", inputs={"push": 5.0}, input_names="push", output_names="place")
    np.testing.assert_allclose(about.state.q, rest.q)
    assert pliant.modes(slider, at="equilibrium", inputs={"push": 5.0}).state.q == pytest.approx(rest.q)
    with pytest.raises(pliant.ArgumentError, match="did you mean 'place'"):
        pliant.linearize(slider, output_names=["plaice"])


# -- states ------------------------------------------------------------------------------------------------------------


def test_a_state_is_told_by_names(slider, stone):
    state = slider.state({"slide": 0.2, "d(slide)/dt": -1.0})
    assert (state.q.tolist(), state.v.tolist()) == ([0.2], [-1.0])
    turning = stone.state({"flight.z": 1.0, "flight.orientation.wx": 2.0})
    assert turning.q[stone.coordinates.index("flight.z")] == 1.0
    assert turning.v[stone.rates.index("flight.orientation.wx")] == 2.0
    with pytest.raises(pliant.ArgumentError, match="did you mean 'slide'"):
        pliant.simulate(slider, 0.1, start={"slied": 0.2})
    with pytest.raises(pliant.ArgumentError, match="is a free rotation, not one number"):
        stone.state({"flight.orientation": 0.2})
    with pytest.raises(pliant.ArgumentError, match=r"component of a quaternion.*give all of"):
        stone.state({"flight.orientation.qx": 0.2})
    parts = dict(zip(("qw", "qx", "qy", "qz"), (0.5, 0.5, 0.5, 0.5), strict=True))
    turned = stone.state({f"flight.orientation.{k}": x for k, x in parts.items()})
    np.testing.assert_allclose(stone.frame("stone", turned).rotation, [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-12)
    with pytest.raises(pliant.ArgumentError, match="unit quaternion"):
        stone.state({f"flight.orientation.{k}": 2 * x for k, x in parts.items()})


def test_functions_of_the_state_take_a_state(slider):
    state = pliant.State(np.array([0.2]), np.array([-1.0]), 3.0)
    q, v = state
    a = np.array([0.5])
    assert np.all(slider.mass_matrix(state).toarray() == slider.mass_matrix(q).toarray())
    for name in ("bias", "forward_dynamics", "input_derivative"):
        np.testing.assert_array_equal(getattr(slider, name)(state)[0], getattr(slider, name)(q, v, t=3.0)[0])
    for name in ("inverse_dynamics", "parameter_derivative"):
        np.testing.assert_array_equal(getattr(slider, name)(state, a=a), getattr(slider, name)(q, v, a, t=3.0))
    assert slider.energy(state) == slider.energy(q, v, t=3.0)
    assert slider.forces(state).keys() == slider.forces(q, v).keys()
    assert slider.constraints(state).names == ()
    np.testing.assert_array_equal(slider.frame("block", state).velocity, slider.frame("block", q, v).velocity)
    assert slider.frames(q)["block"].velocity is None
    np.testing.assert_array_equal(slider.frame_jacobian("block", state), slider.frame_jacobian("block", q))
    np.testing.assert_array_equal(
        slider.linearization(state).stiffness.toarray(), slider.linearization(q, v, t=3.0).stiffness.toarray()
    )
    assert pliant.required_inputs(slider, state, a=a).inputs == pliant.required_inputs(slider, q, v, a).inputs
    np.testing.assert_array_equal(
        pliant.forward_kinematics(slider, "block", state).position, slider.frame("block", q).position
    )
    assert pliant.manipulability(slider, "block", state).measure == pliant.manipulability(slider, "block", q).measure
    rest = pliant.equilibrium(slider)
    np.testing.assert_allclose(slider.forward_dynamics(rest)[0], 0, atol=1e-9)
    with pytest.raises(pliant.ArgumentError, match="a State has its rates"):
        slider.energy(state, v)


def test_a_state_brings_its_time_along():
    ramp = pliant.derive(
        pliant.load_text(OSCILLATOR + "inputs: {push: {ramp: {start: 0 s, end: 10 s, before: 0 N, after: 10 N}}}\n")
    )
    state = pliant.State(np.zeros(1), np.zeros(1), 5.0)
    assert ramp.forward_dynamics(state)[0] == pytest.approx([5.0])
    assert ramp.forward_dynamics(state, t=2.0)[0] == pytest.approx([2.0])


# -- outcomes and tracks -----------------------------------------------------------------------------------------------


def test_outcomes_are_one_enumeration(slider, tmp_path):
    run, rest = pliant.simulate(slider, 0.1), pliant.equilibrium(slider)
    path = pliant.continuation(slider, parameter="push", to=1.0)
    assert [run.status, rest.status, path.status] == ["completed", "converged", "completed"]
    assert all(isinstance(x.status, pliant.Status) for x in (run, rest, path))
    run.save(tmp_path / "run.nc")
    path.save(tmp_path / "path.nc")
    assert pliant.load_result(tmp_path / "run.nc").status is pliant.Status.COMPLETED
    assert pliant.load_result(tmp_path / "path.nc").status is pliant.Status.COMPLETED
    assert f"{run.status}" == "completed"


def test_everything_over_time_is_a_track(slider, stone, tmp_path):
    run = pliant.simulate(slider, 1.0, start={"slide": 0.3}, inputs={"push": 2.0})
    run.save(tmp_path / "run.nc")
    for found in (run, pliant.load_result(tmp_path / "run.nc")):
        tracks = [found[name] for name in ("slide", "d(slide)/dt", "block", "place", "push")]
        assert all(isinstance(x, pliant.Track) and len(x.time) == len(x) == 201 for x in tracks)
        assert [x.kind for x in tracks] == ["coordinate", "rate", "frame", "output", "input"]
        assert [x.unit for x in tracks] == ["m", "m/s", "m", "m", "N"]
        assert np.all(found["push"].values == 2.0)
    slide = run["slide"]
    np.testing.assert_array_equal(np.asarray(slide), run.q[:, 0])
    np.testing.assert_array_equal(slide.rate, run["d(slide)/dt"])
    np.testing.assert_array_equal(slide.acceleration, run["d(slide)/dt"].acceleration)
    np.testing.assert_array_equal(2 * slide - run["place"], slide.values)
    assert slide[-1] == slide.values[-1]
    assert np.max(slide) == slide.max() == slide.values.max()
    assert np.any(slide > 0.1)
    with pytest.raises(AttributeError, match="'slide' has time, values, unit, rate, acceleration, but no 'position'"):
        slide.position  # noqa: B018
    with pytest.raises(AttributeError, match="no 'value'; did you mean 'values'"):
        slide.value  # noqa: B018
    with pytest.raises(KeyError, match="did you mean 'slide'"):
        run["slied"]
    flight = pliant.simulate(stone, 0.5, start={"flight.orientation.wz": 1.0})
    frame = flight["stone"]
    assert frame.rotation.shape == (201, 3, 3)
    np.testing.assert_allclose(frame.rotation[-1], stone.frame("stone", flight.q[-1]).rotation, atol=1e-12)
    np.testing.assert_array_equal(frame, frame.position)
    assert flight["flight.orientation.wz"].unit == "rad/s"
    assert not hasattr(flight["flight.orientation.qw"], "rate")


# -- wording -----------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[1]
PHRASES = (
    "anew", "are said", "are told", "as a share of", "as shares of", "asked for", "asks for", "at hand",
    "cannot tell", "for want of", "found again", "go along", "goes along", "goes on", "halved in on", "has served",
    "held against", "in good order", "in play", "is said", "is told", "let go", "looked for", "looks for",
    "made again", "mended", "nobody", "on and on", "pose at rest", "poses at rest", "put in force",
    "robots of one kind", "said once", "say nothing", "says nothing", "says so", "says what", "somebody", "stands in",
    "the way back", "to the bit", "truth value", "truth values", "whoever", "without a word", "worked out",
    "works out",
)  # fmt: skip
"""Phrases of translated English that documentation, messages, docstrings and comments do not use."""
WORDING = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b".replace(" ", r"[\s#*/]+"))


def phrases_in(text: str) -> list[str]:
    return [f"{text.count(chr(10), 0, found.start()) + 1}: {found[0]}" for found in WORDING.finditer(text)]


def test_texts_use_plain_technical_english():
    sources = [x for x in (ROOT / "src" / "pliant").rglob("*") if x.suffix in (".py", ".c", ".h", ".yaml")]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    scripts = [x for name in ("benchmarks", "docs", "examples", "tests", "tools") for x in (ROOT / name).rglob("*.py")]
    assert len(sources) > 400
    assert len(pages) > 15
    assert len(scripts) > 300
    texts = [x for x in (*pages, *sources, *scripts) if x != Path(__file__)]
    assert [f"{x}:{line}" for x in texts for line in phrases_in(x.read_text(encoding="utf-8"))] == []


def test_phrases_are_found_across_lines():
    assert phrases_in("one\n# values that were asked\n# for\n") == ["2: asked\n# for"]
    assert phrases_in("a task goes one step further") == []
    assert phrases_in("an error, as a\n * share of the size") == ["1: as a\n * share of"]
