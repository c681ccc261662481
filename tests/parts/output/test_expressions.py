"""Outputs computed from others: values, units, derivatives, circles and names."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import SpecError, derive, dump, linearize, load_text, simulate

ROBOT = """\
pliant: 1
parameters: {width: 0.2 m, drive: {value: 0.5 N*m, input: true}}
bodies:
  arm: {mass: 2 kg, center_of_mass: [0.5 m, 0, 0], frames: {tip: {position: [1 m, 0, 0]}}}
joints:
  hinge: {type: revolute, child: arm, axis: y, angle: {spring: 3, initial: 0.2, input: =drive}}
links:
  rope: {type: axial, between: [{frame: world, position: [1 m, 0, 1 m]}, arm.tip], spring: {coefficient: 100, rest: 1}}
outputs:
  support: {reaction: hinge, expressed_in: world}
  pull: {link: rope}
  lever: {expression: =support.z*width + drive}
  ratio: {expression: =pull/support.norm + sin(t/(1 s))}
  twice: {expression: =2*lever}
  root: {expression: =sqrt(pull)}
  energy: {energy: total}
  share: {expression: =energy/(1 J)}
"""


def test_values_and_units():
    run = simulate(derive(load_text(ROBOT)), 0.5, save_every=0.1, inputs={"drive": 0.7}, parameters={"width": 0.3})
    support = run["support"].values
    np.testing.assert_allclose(run["lever"].values, 0.3 * support[:, 2] + 0.7)
    np.testing.assert_allclose(
        run["ratio"].values, run["pull"].values / np.linalg.norm(support, axis=1) + np.sin(run.time)
    )
    np.testing.assert_allclose(run["twice"].values, 2 * run["lever"].values)
    np.testing.assert_allclose(run["share"].values, run["energy"].values)
    assert [run[name].unit for name in ("lever", "ratio", "twice", "share", "root")] == [
        "N m",
        "-",
        "N m",
        "-",
        "kg^0.5 m^0.5/s",
    ]


def test_derivatives_are_those_of_what_they_are_made_of():
    """Energies of the whole robot have none, and what is made of them is not among the outputs of the linear system."""
    space = linearize(derive(load_text(ROBOT)), at="initial")
    assert space.outputs == ("support.x", "support.y", "support.z", "pull", "lever", "ratio", "twice", "root")
    C, D = dict(zip(space.outputs, space.C, strict=True)), dict(zip(space.outputs, space.D, strict=True))
    np.testing.assert_allclose(C["lever"], 0.2 * C["support.z"])
    np.testing.assert_allclose(D["lever"], 0.2 * D["support.z"] + 1)
    np.testing.assert_allclose(D["twice"], 2 * D["lever"])


def test_they_are_written_back():
    again = load_text(dump(load_text(ROBOT)))
    assert again.outputs == load_text(ROBOT).outputs


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("=pull + width", "mixes a force .N. and a length .m."),
        ("=suport.x", "there is no output or parameter 'suport.x'.*did you mean 'support'"),
        ("=support", "the output 'support' is a vector.*support.x"),
        ("=support.rx", "the output 'support' has no component rx.*x, y, z"),
        ("=pull.x", "the output 'pull' has no component x.*write pull"),
        ("=other", "the output 'wrong' is computed from itself"),
        ("3", "expected an expression that begins with ="),
        ("=sqrt(", "it ends too early"),
    ],
)
def test_what_makes_no_sense_is_refused(expression, message):
    with pytest.raises(SpecError, match=message):
        load_text(ROBOT + f'  wrong: {{expression: "{expression}"}}\n  other: {{expression: =2*wrong}}\n')


def test_a_name_that_two_things_have_is_refused():
    with pytest.raises(SpecError, match="both a parameter and an output are called 'pull'"):
        load_text(ROBOT.replace("width: 0.2 m,", "width: 0.2 m, pull: 1 N,"))
