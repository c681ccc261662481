"""A robot as a functional mock-up unit (FMI 3.0 or 2.0): the exported C with the interface of the standard.

An FMU is a zip file: a description of the variables (`modelDescription.xml`), a shared library for this platform, and all
sources with a build description. It contains no Python. Variables are numbered in the order of `variables`, which `fmu.h`
repeats in C.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from xml.etree import ElementTree as ET

import numpy as np
from pydantic import Field

from pliant._version import __version__
from pliant.engine.compiling import SUFFIX, find_compiler
from pliant.engine.equations import Equations
from pliant.engine.libraries import compile_mode
from pliant.engine.model.model import Model
from pliant.engine.outputs import output_units
from pliant.io import c_text
from pliant.io.c_text import TEMPLATES, filled
from pliant.io.export_c import UNLOCATED, assembled_start, c_files, exported_output_parts, own_model
from pliant.language.dimension import BASE_UNITS
from pliant.language.message_text import unit_text
from pliant.language.units import parse_unit
from pliant.targets.base import Export, Target, exporter, valid, write_file
from pliant.targets.objects import linked

NOT_IN_AN_FMU = ("main.c", "CMakeLists.txt", "README.txt")
FLAGS = ("-std=c11", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math", "-w")
SAME_TIME = (1980, 1, 1, 0, 0, 0)
"""The date of all files: the same robot and compiler then produce the same bytes."""


@dataclass(frozen=True)
class Variable:
    """A variable of an FMU; its number (value reference) is its index in the list of all.

    causality: as defined by FMI. unit: SI unit, empty if unknown. start: value at the start of a simulation, None for computed
    variables. derivative_of: number of the state whose time derivative this is. nominal: of a state, the change that turns a part
    of the robot by a radian or moves it by the robot's size; importers scale absolute tolerances by it.
    """

    name: str
    causality: str
    variability: str
    unit: str
    start: float | None
    description: str
    derivative_of: int | None = None
    nominal: float | None = None

    @property
    def is_state(self) -> bool:
        """Whether this is a continuous state."""
        return self.nominal is not None


class Fmu(Target):
    """A functional mock-up unit, which makes a robot available in tools that support [FMI](https://fmi-standard.org) (Simulink,
    Dymola, OpenModelica, FMPy and many others). It contains the exported C, compiled for this platform, and its sources with a
    build description; it does not need Python. Without a C compiler it contains sources only.

    * **Variables.** Parameters (tunable), inputs, outputs, coordinates and rates, with units. Vectors are split into scalars such
      as `tip.x`. An input follows the model (an expression of time, a recording, a constant) until it is set, and is constant from
      then on.
    * **Start.** Positions and rates start as in the model, or as they are set before initialization, and are projected onto the
      constraints. The FMU of a model with `start: equilibrium` starts at the equilibrium computed at export, also if inputs or
      parameters are set.
    * **Co-simulation.** Each communication step is divided into equal steps of at most `step`. An input that prescribes a position
      or a rate is interpolated to its new value within the communication step.
    * **Model exchange.** Accelerations satisfy the constraints; if integration drifts, an event projects the state back onto them.
      Jumps of inputs in the model are time events; those of conditions that are not linear in t (`sin(t) > 0`), which `simulate`
      locates, are not, and the export has a remark about it. Robots with contacts or with inputs that prescribe motions support
      co-simulation only, because their next state depends on more than the current one.
    * **States** can be saved, set and serialized, including contacts. Directional derivatives are central differences.
    * **Tolerances.** Nominal values of states are the changes that turn a part of the robot by a radian or move it by the robot's
      size. Most importers use a share of these as absolute tolerance, so choose a smaller tolerance for motions that are small
      compared with the robot.

    `python benchmarks/fmus.py` runs the bundled robots both ways in FMPy, beside `simulate`. For FMUs of other tools as controllers
    of a robot see [control](control.md#fmus-as-controllers).
    """

    name: ClassVar[str] = "fmu"
    title: ClassVar[str] = "FMU"
    summary: ClassVar[str] = "a functional mock-up unit for other tools"
    suffix: ClassVar[str] = ".fmu"
    flags: ClassVar[Mapping[str, str]] = {"version": "--fmi"}
    omits: ClassVar[str] = (
        "controllers; model exchange of robots with contacts or with inputs that prescribe motions; times at which conditions that "
        "are not linear in t change are not located"
    )
    warns: ClassVar[bool] = True

    version: Literal["3.0", "2.0"] = "3.0"
    """Version of FMI: 3.0, or 2.0 for older tools."""
    method: Literal["semi_implicit", "generalized_alpha", "newmark", "explicit", "symplectic_euler", "implicit"] = (
        "generalized_alpha"
    )
    """Integrator of co-simulation, as in C."""
    step: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-3
    """Longest step of co-simulation [s]."""

    def write(self, robot: Equations, path: Path) -> FmuExport:
        """Write the file."""
        model, version = own_model(robot), self.version
        remarks = [UNLOCATED] if model.has_located_switches else []
        sources, token = _sources(model, version, self.method, self.step)
        contents = {f"sources/{name}": text.encode() for name, text in sources.items()}
        library = _library(sources, _identifier(model))
        if library is None:
            remarks.append("there is no C compiler: the FMU has sources only")
        else:
            contents[f"binaries/{_platform(version)}/{_identifier(model)}{SUFFIX}"] = library
        contents["modelDescription.xml"] = _description(model, version, self.step, sources, token)
        contents["documentation/index.html"] = _page(model).encode()
        write_file(path, _zipped(contents))
        return FmuExport(path, (path,), tuple(remarks), version, interfaces(model))


@dataclass(frozen=True)
class FmuExport(Export):
    """An exported FMU.

    Attributes:
        version: of FMI.
        kinds: its interfaces, "co_simulation" and "model_exchange".
    """

    version: str
    kinds: tuple[str, ...]

    def __str__(self) -> str:
        return f"FMI {self.version} for {' and '.join(kind.replace('_', '-') for kind in self.kinds)} in {self.path}"

    def facts(self) -> dict[str, Any]:
        return {"kinds": self.kinds}


export_fmu = exporter(Fmu)


def interfaces(model: Model) -> tuple[str, ...]:
    """The interfaces of the FMU of a robot."""
    return ("co_simulation", *(["model_exchange"] if is_for_exchange(model) else []))


def is_for_exchange(model: Model) -> bool:
    """Whether accelerations depend on state, inputs and parameters only."""
    return not (model.system.contacts.shapes or model.followed or model.smooth_inputs)


def variables(model: Model) -> list[Variable]:
    """All variables of a robot's FMU, in the order of their numbers."""
    equations = Equations(model)
    own = equations.parameters
    begin = assembled_start(model)
    names = _Names()
    listed = [Variable(names.new("time"), "independent", "continuous", "s", None, "time")]
    for name in model.parameter_names:
        listed.append(Variable(names.new(name), "parameter", "tunable", _unit(model, name), own[name], "parameter"))
    for name, value in equations.input_values().items():
        listed.append(Variable(names.new(name), "input", "continuous", _unit(model, name), float(value), "input"))
    units = output_units(model)
    for part in exported_output_parts(model):
        unit = units.get(part, "") or units.get(part.rpartition(".")[0], "")
        listed.append(Variable(names.new(part), "output", "continuous", unit, None, "output"))
    first = len(listed)
    of_q, of_v = _states(equations, begin.q)
    for states, start, what in ((of_q, begin.q, "position"), (of_v, begin.v, "rate")):
        for (name, unit, nominal), value in zip(states, start, strict=True):
            named = names.new(name if what == "position" else f"{name}.rate", "state")
            listed.append(Variable(named, "local", "continuous", unit, float(value), what, nominal=nominal))
    for i, (_, unit, _) in enumerate([*of_q, *of_v]):
        state = listed[first + i].name
        what = f"time derivative of {state}"
        listed.append(
            Variable(
                names.new(f"der({state})"),
                "local",
                "continuous",
                _per_second(unit),
                None,
                what,
                derivative_of=first + i,
            )
        )
    return listed


def _states(equations: Equations, q: np.ndarray) -> tuple[list[tuple[str, str, float]], list[tuple[str, str, float]]]:
    """Name, unit and nominal value of all positions and of all rates. Rates are nominal per second."""
    of_q: list[tuple[str, str, float]] = []
    of_v: list[tuple[str, str, float]] = []
    sizes = equations.binding.sizes(q)[1]
    for c in equations.model.coordinates:
        own = [float(x) for x in sizes[len(of_v) : len(of_v) + len(c.v_names)]]
        is_quaternion = len(c.q_names) != len(c.v_names)
        of_q += [(name, "", 1.0) if is_quaternion else (name, c.unit, own[i]) for i, name in enumerate(c.q_names)]
        unit = "rad/s" if is_quaternion else _per_second(c.unit)
        of_v += [(name, unit, own[i]) for i, name in enumerate(c.v_names)]
    return of_q, of_v


class _Names:
    """Names in use: names of states and derivatives are changed in a conflict."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, name: str, prefix: str = "model") -> str:
        while name in self._taken:
            name = f"{prefix}.{name}"
        self._taken.add(name)
        return name


def _unit(model: Model, name: str) -> str:
    return unit_text(model.environment.dimension(name))


def _per_second(unit: str) -> str:
    return f"{unit or '1'}/s"


def _identifier(model: Model) -> str:
    return c_text.robot_identifier(model.spec.title)


# -- sources ---------------------------------------------------------------------------------------------------------


def _sources(model: Model, version: str, method: str, step: float) -> tuple[dict[str, str], str]:
    """All files of the folder `sources` by name, and the unique identifier of this FMU."""
    name, short = _identifier(model), version[0]
    files = {file: text for file, text in c_files(model, method=method, step=step).items() if file not in NOT_IN_AN_FMU}
    token = _token(files, version)
    nominals = ", ".join(_number(x.nominal) for x in variables(model) if x.nominal is not None) or "1"
    words = {"name": name, "exchange": str(int(is_for_exchange(model))), "token": token, "nominals": nominals}
    files |= {
        f"{name}_fmu.h": filled("fmu.h", words),
        f"{name}_fmu.c": filled("fmu.c", words),
        f"fmi{short}.c": filled(f"fmi{short}.c", words),
    }
    headers = (TEMPLATES / "fmi").glob(f"fmi{short}*.h")
    files |= {header.name: header.read_text(encoding="utf-8") for header in headers}
    files["buildDescription.xml"] = _build_description(name, version, files)
    return files, token


def _token(files: Mapping[str, str], version: str) -> str:
    key = hashlib.sha256(version.encode())
    for name, text in sorted(files.items()):
        key.update(f"{name}\0{text}\0".encode())
    return f"{{{key.hexdigest()[:32]}}}"


def _compiled(sources: Mapping[str, str]) -> list[str]:
    return sorted(name for name in sources if name.endswith(".c"))


def _build_description(name: str, version: str, files: Mapping[str, str]) -> str:
    root = ET.Element("fmiBuildDescription", fmiVersion=version)
    configuration = ET.SubElement(root, "BuildConfiguration", modelIdentifier=name)
    every = ET.SubElement(configuration, "SourceFileSet", language="C11")
    for file in _compiled(files):
        ET.SubElement(every, "SourceFile", name=file)
    return _xml(root).decode()


def _library(sources: Mapping[str, str], name: str) -> bytes | None:
    """The shared library, or None without a compiler."""
    compiler = find_compiler()
    if compiler is None:
        return None
    flags = [*FLAGS, "-O0" if compile_mode() == "quick" else "-O2"]
    return linked(compiler, sources, name, flags=flags, link=["-shared", *([] if os.name == "nt" else ["-lm"])])


def _platform(version: str) -> str:
    """The name of this platform in FMI."""
    system = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if version == "2.0":
        return {"windows": "win", "darwin": "darwin", "linux": "linux"}[system] + (
            "64" if sys.maxsize > 2**32 else "32"
        )
    return f"{machine}-{system}"


# -- description ---------------------------------------------------------------------------------------------------------


def _description(model: Model, version: str, step: float, sources: Mapping[str, str], token: str) -> bytes:
    listed = variables(model)
    name, three = _identifier(model), version == "3.0"
    about = {
        "fmiVersion": version,
        "modelName": model.spec.title,
        ("instantiationToken" if three else "guid"): token,
        "generationTool": f"Pliant {__version__}",
        "variableNamingConvention": "flat",
    }
    if not three:
        about["numberOfEventIndicators"] = "0"
    root = ET.Element("fmiModelDescription", about)
    for kind in (*(["ModelExchange"] if is_for_exchange(model) else []), "CoSimulation"):
        _interface(root, kind, name, version, step, sources)
    _units(root, listed)
    categories = ET.SubElement(root, "LogCategories")
    ET.SubElement(categories, "Category", name="logStatus", description="what went wrong")
    ET.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1", stepSize=_number(step))
    every = ET.SubElement(root, "ModelVariables")
    for number, variable in enumerate(listed):
        (_variable_3 if three else _variable_2)(every, number, variable)
    (_structure_3 if three else _structure_2)(root, listed)
    return _xml(root)


def _interface(root: ET.Element, kind: str, name: str, version: str, step: float, sources: Mapping[str, str]) -> None:
    if version == "3.0":
        can = {"canGetAndSetFMUState": "true", "canSerializeFMUState": "true", "providesDirectionalDerivatives": "true"}
    else:
        can = {"canGetAndSetFMUstate": "true", "canSerializeFMUstate": "true", "providesDirectionalDerivative": "true"}
    if kind == "CoSimulation":
        can["canHandleVariableCommunicationStepSize"] = "true"
        if version == "3.0":
            can["fixedInternalStepSize"] = _number(step)
    made = ET.SubElement(root, kind, {"modelIdentifier": name, **can})
    if version == "2.0":
        files = ET.SubElement(made, "SourceFiles")
        for file in _compiled(sources):
            ET.SubElement(files, "File", name=file)


def _units(root: ET.Element, listed: list[Variable]) -> None:
    defined = {unit: base for unit in sorted({x.unit for x in listed}) if (base := _base_unit(unit)) is not None}
    if not defined:
        return
    every = ET.SubElement(root, "UnitDefinitions")
    for unit, base in defined.items():
        ET.SubElement(ET.SubElement(every, "Unit", name=unit), "BaseUnit", base)


def _base_unit(text: str) -> dict[str, str] | None:
    """A unit as exponents of base units; None without a unit, or if FMI cannot describe it."""
    if not text:
        return None
    try:
        unit = parse_unit(text)
    except ValueError:
        return None
    exponents = {**dict(zip(BASE_UNITS, unit.dimension.exponents, strict=True)), "rad": unit.turns}
    if any(x.denominator != 1 for x in exponents.values()):
        return None
    return {base: str(int(x)) for base, x in exponents.items() if x}


def _start(variable: Variable) -> dict[str, str]:
    values = {"nominal": variable.nominal, "start": variable.start}
    return {name: _number(x) for name, x in values.items() if x is not None}


def _typed(variable: Variable) -> dict[str, str]:
    return {"unit": variable.unit} if _base_unit(variable.unit) is not None else {}


def _initial(variable: Variable) -> dict[str, str]:
    """States may be set before the start, and are then projected on the constraints."""
    return {"initial": "approx"} if variable.is_state else {}


def _variable_3(every: ET.Element, number: int, x: Variable) -> None:
    about = {
        "name": x.name,
        "valueReference": str(number),
        "causality": x.causality,
        "variability": x.variability,
        "description": x.description,
        **_initial(x),
        **_typed(x),
        **_start(x),
    }
    if x.derivative_of is not None:
        about["derivative"] = str(x.derivative_of)
    ET.SubElement(every, "Float64", about)


def _variable_2(every: ET.Element, number: int, x: Variable) -> None:
    about = {
        "name": x.name,
        "valueReference": str(number),
        "causality": x.causality,
        "variability": x.variability,
        "description": x.description,
    }
    made = ET.SubElement(every, "ScalarVariable", about | _initial(x))
    real = _typed(x) | _start(x)
    if x.derivative_of is not None:
        real["derivative"] = str(x.derivative_of + 1)
    ET.SubElement(made, "Real", real)


def _computed(listed: list[Variable]) -> Iterator[tuple[str, int]]:
    for number, x in enumerate(listed):
        if x.causality == "output":
            yield "output", number
        elif x.derivative_of is not None:
            yield "derivative", number
        elif x.is_state:
            yield "state", number


def _structure_3(root: ET.Element, listed: list[Variable]) -> None:
    made = ET.SubElement(root, "ModelStructure")
    computed = list(_computed(listed))
    for wanted, tag in (("output", "Output"), ("derivative", "ContinuousStateDerivative")):
        for kind, number in computed:
            if kind == wanted:
                ET.SubElement(made, tag, valueReference=str(number))
    for _, number in sorted(computed, key=lambda item: item[0] != "output"):
        ET.SubElement(made, "InitialUnknown", valueReference=str(number))


def _structure_2(root: ET.Element, listed: list[Variable]) -> None:
    made = ET.SubElement(root, "ModelStructure")
    computed = list(_computed(listed))
    for wanted, tag in (("output", "Outputs"), ("derivative", "Derivatives"), ("", "InitialUnknowns")):
        chosen = [number for kind, number in computed if wanted in ("", kind)]
        if chosen:
            part = ET.SubElement(made, tag)
            for number in sorted(chosen):
                ET.SubElement(part, "Unknown", index=str(number + 1))


def _number(value: float) -> str:
    return repr(float(value))


def _xml(root: ET.Element) -> bytes:
    for element in root.iter():
        element.attrib.update({name: valid(value) for name, value in element.attrib.items()})
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _page(model: Model) -> str:
    """A documentation page of the FMU."""
    kinds = "co-simulation and model exchange" if is_for_exchange(model) else "co-simulation"
    rows = [[x.name, x.causality, x.unit, "" if x.start is None else f"{x.start:.6g}"] for x in variables(model)]
    root = ET.Element("html", lang="en")
    head, body = ET.SubElement(root, "head"), ET.SubElement(root, "body")
    ET.SubElement(head, "meta", charset="utf-8")
    ET.SubElement(head, "title").text = model.spec.title
    ET.SubElement(head, "style").text = "body {font-family: sans-serif} td, th {text-align: left; padding-right: 1em}"
    ET.SubElement(body, "h1").text = model.spec.title
    ET.SubElement(body, "p").text = f"Exported by Pliant {__version__} for {kinds}. All values are in SI units."
    follow = "Inputs follow the model (an expression of time, a recording or a constant) until they are set"
    ET.SubElement(body, "p").text = f"{follow}, and are held from then on."
    table = ET.SubElement(body, "table")
    for tag, cells in [("th", ["variable", "causality", "unit", "start"]), *(("td", row) for row in rows)]:
        row = ET.SubElement(table, "tr")
        for cell in cells:
            ET.SubElement(row, tag).text = cell
    return "<!doctype html>\n" + str(ET.tostring(root, encoding="unicode", method="html"))


def _zipped(contents: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            archive.writestr(zipfile.ZipInfo(name, SAME_TIME), contents[name], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
