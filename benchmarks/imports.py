"""Imported robots compared with Pinocchio (URDF) and MuJoCo (MJCF): mass matrix, bias, accelerations and poses of all links.

    python benchmarks/imports.py                      a table
    python benchmarks/imports.py --json               one JSON object, and the table on standard error as it grows
    python benchmarks/imports.py --folder ~/robots    further folders with .urdf and .xml files, besides installed packages

Robots are those of installed packages (example-robot-data, pybullet_data, gymnasium, MuJoCo) and of the folders given, and those
in tests/foreign/robots, which were written by hand to have every feature. Each is compared in ten random states within the
ranges of its joints. The error is the largest difference of a quantity over its largest entry; accelerations are compared by
`M a`, since a robot of light and heavy links has accelerations of very different size. Robots that cannot be read are listed
with their first error.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "foreign"))

from beside_mujoco import mujoco_error
from beside_pinocchio import pinocchio_error

from pliant import SpecError

OWN = Path(__file__).parents[1] / "tests" / "foreign" / "robots"
PACKAGES = ("example_robot_data", "pybullet_data", "gymnasium.envs.mujoco", "mujoco")
TOLERANCE = 1e-10
MJCF = re.compile(rb"<mujoco[\s>]")
"""How a robot in MJCF begins; files that others include begin otherwise."""


def folders(given: list[str]) -> Iterator[Path]:
    """Folders that are searched for robots."""
    yield OWN
    yield from map(Path, given)
    for package in PACKAGES:
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(package)
            yield from map(Path, spec.submodule_search_locations or () if spec else ())


def robots(given: list[str]) -> list[tuple[Path, Path]]:
    """Files of robots with the folders they were found in: one of each name, without the random objects of pybullet_data."""
    found: dict[str, tuple[Path, Path]] = {}
    for folder in folders(given):
        for file in sorted(folder.rglob("*")):
            is_robot = file.suffix == ".urdf" or (file.suffix == ".xml" and MJCF.search(file.read_bytes()[:4096]))
            if is_robot and "random_urdfs" not in file.parts:
                found.setdefault(f"{file.parent.name}/{file.name}", (file, folder))
    return list(found.values())


def row(file: Path, folder: Path) -> dict[str, Any]:
    """One robot: whether it was read, and its largest error. folder: where its other files may be."""
    source = "Pinocchio" if file.suffix == ".urdf" else "MuJoCo"
    found = {"robot": f"{file.parent.name}/{file.name}", "source": source}
    try:
        if source == "Pinocchio":
            error, bodies, rates = pinocchio_error(file)
        else:
            error, bodies, rates = mujoco_error(file, folders=[folder])
    except SpecError as fault:
        return {**found, "ok": False, "largest_error": None, "fault": str(fault.faults[0])}
    except Exception as fault:  # the other library refuses it
        return {
            **found,
            "ok": False,
            "largest_error": None,
            "fault": f"{source}: {type(fault).__name__}: {fault}"[:200],
        }
    return {**found, "ok": error < TOLERANCE, "largest_error": error, "bodies": bodies, "rates": rates}


def main() -> None:
    """Compare all robots and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", action="append", default=[], help="A folder with robots.")
    parser.add_argument("--json", action="store_true", help="Print one JSON object.")
    options = parser.parse_args()
    os.environ.setdefault("PLIANT_COMPILE", "never")  # a hundred robots, ten evaluations each
    rows = []
    for file, folder in robots(options.folder):
        one = row(file, folder)
        rows.append(one)
        error = "-" if one["largest_error"] is None else f"{one['largest_error']:.1e}"
        said = one.get("fault", f"{one.get('bodies', '')} bodies, {one.get('rates', '')} rates")
        line = f"{one['robot']:<50} {one['source']:<10} {'ok' if one['ok'] else '--'} {error:>8}  {said}"
        print(line, file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        print(json.dumps({"rows": rows}))
        return
    compared = [one for one in rows if one["largest_error"] is not None]
    print(
        f"{sum(one['ok'] for one in rows)} of {len(compared)} compared agree; {len(rows) - len(compared)} were refused"
    )


if __name__ == "__main__":
    main()
