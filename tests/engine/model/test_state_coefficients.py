"""Coefficients that depend on the state in text: forces, derivatives and energies, and messages for invalid ones."""

import json

import numpy as np
import pytest
from scipy.integrate import quad

import pliant
from pliant import SpecError, derive, dump, equilibrium, load_text, simulate
from pliant.cli import run as command
from pliant.robot.rod_switch import with_rod_model

HINGE = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {k0: 2 N*m, c0: 0 N*m*s, soft: 0.5}
bodies: {arm: {mass: 1 kg, shape: {type: box, size: [10 cm, 10 cm, 40 cm]}}}
joints:
  hinge: {type: revolute, child: arm, axis: y,
          angle: {initial: 1 rad, spring: {coefficient: "=k0*(1 + soft*(angle/1 rad)^2)", rest: 0.2}, damper: "=c0*(1 + angle^2)"}}
"""
# every kind of coefficient, depending on what is not its own too
EVERYTHING = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {k0: 3 N/m, turn: 0.2 N*m, grow: 2, EI: 0.3 N*m^2}
sections:
  wire: {shape: stiffness, stiffness: [90, 80, 70, =EI, =EI/2, =EI], mass_per_length: 0.2, inertia_per_length: [1e-4, 1e-4, 2e-4]}
bodies:
  puck: {mass: 0.4 kg, inertia: {principal: [0.01, 0.02, 0.015]}, frames: {edge: {position: [0.2, 0, 0]}}}
  ring: {mass: 0.3 kg, inertia: {principal: [0.01, 0.02, 0.015]}}
joints:
  table: {type: planar, child: puck, x: {initial: 0.3, spring: "=k0*(1 + (y/0.1 m)^2 + angle^2)"},
          y: {initial: -0.2, spring: "=k0*exp(y/1 m)", damper: "=0.1 N*s/m*(1 + (x/1 m)^2)", direction: negative, smoothing: 0.3},
          angle: {initial: 0.5, rate: 1, spring: "=turn*(1 + angle^4)"}}
  flight: {type: free, child: ring, x: {initial: 1}, z: {initial: 0.4, spring: "=k0*(2 + cos(x/1 m))"}}
links:
  rope: {type: axial, between: [puck.edge, ring], spring: {coefficient: "=k0*(1 + strain^2)*(1 + stretch/1 m)", rest: 0.4},
         damper: "=0.2 N*s/m * (length/1 m)^2", direction: tension, smoothing: 0.1}
  mount: {type: beam, between: [world, ring], rest: [0.8, 0.1, 0.3, 0, 0.1, 0],
          stiffness: ["=k0*(1+(stretch/1 m)^2)", =k0, "=k0*(1+(stretch/1 m)^2)",
                      "=turn*(1+bend_x*twist)", =turn, "=turn*(1+twist^2)"],
          damping: ["=0.1 N*s/m * (1+bend_y^2)", 0, 0, 0, 0, 0]}
rods:
  arm: {parent: puck.edge, length: 0.3, section: wire, model: {kind: pcs, elements: 1},
        stiffness_factors: ["=1 + shear_y^2", 1, "=1 + grow*stretch^2", "=1 + 0.1 m*bend_y*0.3", 2, "=exp(0.1 m*twist)"]}
"""


def forces(eqs, q, v=None):
    """Generalized forces of springs and dampers of a robot without weight, at states without centrifugal forces."""
    rates = np.zeros(len(eqs.rates)) if v is None else v
    return -eqs.inverse_dynamics(q, rates, np.zeros(len(eqs.rates)))


def test_a_spring_stores_the_integral_of_its_force():
    eqs = derive(load_text(HINGE))

    def force(x):
        return -2 * (1 + 0.5 * x**2) * (x - 0.2)

    for x in (-1.3, 0.2, 0.9):
        assert forces(eqs, [x], [0.0])[0] == pytest.approx(force(x), rel=1e-13, abs=1e-14)
        assert eqs.energy([x], [0.0]).potential == pytest.approx(-quad(force, 0.2, x)[0], rel=1e-12, abs=1e-14)
    changed = eqs.at(parameters={"soft": 3.0, "c0": 0.1})
    assert forces(changed, [1.0], [2.0])[0] == pytest.approx(-2 * 4 * 0.8 - 0.1 * 2 * 2.0, rel=1e-13)


def test_undamped_motion_conserves_that_energy_and_supplies_nothing():
    run = simulate(derive(load_text(HINGE)), 2.0, rtol=1e-10)
    assert np.ptp(run.energy.total.values) < 1e-7
    assert np.abs(run.energy.supplied.values).max() < 1e-12


@pytest.fixture(scope="module")
def everything():
    return derive(load_text(EVERYTHING))


@pytest.fixture(scope="module")
def state(everything):
    rng = np.random.default_rng(5)
    start = everything.initial_state()
    q = everything.binding.increment(start.q, 0.2 * rng.normal(size=len(everything.rates)))
    return q, 0.5 * rng.normal(size=len(everything.rates))


def test_derivatives_are_exact(everything, state):
    q, v = state
    at = everything.linearization(q, v, a=np.zeros(len(v)))
    step = 1e-6
    for k in range(len(v)):
        way = step * np.eye(len(v))[k]
        turned = [
            everything.inverse_dynamics(everything.binding.increment(q, s), v, np.zeros(len(v))) for s in (way, -way)
        ]
        moved = [everything.inverse_dynamics(q, v + s, np.zeros(len(v))) for s in (way, -way)]
        for found, pair in ((at.stiffness, turned), (at.damping, moved)):
            column = found.toarray()[:, k]
            assert column == pytest.approx((pair[0] - pair[1]) / (2 * step), abs=2e-6 * max(1, np.abs(column).max()))


def test_parameters_reach_the_formulas(everything, state):
    q, v = state
    step = 1e-5
    up, down = (forces(everything.at(parameters={"grow": 2 + s}), q, v) for s in (step, -step))
    stretch = everything.coordinates.index("arm.stretch[1]")
    e = q[stretch]
    slope = (up - down) / (2 * step)
    assert slope[everything.rates.index("arm.stretch[1]")] == pytest.approx(-0.3 * 70 * e**3, rel=1e-6)


def test_energies_balance_where_coefficients_depend_on_other_coordinates(everything):
    run = simulate(everything, 1.0, rtol=1e-9, save_every=0.05)
    energy = run.energy
    assert np.abs(energy.supplied.values).max() > 1e-3  # forces without a potential
    assert np.ptp((energy.total + energy.dissipated - energy.supplied).values) < 1e-6


@pytest.mark.parametrize("word", ["pcs:2", "cosserat:2", "finite_element:2", "polynomial:1", "pcc:2"])
def test_a_rod_that_stiffens(word):
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {pull: 20 N}
sections: {round: {shape: circle, radius: 15 mm}}
materials: {gum: {density: 1100 kg/m^3, youngs_modulus: 200 kPa, poissons_ratio: 0.49}}
rods: {arm: {length: 30 cm, section: round, material: gum, stiffness_factors: [1, 1, "=2 + 30*stretch^2", 1, 1, 1]}}
loads: {pull: {frame: arm.tip, force: [0, 0, =pull]}}
"""
    found = equilibrium(derive(with_rod_model(load_text(text), "arm", word)))
    e = found.frames["arm.tip"].position[2] / 0.3 - 1
    assert 200e3 * np.pi * 0.015**2 * (2 + 30 * e**2) * e == pytest.approx(20, rel=1e-8)


def test_parameters_come_before_quantities_of_the_state():
    text = HINGE.replace("soft: 0.5}", "soft: 0.5, angle: 3}")
    eqs = derive(load_text(text))
    assert forces(eqs, [1.0], [0.0])[0] == pytest.approx(-2 * (1 + 0.5 * 9) * 0.8)


def test_attached_models_keep_their_states_apart_from_outer_parameters(tmp_path):
    (tmp_path / "leg.yaml").write_text(HINGE)
    outer = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {angle: 3, stiff: 4}
attach: {leg: {model: leg.yaml, parameters: {soft: =stiff*angle}}}
"""
    (tmp_path / "robot.yaml").write_text(outer)
    spec = pliant.load(tmp_path / "robot.yaml")
    eqs = derive(spec)
    assert eqs.coordinates == ("leg/hinge",)
    assert forces(eqs, [0.7], [0.0])[0] == pytest.approx(-2 * (1 + 12 * 0.49) * 0.5)
    again = load_text(dump(pliant.load(tmp_path / "leg.yaml")))
    assert forces(derive(again), [0.7])[0] == pytest.approx(-2 * (1 + 0.5 * 0.49) * 0.5)


def test_instances_have_formulas_of_their_own():
    text = HINGE.replace("arm: {mass", "arm: {count: 2, mass").replace("k0*(1", "k0*(i")
    eqs = derive(load_text(text))
    assert forces(eqs, [1.0, 1.0], [0.0, 0.0]) == pytest.approx([-2 * 1.5 * 0.8, -2 * 2.5 * 0.8])


def test_linear_systems_and_the_table_of_a_robot(tmp_path, capsys):
    (tmp_path / "hinge.yaml").write_text(HINGE)
    assert command(["show", str(tmp_path / "hinge.yaml")]) == 0
    assert "=k0*(1+soft*(angle/1rad)^2)" in "".join(capsys.readouterr().out.split())
    assert command(["equilibrium", str(tmp_path / "hinge.yaml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["q"]["hinge"] == pytest.approx(0.2, abs=1e-9)
    eqs = derive(load_text(HINGE))
    stiffness = eqs.linearization([1.0], [0.0]).stiffness.toarray()[0, 0]
    assert stiffness == pytest.approx(2 * 1.5 + 2 * 0.5 * 2 * 0.8)  # k + k' (x - rest)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "mass: 1 kg",
            "mass: =1 kg*(1 + stretch)",
            "'stretch' is a quantity of the state, which this value cannot depend on",
        ),
        ("rest: 0.2", "rest: =0.2*angle", "'angle' is a quantity of the state, which this value cannot depend on"),
        ("(angle/1 rad)^2", "(x/1 m)^2", "unknown parameter or state 'x'"),
        ("1 + soft*(angle/1 rad)^2", "1 + angle/1 m", "expected a torque or energy, got a force"),
        ("(angle/1 rad)^2", "1/(angle - 1)", "is not a finite number at the start"),
        ("(angle/1 rad)^2", "t/1 s", "cannot vary in time"),
    ],
)
def test_names_that_do_not_belong(old, new, message):
    with pytest.raises(SpecError, match=message):
        derive(load_text(HINGE.replace(old, new)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("=exp(0.1 m*twist)", "=0.1 m*twist"), "stiffness factor of twist is not above zero at strains of zero"),
        (("length: 0.3", "law: neo_hookean, length: 0.3"), "the law 'neo_hookean' requires constant stiffness factors"),
        (("kind: pcs", "kind: timoshenko"), "the rod model 'timoshenko' requires constant stiffness factors"),
        (("=1 + grow*stretch^2", "=1 + bend_x"), "expected a plain number or angle, got a curvature"),
    ],
)
def test_factors_of_rods_that_cannot_be(change, message):
    with pytest.raises(SpecError, match=message):
        derive(load_text(EVERYTHING.replace(*change)))
