"""Modes against eigenvalues known in closed form, or found by another way."""

import mpmath
import numpy as np
import pytest

from pliant import ArgumentError, derive, equilibrium, load, load_text, modes
from pliant.analysis.linear import eigenmodes
from pliant.analysis.numerics.state import assemble


def test_spring_mass_chain_has_the_frequencies_of_its_formula():
    count, stiffness, mass = 7, 40.0, 0.3
    eqs = derive(
        load_text(f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies: {{bead: {{count: {count}, mass: {mass}}}}}
joints:
  slide:
    {{type: prismatic, child: bead, parent: "bead[i-1]", first_parent: world, axis: x, displacement: {{spring: {stiffness}}}}}
""")
    )
    found = modes(eqs)
    k = np.arange(1, count + 1)
    exact = 2 * np.sqrt(stiffness / mass) * np.sin((2 * k - 1) * np.pi / (2 * (2 * count + 1))) / (2 * np.pi)
    np.testing.assert_allclose(found.frequencies, exact, rtol=1e-10)
    np.testing.assert_allclose(found.eigenvalues, 2j * np.pi * exact, rtol=1e-10)
    M = eqs.mass_matrix(eqs.initial_state().q).toarray()
    assert found.shapes.dtype == float
    np.testing.assert_allclose(found.shapes.T @ M @ found.shapes, np.eye(count), atol=1e-10)
    assert found.stable
    assert set(found.kinds) == {"oscillating"}


OSCILLATOR = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {c: 3 N*s/m}
bodies: {m: {mass: 2 kg}}
joints: {x: {type: prismatic, child: m, axis: x, displacement: {spring: 50 N/m, damper: =c}}}
"""


def test_damping_ratio_of_an_oscillator():
    eqs = derive(load_text(OSCILLATOR))
    found = modes(eqs)
    assert found.frequencies[0] == pytest.approx(5 / (2 * np.pi), rel=1e-12)
    assert found.damping_ratios[0] == pytest.approx(3 / (2 * np.sqrt(100)), rel=1e-10)
    assert modes(eqs, parameters={"c": 0.0}).damping_ratios[0] == 0.0
    without = modes(eqs, undamped=True)
    assert without.eigenvalues == pytest.approx([5j], rel=1e-12)


def test_an_overdamped_oscillator_has_two_modes():
    found = modes(derive(load_text(OSCILLATOR)), parameters={"c": 52.0})
    # 2 x^2 + 52 x + 50 = 0
    assert found.eigenvalues == pytest.approx([-1.0, -25.0], rel=1e-12)
    assert found.kinds == ("overdamped", "overdamped")
    assert found.damping_ratios == pytest.approx([1.0, 1.0])
    assert found.stable
    assert "overdamped" in repr(found)
    critical = modes(derive(load_text(OSCILLATOR)), parameters={"c": 20.0})
    assert critical.eigenvalues == pytest.approx([-5.0, -5.0])


def test_a_damper_that_gives_energy_makes_a_mode_grow():
    found = modes(derive(load_text(OSCILLATOR)), parameters={"c": -4.0})
    assert found.eigenvalues == pytest.approx([1 + 1j * np.sqrt(24)], rel=1e-12)
    assert found.kinds == ("unstable",)
    assert found.damping_ratios == pytest.approx([-0.2])
    assert found.stable is False
    assert found.remarks == ("mode 1 is unstable: it grows by a factor e in 1 s",)


LOCKED = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {a: {mass: 1 kg}, b: {mass: 1 kg}}
joints:
  sa: {type: prismatic, child: a, axis: x, displacement: {spring: 100 N/m}}
  sb: {type: prismatic, parent: a, child: b, axis: x, displacement: {spring: 1 N/m, damper: 1000 N*s/m}}
"""


def test_two_masses_that_a_damper_locks_move_as_one():
    """Undamped they would swing at 0.158 and 1.60 Hz; locked to each other at sqrt(k / 2 m) = 1.125 Hz."""
    eqs = derive(load_text(LOCKED))
    found = modes(eqs)
    # in absolute positions: m x1'' = -100 x1 - (x1 - x2) - 1000 (x1' - x2'), m x2'' = (x1 - x2) + 1000 (x1' - x2')
    with mpmath.workdps(40):
        roots = sorted((complex(z) for z in mpmath.polyroots([1, 2000, 102, 100000, 100], maxsteps=200)), key=abs)
    assert found.kinds == ("overdamped", "oscillating", "overdamped")
    np.testing.assert_allclose(
        found.eigenvalues, [roots[0], max(roots[1:3], key=lambda z: z.imag), roots[3]], rtol=1e-11
    )
    assert found.frequencies[1] == pytest.approx(1.1254, rel=1e-4)
    assert found.damping_ratios[1] == pytest.approx(0.001768, rel=1e-3)
    # each eigenvalue with its own vector
    q = eqs.initial_state().q
    at = eqs.binding.linearized(0.0, q, 0 * q, 0 * q, np.zeros(0))
    for value, x in zip(found.eigenvalues, found.shapes.T, strict=True):
        force = value**2 * (at.mass @ x) + value * (at.damping @ x) + at.stiffness @ x
        assert np.abs(force).max() < 1e-9 * np.abs(value * (at.damping @ x)).max() + 1e-9
        assert (x.conj() @ (at.mass @ x)).real == pytest.approx(1.0)
    assert np.iscomplexobj(found.shapes)
    plain = modes(eqs, undamped=True)
    assert plain.frequencies == pytest.approx([0.158357, 1.59957], rel=1e-5)
    assert plain.shapes.dtype == float


@pytest.mark.parametrize("count", [1, 2, 3, None])
def test_kinds_do_not_depend_on_how_many_are_asked_for(count):
    """A cart on a damped rail with a pole upright: one grows, one is free, and two decay."""
    eqs = derive(load("cart_pole"))
    upright = np.zeros(2)
    every, some = modes(eqs, at=upright), modes(eqs, at=upright, count=count)
    assert every.kinds[:2] == ("unstable", "rigid-body")
    assert some.kinds == every.kinds[:count]
    np.testing.assert_array_equal(some.eigenvalues, every.eigenvalues[:count])
    assert some.stable is False
    assert "mode 1 is unstable" in some.remarks[0]
    assert "rigid-body" in some.remarks[0]


def test_a_physical_pendulum_swings_at_its_frequency_and_is_unstable_upright():
    eqs = derive(load("pendulum"))
    down = modes(eqs)
    assert down.stable
    upright = eqs.initial_state().q * 0 + np.pi
    up = modes(eqs, at=upright)
    assert not up.stable
    assert "unstable" in up.remarks[0]
    # growth and oscillation about the two poses mirror each other
    assert up.eigenvalues[0].real == pytest.approx(2 * np.pi * down.frequencies[0], rel=1e-6)
    assert up.frequencies[0] == pytest.approx(-down.frequencies[0], rel=1e-6)


def test_a_pose_that_is_not_at_rest_is_said():
    eqs = derive(load("pendulum"))
    found = modes(eqs, at={"hinge": 0.5} if "hinge" in eqs.coordinates else np.array([0.5]))
    assert "not an equilibrium" in found.remarks[0]
    force = eqs.bias(np.array([0.5]), np.zeros(1))
    assert f"{abs(float(force[0])):.3g} N m" in found.remarks[0]
    assert eqs.rates[0] in found.remarks[0]
    assert modes(eqs).remarks == ()


def test_a_state_that_moves_is_said():
    eqs = derive(load("pendulum"))
    name = eqs.coordinates[0]
    found = modes(eqs, at={name: 0.0, f"d({name})/dt": 2.0})
    assert "the state moves" in found.remarks[0]
    np.testing.assert_allclose(found.eigenvalues, modes(eqs).eigenvalues)
    assert not np.any(found.state.v)


def test_rigid_body_modes_are_named():
    found = modes(derive(load("tumbling_body")), at="initial")
    assert found.remarks[-1].count("is a rigid-body mode") == 6
    assert not np.any(found.eigenvalues)


DRAG = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 2 kg, inertia: {principal: [0.1, 0.2, 0.3]}}}
joints: {float: {type: free, child: m, y: {damper: 3 N*s/m}, z: {spring: 8 N/m, damper: 1 N*s/m}}}
"""


def test_a_free_body_with_drag_keeps_its_rigid_body_modes():
    found = modes(derive(load_text(DRAG)))
    assert found.kinds.count("rigid-body") == 5  # x, y and three rotations
    assert found.kinds[5:] == ("overdamped", "oscillating")
    assert found.eigenvalues[5:] == pytest.approx([-1.5, -0.25 + 1j * np.sqrt(4 - 0.0625)])
    assert found.stable


def test_four_bar_mode_is_that_of_its_reduced_motion():
    """Frequency from the curvature of the potential and the reduced mass along the loop, by differences."""
    eqs = derive(load("four_bar"))
    rest = equilibrium(eqs)
    found = modes(eqs, at=rest.state)
    h = 1e-3

    def along(x):
        q = rest.q.copy()
        q[0] += x
        # keep q1 and close the loop with the other two
        for _ in range(20):
            c = eqs.constraints(q)
            q[1:] -= np.linalg.solve(c.jacobian.toarray()[:, 1:], c.value)
        return q

    poses = [along(x) for x in (-h, 0.0, h)]
    V = [eqs.energy(q, np.zeros(3)).potential for q in poses]
    tangent = (poses[2] - poses[0]) / (2 * h)
    mass = tangent @ (eqs.mass_matrix(rest.q) @ tangent)
    curvature = (V[0] - 2 * V[1] + V[2]) / h**2
    assert found.frequencies[0] == pytest.approx(np.sqrt(curvature / mass) / (2 * np.pi), rel=1e-5)
    assert assemble(eqs, eqs.binding, 0.0, rest.q, np.zeros(3)).remarks == ()
    # the mode moves along the loop
    assert np.abs(eqs.constraints(rest.q).jacobian @ found.shapes).max() < 1e-9


def test_two_unstable_directions_both_grow():
    """A ball on a hilltop: an upside-down spherical pendulum falls both ways at the same rate."""
    eqs = derive(
        load_text("""
pliant: 1
bodies: {rod: {mass: 1 kg, center_of_mass: [0, 0, 0.5 m]}}
joints: {gimbal: {type: universal, child: rod}}
""")
    )
    found = modes(eqs, at="initial")
    assert found.remarks[-1].count("is unstable") == 2
    np.testing.assert_allclose(found.eigenvalues, np.sqrt(9.81 / 0.5), rtol=1e-9)
    one = modes(eqs, at="initial", count=1)
    assert one.remarks[-1].endswith("; 1 more mode is unstable")


ROTOR = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {speed: 200 rad/s, stiffness: 50 N*m/rad, damping: 0 N*m*s/rad}
bodies:
  cross: {mass: 1e-9 kg, inertia: {principal: [1e-12, 1e-12, 1e-12]}}
  disc: {mass: 2 kg, inertia: {principal: [0.01, 0.01, 0.018]}}
joints:
  tilt:
    type: universal
    child: cross
    angle1: {spring: =stiffness, damper: =damping}
    angle2: {spring: =stiffness, damper: =damping}
  spin: {type: revolute, parent: cross, child: disc, axis: z, angle: SPIN}
"""


def whirl(speed, stiffness=50.0, transverse=0.01, polar=0.018):
    """Angular frequencies of the backward and the forward whirl of a disc: I_t w^2 -+ I_p speed w - k = 0."""
    half = polar * speed / (2 * transverse)
    root = np.sqrt(half**2 + stiffness / transverse)
    return root - half, root + half


@pytest.mark.parametrize("spin", ['{motion: "=speed*t"}', "{}"])
def test_a_rotor_whirls_backward_and_forward(spin):
    eqs = derive(load_text(ROTOR.replace("SPIN", spin)))
    free = spin == "{}"
    found = modes(eqs, at={"d(spin)/dt": 200.0} if free else "equilibrium")
    assert found.kinds == (("rigid-body",) if free else ()) + ("oscillating", "oscillating")
    backward, forward = found.eigenvalues[-2:]
    np.testing.assert_allclose([backward, forward], 1j * np.array(whirl(200.0)), rtol=1e-6)
    # circles: the second angle a quarter of a period behind or ahead of the first
    turn = found.shapes[1, -2:] / found.shapes[0, -2:]
    np.testing.assert_allclose(turn, [1j, -1j], atol=1e-6)
    assert found.state.v[2] == pytest.approx(200.0)
    standing = modes(eqs, undamped=True, at="equilibrium", parameters={"speed": 0.0})
    assert standing.frequencies[-1] == pytest.approx(np.sqrt(50 / 0.01) / (2 * np.pi), rel=1e-6)


def test_a_top_sleeps_without_damping_and_falls_slowly_with_it():
    """Negative stiffness k is held by spin if (I_p speed)^2 > -4 k I_t, until damping lets it go (Kelvin, Tait and Chetaev)."""
    eqs = derive(load_text(ROTOR.replace("SPIN", '{motion: "=speed*t"}')))
    top = {"stiffness": -50.0, "speed": 200.0}
    held = modes(eqs, at="initial", parameters=top)
    assert held.stable is True
    assert held.kinds == ("oscillating", "oscillating")
    fallen = modes(eqs, at="initial", parameters=top | {"damping": 0.01})
    assert fallen.kinds == ("unstable", "oscillating")
    slow = modes(eqs, at="initial", parameters=top | {"speed": 50.0})
    assert slow.stable is False


def test_a_rod_with_rayleigh_damping_has_the_ratios_of_the_formula():
    """alpha / (2 w) + beta w / 2, for modes in all planes."""
    alpha, beta = 0.8, 0.004
    text = f"{{alpha: {alpha}, beta: {beta} s}}"
    damped = derive(load_text(RAYLEIGH.replace("DAMPING", text)))
    without = derive(load_text(RAYLEIGH.replace("rayleigh: DAMPING, ", "")))
    w = 2 * np.pi * modes(without, count=8).frequencies
    found = modes(damped, count=8)
    np.testing.assert_allclose(np.abs(found.eigenvalues), w, rtol=1e-3)
    np.testing.assert_allclose(found.damping_ratios, alpha / (2 * w) + beta * w / 2, rtol=1e-3)
    assert found.stable


RAYLEIGH = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {round: {shape: circle, radius: 10 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 10 MPa, poissons_ratio: 0.5}}
rods: {rod: {length: 1 m, section: round, material: rubber, rayleigh: DAMPING, model: {kind: fe, elements: 8}}}
"""


@pytest.mark.parametrize("undamped", [False, True])
def test_large_and_small_robots_are_solved_alike(undamped, monkeypatch):
    """Shift and invert with sparse factors against all eigenvalues: a loop with two damped rods, and one with a free platform."""
    eqs = derive(load_text(LOOP))
    rest = equilibrium(eqs)
    every = modes(eqs, at=rest, count=8, undamped=undamped)
    monkeypatch.setattr(eigenmodes, "DENSE_UP_TO", 0)
    monkeypatch.setattr(eigenmodes, "_dense", None)  # it must not come to that
    some = modes(eqs, at=rest, count=8, undamped=undamped)
    np.testing.assert_allclose(some.eigenvalues, every.eigenvalues, rtol=1e-7)
    assert some.kinds == every.kinds
    assert (some.stable, every.stable) == (True, True)
    J = eqs.constraints(rest.q).jacobian
    assert np.abs(J @ some.shapes).max() < 1e-6 * np.abs(some.shapes).max()
    shift = np.abs(np.einsum("ij,ij->j", some.shapes.conj(), eqs.mass_matrix(rest.q) @ every.shapes))
    np.testing.assert_allclose(shift, 1.0, rtol=1e-5)


LOOP = """
pliant: 1
sections: {strip: {shape: rectangle, width: 20 mm, height: 1 mm}}
materials: {steel: {density: 7800 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
bodies:
  plate:
    mass: 1 kg
    shape: {type: box, size: [20 cm, 10 cm, 1 cm]}
    frames: {a: {position: [-10 cm, 0, 0]}, b: {position: [10 cm, 0, 0]}}
rods:
  left: {parent: world, length: 30 cm, section: strip, material: steel, rayleigh: {beta: 2 ms}, model: {kind: fe, elements: 6}}
  right: {parent: world, position: [20 cm, 0, 0], length: 30 cm, section: strip, material: steel, model: {kind: fe, elements: 6}}
joints: {float: {type: free, child: plate, x: {initial: 10 cm}, z: {initial: 30 cm}}}
constraints:
  hold_left: {between: [left.tip, plate.a], components: all}
  hold_right: {between: [right.tip, plate.b], components: all}
"""


def test_a_massless_motion_is_refused():
    eqs = derive(load_text("pliant: 1\nbodies: {m: {mass: 0 kg}}\njoints: {x: {type: prismatic, child: m, axis: x}}"))
    with pytest.raises(ArgumentError, match="give every moving body mass"):
        modes(eqs, at="initial")


def test_the_part_that_moves_most_is_that_with_most_of_the_kinetic_energy():
    """Amplitudes of coordinates in metres and in 1/m cannot be compared: the carriage moves in its mode, not the light rod."""
    text = """
pliant: 1
sections: {wire: {shape: circle, radius: 0.5 mm}}
materials: {steel: {density: 7850 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
bodies: {carriage: {mass: 0.4 kg}}
joints: {rail: {type: prismatic, child: carriage, axis: x, displacement: {name: x, spring: 40 N/m}}}
rods:
  arm:
    {parent: carriage, rotation: {axis: x, angle: 180 deg}, length: 0.2 m, section: wire, material: steel, model: {kind: pcs}}
"""
    found = modes(derive(load_text(text)), count=3)
    assert found.leading(0) == ("x",)
    assert found.frequencies[0] == pytest.approx(np.sqrt(40 / 0.4) / (2 * np.pi), rel=0.01)
    np.testing.assert_allclose(found.energy_shares.sum(axis=0), 1.0, rtol=1e-9)
    assert all(name.startswith("arm.") for name in found.leading(1))
