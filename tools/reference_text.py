"""Prose and further examples of the language reference."""

from __future__ import annotations

INTRODUCTION = """\
# The model language, version 1

<!-- Written by `python tools/make_reference.py`; change the schema in src/pliant instead of this page. -->

A robot is a YAML file. A complete example:

```yaml
pliant: 1
bodies:
  rod:
    mass: 200 g
    center_of_mass: [0, 0, -25 cm]
    shape: {{type: slender_rod, length: 50 cm, axis: z}}
joints:
  hinge: {{type: revolute, child: rod, axis: y, angle: {{initial: 30 deg}}}}
```

`pliant check FILE` lists all errors in it, `pliant show FILE` shows it as tables. `pliant
schema` prints a JSON Schema that editors use for completion. The same keys, names and defaults build a
robot in Python, with parts or with plain mappings, and `pliant.dump` writes it back as text:

```python
import pliant
from pliant.parts import AngleCoordinate, Body, Revolute, SlenderRod

robot = pliant.RobotSpec(
    bodies={{"rod": Body(mass="200 g", center_of_mass=(0, 0, "-25 cm"), shape=SlenderRod(length="50 cm", axis="z"))}},
    joints={{"hinge": Revolute(child="rod", axis="y", angle=AngleCoordinate(initial="30 deg"))}},
)
print(pliant.dump(robot))
```

## Values

A value is written in one of four ways:

| written | meaning |
|---|---|
| `0.05` | a number in SI units (radians for angles) |
| `50 mm` | a number with a unit |
| `=length/2 + 5 mm` | an expression of parameters |
| `{{each: [1 kg, 2 kg]}}` | one value per instance, in repeated parts |

Every field has a dimension, and a value of another dimension is a fault: a mass cannot be `50 mm`. A
number without a unit is accepted by any field. Angles have no dimension: `30 deg` is the number 0.5236.

**Units.** These take the prefixes `n`, `u`, `m`, `c`, `d`, `k`, `M`, `G`: {prefixed}. These take no
prefix: {alone}. Units are joined by `*`, `/` or a space and have exponents: `N*m/rad`, `kg m^2`,
`m/s^2`.

**Expressions** begin with `=`. They have numbers with or without units, parameters, `+ - * / ^`,
comparisons, brackets, `pi`, `e` and the functions {functions}; `if(condition, a, b)` selects, `step(x)`
is 0 below zero and 1 from zero on. In an expression, a unit is written without spaces (`2 N*m`), so
that `2 N * m` multiplies by a parameter `m`. Expressions can only do arithmetic: a model
file cannot run code.

**Values that vary in time** (inputs, motions, loads, prescribed values of constraints) may also use the
time `t` in seconds and parameters marked as input.

**Coefficients that depend on the state.** Coefficients of springs and dampers on joint coordinates may use the plain
coordinates of their joint by key (`angle`, `x`, `rz`), those of axial links their `length`, `stretch`
and `strain`, those of beam links their six deformations from rest, and `stiffness_factors` of rods the six strains:
`spring: "=k0*(1 + (angle/1 rad)^2)"`. The force is as written, `-k(x) (x - rest)`, with exact derivatives. A spring
stores the integral of its force from rest, with all other coordinates fixed (eight Gauss points: exact for polynomials
up to degree 14); energy added by a coefficient that depends on other coordinates counts as supplied.
A parameter of the same name takes precedence. Units are checked as everywhere: `=5 N/m * (1 + strain^2)`, and a length is
divided by a length.

## Names and references

A name has letters, digits and underscores, begins with a letter, and is not `world`. Names of parameters and outputs, which
expressions use, are none of {reserved} or the functions either. Parts are referred to by name. A frame is
`world`, `body` (the body's own frame), `body.frame`, `link[2].tip` (of an instance of a repeated body) or `left/bar.tip`
(in a model attached as `left`).
"""

PROSE = {
    "Joints": """\
A joint connects its child body to a frame of its parent. Every body is the child of exactly one joint, so
joints form a tree rooted at the world; loops are closed by constraints. A joint is placed at
`position` and `rotation` in the parent frame.""",
    "Coordinates": """\
Each free motion of a joint is a coordinate with a name. The coordinate of a joint with one coordinate has the
joint's name, those of others are called `joint.x` and so on; `name` overrides that. A coordinate can have an
initial value, a spring, a damper and an input, act on one side only, be tied to another coordinate, or
follow a prescribed motion.""",
    "Placement": """\
Joints, frames of bodies, ends of links and attached models are placed in another frame: moved by
`position`, then turned by `rotation`. A rotation is written in one of four ways, or as a list of
rotations applied in turn.""",
    "Shapes": """\
A shape gives a body the inertia of a uniform solid, and with a material its mass. It is centred at the
centre of mass.""",
    "Sections": """\
Cross-sections by name, for reuse.""",
    "Included files": """\
`include` lists files to read first. This file adds to their content and takes precedence:
mappings are merged key by key, anything else is replaced (also a rod's model by one of another
type), and `null` removes a key. A bare value of a parameter, spring or damper is merged as the corresponding mapping,
so a parameter with a new value is still an input and keeps its bounds. Files are searched
in the folder of the model and below; other folders must be allowed on the command line (`--folder`)
or in Python (`folders`).""",
    "Defaults": """\
`defaults` gives values for all entries of {collections}: for all joints,
or for those of one type. A default applies if the type of the entry has such a key, and is overridden by the entry's own value.""",
    "Variants": """\
A variant is a set of changes to the model, merged over it by the same rules as includes. It is selected
by `pliant run FILE@heavy`, by `--variant heavy`, or by `pliant.load(FILE, variant="heavy")`.""",
    "Repeated parts": """\
A part with `count` is repeated: its instances are `link[1]`, `link[2]` and so on. All named parts can be repeated, from parameters
to attached models and outputs, and so can frames of bodies and rods (`plate.hole[3]`) and chambers. Values may use `i` (1, 2, ...)
and `count`, or list one value per instance with `each`; references may use them in their index (`leg[i].tip`), as may
expressions of repeated parameters and outputs (`=pull[i]`). An index may be any expression of constant parameters. In YAML, text
with `[` needs quotes inside `{{ }}` and `[ ]`.

* A joint whose child is repeated is repeated with it, and so are coordinates: `hinge[1]`. The `parent` of a joint or a
  rod may be the previous instance (`link[i-1].tip`), with `first_parent` for the first.
* `around: z` distributes instances evenly around an axis of the frame that they are placed in, and `mirror: y` makes
  every second one the mirror image of the previous one ([Placement](#placement)). With both, pairs are distributed
  around the axis.
* Bodies `along` a rod are placed at equal distances, the last one at its tip, or `at` an arc length that depends on
  `i`.
* An entry of `inputs` drives all instances of its parameter, and may use `i`; `pull[2]` drives one of them.
* In a list, the name of a repeated part refers to all instances: `between: [finger, ball]`. So does an entry that
  refers to it: `through: [motor, disc.hole]` is a line through all discs, `input_weights: [{{input: pull, weight: 1}}]`
  weighs each input.""",
    "Attached models": """\
A model that is used by several others is a separate file, or a bundled robot; one that is used several times in a
single model may be part of that model, under `models`: it has the keys of a model file, except `pliant`.""",
    "Tendons": """\
A tendon is a line under tension. It is straight between its points, slides through all but the first and last of
them, and without `friction` has the same tension along its entire length. Along a rod it passes eyelets: with many of
them it follows the rod, with few it cuts corners like real lines between discs. A tendon bends a rod towards its side,
and a helical one twists it against the sense of the helix.

With `friction` the tension falls over every point between the ends, in the direction in which the line slides there,
by the factor `exp(-friction * turn)` (the capstan equation), the turn being the angle between the spans before and after the
point [rad]. The line is fixed at its last point: at each point it slides towards the first by the shortening of the part beyond it,
and an elastic line also by the stretch of that part. A given tension is that at the first point; the law of an
elastic tendon gives the mean along the line. At rest friction is undetermined and is selected by `at_rest`; equilibria
without it carry a warning. Energy lost to friction is `dissipated`.""",
    "Points of a tendon": """\
The list `through` contains frames, given by name or with an offset, and stretches along rods, which are distinguished
by `offset` (straight), `radius` (around the axis) or `points`. Eyelets move with the rod's sections in every
rod model.""",
    "Surfaces": """\
Surfaces of the ground, of tools, and of bodies whose contact geometry differs from their `shape`. They have no mass,
and only take part in contacts listed in `contacts`, which refer to surfaces, bodies, rods and meshes by name.

Boxes, hulls and closed meshes are solids: objects inside are pushed out along the shortest path. Their edges are
slightly rounded, without changing their size, so that contacts between corners have a direction. Meshes come from STL,
OBJ or PLY files, such as `rock: {{type: mesh, file: rock.stl, unit: mm}}`; a mesh that is not closed is an error, which
reports the number of open edges, unless it is a sheet (`closed: false`).""",
    "Contacts": """\
A contact lists parts that can touch: bodies with a `shape`, rods, meshes and surfaces. Contact points are detected
automatically, including edges, corners and tips. If several contacts list the same pair, the last one applies. At rest
`depth = weight / stiffness`. Energy lost to dissipation and friction is `dissipated`.""",
    "Outputs": """\
Quantities that analyses record, by name.""",
    "Controllers": """\
A simulation calls each controller at its sample times and keeps its commands constant until the next ones take effect;
in between the robot is integrated as accurately as without it. Commands of a controller replace the entry of the same
input parameter in `inputs`. Controllers written in Python are passed to `simulate` instead.""",
    "Inputs": """\
An input parameter without an entry here keeps its value.""",
    "Analyses": """\
A list: each entry is one analysis with its options, which have the same names in Python and on the command line.""",
}

EXPORTS = """\
# Exports

<!-- Written by `python tools/make_reference.py`; change the classes in src/pliant/targets instead of this page. -->

`pliant export MODEL` writes a robot in one of these formats; the same functions are in Python:

@targets@

```console
$ pliant export four_bar --mjcf four_bar.xml
3 degrees of freedom in four_bar.xml
* bar1, bar2, bar3: moments of inertia below 2e-15 kg*m^2 are raised to it: MuJoCo has no point masses
```

```console
$ pliant export cart_pole --c controller_in_c --method semi_implicit --step 0.001
... files in controller_in_c; README.txt there explains how to build them
```

```python
import pliant

done = pliant.export_mjcf(pliant.derive("trunk"), "trunk.xml", links=20)
print(done.rods)  # errors of the chains of links relative to the rods
for remark in done.remarks:  # approximated or omitted features
    print(remark)

eqs = pliant.derive("cart_pole")
done = pliant.export_c(eqs, "cart_pole_in_c", method="semi_implicit", step=1e-3)
assert any(file.name == "README.txt" for file in done.files)
pliant.export_fmu(eqs, "cart_pole.fmu", step=1e-3)
```

Every function returns an `Export`: its `path`, the `files` that were written, and `remarks`, one sentence for everything that is
approximated or omitted. Remarks that concern accuracy (C, FMUs) are also Python warnings. With `--json` the command prints
`target`, `path`, `options`, `files` and `remarks`, and by target: `kinds` (the interfaces of an FMU), `frames` (poses of a glTF
scene), `rods` (MJCF and URDF: null, or `links` by rod, `frequencies` and `frequencies_with_links` [Hz], `about` (equilibrium or
start),
`frequency_error` [-], `distance_at_rest` [m]).
"""
"""The page of exports above its sections."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "Sections": (
        """\
pliant: 1
sections:
  hose: {shape: annulus, outer_radius: 12 mm, inner_radius: 8 mm}
  wire: {shape: circle, radius: 1 mm}
  leaf: {shape: rectangle, width: 77 mm, height: 1.2 mm}
bodies:
  plug: {mass: 10 g}
joints:
  fix: {type: weld, child: plug}
""",
    ),
    "Shapes": (
        """\
pliant: 1
materials:
  steel: {density: 7850 kg/m^3}
defaults:
  bodies: {material: steel}
bodies:
  shaft: {shape: {type: cylinder, radius: 1 cm, length: 20 cm, axis: z}}
  pipe: {shape: {type: tube, outer_radius: 2 cm, inner_radius: 18 mm, length: 20 cm, axis: x}}
  brick: {shape: {type: box, size: [20 cm, 10 cm, 5 cm]}}
  ball: {shape: {type: sphere, radius: 3 cm}}
  needle: {mass: 1 g, shape: {type: slender_rod, length: 10 cm, axis: y}}
joints:
  a: {type: free, child: shaft}
  b: {type: free, child: pipe}
  c: {type: free, child: brick}
  d: {type: free, child: ball}
  e_joint: {type: free, child: needle}
""",
    ),
    "Placement": (
        """\
pliant: 1
bodies:
  hub:
    mass: 1 kg
    frames:
      a: {position: [10 cm, 0, 0], rotation: {axis: z, angle: 30 deg}}
      b: {rotation: {axis: [1, 1, 0], angle: 30 deg}}
      c: {rotation: {vector: [0, 0, 0.5]}}
      d: {rotation: {quaternion: [1, 0, 0, 1]}}
      f: {rotation: {euler: [10 deg, 20 deg, 30 deg], order: zyx}}
      g: {rotation: [{axis: z, angle: 90 deg}, {axis: x, angle: 45 deg}]}
joints:
  base: {type: weld, child: hub, position: [0, 0, 1 m], rotation: {axis: x, angle: 180 deg}}
links:
  stay:
    type: axial
    between: [world, {frame: hub.a, position: [0, 0, 2 cm]}]
    spring: 1 kN/m
""",
    ),
    "Transforms of a chain": (
        """\
pliant: 1
bodies:
  hand: {mass: 1 kg, shape: {type: sphere, radius: 5 cm}}
joints:
  arm:
    type: chain
    child: hand
    transforms:
      - rotate: {axis: z, angle: free}                     # arm.rz
      - translate: [0.2 m, 0, {initial: 5 cm}]             # arm.z
      - rotate: {vector: [free, free, {damper: 0.1}]}      # arm.rx, arm.ry, arm.rz_2
      - translate: [0, 0, 0.1 m]
      - rotate: {quaternion: {initial: {axis: x, angle: 5 deg}}}   # arm.orientation
      - rotate: {quaternion_vector: [0, 0, 0.1]}
      - rotate: {axis_angle: {axis: [1, 1, 1], angle: 120 deg}}
""",
    ),
    "Coordinates": (
        """\
pliant: 1
bodies:
  crank: {mass: 1 kg, shape: {type: cylinder, radius: 5 cm, length: 2 cm}}
  gear: {mass: 1 kg, shape: {type: cylinder, radius: 5 cm, length: 2 cm}}
  rack: {mass: 2 kg}
  bumper: {mass: 1 kg}
  table: {mass: 5 kg}
joints:
  motor: {type: revolute, child: crank, angle: {name: q, initial: 10 deg, rate: 1 rad/s, damper: 0.1}}
  mesh: {type: revolute, child: gear, angle: {equal_to: {coordinate: q, ratio: -2}}}
  rail: {type: prismatic, child: rack, axis: x, displacement: {equal_to: {coordinate: q, ratio: 5 cm}}}
  stop:
    type: prismatic
    child: bumper
    axis: x
    displacement:
      spring: {coefficient: 10 kN/m, rest: 1 cm}
      damper: {coefficient: 50, power: 1.5}
      direction: negative       # acts only below 1 cm
      smoothing: 0.1 mm
      limits: {minimum: -2 cm, stiffness: 100 kN/m}  # a hard stop
  shaker: {type: prismatic, child: table, axis: z, displacement: {motion: "=1 mm * sin(2*pi*20 Hz*t)"}}
""",
    ),
    "Points of a tendon": (
        """\
pliant: 1
sections:
  core: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: core, material: rubber}
  hand: {parent: arm.tip, length: 10 cm, section: core, material: rubber}
tendons:
  straight:
    type: tension
    through: [{rod: arm, offset: [8 mm, 0]}, {rod: hand, offset: [8 mm, 0], eyelets: 5}]
    tension: 0.1 N
  around:
    type: tension
    count: 3
    through: [{rod: arm, radius: 8 mm, angle: =i*120 deg, turns: 0.5, end: 25 cm}]
    tension: 0.1 N
  crossing:
    type: tension
    through:
      - {frame: world, position: [-2 cm, 0, -5 cm]}
      - {rod: arm, points: [{at: 0, offset: [-8 mm, 0]}, {at: 20 cm, offset: [0, 8 mm]}], between: 5}
      - hand.tip
    tension: 0.1 N
""",
    ),
    "Contacts": (
        """\
pliant: 1
bodies:
  crate: {mass: 2 kg, shape: {type: box, size: [20 cm, 20 cm, 10 cm]}}
  ball: {mass: 100 g, shape: {type: sphere, radius: 3 cm}}
joints:
  slide: {type: free, child: crate, z: {initial: 5 cm}, x: {rate: 1 m/s}}
  flight: {type: free, child: ball, z: {initial: 20 cm}}
surfaces:
  floor: {type: plane}
  wall: {type: plane, normal: [-1, 0, 0], position: [50 cm, 0, 0]}
contacts:
  any: {between: all, friction: 0.3}
  bounce: {between: [ball, [floor, wall]], restitution: 0.8}   # instead of `any` for these
""",
    ),
    "Included files": (
        """\
# common.yaml
pliant: 1
materials:
  silicone: {density: 1070 kg/m^3, youngs_modulus: 205 kPa, poissons_ratio: 0.49}
""",
        """\
pliant: 1
include: [common.yaml]
bodies:
  finger: {shape: {type: cylinder, radius: 1 cm, length: 8 cm}, material: silicone}
joints:
  knuckle: {type: revolute, child: finger, axis: y}
""",
    ),
    "Defaults": (
        """\
pliant: 1
defaults:
  bodies: {mass: 100 g}
  joints:
    axis: y                                   # all joints that have an axis
    revolute: {angle: {damper: 1e-3 N*m*s}}   # joints of this type
bodies:
  upper: {frames: {tip: {position: [0, 0, -30 cm]}}}
  lower: {mass: 50 g}
joints:
  shoulder: {type: revolute, child: upper}
  elbow: {type: revolute, parent: upper.tip, child: lower, angle: {initial: 20 deg}}
""",
    ),
    "Variants": (
        """\
pliant: 1
parameters:
  payload: 0.1 kg
bodies:
  gripper: {mass: =payload}
joints:
  slide: {type: prismatic, child: gripper, axis: z, displacement: {spring: 200 N/m, damper: 2}}
variants:
  heavy:
    parameters: {payload: 1 kg}
  undamped:
    joints: {slide: {displacement: {damper: null}}}   # null removes a key
""",
    ),
    "Repeated parts": (
        """\
pliant: 1
parameters:
  number: 8
  length: 5 cm
bodies:
  link:
    count: =number
    mass: =10 g * (1 - i/20)                  # lighter towards the tip
    center_of_mass: [0, 0, =-length/2]
    frames: {tip: {position: [0, 0, =-length]}}
joints:
  bend:
    type: universal
    parent: "link[i-1].tip"
    first_parent: world
    child: link
    angle1: {spring: 0.05, damper: 1e-4}
    angle2: {spring: 0.05, damper: 1e-4}
loads:
  wind: {count: =number, frame: "link[i]", force: [1 mN, 0, 0]}
outputs:
  tip: {frame: "link[number].tip", quantity: position}
  root: {coordinate: "bend[1].angle1"}
""",
        """\
pliant: 1
parameters:
  pull: {count: 3, value: 0 N, input: true, minimum: 0 N}
materials:
  steel: {density: 7850 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}
sections:
  wire: {shape: circle, radius: 0.5 mm}
rods:
  backbone: {length: 20 cm, section: wire, material: steel}
bodies:
  disc: {count: 8, along: backbone, mass: 2 g, shape: {type: cylinder, radius: 1 cm, length: 2 mm}}
  motor: {count: 3, parent: world, around: z, position: [3 cm, 0, -2 cm], mass: 50 g}
tendons:
  line: {type: tension, count: 3, tension: "=pull[i]", through: ["motor[i]", {rod: backbone, radius: 8 mm, angle: =120 deg*(i-1)}]}
inputs:
  pull: "=2 N*(1 + sin(t/(1 s) - 120 deg*i))"
outputs:
  tip: {frame: backbone.tip}
  length: {count: 3, tendon: "line[i]", quantity: length}
""",
    ),
    "Attached models": (
        """\
pliant: 1
models:
  finger:
    parameters: {length: 6 cm, torque: {value: 0 N*m, input: true}}
    bodies: {bone: {mass: 20 g, center_of_mass: [0, 0, =length/2], frames: {tip: {position: [0, 0, =length]}}}}
    joints: {knuckle: {type: revolute, child: bone, axis: y, angle: {spring: 0.1 N*m/rad, damper: 1e-3, input: =torque}}}
parameters:
  grip: {value: 0 N*m, input: true}
attach:
  finger: {count: 3, model: finger, around: z, position: [4 cm, 0, 0], parameters: {torque: =-grip}}
outputs:
  tip: {count: 3, frame: "finger[i]/bone.tip"}
""",
    ),
}

REMARKS = """\
# Remarks

<!-- Written by `python tools/make_reference.py`; change the functions in src/pliant/analysis instead of this page. -->

Results have `remarks`: what one has to know to read their numbers correctly. They are computed on first access,
and appear in the text of a result, in reports, in notebooks, below the output of a command and in its JSON. Each is a function of
the equations and the result. This table lists those of the analyses that are classes of `pliant.analysis`: when each appears, and
where this limit comes from.

@remarks@
"""
