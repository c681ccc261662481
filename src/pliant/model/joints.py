"""Joints on a build: their motions, what acts on their coordinates, the bodies they carry, and ties between coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.geometry import se3, so3
from pliant.geometry.se3 import Pose
from pliant.joint.coordinate import Coordinate, LengthCoordinate, Orientation
from pliant.joint.coordinate_force import CONSTANTS, DIRECTION, ORIENTATION, ORIENTATION_FORCE, coordinate_force
from pliant.language.scalar import AS_AT_START
from pliant.model.entries import CoordinateEntry, NodePlan
from pliant.model.inertia import mass_properties
from pliant.motion.base import Quaternion

if TYPE_CHECKING:
    from pliant.model.build import Build


def add_body(build: Build, name: str, node: int, placement: Pose) -> None:
    """Put a body's mass and frames on a node."""
    body = build.robot.bodies[name]
    mass, center, inertia = mass_properties(body, build)
    if not (isinstance(mass, float) and mass == 0.0):
        build.system.mass(node, mass, center, inertia, placement)
    build.name_frame(name, node, placement)
    for frame, place in body.frames.items():
        build.name_frame(f"{name}.{frame}", node, se3.compose(placement, build.placement(place)))


def add_joint(build: Build, name: str) -> None:
    """Add a joint's motions, the forces on its coordinates, and the body it carries."""
    joint = build.robot.joints[name]
    node, at = build.frame(joint.parent)
    at = se3.compose(at, build.placement(joint))
    steps, after = joint.steps(build)
    coordinates = joint.coordinates()
    single = len(coordinates) == 1
    for step in steps:
        element = build.element(node, [NodePlan(step.motion, se3.compose(at, step.before), step.constants)])
        node, q_at, v_at = element.nodes[0], element.q_at, element.v_at
        for label in step.labels:
            spec = coordinates[label]
            q_at, v_at = _coordinate(build, spec, spec.name or (name if single else f"{name}.{label}"), q_at, v_at)
        at = se3.identity()
    at = se3.compose(at, after)
    body, _, held = joint.child.partition(".")
    if held:
        # the joint holds the child by another of its frames: the body's own frame stands off from it
        at = se3.compose(at, se3.inverse(build.placement(build.robot.bodies[body].frames[held])))
    add_body(build, body, node, at)


def _coordinate(build: Build, spec: Coordinate | Orientation, name: str, q_at: int, v_at: int) -> tuple[int, int]:
    is_rotation = isinstance(spec, Orientation)
    unit = "-" if is_rotation else "m" if isinstance(spec, LengthCoordinate) else "rad"
    entry = build.coordinates[name] = CoordinateEntry(name, q_at, v_at, is_rotation, spec, unit)
    if "initial" in spec.model_fields_set:
        build.stated.update(entry.q_names)
    if "rate" in spec.model_fields_set:
        build.stated.update(f"d({rate})/dt" for rate in entry.v_names)
    if isinstance(spec, Orientation):
        start = build.entries(so3.matrix_quaternion(build.rotation(spec.initial)))
        build.start(start, [build.value(rate) for rate in spec.rate])
        if spec.spring is not None or any(x != 0 for x in (*spec.damper, *spec.input)):
            _orientation_forces(build, spec, name, q_at, v_at, start)
        return q_at + Quaternion().q_size, v_at + Quaternion().v_size
    initial, rate = build.value(spec.initial), build.value(spec.rate)  # type: ignore[attr-defined]
    if spec.motion is not None:  # type: ignore[attr-defined]
        initial, rate = build.at_start(spec.motion)  # type: ignore[attr-defined]
    build.start([initial], [rate])
    _scalar_forces(build, spec, name, q_at, v_at, initial)
    return q_at + 1, v_at + 1


def _orientation_forces(build: Build, spec: Orientation, name: str, q_at: int, v_at: int, start: list[Any]) -> None:
    stiffness, rest = (0.0,) * 3, [1.0, 0.0, 0.0, 0.0]
    if spec.spring is not None:
        stiffness = tuple(map(build.value, spec.spring.coefficient))
        if isinstance(spec.spring.rest, str):  # as at start
            rest = start
        elif spec.spring.rest:
            rest = build.entries(so3.matrix_quaternion(build.rotation(spec.spring.rest)))
    constants = ORIENTATION.write(stiffness=stiffness, damping=tuple(map(build.value, spec.damper)), rest=rest)
    build.coordinate_force(ORIENTATION_FORCE, q_at, v_at, constants, spec.input, name)


def _scalar_forces(build: Build, spec: Any, name: str, q_at: int, v_at: int, initial: Any) -> None:
    if spec.spring is None and spec.damper is None and spec.input == 0:
        return
    stiffness, rest = 0.0, 0.0
    if spec.spring is not None:
        at_start = spec.spring.rest == AS_AT_START
        rest = initial if at_start else build.value(spec.spring.rest)
        stiffness, rest = build.value(spec.spring.coefficient), build.value(spec.spring.compression) * rest
    damping, power = (spec.damper.coefficient, spec.damper.power) if spec.damper is not None else (0, 1)
    constants = CONSTANTS.write(
        stiffness=stiffness,
        rest=rest,
        damping=build.value(damping),
        power=build.value(power),
        direction=DIRECTION[spec.direction],
        smoothing=build.value(spec.smoothing),
    )
    driven = spec.input != 0
    signals = [spec.input] if driven else []
    build.coordinate_force(coordinate_force(with_input=driven), q_at, v_at, constants, signals, name)


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
            row = build.system.linear_constraint(
                [here, (other.q_at, other.v_at)], [1.0, -ratio], offset, -1, entry.name
            )
            build.constraint_rows[entry.name] = row
        motion = spec.motion  # type: ignore[attr-defined]
        if motion is not None:
            signal = build.add_signals([motion])
            build.constraint_rows[entry.name] = build.system.linear_constraint([here], [1.0], 0.0, signal, entry.name)
