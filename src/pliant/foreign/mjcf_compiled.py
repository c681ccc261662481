"""MuJoCo's compiled model, created in a separate process with limits on time and memory."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import math
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np

from pliant.foreign import mjcf_child
from pliant.foreign.document import Document
from pliant.foreign.mjcf_text import MjcfText
from pliant.language.faults import Fault, SpecError
from pliant.language.limits import limits, most

PATIENCE = 1.0 if sys.platform == "win32" else 5.0
"""Ratio of the wall-clock limit to the limit of processor time, which the system enforces, except on Windows."""
SAME_FRAME, SAME_AXES = 1, 3
"""MuJoCo's numbers for inertial frames that are equal to the frame of the body, or parallel to it."""
SOFT = {
    "EQUALITY": ("eq_active0",),
    "FRICTIONLOSS": ("dof_frictionloss", "tendon_frictionloss"),
    "LIMIT": ("jnt_limited", "tendon_limited"),
    "CONTACT": ("nmeeting",),
}
SPRINGS = ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly", "flex_edgestiffness")
DAMPERS = ("dof_damping", "dof_dampingpoly", "tendon_damping", "tendon_dampingpoly", "flex_edgedamping")
DISABLED = {
    **SOFT,
    "CONSTRAINT": tuple(key for keys in SOFT.values() for key in keys),
    "SPRING": SPRINGS,
    "DAMPER": DAMPERS,
    "PASSIVE": (*SPRINGS, *DAMPERS),
    "GRAVITY": ("opt_gravity",),
    "CLAMPCTRL": ("actuator_ctrllimited",),
    "ACTUATION": ("nu",),
}
"""Arrays of a model that become zero if its options disable a feature."""


class CompiledMjcf:
    """The numbers and arrays of a compiled model, by MuJoCo's names for them.

    disabled: names of disabled features, whose arrays become zero. `nmeeting` is zero if contacts are disabled, otherwise one.
    """

    def __init__(self, arrays: dict[str, np.ndarray], disabled: Collection[str] = ()) -> None:
        self._arrays = dict(arrays)
        self._names = arrays["names"].tobytes()
        for key in {key for name in disabled for key in DISABLED.get(name, ())} & set(arrays):
            self._arrays[key] = np.zeros_like(arrays[key])

    def __getattr__(self, key: str) -> Any:
        try:
            found = self._arrays[key]
        except KeyError:
            raise AttributeError(key) from None
        return found.item() if found.ndim == 0 else found

    def name(self, kind: str, k: int) -> str:
        """The name of the k-th object of a kind, empty if it has none.

        kind: body, jnt, geom, site, mesh, tendon, eq, actuator, flex, key, sensor.
        """
        return self._text(int(self._arrays[f"name_{kind}adr"][k]))

    @property
    def title(self) -> str:
        """The name of the model."""
        return self._text(0)

    def _text(self, start: int) -> str:
        return self._names[start : self._names.index(b"\0", start)].decode(errors="replace")


def compile_model(prepared: MjcfText, document: Document) -> CompiledMjcf:
    """MuJoCo's model; its warnings become notes. Raises SpecError if it rejects the text or exceeds the limits."""
    if sys.modules.get("mujoco", ...) is None or importlib.util.find_spec("mujoco") is None:
        _refuse(document, "MJCF files need the package mujoco", "install pliant[import], or mujoco")
    answer, parts = _run_child(prepared, document)
    for text in dict.fromkeys(" ".join(warning.split()) for warning in answer["warnings"]):
        document.note(f"MuJoCo warns: {text}")
    if "memory" in answer:
        _refuse(document, "MuJoCo needs too much memory to compile it", most("import_memory"))
    if "missing" in answer:
        _refuse(document, f"the package mujoco cannot be loaded: {answer['missing']}", "install pliant[import] again")
    if "refused" in answer:  # the line number is removed, because the text for MuJoCo is a single line
        message = " ".join(answer["refused"].replace("XML Error:", "").replace("line 1", "").split()).strip(" ,")
        _refuse(document, f"MuJoCo rejects it: {message or 'it gives no reason'}")
    arrays = {"nmeeting": np.ones((), dtype=int)}
    for (key, kind, shape), data in zip(answer["arrays"], parts, strict=True):
        arrays[key] = np.frombuffer(data, dtype=np.dtype(kind)).reshape(shape)
    _align(arrays)
    if "ACTUATION" in answer["disabled"] and arrays["nu"]:
        document.note("actuators are disabled by <flag> and not imported")
    return CompiledMjcf(arrays, answer["disabled"])


def _align(arrays: dict[str, np.ndarray]) -> None:
    """Set inertial frames within MuJoCo's tolerance (about 1e-6) of the frame of the body to that frame, as MuJoCo does."""
    same = arrays["body_sameframe"]
    arrays["body_ipos"] = np.where((same == SAME_FRAME)[:, None], 0.0, arrays["body_ipos"])
    turned = (same == SAME_FRAME) | (same == SAME_AXES)
    arrays["body_iquat"] = np.where(turned[:, None], [1.0, 0.0, 0.0, 0.0], arrays["body_iquat"])


def _run_child(prepared: MjcfText, document: Document) -> tuple[dict[str, Any], list[bytes]]:
    """The answer of the process that compiles; the process always ends with this call."""
    allowed = limits()
    seconds = min(allowed.import_time, allowed.time or math.inf)
    request = {
        "path": sys.path,
        "assets": [*prepared.assets],
        "seconds": math.ceil(seconds),
        "memory": int(min(allowed.import_memory, allowed.memory or math.inf)),
    }
    question = io.BytesIO()
    mjcf_child.send(question, request, [prepared.text.encode(), *prepared.assets.values()])
    command = [sys.executable, "-I", mjcf_child.__file__]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError as error:
        _refuse(document, f"MuJoCo's compiler cannot be started: {error.strerror}", f"it runs in {sys.executable}")
    try:
        answer = process.communicate(question.getvalue(), timeout=seconds * PATIENCE)[0]
    except subprocess.TimeoutExpired:
        _refuse_endless(document)
    finally:
        process.kill()
        process.wait()
        for pipe in filter(None, (process.stdin, process.stdout)):
            with contextlib.suppress(OSError):
                pipe.close()
    if process.returncode != 0:
        _refuse_crash(document, process.returncode)
    return mjcf_child.receive(io.BytesIO(answer))


def _refuse_endless(document: Document) -> NoReturn:
    _refuse(document, "MuJoCo does not finish compiling it", f"check its numbers; {most('import_time')}")


def _refuse_crash(document: Document, code: int) -> NoReturn:
    """Raise the fault of a process that ended without an answer: by a signal (negative codes), or an exit by MuJoCo."""
    if code in (-getattr(signal, "SIGXCPU", 24), -getattr(signal, "SIGKILL", 9)):
        _refuse_endless(document)
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"code {code}"
    hint = f"check its numbers; or it needs too much memory: {most('import_memory')}"
    _refuse(document, f"MuJoCo's compiler crashes on it ({name})", hint)


def _refuse(document: Document, message: str, hint: str = "") -> NoReturn:
    file = document.source.file
    raise SpecError([Fault(message, hint, file=file)], file)
