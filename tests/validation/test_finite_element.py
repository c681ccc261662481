"""Finite elements: patch tests, objectivity, independence of path and turns, fourth order, free flight, planes."""

import casadi as ca
import numpy as np
import pytest
import scipy.sparse.linalg as spla
from rod_cases import arm, static

from pliant import derive, load_text, modes
from pliant.language.faults import SpecError
from pliant.parts.geometry import se3, so3
from pliant.robot.rod_switch import with_rod_model

PATCH = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {fx: 0 N, fy: 0 N, fz: 0 N, mx: 0 N*m, my: 0 N*m, mz: 0 N*m}
sections: {strip: {shape: rectangle, width: 30 mm, height: 20 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
rods:
  arm: {length: 0.4 m, section: strip, material: rubber, frames: {a: 0.05 m, b: 0.22 m, c: 0.3 m}}
loads: {tip: {frame: arm.tip, force: [=fx, =fy, =fz], moment: [=mx, =my, =mz]}}
"""
E, G, WIDTH, HEIGHT = 1e6, 1e6 / 2.8, 0.03, 0.02
AREA, I_X, I_Y = WIDTH * HEIGHT, WIDTH * HEIGHT**3 / 12, HEIGHT * WIDTH**3 / 12


@pytest.fixture(scope="module")
def patch():
    """Four elements of different lengths."""
    return arm("finite_element:1", PATCH)


@pytest.mark.parametrize(
    ("loads", "strain"),
    [
        ({"fz": 60.0}, [0, 0, 60.0 / (E * AREA), 0, 0, 0]),
        ({"mx": 8 * E * I_X}, [0, 0, 0, 8, 0, 0]),
        ({"my": 5 * E * I_Y}, [0, 0, 0, 0, 5, 0]),
    ],
)
def test_constant_strain_is_met_exactly(patch, loads, strain):
    q = static(patch, {}, loads)
    for frame, at in (("a", 0.05), ("b", 0.22), ("c", 0.3), ("tip", 0.4)):
        R, p = se3.exp(at * (ca.DM(strain) + ca.DM([0, 0, 1, 0, 0, 0])))
        found = patch.frame(f"arm.{frame}", q)
        assert found.position == pytest.approx(np.asarray(p).ravel(), abs=1e-12)
        assert found.rotation == pytest.approx(np.asarray(R), abs=1e-11)


@pytest.mark.parametrize("height", [0.1, 1e-3])
def test_small_displacements_are_exact_at_the_nodes(height):
    """One element under a tip force: P L^3 / 3EI + P L / kGA, however slender (nothing locks)."""
    text = PATCH.replace("height: 20 mm", f"height: {height} m").replace(
        ", frames: {a: 0.05 m, b: 0.22 m, c: 0.3 m}", ""
    )
    eqs = arm("finite_element:1", text)
    inertia, nu = WIDTH * height**3 / 12, 0.4
    shear = 10 * (1 + nu) / (12 + 11 * nu) * G * WIDTH * height
    force = 1e-6 * E * inertia / 0.4**2
    q = static(eqs, {}, {"fy": force}, steps=1)
    expected = force * 0.4**3 / (3 * E * inertia) + force * 0.4 / shear
    assert eqs.frame("arm.tip", q).position[1] == pytest.approx(expected, rel=1e-8)


FLYING = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {strip: {shape: rectangle, width: 30 mm, height: 20 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
bodies: {end: {}}
joints: {flight: {type: free, child: end}}
rods: {arm: {parent: end, length: 0.4 m, section: strip, material: rubber}}
"""


@pytest.fixture(scope="module")
def flying():
    return derive(with_rod_model(load_text(FLYING), "arm", "finite_element:4"))


def frames_of(eqs, q):
    """Indices of the position of each free frame in q and v."""
    return [(c.q_at - 3, c.v_at - 3) for c in eqs.model.coordinates if c.is_rotation]


def moved(eqs, q, pose):
    """Every free frame moved by the same world pose."""
    out = q.copy()
    for at, _ in frames_of(eqs, q):
        R, p = se3.compose(pose, (so3.quaternion_matrix(ca.DM(q[at + 3 : at + 7])), ca.DM(q[at : at + 3])))
        out[at : at + 3] = np.asarray(p).ravel()
        out[at + 3 : at + 7] = np.asarray(so3.matrix_quaternion(R)).ravel()
    return out


def test_rigid_motion_stores_no_energy(flying):
    rng = np.random.default_rng(1)
    q0, v = flying.initial_state()
    bent = flying.binding.increment(q0, 0.05 * rng.normal(size=len(v)))
    reference = flying.energy(bent, v).potential
    force = np.abs(flying.bias(bent, v)).max()
    assert reference > 0.1
    for _ in range(5):
        pose = se3.exp(ca.DM(3 * rng.normal(size=6)))
        still = moved(flying, q0, pose)
        assert flying.energy(still, v).potential < 1e-12 * reference
        assert np.abs(flying.bias(still, v)).max() < 1e-12 * force
        assert flying.energy(moved(flying, bent, pose), v).potential == pytest.approx(reference, rel=1e-12)


TURNED = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {turn: 0 rad, force: 0 N, across: 0 N, moment: 0 N*m}
sections: {thick: {shape: rectangle, width: 60 mm, height: 40 mm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 200 kPa, poissons_ratio: 0.4}}
rods:
  arm: {rotation: [{axis: z, angle: =turn}, {axis: y, angle: 90 deg}, {axis: z, angle: 90 deg}], length: 0.5 m,
        section: thick, material: rubber}
loads:
  tip: {frame: arm.tip, expressed_in: arm, force: [=force, =across, 0], moment: [0, =moment, 0]}
"""


def settle(eqs, q, parameters):
    """Newton's method from q."""
    zero = np.zeros(len(eqs.rates))
    for _ in range(40):
        at = eqs.linearization(q, zero, a=zero, multipliers=np.zeros(0), parameters=parameters)
        step = -spla.splu(at.stiffness.tocsc()).solve(at.residual)
        q = eqs.binding.increment(q, step)
        if np.abs(step).max() < 1e-10:
            return q
    raise AssertionError("Newton's method did not converge")


@pytest.mark.parametrize(("plane", "across"), [(None, 0.4), ("planar_xz", 0.0)])
def test_deformation_does_not_remember_turns(plane, across):
    eqs = arm("finite_element:4", TURNED, strains=plane)
    loads = {"force": 0.6, "across": across, "moment": 0.3}
    q = static(eqs, {}, loads)
    R, p = (lambda f: (f.rotation, f.position))(eqs.frame("arm.tip", q, parameters=loads))
    assert np.linalg.norm(p - [0.5, 0, 0]) > 0.1
    turns, steps = 6, 24
    for turn in np.linspace(0, 2 * np.pi * turns, turns * steps + 1)[1:]:
        q = settle(eqs, q, {**loads, "turn": turn})
    tip = eqs.frame("arm.tip", q, parameters={**loads, "turn": turn})
    assert tip.position == pytest.approx(p, abs=1e-10)
    assert tip.rotation == pytest.approx(R, abs=1e-10)


def test_the_end_does_not_depend_on_the_way(patch):
    loads = {"fx": 0.3, "fy": 0.2, "mx": 0.05, "mz": 0.04}
    ends = []
    for first in (("fx", "mz"), ("fy", "mx"), tuple(loads)):
        q = static(patch, {}, {name: loads[name] for name in first})
        for share in np.linspace(0, 1, 9)[1:]:
            q = settle(patch, q, {name: x if name in first else share * x for name, x in loads.items()})
        ends.append(patch.frame("arm.tip", q).position)
    assert np.linalg.norm(ends[0] - [0, 0, 0.4]) > 0.1
    assert ends[1] == pytest.approx(ends[0], abs=1e-10)
    assert ends[2] == pytest.approx(ends[0], abs=1e-10)


def test_a_plane_is_a_restriction_of_space(patch):
    loads = {"fx": 0.4, "my": 0.06}
    inside = arm("finite_element:1", PATCH, strains="planar_xz")
    assert len(inside.rates) * 2 == len(patch.rates)
    q, q_plane = static(patch, {}, loads), static(inside, {}, loads)
    for frame in ("arm.a", "arm.tip"):
        a, b = patch.frame(frame, q), inside.frame(frame, q_plane)
        assert b.position == pytest.approx(a.position, abs=1e-10)
        assert b.rotation == pytest.approx(a.rotation, abs=1e-10)
    loads = {"fx": 0.4}
    q, q_plane = static(patch, {}, loads), static(inside, {}, loads)
    both = modes(patch, at=q, parameters=loads, count=12).frequencies
    for x in modes(inside, at=q_plane, parameters=loads, count=4).frequencies:
        assert np.abs(both / x - 1).min() < 1e-8


def test_what_leads_out_of_a_plane_is_refused():
    text = FLYING.replace("type: free", "type: JOINT")
    for joint in ("revolute, axis: y", "prismatic, axis: x"):
        arm("finite_element:2", text.replace("JOINT", joint), strains="planar_xz")
    for joint in ("revolute, axis: x", "prismatic, axis: y", "spherical", "free"):
        with pytest.raises(SpecError, match=r"rods.arm.strains.*can leave that plane"):
            arm("finite_element:2", text.replace("JOINT", joint), strains="planar_xz")
    for extra, message in (
        (
            "rest: [0, 0, 0, 1, 0, 0], strains: planar_xz, model: {kind: finite_element}",
            "bend_x is 1, which is out of the xz plane",
        ),
        ("stiffness_factors: [1, 1, 1, 1, 1, 0], model: {kind: finite_element}", "factor of twist is 0"),
    ):
        with pytest.raises(SpecError, match=message):
            load_text(PATCH.replace("material: rubber,", f"material: rubber, {extra},"))
