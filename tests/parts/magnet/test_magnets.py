"""Magnets: their fields, forces and energies, against exact solutions, and in every analysis."""

import re

import casadi as ca
import numpy as np
import pytest
import scipy

import pliant
from pliant.parts.field.magnetics import (
    COIL_MAGNET,
    DIPOLE_MAGNET,
    DRIVEN_MAGNET,
    MU_0,
    UNIFORM_FIELD,
    dipole_field,
    loop_field,
    magnetic_force,
)
from pliant.parts.geometry import so3

WAY = ca.SX.sym("way", 3)
LOOP = ca.Function("loop", [WAY], [loop_field(ca.DM([0, 0, 1]), 0.3, WAY)])
MOMENT = np.array([0.4, -0.7, 1.1])
BALL = ca.Function("ball", [WAY], [dipole_field(ca.DM(MOMENT), WAY, 0.02)])


def numbers(matrix):
    return np.array(matrix).ravel()


def maxwell(rho, z, radius):
    """Radial and axial flux density of a loop with 1 A (Jackson, Classical Electrodynamics, problem 5.10) by SciPy."""
    m = 4 * radius * rho / ((radius + rho) ** 2 + z**2)
    K, E = scipy.special.ellipk(m), scipy.special.ellipe(m)
    outer, inner = np.hypot(radius + rho, z), np.hypot(radius - rho, z)
    scale = MU_0 / (2 * np.pi * outer)
    radial = scale * z / rho * (-K + (radius**2 + rho**2 + z**2) / inner**2 * E)
    return radial, scale * (K + (radius**2 - rho**2 - z**2) / inner**2 * E)


@pytest.mark.parametrize("place", [(0.1, 0.05), (0.29, 0.02), (0.3, 0.4), (0.2, -0.7), (0.303, 0.001), (3.0, 2.0)])
def test_the_field_of_a_coil_is_that_of_the_elliptic_integrals(place):
    field = numbers(LOOP([place[0], 0, place[1]]))
    assert field[[0, 2]] == pytest.approx(maxwell(*place, 0.3), rel=1e-7)
    assert field[1] == 0


def test_the_field_on_the_axis_of_a_coil_and_its_derivative_are_exact():
    z = 0.17
    assert numbers(LOOP([0, 0, z])) == pytest.approx([0, 0, MU_0 * 0.09 / 2 / (0.09 + z**2) ** 1.5], rel=1e-12)
    slopes = np.array(ca.Function("slopes", [WAY], [ca.jacobian(LOOP(WAY), WAY)])([0, 0, z]))
    along = -1.5 * MU_0 * 0.09 * z / (0.09 + z**2) ** 2.5
    assert slopes == pytest.approx(np.diag([-along / 2, -along / 2, along]), rel=1e-12, abs=1e-20)
    assert np.isfinite(numbers(LOOP([0.3, 0, 0]))).all()


def test_a_dipole_is_exact_outside_its_radius_and_finite_and_smooth_inside():
    way = np.array([0.03, -0.02, 0.04])
    r = np.linalg.norm(way)
    exact = 1e-7 * (3 * way * (MOMENT @ way) / r**5 - MOMENT / r**3)
    assert numbers(BALL(way)) == pytest.approx(exact, rel=1e-12)
    assert np.isfinite(numbers(BALL([0, 0, 0]))).all()
    slopes = ca.Function("slopes", [WAY], [ca.jacobian(BALL(WAY), WAY)])
    unit = way / r
    for inside, outside in zip((slopes(unit * 0.02 * (1 - 1e-7)),), (slopes(unit * 0.02 * (1 + 1e-7)),), strict=True):
        assert np.array(inside) == pytest.approx(np.array(outside), rel=1e-5, abs=1e-6)
    for place in (way, unit * 0.013):
        found = np.array(slopes(place))
        assert abs(np.trace(found)) < 1e-12 * np.abs(found).max()


PAIRS = [
    (UNIFORM_FIELD, COIL_MAGNET), (UNIFORM_FIELD, DRIVEN_MAGNET), (UNIFORM_FIELD, DIPOLE_MAGNET), (COIL_MAGNET, DRIVEN_MAGNET),
    (COIL_MAGNET, DIPOLE_MAGNET), (DRIVEN_MAGNET, DRIVEN_MAGNET), (DRIVEN_MAGNET, DIPOLE_MAGNET), (DIPOLE_MAGNET, DIPOLE_MAGNET),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(kind.name for kind in pair))
def test_wrenches_are_the_gradient_of_the_energy_and_opposite(pair):
    rng = np.random.default_rng(3)
    kind = magnetic_force(*pair, fixed=(False, False))
    c, s = rng.uniform(0.2, 1, kind.constants), rng.uniform(0.2, 1, kind.signals)
    c[-1] = 1.0
    if pair[0] is UNIFORM_FIELD:
        c[:9] = np.array(so3.exp(ca.DM([0.3, 0.2, -0.5]))).ravel(order="F")
    poses = [(np.array(so3.exp(ca.DM(rng.normal(size=3)))), 2 * rng.normal(size=3)) for _ in range(2)]

    def energy(eta):
        """After world-side increments of both frames."""
        moved = []
        for k, (R, p) in enumerate(poses):
            turn = np.array(so3.exp(ca.DM(eta[6 * k + 3 : 6 * k + 6])))
            moved.append((ca.DM(turn @ R), ca.DM(turn @ p + eta[6 * k : 6 * k + 3])))
        return float(ca.evalf(kind.effect(moved, [ca.DM.zeros(6)] * 2, ca.DM(c), ca.DM(s)).energy))

    wrench = numbers(
        ca.evalf(kind.effect([(ca.DM(R), ca.DM(p)) for R, p in poses], [ca.DM.zeros(6)] * 2, ca.DM(c), ca.DM(s)).force)
    )
    h, unit = 1e-5, np.eye(12)
    slopes = np.array([(energy(h * e) - energy(-h * e)) / (2 * h) for e in unit])
    assert wrench == pytest.approx(-slopes, rel=1e-6, abs=1e-8 * np.abs(wrench).max())
    assert wrench[:6] == pytest.approx(-wrench[6:], rel=1e-12, abs=1e-14 * np.abs(wrench).max())


EVERYTHING = """
pliant: 1
parameters: {field: {value: 10 mT, input: true}, current: {value: 2 A, input: true}, strength: 30 A*m^2}
sections: {wire: {shape: circle, radius: 1 mm}}
materials: {rubber: {density: 2000 kg/m^3, youngs_modulus: 3 MPa, poissons_ratio: 0.48}}
bodies:
  hand: {mass: 1 kg, shape: {type: sphere, radius: 3 cm}}
  bead: {mass: 1 g, shape: {type: sphere, radius: 2 mm}}
  ring: {mass: 20 g, shape: {type: cylinder, radius: 3 cm, length: 1 cm}}
joints:
  swing: {type: revolute, child: hand, axis: y, position: [0, 0, 18 cm], angle: {initial: 0.3, spring: 5, damper: 0.1}}
  tip: {type: weld, parent: arm.tip, child: bead}
  pivot: {type: spherical, child: ring, position: [6 cm, 1 cm, 5 cm], orientation: {spring: 0.1, damper: 1e-3}}
rods:
  arm: {length: 5 cm, section: wire, material: rubber, damping: 1e-7, model: {kind: KIND}}
  other: {position: [2 cm, 1 cm, 0], length: 4 cm, section: wire, material: rubber, damping: 1e-7, model: {kind: KIND}}
magnets:
  north: {type: rod, rod: arm, magnetization: [0, 0, 80 kA/m], segments: [1, -1, 1]}
  south: {type: rod, rod: other, remanence: [50 mT, 0, 0], profile: [0, 1]}
  bead: {type: body, body: bead, remanence: [0, 0.2 T, 1 T]}
  carried: {type: dipole, frame: hand, position: [0, 0, -5 cm], moment: [0, 0, =strength]}
  driven: {type: dipole, position: [0, 4 cm, 2 cm], moment: [=0.2 m^2*current, 0, 0.1 A*m^2]}
  ring: {type: coil, frame: ring, radius: 3 cm, turns: 200, current: =current, axis: [1, 0, 1]}
  outside: {count: 2, type: coil, around: y, position: [12 cm, 0, 3 cm], axis: x, radius: 5 cm, turns: 300, current: 1 A}
  uniform: {type: uniform, flux_density: [=field, 0, 5 mT], gradient: [0.1 T/m, 0, 0, 0.05 T/m, 0]}
  turning: {type: uniform, frame: hand, flux_density: [2 mT, 0, 0]}
outputs: {tip: {frame: arm.tip}, far: {frame: other.tip}}
"""


def everything(kind="pcs", *, constant=False):
    own = {"pcc": "pcc", "pcc_cog": "pcc_cog", "gvs": "gvs", "polynomial": "polynomial"}
    fineness = own.get(kind, f"{kind}, elements: 2")
    text = EVERYTHING.replace("kind: KIND", f"kind: {fineness}")
    return pliant.derive(pliant.load_text(text.replace(", input: true", "") if constant else text))


KINDS = ("pcs", "gvs", "polynomial", "cosserat", "finite_element", "timoshenko", "pseudo_rigid", "pcc", "pcc_cog")


@pytest.mark.parametrize("kind", KINDS)
def test_forces_are_the_gradient_of_the_energy_in_every_rod_model(kind):
    """At rest, all forces do the work on a random motion that the energy loses, as all fields are constant."""
    eqs = everything(kind, constant=True)
    bound, state = eqs.binding, eqs.initial_state()
    still, way = np.zeros(bound.nv), np.random.default_rng(1).normal(size=bound.nv) * bound.sizes(state.q)[1]

    def energy(h):
        return bound.energies(0.0, bound.increment(state.q, h * way), still)[1]

    h = 1e-4
    slope = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    assert bound.inverse(0.0, state.q, still, still) @ way == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("kind", ["pcs", "cosserat"])
def test_tangents_are_those_of_the_equations_by_casadi(kind):
    eqs = everything(kind)
    bound, state = eqs.binding, eqs.initial_state()
    rng = np.random.default_rng(2)
    v, a = 0.1 * rng.normal(size=(2, bound.nv)) * bound.sizes(state.q)[1]
    here = bound.linearized(0.0, state.q, v, a, np.zeros(0))
    size, h = bound.sizes(state.q)[1], 1e-5

    def residual(x):
        return bound.inverse(0.0, bound.increment(state.q, x), v, a)

    for k in rng.choice(bound.nv, 6, replace=False):
        step = h * size * (np.arange(bound.nv) == k)
        slope = (residual(step) - residual(-step)) / (2 * h)
        found = here.stiffness.toarray()[:, k] * size[k]
        assert found * size == pytest.approx(slope * size, rel=1e-5, abs=1e-6 * np.abs(slope * size).max())


SMALL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {field: {value: 2 mT, input: true}, current: {value: 3 A, input: true}, strength: 20 A*m^2, height: 0.12 m}
sections: {wire: {shape: circle, radius: 0.5 mm}}
materials: {rubber: {density: 2000 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.48}}
bodies:
  hand: {mass: 1 kg, shape: {type: box, size: [5 cm, 5 cm, 5 cm]}}
joints:
  lift: {type: prismatic, child: hand, axis: x, position: [2 cm, 0, =height], displacement: {spring: 200, damper: 1}}
rods:
  catheter: {length: 3 cm, section: wire, material: rubber, damping: 1e-9, strains: [inextensible, unshearable],
             model: {kind: pcs, elements: 2}}
magnets:
  tip: {type: rod, rod: catheter, magnetization: [0, 0, 100 kA/m], segments: [0, 1]}
  carried: {type: dipole, frame: hand, moment: [=strength, 0, 0]}
  loop: {type: coil, position: [-4 cm, 0, 2 cm], axis: x, radius: 3 cm, turns: 100, current: =current}
  uniform: {type: uniform, flux_density: [0, =field, 0]}
outputs: {tip: {frame: catheter.tip}}
"""


@pytest.fixture(scope="module")
def small():
    return pliant.derive(pliant.load_text(SMALL))


def test_energy_closes_while_fields_vary(small):
    times = np.linspace(0, 0.1, 21)
    inputs = {"field": (times, 0.002 * np.sin(80 * times)), "current": (times, 3 * np.cos(60 * times))}
    energy = pliant.simulate(small, 0.1, inputs=inputs, rtol=1e-7).energy
    total = (energy["total"] + energy["dissipated"] - energy["supplied"]).to_numpy()
    supplied = np.abs(energy["supplied"].to_numpy()).max()
    assert supplied > 1e-7
    assert np.ptp(total) < 1e-4 * supplied


@pytest.mark.parametrize(
    "options", [{"analysis": "equilibrium"}, {"until": 0.02, "rtol": 1e-7}], ids=["rest", "motion"]
)
def test_gradients_are_changes(small, options):
    f = pliant.differentiable(small, "tip", ["strength", "height", "current", "field"], **options)
    cotangent = np.array([1.0, -2.0, 0.5])
    gradient = f.vjp()[1]({"tip": cotangent.reshape(f.shapes["tip"])})
    for name, value in f.initial.items():
        h = 1e-3 * abs(value)
        tips = [f({name: value + way * h})["tip"] for way in (1, -1)]
        slope = float(np.sum((tips[0] - tips[1]) * cotangent)) / (2 * h)
        assert gradient[name] == pytest.approx(slope, rel=1e-4)


def test_a_path_over_the_field_ends_at_the_equilibrium(small):
    path = pliant.continuation(small, parameter="field", to=0.01)
    there = pliant.equilibrium(small, inputs={"field": 0.01})
    assert path.q[-1] == pytest.approx(there.q, rel=1e-6, abs=1e-8)


def test_a_fleet_moves_as_the_simulation(small):
    fields = np.array([1e-3, 5e-3])
    fleet = pliant.Fleet(small, 2, method="semi_implicit", step=1e-3, inputs=["field"])
    fleet.step({"field": fields}, n=20)
    for k, value in enumerate(fields):
        run = pliant.simulate(small, 0.02, inputs={"field": value}, method=pliant.SemiImplicit(step=1e-3))
        assert fleet.q[k] == pytest.approx(run.q[-1], rel=1e-8, abs=1e-10)


STRAIGHT = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {thick: {shape: circle, radius: 2 mm}, thin: {shape: circle, radius: 1 mm}}
materials: {rubber: {density: 2000 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.48}}
bodies: {bead: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}}
joints: {free: {type: free, child: bead, x: {initial: 0.09}, z: {initial: 0.05}}}
rods: {arm: {length: 6 cm, section: [thick, thin], material: rubber, model: {kind: KIND}}}
magnets:
  arm: {type: rod, rod: arm, magnetization: [50 kA/m, 0, 80 kA/m], segments: [1, 0, -1, 1], profile: [1, 0.5, 1]}
  bead: {type: dipole, frame: bead, moment: [1, 2, 3]}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_the_field_of_a_rod_is_that_of_its_volume_in_every_model(kind):
    """The whole rod counts, with its part at the clamped base: the force on a dipole is the integral of those of its slices."""
    fineness = {
        "pcc": "pcc, sections: 8",
        "pcc_cog": "pcc_cog, sections: 8",
        "gvs": "gvs, elements: 8",
        "polynomial": "polynomial",
    }
    text = STRAIGHT.replace("kind: KIND", f"kind: {fineness.get(kind, f'{kind}, elements: 16')}")
    eqs = pliant.derive(pliant.load_text(text))
    start = eqs.initial_state()
    rates = dict(zip(eqs.rates, np.asarray(eqs.forward_dynamics(start.q, start.v)[0]), strict=True))
    found = np.array([rates[f"free.{axis}"] for axis in "xyz"])
    points, weights = np.polynomial.legendre.leggauss(20)
    exact = np.zeros(3)
    second = np.array([1.0, 2.0, 3.0])
    for k, sign in enumerate((1, 0, -1, 1)):
        for x, w in zip((k + (points + 1) / 2) / 4, weights / 8, strict=True):
            # the linear taper is of the area, as that of the mass
            area = np.pi * ((1 - x) * 4e-6 + x * 1e-6)
            first = sign * (1 - 0.5 * (1 - abs(2 * x - 1))) * area * w * 0.06 * np.array([5e4, 0, 8e4])
            way = np.array([0.09, 0, 0.05 - 0.06 * x])
            r = np.linalg.norm(way)
            n = way / r
            a, b = first @ n, second @ n
            exact += 3e-7 / r**4 * (a * second + b * first + (first @ second) * n - 5 * a * b * n)
    assert found == pytest.approx(exact, rel=2e-3, abs=2e-3 * np.linalg.norm(exact))


SENSOR = """
pliant: 1
parameters: {current: {value: 2 A, input: true}}
bodies: {arm: {mass: 1 kg, shape: {type: box, size: [10 cm, 1 cm, 1 cm]}, frames: {sensor: {position: [0.1 m, 0, 0.05 m]}}}}
joints: {hinge: {type: revolute, axis: y, child: arm, angle: {initial: 30 deg}}}
magnets:
  loop: {type: coil, position: [0, 0, 0.02 m], radius: 0.3 m, turns: 50, current: =current}
  earth: {type: uniform, flux_density: [0, 0, 50 uT]}
outputs: {field: {flux_density: arm.sensor, expressed_in: world}, own: {flux_density: arm.sensor, component: z}}
"""


def test_a_sensor_measures_the_field_of_all_magnets():
    eqs = pliant.derive(pliant.load_text(SENSOR))
    run = pliant.simulate(eqs, 1e-3, inputs={"current": 3.0}, save_at=[0.0])
    frame = eqs.frame("arm.sensor", eqs.initial_state().q)
    field = 50 * 3.0 * numbers(LOOP(frame.position - [0, 0, 0.02])) + [0, 0, 5e-5]
    assert np.asarray(run["field"])[0] == pytest.approx(field, rel=1e-12)
    assert float(np.asarray(run["own"])[0]) == pytest.approx(float(frame.rotation[:, 2] @ field), rel=1e-12)


NEEDLE = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {field: 1 mT}
bodies: {needle: {mass: 0.1 g, shape: {type: cylinder, radius: 0.5 mm, length: 10 mm, axis: x}}}
joints: {pivot: {type: revolute, child: needle, axis: z, angle: {initial: ANGLE}}}
magnets:
  needle: {type: body, body: needle, remanence: [1.2 T, 0, 0]}
  earth: {type: uniform, flux_density: [=field, 0, 0]}
"""


def needle(angle):
    return pliant.derive(pliant.load_text(NEEDLE.replace("ANGLE", angle)))


def test_the_frequency_of_a_compass_needle_is_exact():
    volume, mass = np.pi * 0.5e-3**2 * 0.01, 1e-4
    inertia = mass * (0.5e-3**2 / 4 + 0.01**2 / 12)
    rate = np.sqrt(1.2 / MU_0 * volume * 1e-3 / inertia)
    eqs = needle("0")
    assert pliant.modes(eqs).frequencies[0] == pytest.approx(rate / (2 * np.pi), rel=1e-9)
    assert not pliant.modes(needle("180 deg"), at="initial").stable


def load(magnets, extra=""):
    text = f"""
pliant: 1
sections:
  s: {{shape: circle, radius: 1 mm}}
  k: {{shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1, inertia_per_length: [1, 1, 2]}}
materials: {{m: {{density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}}}
rods: {{arm: {{length: 10 cm, section: s, material: m}}, bar: {{length: 10 cm, section: k}}}}
bodies: {{point: {{mass: 1 kg, inertia: {{principal: [1, 1, 1]}}}}, ball: {{mass: 1 kg, shape: {{type: sphere, radius: 1 cm}}}}}}
joints: {{a: {{type: free, child: point}}, b: {{type: free, child: ball, position: [0, 0, 5 mm]}}}}
magnets: {{{magnets}}}
{extra}
"""
    return pliant.load_text(text)


@pytest.mark.parametrize(
    ("magnets", "message"),
    [
        ("c: {type: coil, radius: 0, current: 1 A}", "radius must be above zero"),
        ("c: {type: coil, radius: 1 cm, current: 1 T}", "current"),
        ("d: {type: dipole, moment: [0, 0, 1], radius: 0}", "radius must be above zero"),
        ("d: {type: rod, rod: arm}", "needs one of magnetization, remanence or moment_per_length"),
        ("d: {type: body, body: ball, magnetization: [1, 0, 0], remanence: [1, 0, 0]}", "magnetization and remanence"),
        ("d: {type: body, body: bal, magnetization: [1, 0, 0]}", "there is no body 'bal'"),
        ("d: {type: rod, rod: arm, magnetization: [1 T, 0, 0]}", "magnetization"),
        ("d: {type: uniform, flux_density: [1 kA/m, 0, 0]}", "magnetic flux density"),
    ],
)
def test_what_cannot_be_is_reported(magnets, message):
    with pytest.raises(pliant.SpecError, match=message):
        load(magnets)


@pytest.mark.parametrize(
    ("magnet", "message"),
    [
        ("{type: uniform, flux_density: [80, 0, 0]}", "no laboratory has a steady field of 80 T"),
        ("{type: body, body: ball, remanence: [0, 0, 1300]}", "no material has a remanence of 1.3e[+]03 T"),
        ("{type: rod, rod: arm, magnetization: [0, 0, 1e8]}", "no material has a magnetization"),
    ],
)
def test_what_no_magnet_has_is_remarked(magnet, message):
    (remark,) = [fault.message for fault in load(f"d: {magnet}").remarks if "magnets" in str(fault.path)]
    assert re.match(message, remark)


@pytest.mark.parametrize(
    ("magnet", "message"),
    [
        ("{type: body, body: point, magnetization: [1, 0, 0]}", "the volume of the body 'point' is unknown"),
        ("{type: rod, rod: bar, magnetization: [1, 0, 0]}", "the area of the rod 'bar' is unknown"),
    ],
)
def test_parts_of_unknown_size_are_reported(magnet, message):
    with pytest.raises(pliant.SpecError, match=message):
        pliant.derive(load(f"d: {magnet}, e: {{type: dipole, moment: [0, 0, 1]}}"))


def test_a_magnet_close_to_a_coarse_rod_is_remarked():
    robot = load(
        "d: {type: rod, rod: arm, magnetization: [0, 0, 1]}, e: {type: dipole, position: [5 mm, 0, 5 cm], moment: [0, 0, 1]}"
    )
    with pytest.warns(UserWarning, match="closer than the points of the rod's model"):
        pliant.derive(robot)


def test_a_dipole_inside_a_magnet_is_remarked_and_finite():
    robot = load(
        "d: {type: dipole, frame: point, moment: [0, 0, 1]}, e: {type: body, body: ball, remanence: [0, 0, 1 T]}"
    )
    with pytest.warns(UserWarning, match="apart at the start, inside each other"):
        eqs = pliant.derive(robot)
    state = eqs.initial_state()
    assert np.isfinite(eqs.binding.forward(0.0, state.q, state.v)[0]).all()
