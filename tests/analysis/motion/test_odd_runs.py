"""Long and odd runs: times far from zero, weeks, many jumps, few samples, sizes at both ends."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy as np
import pytest

import pliant

WINCH = """
pliant: 1
parameters: {wound: {value: 0 m, input: true}}
bodies: {load: {mass: 2 kg, shape: {type: sphere, radius: 5 cm}}}
joints: {rail: {type: prismatic, child: load, axis: z, displacement: {initial: -1 m, damper: 3 N*s/m}}}
tendons: {rope: {type: elastic, through: [world, load], stiffness: 400 N/m, rest: 0.9 m, shortening: =wound}}
"""


@pytest.fixture(scope="module")
def pendulum() -> pliant.Equations:
    return pliant.derive("pendulum")


@pytest.fixture(scope="module")
def winch() -> pliant.Equations:
    return pliant.derive(pliant.load_text(WINCH))


def missing(run: pliant.Result) -> float:
    """Energy that is missing from the balance at any time, relative to the kinetic energy."""
    kinetic, potential, dissipated, supplied = (
        run.recorded[x] for x in ("kinetic", "potential", "dissipated", "supplied")
    )
    balance = kinetic + potential + dissipated - supplied
    return float(np.abs(balance - balance[0]).max() / kinetic.max())


@pytest.mark.parametrize("begin", [1e6, -1e6, 1e9])
def test_a_run_far_from_zero_is_the_one_at_zero(pendulum: pliant.Equations, begin: float) -> None:
    here = pliant.simulate(pendulum, 0.5, save_every=0.15)
    there = pliant.simulate(pendulum, begin + 0.5, begin=begin, save_every=0.15)
    assert there.time - begin == pytest.approx(here.time, abs=1e-15 * abs(begin))
    assert len(there.time) == 5  # the end is saved, though it is less than an interval after the last of them
    assert there.q == pytest.approx(here.q, abs=2e-15 * abs(begin) + 1e-12)


def test_spans_and_steps_that_times_far_from_zero_cannot_tell_apart_are_refused(pendulum: pliant.Equations) -> None:
    with pytest.raises(pliant.ArgumentError, match="a span of 2 s is too short so far from zero"):
        pliant.simulate(pendulum, 1e15 + 2, begin=1e15)
    with pytest.raises(pliant.ArgumentError, match="step=1e-11 s is too short so far from zero"):
        pliant.simulate(pendulum, 1e6 + 1e-3, begin=1e6, method="semi_implicit", step=1e-11)
    with pytest.raises(pliant.ArgumentError, match="save_every=1e-10 s is too short so far from zero"):
        pliant.simulate(pendulum, 1e6 + 1e-4, begin=1e6, save_every=1e-10)


@pytest.mark.parametrize("until", [0.0, -1.0])
def test_a_run_of_no_length_is_refused(pendulum: pliant.Equations, until: float) -> None:
    with pytest.raises(pliant.ArgumentError, match="the time span must go forward"):
        pliant.simulate(pendulum, until)


def test_few_and_many_samples(pendulum: pliant.Equations) -> None:
    whole = pliant.simulate(pendulum, 1.0)
    for at in (0.0, 1.0):
        one = pliant.simulate(pendulum, 1.0, save_at=[at])
        assert one.time.tolist() == [at]
        assert one.q[0] == pytest.approx(whole.q[int(200 * at)], abs=1e-6)
    assert pliant.simulate(pendulum, 1.0, save_every=5.0).time.tolist() == [0.0, 1.0]
    with pytest.raises(pliant.ArgumentError, match="gives 1e\\+09 states; save at most 5,000,000"):
        pliant.simulate(pendulum, 1.0, save_every=1e-9)


def test_a_week_of_a_damped_pendulum_takes_few_steps() -> None:
    week = 7 * 24 * 3600.0
    run = pliant.simulate(pliant.derive(pliant.load("pendulum", variant="damped")), week)
    assert run.time[-1] == week
    assert run.timing.steps < 2000
    assert np.abs(run.v[-1]).max() < 1e-6


def test_a_week_under_a_force_that_changes_by_the_hour() -> None:
    """What is damped follows the force: the spring's length is force over stiffness all week."""
    eqs = pliant.derive(
        pliant.load_text("""
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {pull: {value: 0 N, input: true}}
bodies: {cart: {mass: 2 kg}}
joints: {rail: {type: prismatic, child: cart, axis: x, displacement: {spring: 400 N/m, damper: 30 N*s/m, input: =pull}}}
""")
    )
    week = 7 * 24 * 3600.0
    force = "20 N * sin(2*pi*t / 1 h)"
    # 5 cm to and fro each hour, which steps follow at their ends, and interpolation between them to some percent
    for samples, off in (({"save_at": np.arange(0.0, week + 1, 600.0)}, 1e-5), ({"save_every": 600.0}, 1.5e-3)):
        run = pliant.simulate(eqs, week, inputs={"pull": force}, **samples)
        assert len(run.time) == 1009
        assert run.q[:, 0] == pytest.approx(20 / 400 * np.sin(2 * np.pi * run.time / 3600), abs=off)
        assert run.timing.steps < 3000


@pytest.mark.skipif("PLIANT_SANITIZED" in os.environ, reason="sanitizers keep freed memory")
def test_millions_of_fixed_steps_are_saved_in_flat_memory(pendulum: pliant.Equations, tmp_path: Path) -> None:
    """Of a million steps, and of ten with PLIANT_LONG=1, a thousand states are saved; the energy stays what it was."""
    steps = 10_000_000 if os.environ.get("PLIANT_LONG") else 1_000_000
    step = 1e-3
    pliant.simulate(pendulum, 1.0, method="generalized_alpha", step=step)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = pliant.simulate(
        pendulum,
        steps * step,
        method="semi_implicit",
        step=step,
        save_every=steps * step / 1000,
        out=tmp_path / "long.nc",
    )
    assert run.timing.steps == steps
    assert len(run.time) == 1001
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    )  # kB; all states would be 10 times as many
    saved = pliant.load_result(tmp_path / "long.nc")
    assert np.array_equal(saved.q, run.q)


def test_a_jump_far_from_zero_is_met(winch: pliant.Equations) -> None:
    """At a time whose round-off is a tenth of a nanosecond the winch winds in at once, and its work is counted."""
    begin = 1e6
    runs = [
        pliant.simulate(
            winch, at + 0.6, begin=at, save_every=0.1, rtol=1e-6,
            inputs={"wound": f"if(t < {at + 0.3!r} s, 0 m, 20 cm)"},
        )
        for at in (0.0, begin)
    ]  # fmt: skip
    assert runs[1].q == pytest.approx(runs[0].q, abs=1e-6)
    assert missing(runs[1]) < 1e-4


def test_steps_end_exactly_at_saved_times(winch: pliant.Equations) -> None:
    times = np.sort(np.random.default_rng(1).uniform(0, 1, 40))
    run = pliant.simulate(winch, 1.0, save_at=times)
    assert np.array_equal(run.time, times)
    exact = pliant.simulate(winch, 1.0, save_at=times, rtol=1e-9)
    assert run.q == pytest.approx(exact.q, abs=1e-4)


@pytest.mark.parametrize("method", [None, "explicit", "implicit", "generalized_alpha"])
@pytest.mark.parametrize("jump", ["0.3 s", "0.305 s"])
def test_energy_that_a_jump_of_an_input_stores_is_supplied(
    winch: pliant.Equations, method: str | None, jump: str
) -> None:
    """A winch that winds in 20 cm at once, at a saved time or between two: the rope's energy is the winch's work."""
    run = pliant.simulate(
        winch, 0.6, inputs={"wound": f"if(t < {jump}, 0 m, 20 cm)"}, save_every=0.01, method=method, rtol=1e-6
    )
    stored = np.ptp(run.recorded["supplied"])
    assert stored > 8.0  # 200 N/m ((e + 0.2 m)^2 - e^2)
    assert missing(run) < 1e-4


def test_a_thousand_jumps(winch: pliant.Equations) -> None:
    times = np.linspace(0, 1, 1001)
    values = np.where(np.arange(1001) % 2, 0.02, 0.0)
    run = pliant.simulate(winch, 0.9995, inputs={"wound": (times, values, "previous")}, save_every=0.005, rtol=1e-6)
    assert run.timing.steps >= 1000
    assert missing(run) < 1e-4


def test_a_controller_that_winds_in_at_once_supplies_what_the_rope_stores(winch: pliant.Equations) -> None:
    def wind(now: pliant.Now) -> None:
        if now.t >= 0.2:
            now.inputs["wound"] = 0.1

    run = pliant.simulate(winch, 0.4, mid_step=wind, rtol=1e-6)
    assert run.inputs["wound"][-1] == 0.1
    assert missing(run) < 1e-4


def test_what_is_stiff_does_not_swing_out_between_samples() -> None:
    """A jump tears a damped strut off its balance for microseconds of a step of milliseconds: neither samples nor what is
    dissipated may follow the acceleration at the beginning of that step."""
    eqs = pliant.derive(
        pliant.load_text("""
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: {value: 0 N, input: true}}
bodies: {cart: {mass: 10 kg}, pad: {mass: 1 g}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {spring: 400 N/m, initial: 10 cm}}
  strut: {type: prismatic, parent: cart, child: pad, axis: x, displacement: {spring: 1e7 N/m, damper: 3000 N*s/m, input: =push}}
""")
    )
    run = pliant.simulate(eqs, 1.0, inputs={"push": "if(t < 0.5 s, 0 N, 1 kN)"}, method="implicit")
    assert np.abs(run["strut"].values).max() < 2e-4  # 1 kN / 1e7 N/m, and a thousandth of the cart's way
    # what the push did went half into the strut's spring, half into its damper: 0.05 J each
    assert run.recorded["dissipated"][-1] < 0.2


def test_a_robot_that_stays_at_rest_exchanges_no_energy() -> None:
    """Its energies are round-off, of which any share may be missing."""
    assert pliant.simulate(pliant.derive("leaf_spring"), 1.0).remarks == ()


PUSHED = """
pliant: 1
parameters: {push: {value: 0 m, input: true}}
materials: {steel: {density: 7850 kg/m^3, youngs_modulus: 207 GPa, poissons_ratio: 0.3}}
sections: {wire: {shape: circle, radius: 0.7 mm}}
bodies: {slider: {mass: 50 g}, end: {mass: 50 g, shape: {type: box, size: [1 cm, 1 cm, 1 cm]}}}
joints:
  rail: {type: prismatic, child: slider, axis: x, displacement: {motion: =push}}
  hold: {type: weld, child: end, parent: leg.tip}
rods:
  leg:
    parent: slider
    rotation: {axis: y, angle: 90 deg}
    length: 0.4 m
    section: wire
    material: steel
    rayleigh: {ratio: 0.02, modes: [1, 2]}
    model: {kind: finite_element, elements: 6}
inputs: {push: "=3 cm*min(1, t/(1 s))"}
"""


@pytest.mark.parametrize("method", ["implicit", "generalized_alpha"])
def test_vibrations_after_a_jump_of_a_prescribed_velocity_are_damped_by_no_more_energy_than_they_have(
    method: str,
) -> None:
    eqs = pliant.derive(pliant.load_text(PUSHED))
    run = pliant.simulate(eqs, 2.0, method=method)
    jump = np.searchsorted(run.time, 1.0)
    dissipated = run.recorded["dissipated"]
    assert dissipated[jump + 5] - dissipated[jump - 1] < run.recorded["kinetic"].max()
    assert not [note for note in run.remarks if "energy exchanged" in note]


BRAKED = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies: {{carriage: {{mass: 1 kg}}, arm: {{mass: 2 kg, shape: {{type: box, size: [10 cm, 10 cm, 40 cm]}}}}}}
joints:
  base: {{child: carriage, {base}}}
  hinge: {{type: revolute, parent: carriage, child: arm, axis: y, angle: {{rate: -2, spring: 10, damper: 0.1}}}}
tendons:
  wire:
    type: tension
    through:
      - {{frame: carriage, position: [0.2, 0, -0.1]}}
      - {{frame: arm, position: [0.1, 0, 0.1]}}
      - {{frame: carriage, position: [0.3, 0, 0]}}
    tension: =if(t < 0.1 s, 0 N, 20 N)
    friction: 0.3
    slip_speed: 3 cm/s
"""


@pytest.mark.parametrize("method", ["explicit", "implicit", "generalized_alpha"])
def test_friction_that_begins_suddenly_is_the_same_on_a_driven_base(method: str) -> None:
    """Power is dissipated at once, although no velocity jumps. A base in uniform motion changes nothing."""
    fixed, driven = (
        pliant.simulate(pliant.derive(pliant.load_text(BRAKED.format(base=base))), 0.3, method=method)["hinge"]
        for base in ("type: weld", 'type: prismatic, axis: [0.6, 0.8, 0], displacement: {motion: "=0.3 m/s * t"}')
    )
    assert np.ptp(fixed) > 0.2
    assert driven == pytest.approx(fixed, abs=2e-3 * np.ptp(fixed))
