"""Trees of mixed joints: forward dynamics and derivatives compared with Pinocchio and MuJoCo.

    python benchmarks/trees.py              a table
    python benchmarks/trees.py --json       one JSON object

All libraries are called from Python, once per evaluation, in the same state, with existing arrays. Ours
returns new arrays; the others write into their `data`. They are called alternately, in many short rounds, and the fastest
round is reported, because other work on the machine only adds time.

* Pinocchio: `aba` in both of its conventions (local and world frames), `computeABADerivatives`.
* MuJoCo: models without geoms, actuators, sensors, contacts and constraints. Either `mj_forward`, or the parts of it that
  are forward dynamics here, as four calls: `mj_fwdPosition` (kinematics, composite inertias, factors of the mass matrix),
  `mj_fwdVelocity` (bias forces), `mj_fwdActuation` and `mj_fwdAcceleration`. It has no analytic derivatives of these.

Of several variants the fastest is reported. "Inside C" is the rate of our evaluation called in a loop by compiled code.

A universal or cylindrical joint is two joints in series: in MuJoCo two of one body, in Pinocchio with a body without mass
between them. Results are compared too: accelerations with both, derivatives with Pinocchio, as the largest difference
relative to the largest entry.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from chain import GRAVITY, fastest, machine
from scipy.spatial.transform import Rotation

from pliant.engine import compiling
from pliant.engine.binding import Binding
from pliant.engine.model.inputs import InputPlan
from pliant.engine.program import Program
from pliant.parts.assembly.system import SystemBuilder
from pliant.parts.geometry import se3
from pliant.parts.motion import FREE, ROTATION, SCREW

RATES = {"turn": 1, "slide": 1, "ball": 3, "free": 6}
"""Rates of each step that joints are made of."""

JOINTS = {
    "revolute": ("turn",),
    "prismatic": ("slide",),
    "spherical": ("ball",),
    "universal": ("turn", "turn"),
    "cylindrical": ("turn", "slide"),
    "floating base": ("free",),
}
"""The steps of each joint, one after the other."""

ROUNDS, ROUND_SECONDS = 250, 0.002
"""Short rounds: on a busy machine some of them are undisturbed."""

LIMIT = 1e-9
"""Largest relative difference of accelerations that is accepted."""

DERIVATIVES_LIMIT = 1e-5
"""The same for derivatives: Pinocchio's of chains of spherical joints differ by about 1e-6 from finite differences of the
accelerations, ours agree up to the error of these differences."""


@dataclass(frozen=True)
class Body:
    """A body and the joint that holds it: steps, axes of the steps (0, 1, 2: x, y, z), position of the joint on the parent
    (index of a body, -1 the ground), and the inertia about the centre of mass in body axes."""

    joint: str
    axes: tuple[int, ...]
    parent: int
    rotation: np.ndarray
    position: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray

    @property
    def steps(self) -> tuple[str, ...]:
        """The components of the joint."""
        return JOINTS[self.joint]

    @property
    def rates(self) -> int:
        """Rates of the joint."""
        return sum(RATES[step] for step in self.steps)


Robot = list[Body]


def body(rng: np.random.Generator, joint: str, parent: int) -> Body:
    """A body with random placement, axes and inertia."""
    A = rng.normal(size=(3, 3))
    first = int(rng.integers(3))
    floating = joint == "floating base"  # its coordinates are the pose in the world
    return Body(
        joint, (first, first if joint == "cylindrical" else (first + 1) % 3), parent,
        np.eye(3) if floating else Rotation.from_rotvec(rng.normal(size=3)).as_matrix(),
        np.zeros(3) if floating else 0.3 * rng.normal(size=3),
        rng.uniform(0.5, 2), 0.1 * rng.normal(size=3), 0.01 * (np.trace(A @ A.T) * np.eye(3) - A @ A.T) + 0.01 * np.eye(3),
    )  # fmt: skip


def chain(joint: str, count: int) -> Robot:
    """Equal joints in a row."""
    rng = np.random.default_rng(0)
    return [body(rng, joint, i - 1) for i in range(count)]


def mixed(seed: int, *, floating: bool, rates: int = 60) -> Robot:
    """A random tree of mixed joints with at least this number of rates; every body is connected to one of the last eight before
    it."""
    rng = np.random.default_rng(seed)
    robot = [body(rng, "floating base", -1)] if floating else []
    kinds, weights = ("revolute", "prismatic", "spherical", "universal", "cylindrical"), (0.4, 0.15, 0.25, 0.1, 0.1)
    while sum(b.rates for b in robot) < rates:
        parent = int(rng.integers(max(0, len(robot) - 8), len(robot))) if robot else -1
        robot.append(body(rng, str(rng.choice(kinds, p=weights)), parent))
    return depth_first(robot)


def depth_first(robot: Robot) -> Robot:
    """The same tree in the order required by Pinocchio's derivatives and by MuJoCo: each branch contiguous."""
    order: list[int] = []

    def visit(parent: int) -> None:
        for i, b in enumerate(robot):
            if b.parent == parent:
                order.append(i)
                visit(i)

    visit(-1)
    place = {-1: -1} | {i: n for n, i in enumerate(order)}
    return [replace(robot[i], parent=place[robot[i].parent]) for i in order]


def our_tree(robot: Robot) -> Binding:
    """The robot in this package, ready to evaluate."""
    builder, nodes = SystemBuilder(), {-1: 0}
    builder.gravity(GRAVITY)
    for i, b in enumerate(robot):
        node, placement = nodes[b.parent], (ca.DM(b.rotation), ca.DM(b.position))
        for step, axis in zip(b.steps, b.axes, strict=False):
            unit = np.eye(3)[axis]
            motion, constants = {
                "turn": (SCREW, [0, 0, 0, *unit]), "slide": (SCREW, [*unit, 0, 0, 0]), "ball": (ROTATION, []),
                "free": (FREE, []),
            }[step]  # fmt: skip
            builder.element(node, [(motion, placement, constants)])
            node, placement = builder.last_node(), se3.identity()
        builder.mass(node, b.mass, ca.DM(b.com), ca.DM(b.inertia), se3.identity())
        nodes[i] = node
    return Binding.of(Program(builder.build(), InputPlan()))


def pinocchio_tree(robot: Robot) -> Any:
    """The robot as Pinocchio's model."""
    import pinocchio as pin

    kinds = {
        "turn": (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
        "slide": (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
        "ball": (pin.JointModelSpherical,) * 3, "free": (pin.JointModelFreeFlyer,) * 3,
    }  # fmt: skip
    model, joints = pin.Model(), {-1: 0}
    model.gravity.linear = np.array(GRAVITY)
    for i, b in enumerate(robot):
        joint, placement = joints[b.parent], pin.SE3(b.rotation, b.position)
        for n, (step, axis) in enumerate(zip(b.steps, b.axes, strict=False)):
            joint = model.addJoint(joint, kinds[step][axis](), placement, f"joint{i}_{n}")
            placement = pin.SE3.Identity()
        model.appendBodyToJoint(joint, pin.Inertia(b.mass, b.com, b.inertia), pin.SE3.Identity())
        joints[i] = joint
    return model


def mujoco_tree(robot: Robot) -> Any:
    """The robot as MuJoCo's model, with bodies and joints only."""
    import mujoco

    joint = mujoco.mjtJoint
    types = {"turn": joint.mjJNT_HINGE, "slide": joint.mjJNT_SLIDE, "ball": joint.mjJNT_BALL, "free": joint.mjJNT_FREE}
    spec = mujoco.MjSpec()
    spec.option.gravity = GRAVITY
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT)
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    bodies = {-1: spec.worldbody}
    for i, b in enumerate(robot):
        quaternion = np.roll(Rotation.from_matrix(b.rotation).as_quat(), 1)
        J = b.inertia
        bodies[i] = bodies[b.parent].add_body(
            name=f"body{i}", pos=b.position, quat=quaternion, mass=b.mass, ipos=b.com, explicitinertial=True,
            fullinertia=[J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]],
        )  # fmt: skip
        for step, axis in zip(b.steps, b.axes, strict=False):
            bodies[i].add_joint(type=types[step], axis=np.eye(3)[axis])
    return spec.compile()


def state(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Random coordinates and rates in this package's order: quaternions scalar first."""
    rng = np.random.default_rng(1)
    q = []
    for b in robot:
        for step in b.steps:
            if step in ("turn", "slide", "free"):
                q.append(rng.normal(size=3 if step == "free" else 1))
            if step in ("ball", "free"):
                quaternion = rng.normal(size=4)
                q.append(quaternion / np.linalg.norm(quaternion))
    return np.concatenate(q), rng.normal(size=sum(b.rates for b in robot))


def base_rotation(robot: Robot, q: np.ndarray) -> np.ndarray | None:
    """Rotation of a floating base, which comes first if there is one."""
    return Rotation.from_quat(np.roll(q[3:7], -1)).as_matrix() if robot[0].joint == "floating base" else None


def for_pinocchio(robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The state for Pinocchio: quaternions scalar last, the velocity of a floating base in its own axes."""
    q, v, at = q.copy(), v.copy(), 0
    R = base_rotation(robot, q)
    if R is not None:
        v[:3] = R.T @ v[:3]
    for b in robot:
        for step in b.steps:
            at += 3 if step == "free" else 0
            if step in ("ball", "free"):
                q[at : at + 4] = np.roll(q[at : at + 4], -1)
            at += 4 if step in ("ball", "free") else 1
    return q, v


def from_pinocchio(
    R: np.ndarray | None, v: np.ndarray, a: np.ndarray, da_dq: np.ndarray, da_dv: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accelerations and derivatives of Pinocchio (all in its own coordinates) in ours.

    Those of a floating base are u = R' v for our velocity v, with R' dv/dt = du/dt + w x u. An increment of the position
    is R times Pinocchio's; and with our velocity fixed, u changes with an increment phi of the rotation by u x phi.
    """
    if R is None:
        return a, da_dq, da_dv
    u, w = v[:3], v[3:6]
    T = np.eye(len(v))
    T[:3, :3] = R
    u_phi = np.zeros_like(da_dq)  # change of Pinocchio's rates
    u_phi[:3, 3:6] = _hat(u)
    a, da_dq = a.copy(), da_dq + da_dv @ u_phi
    a[:3] += np.cross(w, u)
    da_dq[:3, 3:6] += _hat(w) @ _hat(u) - _hat(a[:3])  # and R itself turns
    da_dv = da_dv.copy()
    da_dv[:3, :3] += _hat(w)
    da_dv[:3, 3:6] -= _hat(u)
    return T @ a, T @ da_dq @ T.T, T @ da_dv @ T.T


def _hat(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


LOOP = """
typedef int (*function)(void *, double, const double *, const double *, double *);
int repeat(function f, int n, void *w, const double *q, const double *v, double *a) {
  int failed = 0;
  for (int i = 0; i < n; ++i) failed |= f(w, 0, q, v, a);
  return failed;
}
"""


@cache
def loop() -> Any:
    """`LOOP`, compiled; None without a compiler."""
    compiler = compiling.find_compiler()
    if compiler is None:
        return None
    folder = tempfile.mkdtemp(prefix="pliant_benchmark_")
    library = Path(folder) / f"repeat{compiling.SUFFIX}"
    compiling.build(compiler, compiling.Source("repeat", {"repeat.c": LOOP}, ["repeat.c"], ["-O2"]), library)
    return ctypes.CDLL(str(library)).repeat


def inside_c(binding: Binding, q: np.ndarray, v: np.ndarray, calls: int = 20) -> Callable[[], Any] | None:
    """A function that evaluates forward dynamics `calls` times in compiled code."""
    if loop() is None:
        return None
    w, a = binding.program.workspace(binding), np.zeros(len(v))
    address = ctypes.cast(w.library.pl_forward, ctypes.c_void_p)
    arguments = (address, calls, ctypes.c_void_p(w.address), *(ctypes.c_void_p(x.ctypes.data) for x in (q, v, a)))
    kept = (q, v, a)  # they are kept alive by the function

    def run() -> Any:
        return loop()(*arguments), kept

    return run


def side_by_side(name: str, robot: Robot) -> dict[str, Any]:
    """Evaluations per second of all libraries for one robot, and the largest relative differences of their results."""
    import mujoco
    import pinocchio as pin

    binding, model, mj_model = our_tree(robot), pinocchio_tree(robot), mujoco_tree(robot)
    data, mj_data = model.createData(), mujoco.MjData(mj_model)
    q, v = state(robot)
    (pin_q, pin_v), tau = for_pinocchio(robot, q, v), np.zeros(len(v))
    mj_data.qpos[:], mj_data.qvel[:] = q, v

    def parts() -> None:
        mujoco.mj_fwdPosition(mj_model, mj_data)
        mujoco.mj_fwdVelocity(mj_model, mj_data)
        mujoco.mj_fwdActuation(mj_model, mj_data)
        mujoco.mj_fwdAcceleration(mj_model, mj_data)

    repeated = 20
    compiled = inside_c(binding, q, v, repeated)
    us = fastest(
        {
            "ours": lambda: binding.forward(0.0, q, v),
            "local": lambda: pin.aba(model, data, pin_q, pin_v, tau),
            "world": lambda: pin.aba(model, data, pin_q, pin_v, tau, pin.Convention.WORLD),
            "mj_forward": lambda: mujoco.mj_forward(mj_model, mj_data),
            "parts": parts,
            "derivatives": lambda: binding.forward_derivatives(0.0, q, v),
            "pinocchio_derivatives": lambda: pin.computeABADerivatives(model, data, pin_q, pin_v, tau),
            **({"inside_c": compiled} if compiled else {}),
        },
        rounds=ROUNDS,
        seconds=ROUND_SECONDS,
    )
    R, a, b = base_rotation(robot, q), binding.forward(0.0, q, v)[0], pin.aba(model, data, pin_q, pin_v, tau)
    b = from_pinocchio(R, pin_v, b, np.zeros((len(v), len(v))), np.zeros((len(v), len(v))))[0]
    ours = binding.forward_derivatives(0.0, q, v)
    pin.computeABADerivatives(model, data, pin_q, pin_v, tau)
    theirs = from_pinocchio(R, pin_v, data.ddq, data.ddq_dq, data.ddq_dv)
    mujoco.mj_forward(mj_model, mj_data)
    differences = {
        "pinocchio": _difference(a, b),
        "mujoco": _difference(a, mj_data.qacc),
        "derivatives": max(_difference(x, y) for x, y in zip(ours, theirs, strict=True)),
    }
    if not (
        max(differences["pinocchio"], differences["mujoco"]) < LIMIT and differences["derivatives"] < DERIVATIVES_LIMIT
    ):
        raise SystemExit(f"{name}: the libraries disagree: {differences}")
    return {
        "robot": name,
        "rates": len(v),
        "ours_per_second": round(1e6 / us["ours"]),
        "pinocchio_per_second": round(1e6 / min(us["local"], us["world"])),
        "mujoco_per_second": round(1e6 / min(us["mj_forward"], us["parts"])),
        "ours_derivatives_per_second": round(1e6 / us["derivatives"]),
        "pinocchio_derivatives_per_second": round(1e6 / us["pinocchio_derivatives"]),
        "ours_inside_c_per_second": round(1e6 * repeated / us["inside_c"]) if compiled else None,
        "differences": differences,
    }


def _difference(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.abs(x - y).max() / np.abs(y).max())


def robots() -> dict[str, Robot]:
    """The robots compared."""
    return {
        "20 spherical joints": chain("spherical", 20),
        "60 revolute joints": chain("revolute", 60),
        "30 universal joints": chain("universal", 30),
        **{f"mixed tree {seed}": mixed(seed, floating=False) for seed in (0, 1, 2)},
        **{f"mixed tree {seed}, floating base": mixed(seed, floating=True) for seed in (3, 4)},
    }


def measure(only: str | None = None) -> dict[str, Any]:
    """All figures."""
    rows = [side_by_side(name, robot) for name, robot in robots().items() if only is None or only in name]
    return {"rows": rows, "machine": machine(("numpy", "casadi", "pin", "mujoco"))}


def table(figures: dict[str, Any]) -> str:
    """Print the figures."""
    columns = ("ours", "pinocchio", "mujoco", "ours_derivatives", "pinocchio_derivatives", "ours_inside_c")
    head = ("ours", "Pinocchio", "MuJoCo", "ours", "Pinocchio", "inside C")
    lines = [
        f"{'[evaluations per second, from Python]':<30} forward dynamics {'':<15} with derivatives       ours",
        f"{'robot':<28} rates" + "".join(f"{name:>11}" for name in head) + "   largest difference",
    ]
    for row in figures["rows"]:
        rates = [row[f"{name}_per_second"] for name in columns]
        cells = "".join(f"{x:>11,}" if x is not None else f"{'-':>11}" for x in rates)
        lines.append(f"{row['robot']:<28} {row['rates']:>5}{cells}{max(row['differences'].values()):>21.0e}")
    return "\n".join([*lines, "", ", ".join(f"{k} {v}" for k, v in figures["machine"].items())])


def main() -> None:
    """Command line."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--only", metavar="TEXT", help="robots whose name holds this text")
    options = parser.parse_args()
    figures = measure(options.only)
    print(json.dumps(figures) if options.json else table(figures))


if __name__ == "__main__":
    main()
