"""Rods to test with, their statics by Newton's method, and the continuous rod solved independently of the package."""

import numpy as np
import scipy.sparse.linalg as spla
from scipy.integrate import solve_bvp

from pliant import derive, load, load_text
from pliant.spec.rod_switch import parse_rod_model, with_rod_model

STIFF = {"shear_factor": 1e3, "stretch_factor": 1e3}
BENDING = 1e7 * np.pi / 4 * 0.01**4

ARM = """
pliant: 1
world: {gravity: [0, 0, =-gravity]}
parameters:
  gravity: 0 m/s^2
  fx: 0 N
  fy: 0 N
  fz: 0 N
  mx: 0 N*m
  my: 0 N*m
  mz: 0 N*m
sections: {thick: {shape: rectangle, width: 60 mm, height: 40 mm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 200 kPa, poissons_ratio: 0.4}}
rods:
  arm:
    rotation: [{axis: y, angle: 90 deg}]
    length: 0.5 m
    section: thick
    material: rubber
    frames: {middle: 0.2 m}
loads:
  tip: {frame: arm.tip, force: [=fx, =fy, =fz], moment: [=mx, =my, =mz]}
"""
LOADS = {"gravity": 2.0, "fx": -0.3, "fy": 0.6, "fz": 0.4, "mx": 0.1, "my": -0.15, "mz": 0.12}


def options(word, **changes):
    return parse_rod_model(word).model_copy(update=changes)


def cantilever(word, **changes):
    return derive(with_rod_model(load("cantilever"), "rod", options(word, **changes)))


def arm(word, text=ARM, *, strains=None, **changes):
    spec = with_rod_model(load_text(text), "arm", options(word, **changes))
    if strains is not None:
        rod = spec.rods["arm"].model_copy(update={"strains": (strains,)})
        spec = spec.replace(rods={**spec.rods, "arm": rod})
    return derive(spec)


def static(eqs, parameters=None, loads=None, steps=8):
    """q at rest, by Newton's method while the loads grow in steps."""
    parameters, loads = parameters or {}, loads or {}
    zero = np.zeros(len(eqs.rates))
    q = eqs.initial_state(parameters).q
    for share in np.linspace(0, 1, steps + 1)[1:]:
        now = {**parameters, **{name: share * x for name, x in loads.items()}}
        for _ in range(60):
            at = eqs.linearization(q, zero, a=zero, multipliers=np.zeros(0), parameters=now)
            step = -spla.splu(at.stiffness.tocsc()).solve(at.residual)
            q = eqs.binding.increment(q, step)
            if np.abs(step).max() < 1e-8 * max(1.0, np.abs(q).max()):
                break
        else:
            raise AssertionError(f"Newton's method did not converge at {share:.0%} of the loads")
    return q


def continuous_arm(at=0.5, loads=LOADS):
    """Position at an arc length of the arm under loads: the boundary-value problem of the continuous rod."""
    E, nu, density, L, b, h = 200e3, 0.4, 1000.0, 0.5, 0.06, 0.04
    G, A = E / (2 * (1 + nu)), b * h
    n = np.arange(1, 2000, 2.0)
    torsion = h**3 * b * (1 / 3 - 64 * h / (np.pi**5 * b) * np.sum(np.tanh(n * np.pi * b / (2 * h)) / n**5))
    shear = 10 * (1 + nu) / (12 + 11 * nu) * G * A
    Kv = np.array([shear, shear, E * A])
    Ku = np.array([E * b * h**3 / 12, E * h * b**3 / 12, G * torsion])
    force = np.array([loads["fx"], loads["fy"], loads["fz"]])
    moment = np.array([loads["mx"], loads["my"], loads["mz"]])
    weight = np.array([0, 0, -density * A * loads["gravity"]])

    def slope(s, y):
        w, x, yy, z = y[3:7] / np.linalg.norm(y[3:7], axis=0)
        R = np.array(
            [
                [1 - 2 * (yy * yy + z * z), 2 * (x * yy - w * z), 2 * (x * z + w * yy)],
                [2 * (x * yy + w * z), 1 - 2 * (x * x + z * z), 2 * (yy * z - w * x)],
                [2 * (x * z - w * yy), 2 * (yy * z + w * x), 1 - 2 * (x * x + yy * yy)],
            ]
        )
        n = force[:, None] + weight[:, None] * (L - s)
        strain = np.einsum("jik,jk->ik", R, n) / Kv[:, None]
        turn = np.einsum("jik,jk->ik", R, y[7:10]) / Ku[:, None]
        strain[2] += 1
        tangent = np.einsum("ijk,jk->ik", R, strain)
        a, (bx, by, bz) = y[3:7], turn
        dQ = 0.5 * np.array(
            [
                -a[1] * bx - a[2] * by - a[3] * bz,
                a[0] * bx + a[2] * bz - a[3] * by,
                a[0] * by + a[3] * bx - a[1] * bz,
                a[0] * bz + a[1] * by - a[2] * bx,
            ]
        )
        return np.vstack([tangent, dQ, -np.cross(tangent.T, n.T).T])

    base = np.array([np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0])

    def ends(ya, yb):
        return np.concatenate([ya[:3], ya[3:7] - base, yb[7:10] - moment])

    s = np.linspace(0, L, 21)
    guess = np.zeros((10, len(s)))
    guess[0], guess[3:7] = s, base[:, None]
    found = solve_bvp(slope, ends, s, guess, tol=1e-11, max_nodes=40000)
    assert found.success
    return found.sol(at)[:3]
