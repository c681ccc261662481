"""Comparisons with other engines, and orders of convergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from pliant.analysis.motion.simulate import simulate
from pliant.analysis.statics.equilibrium import equilibrium
from pliant.robot.derive import derive
from pliant.robot.reader import load_text
from pliant.robot.rod_switch import parse_rod_model, with_rod_model
from pliant.validation.case import CaseResult, Line, Plot, cases_of
from pliant.validation.rods import LOADS, THICK_ARM, continuous_arm

case = cases_of("Other engines")


def mjcf() -> str:
    """The same chain for MuJoCo."""
    text = '<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>'
    for k, (axis, place, mass, center, inertia) in enumerate(random_chain()):
        vectors = (" ".join(map(repr, x.tolist())) for x in (place, axis, center, inertia))
        place_text, axis_text, center_text, inertia_text = vectors
        text += f'<body name="link{k}" pos="{place_text}"><joint type="hinge" axis="{axis_text}"/>'
        text += f'<inertial pos="{center_text}" mass="{float(mass)!r}" diaginertia="{inertia_text}"/>'
    return text + "</body>" * COUNT + "</worldbody></mujoco>"


@case(
    "Chain of hinges compared with MuJoCo",
    compared="Accelerations of a chain of twelve hinges in ten random states, over the largest",
    source="E. Todorov, T. Erez and Y. Tassa, MuJoCo: a physics engine for model-based control, IROS (2012); "
    "computed here by the installed package.",
    tolerance=1e-9,
    measure="of the largest",
    unit="rad/s^2",
    package="mujoco",
)
def mujoco_chain() -> CaseResult:
    """The chain of `pinocchio_chain`."""
    import mujoco

    theirs = mujoco.MjModel.from_xml_string(mjcf())
    data, eqs, rng = mujoco.MjData(theirs), derive(load_text(chain_model(random_chain()))), np.random.default_rng(4)
    value, reference = [], []
    for _ in range(10):
        q, v = rng.normal(size=(2, COUNT))
        data.qpos, data.qvel = q, v
        mujoco.mj_forward(theirs, data)
        value.append(eqs.forward_dynamics(q, v)[0])
        reference.append(data.qacc.copy())
    return CaseResult(np.array(value), np.array(reference))


COUNT = 12


def random_chain() -> list[tuple[np.ndarray, np.ndarray, float, np.ndarray, np.ndarray]]:
    """Axis, position in the parent, mass, centre of mass and principal inertia of every link."""
    rng = np.random.default_rng(3)
    links = []
    for _ in range(COUNT):
        axis = rng.normal(size=3)
        inertia = np.sort(rng.uniform(0.02, 0.04, 3))
        links.append(
            (
                axis / np.linalg.norm(axis),
                0.4 * rng.normal(size=3),
                rng.uniform(0.5, 2),
                0.2 * rng.normal(size=3),
                inertia,
            )
        )
    return links


def chain_model(links: list[tuple[np.ndarray, np.ndarray, float, np.ndarray, np.ndarray]]) -> str:
    """The chain as a model of Pliant."""
    bodies, joints = [], []
    for k, (axis, place, mass, center, inertia) in enumerate(links):
        parent = f"link{k - 1}" if k else "world"
        bodies.append(
            f"  link{k}: {{mass: {float(mass)}, center_of_mass: {center.tolist()}, inertia: {{principal: {inertia.tolist()}}}}}"
        )
        joints.append(
            f"  hinge{k}: {{type: revolute, parent: {parent}, child: link{k}, axis: {axis.tolist()}, position: {place.tolist()}}}"
        )
    return "\n".join(["pliant: 1", "bodies:", *bodies, "joints:", *joints])


@case(
    "Chain of hinges compared with Pinocchio",
    compared="Mass matrix, generalized forces and accelerations of a chain of twelve hinges in ten random states, "
    "each over its largest",
    source="J. Carpentier et al., The Pinocchio C++ library, IEEE/SICE SII (2019); computed here by the installed "
    "package.",
    tolerance=1e-10,
    measure="absolute",
    package="pinocchio",
    install="pin",
)
def pinocchio_chain() -> CaseResult:
    """Axes, positions and inertias are random."""
    import pinocchio as pin

    links = random_chain()
    eqs, theirs = derive(load_text(chain_model(links))), pin.Model()
    for k, (axis, place, mass, center, inertia) in enumerate(links):
        joint = theirs.addJoint(k, pin.JointModelRevoluteUnaligned(axis), pin.SE3(np.eye(3), place), f"hinge{k}")
        theirs.appendBodyToJoint(joint, pin.Inertia(mass, center, np.diag(inertia)), pin.SE3.Identity())
    data, rng = theirs.createData(), np.random.default_rng(4)
    value, reference = [], []
    for _ in range(10):
        q, v = rng.normal(size=(2, COUNT))
        full = np.triu(pin.crba(theirs, data, q))
        M = full + np.triu(full, 1).T
        bias, a = pin.rnea(theirs, data, q, v, np.zeros(COUNT)), pin.aba(theirs, data, q, v, np.zeros(COUNT))
        ours = (eqs.mass_matrix(q).toarray(), eqs.bias(q, v), eqs.forward_dynamics(q, v)[0])
        value.append(np.concatenate([np.ravel(x) / np.abs(y).max() for x, y in zip(ours, (M, bias, a), strict=True)]))
        reference.append(np.concatenate([np.ravel(y) / np.abs(y).max() for y in (M, bias, a)]))
    return CaseResult(np.array(value), np.array(reference))


convergence = cases_of("Convergence")

METHODS = {
    "explicit": 5,
    "implicit": 4,
    "generalized_alpha": 2,
    "newmark": 2,
    "semi_implicit": 1,
    "symplectic_euler": 1,
}
AMPLITUDE = 2.0


def pendulum_exact(time: float) -> float:
    """Angle of the bundled pendulum, released at its amplitude [rad]."""
    m = np.sin(AMPLITUDE / 2) ** 2
    rate = np.sqrt(3 * 9.81 / (2 * 0.5))
    _, cn, dn, _ = scipy.special.ellipj(rate * time, m)
    return float(2 * np.arcsin(np.sin(AMPLITUDE / 2) * cn / dn))


@convergence(
    "Convergence orders of the integration methods",
    compared="Order of each method between equal steps of 1/50 and 1/100 s",
    source="Motion of the pendulum by Jacobi's functions (SciPy): E. T. Whittaker, Analytical Dynamics, 4th ed. "
    "(1937); orders of the methods: docs/analyses.md.",
    tolerance=0.35,
    measure="absolute",
)
def integrator_orders() -> CaseResult:
    """The bundled pendulum, released at 2 rad, after 1 s."""
    eqs, value, lines = derive("pendulum"), [], []
    steps = (1 / 25, 1 / 50, 1 / 100)
    for method in METHODS:
        errors = [
            abs(simulate(eqs, 1.0, start={"hinge": AMPLITUDE}, method=method, step=h).q[-1, 0] - pendulum_exact(1.0))
            for h in steps
        ]
        value.append(np.log2(errors[-2] / errors[-1]))
        lines.append(Line(method, steps, errors))
    return CaseResult(value, list(METHODS.values()), Plot("step [s]", "error [rad]", tuple(lines), logarithmic=True))


ORDERS = (1, 2, 3, 4)
CHANGES: tuple[dict[str, str], ...] = ({}, {"orientation": "three"})
PUBLISHED_ORDERS = (2, 3, 4, 5)
"""One more than the others: the energy of the published map is an integral, so that polynomials of low order lock."""


@convergence(
    "Spectral convergence of polynomials along a rod",
    compared="Distance of the tip from that of the continuous rod with polynomials of order four, of two kinds, and of order "
    "five of the published kind",
    source="Equilibrium of the continuous Cosserat rod, as a boundary-value problem by SciPy; spectral convergence: "
    "J. P. Boyd, Chebyshev and Fourier Spectral Methods, 2nd ed. (2001), section 2.3.",
    tolerance=2e-4,
    measure="absolute",
    unit="m",
    quick=False,
)
def polynomial_rods() -> CaseResult:
    """The same rod as in `rod_orders`; each order has less than a quarter of the error of the previous one."""
    exact = continuous_arm(0.5)
    errors = np.array(
        [[error(f"polynomial:{n}", exact, **changes) for n in ORDERS] for changes in CHANGES]
        + [[error(f"polynomial:{n}", exact, map="published") for n in PUBLISHED_ORDERS]]
    )
    if not np.all(errors[:, 1:] < 0.25 * errors[:, :-1]):
        raise RuntimeError(f"the errors do not fall by a factor of four from order to order: {errors}")
    plot = Plot("order", "error of the tip [m]", (Line("polynomial", ORDERS, errors[0]),), logarithmic=True)
    return CaseResult(errors[:, -1], 0.0, plot)


ROD_KINDS = (
    ("pcs", "exponential", 2),
    ("pcs", "published", 1),
    ("cosserat", "logarithm", 2),
    ("cosserat", "midpoint", 2),
    ("cosserat", "published", 1),
    ("pseudo_rigid", "midpoint", 1),
    ("pseudo_rigid", "published", 1),
)
"""Kind, map, and theoretical order."""
SIZES = (12, 24)


def error(word: str, exact: np.ndarray, loads: Any = LOADS, **changes: Any) -> float:
    """Distance of the tip from the exact one [m]."""
    options = parse_rod_model(word).model_copy(update=changes)
    eqs = derive(with_rod_model(load_text(THICK_ARM), "arm", options))
    tip = equilibrium(eqs, parameters=loads, stability="any").frames["arm.tip"]
    return float(np.linalg.norm(tip.position - exact))


@convergence(
    "Convergence orders of rod models to the continuous rod",
    compared="Order measured between 12 and 24 elements, of seven models and maps, and of `finite_element` without weight",
    source="Order of each method in theory (docs/validation.md); the continuous rod as a boundary-value problem by "
    "SciPy.",
    tolerance=0.2,
    measure="absolute",
)
def rod_orders() -> CaseResult:
    """A thick rod that is bent, twisted, sheared and stretched in space."""
    exact, light = continuous_arm(0.5), {**LOADS, "gravity": 0.0}
    lines, value = [], []
    for kind, name, _ in ROD_KINDS:
        errors = [error(f"{kind}:{n}", exact, map=name) for n in SIZES]
        value.append(np.log2(errors[-2] / errors[-1]))
        if (kind, name) in (("pcs", "exponential"), ("pseudo_rigid", "midpoint")):
            lines.append(Line(kind, SIZES, errors))
    weightless = continuous_arm(0.5, light)
    fine = [error(f"finite_element:{n}", weightless, light) for n in (6, 12, 24)]
    value.append(np.log2(fine[-2] / fine[-1]))
    plot = Plot(
        "elements", "error of the tip [m]", (*lines, Line("finite_element", (6, 12, 24), fine)), logarithmic=True
    )
    return CaseResult(value, [order for *_, order in ROD_KINDS] + [4], plot)
