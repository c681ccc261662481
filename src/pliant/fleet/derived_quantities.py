"""Quantities computed from the states of a fleet: outputs of the model and poses of frames."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.engine.outputs import carrying_nodes, output_function, output_names
from pliant.engine.symbolic import carried_function
from pliant.fleet.methods import Part, forward, part, state
from pliant.fleet.robot import ON_THE_CPU, Robot
from pliant.language.arguments import ArgumentError


def output_parts(robot: Robot, names: tuple[str, ...]) -> tuple[list[Part], dict[str, int]]:
    """Functions that evaluate some outputs, and the number of components of each."""
    model, (signals, rates, _) = robot.eqs.model, robot.signals
    function = output_function(model)
    # inactive rows have no multipliers
    y, multipliers = ca.SX.sym("y", robot.m), ca.SX.zeros(model.system.rows)
    for k, row in enumerate(robot.rows):
        multipliers[row] = y[k]
    carried = ca.SX(0, 1)
    if nodes := carrying_nodes(model):
        carried = carried_function(model.system, nodes)(
            robot.q, robot.v, robot.a, multipliers, robot.constants, signals, rates
        )
    kinetic, potential = robot.bound([robot.symbols.kinetic, robot.symbols.potential])
    dissipated = ca.SX.sym("dissipated")
    energies = ca.vertcat(kinetic, potential, dissipated)
    contacts = ca.SX.zeros(function.size1_in(9))
    found = function.call(
        [robot.q, robot.v, robot.a, multipliers, robot.constants, signals, rates, carried, energies, contacts]
    )
    known = dict(zip(output_names(model), found, strict=True))
    for name in names:
        if ca.depends_on(known[name], dissipated):
            raise ArgumentError(
                f"the output '{name}' depends on the energy dissipated since the start, which fleets do not compute",
                ON_THE_CPU,
            )
    return _values(robot, y, [known[name] for name in names]), {name: known[name].numel() for name in names}


def frame_parts(robot: Robot, name: str) -> list[Part]:
    """Functions that evaluate the pose of a frame: rotation matrix by rows (9), then position (3) [m]."""
    entry, theta = robot.eqs.model.frames[name], robot.symbols.constants
    R, p = robot.symbols.poses[entry.node]
    at = entry.constants
    placement = ca.reshape(theta[at : at + 9], 3, 3), theta[at + 9 : at + 12]
    return _values(robot, ca.SX.sym("y", robot.m), robot.bound([ca.vec((R @ placement[0]).T), p + R @ placement[1]]))


def _values(robot: Robot, y: Any, expressions: list[Any]) -> list[Part]:
    values = ca.vertcat(*expressions)
    last = part("robot_values", {**state(robot, a=True), "y": y}, {"values": values})
    return [forward(robot), last] if ca.depends_on(values, ca.vertcat(robot.a, y)) else [last]
