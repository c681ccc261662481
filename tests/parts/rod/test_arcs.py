"""Circular arcs: their integrals, mass and forces against quadrature along the arc, through the straight pose and beyond."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import mpmath
import numpy as np
import pytest

from fit_pcc_cog_constants import fit
from pliant import derive, equilibrium, load_text, simulate
from pliant.engine.binding import Binding
from pliant.engine.kernel import inertia_kernels
from pliant.engine.model.inputs import InputPlan
from pliant.engine.program import Program
from pliant.language.faults import SpecError
from pliant.parts import Cosserat
from pliant.parts.assembly.system import SystemBuilder
from pliant.parts.geometry import se3
from pliant.parts.motion import FREE, ArcCoordinates
from pliant.parts.rod.pcc import (
    SERIES_BELOW,
    arc_inertia,
    arc_integrals,
    arc_motion,
    energy_constants,
    lumped_inertia,
    slopes,
    stumpff,
)
from pliant.robot.rod_switch import with_rod_model

SMALL = (0.0, 1e-12, 1e-8, 1e-4)
BENDS = (*SMALL, 0.1, 1.0, 2.5, 4.4, 4.6, 6.0)
"""Bend angles [rad]; the functions change from series to closed form between 4.4 and 4.6."""


# -- integrals ---------------------------------------------------------------------------------------------------------


def integrands(theta: Any) -> dict[str, Any]:
    """What is integrated, by its definition in sines and cosines, for mpmath."""
    s = theta**2

    def alpha(x: Any) -> Any:
        return (1 - mpmath.cos(theta * x)) / s

    def beta(x: Any) -> Any:
        return mpmath.sin(theta * x) / theta

    def gamma(x: Any) -> Any:
        return (theta * x - mpmath.sin(theta * x)) / theta**3

    def by_s(f: Any) -> Any:
        # df/ds = df/dtheta / (2 theta), written out
        y = {
            alpha: lambda x: (theta * x * mpmath.sin(theta * x) / 2 - 1 + mpmath.cos(theta * x)) / s**2,
            beta: lambda x: (theta * x * mpmath.cos(theta * x) - mpmath.sin(theta * x)) / (2 * theta**3),
        }
        return y[f]

    def cosine(x: Any) -> Any:
        return mpmath.cos(theta * x)

    return {
        "alpha": alpha,
        "beta": beta,
        "gamma": gamma,
        "alpha_alpha": lambda x: alpha(x) ** 2,
        "alpha_beta": lambda x: alpha(x) * beta(x),
        "beta_beta": lambda x: beta(x) ** 2,
        "gamma_gamma": lambda x: gamma(x) ** 2,
        "alpha_beta_s": lambda x: alpha(x) * by_s(beta)(x) - beta(x) * by_s(alpha)(x),
        "kappa": lambda x: (x**2 - 2 * alpha(x)) / (2 * s),
        "c_c": lambda x: cosine(x) ** 2,
        "c_alpha": lambda x: cosine(x) * alpha(x),
        "c_beta": lambda x: cosine(x) * beta(x),
    }


@pytest.mark.parametrize("theta", [*SMALL, *np.linspace(0.3, 2 * np.pi, 9)])
def test_integrals_against_quadrature(theta: float) -> None:
    with mpmath.workdps(80):
        exact_angle = mpmath.mpf(theta) if theta else mpmath.mpf("1e-15")
        wanted = {k: float(mpmath.quad(f, [0, 0.5, 1])) for k, f in integrands(exact_angle).items()}
    found = arc_integrals(ca.DM(theta**2), stumpff(ca.DM(theta**2)))
    for name, value in wanted.items():
        assert float(getattr(found, name)) == pytest.approx(value, rel=1e-12, abs=1e-14), name


@pytest.mark.parametrize("theta", [*SMALL, 0.3, 3.1, 4.4, 4.6, 6.2, 6.3, 9.5, 12.5, 40.0])
def test_stumpff_functions_and_slopes(theta: float) -> None:
    """Against sines and cosines in many digits; whole turns are taken from large angles."""
    found = stumpff(ca.DM(theta**2), 11)
    with mpmath.workdps(400):
        angle = mpmath.mpf(theta) if theta else mpmath.mpf("1e-20")
        exact = [mpmath.cos(angle), mpmath.sin(angle) / angle]
        for n in range(10):
            exact.append((1 / mpmath.factorial(n) - exact[n]) / angle**2)
        wanted = [float(x) for x in exact]
        by_s = [float((n * exact[n + 2] - exact[n + 1]) / 2) for n in range(10)]
    for n, value in enumerate(wanted):
        assert float(found[n]) == pytest.approx(value, rel=1e-13, abs=1e-14 / max(1, theta) ** n), n
    for n, value in enumerate(slopes(found)):
        assert float(value) == pytest.approx(by_s[n], rel=1e-11, abs=1e-14 / max(1, theta) ** n), n


def test_series_and_closed_form_meet() -> None:
    """Values and three derivatives on both sides of the switch; the difference is what the step of s itself makes."""
    s = ca.SX.sym("s")
    levels = [ca.vertcat(*stumpff(s))]
    for _ in range(3):
        levels.append(ca.jacobian(levels[-1], s))
    f = ca.Function("f", [s], levels)
    below, above = (f(SERIES_BELOW * (1 + e)) for e in (-1e-15, 1e-15))
    for k, (a, b) in enumerate(zip(below, above, strict=True)):
        scale = np.abs(np.asarray(a))
        np.testing.assert_allclose(
            np.asarray(a), np.asarray(b), rtol=0, atol=1e-12 * scale.max() + 1e-13, err_msg=str(k)
        )


# -- mass and forces ---------------------------------------------------------------------------------------------------

LENGTH, MASS, SLICES = 0.3, 0.7, (0.004, 0.008)


def arc_on_a_moving_base(coordinates: ArcCoordinates, *, closed_form: bool) -> Binding:
    """A free body that carries an arc: with its mass in closed form, or as 32 discs at Gauss points."""
    builder = SystemBuilder()
    builder.gravity([0.3, -0.2, -9.81])
    builder.element(0, [(FREE, se3.identity(), [])])
    builder.mass(1, 0.5, ca.DM([0.1, 0, 0]), 0.01 * ca.DM.eye(3), se3.identity())
    place = (ca.DM([[0, 0, 1], [1, 0, 0], [0, 1, 0]]), ca.DM([0.1, 0.2, 0.3]))
    constants = coordinates.constants(LENGTH, (0.0,) * 6, 0.02)
    points, weights = np.polynomial.legendre.leggauss(32)
    fractions = [1.0] if closed_form else [*((points + 1) / 2), 1.0]
    index = builder.element(1, [(arc_motion(coordinates), place, [x, *constants]) for x in fractions])
    element = builder.element_at(index)
    if closed_form:
        numbers = [*constants, MASS, *SLICES]
        builder.inertia(arc_inertia(coordinates, rotary=True), [(1, place)], [element], numbers)
    else:
        disc = ca.diag(ca.DM([SLICES[0], SLICES[0], SLICES[1]]))
        for node, weight in zip(element.nodes, weights / 2, strict=False):
            builder.mass(node, weight * MASS, ca.DM.zeros(3), weight * disc, se3.identity())
    builder.mass(element.nodes[-1], 0.2, ca.DM([0, 0, 0.05]), 0.001 * ca.DM.eye(3), se3.identity())
    return Binding.of(Program(builder.build(), InputPlan()))


@pytest.fixture(scope="module", params=["bending", "muscles"])
def bindings(request: pytest.FixtureRequest) -> tuple[ArcCoordinates, Binding, Binding]:
    """The same arc twice: in closed form, and by quadrature."""
    coordinates = ArcCoordinates(request.param)
    return coordinates, *(arc_on_a_moving_base(coordinates, closed_form=x) for x in (True, False))


def state(coordinates: ArcCoordinates, bend: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random motion of base and arc, the arc bent by that angle."""
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=4)
    direction = rng.uniform(0, 2 * np.pi)
    constants = coordinates.constants(LENGTH, (0.0,) * 6, 0.02)
    A = np.asarray(ca.DM(coordinates.matrix(constants)))
    z = [bend * np.cos(direction), bend * np.sin(direction), rng.uniform(0.2, 0.4) - constants[0]]
    own = np.linalg.solve(A, z)
    q = np.concatenate([rng.normal(size=3), turn / np.linalg.norm(turn), own])
    v = np.concatenate([rng.normal(size=6), np.linalg.solve(A, rng.normal(size=3) * [1, 1, 0.1])])
    a = np.concatenate([rng.normal(size=6), np.linalg.solve(A, rng.normal(size=3))])
    return q, v, a


@pytest.mark.parametrize("bend", BENDS)
def test_mass_and_bias_against_quadrature(bindings: Any, bend: float) -> None:
    coordinates, ours, reference = bindings
    q, v, a = state(coordinates, bend, 3)
    M, exact = ours.mass_matrix(q).toarray(), reference.mass_matrix(q).toarray()
    np.testing.assert_allclose(M, exact, rtol=0, atol=1e-10 * np.abs(exact).max())
    h, wanted = (e.inverse(0.0, q, v, np.zeros_like(v)) for e in (ours, reference))
    np.testing.assert_allclose(h, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())
    x, y = (e.forward(0.0, q, v)[0] for e in (ours, reference))
    np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9 * np.abs(y).max())
    np.testing.assert_allclose(ours.energies(0.0, q, v), reference.energies(0.0, q, v), rtol=1e-11, atol=1e-12)
    tangents, wanted = (e.linearized(0.0, q, v, a, np.zeros(0)) for e in (ours, reference))
    for name in ("stiffness", "damping"):
        exact = getattr(wanted, name).toarray()
        np.testing.assert_allclose(getattr(tangents, name).toarray(), exact, rtol=0, atol=1e-10 * np.abs(exact).max())


@pytest.mark.parametrize("bend", [*SMALL, 1.0, float(np.sqrt(SERIES_BELOW))])
def test_tangents_are_derivatives(bindings: Any, bend: float) -> None:
    """Fourth-order differences of the forces, across the straight pose and across the switch of the functions."""
    coordinates, binding, _ = bindings
    q, v, a = state(coordinates, bend, 5)
    found = binding.linearized(0.0, q, v, a, np.zeros(0))
    step = 1e-3 if coordinates.option == "bending" else 2e-5
    for k in range(6, binding.nv):
        unit = np.eye(binding.nv)[k]
        for matrix, moved in (
            (found.stiffness, lambda d, unit=unit: (binding.increment(q, d * unit), v)),
            (found.damping, lambda d, unit=unit: (q, v + d * unit)),
        ):
            near, far = (
                (binding.inverse(0.0, *moved(d), a) - binding.inverse(0.0, *moved(-d), a)) / (2 * d)
                for d in (step, 2 * step)
            )
            scale = np.abs(matrix.toarray()).max()
            np.testing.assert_allclose(matrix.toarray()[:, k], (4 * near - far) / 3, rtol=0, atol=1e-8 * scale)


INERTIAS = {
    "exact": arc_inertia(ArcCoordinates("muscles"), rotary=True),
    "points": arc_inertia(ArcCoordinates("strains", (2, 4)), rotary=False),
    "lumped": lumped_inertia(ArcCoordinates("muscles")),
}


@pytest.mark.parametrize("bend", BENDS)
@pytest.mark.parametrize("name", INERTIAS)
def test_stated_forces_are_those_that_the_mass_asks_for(name: str, bend: float) -> None:
    """Forces of the velocities and all tangents, against Hamel's equations with derivatives of M alone."""
    kind = INERTIAS[name]
    rng = np.random.default_rng(11)
    coordinates = ArcCoordinates("muscles") if kind.v_size == 3 else ArcCoordinates("strains", (2, 4))
    constants = coordinates.constants(LENGTH, (0.0,) * 6, 0.02)
    A = np.asarray(ca.DM(coordinates.matrix(constants)))
    z = np.array([bend * 0.6, bend * 0.8, 0.03]) if kind.v_size == 3 else np.array([0.0, bend, 0.03])
    q = np.linalg.lstsq(A, z, rcond=None)[0]
    W, W_dot = rng.normal(size=(2, kind.size))
    numbers = [*constants, MASS, *SLICES]
    for stated, differentiated, arguments in zip(
        inertia_kernels(kind).functions,
        inertia_kernels(replace(kind, velocity_forces=None, name="differentiated")).functions,
        ([[], q, W, numbers], [[], q, W, W_dot, numbers]),
        strict=True,
    ):
        for found, wanted in zip(stated(*arguments), differentiated(*arguments), strict=True):
            scale = np.abs(np.asarray(wanted)).max(initial=1e-3)
            np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("bend", BENDS)
def test_lumped_mass_is_that_of_the_published_energy(bend: float) -> None:
    """The kinetic energy as it is stated: products of the means of positions and of columns of R, found by quadrature."""
    kind, k = lumped_inertia(ArcCoordinates("bending")), energy_constants()
    z, rng = ca.SX.sym("z", 3), np.random.default_rng(2)
    points, weights = np.polynomial.legendre.leggauss(32)
    motion = arc_motion(ArcCoordinates("bending"))
    constants = ArcCoordinates("bending").constants(LENGTH, (0.0,) * 6, 1.0)
    poses = [motion.pose(z, [(x + 1) / 2, *constants]) for x in points]
    means = ca.horzcat(
        sum(w / 2 * p for w, (_, p) in zip(weights, poses, strict=True)),
        sum(w / 2 * R[:, 0:2] for w, (R, _) in zip(weights, poses, strict=True)),
    )
    means_of = ca.Function("means", [z], [means, ca.jacobian(means, z)])
    q, (V, w, rate) = np.array([0.6 * bend, -0.8 * bend, 0.33]), rng.normal(size=(3, 3))
    values, slopes = (np.asarray(x) for x in means_of(q))
    turned, moved = np.cross(w, values.T), (slopes @ rate).reshape(3, 3)

    def share(i: int, a: float, b: float, c: float) -> float:
        return float(a * turned[i] @ turned[i] + 2 * b * turned[i] @ moved[i] + c * moved[i] @ moved[i])

    energy = MASS / 2 * (V @ V + 2 * V @ (turned[0] + moved[0]) + share(0, *k[:3]))
    energy += SLICES[0] / 2 * (share(1, *k[3:]) + share(2, *k[3:]))
    W = np.concatenate([V, w, rate])
    M = np.asarray(inertia_kernels(kind).functions[0]([], q, W, [*constants, MASS, *SLICES])[0])
    kinetic = W @ M @ W / 2
    assert kinetic == pytest.approx(energy, rel=1e-12)


# -- rods --------------------------------------------------------------------------------------------------------------

ROD = """
pliant: 1
world: {gravity: [0, 0, =-weight]}
parameters: {moment: 0 N*m, weight: 0 m/s^2, push: {value: 0 N, input: true}}
sections: {round: {shape: circle, radius: 15 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 200 kPa, poissons_ratio: 0.4}}
rods:
  arm:
    rotation: [{axis: y, angle: 90 deg}]
    length: 0.3 m
    section: round
    material: rubber
    frames: {inside: 0.13 m}
    chambers: {one: {CHAMBER, positions: [[6 mm, 2 mm]]}}
    model: {kind: pcc, sections: 2 OPTIONS}
loads: {tip: {frame: arm.tip, moment: [0, =moment, 0]}}
outputs: {angle: {rod: arm, section: 2}, plane: {rod: arm, quantity: plane}, radius: {rod: arm, quantity: radius},
  length: {rod: arm, quantity: length}}
"""


def rod_text(options: str = "", chamber: str = "force: =push") -> str:
    return ROD.replace("OPTIONS", f", {options}" if options else "").replace("CHAMBER", chamber)


def test_a_tip_moment_makes_an_arc() -> None:
    """Exact: the angle is moment times length over EI. A fine rod of another kind has the same tip."""
    eqs = derive(load_text(rod_text()))
    moment, bending = 0.05, 200e3 * np.pi / 4 * 0.015**4
    found = equilibrium(eqs, parameters={"moment": moment}, stability="any")
    theta = moment * 0.3 / bending
    assert theta > 1.5
    values = found.outputs
    assert values["angle"] == pytest.approx(theta / 2, rel=1e-9)
    assert values["radius"] == pytest.approx(bending / moment, rel=1e-9)
    assert values["length"] == pytest.approx(0.15, rel=1e-9)
    assert abs(values["plane"]) == pytest.approx(0.0, abs=1e-9)
    fine = load_text(rod_text()).replace(outputs={})
    other = equilibrium(
        derive(with_rod_model(fine, "arm", "cosserat:30")), parameters={"moment": moment}, stability="any"
    )
    assert found.frames["arm.tip"].position == pytest.approx(other.frames["arm.tip"].position, abs=1e-6)
    assert found.frames["arm.inside"].position == pytest.approx(other.frames["arm.inside"].position, abs=1e-6)


def test_gravity_is_not_a_circle() -> None:
    """Under its own weight the true shape has a curvature that falls to zero at the tip; two arcs come near it."""
    no_shear = rod_text().replace("    frames:", "    stiffness_factors: [1e5, 1e5, 1, 1, 1, 1]\n    frames:")
    text = load_text(no_shear).replace(outputs={})
    fine = equilibrium(derive(with_rod_model(text, "arm", "finite_element:10")), parameters={"weight": 1.0})
    apart = []
    for sections in (1, 2, 4, 8):
        found = equilibrium(derive(with_rod_model(text, "arm", f"pcc:{sections}")), parameters={"weight": 1.0})
        apart.append(np.linalg.norm(found.frames["arm.tip"].position - fine.frames["arm.tip"].position) / 0.3)
    # the best constant in each section, of a smooth curvature: second order, so that four times as many give a sixteenth
    assert apart[0] > 1e-2
    assert apart[3] < apart[1] / 8


def test_every_choice_of_coordinates_is_the_same_arm() -> None:
    options = ("", "coordinates: strains", "coordinates: muscles, muscle_radius: 12 mm")
    found = []
    for option in options:
        eqs = derive(load_text(rod_text(option)))
        rest = equilibrium(eqs, parameters={"weight": 1.0}, inputs={"push": 0.3})
        q, v = rest.q, np.zeros(len(eqs.rates))
        a, _ = eqs.forward_dynamics(q, v, parameters={"weight": 1.0})
        binding = eqs.at(parameters={"weight": 1.0}).binding
        tip = eqs.model.frames["arm.tip"].node
        found.append((rest.frames["arm.tip"].position, binding.node_accelerations(0.0, q, v, a)[tip]))
    for position, acceleration in found[1:]:
        np.testing.assert_allclose(position, found[0][0], atol=1e-9)
        np.testing.assert_allclose(acceleration, found[0][1], rtol=1e-7, atol=1e-7)


def test_a_force_is_a_pressure_on_an_area() -> None:
    forces = []
    for chamber in (
        "force: =push",
        "pressure: =push/2e-5 m^2, area: 2e-5 m^2",
        "pressure: =push/pi/1e-6 m^2, radius: 1 mm",
    ):
        eqs = derive(load_text(rod_text(chamber=chamber)))
        q, v = eqs.initial_state()
        forces.append(eqs.bias(q, v, inputs={"push": 0.3}))
    np.testing.assert_allclose(forces[1], forces[0], rtol=1e-12)
    np.testing.assert_allclose(forces[2], forces[0], rtol=1e-12)
    assert np.abs(forces[0]).max() == pytest.approx(0.3)


def test_laws_of_coordinates() -> None:
    """Given per coordinate they act on a whole arc, and take the place of the section's."""
    eqs = derive(
        load_text(rod_text("coordinates: muscles, muscle_radius: 12 mm, stiffness: [100, 200, 300], damping: 4"))
    )
    q, v = eqs.initial_state()
    move = 1e-3 * np.arange(1.0, 7.0)
    force = eqs.forces(q + move, v)["arm"]
    np.testing.assert_allclose(force, -np.array([100, 200, 300] * 2) * move, rtol=1e-12)
    np.testing.assert_allclose(eqs.forces(q, v + 1.0)["arm"], -4.0, rtol=1e-12)


def test_an_arm_that_keeps_its_length() -> None:
    start = "initial: {u1: 0.3, w1: 0.1, u2: 0.3, w2: 0.1}\n    frames:"
    named = rod_text("names: [u1, w1, u2, w2]").replace("frames:", f"strains: inextensible\n    {start}")
    eqs = derive(load_text(named))
    assert eqs.coordinates == ("arm.u1", "arm.w1", "arm.u2", "arm.w2")
    q, _ = eqs.initial_state()
    assert q == pytest.approx([0.3, 0.1, 0.3, 0.1])
    binding = eqs.at(parameters={"weight": 1.0}).binding
    stiff = derive(load_text(rod_text())).at(parameters={"weight": 1.0}).binding
    keep = [0, 1, 3, 4]
    full = np.concatenate([q[:2], [0.15], q[2:], [0.15]])
    np.testing.assert_allclose(
        binding.mass_matrix(q).toarray(), stiff.mass_matrix(full).toarray()[np.ix_(keep, keep)], rtol=0, atol=1e-15
    )


SWING = """
pliant: 1
sections: {round: {shape: circle, radius: 12 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 300 kPa, poissons_ratio: 0.4}}
bodies: {block: {mass: 0.5 kg, shape: {type: box, size: [10 cm, 10 cm, 10 cm]}}, weight: {mass: 20 g}}
joints:
  slide: {type: prismatic, child: block, axis: x, displacement: {spring: 40 N/m}}
  hook: {type: weld, parent: branch.tip, child: weight}
rods:
  arm: {parent: block, rotation: [{axis: x, angle: 180 deg}], length: 0.2 m, section: round, material: rubber,
    frames: {half: 0.1 m}, model: {kind: KIND, sections: 2}, initial: {"b_x[1]": 0.8, "b_x[2]": 0.8}}
  branch: {parent: arm.half, rotation: [{axis: y, angle: 70 deg}], length: 0.1 m, section: round, material: rubber,
    model: {kind: KIND, coordinates: strains}}
"""


@pytest.mark.parametrize("kind", ["pcc", "pcc_cog"])
def test_swinging_through_straight_conserves_energy(kind: str) -> None:
    """Rods on a moving base, with a body at the end of one that grows out of the other."""
    eqs = derive(load_text(SWING.replace("KIND", kind)))
    run = simulate(eqs, 1.0, rtol=1e-10, atol=1e-12)
    lean = np.asarray(run["arm.b_x[2]"])
    assert lean.min() < -0.05
    assert lean.max() > 0.05
    total = np.asarray(run.energy["total"])
    span = np.ptp(np.asarray(run.energy["kinetic"]))
    assert np.abs(total - total[0]).max() < 1e-8 * span


# -- the lumped model --------------------------------------------------------------------------------------------------


def test_a_fresh_fit_finds_the_constants() -> None:
    """Another seed and a twentieth of the samples: each constant within its statistical error, about 0.1 percent."""
    constants, determination, about_mean = fit(samples=10_000, seed=7)
    np.testing.assert_allclose(constants, energy_constants(), rtol=5e-3)
    assert np.all(determination > (0.998, 0.996, 0.999, 0.993, 0.984, 0.995))
    assert np.all(about_mean <= determination + 1e-6)
    again, *_ = fit()
    np.testing.assert_allclose(again, energy_constants(), rtol=1e-10)


def ten_sections(kind: str) -> Any:
    text = """
pliant: 1
sections: {round: {shape: circle, radius: 12.5 mm}}
materials: {muscle: {density: =0.1 kg/(0.15 m*pi*(12.5 mm)^2), youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
rods:
  arm: {length: 1.5 m, section: round, material: muscle,
    model: {kind: KIND, sections: 10, coordinates: muscles, muscle_radius: 12.5 mm}}
"""
    return derive(load_text(text.replace("KIND", kind)))


def test_energy_of_the_lumped_model() -> None:
    """Ten sections in random motion: differences are small beside the largest energy that occurs."""
    rng = np.random.default_rng(1)
    q, v = rng.uniform(0, 0.07, (300, 30)), rng.uniform(-0.15, 0.15, (300, 30))
    bindings = [ten_sections(kind).binding for kind in ("pcc", "pcc_cog")]
    exact, lumped = (np.array([e.energies(0.0, *x)[0] for x in zip(q, v, strict=True)]) for e in bindings)
    error = (lumped - exact) / exact.max()
    assert abs(error.mean()) < 1e-3
    assert np.abs(error).mean() < 1e-3
    assert np.abs(error).max() < 1e-2


# -- invalid models ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("coordinates: muscles", "need a muscle_radius"),
        ("stiffness: [1, 2]", "stiffness has 2 entries, expected 1 or 3"),
        ("names: [a, b, c]", "names has 3 entries, expected 6"),
    ],
)
def test_faults_of_the_model(options: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        derive(load_text(rod_text(options)))


def test_other_faults() -> None:
    twisted = rod_text().replace("    frames:", "    rest: [0, 0, 0, 0, 0, 1]\n    frames:")
    with pytest.raises(SpecError, match="neither shear nor twist"):
        derive(load_text(twisted))
    with pytest.raises(SpecError, match="no arc 2"):
        derive(load_text(rod_text().replace("sections: 2", "sections: 1")))
    spec = load_text(rod_text())
    with pytest.raises(SpecError, match="no circular arcs"):
        spec.replace(rods={"arm": spec.rods["arm"].model_copy(update={"model": Cosserat(elements=3)})})
    with pytest.raises(SpecError, match="used twice"):
        derive(load_text(rod_text("names: [a, b, c, d, f, a]")))
    for chamber, message in (
        ("force: 1 N, pressure: 1 kPa, area: 1 mm^2", "either a pressure or a force"),
        ("pressure: 1 kPa", "needs a radius or an area"),
        ("force: 1 N, radius: 1 mm", "needs no size"),
    ):
        with pytest.raises(SpecError, match=message):
            derive(load_text(rod_text(chamber=chamber)))


def test_curvature_is_per_undeformed_length() -> None:
    """Of a stretched arc it is the reciprocal of the radius times one plus the stretch."""
    text = """
pliant: 1
sections: {round: {shape: circle, radius: 15 mm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 100 kPa, poissons_ratio: 0.49}}
rods: {arm: {length: 0.2 m, section: round, material: rubber, model: {kind: pcc, coordinates: strains}}}
outputs: {curvature: {rod: arm, at: 0.1 m, quantity: curvature, component: norm}, radius: {rod: arm, quantity: radius}}
"""
    eqs = derive(load_text(text))
    start = {"arm.bend_x[1]": 3.0, "arm.bend_y[1]": 4.0, "arm.stretch[1]": 0.1}
    assert list(eqs.coordinates) == list(start)
    run = simulate(eqs, 1e-6, start=start)
    out = {name: run[name].values[0] for name in ("curvature", "radius")}
    assert float(out["curvature"]) == pytest.approx(5.0, rel=1e-12)
    assert 1 / float(out["radius"]) == pytest.approx(5.0 / 1.1, rel=1e-12)


def test_lumped_mass_of_a_straight_section() -> None:
    """As stated in docs/validation.md: too much energy when it swings about its base, by fixed ratios."""
    k = energy_constants()
    assert k[0] / (4 / 3) - 1 == pytest.approx(0.009, abs=5e-4)
    assert k[3] - 1 == pytest.approx(0.045, abs=5e-4)
    masses = {}
    for name, inertia in {"exact": arc_inertia(ArcCoordinates("bending"), rotary=True),
                          "lumped": lumped_inertia(ArcCoordinates("bending"))}.items():  # fmt: skip
        constants = ArcCoordinates("bending").constants(LENGTH, (0.0,) * 6, 1.0)
        W = np.zeros(9)
        W[3] = 1.0
        q = np.array([0.0, 0.0, LENGTH])
        masses[name] = (
            W @ np.asarray(inertia_kernels(inertia).functions[0]([], q, W, [*constants, MASS, *SLICES])[0]) @ W
        )
    rod, slices = MASS * LENGTH**2 / 3, SLICES[0]
    assert masses["exact"] == pytest.approx(rod + slices, rel=1e-9)
    assert masses["lumped"] == pytest.approx(k[0] * 0.75 * rod + k[3] * slices, rel=1e-9)
