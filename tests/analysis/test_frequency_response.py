"""Frequency responses: an oscillator, a cantilever and a moved support have exact ones."""

import numpy as np
import pytest

import pliant
from pliant import derive, frequency_response, load, load_text

OSCILLATOR = """
pliant: 1
world: {gravity: [0, 0, -9.81]}
parameters: {force: {value: 0 N, input: true}, damping: 2 N*s/m}
bodies: {mass: {mass: 2 kg}}
joints:
  x: {type: prismatic, child: mass, axis: z, displacement: {spring: 50 N/m, damper: =damping, input: =force}}
outputs: {place: {coordinate: x}, speed: {coordinate: x, quantity: rate}}
"""
CANTILEVER = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: {value: 0 N, input: true}}
sections: {unit: {shape: stiffness, stiffness: [1e6, 1e6, 1e6, 1, 1, 1], mass_per_length: 1}}
rods: {beam: {length: 1 m, section: unit, strains: [bend_y], model: {kind: gvs, order: 4, elements: 6}}}
loads: {tip: {frame: beam.tip, force: [=push, 0, 0]}}
outputs: {tip: {frame: beam.tip, quantity: position, component: x}}
"""
SUPPORT = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {shake: {value: 0 m, input: true}}
bodies: {table: {mass: 1 kg}, mass: {mass: 2 kg}}
joints:
  support: {type: prismatic, child: table, axis: x, displacement: {motion: =shake}}
  x: {type: prismatic, parent: table, child: mass, axis: x, displacement: {spring: 50 N/m, damper: 2 N*s/m}}
outputs: {place: {coordinate: x}}
"""


def test_oscillator_has_the_exact_response():
    found = frequency_response(derive(load_text(OSCILLATOR)))
    s = 2j * np.pi * found.frequencies
    exact = 1 / (2 * s**2 + 2 * s + 50)
    np.testing.assert_allclose(found.response[:, 0, 0], exact, rtol=1e-10)
    np.testing.assert_allclose(found.response[:, 1, 0], s * exact, rtol=1e-10)
    np.testing.assert_allclose(found.static, [1 / 50, 0], atol=1e-12)
    ratio = 2 / (2 * np.sqrt(2 * 50))
    np.testing.assert_allclose(found.peaks[0], 1 / (2 * ratio * 50 * np.sqrt(1 - ratio**2)), rtol=1e-3)
    np.testing.assert_allclose(found.phases[[0, -1], 0], [0, -180], atol=2)
    assert not found.remarks


def test_cantilever_has_the_exact_receptance():
    """Of the Euler-Bernoulli beam at its tip (D. J. Mead): L^3/EI (sin b cosh b - cos b sinh b) / (b^3 (1 + cos b cosh b))."""
    found = frequency_response(derive(load_text(CANTILEVER)), lowest=0.05, highest=12.0, count=60)
    b = np.sqrt(2 * np.pi * found.frequencies)
    exact = (np.sin(b) * np.cosh(b) - np.cos(b) * np.sinh(b)) / (b**3 * (1 + np.cos(b) * np.cosh(b)))
    away = np.abs(1 + np.cos(b) * np.cosh(b)) > 0.05 * np.cosh(b)
    np.testing.assert_allclose(found.response[away, 0, 0].real, exact[away], rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(found.static[0], 1 / 3, rtol=1e-6)
    assert any("nothing damps" in x for x in found.remarks)


def test_prescribed_positions_are_the_input():
    found = frequency_response(derive(load_text(SUPPORT)))
    s = 2j * np.pi * found.frequencies
    np.testing.assert_allclose(found.response[:, 0, 0], -2 * s**2 / (2 * s**2 + 2 * s + 50), rtol=1e-9)
    assert found.inputs == ("shake",)


def test_unstable_rest_has_a_remark():
    found = frequency_response(derive(load_text(OSCILLATOR)), parameters={"damping": -1.0})
    assert any("unstable" in x for x in found.remarks)


def test_channels_are_chosen_saved_and_read(tmp_path):
    found = frequency_response(derive(load("stiff_flop")), input_names="p1", output_names="tip", count=20)
    assert found.channels == ("tip.x / p1", "tip.y / p1", "tip.z / p1")
    found.save(tmp_path / "response.nc")
    read = pliant.load_result(tmp_path / "response.nc")
    assert repr(read) == repr(found)
    np.testing.assert_array_equal(read.response, found.response)
    found.plot()


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("pendulum", {}, "no inputs"),
        ("cart_pole", {"lowest": 2.0, "highest": 1.0}, "must be above 0"),
        ("cart_pole", {"input_names": "forc"}, "there is no input 'forc'"),
    ],
)
def test_what_cannot_be_excited_is_said(model, options, words):
    with pytest.raises(pliant.ArgumentError, match=words):
        frequency_response(derive(load(model)), **options)
