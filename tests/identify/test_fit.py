"""Fitting against a recording made by the model itself with other parameters."""

import json
import re

import numpy as np
import pytest

import pliant
from pliant import derive, load_text, simulate
from pliant.cli import run as command
from pliant.engine.core import UnknownName
from pliant.identify.fit import cycles, fit
from pliant.identify.search import least_squares_step
from pliant.language.recording import Recording, read_recording

ROBOT = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters:
  stiffness: 30 N/m
  damping: 2 N*s/m
  push: {value: 0 N, input: true}
bodies: {cart: {mass: 1 kg}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {spring: =stiffness, damper: =damping, input: =push}}
outputs: {tip: {frame: cart}, place: {coordinate: rail}}
"""
TRUE = {"stiffness": 50.0, "damping": 3.0}


@pytest.fixture(scope="module")
def recording():
    """Two pushes, answered by the true cart."""
    text = ROBOT + 'inputs: {push: "=if(t < 2 s, 5 N*sin(pi*t/2 s)^2, 8 N*sin(pi*t/2 s)^2)"}\n'
    run = simulate(derive(load_text(text)), 4.0, rtol=1e-9, save_every=0.02, parameters=TRUE)
    t = run.time
    push = np.where(t < 2, 5.0, 8.0) * np.sin(np.pi * t / 2) ** 2
    path = run["tip"].values
    return Recording("made", t, {"push": push, "x": path[:, 0], "y": path[:, 1], "z": path[:, 2]})


def test_true_parameters_are_found_and_hold_on_the_other_push(recording):
    number = cycles(recording, ["push"])
    assert set(number) == {1, 2}
    found = fit(derive(load_text(ROBOT)), list(TRUE), recording, use=number == 1)
    for name, value in TRUE.items():
        assert found.parameters[name] == pytest.approx(value, rel=1e-3)
    assert found.after_mm < 0.01 * found.before_mm
    assert found.after_test_mm < 0.01 * found.before_test_mm


def test_errors_are_what_repeated_recordings_scatter_by(recording):
    rng = np.random.default_rng(3)
    eqs = derive(load_text(ROBOT))
    found = []
    for _ in range(20):
        noisy = {**recording.columns, "x": recording.columns["x"] + rng.normal(scale=2e-3, size=len(recording.time))}
        found.append(fit(eqs, list(TRUE), Recording("made", recording.time, noisy), columns=["x"], output="place"))
    for name, value in TRUE.items():
        values = np.array([one.parameters[name] for one in found])
        stated = np.mean([one.deviations[name] for one in found])
        # the scatter of 20 is known to a sixth; twice that is far out
        assert values.std(ddof=1) == pytest.approx(stated, rel=0.4)
        inside = [low < value < high for low, high in (one.intervals[name] for one in found)]
        assert np.mean(inside) >= 0.8
    assert found[0].correlation[0, 0] == pytest.approx(1)
    assert found[0].derivatives == "exact"


def test_finite_differences_find_the_same_where_there_are_no_exact_derivatives(recording):
    """A constraint that holds anyway leaves the motion as it is."""
    begin = recording.time < 0.4
    short = Recording("short", recording.time[begin], {k: x[begin] for k, x in recording.columns.items()})
    held = ROBOT + "constraints: {level: {between: [world, cart], components: [y], holds: as at start}}\n"
    rail = "bodies: {cart: {mass: 1 kg}}\njoints:\n"
    loose = "bodies: {cart: {mass: 0.5 kg}, rider: {mass: 0.5 kg}}\njoints:\n"
    held = held.replace(rail, loose + "  on: {type: prismatic, parent: cart, child: rider, axis: y}\n")
    held = held.replace("[world, cart]", "[cart, rider]")
    exact, differences = (fit(derive(load_text(text)), ["stiffness"], short) for text in (ROBOT, held))
    assert differences.derivatives == "the model has constraints"
    assert exact.derivatives == "exact"
    assert exact.parameters["stiffness"] == pytest.approx(differences.parameters["stiffness"], rel=1e-3)


def test_states_at_rest_are_fitted_too():
    time = np.linspace(0, 3, 31)
    push = np.repeat([2.0, 5.0, 8.0], [10, 10, 11])
    made = Recording("made", time, {"push": push, "x": push / 50.0, "y": 0 * push, "z": 0 * push})
    found = fit(derive(load_text(ROBOT)), ["stiffness"], made, rest_at=[0.5, 1.5, 2.5])
    assert found.parameters["stiffness"] == pytest.approx(50.0, rel=1e-4)
    assert found.derivatives == "exact"


def test_a_parameter_on_its_bound_is_named(recording):
    found = fit(derive(load_text(ROBOT)), list(TRUE), recording, bounds={"stiffness": (20.0, 40.0)})
    assert found.at_bounds == ("stiffness",)
    assert found.parameters["stiffness"] == pytest.approx(40.0)


def test_an_unknown_parameter_is_refused(recording):
    with pytest.raises(UnknownName, match="did you mean 'stiffness'"):
        fit(derive(load_text(ROBOT)), ["stifness"], recording)


def test_the_command_prints_one_object(recording, tmp_path, capsys):
    (tmp_path / "cart.yaml").write_text(ROBOT)
    columns = ("push", "x", "y", "z")
    rows = [",".join(["t_s", "push_N", "x_m", "y_m", "z_m"])]
    rows += [
        ",".join(map(repr, map(float, row)))
        for row in zip(recording.time, *(recording.columns[c] for c in columns), strict=True)
    ]
    (tmp_path / "run.csv").write_text("\n".join(rows))
    assert len(read_recording(tmp_path / "run.csv").time) == len(recording.time)
    code = command(
        [
            "fit",
            str(tmp_path / "cart.yaml"),
            "--parameters",
            "stiffness,damping",
            "--against",
            str(tmp_path / "run.csv"),
            "--json",
        ]
    )
    answer = json.loads(capsys.readouterr().out)
    assert code == 0
    assert answer["parameters"]["stiffness"] == pytest.approx(50.0, rel=1e-3)


def test_the_page_of_a_fit_has_everything_that_was_found(recording, tmp_path, capsys):
    """Intervals, correlations, folds, a profile, and the model compared with the measurements."""
    file, table, page = tmp_path / "cart.yaml", tmp_path / "cart.csv", tmp_path / "fit.html"
    file.write_text(ROBOT)
    few = slice(0, 60)
    rng = np.random.default_rng(0)
    x = recording.columns["x"][few] + rng.normal(scale=1e-3, size=60)
    values = np.column_stack([recording.time[few], recording.columns["push"][few], x])
    np.savetxt(table, values, delimiter=",", header="t [s],push [N],place [m]", comments="")
    words = f"fit {file} --parameters stiffness,damping --against {table} --output place --folds 2 --profile damping"
    assert command([*words.split(), "--report", str(page), "--json"]) == 0
    captured = capsys.readouterr()
    answer, html = json.loads(captured.out), page.read_text()
    low, high = answer["intervals"]["stiffness"]
    shown = re.search(r"<td>([0-9.]+) to ([0-9.]+) N/m</td>", html)
    assert [float(x) for x in shown.groups()] == pytest.approx([low, high], abs=0.06 * (high - low))
    assert f"{answer['correlation'][0][1]:+.3f}" in html
    assert html.count(" N/m</td>") >= 7  # values, intervals and folds
    assert "95 % interval by its profile" in html
    for title in (
        "Measured outputs, and the model before and after the fit",
        "Rise of the sum of squares with a parameter held",
    ):
        assert title in html
    assert answer["message"].startswith("converged: ")
    # a line for each stage in any case
    stages = [line.partition(":")[0] for line in captured.err.splitlines() if "evaluation" in line]
    assert list(dict.fromkeys(stages)) == ["fit", "cross-validation in 2 folds", "profile of damping"]
    assert "evaluations, mean error" in captured.err
    assert captured.err.count(" mm") >= 3


RULER = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {stiff: 200 GPa, pull: {value: 0 N, input: true}}
materials: {steel: {density: 7800 kg/m^3, youngs_modulus: =stiff, poissons_ratio: 0.3}}
sections: {strip: {shape: rectangle, width: 0.8 mm, height: 20 mm}}
rods: {ruler: {length: 25 cm, section: strip, material: steel, strains: [planar, unshearable], model: {kind: pcs, elements: COUNT}}}
loads: {pull: {frame: ruler.tip, force: [=pull, 0, 0]}}
outputs: {tip: {frame: ruler.tip, component: x}}
"""


def test_rods_that_are_divided_too_coarsely_are_a_remark():
    """A cantilever of two arcs is too stiff by more than the residual shows; the shift is that of a fit to finer rods."""
    inertia, modulus = 20e-3 * 0.8e-3**3 / 12, 185e9
    pull = np.linspace(0.02, 0.2, 10)
    bend = pull * 0.25**3 / (3 * modulus * inertia) + np.random.default_rng(1).normal(scale=1e-5, size=10)
    made = Recording("made", np.arange(10.0), {"pull": pull, "tip": bend})
    found = {
        count: fit(derive(load_text(RULER.replace("COUNT", str(count)))), ["stiff"], made, rest_at=made.time)
        for count in (2, 4, 40)
    }
    (remark,) = found[2].remarks
    assert "would change stiff from " in remark
    assert "--rod ruler=pcs:4" in remark
    moved = found[4].parameters["stiff"] - found[2].parameters["stiff"]
    assert found[2].finer_rods["stiff"] == pytest.approx(moved, rel=0.1)
    assert moved > 10 * found[2].deviations["stiff"]
    assert not found[40].remarks
    assert found[40].parameters["stiff"] == pytest.approx(modulus, rel=2e-3)


SWINGING_RULER = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {stiff: {value: 210 GPa, minimum: 100 GPa}, damping_time: 0.2 ms}
materials: {steel: {density: 7850 kg/m^3, youngs_modulus: =stiff, poissons_ratio: 0.3}}
sections: {strip: {shape: rectangle, width: 0.8 mm, height: 20 mm}}
rods:
  ruler:
    {length: 25 cm, section: strip, material: steel, rayleigh: {beta: =damping_time}, strains: [planar, unshearable],
     model: {kind: pcs, elements: COUNT}}
bodies: {weight: {along: ruler, mass: 50 g}}
loads: {thread: {type: wrench, frame: ruler.tip, force: ["=if(t < 0.05 s, 0.3 N, 0 N)", 0, 0]}}
outputs: {tip: {frame: ruler.tip, component: x}}
start: equilibrium
"""


def test_the_change_with_finer_rods_is_that_of_a_fit_to_them():
    """Also for parameters whose SI values differ by 15 orders of magnitude, and beyond the linear range: the frequency changes by
    two radians over the recording, which a linear estimate attributes to damping."""
    rods = {n: derive(load_text(SWINGING_RULER.replace("COUNT", str(n)))) for n in (3, 6, 16)}
    truth = {"stiff": 198e9, "damping_time": 7e-4}
    run = simulate(rods[16], 1.0, save_every=5e-3, parameters=truth, rtol=1e-7)
    noise = np.random.default_rng(1).normal(scale=5e-5, size=len(run.time))
    made = Recording("made", run.time, {"tip": run["tip"].values + noise})
    coarse, fine = (fit(rods[n], list(truth), made, columns=["tip"]) for n in (3, 6))
    for name in truth:
        moved = fine.parameters[name] - coarse.parameters[name]
        assert coarse.finer_rods[name] == pytest.approx(moved, abs=0.1 * coarse.deviations[name])
    assert coarse.finer_rods["stiff"] > 100 * coarse.deviations["stiff"]
    text, html = str(coarse), coarse._repr_html_()
    assert re.search(r"stiff +210 GPa +19\d\.\d{3} GPa", text)
    assert re.search(r"damping_time +0.2 ms +0\.\d{4} ms", text)
    for shown in (text, html):
        assert "with twice as many elements the fit would change stiff from 19" in shown
        assert " GPa, " in shown


SWING = """
pliant: 1
parameters: {stiffness: 4 N*m/rad, idle: 3}
bodies: {bob: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m], inertia: {principal: [=0.01*idle/3, 0.01, 0.01]}}}
joints: {hinge: {type: revolute, child: bob, axis: y, angle: {initial: 0.3, spring: =stiffness}}}
outputs: {angle: {coordinate: hinge}}
"""


def swing_recording(tmp_path, stiffness):
    run = pliant.simulate(pliant.derive(pliant.load_text(SWING)), 2.0, parameters={"stiffness": stiffness}, rtol=1e-8)
    file = tmp_path / "swing.csv"
    np.savetxt(
        file, np.column_stack([run.time, run["angle"].values]), delimiter=",", header="t_s,angle_rad", comments=""
    )
    return pliant.read_recording(file)


def test_a_parameter_without_effect_is_not_determined(tmp_path):
    """Its interval is infinite, and a remark names it; the others are found."""
    eqs = pliant.derive(pliant.load_text(SWING))
    found = pliant.fit(eqs, ["stiffness", "idle"], swing_recording(tmp_path, 5.0), output="angle", columns=["angle"])
    assert found.parameters["stiffness"] == pytest.approx(5.0, rel=1e-4)
    assert np.isfinite(found.deviations["stiffness"])
    assert found.intervals["idle"] == (-np.inf, np.inf)
    assert any("do not determine 'idle'" in note for note in found.remarks)


def test_damping_at_modes_follows_the_fitted_parameters(tmp_path):
    """The frequencies of these modes are those of the fitted modulus: the true values are found, with exact derivatives."""
    text = """
pliant: 1
parameters: {modulus: 1 MPa, ratio: 0.05}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: =modulus, poissons_ratio: 0.5}}
sections: {cord: {shape: circle, radius: 4 mm}}
rods:
  arm: {length: 100 mm, section: cord, material: rubber, rotation: {axis: y, angle: 90 deg},
    rayleigh: {ratio: =ratio, modes: [1, 2]}, model: {kind: pcs, elements: 2}}
outputs: {tip: {frame: arm.tip}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    run = pliant.simulate(eqs, 0.5, parameters={"modulus": 1.2e6}, rtol=1e-7)
    file = tmp_path / "arm.csv"
    np.savetxt(
        file, np.column_stack([run.time, run["tip"].values]), delimiter=",", header="t_s,x_m,y_m,z_m", comments=""
    )
    recording = pliant.read_recording(file)
    found = pliant.fit(eqs, ["modulus", "ratio"], recording)
    assert found.derivatives == "exact"
    assert found.parameters == pytest.approx({"modulus": 1.2e6, "ratio": 0.05}, rel=1e-4)


def test_steps_do_not_depend_on_the_units_of_unknowns():
    """A modulus in Pa has derivatives 16 orders of magnitude below those of a time in s: neither is lost."""
    jacobian = np.random.default_rng(2).normal(size=(40, 2))
    for sizes in ([1.0, 1.0], [1e-17, 1e3], [1e12, 1e-12]):
        step = np.array([3.0, -2.0]) / sizes
        assert least_squares_step(jacobian * sizes, jacobian @ [3.0, -2.0]) == pytest.approx(step, rel=1e-12)
    assert least_squares_step(np.zeros((5, 1)), np.ones(5)) == 0


def test_a_model_that_does_not_describe_the_motion_is_a_remark(recording):
    """The recorded cart goes the other way; and its noise is not what the model describes."""
    eqs, mirrored = derive(load_text(ROBOT)), {**recording.columns, "x": -recording.columns["x"]}
    found = fit(eqs, ["damping"], Recording("mirrored", recording.time, mirrored))
    (note,) = [note for note in found.remarks if "does not describe 'tip'" in note]
    percent = int(note.partition("the residual is ")[2].partition("%")[0])
    assert percent > 50
    assert not [note for note in fit(eqs, list(TRUE), recording).remarks if "does not describe" in note]
    noise = {
        **recording.columns,
        "push": 0 * recording.time,
        "x": np.random.default_rng(1).normal(0, 1e-3, len(recording.time)),
    }
    still = fit(eqs, ["damping"], Recording("still", recording.time, noise))
    assert not [note for note in still.remarks if "does not describe" in note]


def test_the_name_of_a_file_is_no_recording():
    with pytest.raises(ValueError, match=r"a recording cannot be '../D/tip.csv'.*read_recording"):
        fit(derive(load_text(ROBOT)), ["damping"], "../D/tip.csv")
