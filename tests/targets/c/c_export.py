"""Robots to export, and helpers for exported C: compile, run, compare with the engine here.

Robots without a name are all called `robot` in C, so that their runtimes are the same files, compiled once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

from pliant.analysis.derivation.derive import derive
from pliant.analysis.simulate import simulate
from pliant.engine.equations import Equations
from pliant.io.c_text import robot_identifier
from pliant.io.export_c import METHODS
from pliant.robot import load_text
from pliant.targets.c import export_c

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
WARNINGS: tuple[str, ...] = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
compiler = "gcc"
"""Another one, for `tools/many_robots.py`: tcc compiles a robot in a hundredth of the time."""
STEP = 1e-3

store: Path | None = None
"""Where object files are kept while the tests run (`conftest.py`)."""

FOUR_BAR = """
pliant: 1
world: {gravity: [0, -9.81, 0]}
parameters: {crank: 0.12, rocker: 0.19, mass: 1}
bodies:
  bar1: {mass: =mass, center_of_mass: [=crank/2, 0, 0], shape: {type: slender_rod, length: =crank},
         frames: {tip: {position: [=crank, 0, 0]}}}
  bar2: {mass: 1, center_of_mass: [0.25, 0, 0], shape: {type: slender_rod, length: 0.5},
         frames: {tip: {position: [0.5, 0, 0]}}}
  bar3: {mass: 1, center_of_mass: [=rocker/2, 0, 0], shape: {type: slender_rod, length: =rocker},
         frames: {tip: {position: [=rocker, 0, 0]}}}
joints:
  j1: {type: revolute, child: bar1, axis: z, position: [0.15, 0, 0], angle: {name: q1}}
  j2: {type: revolute, parent: bar1.tip, child: bar2, axis: z, angle: {name: q2, initial: 1.776960}}
  j3: {type: revolute, child: bar3, axis: z, position: [0, 0.4, 0], angle: {name: q3, initial: 0.489957}}
constraints:
  pin: {between: [bar2.tip, bar3.tip], components: [x, y, z], expressed_in: world}
"""

FLIER = """
pliant: 1
name: flier
parameters:
  mass: 2 kg
  length: 0.5 m
  stiffness: 100 N/m
  switch: 0.05 s
  torque: {value: 0 N*m, input: true}
  pull: {value: 0 N, input: true}
  wind: {value: 0 N, input: true}
  lift: {value: =stiffness*length/10, input: true}
bodies:
  base: {mass: =mass, inertia: {principal: [0.1, 0.2, 0.15]}, frames: {hook: {position: [=length, 0, 0]}}}
  arm: {mass: 1 kg, center_of_mass: [0.2, 0, 0], inertia: {principal: [0.01, 0.02, 0.02]},
        frames: {tip: {position: [0.4, 0, 0], rotation: {axis: y, angle: 130 deg}}}}
joints:
  fly: {type: free, child: base, z: {initial: -0.9 m}, orientation: {rate: [0.3, -0.2, 0.5]}}
  elbow: {type: revolute, parent: base.hook, child: arm, axis: y, angle: {input: =torque, damper: "=0.05 N*m*s * (1 + angle^2)"}}
links:
  rope: {type: axial, between: [world, base.hook], spring: {coefficient: =stiffness, rest: 1 m}, damper: 1,
         direction: tension, input: =pull, smoothing: 1 mm}
loads:
  gust: {frame: arm.tip, force: [=wind, 0, =lift]}
inputs:
  torque: {step: {at: =switch, before: 0.3 N*m, after: -0.2 N*m}}
  pull: =2 N * sin(3 * t / 1 s)
  wind: {series: {file: wind.csv, column: w, interpolation: previous}}
"""
WIND = "t,w\n0,0\n0.02,1\n0.07,-1\n0.3,0\n"

CHAIN = """
pliant: 1
parameters: {count_of_links: 12, mass: 0.1, stiffness: 2}
bodies:
  link: {count: =count_of_links, mass: =mass*(1 + i/10), center_of_mass: [0.05, 0, 0],
         inertia: {principal: [1e-4, 2e-4, 3e-4]}, frames: {tip: {position: [0.1, 0, 0]}}}
joints:
  hinge: {type: universal, parent: "link[i-1].tip", first_parent: world, child: link, axis1: y, axis2: z,
          angle1: {initial: 0.1, spring: =stiffness, damper: 0.01}, angle2: {spring: "=stiffness*(1 + angle1^2)", damper: 0.01}}
tendons:
  rope: {type: elastic, through: [{frame: world, position: [0, 0, 0.3]}, "link[3].tip", "link[9]"], stiffness: 50, damper: 1,
         shortening: =10 cm * sin(3*t), friction: 0.2, slip_speed: 5 cm/s}
  wire: {type: tension, through: ["link[2]", "link[5].tip", "link[8].tip"], tension: 0.5}
constraints:
  anchor: {between: ["link[12].tip", world], components: [y], expressed_in: world}
"""

NET = """
pliant: 1
parameters: {stiffness: 300}
bodies: {knot: {count: 40, mass: 0.02}}
joints: {pole: {type: prismatic, child: knot, axis: z, position: ["=0.1*i", 0, 0], displacement: {initial: "=0.01*i"}}}
links:
  along: {count: 39, type: axial, between: ["knot[i]", "knot[i+1]"], spring: {coefficient: =stiffness, rest: 0.09}}
  across: {count: 33, type: axial, between: ["knot[i]", "knot[i+7]"], spring: {coefficient: =stiffness, rest: 0.69}}
constraints: {hold: {between: [world, "knot[40]"], components: [z], holds: as at start}}
"""


TOUCHING = """
pliant: 1
parameters: {mass: 0.5 kg, stiffness: 300 N/m, grip: 0.4}
sections: {strip: {shape: rectangle, width: 3 cm, height: 5 mm}}
materials: {felt: {density: 300 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.3}}
bodies:
  tray: {mass: =mass, shape: {type: box, size: [50 cm, 50 cm, 4 cm]}}
  ball: {mass: 100 g, shape: {type: sphere, radius: 3 cm}}
joints:
  swing: {type: revolute, child: tray, axis: [1, 2, 0], angle: {spring: 20, damper: 0.1, rate: 1}}
  flight: {type: free, child: ball, x: {initial: 15 cm, rate: -0.5}, z: {initial: 4.9 cm}, orientation: {rate: [3, -2, 5]}}
meshes:
  net: {type: membrane, drawing: {rectangle: [30 cm, 20 cm], cells: [3, 2]}, position: [-15 cm, -10 cm, 2.2 cm], mass: 60 g,
        stiffness: 20 N, damping_time: 5 ms, fading: 0.01}
  cloth: {type: shell, drawing: {rectangle: [10 cm, 10 cm], cells: [2, 1]}, position: [-5 cm, 20 cm, 3 cm], section: strip,
          material: felt, damping_time: 2 ms, sets: {rim: {plane: x}}, held: {rim: tray}}
surfaces:
  deck: {type: plane, parent: tray, position: [0, 0, 2 cm]}
  knob: {type: capsule, position: [0, 30 cm, 1.2 cm], axis: x, radius: 2 cm, length: 20 cm}
contacts:
  floor: {between: [[net, ball], deck], stiffness: =stiffness, dissipation: 2 s/m, friction: =grip}
  bump: {between: [knob, [cloth, net]], stiffness: =stiffness, restitution: 0.4, friction: {along: 0.2, at_rest: 1.5}}
outputs:
  push: {contact: floor}
  rub: {contact: floor, quantity: friction_force, of: [ball, deck]}
  press: {contact: bump, quantity: normal_force}
  gap: {contact: floor, quantity: gap, of: [ball, deck]}
  many: {contact: floor, quantity: count}
  stored: {energy: elastic, part: floor}
"""

# compressed beyond the range of its law: long steps have no solution that Newton's method finds; without bends,
# in which it would buckle from round-off
SQUEEZED = """
pliant: 1
world: {gravity: [0, 0, 0]}
materials: {gum: {density: 1000 kg/m^3, youngs_modulus: 100 kPa, poissons_ratio: 0.5}}
sections: {round: {shape: circle, radius: 1 cm}}
rods: {arm: {length: 10 cm, section: round, material: gum, law: neo_hookean, strains: stretch, model: {kind: pcs, elements: 2}}}
loads: {press: {frame: arm.tip, force: [0, 0, -20 N]}}
"""


@dataclass(frozen=True)
class Export:
    """A robot, its export, and the name its C has."""

    equations: Equations
    folder: Path
    name: str
    optimize: str = "-O0"

    @cached_property
    def objects(self) -> list[Path]:
        """The library, compiled; the robot's own files as `optimize` says, the runtime without optimizing."""
        return [*compiled(self.folder, self.optimize), *compiled(self.folder / "runtime", "-O0")]

    def build(self, source: Path | None = None, *flags: str) -> Path:
        """A program of the library and a file, by default the export's own main."""
        program = self.folder / f"program_{len(list(self.folder.glob('program_*')))}"
        file = source or self.folder / "main.c"
        gcc(*WARNINGS, *flags, f"-I{self.folder}", "-o", program, file, *self.objects, "-lm")
        return program

    def write(self, text: str) -> Path:
        """A C file that uses the robot; `robot_` in it is replaced by the robot's prefix."""
        text = text.replace("robot_.h", f"{self.name}.h")
        text = text.replace("ROBOT_", f"{self.name.upper()}_").replace("robot_", f"{self.name}_")
        place = self.folder / "tests"
        place.mkdir(exist_ok=True)
        path = place / f"extra_{len(list(place.iterdir()))}.c"
        path.write_text(text, encoding="utf-8")
        return path


def compiled(folder: Path, optimize: str) -> list[Path]:
    """Object files of a folder's sources, each compiled once by all processes of the tests: they are kept by their content."""
    assert store is not None
    sources = sorted(file for file in folder.glob("*.c") if file.name != "main.c")
    seen = [compiler, *WARNINGS, optimize, *(file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.h")))]
    objects = {file: store / _key([*seen, file.read_text(encoding="utf-8")]) for file in sources}
    missing = [file for file in sources if not objects[file].exists()]
    if missing:
        with tempfile.TemporaryDirectory(dir=store) as place:
            gcc(*WARNINGS, optimize, "-c", *missing, cwd=Path(place))
            for file in missing:
                os.replace(Path(place, f"{file.stem}.o"), objects[file])
    return list(objects.values())


def _key(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24] + ".o"


def gcc(*arguments: str | Path, cwd: Path | None = None) -> None:
    """Run the compiler, which must not print anything."""
    done = subprocess.run([compiler, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


def numbers(program: Path, *arguments: str) -> np.ndarray:
    """The table of numbers that a program prints."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    return np.array([[float(x) for x in row] for row in rows])


def exported(
    text: str, folder: Path, method: str = "semi_implicit", optimize: str = "-O0", step: float = STEP
) -> Export:
    """A robot from text, exported into a folder."""
    spec = load_text(text, folder=folder.parent)
    equations = derive(spec if spec.name else spec.replace(name="robot"))
    export_c(equations, folder, method=method, step=step)
    return Export(equations, folder, robot_identifier(equations.model.spec.title), optimize)


def reference(
    export: Export, times: np.ndarray, method: str = "semi_implicit", step: float = STEP, **options: object
) -> np.ndarray:
    """The same motion by the engine here, at equal intervals: rows of t, q, kinetic and potential energy."""
    end = round(float(times[-1]), 9)
    every = end / (len(times) - 1)
    run = simulate(export.equations, end, method=METHODS[method](step=step), save_every=every, **options)  # type: ignore[arg-type]
    assert run.status == "completed", run.message
    energy = run.energy
    return np.column_stack([run.time, run.q, energy["kinetic"], energy["potential"]])
