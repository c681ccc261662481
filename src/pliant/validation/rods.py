"""Rods that several cases use: in every rod model, as a boundary-value problem solved by SciPy (independent of the formulas of the
package's rods), and a thick rubber rod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.engine.equations import Equations
from pliant.robot.reader import load
from pliant.robot.robot import RobotSpec
from pliant.robot.rod_switch import with_rod_model

SLENDER = {"shear_factor": 1e3, "stretch_factor": 1e3}
"""Parameters of the bundled cantilever for which shear and stretch are negligible."""
BENDING = 1e7 * np.pi / 4 * 0.01**4
"""Bending stiffness of the bundled cantilever [N m^2]; it is 1 m long."""
LINE_MASS = 1000 * np.pi * 0.01**2
"""Its mass per length [kg/m]."""


def cantilevers(words: Iterable[str]) -> Iterator[tuple[str, Equations]]:
    """The bundled cantilever with these rod models."""
    return in_models(load("cantilever"), "rod", words)


def in_models(spec: RobotSpec, rod: str, words: Iterable[str]) -> Iterator[tuple[str, Equations]]:
    """A robot with these models of one of its rods, each with its text."""
    for word in words:
        yield word, derive(with_rod_model(spec, rod, word))


@dataclass(frozen=True)
class ClampedRod:
    """A rod clamped at the origin, with dead loads.

    Attributes:
        length [m]; translational: stiffness of shear-x, shear-y and stretch [N]; rotational: of bend-x, bend-y and twist [N m^2].
        base: quaternion of the base section, w first; its z axis is the tangent.
        natural: bend-x, bend-y and twist without stress [1/m].
        weight: force per length in world axes [N/m]; force, moment: at the tip, in world axes [N, N m].
    """

    length: float
    translational: Any
    rotational: Any
    base: Any
    natural: Any = (0.0, 0.0, 0.0)
    weight: Any = (0.0, 0.0, 0.0)
    force: Any = (0.0, 0.0, 0.0)
    moment: Any = (0.0, 0.0, 0.0)

    def position(self, at: Any) -> np.ndarray:
        """Position at arc lengths (3 x n) [m]; the loads are applied in four steps, each starting from the previous solution."""
        s = np.linspace(0, self.length, 31)
        y = np.zeros((10, len(s)))
        unloaded = np.concatenate([np.zeros(3), self.base, np.zeros(3)])
        start = scipy.integrate.solve_ivp(
            lambda s, y: self._slope(np.array([s]), y[:, None], 0.0)[:, 0],
            (0, self.length),
            unloaded,
            t_eval=s,
            rtol=1e-8,
        )
        y[:] = start.y
        found: Any = None
        for share in (0.25, 0.5, 0.75, 1.0):
            tolerance = 1e-8 if share == 1 else 1e-4
            found = scipy.integrate.solve_bvp(
                lambda s, y, share=share: self._slope(s, y, share),
                lambda a, b, share=share: self._ends(a, b, share),
                s, y, tol=tolerance, max_nodes=40000,
            )  # fmt: skip
            if not found.success:
                raise RuntimeError(f"the boundary-value problem was not solved: {found.message}")
            s, y = found.x, found.y
        return np.asarray(found.sol(at)[:3])

    def _slope(self, s: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
        """Derivatives of position, quaternion and moment: equilibrium of forces is solved, n = tip force + weight beyond."""
        R = _matrix(y[3:7])
        n = share * (np.array(self.force)[:, None] + np.array(self.weight)[:, None] * (self.length - s))
        strain = np.einsum("jik,jk->ik", R, n) / np.array(self.translational)[:, None]
        strain[2] += 1
        turn = np.einsum("jik,jk->ik", R, y[7:10]) / np.array(self.rotational)[:, None]
        turn += np.array(self.natural)[:, None]
        tangent = np.einsum("ijk,jk->ik", R, strain)
        w, (x, yy, z), (a, b, c) = y[3], y[4:7], turn
        quaternion = 0.5 * np.array(
            [-x * a - yy * b - z * c, w * a + yy * c - z * b, w * b + z * a - x * c, w * c + x * b - yy * a]
        )
        return np.vstack([tangent, quaternion, -np.cross(tangent.T, n.T).T])

    def _ends(self, a: np.ndarray, b: np.ndarray, share: float) -> np.ndarray:
        return np.concatenate([a[:3], a[3:7] - np.array(self.base), b[7:10] - share * np.array(self.moment)])


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices (3 x 3 x n) of quaternions (4 x n)."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion, axis=0)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


THICK_ARM = """
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


def torsion(width: float, height: float) -> float:
    """Torsion constant of a rectangle, by Saint-Venant's series [m^4]; width is the longer side."""
    n = np.arange(1, 200, 2.0)
    series = np.sum(np.tanh(n * np.pi * width / (2 * height)) / n**5)
    return float(height**3 * width * (1 / 3 - 64 * height / (np.pi**5 * width) * series))


def continuous_arm(at: Any, loads: dict[str, float] = LOADS) -> np.ndarray:
    """Position of the continuous rod at arc lengths (3 x n) [m]."""
    E, nu, density, b, h = 200e3, 0.4, 1000.0, 0.06, 0.04
    G, A = E / (2 * (1 + nu)), b * h
    shear = 10 * (1 + nu) / (12 + 11 * nu) * G * A
    rod = ClampedRod(
        0.5,
        (shear, shear, E * A),
        (E * b * h**3 / 12, E * h * b**3 / 12, G * torsion(b, h)),
        (np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0),
        weight=(0, 0, -density * A * loads["gravity"]),
        force=(loads["fx"], loads["fy"], loads["fz"]),
        moment=(loads["mx"], loads["my"], loads["mz"]),
    )
    return rod.position(at)
