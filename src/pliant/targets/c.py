"""A robot as standalone C11: its equations and a step with a fixed method, for a controller or a ROS node."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, InstanceOf

from pliant._version import __version__
from pliant.analysis.integrators import chosen_method
from pliant.analysis.motion.sampled_control import model_controllers
from pliant.analysis.numerics.status import Status
from pliant.analysis.simulate import simulate
from pliant.control.feedback import StateFeedback
from pliant.control.limits import named
from pliant.engine.c_code import literal
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.io import c_text
from pliant.io.c_text import ExportError, filled
from pliant.io.export_c import UNLOCATED, c_files, own_model
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import suggestion
from pliant.targets.base import Export, FolderTarget, exporter, write_files


class C(FolderTarget):
    """Standalone C11 without dependencies: the robot's equations, a step function with the chosen method (with a fixed number of
    operations where the method allows it), a documented header, a CMake file and a small `main`.

    Exports have the values of the model: load it with others (`pliant.load("cart_pole", set={...})`, `--set`) instead of `eqs.at`.

    Names in the C code begin with the robot's name, so several robots can be linked into one program. Parameters and inputs can
    be changed at run time. `..._set_input` sets a constant value; `..._move_input`, called at every sample, interpolates an input
    that prescribes a position or a rate to its next value, as for a controller in `simulate`. The state of sticking contacts is
    kept from step to step.

    The export tests the method on one second of the model's own motion. If fixed steps lose or gain more than 5 % of the exchanged
    energy, as `semi_implicit` does for stiff robots, a remark and README.txt report it; `..._energy_balance` returns the error at
    run time.
    """

    name: ClassVar[str] = "c"
    title: ClassVar[str] = "C"
    summary: ClassVar[str] = "standalone C, into this new or empty folder"
    omits: ClassVar[str] = (
        "controllers other than one of type `lqr`; times at which conditions that are not linear in t (`sin(t) > 0`) change "
        "are not located"
    )
    warns: ClassVar[bool] = True

    method: Literal["semi_implicit", "generalized_alpha", "newmark", "explicit", "symplectic_euler", "implicit"] = (
        "semi_implicit"
    )
    """`semi_implicit` (order 1, one linear solve per step: for fast loops), `generalized_alpha` or `newmark` (order 2, iterations,
    constraints at position level), `explicit` (Runge-Kutta of order 5, for robots that are not stiff), `symplectic_euler` (order
    1, one evaluation per step, likewise) or `implicit` (Rosenbrock of order 4, for stiff ones)."""
    step: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-3
    """Step of the exported main [s]; the step function takes any."""
    controller: InstanceOf[StateFeedback] | str | None = None
    """A designed controller (`control.StateFeedback`, with or without an observer), or the name of one of the model (of type
    `lqr`), to write beside the robot; its header documents when to call it."""

    def write(self, robot: Equations, path: Path) -> Export:
        """Write the folder. Raises AssemblyError if the loops of the robot cannot be closed at the start."""
        model, controller = own_model(robot), self._designed(robot)
        beside = {} if controller is None else controller_files(controller)
        trial = tried(model, self.method, self.step)
        files = c_files(model, method=self.method, step=self.step, beside=beside, trial=trial.remark)
        remarks = [] if controller is None else [f"{named(controller)}: {text}" for text in controller.remarks]
        remarks += [] if trial.sound else [trial.remark]
        remarks += [UNLOCATED] if model.has_located_switches else []
        return Export(path, write_files(path, files), tuple(remarks))

    def _designed(self, eqs: Equations) -> StateFeedback | None:
        """The controller, designed if it is one of the model."""
        if not isinstance(self.controller, str):
            return self.controller
        described = eqs.model.spec.control
        if self.controller not in described:
            known = (
                f"the model has {', '.join(described)}" if described else "the model has none; add it under `control`"
            )
            raise ArgumentError(f"no controller '{self.controller}'", suggestion(self.controller, described, known))
        designed = model_controllers(eqs)[list(described).index(self.controller)]
        if not isinstance(designed, StateFeedback):
            kind = described[self.controller].type
            raise ExportError(
                f"the controller '{self.controller}' ({kind}) solves the model at every sample",
                "export one of type lqr",
            )
        return designed


export_c = exporter(C)


# -- trial of the method ---------------------------------------------------------------------------------------------

SECONDS = 1.0
"""Maximum duration of a trial [s],"""
STEPS = 2000
"""and its maximum number of steps."""
ENERGY = "energy exchanged"
"""Beginning of a remark about the energy balance."""


@dataclass(frozen=True)
class Trial:
    """Result of a trial: whether there are no objections to the method, a remark in any case, the positions passed through,
    and whether it reached its end."""

    sound: bool
    remark: str
    q: np.ndarray
    completed: bool = True


def tried(model: Model, method: str, step: float) -> Trial:
    """The motion of the model from its start with fixed steps [s] of a method, as taken by the exported step function."""
    until = min(SECONDS, STEPS * step)
    fixed = chosen_method(method, step=step, rtol=None, atol=None)
    run = simulate(Equations(model), until, method=fixed, controllers=False, on_failure="return")
    tried_for = f"{method} with steps of {step:g} s, tried for {until:g} s"
    if run.status != Status.COMPLETED:
        return Trial(False, f"{tried_for}, fails: {run.message}", run.q, completed=False)
    open_balance = [remark for remark in run.remarks if ENERGY in remark]
    if open_balance:
        other = "" if method == "generalized_alpha" else ", or generalized_alpha"
        share = open_balance[0].partition(" in the steps")[0]
        return Trial(False, f"{tried_for}: {share} in the steps. Use a smaller step{other}.", run.q)
    return Trial(True, f"{tried_for}: the energy balance closes.", run.q)


# -- controllers ---------------------------------------------------------------------------------------------------

NO_BOUND = 1e300
"""Value of a missing bound."""


def controller_files(controller: StateFeedback, name: str = "") -> dict[str, str]:
    """Header and source of a controller, by file name; `name` begins its own names, by default that of the robot.

    It measures the inputs of the observer; without an observer the deviations of the states are computed from all positions, then
    all rates, of the robot.
    """
    if controller.share:
        raise ExportError(
            "sharing among redundant inputs solves an optimization at every sample", "export it without `share`"
        )
    if controller.equations.model.system.quaternions() and controller.observer is None:
        raise ExportError(
            "feedback of states with free rotations is not exported", "measure outputs, and add an observer"
        )
    parts = controller.matrices()
    name = name or c_text.robot_identifier(controller.equations.model.spec.title)
    rows = {
        "A": parts.A, "B": parts.B, "C": parts.C, "D": parts.D, "K": parts.K, "L": parts.L, "rest": parts.rest,
        "zero": parts.zero, "guess": parts.guess, "lower": _bounded(parts.lower), "upper": _bounded(parts.upper),
        "reach": _bounded(parts.reach),
    }  # fmt: skip
    data = [c_text.numbers(f"static const double {key}", np.append(np.ravel(x), 0.0)) for key, x in rows.items()]
    title = c_text.comment(controller.equations.model.spec.title)
    names = f"{name}_controller"
    listed = [
        c_text.names_list(f"const char *const {names}_measured_names", parts.measured),
        c_text.names_list(f"const char *const {names}_command_names", parts.commands),
    ]
    words = {
        "title": title,
        "what": c_text.comment(controller.name),
        "name": name,
        "version": __version__,
        "sample": f"{controller.sample_time:g}",
        "delay": f"{controller.delay:g}",
        "measured": "the measured outputs" if controller.observer is not None else "all positions and rates",
        "measured_count": str(len(parts.measured)),
        "command_count": str(len(parts.commands)),
        "state_count": str(len(parts.A)),
        "plant_count": str(parts.plant),
        "observed": str(int(controller.observer is not None)),
        "data": "\n".join([*data, *listed, f"const double {names}_sample_time = {literal(controller.sample_time)};"]),
    }
    return {f"{names}.h": filled("controller.h", words), f"{names}.c": filled("controller.c", words)}


def _bounded(values: np.ndarray) -> np.ndarray:
    return np.clip(values, -NO_BOUND, NO_BOUND)
