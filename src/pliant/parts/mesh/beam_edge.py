"""Edge of a shell: a straight beam between two nodes, for displacements and rotations of any size.

The frame of the beam moves with it. Its axis is the helix through both ends, the logarithm (v, alpha) of their relative pose: an
arc of length |v| that turns by alpha from the first to the second, whose tangent v is the same in the axes of all sections. So the
six deformations

    two angles from the normal of the sections to v,    the length |v|,    the three rotations alpha

vanish in rigid motions, and do not depend on which end is the first. Their stiffness is that of a Timoshenko beam with loads at
its ends: exact for small displacements, for bending and torsion by moments up to 100 deg, and for a thread, which is a straight
spring that equal rotations of its nodes do not stretch.

The last distinguishes it from a finite element of a Cosserat rod, where the line between the nodes is stretched if sections are not
perpendicular to it: a fabric with cells longer than its bends would lock.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import casadi as ca

from pliant.parts.formula.base import Effect, FrameForce, power_law
from pliant.parts.formula.helical import helical_force
from pliant.parts.formula.relative import ENDS
from pliant.parts.geometry import so3
from pliant.parts.motion.fields import Fields
from pliant.parts.section.base import SectionProperties

EDGE = ENDS + Fields("length", "stiffness:6", "coupling:2", "time", "damping", "power")
"""Constants of `edge_force`: length without load [m]; stiffness of the six deformations (two [N m/rad], [N/m], three [N m/rad]);
coupling of the first two and of the two bends [N m/rad]; damping time of all but the length [s]; damping of the length
[N (s/m)^power] and its power."""

COLLAPSED = 1e-12
"""Length below which the direction of an edge is undefined, as a fraction of that without load: far below any that occurs."""


@cache
def edge_force(*, with_power: bool, with_input: bool) -> FrameForce:
    """The beam between two nodes. `with_power`: damping of the length by another power than one; `with_input`: a signal, the force
    that pulls the nodes together."""
    name = "edge" + ("_power" if with_power else "") + ("_driven" if with_input else "")
    signals = int(with_input)

    def law(helix: Any, rate: Any, c: Any, signal: Any) -> Effect:
        at = EDGE.read(c)
        deformation = _deformation(helix, at.length)
        along = ca.jacobian(deformation, helix)
        e = deformation - ca.vertcat(0, 0, at.length, 0, 0, 0)
        rates = along @ rate
        elastic, damped = _spring(at, e), at.time * _spring(at, rates)
        damped[2] = power_law(rates[2], at.damping, at.power) if with_power else at.damping * rates[2]
        pull = ca.vertcat(0, 0, signal[0], 0, 0, 0) if with_input else ca.SX(6, 1)
        force = -along.T @ (elastic + damped + pull)
        return Effect(force, ca.dot(elastic, e) / 2, ca.dot(damped, rates), -ca.dot(pull, rates))

    @cache
    def functions() -> tuple[ca.Function, ca.Function]:
        """Force, energy and powers; the force and its derivatives."""
        x, rate, c, signal = ca.SX.sym("x", 6), ca.SX.sym("rate", 6), ca.SX.sym("c", EDGE.size), ca.SX.sym("s", signals)
        answer, given = law(x, rate, c, signal), [x, rate, c, signal]
        slopes = [ca.jacobian(answer.force, y) for y in (x, rate, signal)]
        values = [answer.force, answer.energy, answer.dissipation, answer.supply]
        return ca.Function("edge", given, values), ca.Function("slopes", given, [answer.force, *slopes])

    return helical_force(
        name, constants=EDGE.size, signals=signals,
        law=lambda *given: Effect(*functions()[0].call(list(given))),
        slopes=lambda *given: tuple(functions()[1].call(list(given))),
    )  # fmt: skip


def _deformation(helix: Any, length: Any) -> Any:
    """Angles from the normal to the helix, its length, and the rotations (6).

    Where the nodes are turned by a = 180 deg against each other there are two helices, to either side, of the same length and with
    different tangents. With f = (a / 180 deg)^16, less than 1e-4 up to 100 deg, the angles fade by 1 - f, and a length around the
    axis of rotation by sqrt(1 - f / 9), which is flat at a = 180 deg: the energy is continuous there, and so is the axial force.
    Otherwise a fabric that is crumpled until it folds within its cells is caught at a kink.
    """
    v, alpha = helix[0:3], helix[3:6]
    x = ca.dot(alpha, alpha) / math.pi**2
    near = (x * x) ** 2 * x * x * x  # f = near x
    along = ca.dot(alpha, v) / math.pi  # of the axis of rotation; its square is that of the length along it times x
    square = ca.dot(v, v) + (COLLAPSED * length) ** 2
    tangent = v / ca.sqrt(square)
    stretched = ca.sqrt(square - near * (x * ca.dot(v, v) - along * along) / 9)
    sines = tangent[0:2]
    angles = (1 - near * x) * so3.angle_per_sine(ca.dot(sines, sines), tangent[2]) * sines
    return ca.vertcat(angles, stretched, alpha)


def _spring(at: Any, e: Any) -> Any:
    """Stiffness times deformation."""
    force = at.stiffness * e
    for first, coupling in ((0, at.coupling[0]), (3, at.coupling[1])):
        force[first] += coupling * e[first + 1]
        force[first + 1] += coupling * e[first]
    return force


def edge_stiffness(section: SectionProperties, length: Any) -> Any:
    """Stiffness and coupling (8 x m) of straight beams of these lengths [m], as in `EDGE`.

    Bending by a constant moment does not turn the line between the ends against both alike; a transverse force does, by
    `L^2 / (12 EI) + 1 / (kGA)`.
    """
    shear_x, shear_y, stretch, bend_x, bend_y, twist = section.stiffness
    shear, bend = section.coupling
    sheared, bent = shear_x * shear_y - shear**2, bend_x * bend_y - bend**2
    # bending about x moves along y, but its product with bending about y keeps its sign
    softness_x = shear_y / sheared + length**2 / 12 * (bend_x / bent)
    softness_y = shear_x / sheared + length**2 / 12 * (bend_y / bent)
    between = -shear / sheared + length**2 / 12 * (bend / bent)
    transverse = length / (softness_x * softness_y - between**2)
    return ca.vertcat(
        transverse * softness_y,
        transverse * softness_x,
        stretch / length,
        bend_x / length,
        bend_y / length,
        twist / length,
        -transverse * between,
        bend / length,
    )
