"""Rayleigh damping: the requested ratio of two modes, none for rigid-body motions of the rod."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

from pliant import SpecError, derive, load_text, modes
from pliant.analysis.derivation.check import building_faults
from pliant.analysis.derivation.rod_frequencies import clamped_frequencies
from pliant.engine.kernel import frame_force_kernels
from pliant.parts.rod.finite_element import DRAG
from pliant.robot.flattening import flatten

ROD = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {alpha: 3 Hz}
sections: {strip: {shape: rectangle, width: 20 mm, height: 1 mm}}
materials: {steel: {density: 7800 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
bodies: {hub: {mass: 1 kg, shape: {type: sphere, radius: 5 cm}}}
joints: {JOINT}
rods:
  rod: {parent: hub, length: 0.3 m, section: strip, material: steel, rayleigh: RAYLEIGH, model: {kind: KIND}}
"""
CLAMPED, TURNING = "hold: {type: weld, child: hub}", "turn: {type: revolute, axis: x, child: hub}"


def rod_text(kind, rayleigh, joint=CLAMPED):
    """`kind`: that of the rod's model with its options, and ` as ` its strains if not all of them are free."""
    kind, _, strains = kind.partition(" as ")
    text = ROD.replace("KIND", kind).replace("model:", f"strains: {strains or 'null'}, model:")
    return text.replace("RAYLEIGH", rayleigh).replace("JOINT", joint)


def rod(kind, rayleigh, joint=CLAMPED):
    return derive(load_text(rod_text(kind, rayleigh, joint)))


@pytest.mark.parametrize(
    "kind", ["finite_element, elements: 6 as planar_yz", "pcs, elements: 6", "timoshenko, elements: 6 as planar_yz"]
)
def test_two_modes_have_the_ratio_and_the_others_follow_the_formula(kind):
    found = modes(rod(kind, "{ratio: 0.02, modes: [1, 2]}"), count=3)
    assert found.damping_ratios[:2] == pytest.approx([0.02, 0.02], rel=1e-4)
    first, second, third = 2 * np.pi * found.frequencies
    alpha, beta = 2 * 0.02 * first * second / (first + second), 2 * 0.02 / (first + second)
    assert found.damping_ratios[2] == pytest.approx(alpha / (2 * third) + beta * third / 2, rel=1e-3)
    a, b = found.frequencies[:2]
    given = modes(rod(kind, f"{{ratio: 0.02, frequencies: [{a} Hz, {b} Hz]}}"), count=3)
    np.testing.assert_allclose(given.damping_ratios, found.damping_ratios, rtol=1e-6)


@pytest.mark.parametrize(
    "kind",
    [
        "finite_element, elements: 4",
        "finite_element, elements: 6, mass: lumped as planar_yz",
        "timoshenko, elements: 4, mass: linear as planar_yz",
    ],
)
def test_alpha_and_beta_act_by_themselves(kind):
    by_mass, by_stiffness = modes(rod(kind, "{alpha: =alpha}"), count=3), modes(rod(kind, "{beta: 0.5 ms}"), count=3)
    w = 2 * np.pi * by_mass.frequencies
    # the rotary inertia of sections has no part in alpha
    np.testing.assert_allclose(by_mass.damping_ratios, 3.0 / (2 * w), rtol=2e-4)
    np.testing.assert_allclose(by_stiffness.damping_ratios, 0.5e-3 * w / 2, rtol=1e-6)


def test_turning_of_the_whole_rod_is_not_damped():
    eqs = rod("pcs, elements: 3", "{ratio: 0.05, modes: [1, 2]}", TURNING)
    q, v = eqs.initial_state()
    v[eqs.rates.index("turn")] = 10.0
    assert eqs.energy(q, v).kinetic > 0.01
    assert eqs.energy(q, v).dissipation == pytest.approx(0.0, abs=1e-15)
    v[next(k for k, name in enumerate(eqs.rates) if "bend_x" in name)] = 1.0
    assert eqs.energy(q, v).dissipation > 1e-6


def test_drag_of_elements_knows_no_common_motion():
    value = frame_force_kernels(DRAG).functions[0]
    rng = np.random.default_rng(0)
    poses = np.concatenate(
        [np.concatenate([np.linalg.qr(rng.normal(size=(3, 3)))[0].ravel(), rng.normal(size=3)]) for _ in range(3)]
    )
    constants = np.concatenate([poses[:24], rng.uniform(0.1, 1, 7)])
    twist = rng.normal(size=6)
    wrench, powers = value(poses, np.tile(twist, 3), constants, [])
    assert np.abs(np.asarray(wrench)).max() < 1e-13
    wrench, powers = value(poses, rng.normal(size=18), constants, [])
    assert np.asarray(wrench).reshape(3, 6).sum(axis=0) == pytest.approx(np.zeros(6), abs=1e-12)
    assert float(powers[1]) > 1e-3


@pytest.mark.parametrize(
    ("rayleigh", "message"),
    [
        ("{ratio: 0.02}", "needs a ratio and the two modes"),
        ("{ratio: 0.02, modes: [1, 1]}", "the same"),
        ("{ratio: 0.02, modes: [1, 2], alpha: 1 Hz}", "not both"),
        ("{ratio: -0.02, modes: [1, 2]}", "negative"),
        ("{ratio: 0.02, frequencies: [0 Hz, 5 Hz]}", "above zero"),
        ("{alpha: 2 kg}", "expected"),
    ],
)
def test_faults_are_said_clearly(rayleigh, message):
    with pytest.raises(SpecError) as caught:
        load_text(rod_text("pcs", rayleigh))
    assert any(message in str(fault.message) for fault in caught.value.faults)


@pytest.mark.parametrize("kind", ["pcc", "pcc_cog"])
def test_arcs_refuse_it(kind):
    with pytest.raises(SpecError, match="circular arcs do not support Rayleigh damping"):
        rod(kind, "{alpha: =alpha}")


@pytest.mark.parametrize(
    "kind",
    [
        "pcs, elements: 5",
        "finite_element, elements: 8",
        "finite_element, elements: 30",
        "pseudo_rigid, elements: 4 as planar_yz",
    ],
)
def test_frequencies_of_a_rod_by_itself_are_those_of_its_modes(kind):
    flat = flatten(load_text(rod_text(kind, "{ratio: 0.02, modes: [1, 4]}")))
    alone = derive(load_text(rod_text(kind, "null").replace("parent: hub", "parent: world")))
    expected = modes(alone, at="initial", undamped=True, count=4).frequencies
    np.testing.assert_allclose(clamped_frequencies(flat, "rod", 4), expected, rtol=1e-9)


SOFT = """
pliant: 1
parameters: {modulus: 1 MPa, length: 20 cm, radius: 6 mm, end: 4 mm, ratio: 0.05, payload: 10 g}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: =modulus, poissons_ratio: 0.49}}
sections: {thick: {shape: circle, radius: =radius}, thin: {shape: circle, radius: =end}}
bodies: {ball: {mass: =payload, parent: rod.tip, shape: {type: sphere, radius: 1 mm}}}
rods:
  rod: {length: =length, section: [thick, thin], material: rubber, rotation: {axis: y, angle: 60 deg},
    rayleigh: {ratio: =ratio, modes: [1, 3]}, model: {kind: KIND}}
outputs: {tip: {frame: rod.tip}}
"""
CHANGES = (
    {"modulus": 3e6},
    {"length": 0.1, "radius": 9e-3},
    {"length": 0.4, "end": 1e-3},
    {"ratio": 0.1, "payload": 0.02},
)


def soft(kind, values=None):
    return load_text(SOFT.replace("KIND", kind), set=values or {})


@pytest.mark.parametrize("kind", ["pcs, elements: 4", "gvs", "finite_element, elements: 4", "cosserat, elements: 6"])
def test_damping_at_modes_follows_the_parameters(kind):
    """The same constants as those of a model that is written with the other values."""
    eqs = derive(soft(kind))
    for change in CHANGES:
        written = derive(soft(kind, {name: str(value) for name, value in change.items()}))
        followed = eqs.at(parameters=change)
        np.testing.assert_allclose(followed.binding.constants, written.binding.constants, rtol=1e-7, atol=1e-300)
    cases = eqs.at_each([(change, {}) for change in CHANGES[:1] * 2])
    np.testing.assert_array_equal(cases[1].binding.constants, eqs.at(parameters=CHANGES[0]).binding.constants)


def test_derivatives_include_the_frequencies():
    eqs = derive(soft("pcs, elements: 2"))
    constants, own = eqs.model.system.constants, eqs.model.parameter_vector()
    for k, name in enumerate(eqs.model.parameter_names):
        step = 1e-5 * own[k] * np.eye(len(own))[k]
        difference = (constants.values(own + step) - constants.values(own - step)) / (2e-5 * own[k])
        exact = constants.tangent(own, np.eye(len(own))[k])
        np.testing.assert_allclose(exact, difference, rtol=1e-6, atol=1e-6 * np.abs(difference).max(), err_msg=name)


def test_damping_at_modes_is_kept_by_pickles_and_copies():
    eqs = derive(soft("pcs, elements: 2"))
    other = subprocess.run(
        [sys.executable, "-c", "import pickle, sys; e = pickle.load(sys.stdin.buffer); "
         "print(e.at(parameters={'modulus': 3e6}).binding.constants.tolist())"],
        input=pickle.dumps(eqs), capture_output=True, check=True,
    )  # fmt: skip
    assert json.loads(other.stdout) == eqs.at(parameters={"modulus": 3e6}).binding.constants.tolist()


def test_a_rod_that_is_too_large_to_follow_has_a_remark(monkeypatch):
    monkeypatch.setattr("pliant.analysis.derivation.rod_frequencies.MANY", 5)
    with pytest.warns(UserWarning, match="with other parameters .* they do not change"):
        derive(soft("pcs, elements: 3"))


def test_damping_at_a_mode_that_the_rod_does_not_have_is_a_fault_of_the_model() -> None:
    text = """
pliant: 1
sections: {wire: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
rods:
  arm:
    {length: 30 cm, section: wire, material: rubber, strains: [kirchhoff, planar], model: {kind: pcs, elements: 2},
     rayleigh: {modes: [1, 4], ratio: 0.05}}
"""
    spec = load_text(text)
    (fault,) = building_faults(spec)
    assert fault.path == "rods.arm.rayleigh.modes"
    assert "has 2 modes" in fault.message
    with pytest.raises(SpecError, match="given at mode 4"):
        derive(spec)
