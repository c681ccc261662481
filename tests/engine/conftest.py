"""Random systems with every kind of motion, force and constraint, and their evaluations by CasADi."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import pytest
from inertia_cases import BETWEEN, WEIGHTLESS, WEIGHTLESS_BETWEEN, between_constants, moving_constants, moving_particles
from oracle import Oracle

from pliant.engine.binding import Binding
from pliant.engine.model.inputs import InputPlan
from pliant.engine.program import Program
from pliant.language.time_series import TimeSeries
from pliant.parts.assembly.system import System, SystemBuilder
from pliant.parts.constraint import frame_constraint
from pliant.parts.external_load import WRENCH
from pliant.parts.geometry import so3
from pliant.parts.joint.coordinate import ORIENTATION_FORCE, coordinate_force
from pliant.parts.link import axial_force, beam_force
from pliant.parts.motion import FREE, ROTATION, ROTATION_VECTOR, SCREW, TRANSLATION
from pliant.parts.tendon import GIVEN_TENSION, elastic_line

MOTIONS = {"translation": TRANSLATION, "rotation": ROTATION, "rotation_vector": ROTATION_VECTOR, "free": FREE}


@dataclass
class Sample:
    """A system with its inputs, its equations in the runtime and by CasADi, and a random state."""

    system: System
    plan: InputPlan
    binding: Binding
    oracle: Oracle
    t: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    multipliers: np.ndarray


class RandomSystem:
    """Draws a system joint by joint, then interactions between its nodes."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.builder = SystemBuilder()
        self.builder.gravity([0.4, -0.8, -9.81])
        self.first_coordinates: list[tuple[str, int, int]] = []
        self.loose: list[int] = []

    def rotation(self) -> np.ndarray:
        return np.array(so3.exp(ca.DM(self.rng.normal(size=3))))

    def placement(self) -> tuple[Any, Any]:
        return ca.DM(self.rotation()), ca.DM(0.4 * self.rng.normal(size=3))

    def placement_numbers(self) -> list[float]:
        R, p = self.placement()
        return [*np.array(R).ravel(order="F"), *np.array(p).ravel()]

    def joints(self, kinds: list[str], *, several_nodes: bool = False, loose: int = 0) -> None:
        """A tree with random bases, after `loose` free joints on the ground.

        With `several_nodes` every element carries two frames on the same coordinates.
        """
        rng, builder = self.rng, self.builder
        for number, kind in enumerate(["free"] * loose + kinds):
            base = int(rng.integers(max(0, builder.last_node() - 2), builder.last_node() + 1))
            if number < loose:
                base = 0
                self.loose.append(builder.last_node() + 1)
            self.first_coordinates.append((kind, builder.q_size, builder.v_size))
            if kind in MOTIONS:
                motion, constants = MOTIONS[kind], []
            else:
                axis = rng.normal(size=3)
                axis /= np.linalg.norm(axis)
                motion, constants = SCREW, {"revolute": [0, 0, 0, *axis], "prismatic": [*axis, 0, 0, 0]}[kind]
            count = 2 if several_nodes else 1
            builder.element(base, [(motion, self.placement(), constants) for _ in range(count)])
            for node in range(builder.last_node() + 1 - count, builder.last_node() + 1):
                A = rng.normal(size=(3, 3))
                inertia = ca.DM(0.05 * A @ A.T + 0.02 * np.eye(3))
                com = ca.DM(0.2 * rng.normal(size=3))
                builder.mass(node, rng.uniform(0.5, 2), com, inertia, self.placement())

    def inertias(self, *, coupled: bool) -> None:
        """Particles that move with every element's base and coordinates, and some on a frame alone.

        With `coupled` also between two frames, with an element that is not based on the frame, with two elements at
        once, and with an element and a frame that it moves.
        """
        rng, builder = self.rng, self.builder
        count = len(self.first_coordinates)

        def add(node: int, *elements: int) -> None:
            owners = [builder.element_at(e) for e in elements]
            parts = tuple(part for owner in owners for part in owner.parts)
            kind = moving_particles(parts)
            constants = moving_constants(rng, sum(owner.q_size for owner in owners))
            builder.inertia(kind, [(node, self.placement())], owners, constants)

        small = [index for index in range(count) if builder.element_at(index).v_size <= 3]
        for index in small:
            add(builder.element_at(index).base, index)
        add(builder.last_node())
        for node in (builder.last_node(), 1):
            builder.inertia(WEIGHTLESS, [(node, self.placement())], [], list(0.3 * rng.normal(size=36)))
        if not coupled:
            return
        for pair in (self._nodes(2), [builder.last_node(), 0], [self.loose[0] if self.loose else 1, 2]):
            for kind in (BETWEEN, WEIGHTLESS_BETWEEN):
                builder.inertia(kind, [(node, self.placement()) for node in pair], [], between_constants(rng))
        add(0, small[-1])
        add(builder.element_at(small[-1]).base, small[0], small[-1])
        add(builder.last_node(), small[-1])

    def _path(self, node: int) -> list[int]:
        """Nodes from `node` down to the ground."""
        return self.builder.build().path(node)

    def _nodes(self, count: int) -> list[int]:
        return [int(n) for n in self.rng.choice(self.builder.last_node() + 1, size=count, replace=False)]

    def forces(self) -> None:
        """Axial, beam and wrench forces between random frames, and forces on coordinates."""
        rng, builder = self.rng, self.builder
        for driven in (False, True):
            constants = [*rng.normal(size=6), 40.0, 0.5, 3.0, 1.5, float(rng.integers(-1, 2)), 0.1]
            kind = axial_force(with_input=driven)
            builder.frame_force(kind, self._nodes(2), constants, builder.signals(kind.signals), "axial")
        for mapping, driven in (("midpoint", True), ("published", False)):
            kind = beam_force(map=mapping, with_input=driven)
            laws = [rng.uniform(-1, 1, 6), rng.uniform(5, 20, 6), rng.uniform(1, 2, 6), np.full(6, 1.5), np.zeros(6)]
            constants = [*self.placement_numbers(), *self.placement_numbers(), *np.concatenate(laws)]
            builder.frame_force(kind, self._nodes(2), constants, builder.signals(kind.signals), "beam")
        wrench = [*rng.normal(size=3), *self.rotation().ravel(order="F")]
        builder.frame_force(WRENCH, self._nodes(2), wrench, builder.signals(6), "load")
        builder.frame_force(WRENCH, [builder.last_node(), 0], wrench, builder.signals(6), "load")
        self.routes()
        for joint, q_at, v_at in self.first_coordinates:
            if joint == "rotation":
                builder.coordinate_force(ORIENTATION_FORCE, q_at, v_at, [7.0, 0.8], builder.signals(3), "ball")
            else:
                law = coordinate_force(with_input=joint == "revolute")
                constants = [30.0, 0.2, 2.0, 1.5, float(rng.integers(-1, 2)), 0.5]
                signals = builder.signals(law.signals)
                builder.coordinate_force(law, q_at, v_at, constants, signals, f"spring {joint}")

    def routes(self) -> None:
        """Lines through random points: several on one node, some on the ground, forth and back along the tree; two rub."""
        rng, builder = self.rng, self.builder
        law, rough = [25.0, 0.3, 2.0, 1.5, 0.4], [0.3, 2.0, 0.5]
        for kind, count, friction in (
            (GIVEN_TENSION, 3, ()),
            (elastic_line(wound=True), 5, ()),
            (elastic_line(wound=False), 2, ()),
            (GIVEN_TENSION, 4, rough),
            (elastic_line(wound=True), 4, rough),
        ):
            nodes = [int(n) for n in rng.integers(0, builder.last_node() + 1, size=count)]
            constants = law[: kind.constants]
            points = [(node, ca.DM(0.3 * rng.normal(size=3))) for node in nodes]
            builder.route(kind, points, constants, builder.signals(kind.signals), f"line {kind.name}", friction)
        points = [(node, ca.DM(0.3 * rng.normal(size=3))) for node in self._path(builder.last_node())]
        if len(points) > 1:
            builder.route(elastic_line(wound=False), points, law, 0, "line along")

    def constraints(self, *, again: bool = False) -> None:
        """Frame constraints between loose parts, one of them prescribed in time, and a linear one.

        Each pair of parts can satisfy its constraint, so that the equations have one solution. With `again` the
        linear one is stated a second time, doubled, and nothing else.
        """
        rng, builder = self.rng, self.builder
        if again:
            line = builder.build().linear_constraints[0]
            numbers = builder.build().constants.numbers
            doubled = [2 * numbers[k] for k in line.coefficients]
            builder.linear_constraint(line.coordinates, doubled, 2 * numbers[line.offset], -1, "gear again")
            return
        last = builder.last_node()
        other = next(n for n in self.loose if n not in self._path(last))
        loops = (
            (("x", "y"), False, (self.loose[0], self.loose[1], last)),
            (("z", "rx"), True, (self.loose[1], self.loose[2], self.loose[1])),
            (("ry", "rz"), False, (other, last, 0)),
        )
        for rows, prescribed, nodes in loops:
            kind = frame_constraint(rows, prescribed=prescribed)
            placements = [*self.placement_numbers(), *self.placement_numbers()]
            signals = range(builder.signals(len(rows)), builder.signals(0)) if prescribed else ()
            constants = [*placements, *self.rotation().ravel(order="F"), 0, 0, 0]
            builder.constraint(kind, nodes, constants, list(signals), f"loop {rows}")
        plain = [(q, v) for kind, q, v in self.first_coordinates if kind != "rotation"][:2]
        builder.linear_constraint(plain, list(rng.normal(size=len(plain))), 0.1, builder.signals(1), "gear")

    def finish(self) -> Sample:
        """The equations at a random state."""
        system, rng = self.builder.build(), self.rng
        plan = random_plan(system.signal_count)
        values = {"held": [0.7, 0, 0], "parameters": [1.3]} if system.signal_count else {}
        binding = Binding.of(Program(system, plan), **values)
        q = rng.normal(size=system.q_size)
        for at, _ in system.quaternions():
            q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
        v, a = rng.normal(size=system.v_size), rng.normal(size=system.v_size)
        return Sample(system, plan, binding, Oracle(binding), 0.37, q, v, a, rng.normal(size=system.rows))


def random_plan(signals: int) -> InputPlan:
    """One held input, one expression of time, one series; signals mix them."""
    if not signals:
        return InputPlan()
    t, parameters = ca.SX.sym("t"), ca.SX.sym("p", 1)
    u, du, ddu = (ca.SX.sym(name, 3) for name in ("u", "du", "ddu"))
    drive = ca.vertcat(0, ca.sin(parameters[0] * t), 0)
    drives = [drive, ca.jacobian(drive, t), ca.jacobian(ca.jacobian(drive, t), t)]
    inputs = ca.Function("inputs", [t, parameters], [ca.densify(x) for x in drives])
    mix = np.random.default_rng(1).normal(size=(signals, 3))
    outputs = [ca.densify(ca.DM(mix) @ x) for x in (u, du, ddu)]
    signal = ca.Function("signals", [t, u, du, ddu, parameters], outputs)
    series = TimeSeries(np.array([0.0, 0.3, 1.0]), np.array([[1, 2, 0.5, -1], [1.6, 1, -1, 0.3], [2, 0, 0, 0.0]]))
    return InputPlan((0, 1, 2), (-1, -1, 0), (series,), inputs, signal, 1)


@pytest.fixture(scope="session")
def random_system() -> Callable[[int], RandomSystem]:
    """Starts a random system from a seed."""
    return RandomSystem
