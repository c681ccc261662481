"""Reading models: includes, variants, defaults, parameter values, recorded series."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pliant.analysis.derivation.check import check
from pliant.language.faults import SpecError
from pliant.language.source import bundled
from pliant.robot.flattening import flatten
from pliant.robot.reader import bundled_robots, load, load_text

BASE = """\
pliant: 1
parameters: {length: 50 cm, push: {value: 0 N, input: true}}
bodies: {rod: {mass: 1 kg}}
joints: {slide: {type: prismatic, child: rod, displacement: {input: =push, damper: 2}}}
"""


def test_includes_are_merged_under_the_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "common.yaml").write_text(BASE)
    (tmp_path / "more.yaml").write_text("pliant: 1\nbodies: {rod: {mass: 3 kg, center_of_mass: [1, 0, 0]}}\n")
    path = tmp_path / "model.yaml"
    path.write_text("pliant: 1\ninclude: [parts/common.yaml, more.yaml]\nbodies: {rod: {mass: 5 kg}}\n")
    spec = load(path)
    assert spec.include == ()
    assert spec.bodies["rod"].mass == "5 kg"
    assert spec.bodies["rod"].center_of_mass == (1, 0, 0)
    assert spec.joints["slide"].child == "rod"


def test_faults_in_included_files_name_them(tmp_path: Path) -> None:
    (tmp_path / "common.yaml").write_text(BASE.replace("1 kg", "1 mm"))
    path = tmp_path / "model.yaml"
    path.write_text("pliant: 1\ninclude: common.yaml\n")
    (fault,) = check(path)
    assert (fault.file, fault.line, fault.path) == (str(tmp_path / "common.yaml"), 3, "bodies.rod.mass")


VARIANTS = (
    BASE
    + """\
variants:
  heavy: {bodies: {rod: {mass: 9 kg}}}
  free: {joints: {slide: {displacement: {damper: null}}}}
"""
)


def test_bare_values_of_variants_keep_the_other_keys() -> None:
    """Of parameters, springs and dampers; the other way round, keys are added to bare values."""
    text = BASE.replace("damper: 2", "damper: {coefficient: 2, power: 1.5}, spring: 5")
    text += """\
variants:
  pushed:
    parameters: {push: 3 N, length: {maximum: 70 cm}}
    joints: {slide: {displacement: {damper: 4, spring: {rest: 1 cm}}}}
"""
    spec = load_text(text, variant="pushed")
    push, length = spec.parameters["push"], spec.parameters["length"]
    assert (push.value, push.input) == ("3 N", True)
    assert (length.value, length.maximum) == ("50 cm", "70 cm")
    slide = spec.joints["slide"].displacement
    assert (slide.damper.coefficient, slide.damper.power) == (4, 1.5)
    assert (slide.spring.coefficient, slide.spring.rest) == (5, "1 cm")


def test_variants_of_bundled_robots_keep_their_inputs() -> None:
    """A variant may add inputs, but none that the robot has is lost."""
    for name in bundled():
        robot = load(name)
        inputs = {key for key, parameter in robot.parameters.items() if parameter.input}
        for variant in robot.variants:
            kept = load(name, variant=variant).parameters
            assert inputs <= {key for key, parameter in kept.items() if parameter.input}, f"{name}@{variant}"


def test_variants_change_the_model() -> None:
    text = VARIANTS.replace("free:", "undamped:")
    assert load_text(text).variants.keys() == {"heavy", "undamped"}
    heavy = load_text(text, variant="heavy")
    assert heavy.bodies["rod"].mass == "9 kg"
    assert heavy.variants == {}
    assert load_text(text, variant="undamped").joints["slide"].displacement.damper is None
    with pytest.raises(SpecError, match="did you mean 'heavy'"):
        load_text(text, variant="heavi")


def test_a_variant_is_named_with_the_model(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(VARIANTS.replace("free:", "undamped:"))
    assert load(f"{path}@heavy").bodies["rod"].mass == "9 kg"
    odd = tmp_path / "m@x.yaml"
    odd.write_text(BASE)
    assert load(odd).bodies
    assert load("pendulum@damped").joints["hinge"].angle.damper is not None


def test_check_looks_into_models_that_nothing_attaches(tmp_path: Path) -> None:
    """And into variants of models that nothing selects; what is attached is checked with the values that it is given."""
    (tmp_path / "a.yaml").write_text("""
pliant: 1
models:
  finger:
    parameters: {weight: 1 kg}
    bodies: {bone: {mass: =nosuch}}
    joints: {knuckle: {type: revolute, child: bone, axis: y}}
    variants: {heavy: {parameters: {weight: 2 m}}}
  toe:
    parameters: {weight: 0 kg}
    bodies: {bone: {mass: =weight}}
    joints: {knuckle: {type: revolute, child: bone, axis: y}}
    variants: {heavy: {bodies: {bone: {mass: =weight, center_of_mass: [0, =unknown, 0]}}}, long: {}}
variants:
  walking: {attach: {right: {model: toe, parameters: {weight: 1 kg}}}}
attach:
  left: {model: toe, variant: long, parameters: {weight: 1 kg}}
""")
    for model in ("a.yaml", "a.yaml@walking"):
        faults = check(tmp_path / model)
        assert [fault.message for fault in faults] == [
            "in model 'finger', which is not attached: unknown parameter 'nosuch'",
            "in model 'toe', variant 'heavy', which is not attached: unknown parameter 'unknown'",
        ]
        assert [fault.line for fault in faults] == [6, 13]


def test_check_looks_into_every_variant(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(BASE + "variants:\n  wrong: {bodies: {rod: {mass: 9 s}}}\n")
    (fault,) = check(path)
    assert fault.message.startswith("in variant 'wrong': expected a mass")
    assert fault.line == 6
    assert load(path)


def test_setting_parameters() -> None:
    assert load_text(BASE, set={"length": 2}).parameters["length"].value == 2
    changed = load_text(BASE, set={"push": "3 N"})
    assert changed.parameters["push"].value == "3 N"
    assert changed.parameters["push"].input
    for name, value, message in (
        ("lenght", 1, "did you mean 'length'"),
        ("push", "=1/0", "division by zero"),
        ("arm/length", 1, "no attached model 'arm'"),
    ):
        with pytest.raises(SpecError, match=message):
            load_text(BASE, set={name: value})


def test_defaults_apply_where_a_kind_has_the_key() -> None:
    text = """\
pliant: 1
defaults:
  joints: {axis: y, revolute: {axis: x, angle: {damper: 1}}, position: [0, 0, 1]}
bodies: {a: {mass: 1}, b: {mass: 1}, c: {mass: 1}}
joints:
  one: {type: revolute, child: a}
  two: {type: prismatic, child: b}
  three: {type: weld, child: c, position: [0, 0, 2]}
"""
    spec = load_text(text)
    assert [spec.joints[name].position[2] for name in ("one", "two", "three")] == [1, 1, 2]
    assert (spec.joints["one"].axis, spec.joints["two"].axis) == ("x", "y")
    assert spec.joints["one"].angle.damper.coefficient == 1


SERIES = BASE + "inputs: {push: {series: {file: run.csv, column: force, unit: kN, time_unit: ms}}}\n"


def test_recorded_series(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("t, force, other\n0, 1.5, 0\n\n10, 2, 0\n20, -1e-3, 0\n")
    spec = flatten(load_text(SERIES, folder=tmp_path))
    samples = spec.inputs["push"].samples
    assert samples.times == pytest.approx((0, 0.01, 0.02))
    assert samples.values == pytest.approx((1500, 2000, -1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("t,forse\n0,1\n", "no column 'force' (did you mean 'forse'?)"),
        ("x,force\n0,1\n", "has no time column"),
        ("t,force\n0,1\n0,2\n", "must increase, but 0 follows 0"),
        ("t,force\n0,nan\n", "line 2 of run.csv has 'nan' in the column 'force' where a number is needed"),
        ("t,force\n0,1\n1\n", "line 3 of run.csv has 1 entry for 2 columns"),
        ("t,force\n0,1e306\n1,-1e306\n", "in run.csv, values change too steeply between two times"),
        ("t,force\n0,1e-323\n1e-322,0\n", "in run.csv, values change too steeply between two times"),
        ("t,force\n", "no rows"),
        ("", "no rows"),
        ("t,force\n0,\xff\n", "where a number is needed"),
    ],
)
def test_series_that_cannot_be_used(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "run.csv").write_text(content, encoding="latin-1")
    with pytest.raises(SpecError) as caught:
        load_text(SERIES, folder=tmp_path)
    assert message in str(caught.value)


def test_series_units_are_checked(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("t,force\n0,1\n1,2\n")
    with pytest.raises(SpecError, match="unknown unit 'kNn'"):
        load_text(SERIES.replace("kN", "kNn"), folder=tmp_path)
    with pytest.raises(SpecError, match="expected a force, got a pressure"):
        load_text(SERIES.replace("kN", "kPa"), folder=tmp_path)
    with pytest.raises(SpecError, match="expected a time, got a length"):
        load_text(SERIES.replace("ms", "mm"), folder=tmp_path)


def test_a_model_without_a_folder_reads_no_files() -> None:
    with pytest.raises(SpecError, match="the model has no folder"):
        load_text(SERIES)
    with pytest.raises(SpecError, match="the model has no folder"):
        load_text("pliant: 1\ninclude: [a.yaml]\n")


def test_bundled_robots_are_sound_and_described() -> None:
    robots = bundled_robots()
    assert {robot.name for robot in robots} >= {
        "pendulum", "double_pendulum", "tumbling_body", "cart_pole", "four_bar", "spring_mass_chain",
    }  # fmt: skip
    assert all(robot.description for robot in robots)


@pytest.mark.parametrize("name", bundled())
def test_a_bundled_robot_is_sound(name: str) -> None:
    assert check(name) == []
    spec = load(name)
    assert spec.outputs
    assert spec.analyses


def test_the_four_bar_is_closed() -> None:
    import cmath

    spec = load("four_bar")
    angle = {joint.angle.name: joint.angle.initial for joint in spec.joints.values()}
    bar1 = 0.15 + 0.12 * cmath.exp(1j * angle["q1"])
    bar2 = bar1 + 0.5 * cmath.exp(1j * (angle["q1"] + angle["q2"]))
    bar3 = 0.4j + 0.19 * cmath.exp(1j * angle["q3"])
    assert abs(bar2 - bar3) < 1e-15


def test_loading_imports_the_schema_alone() -> None:
    code = "import sys, pliant; pliant.load('pendulum'); print(*(m for m in sys.modules if m.startswith('pliant')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert not [m for m in modules if m.startswith(("pliant.engine", "pliant.analysis", "pliant.control"))]
    assert len(modules) <= 150
