"""Inertia that is not rigid, where the answer is known: rigid masses written as such, and what may be combined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from inertia_cases import BETWEEN, RIGID, WEIGHTLESS, between_constants, moving_constants, moving_particles
from oracle import Oracle

from pliant.engine.binding import Binding
from pliant.engine.kernel import inertia_kernels
from pliant.engine.model.inputs import InputPlan
from pliant.engine.program import Program
from pliant.parts.assembly.system import MASS_SIZE, InertiaInstance, System, SystemBuilder
from pliant.parts.geometry import se3, so3
from pliant.parts.motion import FREE, ROTATION, SCREW, Vector

HERE = [*np.eye(3).ravel(), 0.0, 0.0, 0.0]


def as_inertias(system: System) -> System:
    """The same system with every rigid mass written as an inertia."""
    numbers, inertias = list(system.constants.numbers), []
    for node, at in system.masses.items():
        inertias.append(InertiaInstance(RIGID, (node,), (), len(numbers)))
        numbers += [*HERE, *system.constants.numbers[at : at + MASS_SIZE]]
    constants = replace(system.constants, numbers=np.array(numbers))
    return replace(system, masses={}, inertias=tuple(inertias), constants=constants)


@pytest.mark.parametrize("by", ["runtime", "symbols"])
def test_a_rigid_mass_as_an_inertia(random_system: Callable[[int], Any], by: str) -> None:
    """Every evaluation to round-off: articulated bodies, assembled matrices, tangents, energies."""
    draft = random_system(3)
    draft.joints(["revolute", "rotation", "prismatic", "free", "rotation_vector"], several_nodes=True)
    sample = draft.finish()
    ours, reference = Binding.of(Program(as_inertias(sample.system), sample.plan)), sample.binding
    if by == "symbols":
        ours = Oracle(ours)
    state = (sample.t, sample.q, sample.v)
    np.testing.assert_allclose(ours.forward(*state)[0], reference.forward(*state)[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.inverse(*state, sample.a), reference.inverse(*state, sample.a), atol=1e-11)
    np.testing.assert_allclose(ours.energies(*state), reference.energies(*state), rtol=1e-13, atol=1e-13)
    x, y = (e.linearized(*state, sample.a, sample.multipliers) for e in (ours, reference))
    for name in ("stiffness", "damping", "mass"):
        exact = getattr(y, name).toarray()
        np.testing.assert_allclose(getattr(x, name).toarray(), exact, rtol=0, atol=1e-13 * np.abs(exact).max())
    for a, b in zip(ours.forward_derivatives(*state), reference.forward_derivatives(*state), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.abs(b).max())


def test_two_frames_that_move_as_one_body_carry_a_rigid_mass() -> None:
    """Particles between frames of one body: mass, moments and forces are those of the rigid body they make."""
    rng = np.random.default_rng(4)
    constants = between_constants(rng)
    placements = [(ca.DM(np.array(so3.exp(ca.DM(rng.normal(size=3))))), ca.DM(rng.normal(size=3))) for _ in range(2)]
    systems = []
    for rigid in (False, True):
        builder = SystemBuilder()
        builder.gravity([0.3, 0.2, -9.81])
        builder.element(0, [(ROTATION, se3.identity(), [])])
        if rigid:
            for k in range(0, len(constants), 8):
                m, s, first, second = constants[k], constants[k + 1], constants[k + 2 : k + 5], constants[k + 5 : k + 8]
                at = [p + R @ ca.DM(x) for (R, p), x in zip(placements, (first, second), strict=True)]
                builder.mass(1, m, (1 - s) * at[0] + s * at[1], ca.DM.zeros(3, 3), se3.identity())
        else:
            builder.inertia(BETWEEN, [(1, x) for x in placements], [], constants)
        systems.append(Binding.of(Program(builder.build(), InputPlan())))
    state = (0.0, np.array(so3.quaternion_exp(ca.DM(rng.normal(size=3)))).ravel(), rng.normal(size=3))
    for ours, exact in zip(*[(e.forward(*state)[0], e.energies(*state)) for e in systems], strict=True):
        np.testing.assert_allclose(ours, exact, rtol=1e-11, atol=1e-12)


def test_one_frame_is_moved_like_a_rigid_body() -> None:
    """What articulated bodies rely on: with coordinates held, mass, first and second moments say everything."""
    rng = np.random.default_rng(5)
    kind = moving_particles((Vector(1),))
    c = moving_constants(rng, 1)
    M = np.array(inertia_kernels(kind).functions[0]([], rng.normal(size=1), rng.normal(size=7), c)[0])
    np.testing.assert_allclose(M, M.T, atol=1e-15)
    np.testing.assert_allclose(M[0:3, 0:3], M[0, 0] * np.eye(3), atol=1e-15)
    np.testing.assert_allclose(M[0:3, 3:6], -M[0:3, 3:6].T, atol=1e-15)


@pytest.mark.parametrize("kind", ["free", "rotation", "revolute"])
def test_gravity_does_not_act_on_inertia_without_weight(kind: str) -> None:
    """Accelerations of a mass with added mass: (I + A)^-1 I g; no energy of position."""
    builder = SystemBuilder()
    builder.gravity([0.4, -0.8, -9.81])
    motion, constants = {"free": (FREE, []), "rotation": (ROTATION, []), "revolute": (SCREW, [0, 0, 0, 1, 0, 0])}[kind]
    builder.element(0, [(motion, se3.identity(), constants)])
    builder.mass(1, 2.0, ca.DM([0.1, 0.2, 0.3]), 0.1 * ca.DM.eye(3), se3.identity())
    dry = builder.build()
    rng = np.random.default_rng(3)
    builder.inertia(WEIGHTLESS, [(1, se3.identity())], [], list(rng.normal(size=36)))
    wet = builder.build()
    alone, both = (Binding.of(Program(system, InputPlan())) for system in (dry, wet))
    q, v = np.zeros(dry.q_size), np.zeros(dry.v_size)
    q[dry.q_size - 4 if dry.q_size > 3 else 0] = 1.0 if dry.q_size > 3 else 0.3
    state = (0.0, q, v)
    weight = alone.inverse(*state, v)
    np.testing.assert_allclose(both.inverse(*state, v), weight, atol=1e-13)
    M = both.linearized(*state, v, np.zeros(0)).mass.toarray()
    np.testing.assert_allclose(both.forward(*state)[0], np.linalg.solve(M, -weight), rtol=1e-11)
    np.testing.assert_allclose(both.energies(*state), alone.energies(*state), rtol=1e-14)


def test_what_does_not_fit_is_refused() -> None:
    builder = SystemBuilder()
    builder.gravity([0, 0, -9.81])
    builder.element(0, [(ROTATION, se3.identity(), [])])
    with pytest.raises(ValueError, match="not those of its kind"):
        builder.inertia(RIGID, [(1, se3.identity())], [builder.element_at(0)], [1.0] * 10)
    with pytest.raises(ValueError, match="not those of its kind"):
        builder.inertia(BETWEEN, [(1, se3.identity())], [], [1.0] * BETWEEN.constants)
