"""What is fuzzed: where cases come from, and what has to hold for each."""

from __future__ import annotations

import gc
import json
import os
import random
import tempfile
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import casadi as ca
import numpy as np
import scipy.stats  # noqa: F401 - once for all workers
from fuzz_commands import commands
from fuzz_inputs import (
    crafted_fmu,
    crafted_result,
    drawings,
    expressions,
    fmus,
    models,
    recordings,
    results,
    robots,
    small_models,
    swept,
    variations,
)
from messages import check_words, refusals, run_words
from mutation import mutate, mutate_bytes, mutate_numbers
from surfaces import CHEAP, SURFACES, go_through
from valid_models import ENTRIES, FIELDS, valid_model

from pliant.analysis.derivation.check import check
from pliant.analysis.derivation.derive import derive
from pliant.analysis.numerics.netcdf_files import ResultFileError
from pliant.control.fmu import Fmu
from pliant.identify.recording import drive
from pliant.io.results import load_result
from pliant.language.arguments import ArgumentError
from pliant.language.dimension import LENGTH
from pliant.language.evaluate import BARE, UNKNOWN, dimension_of, evaluate
from pliant.language.faults import ExpressionError, SpecError
from pliant.language.recording import read_recording
from pliant.language.source import FileProblem
from pliant.language.syntax import parse, symbols, to_text
from pliant.parts.mesh.formats import read_mesh
from pliant.robot.flattening import flatten
from pliant.robot.reader import load
from pliant.robot.writer import dump
from pliant.show.tables import html
from pliant.study.cases import cases


@dataclass(frozen=True)
class Case:
    """One input: the content of a file and how its name ends."""

    data: bytes
    suffix: str


@dataclass(frozen=True)
class Target:
    """One target of fuzzing.

    make: creates a random case; run: processes it and raises unexpected errors; seconds: processor time limit of a case; pieces:
    ways to split data and to join it again, by which cases are minimized.
    """

    name: str
    make: Callable[[random.Random], Case]
    run: Callable[[Case, Path], None]
    seconds: float = 5.0
    pieces: Sequence[Pieces] = ()


Pieces = tuple[Callable[[bytes], list[Any]], Callable[[list[Any]], bytes]]
"""A function that splits data, and one that joins the remaining parts."""

LINES = (lambda data: data.splitlines(keepends=True), b"".join)
BYTES = (lambda data: [data[k : k + 1] for k in range(len(data))], b"".join)
WORDS = (
    lambda data: json.loads(data)["arguments"],
    lambda words: json.dumps({"arguments": words}, ensure_ascii=False).encode(),
)


def written(case: Case, folder: Path, name: str = "case") -> Path:
    """The file of a case."""
    path = folder / f"{name}{case.suffix}"
    path.write_bytes(case.data)
    return path


# -- models ----------------------------------------------------------------------------------------------------------------


def _damaged_model(chance: random.Random) -> Case:
    text = mutate(chance.choice(models()), chance)
    if chance.random() < 0.3:
        text = mutate(text, chance)
    data = text.encode("utf-8", errors="surrogatepass")
    return Case(mutate_bytes(data, chance) if chance.random() < 0.05 else data, ".yaml")


def _check_model(case: Case, folder: Path) -> None:
    """A model is refused with faults, or is sound; one in five is also flattened, printed, and written back to an equal one."""
    path = written(case, folder, "model")
    with patch.dict(os.environ, PLIANT_LIMITS="import_time=3"):  # of MuJoCo's process, which is ended then
        faults = check(path)
    for fault in faults:
        check_words(str(fault))
    if zlib.crc32(case.data) % 5:
        return
    if faults:
        with refusals(SpecError):
            load(path)
        return
    spec = load(path)
    if sum(len(things) for things in (flatten(spec).bodies, spec.joints)) < 500:
        assert str(spec)
        assert html(spec)
    copy = folder / "copy.yaml"
    copy.write_text(dump(spec), encoding="utf-8")
    assert load(copy) == spec, "a model that is written back must be the same"


def _damaged_robot(chance: random.Random) -> Case:
    suffix, text = chance.choice(robots())
    data = mutate(text, chance).encode("utf-8", errors="surrogatepass")
    return Case(mutate_bytes(data, chance) if chance.random() < 0.2 else data, suffix)


# -- analyses of models ----------------------------------------------------------------------------------------------------


MOST_COORDINATES = 40
"""Of robots that are analysed here: larger ones take their time."""


def _other_numbers(chance: random.Random) -> Case:
    return Case(mutate_numbers(chance.choice(small_models()), chance).encode(), ".yaml")


def _analyse(case: Case, folder: Path) -> None:
    path = written(case, folder, "model")
    if check(path):
        return
    with refusals(SpecError):
        eqs = derive(load(path))
        if len(eqs.coordinates) <= MOST_COORDINATES:
            for words in (["equilibrium"], ["simulate", "--until", "0.01"], ["modes"]):
                run_words([*words, str(path)], {"PLIANT_COMPILE": "never"})


# -- files -----------------------------------------------------------------------------------------------------------------


def _damaged_drawing(chance: random.Random) -> Case:
    suffix, data = chance.choice(drawings())
    if chance.random() < 0.5 and b"\0" not in data:
        data = mutate(data.decode("latin-1"), chance).encode("latin-1", errors="replace")
    else:
        data = mutate_bytes(data, chance)
    return Case(data, suffix)


def _read_drawing(case: Case, folder: Path) -> None:
    path = written(case, folder)
    for split in (False, True):
        with refusals(FileProblem):
            read_mesh(path, split=split)


def _damaged_result(chance: random.Random) -> Case:
    data = crafted_result(chance) if chance.random() < 0.3 else mutate_bytes(chance.choice(results()), chance)
    return Case(data, ".nc")


def _read_result(case: Case, folder: Path) -> None:
    path = written(case, folder)
    for read in (load_result,):
        with refusals(ResultFileError), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # partial ones are read with a warning
            str(read(path))


def _damaged_fmu(chance: random.Random) -> Case:
    data = crafted_fmu(chance.choice(fmus()), chance)
    return Case(mutate_bytes(data, chance) if chance.random() < 0.3 else data, ".fmu")


def _read_fmu(case: Case, folder: Path) -> None:
    """An FMU is refused in words, or is read; nothing of it is left on the disk, and nothing is written outside of its folder."""
    path = written(case, folder)
    with tempfile.TemporaryDirectory(dir=folder) as place, patch("tempfile.tempdir", place):
        for commands_ in ({}, {"force": "nothing"}):
            with refusals(ArgumentError, ImportError):  # without FMPy
                Fmu(path, inputs={}, commands=commands_)
        if any(Path(place).iterdir()):
            gc.collect()
        assert not [*Path(place).iterdir()], "files of the FMU are left"


def _damaged_recording(chance: random.Random) -> Case:
    text = chance.choice(recordings())
    if chance.random() < 0.8:
        return Case(mutate(text, chance).encode("utf-8", errors="surrogatepass"), ".csv")
    return Case(mutate_bytes(text.encode(), chance), ".csv")


@cache
def _cart_pole() -> Any:
    return derive(load("cart_pole"))


def _read_recording(case: Case, folder: Path) -> None:
    with refusals(ArgumentError):
        recording = read_recording(written(case, folder))
        drive(_cart_pole(), recording)


# -- texts -----------------------------------------------------------------------------------------------------------------


def _any_expression(chance: random.Random) -> Case:
    text = expressions(chance)
    if chance.random() < 0.3:
        text = mutate(text, chance)
    return Case(text.encode("utf-8", errors="surrogatepass"), ".txt")


VALUES = {"length": 0.5, "mass": -3.0, "number": 0.0, "t": 1.5, "i": 2.0, "count": 5.0}
DIMENSIONS = {"length": LENGTH, "mass": UNKNOWN, "number": BARE, "t": UNKNOWN, "i": BARE, "count": BARE}


def _read_expression(case: Case, folder: Path) -> None:
    """An expression is read, written and evaluated for numbers, arrays and symbols."""
    text = case.data.decode("utf-8", errors="surrogatepass")
    with refusals(ExpressionError):
        node = parse(text)
        again = parse(to_text(node))
        assert to_text(again) == to_text(node), f"{text!r} is written as {to_text(node)!r}"
        for meaning in (
            lambda: dimension_of(node, DIMENSIONS),
            lambda: evaluate(node, VALUES),
            lambda: evaluate(node, {name: np.array([x, 1.0]) for name, x in VALUES.items()}),
            lambda: evaluate(node, {name: ca.SX.sym(name) for name in VALUES}),
        ):
            with refusals(ExpressionError), np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                meaning()
        assert symbols(again) == symbols(node)


def _any_variation(chance: random.Random) -> Case:
    text = chance.choice(variations())
    return Case(mutate(text, chance).encode("utf-8", errors="surrogatepass"), ".txt")


def _read_variation(case: Case, folder: Path) -> None:
    text = case.data.decode("utf-8", errors="surrogatepass")
    with refusals(ArgumentError):
        cases({"mass": text, "length": "1:2:3 m"})
    with refusals(ArgumentError):
        cases({"mass": text}, "sobol:8")
    with refusals(ArgumentError):
        cases({"mass": "1:2"}, text)


# -- command lines ---------------------------------------------------------------------------------------------------------


def _any_command(chance: random.Random) -> Case:
    return Case(json.dumps({"arguments": commands(chance)}, ensure_ascii=False).encode(), ".json")


def _run_command(case: Case, folder: Path) -> None:
    given = json.loads(case.data)
    before = Path.cwd()
    with tempfile.TemporaryDirectory(dir=folder) as fresh:  # what earlier commands have written makes no difference
        prepare(given["arguments"], Path(fresh))
        os.chdir(fresh)
        try:
            run_words(given["arguments"], {"PLIANT_COMPILE": "never", **given.get("environment", {})})
        finally:
            os.chdir(before)


def prepare(words: Sequence[str], folder: Path) -> None:
    """The files that a command line names, and a finished sweep."""
    contents: dict[str, Callable[[], bytes]] = {
        "run.nc": lambda: results()[0],
        "data.csv": lambda: recordings()[0].encode(),
        "bad.yaml": lambda: b"bodies: {a: {mass: -1}}",
        "drawing.dxf": lambda: drawings()[0][1],
        "sleeve.iges": lambda: dict(drawings())[".iges"],
        "small.urdf": lambda: dict(robots())[".urdf"].encode(),
    }
    said = "\0".join(words)
    for name, content in contents.items():
        if name in said:
            (folder / name).write_bytes(content())
    if "swept" in words and words.index("swept") == 1:
        (folder / "swept").mkdir()
        for name, data in swept().items():
            (folder / "swept" / name).write_bytes(data)


# -- valid models ----------------------------------------------------------------------------------------------------------

SHARE = 0.25
"""Of the surfaces that not every model goes through."""


def _valid_model(chance: random.Random) -> Case:
    """A model, and what is done with it: both are in the case, so that a smaller model goes the same way."""
    model = valid_model(chance.getrandbits(32))
    names = [name for name in SURFACES if name in CHEAP or chance.random() < SHARE]
    return Case(json.dumps({"surfaces": names, "model": model.data}, indent=1).encode(), ".json")


def _use_model(case: Case, folder: Path) -> None:
    given = json.loads(case.data)
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        go_through(json.dumps(given["model"]), given["surfaces"], Path(fresh))


TARGETS = {
    target.name: target
    for target in (
        Target("models", _damaged_model, _check_model, pieces=(LINES, BYTES)),
        Target("robots", _damaged_robot, _check_model, pieces=(LINES, BYTES)),
        Target("analyses", _other_numbers, _analyse, seconds=20.0, pieces=(LINES,)),
        Target("expressions", _any_expression, _read_expression, pieces=(BYTES,)),
        Target("drawings", _damaged_drawing, _read_drawing, pieces=(LINES, BYTES)),
        Target("results", _damaged_result, _read_result),
        Target("fmus", _damaged_fmu, _read_fmu),
        Target("recordings", _damaged_recording, _read_recording, pieces=(LINES, BYTES)),
        Target("variations", _any_variation, _read_variation, pieces=(BYTES,)),
        Target("valid", _valid_model, _use_model, seconds=60.0, pieces=(ENTRIES, FIELDS)),
        Target("commands", _any_command, _run_command, pieces=(WORDS,)),
    )
}
"""All of them, by name."""
