"""Joints in a build: their motions, the forces on their coordinates, their bodies, and ties between coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from pliant.language.evaluate import Coefficient
from pliant.language.scalar import AS_AT_START
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import CoordinateEntry, NodePlan
from pliant.parts.assembly.system import Element
from pliant.parts.body import Body, InertiaMatrix
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.coordinate import (
    CONSTANTS,
    DIRECTION,
    ORIENTATION,
    ORIENTATION_FORCE,
    CoefficientCoordinates,
    Coordinate,
    LengthCoordinate,
    Orientation,
    armature,
    coordinate_force,
    varying_force,
)
from pliant.parts.motion import Quaternion, Vector


def add_body(build: Build, name: str, node: int, placement: Pose) -> None:
    """Add a body's mass and frames to a node."""
    body = build.robot.bodies[name]
    build.system.owner = ("bodies", name)
    mass, center, inertia = mass_properties(body, build)
    # a body without mass may still have inertia, like a wheel on a massless axle
    if not (isinstance(mass, float) and mass == 0.0 and body.inertia is None):
        build.system.mass(node, mass, center, inertia, placement)
    build.name_frame(name, node, placement)
    for frame, place in body.frames.items():
        build.name_frame(f"{name}.{frame}", node, se3.compose(placement, build.placement(place)))


def add_joint(build: Build, name: str) -> None:
    """Add a joint's motions, the forces on its coordinates, and its body."""
    joint = build.robot.joints[name]
    build.system.owner = ("joints", name)
    node, at = build.frame(joint.parent)
    at = se3.compose(at, build.placement(joint))
    steps, after = joint.steps(build)
    coordinates = joint.coordinates()
    single = len(coordinates) == 1
    added = _JointElements(name, [], {}, {})
    for step in steps:
        element = build.element(node, [NodePlan(step.motion, se3.compose(at, step.before), step.constants)])
        node, q_at, v_at = element.nodes[0], element.q_at, element.v_at
        added.elements.append(element)
        for label in step.labels:
            spec = coordinates[label]
            places = (q_at, v_at)
            own = spec.name or (name if single else f"{name}.{label}")
            q_at, v_at, initial = _coordinate(build, spec, own, q_at, v_at)
            if isinstance(spec, Coordinate):
                added.places[label], added.initial[label] = places, initial
        at = se3.identity()
    for element, step in zip(added.elements, steps, strict=True):
        _armature(build, element, [coordinates[label] for label in step.labels])
    for label in added.places:
        spec = coordinates[label]
        _scalar_forces(build, spec, spec.name or (name if single else f"{name}.{label}"), label, added)
    at = se3.compose(at, after)
    if not steps:
        node, at = build.hold("joints", name, node, at)
    body, _, held = joint.child.partition(".")
    if held:
        # the joint is at another frame of the child: the body's own frame is offset from it
        at = se3.compose(at, se3.inverse(build.placement(build.robot.bodies[body].frames[held])))
    add_body(build, body, node, at)


@dataclass(frozen=True)
class _JointElements:
    """An added joint: its elements, and by label the indices of its plain coordinates in q and v and their initial values."""

    joint: str
    elements: list[Element]
    places: dict[str, tuple[int, int]]
    initial: dict[str, Any]


def _coordinate(build: Build, spec: Coordinate | Orientation, name: str, q_at: int, v_at: int) -> tuple[int, int, Any]:
    """Name a coordinate and set its initial value; returns the following indices, and the initial value of a plain coordinate."""
    is_rotation = isinstance(spec, Orientation)
    unit = "-" if is_rotation else "m" if isinstance(spec, LengthCoordinate) else "rad"
    entry = build.coordinates[name] = CoordinateEntry(name, q_at, v_at, is_rotation, spec, unit)
    if "initial" in spec.model_fields_set:
        build.stated.update(entry.q_names)
    if "rate" in spec.model_fields_set:
        build.stated.update(f"d({rate})/dt" for rate in entry.v_names)
    if isinstance(spec, Orientation):
        start = build.quaternion(build.rotation(spec.initial))
        build.start(start, [build.value(rate) for rate in spec.rate])
        if spec.spring is not None or any(x != 0 for x in (*spec.damper, *spec.input)):
            stiffness, rest = (0.0,) * 3, [1.0, 0.0, 0.0, 0.0]
            if spec.spring is not None:
                stiffness = tuple(map(build.value, spec.spring.coefficient))
                if isinstance(spec.spring.rest, str):  # as at start
                    rest = start
                elif spec.spring.rest:
                    rest = build.quaternion(build.rotation(spec.spring.rest))
            constants = ORIENTATION.write(stiffness=stiffness, damping=tuple(map(build.value, spec.damper)), rest=rest)
            build.coordinate_force(ORIENTATION_FORCE, q_at, v_at, constants, spec.input, name)
        return q_at + Quaternion().q_size, v_at + Quaternion().v_size, None
    initial, rate = build.value(spec.initial), build.value(spec.rate)  # type: ignore[attr-defined]
    if spec.motion is not None:  # type: ignore[attr-defined]
        initial, rate = build.at_start(spec.motion)  # type: ignore[attr-defined]
    build.start([initial], [rate])
    return q_at + 1, v_at + 1, initial


def _armature(build: Build, element: Element, coordinates: list[Coordinate | Orientation]) -> None:
    """Inertia of drives on the coordinates of an element."""
    own = [[spec.armature] * (3 if isinstance(spec, Orientation) else 1) for spec in coordinates]  # type: ignore[union-attr]
    given = [x for one in own for x in one]
    if any(x != 0 for x in given):
        kind = armature(element.parts)
        build.inertia(kind, [(element.base, se3.identity())], [element], [build.value(x) for x in given])


def _scalar_forces(build: Build, spec: Any, name: str, label: str, added: _JointElements) -> None:
    if spec.limits is not None:
        spec.limits.apply(build, *added.places[label], name)
    if spec.friction is not None:
        spec.friction.apply(build, *added.places[label], name)
    if spec.spring is None and spec.damper is None and spec.input == 0:
        return
    (q_at, v_at), path = added.places[label], f"joints.{added.joint}.{label}"
    stiffness, rest = Coefficient(0.0), 0.0
    if spec.spring is not None:
        at_start = spec.spring.rest == AS_AT_START
        rest = added.initial[label] if at_start else build.value(spec.spring.rest)
        rest = build.value(spec.spring.compression) * rest
        stiffness = build.coefficient(spec.spring.coefficient, added.initial, f"{path}.spring")
    given, power = (spec.damper.coefficient, spec.damper.power) if spec.damper is not None else (0, 1)
    damping = build.coefficient(given, added.initial, f"{path}.damper")
    constants = CONSTANTS.write(
        stiffness=stiffness.plain,
        rest=rest,
        damping=damping.plain,
        power=build.value(power),
        direction=DIRECTION[spec.direction],
        smoothing=build.value(spec.smoothing),
    )
    driven = spec.input != 0
    signals = [spec.input] if driven else []
    if stiffness.formula is None and damping.formula is None:
        build.coordinate_force(coordinate_force(with_input=driven), q_at, v_at, constants, signals, name)
        return
    used = frozenset().union(*(x.formula.names for x in (stiffness, damping) if x.formula is not None))
    if used <= {label}:
        seen, (q_at, v_at) = CoefficientCoordinates((Vector(1),), (0, 0), ((label, (0, 0)),)), added.places[label]
    else:
        q_at, v_at = added.elements[0].q_at, added.elements[0].v_at
        places = {key: (q - q_at, v - v_at) for key, (q, v) in added.places.items()}
        parts = tuple(part for element in added.elements for part in element.parts)
        seen = CoefficientCoordinates(
            parts, places[label], tuple((key, places[key]) for key in places if key in used | {label})
        )
    kind = varying_force(seen, stiffness.formula, damping.formula, with_input=driven)
    build.coordinate_force(kind, q_at, v_at, [*constants, *stiffness.numbers, *damping.numbers], signals, name)


def tie_coordinates(build: Build) -> None:
    """Constraints for coordinates that equal another one or follow a prescribed motion."""
    for entry in build.coordinates.values():
        spec = entry.spec
        if not isinstance(spec, Coordinate):
            continue
        here = (entry.q_at, entry.v_at)
        if spec.equal_to is not None:
            other = build.coordinates[spec.equal_to.coordinate]
            ratio, offset = build.value(spec.equal_to.ratio), build.value(spec.equal_to.offset)
            build.system.linear_constraint([here, (other.q_at, other.v_at)], [1.0, -ratio], offset, -1, entry.name)
        motion = spec.motion  # type: ignore[attr-defined]
        if motion is not None:
            signal = build.add_signals([motion])
            build.system.linear_constraint([here], [1.0], 0.0, signal, entry.name)


# -- mass properties of bodies -------------------------------------------------------------------------------------------


def mass_properties(body: Body, build: Build) -> tuple[Any, Any, Any]:
    """Mass [kg], centre of mass [m] (3), inertia about it in body axes [kg m^2] (3x3)."""
    center = ca.vertcat(*map(build.value, body.center_of_mass))
    mass = body.total_mass(build.value, build.robot.materials)
    if isinstance(body.inertia, InertiaMatrix):
        inertia = ca.vertcat(*[ca.horzcat(*map(build.value, row)) for row in body.inertia.matrix])
    elif body.inertia is not None:
        R = build.rotation(body.inertia.rotation)
        inertia = R @ ca.diag(ca.vertcat(*map(build.value, body.inertia.principal))) @ R.T
    elif body.shape is not None:
        inertia = mass * ca.diag(ca.vertcat(*body.shape.gyration(build.value)))
    else:
        inertia = ca.DM.zeros(3, 3)
    return mass, center, inertia
