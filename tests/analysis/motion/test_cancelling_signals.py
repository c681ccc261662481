"""Forces over time that cancel are round-off, and do not limit the steps."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.cli import run as command

METHODS = {"default": None, "implicit": pliant.Rosenbrock(), "generalized alpha": pliant.GeneralizedAlpha()}
TUBE = """
pliant: 1
world: {{gravity: [0, 0, 9.81]}}
sections: {{tube: {{shape: annulus, outer_radius: 12.5 mm, inner_radius: 4.5 mm}}}}
materials: {{rubber: {{density: 1820 kg/m^3, youngs_modulus: 120 kPa, poissons_ratio: 0.5}}}}
rods: {{arm: {{length: 44 mm, section: tube, material: rubber, chambers: {{{chambers}}}, model: {{kind: pcs, elements: 1}}}}}}
"""
CART = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{push: {{value: 0 N, input: true}}}}
bodies: {{cart: {{mass: 1 kg}}}}
joints: {{rail: {{type: prismatic, child: cart, axis: x, displacement: {{input: "={force}"}}}}}}
"""


def steps(run: pliant.Result) -> int:
    assert run.status == "completed", run.message
    return run.timing.steps + run.timing.rejected


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("share", ["1", "(1 + 1e-14)", "(1 + 1e-12)"])
def test_equal_pressures_stretch_a_module(method, share: str) -> None:
    flop = pliant.derive("stiff_flop")
    ramp = {"p1": "40 kPa*t/(1 s)", "p2": "40 kPa*t/(1 s)", "p3": f"{share}*40 kPa*t/(1 s)"}
    run = pliant.simulate(flop, 0.5, inputs=ramp, method=method)
    assert steps(run) < 300
    tip = run["tip"].values
    assert np.abs(tip[:, :2]).max() < 1e-9
    assert tip[-1, 2] - tip[0, 2] > 3e-3


def test_pressures_from_different_functions_stretch_a_module() -> None:
    """Sines that are the same in different words, sampled with different errors; and recorded ones."""
    flop = pliant.derive("stiff_flop")
    same = {
        "p1": lambda t: 2e4 + 1e4 * math.sin(5 * t),
        "p2": lambda t: 2e4 + 1e4 * math.cos(5 * t - math.pi / 2),
        "p3": lambda t: 2e4 - 1e4 * math.sin(-5 * t),
    }
    assert steps(pliant.simulate(flop, 0.5, inputs=same)) < 300
    times = np.linspace(0, 0.5, 11)
    recorded = dict.fromkeys(same, (times, 2e4 * times**2, "cubic"))
    assert steps(pliant.simulate(flop, 0.5, inputs=recorded)) < 300


@pytest.mark.parametrize("count", [2, 3, 5])
def test_chambers_with_pressures_in_the_model(count: int) -> None:
    """Coordinates are rounded as a calculator does; as many steps are taken as with half of the robot's symmetry."""

    def tube(turned: float) -> pliant.Equations:
        angles = [2 * math.pi * k / count + (turned if k else 0) for k in range(count)]
        return pliant.derive(
            pliant.load_text(
                TUBE.format(
                    chambers=", ".join(
                        f'c{k}: {{pressure: "=20 kPa*(1 - cos(40*t/(1 s)))", radius: 2.5 mm, '
                        f"positions: [[{8 * math.cos(a)} mm, {8 * math.sin(a)} mm]]}}"
                        for k, a in enumerate(angles)
                    )
                )
            )
        )

    assert steps(pliant.simulate(tube(0.0), 0.2)) < 1.5 * steps(pliant.simulate(tube(1e-3), 0.2))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize(
    ("force", "push"),
    [
        ("push*cos(0.3) - 0.4*push*cos(0.3) - 0.6*push*cos(0.3)", "5 N*sin(7*t/(1 s))"),
        ("push", "1 N*(sin(7*t/(1 s))^2 + cos(7*t/(1 s))^2 - 1)"),
        ("1 N*(sin(7*t/(1 s))^2 + cos(7*t/(1 s))^2 - 1) + 0*push", "0 N"),
    ],
)
def test_forces_on_a_cart_that_cancel(force: str, push: str, method) -> None:
    run = pliant.simulate(
        pliant.derive(pliant.load_text(CART.format(force=force))), 1.0, inputs={"push": push}, method=method
    )
    assert steps(run) < 100
    assert np.abs(run.q).max() < 1e-14


def test_a_force_next_to_one_that_cancels_is_followed() -> None:
    """A pulse of a hundredth of the forces that cancel."""
    force = "push*cos(0.3) - 0.4*push*cos(0.3) - 0.6*push*cos(0.3) + 5e-2 N*exp(-((t - 0.7 s)/(1 ms))^2)"
    run = pliant.simulate(
        pliant.derive(pliant.load_text(CART.format(force=force))), 1.0, inputs={"push": "5 N*sin(7*t/(1 s))"}
    )
    assert run.v[-1, 0] == pytest.approx(5e-5 * math.sqrt(math.pi), rel=1e-2)


def test_a_new_arm_stretches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "arm.yaml")
    assert command(["new", file, "--kind", "arm"]) == 0
    assert command(["simulate", file, "--until", "0.3", "--input", "pressure=40 kPa*t"]) == 0
