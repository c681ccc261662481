"""The linear Timoshenko element: published figures, textbook matrices assembled independently, moving bases, refusals."""

import numpy as np
import pytest
import scipy.linalg as la
from rod_cases import arm, static

from pliant import GeneralizedAlpha, derive, equilibrium, load, load_text, modes, simulate
from pliant.language.faults import SpecError


def test_frequencies_with_exact_shear_and_rotary_inertia():
    """Of cantilever A, from matrices that were assembled by hand [Hz]."""
    found = modes(derive(load("timoshenko_cantilever", variant="a_exact")), count=5).frequencies
    assert found == pytest.approx((186.097, 1160.148, 3223.149, 6252.664, 8656.802), abs=0.5e-3)


def test_the_better_element_comes_near_commercial_figures():
    found = modes(derive(load("timoshenko_cantilever", variant="b_exact")), count=3).frequencies
    assert found == pytest.approx([50.97, 317.5, 880.6], rel=1e-3)


def test_exact_shear_is_exact_at_the_tip():
    eqs = derive(load("timoshenko_cantilever", variant="a_exact"))
    L, E, bending, A = 0.15, 70e9, 2.5e-3 * 5e-3**3 / 12, 2.5e-3 * 5e-3
    shear, weight = 5 / 6 * E / (2 * 1.33) * A, 2600 * A * 9.81
    found = -equilibrium(eqs, parameters={"gravity": 9.81}).frames["beam.tip"].position[2]
    expected = 5 * (L**3 / (3 * E * bending) + L / shear) + weight * (L**4 / (8 * E * bending) + L**2 / (2 * shear))
    assert found == pytest.approx(expected, rel=1e-9)


def textbook(mass, shear, n=4):
    """Frequencies [Hz] of cantilever A in its plane (bending alone), from matrices as textbooks print them."""
    L, E, bending, A, rho = 0.15 / n, 70e9, 2.5e-3 * 5e-3**3 / 12, 2.5e-3 * 5e-3, 2600
    kGA = 5 / 6 * E / (2 * 1.33) * A
    phi = 12 * E * bending / (kGA * L**2) if shear == "exact" else None
    if phi is not None:
        a, b = 4 + phi, 2 - phi
        rows = [[12, 6 * L, -12, 6 * L], [6 * L, a * L**2, -6 * L, b * L**2]]
        rows += [[-12, -6 * L, 12, -6 * L], [6 * L, b * L**2, -6 * L, a * L**2]]
        K = E * bending / (L**3 * (1 + phi)) * np.array(rows)
    else:
        bend, lean = np.array([0, -1, 0, 1]) / L, np.array([-1 / L, -0.5, 1 / L, -0.5])
        K = E * bending * L * np.outer(bend, bend) + kGA * L * np.outer(lean, lean)
    linear = np.array([[2, 0, 1, 0], [0, 0, 0, 0], [1, 0, 2, 0], [0, 0, 0, 0]]) / 6
    turning = np.array([[0, 0, 0, 0], [0, 2, 0, 1], [0, 0, 0, 0], [0, 1, 0, 2]]) / 6
    rows = [[156, 22 * L, 54, -13 * L], [22 * L, 4 * L**2, 13 * L, -3 * L**2]]
    rows += [[54, 13 * L, 156, -22 * L], [-13 * L, -3 * L**2, -22 * L, 4 * L**2]]
    M = {
        "cubic": rho * A * L * np.array(rows) / 420 + rho * bending * L * turning,
        "linear": rho * A * L * linear + rho * bending * L * turning,
        "lumped": rho * L / 2 * np.diag([A, bending, A, bending]),
    }[mass]
    stiffness, inertia = np.zeros((2 * n + 2,) * 2), np.zeros((2 * n + 2,) * 2)
    for k in range(n):
        at = slice(2 * k, 2 * k + 4)
        stiffness[at, at] += K
        inertia[at, at] += M
    return np.sqrt(la.eigh(stiffness[2:, 2:], inertia[2:, 2:], eigvals_only=True)) / (2 * np.pi)


@pytest.mark.parametrize("shear", ["exact", "reduced"])
@pytest.mark.parametrize("mass", ["cubic", "linear", "lumped"])
def test_frequencies_are_those_of_textbook_matrices(mass, shear):
    spec = load("timoshenko_cantilever")
    changes = {"elements": 4, "mass": mass, "shear": shear, "rotary_inertia": True, "weight": "consistent"}
    rod = spec.rods["beam"].model_copy(update={"model": spec.rods["beam"].model.model_copy(update=changes)})
    found = modes(derive(spec.replace(rods={"beam": rod}))).frequencies
    for expected in textbook(mass, shear):
        assert np.abs(found / expected - 1).min() < 1e-8


BAR = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {bar: {shape: rectangle, width: 20 mm, height: 10 mm}}
materials: {steel: {density: 7800, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
rods: {arm: {length: 0.5 m, section: bar, material: steel}}
"""


def test_space_holds_both_planes():
    space = modes(arm("timoshenko:6", BAR)).frequencies
    for plane in ("xz", "yz"):
        for x in modes(arm("timoshenko:6", BAR, strains=f"planar_{plane}"), count=6).frequencies:
            assert np.abs(space / x - 1).min() < 1e-8
    assert modes(arm("finite_element:12", BAR), count=4).frequencies == pytest.approx(space[:4], rel=5e-3)


def test_torsion_is_that_of_linear_elements():
    text = BAR.replace("{shape: rectangle, width: 20 mm, height: 10 mm}", "{shape: circle, radius: 1 cm}")
    n, L = 6, 0.5
    wave = np.sqrt(200e9 / 2.6 / 7800)
    # c/L (2 sin(x/2)) sqrt(3 / (2 + cos x)) n with x = pi/2 / n: a clamped shaft in linear elements, consistent mass
    x = np.pi / 2 / n
    expected = wave * n / L * np.sqrt(6 * (1 - np.cos(x)) / (2 + np.cos(x))) / (2 * np.pi)
    found = modes(arm(f"timoshenko:{n}", text)).frequencies
    assert np.abs(found / expected - 1).min() < 1e-8


SWING = """
pliant: 1
world: {gravity: [0, 0, -9.81]}
sections: {bar: {shape: circle, radius: 5 mm}}
materials: {soft: {density: 1000, youngs_modulus: 2 GPa, poissons_ratio: 0.3}}
bodies: {hub: {mass: 0.1 kg, shape: {type: sphere, radius: 5 cm}}}
joints: {hinge: {type: revolute, child: hub, axis: y, angle: {initial: 60 deg}}}
rods: {arm: {parent: hub, rotation: [{axis: x, angle: 180 deg}], length: 0.6 m, section: bar, material: soft}}
"""


def test_on_a_moving_base_it_moves_as_the_geometrically_exact_rod():
    angles = []
    for word in ("timoshenko:3", "finite_element:3"):
        run = simulate(
            arm(word, SWING, strains="planar_xz"), 0.6, method=GeneralizedAlpha(step=1e-3), save_at=[0.2, 0.4, 0.6]
        )
        assert run.status == "completed"
        angles.append(run.q[:, 0])
    assert np.ptp(angles[1]) > 1
    # the beam bends by millimetres
    assert angles[0] == pytest.approx(angles[1], abs=5e-3)


def test_on_a_moving_base_no_power_is_lost():
    eqs = arm("timoshenko:2", SWING)
    rng = np.random.default_rng(4)
    q = eqs.initial_state().q + 0.05 * rng.normal(size=len(eqs.coordinates))
    v = rng.normal(size=len(q))
    a = eqs.forward_dynamics(q, v)[0]
    step = 1e-8
    after, before = (eqs.energy(q + x * v + x**2 / 2 * a, v + x * a).total for x in (step, -step))
    turned_over = np.abs(v) @ np.abs(eqs.bias(q, v))
    assert abs(after - before) / (2 * step) < 1e-7 * turned_over


def test_damping_takes_what_stiffness_proportional_damping_must():
    """damping = stiffness times t: ratio = omega t / 2 in every mode."""
    delay = 1e-5
    E, nu, b, h = 200e9, 0.3, 0.02, 0.01
    G, A = E / (2 * (1 + nu)), b * h
    shear = 10 * (1 + nu) / (12 + 11 * nu) * G * A
    stiffness = [shear, shear, E * A, E * b * h**3 / 12, E * h * b**3 / 12, 0]
    text = BAR.replace("material: steel", f"material: steel, damping: {[delay * k for k in stiffness]}")
    for word in ("timoshenko:4", "finite_element:4"):
        found = modes(arm(word, text, strains="planar_xz"), count=2)
        assert found.damping_ratios == pytest.approx(np.pi * found.frequencies * delay, rel=1e-6)


def test_what_it_cannot_do_is_refused():
    for extra, message in (
        ("law: neo_hookean, model: {kind: timoshenko}", "cannot follow the law 'neo_hookean'"),
        ("rest: [0, 0, 0, 1, 0, 0], model: {kind: timoshenko}", "straight at rest"),
        ("shape: {type: arc, angle: 1}, model: {kind: timoshenko}", "straight at rest"),
        ("model: {kind: timoshenko, rotary_inertia: false}", "rotations have no mass"),
        ("strains: planar, model: {kind: timoshenko, mass: lumped, rotary_inertia: false}", "rotations have no mass"),
    ):
        with pytest.raises(SpecError, match=message):
            load_text(BAR.replace("material: steel", f"material: steel, {extra}"))


def test_statics_in_space_are_linear():
    eqs = arm("timoshenko:3", BAR + "parameters: {f: 0 N}\nloads: {tip: {frame: arm.tip, force: [=f, =2*f, =3*f]}}\n")
    small, large = (static(eqs, {}, {"f": f}, steps=1) for f in (1.0, 1e4))
    assert large == pytest.approx(1e4 * small, rel=1e-8, abs=1e-14)
