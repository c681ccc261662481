"""Loads given as text: the same as built-in ones where these exist, powers, and messages."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Oracle

from pliant.analysis.derivation.derive import derive
from pliant.analysis.simulate import simulate
from pliant.engine.equations import Equations
from pliant.language.faults import SpecError
from pliant.robot.reader import load_text

MODELS = [
    "{kind: pcs, elements: 3}", "{kind: gvs, order: 1}", "{kind: cosserat, elements: 4}", "{kind: polynomial, order: 2}",
    "{kind: finite_element, elements: 2}", "{kind: timoshenko, elements: 3}", "{kind: pcc, sections: 2}",
]  # fmt: skip
TEXT = """
pliant: 1
parameters: {{c: 0.4 N*s^2/m^3, w: {{value: 0.2 N, input: true}}}}
sections: {{cut: {{shape: circle, radius: 1 cm}}}}
materials: {{rubber: {{density: 1100 kg/m^3, youngs_modulus: 0.3 MPa, poissons_ratio: 0.48}}}}
rods: {{arm: {{length: 40 cm, section: cut, material: rubber, rotation: {{axis: x, angle: 100 deg}}, model: {model}}}}}
loads: {{own: {load}}}
"""


def arm(model: str, load: str) -> Equations:
    return derive(load_text(TEXT.format(model=model, load=load)))


@pytest.mark.parametrize("model", MODELS)
def test_constant_text_is_a_distributed_load(model: str) -> None:
    signals = "=w/1 m*sin(t/1 s), 0, =0.3 N/m"
    ours = arm(model, f"{{type: field, rod: arm, force_per_length: [{signals}]}}")
    theirs = arm(model, f"{{type: distributed, rod: arm, force: [{signals}]}}")
    rng, state = np.random.default_rng(0), ours.initial_state()
    v = 0.1 * rng.normal(size=len(state.v))
    for t in (0.0, 0.7):
        x, y = (e.binding.inverse(t, np.asarray(state.q), v, 0 * v) for e in (ours, theirs))
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-11)


EVERYTHING = """{type: field, rod: arm,
  force_per_length: ["=-c*vx*abs(vx) + w*tx/1 m", "=0.2 N/m*sin(3*z/1 m + t/1 s)", "=0.1 N*s/m*wy*(s/1 m)"],
  torque_per_length: ["=1 mN*s*wx*ty", 0, "=w*(y/1 m)*(s/10 m)"]}"""


@pytest.mark.parametrize("model", MODELS)
def test_the_runtime_agrees_with_symbols(model: str) -> None:
    eqs = arm(model, EVERYTHING)
    binding, oracle = eqs.binding, Oracle(eqs.binding)
    rng, state = np.random.default_rng(1), eqs.initial_state()
    _, moves = binding.sizes(np.asarray(state.q))
    v, a = (0.3 * rng.normal(size=len(moves)) * moves for _ in range(2))
    q = binding.increment(np.asarray(state.q), 0.1 * v)
    np.testing.assert_allclose(binding.inverse(0.3, q, v, a), oracle.inverse(0.3, q, v, a), rtol=1e-9, atol=1e-10)
    x, y = (e.linearized(0.3, q, v, a, np.zeros(0)) for e in (binding, oracle))
    for name in ("stiffness", "damping"):
        found, true = getattr(x, name).toarray(), getattr(y, name).toarray()
        np.testing.assert_allclose(found, true, rtol=0, atol=1e-9 * np.abs(true).max())


def test_energy() -> None:
    """All work of the text counts as supplied."""
    run = simulate(arm(MODELS[0], EVERYTHING), 0.5, save_every=0.02, rtol=1e-8, atol=1e-10)
    energy = {name: np.asarray(run.energy[name]) for name in ("total", "dissipated", "supplied")}
    balance = energy["total"] + energy["dissipated"] - energy["supplied"]
    assert np.ptp(energy["supplied"]) > 1e-3
    assert np.ptp(balance) < 1e-5 * max(np.ptp(x) for x in energy.values())


def test_on_a_body() -> None:
    """A damped oscillator whose spring and damper are text: as the exact solution."""
    text = """
    pliant: 1
    world: {gravity: [0, 0, 0]}
    parameters: {k: 8 N/m}
    bodies: {ball: {mass: 2 kg}}
    joints: {drop: {type: prismatic, axis: x, child: ball, displacement: {initial: 10 cm}}}
    loads: {own: {type: field, body: ball, force: ["=-k*x - 0.8 N*s/m*vx", 0, 0]}}
    """
    run = simulate(derive(load_text(text)), 3.0, save_every=0.1, rtol=1e-9, atol=1e-10)
    time, decay = np.asarray(run.time), 0.2
    rate = np.sqrt(4 - decay**2)
    exact = 0.1 * np.exp(-decay * time) * (np.cos(rate * time) + decay / rate * np.sin(rate * time))
    np.testing.assert_allclose(np.asarray(run.q)[:, 0], exact, atol=1e-7)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ("{type: field, rod: arm, force_per_length: ['=c*vx', 0, 0]}", "force_per_length.0.: expected a stiffness"),
        ("{type: field, rod: arm, force_per_length: ['=q*vx', 0, 0]}", "unknown parameter or state 'q'"),
        ("{type: field, rod: arm, force: [1, 0, 0]}", "write `force_per_length`"),
        ("{type: field, force: [1, 0, 0]}", "give one of `rod` and `body`"),
        ("{type: field, rod: arm, body: arm.tip}", "give one of `rod` and `body`"),
        ("{type: field, rod: leg}", "leg"),
    ],
)
def test_messages(load: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        arm(MODELS[0], load)
