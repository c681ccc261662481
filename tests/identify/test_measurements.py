"""Fits to several recordings, in motion and at rest, with priors, profiles and cross-validation."""

import json
from dataclasses import replace

import numpy as np
import pytest

from pliant import derive, equilibrium, load_text, simulate
from pliant.cli import run as command
from pliant.engine.model.recorded_inputs import recorded_inputs
from pliant.identify.fit import fit
from pliant.identify.measurement import Measurement, poses_at_rest, rest_sensitivity, why_not
from pliant.identify.recording import undriven
from pliant.language.arguments import ArgumentError
from pliant.language.recording import Recording, read_recording

CART = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters:
  stiffness: 30 N/m
  damping: 2 N*s/m
  hardening: 1 N/m^3
  zero: 0 mm
  push: {value: 0 N, input: true}
bodies: {cart: {mass: 1 kg, frames: {mark: {position: [=zero, 0, 0]}}}}
joints:
  rail: {type: prismatic, child: cart, axis: x,
         displacement: {spring: =stiffness + hardening*displacement^2, damper: =damping, input: =push}}
outputs: {mark: {frame: cart.mark, component: x}}
"""
LINEAR = CART.replace("=stiffness + hardening*displacement^2", "=stiffness")
COLUMNS = {"mark": ["x"]}


def poses(push, x, **options):
    time = np.arange(float(len(push)))
    columns = {"push": np.asarray(push, dtype=float), "x": np.asarray(x, dtype=float)}
    return Measurement(Recording("poses", time, columns), COLUMNS, rest_at=time, **options)


def motion(stiffness=50.0, damping=3.0):
    """An answer of the cart to a push."""
    time = np.linspace(0, 3, 151)
    push = 5 * np.sin(np.pi * time / 2) ** 2
    made = derive(load_text(LINEAR)).at(
        inputs={"push": (time, push, "cubic")}, parameters={"stiffness": stiffness, "damping": damping}
    )
    run = simulate(made, 3.0, rtol=1e-9, save_at=time)
    return Measurement(Recording("motion", time, {"push": push, "x": run["mark"].values.ravel()}), COLUMNS)


def test_motion_and_rest_together_find_what_each_alone_cannot():
    """Stiffness from poses, the place of the mark from both, damping from the motion; the mark was moved in between."""
    rests = poses([2.0, 5.0, 8.0], np.array([2.0, 5.0, 8.0]) / 50.0 + 4e-3, own=["zero"], label="still")
    found = fit(
        derive(load_text(LINEAR)), ["stiffness", "damping", "zero"], [motion(), rests], priors={"zero": (0.0, 0.01)}
    )
    assert found.derivatives == "exact"
    assert found.parameters["stiffness"] == pytest.approx(50.0, rel=1e-3)
    assert found.parameters["damping"] == pytest.approx(3.0, rel=1e-3)
    assert found.parameters["zero@still"] == pytest.approx(4e-3, rel=1e-2)
    assert found.parameters["zero"] == pytest.approx(0.0, abs=2e-5)
    assert [error.measurement for error in found.errors] == ["1", "still"]


def test_a_prior_and_data_are_weighed_as_gauss_has_it():
    """x = zero + push/stiffness with the stiffness held: the mean of measured and believed, by their variances."""
    rng = np.random.default_rng(1)
    x = 2.0 / 50.0 + 3e-3 + rng.normal(scale=1e-3, size=8)
    given = poses(np.full(8, 2.0), x, parameters={"stiffness": 50.0}, deviations={"mark": 1e-3})
    found = fit(derive(load_text(LINEAR)), ["zero"], given, priors={"zero": (0.0, 5e-4)})
    weights = np.array([8 / 1e-6, 1 / 25e-8])
    expected = weights @ [x.mean() - 0.04, 0.0] / weights.sum()
    assert found.parameters["zero"] == pytest.approx(expected, rel=1e-6)
    assert found.deviations["zero"] == pytest.approx(weights.sum() ** -0.5, rel=1e-6)


@pytest.mark.slow
def test_stated_deviations_are_those_of_repeated_fits():
    eqs = derive(load_text(LINEAR))
    push = np.linspace(1, 8, 8)
    rng = np.random.default_rng(5)
    found = []
    for _ in range(12):
        given = poses(push, push / 50.0 + 3e-3 + rng.normal(scale=1e-3, size=8))
        found.append(fit(eqs, ["stiffness", "zero"], given, priors={"zero": (0.0, 0.1)}))
    for name, true in {"stiffness": 50.0, "zero": 3e-3}.items():
        values = np.array([one.parameters[name] for one in found])
        assert values.std(ddof=1) == pytest.approx(np.mean([one.deviations[name] for one in found]), rel=0.5)
        assert np.mean([low < true < high for low, high in (one.intervals[name] for one in found)]) >= 0.8


def test_the_profile_of_a_linear_problem_is_its_parabola():
    push = np.linspace(1, 8, 12)
    x = push / 30.0 + 3e-3 + np.random.default_rng(2).normal(scale=1e-3, size=12)
    given = poses(push, x, deviations={"mark": 1e-3})
    found = fit(derive(load_text(LINEAR)), ["zero"], given, priors={"zero": (0.0, 1.0)})
    profile = found.profile("zero")
    off = (profile.values - found.parameters["zero"]) / found.deviations["zero"]
    np.testing.assert_allclose(profile.rise, off**2, atol=1e-6)
    np.testing.assert_allclose(profile.interval, found.intervals["zero"], rtol=1e-6)


def test_the_profile_of_a_curved_problem_is_not():
    """Compliance is what poses measure: intervals of the stiffness are those of its reciprocal, longer towards the stiff side."""
    push = np.array([0.5, 1.0, 1.5, 2.0])
    x = push / 50.0 + np.array([4e-3, -4e-3, 4e-3, -4e-3])
    found = fit(derive(load_text(LINEAR)), ["stiffness"], poses(push, x, deviations={"mark": 6e-3}))
    low, high = found.profile("stiffness").interval
    best, compliance = found.parameters["stiffness"], 6e-3 / np.linalg.norm(push)
    reach = (found.intervals["stiffness"][1] - best) / found.deviations["stiffness"]
    assert low == pytest.approx(1 / (1 / best + reach * compliance), rel=0.02)
    assert high == pytest.approx(1 / (1 / best - reach * compliance), rel=0.02)
    assert high - best > 1.2 * (best - low)


def test_cross_validation_picks_the_model_that_made_the_poses():
    rng = np.random.default_rng(3)
    push = np.linspace(1, 12, 16)
    spring = np.array([np.roots([400.0, 0, 40.0, -f]) for f in push])
    x = np.array([root[np.abs(root.imag) < 1e-9].real[0] for root in spring]) + rng.normal(scale=1e-3, size=16)
    given = poses(push, x)
    names = {LINEAR: ["stiffness"], CART: ["stiffness", "hardening"]}
    left_out = {
        text: fit(derive(load_text(text)), some, given, bounds={"hardening": (0.0, 1e4)} if len(some) > 1 else None)
        .cross_validate(4)
        for text, some in names.items()
    }  # fmt: skip
    assert left_out[CART].rms["mark"] < 1.5e-3 < 3e-3 < left_out[LINEAR].rms["mark"]
    assert len(left_out[CART].parameters) == 4
    assert left_out[CART].spread["stiffness"] < 3.0


def test_a_sample_that_is_left_out_does_not_help_to_predict_itself():
    """With one wild pose, its own fold is as wrong as it is wild, and groups keep what belongs together in one fold."""
    push = np.linspace(1, 8, 8)
    x = push / 50.0
    x[3] += 0.05
    found = fit(derive(load_text(LINEAR)), ["stiffness"], poses(push, x))
    far = found.cross_validate(8).distances["1"]["mark"]
    assert far[3] == pytest.approx(0.05, rel=0.02)
    together = found.cross_validate(2, groups=[np.arange(8) // 4])
    assert together.parameters[0] != together.parameters[1]
    with pytest.raises(ArgumentError, match="too few samples for 9 folds"):
        found.cross_validate(9)


def test_closed_loops_at_rest_have_exact_derivatives():
    eqs = derive("four_bar")
    names = ["length1", "length2", "length3"]
    assert why_not(eqs, ["pin"], at_rest=True) == ""
    found = rest_sensitivity(eqs, names, [0.0], outputs=["pin"])
    assert found is not None
    begin = found[0][0].q
    for k, name in enumerate(names):
        value = eqs.parameters[name]
        sides = [
            np.array(equilibrium(eqs, start=begin, parameters={name: value * s}).outputs["pin"])
            for s in (1 + 1e-4, 1 - 1e-4)
        ]
        expected = (sides[0] - sides[1]) / (2e-4 * value)
        assert np.abs(expected).max() > 0
        np.testing.assert_allclose(found[1][0, :, k], expected, atol=1e-6 * np.abs(expected).max())


def test_faults_are_said():
    eqs = derive(load_text(LINEAR))
    given = poses([1.0, 2.0], [0.02, 0.04])
    with pytest.raises(ArgumentError, match="must not start at zero"):
        fit(eqs, ["zero"], given)
    with pytest.raises(ArgumentError, match="deviation of a prior must be above zero"):
        fit(eqs, ["stiffness"], given, priors={"stiffness": (50.0, 0.0)})
    with pytest.raises(ArgumentError, match="a measurement also gives it a value"):
        fit(eqs, ["stiffness"], poses([1.0, 2.0], [0.02, 0.04], parameters={"stiffness": 3.0}))
    with pytest.raises(ArgumentError, match="too few to fit"):
        fit(eqs, ["stiffness", "damping"], given)
    with pytest.raises(ArgumentError, match="nothing to fit to"):
        fit(eqs, ["stiffness"], [])


def test_the_command_takes_several_recordings_priors_folds_and_profiles(tmp_path, capsys):
    (tmp_path / "cart.yaml").write_text(LINEAR)
    for name, scale in (("one", 1.0), ("two", 1.5)):
        time = np.linspace(0, 20, 201)
        push = scale * np.repeat([2.0, 4.0, 6.0, 8.0], [50, 50, 50, 51])
        x = push / 50.0 + 1e-3 * np.sin(7 * push)
        np.savetxt(
            tmp_path / f"{name}.csv",
            np.column_stack([time, push, x]),
            delimiter=",",
            header="t_s,push_N,x_m",
            comments="",
        )
    words = ["fit", str(tmp_path / "cart.yaml"), "--parameters", "stiffness,zero", "--output", "mark=x"]
    words += ["--rests", str(tmp_path / "one.csv"), "--rests", str(tmp_path / "two.csv")]
    words += ["--prior", "zero=0,5 mm", "--folds", "2", "--profile", "stiffness"]
    assert command([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["parameters"]["stiffness"] == pytest.approx(50.0, rel=0.03)
    assert 0 < answer["held_out"]["rms"]["mark"] < 5e-3
    assert (
        answer["profiles"][0]["interval"][0] < answer["parameters"]["stiffness"] < answer["profiles"][0]["interval"][1]
    )
    assert [error["measurement"] for error in answer["errors"]] == ["1", "2"]
    assert command([*words[:-6], "--prior", "zero=0,5 kg"]) != 0
    assert "expected a length" in capsys.readouterr().err


def test_poses_at_rest_need_no_times(tmp_path, capsys):
    (tmp_path / "cart.yaml").write_text(LINEAR)
    push = np.array([4.0, 2.0, 8.0, 6.0])  # in any order
    (tmp_path / "poses.csv").write_text("push_N,x_mm\n" + "".join(f"{p},{1e3 * p / 50.0}\n" for p in push))
    with pytest.raises(ArgumentError, match=r"no time column; .*poses=True"):
        read_recording(tmp_path / "poses.csv")
    given = read_recording(tmp_path / "poses.csv", poses=True)
    assert not given.timed
    np.testing.assert_array_equal(given.time, range(4))
    found = fit(derive(load_text(LINEAR)), ["stiffness"], Measurement(given, {"mark": ["x"]}, rest_at=given.time))
    assert found.parameters["stiffness"] == pytest.approx(50.0, rel=1e-6)
    words = ["fit", str(tmp_path / "cart.yaml"), "--parameters", "stiffness", "--output", "mark=x"]
    assert command([*words, "--rests", str(tmp_path / "poses.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"]["stiffness"] == pytest.approx(50.0, rel=1e-6)
    assert command([*words, "--rests", str(tmp_path / "poses.csv"), "--from", "0", "--to", "2"]) == 2
    assert "have no times" in capsys.readouterr().err


def test_recordings_with_the_same_label_share_a_value():
    """Four poses as separate recordings: the zero differs between two days, and folds and groups span recordings."""
    push, zero = np.array([0.5, 1.0, 1.5, 2.0]), {"monday": 1e-3, "friday": 4e-3}
    days = ["monday", "friday", "friday", "monday"]
    given = [
        replace(poses(push[[k]], push[[k]] / 50.0 + zero[day]), own={"zero": day}, label=f"pose{k}")
        for k, day in enumerate(days)
    ]
    found = fit(derive(load_text(LINEAR)), ["stiffness", "zero"], given, priors={"zero": (0.0, 0.1)})
    assert list(found.parameters) == ["stiffness", "zero@monday", "zero@friday"]
    assert found.parameters["zero@friday"] - found.parameters["zero@monday"] == pytest.approx(3e-3, rel=1e-3)
    each = found.cross_validate(4)
    assert len(each.parameters) == 4
    assert all(np.isfinite(each.distances[f"pose{k}"]["mark"]).all() for k in range(4))
    by_day = found.cross_validate(2, groups=[[day] for day in days])
    assert sorted(round(x["zero@monday"], 6) == 0.0 for x in by_day.parameters) == [False, True]


def test_poses_that_other_values_do_not_allow_are_left():
    """A start that is no pose of the rod: the search begins at the model's own."""
    text = """
pliant: 1
sections: {round: {shape: circle, radius: 5 mm}}
materials: {silicone: {density: 1000 kg/m^3, youngs_modulus: 500 kPa, poissons_ratio: 0.5}}
rods: {arm: {length: 10 cm, section: round, material: silicone, law: neo_hookean, model: {kind: pcs, elements: 2}}}
"""
    eqs = derive(load_text(text))
    wild = eqs.initial_state().q.copy()
    wild[[k for k, name in enumerate(eqs.coordinates) if "stretch" in name]] = -1.8
    found = poses_at_rest(eqs, [0.0], [wild])
    assert found is not None
    assert found[0].status == "converged"


def test_values_that_the_model_rejects_are_steps_taken_back():
    """From a stiffness far too high, a step along the derivatives leads below zero, which the model refuses."""
    text = LINEAR.replace("stiffness: 30 N/m", "stiffness: {value: 300 N/m, minimum: 1 N/m}")
    text = text.replace("spring: =stiffness", "spring: =sqrt(stiffness*1 N/m)")
    push = np.array([0.5, 1.0, 1.5])
    found = fit(derive(load_text(text)), ["stiffness"], poses(push, push / 3.0), priors={"stiffness": (9.0, 1e3)})
    assert found.status == "converged"
    assert found.parameters["stiffness"] == pytest.approx(9.0, rel=1e-3)


def test_a_search_that_no_step_helps_has_not_converged():
    """Residuals that fail everywhere but at the start: the search ends where it began, and reports it."""
    push = np.array([0.5, 1.0])
    found = fit(derive(load_text(LINEAR)), ["stiffness"], poses(push, push / 50.0))
    search = found._search
    start = np.array([30.0])

    class Walled:
        reason = ""

        def __init__(self, inner):
            self.inner = inner

        def derivatives(self, parameters, names):
            return self.inner.derivatives(parameters, names) if parameters["stiffness"] == 30.0 else None

    search.targets = tuple(replace(t, prediction=Walled(t.prediction)) for t in search.targets)
    search._known.clear()
    stuck = search.solve(start)
    assert not stuck.success
    assert "no step along the derivatives" in stuck.message


DRIVEN = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {stiffness: 30 N/m, force: {value: 0 N, input: true}, other: {value: 0 N, input: true}}
bodies: {cart: {mass: 1 kg}}
joints: {rail: {type: prismatic, child: cart, axis: x, displacement: {spring: =stiffness, damper: 2 N*s/m, input: =force + other}}}
outputs: {place: {coordinate: rail}}
"""


def test_recorded_steps_do_not_overshoot_and_smooth_inputs_follow_a_spline():
    model = derive(load_text(DRIVEN)).model
    t = np.linspace(0, 1, 101)
    step, wave = np.where(t < 0.4, 0.6, 0.0), np.sin(9 * t)
    found = recorded_inputs(model, Recording("made", t, {"force": step, "other": wave}))
    between = t[:-1] + 0.005
    values = {name: np.interp(between, t, x) for name, x in {"force": step, "other": wave}.items()}
    at = {
        name: np.array([one.poly[k] @ 0.005 ** np.arange(one.poly.shape[1]) for k in range(100)])
        for name, one in found.items()
    }
    assert at["force"] == pytest.approx(values["force"], abs=1e-12)
    assert np.abs(at["other"] - np.sin(9 * between)).max() < 1e-4 < np.abs(values["other"] - np.sin(9 * between)).max()
    exact = recorded_inputs(
        model, Recording("made", np.array([0, 0.4, 0.400001, 1]), {"force": np.array([0.6, 0.6, 0, 0])})
    )
    assert np.abs(exact["force"].poly[[0, 2], 1:]).max() == 0.0


def test_columns_that_differ_in_case_and_units_of_inputs_have_remarks():
    eqs = derive(load_text(DRIVEN))
    t = np.linspace(0, 1, 51)
    columns = {"Force": np.sin(t), "other": np.sin(2 * t), "place": 0.01 * np.sin(t)}
    made = Recording("made.csv", t, columns, {"Force": "N", "place": "m"}, assumed=("other",))
    remarks = undriven(eqs.model, made, ["other", "place"])
    assert any("'Force' of made.csv does not drive the input 'force'" in x for x in remarks)
    assert any("'other [N]'" in x for x in remarks)
    with pytest.raises(ArgumentError, match="rename 'Force' to 'force'"):
        recorded_inputs(eqs.model, Recording("made.csv", t, {"Force": np.sin(t)}))
    np.testing.assert_array_equal(made["place"], columns["place"])
    np.testing.assert_array_equal(made["time"], t)
    with pytest.raises(ArgumentError, match="did you mean 'place'"):
        made["plase"]
