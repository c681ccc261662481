"""A fluid on rods: forces against integrals over the rod, exact tangents, energy, and messages."""

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
    "{kind: pcs, elements: 3}", "{kind: pseudo_rigid, elements: 4}", "{kind: gvs, order: 1}", "{kind: cosserat, elements: 4}",
    "{kind: polynomial, order: 2}", "{kind: finite_element, elements: 2}", "{kind: timoshenko, elements: 3}",
    "{kind: pcc, sections: 2}",
]  # fmt: skip
"""One of each form of pieces: on nodes in series, on one element, between absolute sections, along arcs."""

TEXT = """
pliant: 1
parameters: {{u: 0.3 m/s, w: {{value: 0.2 m/s, input: true}}, density: 1000 kg/m^3}}
world: {{fluid: {{density: =density, {fluid}}}}}
sections: {{cut: {{shape: {shape}}}}}
materials: {{rubber: {{density: 1100 kg/m^3, youngs_modulus: 0.3 MPa, poissons_ratio: 0.48}}}}
rods:
  reed: {{length: 40 cm, section: cut, material: rubber, rotation: {{axis: [1, 0.3, 0], angle: 130 deg}}, model: {model}}}
"""
CURRENT = 'viscosity: 1 mPa*s, current: ["=u*(1 + (z/1 m)^2 + y/2 m)", "=w*sin(2*pi*t/1 s + x/1 m)", "=0.1 m/s*t/1 s"]'
ROUND, FLAT = "circle, radius: 1 cm", "rectangle, width: 3 cm, height: 5 mm"


def reed(model: str, fluid: str = CURRENT, shape: str = ROUND) -> Equations:
    return derive(load_text(TEXT.format(fluid=fluid, shape=shape, model=model)))


def random_state(eqs: Equations, seed: int = 0) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """A state near the initial one: coordinates and rates have the sizes of a moderate motion."""
    rng = np.random.default_rng(seed)
    binding = eqs.binding
    q = np.asarray(eqs.initial_state().q)
    n = len(np.asarray(eqs.initial_state().v))
    _, moves = binding.sizes(q)
    q = binding.increment(q, 0.05 * rng.normal(size=n) * moves)
    return 0.3, q, 0.5 * rng.normal(size=n) * moves, rng.normal(size=n) * moves


@pytest.mark.parametrize(("shape", "surface"), [(ROUND, ""), (FLAT, ", surface: -12 cm")])
@pytest.mark.parametrize("model", MODELS)
def test_the_runtime_agrees_with_symbols(model: str, shape: str, surface: str) -> None:
    """Forces, accelerations, energies, powers, and the matrices of small motions."""
    binding = reed(model, CURRENT + surface, shape).binding
    oracle = Oracle(binding)
    t, q, v, a = random_state(reed(model, CURRENT + surface, shape))
    np.testing.assert_allclose(binding.inverse(t, q, v, a), oracle.inverse(t, q, v, a), rtol=1e-9, atol=1e-10)
    ours, exact = (e.forward(t, q, v)[0] for e in (binding, oracle))
    np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-7 * np.abs(exact).max())
    np.testing.assert_allclose(binding.energies(t, q, v), oracle.energies(t, q, v), rtol=1e-10, atol=1e-12)
    none = np.zeros(0)
    x, y = (e.linearized(t, q, v, a, none) for e in (binding, oracle))
    for name in ("stiffness", "damping", "mass"):
        found, true = getattr(x, name).toarray(), getattr(y, name).toarray()
        np.testing.assert_allclose(found, true, rtol=0, atol=1e-9 * np.abs(true).max())


@pytest.mark.parametrize(("model", "munk"), [(MODELS[0], "munk_moment: true"), *((model, "") for model in MODELS)])
def test_energy_closes_in_a_current(model: str, munk: str) -> None:
    """What the fluid takes and what the motion keeps is what gravity and the current put in."""
    model = f"{model}, fluid: {{{munk}}}"
    run = simulate(reed(model, CURRENT + ", surface: -12 cm", FLAT), 0.2, save_every=0.01, rtol=1e-8, atol=1e-9)
    energy = {name: np.asarray(run.energy[name]) for name in ("total", "dissipated", "supplied")}
    balance = energy["total"] + energy["dissipated"] - energy["supplied"]
    assert np.all(np.diff(energy["dissipated"]) >= 0)
    assert np.ptp(balance) < 2e-6 * max(np.ptp(x) for x in energy.values())


STRAIGHT = """
pliant: 1
world: {{gravity: {gravity}, fluid: {fluid}}}
sections: {{cut: {{shape: {shape}}}}}
materials: {{rubber: {{density: 1100 kg/m^3, youngs_modulus: 0.3 MPa, poissons_ratio: 0.48}}}}
bodies: {{base: {{mass: 1 g, inertia: {{principal: [1e-6, 1e-6, 1e-6]}}}}}}
joints: {{free: {{type: free, child: base{rates}}}}}
rods: {{reed: {{parent: base, length: 40 cm, section: cut, material: rubber, model: {model}{more}}}}}
"""


def straight(
    model: str, fluid: str, shape: str = ROUND, rates: str = "", more: str = "", gravity: str = "[0, 0, 0]"
) -> Equations:
    """A straight rod on a base that moves with these rates."""
    return derive(
        load_text(STRAIGHT.format(fluid=fluid, shape=shape, rates=rates, more=more, model=model, gravity=gravity))
    )


def translations(model: str) -> np.ndarray:
    """Rates of all coordinates when the rod moves as one along x, y and z, as columns."""
    made = [straight(model, "{density: 1}", rates=f", {axis}: {{rate: 1 m/s}}").initial_state().v for axis in "xyz"]
    return np.array(made).T


def total_force(model: str, fluid: str, **given: str) -> np.ndarray:
    """Force [N] on the rod and its base: the power of all forces per speed of a translation."""
    eqs = straight(model, fluid, **given)
    state = eqs.initial_state()
    residual = eqs.binding.inverse(0.0, np.asarray(state.q), np.asarray(state.v), np.zeros(len(state.v)))
    return -translations(model).T @ residual


@pytest.mark.parametrize("model", MODELS)
def test_weight_and_buoyancy(model: str) -> None:
    """(density of the rod - density of the fluid) times its volume; a flooded tube displaces its wall."""
    tube, wall = "annulus, outer_radius: 1 cm, inner_radius: 8 mm", np.pi * 0.4 * (1e-4 - 0.64e-4)
    for inside, volume in (("closed", np.pi * 0.4 * 1e-4), ("flooded", wall)):
        more = f", fluid: {{inside: {inside}}}"
        found = total_force(model, "{density: 1000}", shape=tube, more=more, gravity="[0, 0, -9.81]")
        exact = (1000 * volume - 1100 * wall - 1e-3) * 9.81
        np.testing.assert_allclose(found, [0, 0, exact], atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_drag_of_a_straight_rod_that_turns(model: str) -> None:
    """At w s across at arc length s: the integral of (1/2 density C W |v| v + k v)."""
    rates = ", x: {rate: 0.2 m/s}, orientation: {rate: [0, 1.5 rad/s, 0]}"
    fluid = "{density: 900, viscosity: 0.2 Pa*s}"
    more = ", fluid: {normal_drag: 1.3, viscous_drag: 0.7 Pa*s, axial_drag: 0, added_mass: 0}"
    dry = total_force(model, fluid, rates=rates, more=", fluid: {immersed: false}")
    found = total_force(model, fluid, rates=rates, more=more) - dry
    s = (np.arange(4000) + 0.5) / 4000 * 0.4
    v = 0.2 + 1.5 * s
    exact = -np.sum(0.5 * 900 * 1.3 * 0.02 * v**2 + 0.7 * v) * 0.4 / 4000
    np.testing.assert_allclose(found, [exact, 0, 0], rtol=2e-3, atol=1e-9)


@pytest.mark.parametrize("rate", [0.1, 5e-4, 2.5e-6])  # Reynolds numbers of 2000, 10 and 0.05
def test_drag_by_reynolds_number(rate: float) -> None:
    """White's curve for a cylinder across the flow, and the drag of a thin cylinder in slow flow."""
    given = {"rates": f", x: {{rate: {rate} m/s}}"}
    found = -total_force(MODELS[0], "{density: 1000, viscosity: 1 mPa*s}", **given)[0]
    number = 1000 * rate * 0.02 / 1e-3
    if number < 1:
        slow = 4 * np.pi * 1e-3 / (np.log(20) + 0.839 + 0.185 / 20 + 0.233 / 400)
        np.testing.assert_allclose(found, slow * rate * 0.4, rtol=0.2)
        return
    curve = 1 + 10 / number ** (2 / 3)
    np.testing.assert_allclose(found, 0.5 * 1000 * 0.02 * 0.4 * curve * rate**2, rtol=0.06)


@pytest.mark.parametrize("model", MODELS)
def test_the_fluid_moved_aside_adds_mass(model: str) -> None:
    """Mass of a rod moved across is that of the rod and of the displaced fluid; along it, the rod's."""
    moving, masses = translations(model), []
    for more in ("", ", fluid: {immersed: false}"):
        eqs = straight(model, "{density: 800}", more=more)
        masses.append(moving.T @ (eqs.mass_matrix(eqs.initial_state()) @ moving))
    np.testing.assert_allclose(masses[0] - masses[1], np.diag([1, 1, 0]) * 800 * np.pi * 1e-4 * 0.4, atol=1e-9)


def test_a_current_that_carries_a_rod_along() -> None:
    """A neutral closed rod is accelerated with the fluid around it: no force between them."""
    text = """
    pliant: 1
    world: {gravity: [0, 0, 0], fluid: {density: 1000, current: ["=0.3 m/s*sin(4*t/1 s)", "=0.1 m/s*(t/1 s)^2", 0]}}
    sections: {cut: {shape: circle, radius: 1 cm}}
    materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 3 MPa, poissons_ratio: 0.48}}
    bodies: {base: {mass: 1 ug, inertia: {principal: [1e-12, 1e-12, 1e-12]}}}
    joints: {free: {type: free, child: base}}
    rods: {reed: {parent: base, length: 40 cm, section: cut, material: rubber, model: {kind: pcs, elements: 2}}}
    """
    run = simulate(derive(load_text(text)), 1.0, save_every=0.1, rtol=1e-9, atol=1e-11)
    time = np.asarray(run.time)
    velocity = np.asarray(run.v)[:, :3]
    np.testing.assert_allclose(velocity[:, 0], 0.3 * np.sin(4 * time), atol=1e-5)
    np.testing.assert_allclose(velocity[:, 1], 0.1 * time**2, atol=1e-5)


@pytest.mark.parametrize("munk", ["false", "true"])
@pytest.mark.parametrize("model", MODELS)
def test_only_relative_motion_counts(model: str, munk: str) -> None:
    """A rod at rest in a current, and one that moves the other way through still water."""
    more, forces = f", fluid: {{munk_moment: {munk}}}", []
    for current, rates in (
        ("[0.3 m/s, 0.2 m/s, -0.4 m/s]", ""),
        ("[0, 0, 0]", ", x: {rate: -0.3 m/s}, y: {rate: -0.2 m/s}, z: {rate: 0.4 m/s}"),
    ):
        eqs = straight(model, f"{{density: 900, viscosity: 0.2 Pa*s, current: {current}}}", FLAT, rates, more)
        state = eqs.initial_state()
        forces.append(eqs.binding.inverse(0.0, np.asarray(state.q), np.asarray(state.v), np.zeros(len(state.v))))
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-9, atol=1e-12)
    turning = np.abs(forces[0]).max()
    assert turning > 0.1


NO_OUTLINE = """
pliant: 1
world: {fluid: {density: 1000 kg/m^3}}
sections: {cut: {shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1}}
rods: {reed: {length: 40 cm, section: cut}}
"""


def test_messages() -> None:
    with pytest.raises(SpecError, match="no outline on which the fluid could act"):
        derive(load_text(NO_OUTLINE))
    derive(load_text(NO_OUTLINE.replace("section: cut}", "section: cut, fluid: {diameter: 1 cm}}")))
    for bad, message in (
        ("normal_drag: -1", "must not be negative"),
        ("drag_ratio: 0", "must be above zero"),
        ("added_mass: [1, -2]", "must not be negative"),
        ("viscous_drag: 3 m", "expected a viscosity"),
    ):
        with pytest.raises(SpecError, match=message):
            load_text(NO_OUTLINE.replace("section: cut}", f"section: cut, fluid: {{{bad}}}}}"))


@pytest.mark.parametrize(
    ("density", "speed", "remarked"),
    [(1000, "800 m/s", False), (1000, "3 km/s", True), (1.2, "=900 m/s + x/1 s", True)],
)
def test_a_current_faster_than_sound_is_remarked(density: float, speed: str, remarked: bool) -> None:
    text = NO_OUTLINE.replace("1000 kg/m^3", f"{density}, current: [0, '{speed}', 0]")
    found = [fault for fault in load_text(text).remarks if "faster than sound" in str(fault)]
    assert bool(found) == remarked
