"""The name of a repeated input or output stands for all its instances, and `tip.x` for a component, wherever names are given."""

import json

import numpy as np
import pytest

import pliant
from pliant import plot
from pliant.cli import run as command

CARTS = """
pliant: 1
name: carts
world: {gravity: [0, 0, 0]}
parameters:
  pull: {count: 3, value: 0 N, input: true}
  torque: {count: 2, value: 0 N*m, input: true}
bodies: {cart: {count: 3, mass: 1 kg}, wheel: {count: 2, mass: 1 kg, inertia: {principal: [1, 1, 1]}}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {spring: 10 N/m, damper: 1 N*s/m, input: "=pull[i]"}}
  axle: {type: revolute, child: wheel, axis: z, angle: {spring: 1 N*m/rad, input: "=torque[i]"}}
outputs:
  place: {count: 3, coordinate: "rail[i]"}
  point: {count: 3, frame: "cart[i]"}
  first: {frame: "cart[1]"}
"""


@pytest.fixture(scope="module")
def eqs():
    return pliant.derive(pliant.load_text(CARTS))


def test_inputs_have_one_value_for_all_instances_or_one_for_each(eqs):
    for given, expected in (
        (2.0, [0.2, 0.2, 0.2]),
        ("3 N", [0.3, 0.3, 0.3]),
        ([1.0, 2.0, 3.0], [0.1, 0.2, 0.3]),
        (np.array([1.0, 2.0, 3.0]), [0.1, 0.2, 0.3]),
        ("1, 2, 3000 mN", [1e-4, 2e-4, 0.3]),
        (["1 N", 2.0, "=3 N"], [0.1, 0.2, 0.3]),
    ):
        found = pliant.equilibrium(eqs, inputs={"pull": given})
        assert found.outputs["place"] == pytest.approx(expected), given
    found = pliant.equilibrium(eqs, inputs={"pull[2]": 5.0, "pull": 1.0})  # an instance has its own value
    assert found.outputs["place"] == pytest.approx([0.1, 0.5, 0.1])
    with pytest.raises(ValueError, match="'pull' has 3 instances, but 2 values"):
        pliant.equilibrium(eqs, inputs={"pull": [1.0, 2.0]})
    with pytest.raises(ValueError, match="did you mean 'torque'"):
        pliant.equilibrium(eqs, inputs={"torqe": 1.0})


def test_inputs_over_time(eqs):
    t = np.linspace(0, 0.2, 21)
    columns = np.stack([t, 2 * t, 0 * t], axis=1)
    for given in ((t, columns), [lambda s: s, lambda s: 2 * s, 0.0], (t, t)):
        run = pliant.simulate(eqs, 0.2, save_every=0.1, inputs={"pull": given})
        last = 0.2 if given[1] is t else 0.0
        expected = [0.2, 0.2, 0.2] if last else [0.2, 0.4, 0.0]
        assert run["pull"].values[-1] == pytest.approx(expected)
        assert run.input("pull").unit == "N"


def test_outputs_and_components_of_results(eqs, tmp_path):
    run = pliant.simulate(eqs, 1.0, save_every=0.01, inputs={"pull": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(run["place"].values[:, 1], run["place[2]"].values)
    assert run["place"].unit == "m"
    np.testing.assert_array_equal(run["first.x"].values, run["first"].values[:, 0])
    np.testing.assert_array_equal(run["point.x"].values, run["place"].values)
    assert run["point"].values.shape == (101, 3, 3)
    np.testing.assert_array_equal(run["rail"].values, run["place"].values)
    for draw, name, count in (
        (plot.trajectory, "place", 3),
        (plot.trajectory, "point", 9),
        (plot.trajectory, "first.x", 1),
        (plot.trajectory, "rail", 3),
        (plot.spectrum, "point.x", 3),
        (plot.inputs, "pull", 3),
    ):
        assert len(draw(run, name).lines) == count
    assert [x.get_text() for x in plot.trajectory(run, "point.x").get_legend().get_texts()] == [
        "point[1].x",
        "point[2].x",
        "point[3].x",
    ]
    with pytest.raises(KeyError, match="did you mean 'place'"):
        run["plase"]
    rest = pliant.equilibrium(eqs, inputs={"pull": [1.0, 2.0, 3.0]})
    assert rest.outputs["first.x"] == pytest.approx(0.1)
    assert rest.outputs["point.x"] == pytest.approx([0.1, 0.2, 0.3])
    with pytest.raises(KeyError, match="did you mean 'place'"):
        rest.outputs["plase"]
    path = pliant.continuation(eqs, parameter="pull[1]", to=1.0)
    assert path["point.x"].shape == (len(path), 3)


def test_commands(tmp_path, capsys):
    file = tmp_path / "carts.yaml"
    file.write_text(CARTS)
    assert command(["equilibrium", str(file), "--input", "pull=1,2,3 N", "--json"]) == 0
    outputs = json.loads(capsys.readouterr().out)["outputs"]
    assert [outputs[f"place[{k}]"] for k in (1, 2, 3)] == pytest.approx([0.1, 0.2, 0.3])
    assert command(["equilibrium", str(file), "--input", "pull=1 N", "--input", "pull[2]=4 N", "--json"]) == 0
    outputs = json.loads(capsys.readouterr().out)["outputs"]
    assert [outputs[f"place[{k}]"] for k in (1, 2, 3)] == pytest.approx([0.1, 0.4, 0.1])
    assert command(["equilibrium", str(file), "--input", "torqe=1 N*m"]) == 2
    assert "did you mean 'torque'?" in capsys.readouterr().err
