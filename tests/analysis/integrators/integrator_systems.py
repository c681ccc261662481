"""Small systems with known behaviour, their equations, and runs of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pliant import load_text
from pliant.analysis.integrators import Method, make_run
from pliant.engine.binding import Binding
from pliant.engine.core import Core
from pliant.engine.model.model import compile_model
from pliant.engine.time_loop import TimeLoop
from pliant.robot import flatten

BAR = (
    "mass: 1, center_of_mass: [{half}, 0, 0], shape: {{type: slender_rod, length: {length}}}, "
    "frames: {{tip: {{position: [{length}, 0, 0]}}}}"
)

FOUR_BAR = "\n".join(
    [
        "world: {gravity: [0, -9.81, 0]}",
        "bodies:",
        *(f"  bar{i}: {{{BAR.format(half=x / 2, length=x)}}}" for i, x in ((1, 0.12), (2, 0.5), (3, 0.19))),
        "joints:",
        "  j1: {type: revolute, child: bar1, axis: z, position: [0.15, 0, 0], angle: {%s}}",
        "  j2: {type: revolute, parent: bar1.tip, child: bar2, axis: z, angle: {initial: 1.7}}",
        "  j3: {type: revolute, child: bar3, axis: z, position: [0, 0.4, 0], angle: {initial: 0.5}}",
        "constraints:",
        "  pin: {between: [bar2.tip, bar3.tip], components: [x, y], expressed_in: world}",
    ]
)

TEXTS = {
    "pendulum": """
bodies: {bob: {mass: 1, center_of_mass: [0.5, 0, 0], inertia: {principal: [0, 0.02, 0.02]}}}
joints: {hinge: {type: revolute, axis: y, child: bob, angle: {initial: 1.0, rate: 1.0}}}
""",
    "double_pendulum": """
bodies:
  upper: {mass: 1, center_of_mass: [0.5, 0, 0], inertia: {principal: [0, 0.05, 0.05]}}
  lower: {mass: 0.8, center_of_mass: [0.4, 0, 0], inertia: {principal: [0, 0.03, 0.03]}}
joints:
  shoulder: {type: revolute, axis: y, child: upper, angle: {initial: 0.2}}
  elbow: {type: revolute, axis: y, parent: upper, child: lower, position: [1, 0, 0], angle: {initial: -0.9}}
""",
    "tumbling": """
world: {gravity: [0, 0, 0]}
bodies: {block: {mass: 2, inertia: {principal: [0.1, 0.25, 0.3]}}}
joints: {base: {type: free, child: block, x: {rate: 0.3}, orientation: {rate: [0.5, 6, 0.4]}}}
""",
    "ball": """
bodies: {arm: {mass: 2, center_of_mass: [0.1, 0, -0.3], inertia: {principal: [0.1, 0.2, 0.25]}}}
joints: {socket: {type: spherical, child: arm, orientation: {rate: [1, 2, 5], damper: 0.3, spring: 2}}}
""",
    "driven": """
parameters: {u: {value: 0 N, input: true}}
inputs: {u: {sine: {amplitude: 10 N, frequency: 0.7 Hz}}}
bodies: {m: {mass: 1}}
joints:
  slide: {type: prismatic, axis: x, child: m, displacement: {initial: 0.2, spring: 30, damper: 0.8, input: =u}}
""",
    "stiff": """
parameters: {k: 1e6 N/m, c: 3e3 N*s/m, reach: 0.1 m, u: {value: 0 N, input: true}}
inputs: {u: {sine: {amplitude: =reach * k, frequency: 0.7 Hz}}}
bodies: {m: {mass: 1}, p: {mass: 1, center_of_mass: [0.4, 0, 0]}}
joints:
  slide: {type: prismatic, axis: x, child: m, displacement: {rate: 0.44, spring: =k, damper: =c, input: =u}}
  hinge: {type: revolute, parent: m, child: p, axis: y, angle: {initial: 1}}
""",
    "spring": """
parameters: {k: 1e4 N/m, c: 0 N*s/m}
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 1}}
joints: {slide: {type: prismatic, axis: x, child: m, displacement: {initial: 1, spring: =k, damper: =c}}}
""",
    "pushed": """
parameters: {u: {value: 0 N, input: true}}
inputs: {u: {step: {at: 0.35 s, before: 0 N, after: 3 N}}}
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 2}}
joints: {slide: {type: prismatic, axis: x, child: m, displacement: {input: =u}}}
""",
    "pushed_after": """
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 2}}
joints: {slide: {type: prismatic, axis: x, child: m, displacement: {input: "=if(t > 0.35 s, 3 N, 0 N)"}}}
""",
    "spike": """
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 2}}
joints: {slide: {type: prismatic, axis: x, child: m, displacement: {input: "=1 N*s^2/(0.35 s - t)^2"}}}
""",
    "held": """
parameters: {u: {value: 0 N, input: true}}
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 2}}
joints: {slide: {type: prismatic, axis: x, child: m, displacement: {input: =u}}}
""",
    "crank": """
parameters: {w: {value: 0, input: true}}
inputs: {w: {ramp: {start: 0.4 s, end: 1.2 s, before: 0, after: 1.6}}}
world: {gravity: [0, 0, 0]}
bodies: {rod: {mass: 1, center_of_mass: [1, 0, 0], inertia: {principal: [0, 0.1, 0.1]}}}
joints: {hinge: {type: revolute, axis: z, child: rod, angle: {motion: =w}}}
""",
    "jerked": """
parameters: {w: {value: 0, input: true}}
inputs: {w: {step: {at: 0.4 s, before: 0, after: 0.1}}}
bodies: {rod: {mass: 1, center_of_mass: [1, 0, 0], inertia: {principal: [0, 0.1, 0.1]}}}
joints: {hinge: {type: revolute, axis: z, child: rod, angle: {motion: =w}}}
""",
    "pulse": """
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 2}}
joints: {slide: {type: prismatic, axis: x, child: m, displacement: {input: "=3 N * exp(-((t - 5 s) / 0.2 s)^2)"}}}
""",
    "massless": """
bodies: {m: {mass: 1}, ghost: {}}
joints:
  slide: {type: prismatic, axis: x, child: m}
  hinge: {type: revolute, axis: x, parent: m, child: ghost}
""",
    # many nodes that know only their neighbours: sparse matrices in both loops
    "net": """
bodies:
  bead: {count: 27, mass: 0.1, inertia: {principal: [1e-4, 2e-4, 3e-4]}, frames: {side: {position: [0, 0, 0.02]}}}
joints:
  base:
    type: free
    child: bead
    x: {initial: "=0.1 m * i"}
    z: {initial: "=0.01 m * sin(i)"}
    orientation: {rate: [1, "=0.1*i", 2]}
links: {thread: {type: axial, count: 26, between: ["bead[i].side", "bead[i+1]"], spring: 1e4, damper: 1}}
constraints: {pin: {between: [world, "bead[1]"], components: [x, y, z], holds: as at start}}
""",
    # parts that vibrate on a body that flies and turns
    "flying": """
world: {gravity: [0, 0, 0]}
bodies: {hub: {mass: 3, shape: {type: box, size: [1, 1, 1]}}, m: {mass: 1}}
joints:
  base: {type: free, child: hub, x: {rate: 1000}}
  slide: {type: prismatic, parent: hub, child: m, axis: y, displacement: {initial: 0.02, spring: 3000}}
""",
    "turning": """
world: {gravity: [0, 0, 0]}
bodies:
  hub: {mass: 3, shape: {type: box, size: [1, 2, 3]}}
  m: {mass: 1, center_of_mass: [0, 0.2, 0], inertia: {principal: [0.1, 0.1, 0.1]}}
joints:
  base: {type: free, child: hub, x: {rate: 40}, orientation: {rate: [3, 2, 20]}}
  slide: {type: prismatic, parent: hub, child: m, axis: x, displacement: {initial: 0.02, spring: 3000}}
""",
    # compressed beyond the range of its law: long steps have no solution that Newton's method finds; without bends,
    # in which it would buckle from round-off
    "squeezed": """
world: {gravity: [0, 0, 0]}
materials: {gum: {density: 1000 kg/m^3, youngs_modulus: 100 kPa, poissons_ratio: 0.5}}
sections: {round: {shape: circle, radius: 1 cm}}
rods: {arm: {length: 10 cm, section: round, material: gum, law: neo_hookean, strains: stretch, model: {kind: pcs, elements: 2}}}
loads: {press: {frame: arm.tip, force: [0, 0, -20 N]}}
""",
    # an elastic rod that falls: tangents that change slowly
    "beam": """
materials: {gum: {density: 1000 kg/m^3, youngs_modulus: 10 MPa, poissons_ratio: 0.5}}
sections: {round: {shape: circle, radius: 1 cm}}
rods:
  arm:
    rotation: [{axis: y, angle: 90 deg}]
    length: 1 m
    section: round
    material: gum
    model: {kind: finite_element, elements: 8}
""",
    "four_bar": FOUR_BAR % "initial: 0.3",
    "driven_four_bar": FOUR_BAR % "motion: =0.3 + 0.5*sin(6*t), damper: 0.1",
    "overdriven": FOUR_BAR % "motion: =0.3 + 3*t",
    "top": """
bodies: {top: {mass: 15, inertia: {principal: [0.234375, 0.46875, 0.234375]}, frames: {foot: {position: [0, -1, 0]}}}}
joints:
  base: {type: free, child: top, y: {initial: 1}, x: {rate: 4.61538}, orientation: {rate: [0, 150, -4.61538]}}
constraints: {foot: {between: [world, top.foot], components: [x, y, z]}}
""",
}


@dataclass(frozen=True)
class Setup:
    """A system ready to run: its equations and its start on the constraints."""

    binding: Binding
    q: np.ndarray
    v: np.ndarray


@cache
def _model(text: str) -> Any:
    return compile_model(flatten(load_text("pliant: 1\n" + text)))


def setup(name: str, *, inputs: dict[str, Any] | None = None, **parameters: float) -> Setup:
    """The named system, with inputs and parameters changed."""
    model = _model(TEXTS[name])
    binding = Core.of(model).bind(inputs or {}, parameters)
    q, v = (np.asarray(x).ravel() for x in model.initial(binding.parameters))
    return Setup(binding, *binding.project(0.0, q, v))


def prepare(
    system: Setup, method: Method, until: float, *, samples: Any = None, stops: tuple[float, ...] = ()
) -> TimeLoop:
    """A run from 0 to `until`, configured but not started."""
    run = make_run(system.binding, method)
    run.configure(
        t=0.0, q=system.q, v=system.v, stops=np.array([*stops, until]),
        samples=np.array([until] if samples is None else samples), step=method.step, fixed=method.fixed,
        rtol=method.relative_tolerance, atol=method.absolute_tolerance, max_step=method.largest_step(until),
    )  # fmt: skip
    return run


def complete(system: Setup, method: Method, until: float, **options: Any) -> TimeLoop:
    """A run from 0 to `until` that must succeed."""
    run = prepare(system, method, until, **options)
    assert run.start() == 0
    assert run.advance(10**7) == 0
    assert run.t == until
    return run
