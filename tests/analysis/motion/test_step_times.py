"""No pulse of a signal is stepped over, however it is given; fixed steps that cannot see it say so."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pliant


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


@pytest.mark.parametrize("width", [0.03, 1e-2, 1e-3, 1e-5, 1e-8])
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


METHODS = {
    "default": (None, 1e-6),
    "explicit": (pliant.ExplicitRungeKutta(), 1e-6),
    "implicit": (pliant.Rosenbrock(), 1e-3),
    "generalized alpha": (pliant.GeneralizedAlpha(), 1e-2),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", ["function", "text", "model", "samples"])
def test_all_pulses_of_a_train_act(how: str, method: str) -> None:
    """Bells of 5 ms in every half second, by every method of variable steps, and however they are given."""
    text = "100 N*exp(-((t - 0.5 s*floor(t/(0.5 s)) - 0.2 s)/(5 ms))^2)"

    def push(t: float) -> float:
        return 100 * math.exp(-(((t % 0.5 - 0.2) / 5e-3) ** 2))

    eqs = cart(f'input: "={text}"' if how == "model" else "input: =push")
    places = np.union1d(np.linspace(0, 0.45, 10), 0.2 + 1e-3 * np.arange(-30, 31))
    times = (0.5 * np.arange(20)[:, None] + places).ravel()
    given = {"function": push, "text": text, "samples": (times, [push(t) for t in times], "cubic")}
    integrator, tolerance = METHODS[method]
    run = pliant.simulate(eqs, 10.0, inputs=None if how == "model" else {"push": given[how]}, method=integrator)
    assert run.v[-1, 0] == pytest.approx(
        20 * 0.5 * math.sqrt(math.pi), rel=max(tolerance, 1e-4 if how == "samples" else 0)
    )


def test_large_pulses_do_not_hide_small_ones() -> None:
    """A blow of 1e5 N for 10 us, and a push of 10 N for a second with a hundred times its impulse."""
    text = "1e5 N*exp(-((t - 3.3 s)/(10 us))^2) + 10 N*exp(-((t - 13 s)/(0.3 s))^2)"
    run = pliant.simulate(cart("input: =push"), 20.0, inputs={"push": text})
    assert run.v[-1, 0] == pytest.approx(math.sqrt(math.pi) * (1 + 3), rel=1e-4)


@pytest.mark.parametrize("offset", [0.1, 0.2317, 0.49])
def test_short_conditions_are_located(offset: float) -> None:
    """Pulses of 1e-4 s in the middle of periods: no sample of the conditions need fall into any of them."""
    frac = "(t/(0.5 s) - floor(t/(0.5 s)))"
    text = f"if({frac} > {offset}, 100 N, 0 N) - if({frac} > {offset + 2e-4}, 100 N, 0 N)"
    for eqs, inputs in ((cart(f'input: "={text}"'), None), (cart("input: =push"), {"push": text})):
        assert pliant.simulate(eqs, 20.0, inputs=inputs).v[-1, 0] == pytest.approx(40 * 100 * 1e-4, rel=1e-6)


def test_a_function_may_come_with_times() -> None:
    def hidden(t: float) -> float:
        return float(abs(np.float64(t) - 7.00005) <= 5e-5) * 1e4

    run = pliant.simulate(cart("input: =push"), 20.0, inputs={"push": (hidden, [7.0, 7.0001])})
    assert run.v[-1, 0] == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(pliant.ArgumentError, match=r"write \(function, times\)"):
        pliant.simulate(cart("input: =push"), 20.0, inputs={"push": (hidden, ["soon"])})


def test_pulses_of_inputs_that_an_event_sets_act() -> None:
    """And those of a signal that an event scales from zero."""
    later = pliant.Event(
        lambda now: now.t - 1.0, direction="rising", stop=False, then=lambda now: now.inputs.update(push=pulse)
    )

    def pulse(t: float) -> float:
        return 1e3 * math.exp(-(((t - 13.2) / 1e-3) ** 2))

    run = pliant.simulate(cart("input: =push"), 20.0, events=[later])
    assert run.v[-1, 0] == pytest.approx(math.sqrt(math.pi), rel=1e-4)


@pytest.mark.parametrize("method", ["generalized-alpha", "semi-implicit", "symplectic-euler"])
def test_fixed_steps_that_miss_pulses_say_so(method: str) -> None:
    step = 1e-2
    make = {
        "generalized-alpha": pliant.GeneralizedAlpha,
        "semi-implicit": pliant.SemiImplicit,
        "symplectic-euler": pliant.SymplecticEuler,
    }[method]
    eqs = cart("input: =push")
    for push in ("1 N*exp(-((t - 3.2345 s)/(0.1 ms))^2)", "1 N*sin(2*pi*100*t/(1 s))"):
        run = pliant.simulate(eqs, 4.0, inputs={"push": push}, method=make(step=step))
        assert any("fixed steps of 0.01 s are too long for the input 'push'" in x for x in run.remarks)
    for push in ("1 N*sin(2*pi*t/(1 s))", "2 N", "if(t < 3.2 s, 0 N, 1 N)", "1 N*(t/1 s)^2"):
        run = pliant.simulate(eqs, 4.0, inputs={"push": push}, method=make(step=step))
        assert not any("fixed steps" in x for x in run.remarks)
