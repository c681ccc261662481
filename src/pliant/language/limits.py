"""Limits on sizes and computations. Ordinary models do not reach the defaults.

The environment variable PLIANT_LIMITS sets others, as for untrusted models: `elements=20000,memory=2GB,time=30`. Sizes are in
bytes, optionally with kB, MB or GB; `memory` and `time` are unlimited by default, and apply to commands.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from pliant.language.faults import Fault, SpecError
from pliant.language.message_text import suggestion

VARIABLE = "PLIANT_LIMITS"

_SIZES = {"": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9}
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]*)?(?:e[0-9]{1,2})?)\s*([kmg]b|)", re.IGNORECASE)


@dataclass(frozen=True)
class Limits:
    """Upper limits.

    model: bytes of a model file. values: numbers, texts, lists and mappings in it; aliases count each time. includes: number of
    included files. attached: number of attached models. parts: bodies, joints, links, ... with all instances of repeated ones.
    elements: elements of all rods and nodes of all meshes. drawing, table, recording: bytes of a mesh file, of a file of inputs
    or heights, and of a recording. cells: numbers in such a file when it is unpacked. triangles: triangles of a surface.
    import_time, import_memory: seconds and bytes of the process in which MuJoCo compiles a robot. memory: bytes of the process of
    a command. time: seconds of a command.
    """

    model: float = 1e6
    values: float = 50_000
    includes: float = 50
    attached: float = 200
    parts: float = 10_000
    elements: float = 200_000
    drawing: float = 50e6
    table: float = 50e6
    recording: float = 200e6
    cells: float = 20e6
    triangles: float = 50_000
    import_time: float = 20.0
    import_memory: float = 4e9
    memory: float | None = None
    time: float | None = None


def limits() -> Limits:
    """The current limits; raises SpecError if the environment variable cannot be read."""
    return _read(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=8)
def _read(text: str) -> Limits:
    known = [field.name for field in fields(Limits)]
    given: dict[str, float] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, _, value = (part.strip() for part in entry.partition("="))
        match = _NUMBER.fullmatch(value)
        if name not in known:
            hint = suggestion(name, known, f"known: {', '.join(known)}")
            raise SpecError([Fault(f"unknown limit '{name}'", hint)], VARIABLE)
        if match is None or float(match[1]) <= 0:
            hint = f"write {name}= and a number above zero, or a size such as 50MB"
            raise SpecError([Fault(f"cannot read '{entry}'", hint)], VARIABLE)
        given[name] = float(match[1]) * _SIZES[match[2].lower()]
    return replace(Limits(), **given)


def most(name: str) -> str:
    """A limit as text for hints, with the variable that changes it."""
    value = getattr(limits(), name)
    is_size = name in ("model", "drawing", "table", "recording", "import_memory", "memory")
    shown = f"{value / 1e6:g} MB" if is_size else f"{value:g} s" if name in ("import_time", "time") else f"{value:.0f}"
    return f"at most {shown}, unless {VARIABLE}={name}=... sets another limit"
