"""Shared code of rigid-body exports (`io.mjcf`, `io.urdf`): the robot as links, its initial state, the comment of the file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import wrap

import numpy as np
import scipy

from pliant.equations.equations import Equations
from pliant.io.c_text import ExportError
from pliant.io.rigid_forces import rigid_forces
from pliant.io.rigid_forms import RigidForces
from pliant.io.rigid_tree import RigidTree, rigid_tree
from pliant.io.rod_links import RodError, rod_error, with_links
from pliant.joint.armature import is_armature
from pliant.language.arguments import file_name, need_equations, whole
from pliant.language.files import write_whole
from pliant.solve.state import assemble
from pliant.solve.statics.equilibrium import state_at

WIDTH = 110


@dataclass(frozen=True)
class RigidExport:
    """An exported file.

    Attributes:
        file: its path.
        remarks: approximated and omitted features, one sentence each; empty for an exact copy.
        rods: error of the links that approximate rods; None for a robot without rods.
        equations: of the exported robot, with links instead of rods.
    """

    file: Path
    remarks: tuple[str, ...]
    rods: RodError | None
    equations: Equations


@dataclass(frozen=True)
class RigidRobot:
    """A robot of rigid links, its forces, its initial state (positions and rates in the order of `equations`), and the original
    robot with rods."""

    equations: Equations
    tree: RigidTree
    forces: RigidForces
    q: np.ndarray
    v: np.ndarray
    original: Equations

    @cached_property
    def fastest(self) -> float:
        """Largest angular frequency of small motions at the start [rad/s], without constraints."""
        eqs = self.equations
        if not len(eqs.rates):
            return 0.0
        zero = np.zeros(len(eqs.rates))
        found = eqs.linearization(self.q, zero, a=zero, multipliers=np.zeros(eqs.model.system.rows))
        squares = scipy.linalg.eigvals(found.stiffness.toarray(), found.mass.toarray())
        return float(np.sqrt(np.max(np.abs(squares[np.isfinite(squares)]), initial=0.0)))

    @cached_property
    def rods(self) -> RodError | None:
        """Error of its links compared with the rods."""
        return rod_error(self.original, self.equations)


def rigid_robot(eqs: Equations, links: int) -> RigidRobot:
    """A robot with its rods as chains of links; raises ExportError if it has parts that links cannot represent."""
    need_equations(eqs)
    links = whole("links", links, least=1, hint="the number of links in each rod")
    spec = eqs.model.spec
    if spec.meshes:
        raise ExportError(
            f"the mesh '{next(iter(spec.meshes))}' cannot be written as rigid links", "export C or an FMU, or remove it"
        )
    linked = with_links(eqs, links)
    if any(not is_armature(inertia.kind) for inertia in linked.model.system.inertias):
        raise ExportError("the robot has inertia that is not that of rigid bodies", "export C or an FMU")
    tree = rigid_tree(linked)
    start = state_at(linked, linked.model.spec.start, 0.0, where="start")
    q, v = start.q, start.v
    if linked.model.system.rows:
        made = assemble(linked, linked.binding, 0.0, q, v, start.given)
        q, v = made.q, made.v
    return RigidRobot(linked, tree, rigid_forces(linked, tree, q), q, v, eqs)


def heading(robot: RigidRobot, first: str, remarks: Sequence[str]) -> list[str]:
    """The comment at the top of a file: contents, errors of the approximation, omitted features."""
    lines = [
        f"{robot.tree.title}: {first}",
        "Joints and frames have the names of the model's coordinates and frames; units are SI.",
    ]
    if robot.rods is not None:
        lines += wrap(str(robot.rods), WIDTH)
    lines += ["Differences from the model:"] if remarks else ["Nothing of the model is omitted."]
    return lines + [line for remark in remarks for line in wrap(f"* {remark}", WIDTH, subsequent_indent="  ")]


def write(
    robot: RigidRobot, file: str | os.PathLike[str], suffix: str, document: str, remarks: Sequence[str]
) -> RigidExport:
    """Write a document; raises ExportError if that is impossible."""
    target = file_name("file", file)
    if target.suffix != suffix:
        raise ExportError(f"cannot determine the format of {str(target)!r}", f"end it in {suffix}")
    if target.is_dir():
        raise ExportError(f"{target} is a folder", "give the name of a file")
    try:
        write_whole(target, document.encode())
    except OSError as reason:
        raise ExportError(f"cannot write {target}: {reason.strerror or reason}", "choose another place") from reason
    return RigidExport(target, tuple(remarks), robot.rods, robot.equations)
