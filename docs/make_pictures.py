"""Make all pictures of the documentation again: python docs/make_pictures.py [NAME ...]"""

from __future__ import annotations

import sys
from pathlib import Path

import pliant
from pliant.view.sketch import save

FOLDER = Path(__file__).parent / "pictures"

AT_REST: dict[str, dict[str, dict[str, float]]] = {
    "stiff_flop": {"inputs": {"p1": 60e3}},
    "leg": {"parameters": {"tendon_rest": 0.4, "start1": -0.53, "start3": -0.33, "bend": -2.19}},
    "leaf_spring": {"parameters": {"end_distance": 0.407922}},
    "cantilever": {"parameters": {"tip_force": 0.2}},
    "timoshenko_cantilever": {},
    "trunk": {"inputs": {"near1": 14.0, "far1": 4.0, "far2": 3.0}},
}
"""Robots that are drawn in equilibrium, with these inputs and parameters (SI units); all others at their start."""


def main(names: list[str]) -> None:
    """Draw the named robots, or all bundled ones."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or [robot.name for robot in pliant.bundled_robots()]:
        eqs = pliant.derive(name)
        given = AT_REST.get(name)
        pose = None if given is None else pliant.equilibrium(eqs, **given)
        target = FOLDER / f"{name}.png"
        save(pliant.sketch(eqs, pose, parameters=(given or {}).get("parameters")), target)
        print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
