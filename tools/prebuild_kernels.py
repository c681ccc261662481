"""Compile the kernels that are distributed with the package into `src/pliant/engine/binary/kernels`.

For release wheels (`make wheel`) those of all bundled robots, and of their rods in every rod model with its defaults, for every
level of the instruction set that kernels are compiled for. With `--bundled` (`make install`) those of the bundled robots as they
are, for this processor alone, which takes seconds. File names contain the hash of the source, so an outdated kernel is
never loaded; this program removes it.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from pliant.analysis.derivation.derive import derive
from pliant.engine import compiling
from pliant.engine.compiling import Source
from pliant.engine.kernel import Kernels
from pliant.engine.libraries import (
    PREBUILT_KERNELS,
    KernelNote,
    kernel_library_source,
    made_note,
    note_name,
    processor_level,
    write_note,
)
from pliant.engine.tables import build_tables
from pliant.language.arguments import ArgumentError
from pliant.language.faults import SpecError
from pliant.parts.rod.pcs import Pcs
from pliant.robot.reader import bundled_robots, load
from pliant.robot.robot import RobotSpec
from pliant.robot.rod_switch import KINDS, with_rod_model

STRAINS = [("planar",), ("planar", "unshearable"), ("planar", "kirchhoff"), ("unshearable",), ("kirchhoff",)]
"""Common sets of free strains."""


def robots() -> Iterator[RobotSpec]:
    """Bundled robots, and those with every other model of all their rods; a rod with common sets of free strains."""
    cantilever = load("cantilever")
    for words in STRAINS:
        rod = cantilever.rods["rod"].model_copy(update={"strains": words, "model": Pcs()})
        yield cantilever.replace(rods={"rod": rod})
    for robot in bundled_robots():
        spec = load(robot.name)
        yield spec
        for kind in KINDS if spec.rods else ():
            changed = spec
            try:
                for rod in spec.rods:
                    changed = with_rod_model(changed, rod, kind)
            except (ArgumentError, SpecError, ValueError):
                continue
            yield changed


def kernels(specs: Iterable[RobotSpec]) -> Iterator[Kernels]:
    """Kernels of robots."""
    for spec in specs:
        try:
            model = derive(spec).model
        except (ArgumentError, SpecError, ValueError):
            continue  # a rod model that this robot's rods cannot have
        yield from build_tables(model.system, model.plan).libraries


def main() -> None:
    """Update the folder and print its contents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundled", action="store_true", help="the bundled robots as they are, for this processor")
    bundled = parser.parse_args().bundled
    start = time.perf_counter()
    compiler = compiling.find_compiler()
    if compiler is None:
        raise SystemExit("prebuilding kernels needs a C compiler")
    wanted: dict[str, Source] = {}
    notes: dict[str, tuple[Kernels, KernelNote]] = {}
    specs = (load(robot.name) for robot in bundled_robots()) if bundled else robots()
    for kind in kernels(specs):
        for level in (processor_level(),) if bundled else compiling.levels():
            source = kernel_library_source(kind, level)
            wanted[source.file_name()] = source
            if name := note_name(kind):
                notes[name] = kind, made_note(kind, source)
    PREBUILT_KERNELS.mkdir(parents=True, exist_ok=True)
    kept = {name.removesuffix(compiling.SUFFIX) for name in wanted}
    for file in PREBUILT_KERNELS.iterdir():
        if file.is_file() and file.stem not in kept and file.name not in notes:
            file.unlink()
    for known, note in notes.values():
        write_note(known, note, PREBUILT_KERNELS)
    # the longest first, for load balancing
    order = sorted(wanted.items(), key=lambda item: -sum(map(len, item[1].files.values())))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda item: compiling.build(compiler, item[1], PREBUILT_KERNELS / item[0]), order))
    size = sum((PREBUILT_KERNELS / name).stat().st_size for name in wanted)
    print(f"{len(wanted)} libraries of kernels, {size / 1e6:.1f} MB, in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
