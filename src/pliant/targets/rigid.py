"""Base of the targets with rigid links (MJCF, URDF): the robot as links, rods as links with springs, the error of this, the comment
of the file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import numpy as np
import scipy
from pydantic import Field

from pliant.analysis.derivation.rod_frequencies import with_rod_frequencies
from pliant.analysis.equilibrium import Equilibrium, equilibrium
from pliant.analysis.modes import modes
from pliant.analysis.numerics.state import AssemblyError, assemble
from pliant.analysis.numerics.status import AnalysisFailed
from pliant.analysis.states import state_at
from pliant.engine.equations import Equations
from pliant.engine.model.model import compile_model
from pliant.engine.program import EvaluationError
from pliant.io.c_text import ExportError
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import enumeration
from pliant.parts.joint.coordinate import is_armature
from pliant.parts.rod.pseudo_rigid import PseudoRigid
from pliant.parts.rod.rod import Rod
from pliant.parts.rod.strains import LABELS, SETS, Free
from pliant.targets.base import Export, Target, write_file
from pliant.targets.rigid_forces import LinearForm, RigidForces, rigid_forces
from pliant.targets.rigid_tree import RigidTree, rigid_tree


@dataclass(frozen=True)
class RigidNumbers:
    """Numbers of the comparison of natural frequencies, and of comments."""

    width: int = 110
    """Length of the lines of comments."""
    compared: int = 6
    """Number of natural frequencies that are compared."""
    rigid: float = 2e-3
    """Fraction of the other frequencies below which a frequency belongs to a rigid-body motion."""
    slender: float = 10.0
    """Ratio of the frequencies of extension and bending, of a clamped rod, above which links do not extend."""
    clamped: float = 0.446
    """Ratio of these frequencies over `length sqrt(EA/EI)`: pi/2 over 3.52."""


NUMBERS = RigidNumbers()


class RigidTarget(Target):
    """A target that represents a robot by rigid links with joints and springs."""

    links: Annotated[int, Field(ge=1)] = 10
    """Number of rigid links that approximate each rod."""

    def write(self, robot: Equations, path: Path) -> RigidExport:
        """Write the file."""
        rigid = rigid_robot(robot, self.links)
        document, remarks = self.document(rigid)
        write_file(path, document.encode())
        return RigidExport(path, (path,), tuple(remarks), rigid.rods, rigid.equations)

    @abstractmethod
    def document(self, robot: RigidRobot) -> tuple[str, Sequence[str]]:
        """The text of the file, and what it approximates or omits."""


@dataclass(frozen=True)
class RigidExport(Export):
    """An exported file.

    Attributes:
        rods: error of the links that approximate rods; None for a robot without rods.
        equations: of the exported robot, with links instead of rods.
    """

    rods: RodError | None
    equations: Equations

    def __str__(self) -> str:
        text = f"{len(self.equations.rates)} degrees of freedom in {self.path}"
        return text if self.rods is None else f"{text}\n{self.rods}"

    def facts(self) -> dict[str, Any]:
        return {"rods": None if self.rods is None else self.rods.facts()}


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
    spec = eqs.model.spec
    if spec.meshes:
        raise ExportError(
            f"the mesh '{next(iter(spec.meshes))}' cannot be written as rigid links", "export C or an FMU, or remove it"
        )
    linked = with_links(eqs, links)
    # the added mass of a fluid is omitted with the fluid
    if any(not (is_armature(x.kind) or x.kind.weightless) for x in linked.model.system.inertias):
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
        lines += wrap(str(robot.rods), NUMBERS.width)
    lines += ["Differences from the model:"] if remarks else ["Nothing of the model is omitted."]
    return lines + [line for remark in remarks for line in wrap(f"* {remark}", NUMBERS.width, subsequent_indent="  ")]


# -- rods as links ---------------------------------------------------------------------------------------------------

STRETCH, BENDS = 2, (3, 4)
"""Indices of strains."""


@dataclass(frozen=True)
class RodError:
    """Difference between a robot with links and the one with rods.

    Attributes:
        links: in each rod, by its name.
        frequencies: the lowest natural frequencies of the robot with rods [Hz]; with_links: the same of the one with links.
        about: linearization point of the frequencies, "equilibrium" or "start".
        distance: largest distance of a named frame at rest between the two [m]; None if one has no equilibrium.
        length: of the longest rod [m].
        inputs: those at which both are at rest, by name [SI units].
    """

    links: dict[str, int]
    frequencies: np.ndarray
    with_links: np.ndarray
    about: str
    distance: float | None
    length: float
    inputs: dict[str, float]

    @property
    def frequency_error(self) -> float:
        """Largest relative difference of the compared frequencies [-]."""
        return float(np.max(np.abs(self.with_links / self.frequencies - 1), initial=0.0))

    def facts(self) -> dict[str, Any]:
        """All numbers by name, for `--json`."""
        return {
            "links": self.links,
            "about": self.about,
            "frequencies": self.frequencies.tolist(),
            "frequencies_with_links": self.with_links.tolist(),
            "frequency_error": self.frequency_error,
            "distance_at_rest": self.distance,
            "inputs": self.inputs,
        }

    def __str__(self) -> str:
        count = {*self.links.values()}
        many = f"{count.pop()} links" if len(count) == 1 else f"{', '.join(map(str, self.links.values()))} links"
        text = f"rods as {many}"
        if len(self.frequencies):
            text += f"; the first {len(self.frequencies)} natural frequencies are within {100 * self.frequency_error:.2g} % "
            text += f"(at the {self.about}: " + ", ".join(
                f"{b:.4g} for {a:.4g} Hz" for a, b in zip(self.frequencies, self.with_links, strict=True)
            ) + ")"  # fmt: skip
        else:
            text += "; no natural frequency could be compared"
        if self.distance is None:
            return f"{text}; no equilibrium was found for comparison"
        share = 100 * self.distance / self.length
        text += f"; frames at rest are within {self.distance:.2g} m ({share:.2g} % of the longest rod)"
        if not self.inputs:
            return text
        acting = [f"{name} = {value:.4g}" for name, value in self.inputs.items() if value]
        at = enumeration(acting) if acting else "0"
        return f"{text}; this holds where the inputs are {at}, and rods that are bent further differ more"


def with_links(eqs: Equations, links: int) -> Equations:
    """The robot with every rod as rigid links in series, at the same parameters and inputs.

    Links bend and twist like the rod, and extend if it is thick. Shear, and extension of slender rods, are fast motions
    that would require tiny steps in other programs; they are kept only if a rod has no other strains.
    """
    if not eqs.model.spec.rods:
        return eqs
    probe = _with_links(eqs, 2, {name: _allowed(rod, SETS["unshearable"]) for name, rod in eqs.model.spec.rods.items()})
    strains = {}
    for name, rod in eqs.model.spec.rods.items():
        stretches = _stretch_over_bending(probe, name) < NUMBERS.slender
        strains[name] = _allowed(rod, SETS["unshearable" if stretches else "kirchhoff"])
    return _with_links(eqs, links, strains)


def _allowed(rod: Rod, strains: Free) -> Free:
    return tuple(k for k in rod.free_strains() if k in strains) or rod.free_strains()


def _with_links(eqs: Equations, links: int, strains: Mapping[str, Free]) -> Equations:
    model, rods = eqs.model, {}
    for name, rod in model.spec.rods.items():
        # initial values of coordinates of another rod model have no meaning here
        changed = {"strains": tuple(LABELS[k] for k in strains[name]), "initial": {}, "rates": {}}
        rods[name] = rod.model_copy(update={**changed, "model": PseudoRigid(elements=links)})
    flat = model.spec.model_copy(update={"rods": rods, "outputs": {}, "control": {}})
    linked = Equations(compile_model(with_rod_frequencies(flat), model.structural, written=flat))
    return linked.at(parameters=eqs.given_parameters, inputs=eqs.given_inputs)


def _stretch_over_bending(eqs: Equations, rod: str) -> float:
    """Ratio of the lowest frequencies of extension and bending, of the clamped rod alone; infinite if it has only one."""
    model, constants = eqs.model, eqs.binding.constants
    free = model.spec.rods[rod].free_strains()
    bends = [free.index(k) for k in BENDS if k in free]
    if STRETCH not in free or not bends:
        return np.inf
    force = next(f for f in model.system.coordinate_forces if f.source == rod and f.size >= len(free))
    own = constants[force.constants : force.constants + force.kind.constants]
    at = eqs.initial_state().q[force.q_at : force.q_at + force.size]
    form = LinearForm.of(force.kind.effect, own, force.kind.signals, at, np.zeros(force.kind.signals))
    stiffness = np.diag(form.stiffness)
    length = float(model.environment_with(eqs.given_parameters).value(model.spec.rods[rod].length))
    return float(NUMBERS.clamped * length * np.sqrt(stiffness[free.index(STRETCH)] / np.min(stiffness[bends])))


def rod_error(eqs: Equations, linked: Equations) -> RodError | None:
    """Difference between a robot with links and the one with rods; None without rods."""
    rods = eqs.model.spec.rods
    if not rods:
        return None
    counts = {name: len(linked.model.rod_stations[name]) - 1 for name in rods}
    values = eqs.model.environment_with(eqs.given_parameters).value
    length = max(float(values(rod.length)) for rod in rods.values())
    rests = [_rest(one) for one in (eqs, linked)]
    distance, about = None, "start"
    if rests[0] is not None and rests[1] is not None:
        about = "equilibrium"
        places = [{name: frame.position for name, frame in rest.frames.items()} for rest in rests if rest is not None]
        distance = max(float(np.linalg.norm(places[1][name] - place)) for name, place in places[0].items())
    starts = rests if about == "equilibrium" else [None, None]
    frequencies = [_frequencies(one, rest) for one, rest in zip((eqs, linked), starts, strict=True)]
    count = min(len(x) for x in frequencies)
    inputs = {name: float(eqs.binding.input_motion(k, 0.0)[0]) for k, name in enumerate(eqs.inputs)}
    return RodError(counts, frequencies[0][:count], frequencies[1][:count], about, distance, length, inputs)


def _rest(eqs: Equations) -> Equilibrium | None:
    try:
        rest = equilibrium(eqs)
    except (AnalysisFailed, AssemblyError, EvaluationError, ArgumentError):
        return None
    return rest if rest.balanced else None


def _frequencies(eqs: Equations, rest: Equilibrium | None) -> np.ndarray:
    """The lowest natural frequencies [Hz] of oscillations."""
    try:
        result = modes(eqs, at="initial" if rest is None else rest, undamped=True, count=4 * NUMBERS.compared)
    except (AnalysisFailed, AssemblyError, EvaluationError, ArgumentError):
        return np.zeros(0)
    oscillating = np.sort(result.frequencies[[kind == "oscillating" for kind in result.kinds]])
    # free motions of a robot with contacts oscillate due to round-off
    return oscillating[oscillating > NUMBERS.rigid * np.max(oscillating[: NUMBERS.compared], initial=0.0)][
        : NUMBERS.compared
    ]
