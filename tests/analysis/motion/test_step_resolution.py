"""Motions that steps misrepresent: growth that they damp, and vibrations that a fixed step distorts, have a remark."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.analysis.integrators import Method

STEP = 1e-3
METHODS = {
    "explicit": pliant.ExplicitRungeKutta(step=STEP),
    "implicit": pliant.Rosenbrock(step=STEP),
    "generalized_alpha": pliant.GeneralizedAlpha(step=STEP),
    "newmark": pliant.Newmark(step=STEP),
    "semi_implicit": pliant.SemiImplicit(step=STEP),
    "symplectic_euler": pliant.SymplecticEuler(step=STEP),
}


def two_bodies(fast: str) -> pliant.Equations:
    """A body that moves slowly, and a light one that does not affect it."""
    return pliant.derive(
        pliant.load_text(
            f"""
pliant: 1
name: two_bodies
bodies:
  slow: {{mass: 1 kg}}
  fast: {{mass: 10 g}}
joints:
  s: {{type: prismatic, child: slow, axis: x, displacement: {{spring: 40 N/m, rate: 1 m/s}}}}
  f: {{type: prismatic, child: fast, axis: y, displacement: {{{fast}}}}}
"""
        )
    )


def unstable(run: pliant.Result) -> list[str]:
    """The remarks on damped growth."""
    return [note for note in run.remarks if note.startswith("the robot is unstable")]


def distorted(run: pliant.Result) -> list[str]:
    """The remarks on vibrations."""
    return [note for note in run.remarks if note.startswith("a vibration of")]


@pytest.mark.parametrize("damping_ratio", [0.0, 0.1, -0.05])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.filterwarnings("ignore:.*drives the motion")
def test_the_amplification_of_a_method_is_that_of_its_steps(method: Method, damping_ratio: float) -> None:
    rate = 0.7 / STEP
    damper, stiffness = 2 * damping_ratio * rate, rate**2
    eqs = pliant.derive(
        pliant.load_text(
            f"""
pliant: 1
name: one_body
bodies: {{b: {{mass: 1 kg}}}}
joints:
  j: {{type: prismatic, child: b, axis: x, displacement: {{spring: {stiffness} N/m, damper: {damper} N*s/m, rate: 1 m/s}}}}
"""
        )
    )
    x = pliant.simulate(eqs, 60 * STEP, method=method, save_every=STEP).q[40:, 0]  # other roots have decayed
    factor = method.amplification(rate * STEP * complex(-damping_ratio, np.sqrt(1 - damping_ratio**2)))
    np.testing.assert_allclose(
        x[2:], 2 * factor.real * x[1:-1] - abs(factor) ** 2 * x[:-2], atol=1e-6 * np.abs(x).max()
    )


@pytest.mark.parametrize(
    ("fast", "growth"),
    [
        ("spring: 100 N/m, damper: -1e5 N*s/m, rate: 0.1 m/s", 1e-2 / 1e5),
        ("spring: -1e6 N/m, rate: 0.1 m/s", np.sqrt(1e-2 / 1e6)),
        ("spring: -1e6 N/m, rate: 1e-9 m/s", np.sqrt(1e-2 / 1e6)),
        ("spring: 1e8 N/m, damper: -10 N*s/m, rate: 1e-9 m/s", 2 * 1e-2 / 10),
    ],
)
@pytest.mark.filterwarnings("ignore:.*below zero")
def test_growth_that_the_steps_damp_has_a_remark_with_its_frame_and_time(fast: str, growth: float) -> None:
    run = pliant.simulate(two_bodies(fast), 1.0)
    assert np.abs(run.v[-1, 1]) < 0.1  # it does not show the growth
    (note,) = unstable(run)
    assert "'fast'" in note
    assert f"by a factor e in {growth:.2g} s" in note


@pytest.mark.filterwarnings("ignore:.*below zero")
def test_growth_that_the_steps_resolve_has_none() -> None:
    run = pliant.simulate(two_bodies("spring: -100 N/m, rate: 1e-6 m/s"), 0.2)
    assert run.v[-1, 1] == pytest.approx(1e-6 * np.cosh(100 * 0.2), rel=1e-4)
    assert not unstable(run)


def follower(force: float) -> pliant.Equations:
    """Ziegler's column: two bars with stiff springs and a force along the second one, which flutters beyond 2.09 k / l."""
    return pliant.derive(
        pliant.load_text(
            f"""
pliant: 1
name: column
world: {{gravity: [0, 0, 0]}}
bodies:
  lower: {{mass: 2 kg, center_of_mass: [0, 0, 1], inertia: {{principal: [1e-9, 1e-9, 1e-9]}}}}
  upper: {{mass: 1 kg, center_of_mass: [0, 0, 1], inertia: {{principal: [1e-9, 1e-9, 1e-9]}}}}
  slow: {{mass: 1 kg}}
joints:
  j1: {{type: revolute, child: lower, axis: y, angle: {{spring: 1e8, initial: 1e-9}}}}
  j2: {{type: revolute, parent: lower, child: upper, position: [0, 0, 1], axis: y, angle: {{spring: 1e8}}}}
  s: {{type: prismatic, child: slow, axis: x, displacement: {{spring: 40 N/m, rate: 1 m/s}}}}
loads:
  tip: {{frame: upper, position: [0, 0, 1], force: [0, 0, {-force}], expressed_in: upper}}
"""
        )
    )


def test_flutter_under_a_follower_load_has_a_remark() -> None:
    assert not unstable(pliant.simulate(follower(2.05e8), 1.0))
    (note,) = unstable(pliant.simulate(follower(2.12e8), 1.0))
    assert "vibrates at" in note


@pytest.mark.parametrize("name", ["cart_pole", "cc_arm_2", "four_bar", "hopper", "leg", "trunk", "tumbling_body"])
def test_bundled_robots_have_no_such_remark(name: str) -> None:
    run = pliant.simulate(pliant.derive(pliant.load(name)), 0.3)
    assert not unstable(run)
    assert not distorted(run)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_vibration_that_a_fixed_step_distorts_has_a_remark(method: Method) -> None:
    per_step = 1.5 if method.name == "explicit" else 1.0
    stiffness = 0.01 * (per_step / STEP) ** 2
    run = pliant.simulate(two_bodies(f"spring: {stiffness} N/m, rate: 0.5 m/s"), 1.0, method=method, save_every=STEP)
    exact = 0.5 * np.cos(per_step / STEP * run.time)
    assert np.abs(run.v[:, 1] - exact).max() > 0.25
    (note,) = distorted(run)
    assert "'fast'" in note
    assert f"{per_step / STEP / (2 * np.pi):.2g} Hz" in note


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_vibration_that_a_fixed_step_resolves_has_none(method: Method) -> None:
    rate = (0.004 if method.name == "semi_implicit" else 0.05) / STEP
    run = pliant.simulate(
        two_bodies(f"spring: {0.01 * rate**2} N/m, rate: 0.5 m/s"), 1.0, method=method, save_every=STEP
    )
    assert np.abs(run.v[:, 1] - 0.5 * np.cos(rate * run.time)).max() < 0.03
    assert not distorted(run)


def test_a_vibration_that_semi_implicit_steps_erase_has_a_remark_after_a_jump_too() -> None:
    eqs = two_bodies('spring: 1e6 N/m, input: "=if(t < 0.3 s, 0 N, 500 N)"')
    (note,) = distorted(pliant.simulate(eqs, 1.0, method=pliant.SemiImplicit(step=STEP)))
    assert "was lost" in note
