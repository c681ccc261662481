"""Command lines: a grammar of sound ones, whose values are exchanged for hostile ones."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from mutation import mutate

from pliant.cli import COMMANDS, command

VALUES = (
    "", "0", "1", "-1", "2", "5", "0.01", "1e-3", "0.5,1", "nan", "inf", "-inf", "1e400", "1e-400",
    "99999999999999999999", "abc", "a=b", "a=", "=b", "mass=2 kg", "length=30 cm", "length=3 kg", "length==1/0", "=1/0",
    "q1=10 deg", "angle=0.1", "equilibrium", "initial", "rosenbrock", "generalized_alpha", "semi_implicit",
    "explicit_runge_kutta", "newmark", "auto", "out.nc", "out.csv", "out.png", "out.html", "out.glb", "out",
    "/nowhere/x.nc", ".", "\x00", "\x1b[31m", "é😀", "--json", "-h", "run.nc", "data.csv", "rod=pcs:3", "rod=cosserat:0",
    "rod=pcs:abc", "force=1", "force=1:3:3", "mass=1:2:2 kg", "mass=log 1:2:1e400", "[1, 2]", "{}", "null", "true",
    "sobol:3", "sobol:²", "x,y", "tip", "minimal", "a" * 200, "mass", "length", "bad.yaml", "drawing.dxf",
    "pendulum@swing", "@", "x@",
)  # fmt: skip
"""Values that fit no option, or only some."""
SUBJECTS: dict[str, tuple[str, ...]] = {
    "pendulum": ("length", "mass", "hinge"),
    "cart_pole": ("force", "length", "friction", "hinge", "rail"),
    "four_bar": ("length1", "length2", "q1", "q2", "pin_force"),
    "double_pendulum": ("length1", "shoulder", "elbow"),
    "hopper": ("pull", "trunk_mass", "friction", "rail", "leg"),
    "cc_arm_2": ("f11", "youngs_modulus", "first", "first.bend_x"),
    "cantilever": ("tip_force", "tip_moment", "length", "rod", "rod.tip"),
    "stiff_flop@circling": ("p1", "youngs_modulus", "arm"),
    "leaf_spring": ("end_distance",),
    "run.nc": ("length", "hinge"),
    "bad.yaml": ("mass",),
    "small.urdf": ("elbow",),
    "swept": ("mass",),
}
"""Robots, files and folders, with some of their names."""
DRAWINGS = ("drawing.dxf", "sleeve.iges", "bad.yaml", "data.csv")
OTHERS: dict[str, tuple[str, ...]] = {
    "mesh": DRAWINGS,
    "film": ("run.nc",),
    "new": ("my_robot", "small.urdf", "a/b", ".."),
    "import": ("small.urdf", "bad.yaml", "pendulum"),
    "validate": ("catenary", "pendulum_period", "nothing"),
}
"""What other commands are about."""
NEEDED: dict[str, list[str]] = {
    "simulate": ["--until", "0.01"],
    "sweep": ["--vary", "{name}=0.1,0.2", "--until", "0.01", "--out", "swept"],
    "path": ["--parameter", "{name}", "--to", "0.51", "--max-points", "5"],
    "picture": ["--out", "out.png"],
    "compare": ["--rods", "{name}=pcs:1,pcs:2"],
    "fit": ["--parameters", "{name}", "--against", "data.csv"],
    "export": ["--c", "c"],
    "optimize": ["--vary", "{name}=0.1:0.2", "--until", "0.01", "--minimize", "{name}^2", "--evaluations", "5"],
}
"""What commands cannot do without, most of the time."""
FITTING: dict[str, tuple[str, ...]] = {
    "set": ("{name}=2", "{name}=30 cm", "{name}=0", "{name}=-1", "{name}=1e30", "{name}==2*{name}", "{name}=1 kg"),
    "rod": ("{name}=pcs:2", "{name}=cosserat:3", "{name}=gvs:1", "{name}=fe:2", "{name}=pseudo_rigid:4", "{name}=cc"),
    "variant": ("damped", "circling", "recorded_push", "in_plane"),
    "folder": (".", "swept", "/nowhere", "run.nc"),
    "input": ("{name}=1", "{name}=sin(t)", "{name}==t", "data.csv", "{name}=data.csv", "{name}=1 N"),
    "out": (
        "out.nc",
        "out.csv",
        "out.mat",
        "out.parquet",
        "out.json",
        "out.yaml",
        "out.png",
        "out.svg",
        "out",
        "run.nc",
    ),
    "report": ("out.html", "out.nc", "a/b.html", "."),
    "plot": ("out.png", "out.svg", "out.pdf", "out.txt"),
    "timeout": ("5", "0.001", "0", "1e9"),
    "start": ("equilibrium", "initial", "{name}=0.1", "run.nc", "run.nc@0.02", "run.nc@99"),
    "at": ("equilibrium", "initial", "{name}=0.1", "run.nc", "run.nc@0.02"),
    "time": ("0", "1", "1e9", "-1"),
    "until": ("0.01", "0.02 s", "1e-9", "0", "5 ms", "data.csv"),
    "begin": ("0", "1", "1e6", "-1", "0.02"),
    "method": (
        "rosenbrock",
        "generalized_alpha",
        "semi_implicit",
        "explicit_runge_kutta",
        "symplectic_euler",
        "gradient",
        "global",
    ),
    "step": ("1e-3", "1 ms", "1e-6", "1", "0"),
    "rtol": ("1e-6", "1e-30", "1", "0"),
    "atol": ("1e-6", "1e-30", "1", "0"),
    "tolerance": ("1e-6", "1e-30", "1", "0"),
    "save-every": ("1e-3", "1 ms", "1e-9", "1", "0"),
    "save-at": ("0,0.005", "0.005,0.001", "1", "0:0.01:5"),
    "formulation": ("multipliers", "minimal"),
    "stability": ("stable", "any", "unstable"),
    "independent": ("{name}", "{name},{name}"),
    "starts": ("0", "1", "3"),
    "seed": ("0", "1", "-1", "18446744073709551616"),
    "count": ("0", "1", "3", "1000000"),
    "input-names": ("{name}", "{name},{name}"),
    "output-names": ("{name}", "tip", "energy"),
    "parameter": ("{name}", "t", "gravity"),
    "to": ("0.51", "1 m", "-1", "1e30", "0"),
    "from": ("0", "0.1", "0.2 s", "5"),
    "branch": ("1", "0", "9"),
    "mode": ("1", "0", "9"),
    "by": ("{name}", "1e-3", "energy"),
    "imperfection": ("{name}=1e-3", "{name}=0"),
    "stop": ("{name}=0.5", "{name}=1e9"),
    "max-points": ("3", "0", "1"),
    "max-step": ("0.1", "1e-12", "0"),
    "point": ("{name}", "tip"),
    "axes": ("x,y", "{name},{name}", "x"),
    "vary": ("{name}=1:2:2", "{name}=0.1,0.2 m", "{name}=normal(1,0.1)", "{name}=1:1:1", "{name}=pcs:1,pcs:2"),
    "sample": ("sobol:2", "random:3", "halton:2", "latin:2", "grid"),
    "analysis": ("simulate", "equilibrium", "modes", "linearize"),
    "option": ("rtol=1e-6", "save_every=1 ms", "count=2", "step=0", "nothing=1"),
    "keep": ("{name}", "energy", "states"),
    "workers": ("0", "1", "2", "-1"),
    "rods": ("{name}=pcs:1,pcs:2", "{name}=pcs:1,cosserat:2", "{name}=pcs:1"),
    "against": ("data.csv", "run.nc", "drawing.dxf"),
    "rests": ("data.csv", "run.nc"),
    "output": ("{name}", "{name}=hinge", "energy", "tip=x,y,z"),
    "columns": ("{name}", "hinge", "x,y,z", "force"),
    "rest-at": ("0", "0.1", "9"),
    "parameters": ("{name}", "{name},{name}", "length,mass"),
    "hold-out": ("0.2", "even", "1", "last:0.3"),
    "prior": ("{name}=1,0.1", "{name}=1,0", "{name}=0.3 m,1 cm"),
    "folds": ("2", "1", "0", "1000"),
    "profile": ("{name}", "nothing"),
    "minimize": ("{name}^2", "energy", "max({name})", "1"),
    "subject-to": ("{name} < 1", "{name} = 0", "{name}"),
    "evaluations": ("1", "3", "0"),
    "c": ("c", "out.nc", "run.nc"),
    "gltf": ("out.glb", "out.gltf", "out.nc"),
    "fmu": ("out.fmu", "out.nc"),
    "cuda": ("cuda", "run.nc"),
    "mjcf": ("out.xml", "out.nc"),
    "urdf": ("out.urdf", "out.nc"),
    "links": ("1", "3", "0"),
    "fmi": ("2", "3", "2.0", "4"),
    "controller": ("pid", "{name}"),
    "view": ("x", "front", "iso", "10,20"),
    "size": ("100x100", "0x0", "1e9x1", "10x100000"),
    "fps": ("5", "0", "1e9"),
    "speed": ("1", "0.1", "0", "-1"),
    "unit": ("mm", "inch", "kg", "parsec"),
    "kind": ("arm", "tendon", "gripper", "linkage"),
    "mesh": ("out.png", "out.txt"),
    "data": (".", "/nowhere", "run.nc"),
    "dask": ("nothing", "tcp://127.0.0.1:1"),
}
"""Values that fit an option, or nearly so."""
WAITING = ("view",)
"""Commands that wait for visitors."""
UNNAMED = ("validate",)
"""Commands that take long without a name: they run all cases."""


@cache
def _parsed(name: str) -> Any:
    return command(name)


def commands(chance: random.Random) -> list[str]:
    """The arguments of a command line: mostly a command with a model and some of its options."""
    if chance.random() < 0.03:
        return [chance.choice((*VALUES, *COMMANDS)) for _ in range(chance.randrange(1, 5))]
    name = chance.choice([name for name in COMMANDS if name not in WAITING])
    subject = chance.choice(OTHERS.get(name, tuple(SUBJECTS)))
    if chance.random() < 0.05:
        subject = chance.choice((*SUBJECTS, *DRAWINGS))
    given = [name]
    parameters = _parsed(name).params
    for parameter in parameters:
        if parameter.param_type_name == "argument" and (name in UNNAMED or chance.random() < 0.97):
            is_target = parameter.name == "out"
            fits = chance.choice(("out.gif", "out.mp4", "out.html", "out.txt")) if is_target else subject
            given.append(fits if name in UNNAMED or chance.random() < 0.9 else chance.choice(VALUES))
    if chance.random() < 0.8:
        given += NEEDED.get(name, [])
    options = [parameter for parameter in parameters if parameter.param_type_name != "argument"]
    for _ in range(chance.choice((0, 1, 1, 2, 3, 4)) if options else 0):
        option = chance.choice(options)
        flag = chance.choice((*option.opts, *option.secondary_opts))
        given += [flag] if option.is_flag else [flag, _value(option.opts[0].lstrip("-"), chance)]
    names = SUBJECTS.get(subject, ("nothing",))
    return [word.replace("{name}", chance.choice(names)) for word in given]


def _value(option: str, chance: random.Random) -> str:
    """A value that fits the option, one that is damaged, or any."""
    kind = chance.random()
    if kind < 0.3 or option not in FITTING:
        return chance.choice(VALUES)
    value = chance.choice(FITTING[option])
    return value if kind < 0.85 else mutate(value, chance)
