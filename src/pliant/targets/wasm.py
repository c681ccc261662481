"""A robot as a page: the exported C compiled to WebAssembly, with a player, sliders and a plot, in one file without a server."""

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from pliant._version import __version__
from pliant.analysis.integrators import chosen_method
from pliant.analysis.motion.sampled_control import Controller, model_controllers
from pliant.analysis.simulate import simulate
from pliant.analysis.statics.static_equations import total_mass
from pliant.control.feedback import StateFeedback
from pliant.control.limits import named
from pliant.engine.c_code import kernel_code
from pliant.engine.compiling import find_zig
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.engine.outputs import output_units
from pliant.io import c_text
from pliant.io.c_text import ExportError, filled
from pliant.io.export_c import UNLOCATED, assembled_start, c_files, exported_output_parts, own_model
from pliant.show.moving_drawing import MovingDrawing
from pliant.show.page import block, page, prose, text
from pliant.show.scene import SceneMaker
from pliant.show.sliders import MOST, Slider, input_sliders, parameter_sliders
from pliant.targets.base import Export, FolderTarget, exporter, write_files
from pliant.targets.c import SECONDS, STEPS, Trial, controller_files, tried
from pliant.targets.objects import linked

FLAGS = ("-target", "wasm32-wasi", "-msimd128", "-std=c11", "-O2", "-DPL_COMPACT", "-ffp-contract=off", "-fno-math-errno",
         "-fno-trapping-math", "-fvisibility=hidden", "-w")  # fmt: skip
"""No fused multiply-add: steps are those of `simulate`."""
LINK = ("-target", "wasm32-wasi", "-mexec-model=reactor", "-s", "-lm", "-Wl,-z,stack-size=1048576")
SCENES = 24
"""Number of poses of the trial by which the view is chosen."""
LEAD = 0.1
"""Time in which an input that prescribes a position or a rate reaches the value of its slider [s]."""
EXPLICIT = ("explicit", "symplectic_euler")
"""Methods that longer steps would make unstable."""
MOST_PLOTS = 60
"""Maximum number of coordinates that can be plotted."""


@dataclass(frozen=True)
class PageExport(Export):
    """An exported page; `size`: its bytes."""

    size: int

    def __str__(self) -> str:
        return f"a page of {self.size / 1024:.0f} KB: open {self.files[0]} in a browser"

    def facts(self) -> dict[str, Any]:
        """The size of the page."""
        return {"size": self.size}


class Wasm(FolderTarget):
    """A page, `index.html`, that runs the robot in a browser: opened from disk or served by any web server, without a network and
    without an installation. It contains the exported C as WebAssembly, and needs a browser of 2023 or later.

    * **Motion.** Steps are those of the exported C, which equal those of `simulate` with the same fixed step. On a device that is
      slower than real time they become longer, up to 16 times, unless the method is explicit or a step is chosen in the page, which
      shows it.
    * **Pointer.** Whatever part of the robot is dragged follows the pointer by a spring and a damper; elsewhere the mouse turns
      the view, with Shift it moves it. The spring is no stronger than the step allows.
    * **Sliders** for inputs and parameters. An input follows the model until its slider is moved; one that prescribes a position or
      a rate is led to the new value in 0.1 s. Parameters act at once, and on the start after *Restart*. Those that the structure of
      the equations depends on cannot change; the page names them. The picture follows parameters to first order.
    * **Controllers** of type `lqr` run in the page, at their sample times and with their delays, without the noise of sensors; they
      can be switched off. Inputs of others keep the values of the model.
    * **Plot** of the outputs, coordinates and energies; the model's text is below it.

    It needs the compiler of `pip install pliant[compiler]` (Zig). Forces of loads and contacts are not drawn.
    Pages of the bundled robots have 370 to 640 KB (`python benchmarks/pages.py` measures size and speed): with steps of 1 ms most
    run faster than real time; with 8 ms all but the largest ones, and those whose controllers sample more often, do on a slow core.
    """

    name: ClassVar[str] = "wasm"
    title: ClassVar[str] = "WebAssembly"
    summary: ClassVar[str] = "a page that runs the robot in a browser, into this new or empty folder"
    omits: ClassVar[str] = (
        "controllers other than those of type `lqr`; times at which conditions that are not linear in t change are not located; "
        "arrows of loads and contacts"
    )
    warns: ClassVar[bool] = True

    method: Literal[
        "automatic", "semi_implicit", "generalized_alpha", "newmark", "explicit", "symplectic_euler", "implicit"
    ] = "automatic"
    """Integrator, as in C; `automatic` is `generalized_alpha`, or `semi_implicit` if a trial of the former fails, as impacts of
    contacts may make it."""
    step: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-3
    """Step of the page [s]."""

    def write(self, robot: Equations, path: Path) -> PageExport:
        """Write the folder. Raises AssemblyError if the loops of the robot cannot be closed at the start."""
        model, compiler = own_model(robot), find_zig()
        if compiler is None:
            raise ExportError(
                "there is no compiler for WebAssembly",
                "pip install pliant[compiler], which brings Zig (package ziglang)",
            )
        method, trial = _chosen(model, self.method, self.step)
        runnable, left_out = _controllers(robot)
        drawing = _drawing(robot, _controlled(robot, method, self.step) if runnable else trial.q)
        binary = linked(compiler, *_sources(model, method, self.step, runnable, drawing), flags=FLAGS, link=LINK)
        notes = [*left_out, *_unchangeable(robot)]
        document = _page(robot, method, self.step, binary, drawing, runnable, notes)
        remarks = [
            *left_out,
            *([] if trial.sound else [trial.remark]),
            *([UNLOCATED] if model.has_located_switches else []),
        ]
        return PageExport(path, write_files(path, {"index.html": document}), tuple(remarks), len(document.encode()))


export_wasm = exporter(Wasm)


def _chosen(model: Model, method: str, step: float) -> tuple[str, Trial]:
    """The method, and its trial."""
    trials = {name: tried(model, name, step) for name in ([method] if method != "automatic" else ["generalized_alpha"])}
    if method == "automatic" and not trials["generalized_alpha"].sound:
        trials["semi_implicit"] = tried(model, "semi_implicit", step)
    return max(trials.items(), key=lambda item: (item[1].completed, item[1].sound))


# -- controllers -----------------------------------------------------------------------------------------------------


def _controllers(eqs: Equations) -> tuple[list[StateFeedback], list[str]]:
    """Those that the page can run, and a sentence about each of the others."""
    runnable: list[StateFeedback] = []
    sentences = []
    for controller in model_controllers(eqs):
        reason = _why_not(controller)
        if reason or not isinstance(controller, StateFeedback):
            sentences.append(
                f"{named(controller)} does not run in the page ({reason}): its inputs keep the values of the model"
            )
        else:
            runnable.append(controller)
            if getattr(controller, "noise", None):
                sentences.append(f"{named(controller)} measures without noise in the page")
    return runnable, sentences


def _why_not(controller: Controller) -> str:
    if not isinstance(controller, StateFeedback):
        return "it solves the model at every sample"
    try:
        controller_files(controller)
    except ExportError as reason:
        return reason.message
    known = exported_output_parts(controller.equations.model)
    if controller.observer is not None and not set(controller.matrices().measured) <= set(known):
        return "it measures outputs that exported code does not compute"
    return ""


# -- sources ---------------------------------------------------------------------------------------------------------

NOT_COMPILED = ("main.c", "CMakeLists.txt", "README.txt")


def _sources(
    model: Model, method: str, step: float, controllers: Sequence[StateFeedback], drawing: MovingDrawing
) -> tuple[dict[str, str], str]:
    """All files by name, and the name of the robot in them."""
    name = c_text.robot_identifier(model.spec.title)
    beside: dict[str, str] = {}
    for k, controller in enumerate(controllers):
        beside |= controller_files(controller, f"{name}_{k}")
    files = {file: text for file, text in c_files(model, method=method, step=step, beside=beside).items()
             if file not in NOT_COMPILED}  # fmt: skip
    arcs = drawing.arcs()
    words = {
        "name": name,
        "controller_headers": "\n".join(f'#include "{file}"' for file in beside if file.endswith(".h")),
        "controller_count": str(len(controllers)),
        "controllers": "\n".join(
            [*(_controller_code(model, x, name, k) for k, x in enumerate(controllers)), _controller_list(controllers)]
        ),
        "arc_numbers": str(arcs.numel_out(0)),
        "arc_w": str(arcs.sz_w()),
        "arc_iw": str(arcs.sz_iw()),
    }
    equations = f"{name}_equations.c"
    files[equations] += kernel_code(arcs, before=f"int {name}_")
    files["page.c"] = filled("page.c", words)
    files[f"{name}.inc"] = files.pop(f"{name}.c")  # part of page.c, not compiled by itself
    return files, name


def _controller_code(model: Model, controller: StateFeedback, name: str, k: int) -> str:
    parts, begin = controller.matrices(), f"{name}_{k}_controller"
    outputs, inputs = list(exported_output_parts(model)), list(model.input_names)
    measured = [outputs.index(x) for x in parts.measured] if controller.observer is not None else []
    return "\n".join(
        [
            f"static {begin} controller_{k};",
            f"static void reset_{k}(void) {{ {begin}_reset(&controller_{k}); }}",
            f"static void command_{k}(const double *y, double *u) {{ {begin}_command(&controller_{k}, y, u); }}",
            c_text.integers(f"static const int measured_at_{k}", measured),
            c_text.integers(f"static const int command_at_{k}", [inputs.index(x) for x in parts.commands]),
            f"static double pending_{k}[{len(parts.commands)}];",
        ]
    )


def _controller_list(controllers: Sequence[StateFeedback]) -> str:
    rows = []
    for k, controller in enumerate(controllers):
        parts, observed = controller.matrices(), controller.observer is not None
        begin = f"{c_text.robot_identifier(controller.equations.model.spec.title)}_{k}_controller"
        counts = f"{len(parts.measured)}, {len(parts.commands)}, {int(observed)}"
        rows.append(
            f"{{&{begin}_sample_time, {controller.delay!r}, {counts}, measured_at_{k}, command_at_{k}, reset_{k}, command_{k}, "
            f"pending_{k}}}"
        )
    return c_text.array("static const controller controllers", rows or ["{0}"])


# -- the page --------------------------------------------------------------------------------------------------------


def _controlled(eqs: Equations, method: str, step: float) -> np.ndarray:
    """Positions of a motion under the model's controllers."""
    fixed = chosen_method(method, step=step, rtol=None, atol=None)
    return simulate(eqs, min(SECONDS, STEPS * step), method=fixed, on_failure="return").q


def _drawing(eqs: Equations, q: np.ndarray) -> MovingDrawing:
    """The drawing, with the view of the poses that a trial passed through."""
    start = assembled_start(eqs.model).q
    finite = q[np.all(np.isfinite(q), axis=1)] if len(q) else q
    chosen = [start, *finite[np.unique(np.linspace(0, max(len(finite) - 1, 0), SCENES).astype(int))[: len(finite)]]]
    maker = SceneMaker(eqs, poses=chosen)
    return MovingDrawing(eqs, [maker.at(x) for x in chosen], maker, start)


def _page(
    eqs: Equations,
    method: str,
    step: float,
    binary: bytes,
    drawing: MovingDrawing,
    controllers: Sequence[StateFeedback],
    notes: list[str],
) -> str:
    model, title = eqs.model, eqs.model.spec.title
    parameters, inputs = parameter_sliders(eqs), input_sliders(eqs)
    data = {
        "step": step,
        "stretches": method not in EXPLICIT,
        "lead": LEAD,
        "mass": total_mass(eqs.binding),
        "nodes": len(model.system.nodes),
        "positions": model.system.q_size,
        "movable": drawing.moving().tolist(),
        "drawing": drawing.data([slider.name for slider in parameters]),
        "inputs": [_slider(x, model.input_names) | {"driven": _is_driven(model, x.name)} for x in inputs],
        "parameters": [_slider(x, model.parameter_names) | {"own": eqs.parameters[x.name]} for x in parameters],
        "controllers": [
            {"name": named(x), "note": f"every {x.sample_time:g} s", "inputs": list(x.matrices().commands)}
            for x in controllers
        ],
        "outputs": _outputs(model),
        "coordinates": _coordinates(model),
        "notes": notes,
        "autoplay": True,
    }
    if drawing.unclear:
        notes.append(f"The picture follows these parameters only roughly: {', '.join(drawing.unclear)}.")
    module = base64.b64encode(gzip.compress(binary, 9, mtime=0)).decode()
    about = prose(model.spec.description) if model.spec.description else ""
    body = (
        f'<h1>{text(title)}</h1><p class="lead">{about}</p><div class="desk">'
        '<div class="view"><div class="player" data-stage="stage"></div><p class="note">Drag a part of the robot to pull it; drag '
        "beside it to turn the view, with Shift to move it. Click into the picture to zoom with the wheel; the space bar runs and "
        'pauses.</p></div><div id="controls"></div><div id="plot"></div></div>'
        f"<details open><summary>model</summary><pre>{text(model.text)}</pre></details>"
        f'<p class="note">Pliant {text(__version__)}, {text(method)} with steps of {step:g} s.</p>'
        f"{block('stage', drawing.player(title))}{block('live', data)}{block('module', module)}"
    )
    return page(title, body, live=True)


def _slider(slider: Slider, names: Sequence[str]) -> dict[str, Any]:
    return {
        "name": slider.name, "unit": slider.unit, "value": slider.value, "low": slider.low, "high": slider.high,
        "hint": slider.hint, "index": list(names).index(slider.name),
    }  # fmt: skip


def _is_driven(model: Model, name: str) -> bool:
    return name in model.spec.inputs


def _outputs(model: Model) -> list[dict[str, Any]]:
    """The outputs that can be plotted, vectors together."""
    units = output_units(model)
    groups: dict[str, dict[str, Any]] = {}
    for first, part in enumerate(exported_output_parts(model)):
        name = part if part in model.spec.outputs else part.rpartition(".")[0]
        unit = units.get(part, "") or units.get(name, "")
        group = groups.setdefault(name, {"name": name, "unit": unit, "names": [], "first": first})
        group["names"].append(part)
    return list(groups.values())


def _coordinates(model: Model) -> list[dict[str, Any]]:
    return [
        {"name": x.name, "unit": "" if x.is_rotation else x.unit, "names": list(x.q_names), "first": x.q_at}
        for x in model.coordinates[:MOST_PLOTS]
    ]


def _unchangeable(eqs: Equations) -> list[str]:
    """What sliders cannot change, in words."""
    sentences = []
    structural = [name for name in eqs.parameters if name in eqs.model.structural]
    if structural:
        sentences.append(f"Fixed, because the structure of the equations depends on them: {', '.join(structural)}.")
    changeable = len(eqs.parameters) - len(structural)
    for what, count in (("parameters", changeable), ("inputs", len(eqs.inputs))):
        if count > MOST:
            sentences.append(f"The first {MOST} of {count} {what} have sliders.")
    return sentences
