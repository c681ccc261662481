"""Motions and elements that the runtime treats in their own way, against CasADi's derivatives, wherever they stand in a tree."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from oracle import Oracle

from pliant.engine.binding import Binding
from pliant.engine.layout import ELEMENT_FORMS, MOTION_FORMS
from pliant.engine.model.inputs import InputPlan
from pliant.engine.program import Program
from pliant.parts.assembly.system import SystemBuilder
from pliant.parts.formula.base import CoordinateForce, Effect
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.link import axial_force
from pliant.parts.motion import FIXED, FREE, PLANAR_XZ, PLANAR_YZ, ROTATION, SCREW, TRANSLATION, Motion, Vector

TURN = (0, 0, 0, 0.6, 0, 0.8)


def wide(size: int) -> Motion:
    """A motion of so many plain coordinates: a rotation vector, then displacements; the seventh goes where the sixth does, in
    another proportion at every node."""

    def pose(q: Any, constants: Any) -> Pose:
        parts = [q[i] if i < size else 0 for i in range(7)]
        shift = ca.vertcat(parts[3], parts[4], constants[0] * parts[5] + constants[1] * parts[6])
        return so3.exp(ca.vertcat(*parts[:3]) + ca.DM([1e-3, 0.2, 0.1])), shift

    return Motion(f"wide_{size}", (Vector(size),), 2, pose)


CASES: dict[str, tuple[Motion, tuple[float, ...], str, str]] = {
    "turn": (SCREW, TURN, "screw", "single"),
    "slide": (SCREW, (0, 1, 0, 0, 0, 0), "screw", "single"),
    "helix": (SCREW, (0.06, 0, 0.08, 0.6, 0, 0.8), "screw", "single"),
    "rotation": (ROTATION, (), "rotation", "rotation"),
    "translation": (TRANSLATION, (), "translation", "translation"),
    "free": (FREE, (), "free", "free"),
    "planar_xz": (PLANAR_XZ, (), "planar_xz", "general"),
    "planar_yz": (PLANAR_YZ, (), "planar_yz", "general"),
    "fixed": (FIXED, (), "fixed", "general"),
    **{f"wide_{k}": (wide(k), (0.7, 1.0), "kernel", "single" if k == 1 else "general") for k in range(1, 7)},
}
"""Motion, its constants, and the forms of its node and of its element."""


def drag(motion: Motion) -> CoordinateForce:
    """A force on the coordinates of a motion that depends on the rates."""

    def effect(q: Any, v: Any, constants: Any, signals: Any) -> Effect:
        return Effect(constants - 0.3 * v)

    return CoordinateForce(f"drag_{motion.name}", motion.parts, motion.v_size, 0, effect)


class Tree:
    """A tree that grows element by element, with random placements, masses and forces."""

    def __init__(self, *, forces: bool = True) -> None:
        self.rng, self.builder, self.forces = np.random.default_rng(5), SystemBuilder(), forces
        self.builder.gravity((0.3, -0.5, -9.81))

    def add(self, base: int, motion: Motion, *constants: tuple[float, ...]) -> int:
        """Add an element with a body on each of its nodes, one per set of constants, a force on its coordinates and one on its
        last body; returns the node of that body."""
        rng, builder, v_at = self.rng, self.builder, self.builder.v_size
        q_at = builder.q_size
        nodes = [
            (motion, (so3.exp(ca.DM(rng.normal(size=3))), ca.DM(rng.normal(size=3))), numbers) for numbers in constants
        ]
        builder.element(base, nodes)
        last = builder.last_node()
        for node in range(last + 1 - len(nodes), last + 1):
            A = rng.normal(size=(3, 3))
            inertia = ca.DM(A @ A.T + 0.1 * np.eye(3))
            builder.mass(node, rng.uniform(1, 2), ca.DM(0.3 * rng.normal(size=3)), inertia, se3.identity())
        if self.forces and motion.v_size:
            builder.coordinate_force(drag(motion), q_at, v_at, [*rng.normal(size=motion.v_size)], 0, "drag")
        if self.forces:
            spring = [*rng.normal(size=6), 4.0, 0.5, 0.3, 1.5, 0.0, 0.1]
            builder.frame_force(axial_force(with_input=False), [0, last], spring, 0, "spring")
        return last

    def compare(self) -> Binding:
        """All evaluations against those by CasADi in a random state; returns the equations."""
        system, rng = self.builder.build(), self.rng
        binding = Binding.of(Program(system, InputPlan()))
        oracle = Oracle(binding)
        q, v, a = 0.5 * rng.normal(size=system.q_size), rng.normal(size=system.v_size), rng.normal(size=system.v_size)
        for at, _ in system.quaternions():
            q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
        near(binding.forward(0.0, q, v)[0], oracle.forward(0.0, q, v)[0])
        derivatives = (x.forward_derivatives(0.0, q, v) for x in (binding, oracle))
        for found, expected in zip(*derivatives, strict=True):
            near(found, expected)
        one, other = (x.linearized(0.0, q, v, a, np.zeros(0)) for x in (binding, oracle))
        near(one.residual, other.residual)
        for name in ("stiffness", "damping", "mass"):
            near(getattr(one, name).toarray(), getattr(other, name).toarray())
        return binding


def near(x: np.ndarray, y: np.ndarray) -> None:
    np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9 * np.abs(y).max())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "forces"), [(case, f) for case in CASES for f in (True, False) if f or CASES[case][2] != "kernel"]
)
def test_an_element_on_the_ground_and_on_moving_bodies(case: str, forces: bool) -> None:
    """Alone on the ground, on the ground with something on it, on a moving base with something on it, and last of all."""
    motion, constants, form, element_form = CASES[case]
    tree = Tree(forces=forces)
    tree.add(0, motion, constants)
    first = tree.add(0, motion, constants)
    second = tree.add(tree.add(first, SCREW, TURN), motion, constants)
    tree.add(second, SCREW, TURN)
    tree.add(second, SCREW, TURN) if motion.v_size > 3 else tree.add(second, motion, constants)
    integers = tree.compare().program.tables.integers
    assert integers["node_form"][1] == MOTION_FORMS.index(form)
    assert integers["elem_form"][0] == ELEMENT_FORMS.index(element_form)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
def test_an_element_of_several_nodes(size: int) -> None:
    """Its coordinates move two bodies at once, on the ground and on a moving body."""
    motion, constants = wide(size), ((0.7, 1.0), (1.0, -0.4))
    tree = Tree()
    tree.add(tree.add(tree.add(0, motion, *constants), SCREW, TURN), motion, *constants)
    tree.compare()


def test_errors_do_not_grow_along_a_chain() -> None:
    """Poses at the end of a chain of 300 hinges are those of exact rotations: R'R = 1 to round-off."""
    tree = Tree(forces=False)
    node = 0
    for _ in range(300):
        node = tree.add(node, SCREW, TURN)
    binding = Binding.of(Program(tree.builder.build(), InputPlan()))
    R = binding.node_poses(tree.rng.normal(size=300))[0][node]
    assert np.abs(R.T @ R - np.eye(3)).max() < 1e-13


def test_the_length_of_a_quaternion_does_not_matter() -> None:
    """Stages of explicit steps are a little off the unit sphere: the pose is that of the direction."""
    tree = Tree(forces=False)
    tree.add(tree.add(0, FREE, ()), ROTATION, ())
    binding = Binding.of(Program(tree.builder.build(), InputPlan()))
    q, v = tree.rng.normal(size=11), tree.rng.normal(size=9)
    unit = q.copy()
    for at in (3, 7):
        unit[at : at + 4] /= np.linalg.norm(unit[at : at + 4])
    near(binding.forward(0.0, q, v)[0], binding.forward(0.0, unit, v)[0])
