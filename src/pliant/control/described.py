"""The controllers that a model describes, designed for its equations: `robot/controllers.py` has their fields."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from pliant.analysis.equilibrium import Equilibrium, equilibrium
from pliant.analysis.linearize import StateSpace, linearize
from pliant.analysis.motion.sampled_control import Controller, Plant
from pliant.control.discrete import Reduction, discretize, reduce
from pliant.control.feedback import StateFeedback, closed_loop
from pliant.control.limits import Limits
from pliant.control.lqr import Group, Observer, Weights, decentralized_lqr, kalman, lqr, weight_matrix
from pliant.control.path_control import ConstraintControl, Pid, PidControl
from pliant.control.quasistatic import ContactForce, PlanePosition, StaticControl
from pliant.control.static_model import rest_with
from pliant.control.task import Coordinates, FrameDirection, FrameOrientation, FramePosition, Reference, Several, Task
from pliant.language.scalar import Scalar
from pliant.parts.assembly.placement_matrices import rotation
from pliant.robot.controllers import (
    GAINS,
    ConstraintControlSpec,
    ControllerBase,
    HeldPose,
    LqrControlSpec,
    PidControlSpec,
    StaticControlSpec,
    TaskController,
)


def designed(described: ControllerBase, plant: Plant, name: str) -> Controller:
    """The controller of a model, designed for this plant."""
    return DESIGNS[type(described)](described, plant, name)


def input_limits(described: ControllerBase, plant: Plant) -> Limits:
    """The limits of the inputs as numbers."""

    def table(which: str) -> dict[str, float]:
        values = ((x.input, getattr(x, which)) for x in described.limits)
        return {name: plant.number(value) for name, value in values if value is not None}

    return Limits(table("lower"), table("upper"), table("rate"))


# -- controllers that follow a path ------------------------------------------------------------------------------------


def following(described: TaskController, plant: Plant, name: str) -> dict[str, Any]:
    """What all controllers that follow a path have: the robot, the task, its path, times and limits."""
    return {
        "equations": plant.equations, "task": task(described, plant), "path": followed(described, plant),
        "sample_time": plant.number(described.sample_time), "inputs": described.inputs,
        "limits": input_limits(described, plant), "least_squares": described.least_squares,
        "parameters": plant.parameters, "delay": plant.number(described.delay), "name": name,
    }  # fmt: skip


def constraint_control(described: ConstraintControlSpec, plant: Plant, name: str) -> ConstraintControl:
    """The accelerations of the task are prescribed."""
    gains = Pid.critical(plant.number(described.settling), integral=described.integral)
    damping = plant.number(described.damping)
    return ConstraintControl(**following(described, plant, name), feedback=gains, damping=damping)


def pid_control(described: PidControlSpec, plant: Plant, name: str) -> PidControl:
    """Forces on the task by gains."""
    given = [[plant.number(x) for x in y] for y in (described.proportional, described.derivative, described.integral)]
    gains = Pid(*(x * described.size if len(x) == 1 else x for x in given))
    return PidControl(**following(described, plant, name), gains=gains, compensation=described.compensation)


def static_control(described: StaticControlSpec, plant: Plant, name: str) -> StaticControl:
    """Equilibria along the path."""
    gains: dict[str, Any] = {key: plant.number(getattr(described, key)) for key in GAINS}
    return StaticControl(**following(described, plant, name), **gains)


def task(described: TaskController, plant: Plant) -> Task:
    """The controlled task: position, orientation, and contact force."""
    parts = [*_position(described), *_orientation(described, plant)]
    if isinstance(described, StaticControlSpec) and described.contact is not None:
        parts = [*parts, ContactForce(described.contact)]
        return Several(tuple(parts))
    return parts[0] if len(parts) == 1 else Several(tuple(parts))


def _position(described: TaskController) -> Iterator[Task]:
    if described.coordinates:
        yield Coordinates(described.coordinates)
    elif described.path:
        assert described.frame is not None
        if isinstance(described, StaticControlSpec) and described.contact is not None:
            yield PlanePosition(described.frame, described.contact)
        else:
            yield FramePosition(described.frame, described.components)


def _orientation(described: TaskController, plant: Plant) -> Iterator[Task]:
    if described.orientation:
        assert described.frame is not None
        turned = np.array(rotation(described.orientation, plant.number), dtype=float)
        yield FrameOrientation(described.frame, turned)
    if described.direction is not None:
        assert described.frame is not None
        axis = described.direction.axis
        along = axis if isinstance(axis, str) else [plant.number(x) for x in axis]
        yield FrameDirection(described.frame, [plant.number(x) for x in described.direction.target], along)


def followed(described: TaskController, plant: Plant) -> Reference:
    """The path with its derivatives, zeros for constant components, and the contact force, from the expressions."""
    force = described.force if isinstance(described, StaticControlSpec) else None
    return expressed_path((*described.path, *[0.0] * described.turned, *(() if force is None else (force,))), plant)


def expressed_path(values: Sequence[Scalar], plant: Plant) -> Reference:
    """A path with its derivatives, from expressions of time."""
    t = ca.SX.sym("t")
    value = ca.vertcat(*[ca.SX(plant.environment.signal(x, t)) for x in values])
    rate = ca.jacobian(value, t)
    functions = [ca.Function("path", [t], [ca.densify(x)]) for x in (value, rate, ca.jacobian(rate, t))]
    return Reference(*(partial(_numbers, function) for function in functions))


def _numbers(function: ca.Function, t: float) -> np.ndarray:
    return np.asarray(function(t)).ravel()


# -- linear quadratic regulators ---------------------------------------------------------------------------------------

REST = 1e-3
"""Accelerations below this are those of a state of rest [m/s^2 or rad/s^2]."""
CHECKED = 800
"""Largest number of states for which the complete loop is checked; beyond, it takes minutes."""


def lqr_control(described: LqrControlSpec, plant: Plant, name: str) -> StateFeedback:
    """Linearize, reduce, discretize, design."""
    eqs, number = plant.equations, plant.number
    at, inputs = None, None
    if described.about != "initial":
        if isinstance(described.about, HeldPose):
            rest = held_pose(described.about, plant, described.inputs, input_limits(described, plant))
        else:
            rest = equilibrium(eqs, parameters=plant.parameters, on_failure="return")
        if rest.status != "converged":
            raise ValueError(rest.message)
        at, inputs = rest.state, rest.inputs
    linear = linearize(eqs, at=at, inputs=inputs, parameters=plant.parameters, independent=described.independent)
    if linear.residual > REST:
        raise ValueError(
            f"the state to stabilize is not an equilibrium (accelerations up to {linear.residual:.3g}). Start "
            "at an equilibrium, or use the equilibrium or another pose (`about`)"
        )
    commanded = described.inputs or eqs.model.actuators
    pushes = linear.select(tuple(d.input for d in described.disturbances)).B * [
        number(d.deviation) for d in described.disturbances
    ]
    linear = whole = linear.select(commanded, None)
    states = {w.coordinate: number(w.value) for w in described.coordinate_weights}
    states |= {f"d({w.coordinate})/dt": number(w.rate) for w in described.coordinate_weights}
    reduction = None
    weights: Weights = states
    if described.keep is not None or described.below is not None:
        reduction = reduce(
            linear, keep=described.keep, below=None if described.below is None else number(described.below)
        )
        weights = reduction.back.T @ weight_matrix(states, linear.states, "state", 0.0) @ reduction.back
        linear = reduction.linear
    sampled = discretize(linear, number(described.sample_time), delay=number(described.delay))
    efforts = {w.input: number(w.weight) for w in described.input_weights}
    results = {w.output: number(w.weight) for w in described.output_weights}
    if described.groups:
        groups = {
            name: Group(group.inputs, group.coordinates, group.outputs, number(group.priority))
            for name, group in described.groups.items()
        }
        regulator = decentralized_lqr(
            sampled, groups, states=weights, inputs=efforts, outputs=results, reduction=reduction,
            disturbances=pushes if described.disturbances else None,
        )  # fmt: skip
        reduction = None
    else:
        regulator = lqr(sampled, states=weights, inputs=efforts, outputs=results)
    noise = {s.output: number(s.noise) for s in described.sensors}
    others = pushes[:, [d.input not in commanded for d in described.disturbances]]
    controller = StateFeedback(
        eqs, regulator, reduction, _observer(described, plant, linear, whole, reduction, others) if noise else None,
        limits=input_limits(described, plant), share=described.share, noise=noise, seed=described.seed, name=name,
    )  # fmt: skip
    size = len(whole.states)
    if size > CHECKED:
        text = f"the complete loop was not checked: {size} states are too many (up to {CHECKED})"
        controller.remarks += (text,) if described.keep is not None or described.below is not None else ()
    elif warning := closed_loop(controller, whole).warning:
        controller.remarks += (warning,)
    return controller


def _observer(
    described: LqrControlSpec, plant: Plant, linear: StateSpace, whole: StateSpace, reduction: Reduction | None,
    others: np.ndarray,
) -> Observer:  # fmt: skip
    """The Kalman filter on `linear`, the robot `whole` or its `reduction`; others: effects of disturbances by other inputs."""
    number = plant.number
    variances = {s.output: number(s.assumed) ** 2 for s in described.sensors}
    seen = linear.select(None, tuple(variances))
    sampled = discretize(seen, number(described.sample_time), delay=number(described.delay))
    spread = dict.fromkeys(seen.inputs, 1.0)
    spread |= {d.input: number(d.deviation) ** 2 for d in described.disturbances if d.input in spread}
    random = {x.coordinate: number(x.value) ** 2 for x in described.process_noise}
    random |= {f"d({x.coordinate})/dt": number(x.rate) ** 2 for x in described.process_noise}
    process = weight_matrix(random, whole.states, "state", 0.0)
    if reduction is not None:
        process, others = reduction.onto @ process @ reduction.onto.T, reduction.onto @ others
    return kalman(sampled, process=process, inputs=spread, disturbances=others, outputs=variances)


def held_pose(pose: HeldPose, plant: Plant, use: tuple[str, ...] | None, limits: Limits) -> Equilibrium:
    """The pose, with its inputs."""
    eqs, number = plant.equations, plant.number
    near = {x.coordinate: number(x.value) for x in (*pose.near, *pose.coordinates)}
    start = eqs.state(near, parameters=plant.parameters).q
    inputs = {x.input: number(x.value) for x in pose.inputs}
    if not pose.coordinates and pose.frame is None:
        return equilibrium(
            eqs, start=start, inputs=inputs, parameters=plant.parameters,
            stability="any" if pose.near else "stable", on_failure="return",
        )  # fmt: skip
    if pose.frame is not None:
        placed: Task = FramePosition(pose.frame, pose.components)
        value = [number(x) for x in pose.position]
    else:
        placed = Coordinates(tuple(x.coordinate for x in pose.coordinates))
        value = [number(x.value) for x in pose.coordinates]
    return rest_with(
        eqs, placed, np.array(value), start=start, inputs=inputs, use=use, limits=limits, parameters=plant.parameters
    )


DESIGNS: Mapping[type[ControllerBase], Callable[[Any, Plant, str], Controller]] = {
    ConstraintControlSpec: constraint_control,
    LqrControlSpec: lqr_control,
    PidControlSpec: pid_control,
    StaticControlSpec: static_control,
}
"""The design of each type of controller."""
