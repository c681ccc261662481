"""Chain of hinges compared with MuJoCo."""

from __future__ import annotations

import numpy as np

from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.cases.pinocchio_chain import COUNT, model, random_chain


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
    "Other engines",
    compared="Accelerations of a chain of twelve hinges in ten random states, over the largest",
    source="E. Todorov, T. Erez and Y. Tassa, MuJoCo: a physics engine for model-based control, IROS (2012); "
    "computed here by the installed package.",
    tolerance=1e-9,
    measure="of the largest",
    unit="rad/s^2",
    package="mujoco",
)
def check() -> CaseResult:
    """The chain of `pinocchio_chain`."""
    import mujoco

    theirs = mujoco.MjModel.from_xml_string(mjcf())
    data, eqs, rng = mujoco.MjData(theirs), derive(load_text(model(random_chain()))), np.random.default_rng(4)
    value, reference = [], []
    for _ in range(10):
        q, v = rng.normal(size=(2, COUNT))
        data.qpos, data.qvel = q, v
        mujoco.mj_forward(theirs, data)
        value.append(eqs.forward_dynamics(q, v)[0])
        reference.append(data.qacc.copy())
    return CaseResult(np.array(value), np.array(reference))
