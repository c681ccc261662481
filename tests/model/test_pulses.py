"""Short pulses of signals are not missed, however they are given."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.model.pulses import pulse_times

NONE = np.zeros(0)


def cart(more: str) -> pliant.Equations:
    text = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{push: {{value: 0 N, input: true}}}}
bodies: {{cart: {{mass: 1 kg}}}}
joints: {{rail: {{type: prismatic, child: cart, axis: x, displacement: {{{more}}}}}}}
"""
    return pliant.derive(pliant.load_text(text))


def gaussian(width: float, at: float) -> str:
    return f"1 N/{width}*exp(-((t - {at} s)/({width} s))^2)"


@pytest.mark.parametrize("width", [1e-3, 1e-4, 3e-5, 1e-5])
@pytest.mark.parametrize("at", [0.25, 0.5, 0.5123, 0.77777])
def test_the_impulse_of_a_short_pulse_acts(width: float, at: float) -> None:
    run = pliant.simulate(cart(f'input: "={gaussian(width, at)}"'), 1.0)
    assert run.v[-1, 0] == pytest.approx(np.sqrt(np.pi), rel=1e-4)


@pytest.mark.parametrize("base", [0.0, 1.0])
def test_pulses_of_inputs_given_as_text_act_too(base: float) -> None:
    eqs = cart("input: =push")
    run = pliant.simulate(eqs, 1.0, inputs={"push": f"{base} N + 500*{gaussian(2e-4, 0.5123)}"})
    assert run.v[-1, 0] == pytest.approx(base + 500 * np.sqrt(np.pi), rel=1e-4)


def test_pulses_of_recorded_inputs_with_cubic_interpolation_act() -> None:
    times = np.sort(np.concatenate([np.linspace(0, 1, 11), 0.5123 + np.linspace(-5e-4, 5e-4, 101)]))
    values = 1e4 * np.exp(-(((times - 0.5123) / 1e-4) ** 2))
    run = pliant.simulate(cart("input: =push"), 1.0, inputs={"push": (times, values, "cubic")})
    assert run.v[-1, 0] == pytest.approx(np.sqrt(np.pi), rel=1e-2)


def test_pulses_on_stiff_parts_act() -> None:
    run = pliant.simulate(cart(f'spring: 1e6 N/m, damper: 2e3 N*s/m, input: "={gaussian(1e-5, 0.5123)}"'), 1.0)
    assert run.energy["supplied"][-1] == pytest.approx(
        0.5 * np.pi, rel=0.03
    )  # of a free cart, and damping of a part of it


def test_smooth_signals_have_no_pulses() -> None:
    def motion(times: np.ndarray, w: float = 100.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        s, c = np.sin(w * times)[None], np.cos(w * times)[None]
        return s, w * c, -(w**2) * s

    assert not len(pulse_times(lambda t: motion(t)[0], motion, 0.0, 1.0, NONE, NONE))
    wild = 1e4
    assert not len(pulse_times(lambda t: motion(t, wild)[0], lambda t: motion(t, wild), 0.0, 1.0, NONE, NONE))


@pytest.mark.parametrize("begin", [0.0, 1e6])
def test_jumps_between_the_samples_are_no_pulses(begin: float) -> None:
    """A jump at the end of a cell changes the value at the end of the cell before it."""

    def motion(times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        value = np.where(times < begin + 0.5, 0.0, 1.0)[None]
        return value, 0 * value, 0 * value

    jumps = np.array([begin + 0.5])
    assert not len(pulse_times(lambda t: motion(t)[0], motion, begin, begin + 1.0, np.nextafter(jumps, 0.0), jumps))
