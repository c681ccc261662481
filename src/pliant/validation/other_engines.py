"""The same robot in another program."""

from __future__ import annotations

import numpy as np

from pliant.analysis.derivation.derive import derive
from pliant.robot.reader import load_text
from pliant.validation.case import CaseResult, cases_of

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


@case(tolerance=1e-9, measure="of the largest", unit="rad/s^2", package="mujoco")
def mujoco_chain() -> CaseResult:
    """Chain of hinges compared with MuJoCo.

    The chain of `pinocchio_chain`.
    Compared: Accelerations of a chain of twelve hinges in ten random states, over the largest.
    Source: E. Todorov, T. Erez and Y. Tassa, MuJoCo: a physics engine for model-based control, IROS (2012); computed here by
    the installed package.
    """
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


@case(tolerance=1e-10, measure="absolute", package="pinocchio", install="pin")
def pinocchio_chain() -> CaseResult:
    """Chain of hinges compared with Pinocchio.

    Axes, positions and inertias are random.
    Compared: Mass matrix, generalized forces and accelerations of a chain of twelve hinges in ten random states, each over its
    largest.
    Source: J. Carpentier et al., The Pinocchio C++ library, IEEE/SICE SII (2019); computed here by the installed package.
    """
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
