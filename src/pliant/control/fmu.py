"""A functional mock-up unit (FMI) of another tool as a controller or drive: it closes the loop around a robot.

The FMU is run by FMPy (`pip install 'pliant[fmi]'`). It is native code: run only those that you trust.
"""

import lzma
import os
import re
import shutil
import struct
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from pliant.analysis.motion.events import Now
from pliant.engine.core import check_names
from pliant.engine.outputs import output_names, output_parts
from pliant.language.arguments import ArgumentError, file_name, mapping, number
from pliant.language.message_text import suggestion

Measured: TypeAlias = str | Callable[[Now], float]


@dataclass(frozen=True)
class FmuLimits:
    """Limits on files from elsewhere."""

    largest: int = 2_000_000_000
    most_files: int = 20_000
    description: int = 50_000_000
    """Maximum size of an unpacked FMU [bytes], number of files, and size of its description [bytes]."""
    bomb: int = 50_000_000
    ratio: int = 200
    """Size [bytes] above which the compression ratio of an FMU is limited to this value."""


LIMITS = FmuLimits()


DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(NotImplementedError, RuntimeError, EOFError, ValueError),
)
"""What reading a damaged or encrypted zip file raises."""
ENCODINGS = (b"utf-8", b"utf8", b"us-ascii", b"ascii", b"iso-8859-1", b"latin-1", b"windows-1252")
"""Accepted encodings of a description: UTF-8, and others in which ASCII characters are themselves."""
NUMBERS = {"Float64", "Float32", "Real"}


@dataclass
class Fmu:
    """A co-simulation FMU that is stepped along with the robot, as a controller of `simulate`.

    At each sample the FMU is stepped to the current time, its inputs are set from the robot, and its outputs become
    commands, constant until the next sample.

    Attributes:
        file: the `.fmu` file.
        inputs: source of each input of the FMU: an output of the robot (a component as `tip.x`), or a function of `now`.
        commands: the output of the FMU that each input of the robot is set to.
        sample_time: of the loop [s].
        parameters: values of the FMU's parameters and start values by name, in the FMU's own units.
    """

    file: str | Path
    inputs: Mapping[str, Measured]
    commands: Mapping[str, str]
    sample_time: float = 0.001
    parameters: Mapping[str, float] = field(default_factory=dict)
    delay: float = 0.0
    name: str = "fmu"

    def __post_init__(self) -> None:
        self._folder = _unpacked(file_name("file", self.file))
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._description = _described(self._folder, self.file)
        self.inputs, self.commands = mapping("inputs", self.inputs), mapping("commands", self.commands)
        self.parameters = mapping("parameters", self.parameters)
        known = {x.name: x for x in self._description.modelVariables if x.type in NUMBERS}
        self._check("input", self.inputs, [n for n, x in known.items() if x.causality == "input"])
        self._check(
            "output", self.commands.values(), [n for n, x in known.items() if x.causality in ("output", "local")]
        )
        self._check("parameter", self.parameters, list(known))
        for name, value in self.parameters.items():
            number(f"the parameter '{name}' of the FMU", value)
        self._reference = {name: x.valueReference for name, x in known.items()}
        self._single = {name for name, x in known.items() if x.type == "Float32"}
        self._instance: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))  # a copy unpacks the file again

    def _check(self, what: str, names: Any, known: list[str]) -> None:
        for name in names:
            if name not in known:
                hint = suggestion(name, known, f"it has {', '.join(known[:12]) or 'none'}")
                raise ArgumentError(f"the FMU {self.file} has no {what} '{name}' that is a number", hint)

    def start(self, now: Now) -> None:
        """Create a new instance of the FMU at the initial time of the run."""
        model = now.equations.model
        check_names("input", self.commands, now.equations.inputs)
        parts = {name: output_parts(model, name) for name in output_names(model)} if model.spec.outputs else {}
        self._sources = {part: (name, i) for name in parts for i, part in enumerate(parts[name])}
        check_names("output", [source for source in self.inputs.values() if isinstance(source, str)], self._sources)
        self._end()
        fmpy, here = _fmpy(), os.getcwd()
        try:
            self._instance = fmpy.simulation.instantiate_fmu(str(self._folder), self._description, "CoSimulation")
        except Exception as reason:  # any error of the loader, FMPy or the FMU itself
            os.chdir(here)  # FMPy loads a library from its folder, and stays there if it fails
            raise RuntimeError(f"the FMU {self.file} cannot be started on this machine: {reason}") from reason
        self._finalizer = weakref.finalize(self, _close, self._instance)
        self._t = now.t
        if self._description.fmiVersion.startswith("2"):
            self._instance.setupExperiment(startTime=now.t)
            self._instance.enterInitializationMode()
        else:
            self._instance.enterInitializationMode(startTime=now.t)
        for name, value in self.parameters.items():
            self._set(name, value)
        self._measure(now)
        self._instance.exitInitializationMode()

    def command(self, now: Now) -> Mapping[str, float]:
        """Inputs of the robot from the FMU, after it has been stepped to the current time."""
        if now.t > self._t:
            try:
                self._instance.doStep(currentCommunicationPoint=self._t, communicationStepSize=now.t - self._t)
            except Exception as reason:
                raise RuntimeError(
                    f"the FMU {self.file} failed in its step from t = {self._t:g} s: {reason}"
                ) from reason
            self._t = now.t
            self._measure(now)
        return {robot: self._get(own) for robot, own in self.commands.items()}

    def _measure(self, now: Now) -> None:
        for name, source in self.inputs.items():
            if callable(source):
                self._set(name, number(f"the input '{name}' of the FMU", source(now)))
            else:
                output, component = self._sources[source]
                self._set(name, float(now.measure([output])[component]))

    def _set(self, name: str, value: float) -> None:
        reference = [self._reference[name]]
        if self._description.fmiVersion.startswith("2"):
            self._instance.setReal(reference, [value])
        elif name in self._single:
            self._instance.setFloat32(reference, [value])
        else:
            self._instance.setFloat64(reference, [value])

    def _get(self, name: str) -> float:
        reference = [self._reference[name]]
        if self._description.fmiVersion.startswith("2"):
            return float(self._instance.getReal(reference)[0])
        get = self._instance.getFloat32 if name in self._single else self._instance.getFloat64
        return float(get(reference)[0])

    def _end(self) -> None:
        if self._instance is not None:
            self._finalizer()
            self._instance = None


def _close(instance: Any) -> None:
    instance.terminate()
    instance.freeInstance()


def _fmpy() -> Any:
    try:
        import fmpy
        import fmpy.simulation
    except ImportError:
        raise ImportError("FMUs are run by FMPy; install it with: pip install 'pliant[fmi]'") from None
    return fmpy


def _unpacked(file: Path) -> Path:
    """The FMU in a separate folder; untrusted files are checked before anything is written."""
    if not file.is_file():
        raise ArgumentError(f"there is no file '{file}'")
    folder = Path(tempfile.mkdtemp(prefix="pliant-fmu-"))
    try:
        with zipfile.ZipFile(file) as archive:
            _check_contents(archive, file)
            archive.extractall(folder)
    except ArgumentError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    except DAMAGED as reason:
        shutil.rmtree(folder, ignore_errors=True)
        is_plain = isinstance(reason, (zipfile.BadZipFile, NotImplementedError, RuntimeError))
        raise ArgumentError(f"{file} is not an FMU: {reason if is_plain else 'its data are damaged'}") from None
    except OSError as reason:  # names that no file can have, or a full disk
        shutil.rmtree(folder, ignore_errors=True)
        raise ArgumentError(f"{file} cannot be unpacked: {reason.strerror or 'it is damaged'}") from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _check_contents(archive: zipfile.ZipFile, file: Path) -> None:
    entries = archive.infolist()
    for entry in entries:
        parts = PurePosixPath(entry.filename.replace("\\", "/")).parts
        if entry.filename.startswith("/") or ".." in parts or (parts and ":" in parts[0]):
            raise ArgumentError(f"{file} has a file outside of its own folder: {entry.filename!r}")
    if len(entries) > LIMITS.most_files or sum(entry.file_size for entry in entries) > LIMITS.largest:
        raise ArgumentError(f"{file} is too large to be unpacked: {len(entries)} files")
    whole, packed = (sum(getattr(entry, key) for entry in entries) for key in ("file_size", "compress_size"))
    if whole > LIMITS.bomb and whole > LIMITS.ratio * packed:
        raise ArgumentError(
            f"{file} is too large to be unpacked: {whole / 1e6:.0f} MB, {whole // max(1, packed)} times its size"
        )
    sizes = {entry.filename: entry.file_size for entry in entries}
    if "modelDescription.xml" not in sizes:
        raise ArgumentError(f"{file} is not an FMU: it has no modelDescription.xml")
    if sizes["modelDescription.xml"] > LIMITS.description:
        raise ArgumentError(f"the description in {file} is too large: {sizes['modelDescription.xml']} bytes")
    text = archive.read("modelDescription.xml")
    declared = re.match(rb"""[^>]*?\sencoding\s*=\s*["']([^"']*)""", text)
    if declared and declared[1].lower() not in ENCODINGS:  # others, such as UTF-7, could hide the declarations below
        raise ArgumentError(f"the description in {file} is not in UTF-8, as FMI requires")
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text or b"\0" in text:
        raise ArgumentError(f"the description in {file} defines entities, which FMI does not allow")


def _described(folder: Path, file: str | Path) -> Any:
    fmpy = _fmpy()
    try:
        description = fmpy.read_model_description(str(folder))
    except Exception as reason:
        raise ArgumentError(f"the description in {file} cannot be read: {str(reason)[:300]}") from None
    kinds = (description.coSimulation, description.modelExchange)
    for name in [kind.modelIdentifier for kind in kinds if kind is not None]:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):  # the name of its library, and part of a path
            raise ArgumentError(f"the description in {file} has a modelIdentifier that is no name: {name[:80]!r}")
    if description.coSimulation is None:
        raise ArgumentError(f"{file} supports model exchange only", "export it for co-simulation")
    if not description.fmiVersion.startswith(("2", "3")):
        raise ArgumentError(f"{file} is of FMI {description.fmiVersion}", "export it for FMI 2.0 or 3.0")
    return description
