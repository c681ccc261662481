"""An MJCF robot as Pliant and as MuJoCo have it, compared in random states."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from beside_pinocchio import WELL_DETERMINED, relative

import pliant
from pliant.foreign.document import Document
from pliant.foreign.mjcf import JointType, Reader
from pliant.foreign.mjcf_compiled import compile_model, prepare
from pliant.language.source import Source

STATES = 10
FRICTION_OFF = 1 << 2
"""MuJoCo's flag for models without dry friction."""


def mujoco_error(file: Path, states: int = STATES, folders: Sequence[Path] = ()) -> tuple[float, int, int]:
    """The largest difference of mass matrix, bias, smooth accelerations and poses, each over its largest; bodies and rates.

    MuJoCo's constraints (limits, equalities, contacts, friction) are soft: states are within the limits, contacts are taken out,
    and accelerations are those without equalities.
    """
    import mujoco

    mujoco.set_mju_user_warning(lambda text: None)  # which would be written to a file
    model = mujoco.MjModel.from_xml_path(str(file))
    whole = pliant.load(file, folders=folders)
    robot = whole.replace(contacts={}, constraints={}, outputs={}, surfaces={})
    eqs = pliant.derive(robot)
    names = _names(file, folders)
    _switch_off(model, names, pliant.import_robot(file, folders=folders).notes)
    data = mujoco.MjData(model)
    order_q, order_v = _order(model, eqs, names)
    slip = _friction(model)
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(states):
        q, v, u = _state(model, rng)
        data.qpos, data.qvel, data.ctrl = q, v, u
        data.act[model.actuator_actadr[model.actuator_actadr >= 0]] = u[model.actuator_actadr >= 0]
        mujoco.mj_forward(model, data)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full) if _new_order(mujoco) else mujoco.mj_fullM(model, full, data.qM)
        forces = data.qfrc_bias - data.qfrc_passive - data.qfrc_actuator + slip * np.tanh(v / _slip_speed(model))
        ours_q, ours_v = q[order_q], v[order_v]
        inputs = {names["inputs"][k]: float(u[k]) for k in range(model.nu) if names["inputs"].get(k) in eqs.inputs}
        here = eqs.at(inputs=inputs, within_limits=False)
        pairs = [(here.mass_matrix(ours_q).toarray(), full[np.ix_(order_v, order_v)])]
        pairs += [(here.bias(ours_q, ours_v), forces[order_v])]
        if model.nv and not len(eqs.constraint_names) and np.linalg.cond(full) < WELL_DETERMINED:
            a = np.linalg.solve(full, -forces)
            pairs += [(full @ here.forward_dynamics(ours_q, ours_v)[0][np.argsort(order_v)], full @ a)]
        frames = here.frames(ours_q)
        for i, name in names["bodies"].items():
            pairs += [(frames[name].position, data.xpos[i]), (frames[name].rotation, data.xmat[i].reshape(3, 3))]
        worst = max(worst, *(relative(x, y) for x, y in pairs))
    return worst, len(robot.bodies), len(eqs.rates)


LEFT_OUT = {
    "spring and damper of a tendon": ("tendons", ("tendon_stiffness", "tendon_damping")),
    "the force limit of a servo": ("actuators", ("actuator_forcelimited",)),
    "the largest force of all actuators": ("given_joints", ("jnt_actfrclimited",)),
}
"""Beginnings of notes, with the kind of thing that they are about, and the arrays that are zero without it."""


def _switch_off(model: Any, names: dict[str, dict[int, str]], notes: Sequence[pliant.Fault]) -> None:
    """Do without what notes say is left out: springs of some tendons, actuators that are not linear."""
    for note in notes:
        for begins, (kind, keys) in LEFT_OUT.items():
            if note.message.startswith(begins):
                given = note.path.partition(" ")[2]
                for k in [k for k, name in names[kind].items() if name == given]:
                    for key in keys:
                        getattr(model, key)[k] = 0
    model.tendon_armature[:] = 0.0
    model.actuator_actearly[:] = 0
    for u in set(range(model.nu)) - set(names["inputs"]):
        model.actuator_gaintype[u], model.actuator_biastype[u] = 0, 0
        model.actuator_gainprm[u], model.actuator_biasprm[u] = 0.0, 0.0


def _new_order(mujoco: Any) -> bool:
    return int(mujoco.__version__.partition(".")[0]) >= 4


def _friction(model: Any) -> np.ndarray:
    """Dry friction, which MuJoCo has as a constraint, of hinges and slides."""
    off = np.isin(model.jnt_type[model.dof_jntid], (JointType.FREE, JointType.BALL)) | bool(
        model.opt.disableflags & FRICTION_OFF
    )
    return np.where(off, 0.0, model.dof_frictionloss)


def _slip_speed(model: Any) -> np.ndarray:
    return np.where(model.jnt_type[model.dof_jntid] == 2, 1e-3, 0.01)


def _state(model: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions within the ranges, rates, and controls within theirs."""
    q, v = rng.uniform(-1, 1, model.nq), rng.normal(size=model.nv)
    for j in range(model.njnt):
        at = model.jnt_qposadr[j]
        if model.jnt_type[j] in (JointType.FREE, JointType.BALL):
            at += 3 if model.jnt_type[j] == JointType.FREE else 0
            w = rng.normal(size=4)
            q[at : at + 4] = w / np.linalg.norm(w)
        elif model.jnt_limited[j]:
            q[at] = rng.uniform(*model.jnt_range[j])
    u = rng.uniform(-1, 1, model.nu)
    limited = model.actuator_ctrllimited.astype(bool)
    u[limited] = rng.uniform(*model.actuator_ctrlrange[limited].T)
    return q, v, u


def _names(file: Path, folders: Sequence[Path]) -> dict[str, dict[int, str]]:
    """The names that the import gives to bodies, joints and actuators."""
    document = Document(Source(str(file), None, file.parent, tuple(folders)))
    prepared = prepare(file.read_bytes(), document)
    reader = Reader(document, prepared, compile_model(prepared, document))
    reader.read()
    bodies = {i: name for i, name in enumerate(reader.bodies) if i}
    given = {
        key: {k: reader.model.name(kind, k) for k in range(count)}
        for key, kind, count in (
            ("tendons", "tendon", reader.model.ntendon),
            ("actuators", "actuator", reader.model.nu),
            ("given_joints", "jnt", reader.model.njnt),
        )
    }
    return {"bodies": bodies, "joints": reader.joint_names, "inputs": reader.inputs, **given}


def _order(model: Any, eqs: Any, names: dict[str, dict[int, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Indices of our positions and rates in MuJoCo's."""
    q, v = np.zeros(len(eqs.initial_state().q), dtype=int), np.zeros(len(eqs.rates), dtype=int)
    entries = {entry.name: entry for entry in eqs.model.coordinates}
    for j, name in names["joints"].items():
        at, to = model.jnt_qposadr[j], model.jnt_dofadr[j]
        if model.jnt_type[j] == JointType.FREE:
            x, turn = entries[f"{name}.x"], entries[f"{name}.orientation"]
            q[x.q_at : x.q_at + 3], v[x.v_at : x.v_at + 3] = at + np.arange(3), to + np.arange(3)
            q[turn.q_at : turn.q_at + 4], v[turn.v_at : turn.v_at + 3] = at + 3 + np.arange(4), to + 3 + np.arange(3)
        else:
            sizes = (4, 3) if model.jnt_type[j] == JointType.BALL else (1, 1)
            entry = entries[name]
            q[entry.q_at : entry.q_at + sizes[0]] = at + np.arange(sizes[0])
            v[entry.v_at : entry.v_at + sizes[1]] = to + np.arange(sizes[1])
    return q, v
