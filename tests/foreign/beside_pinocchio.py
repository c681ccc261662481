"""A URDF robot as Pliant and as Pinocchio have it, compared in random states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import pliant
from pliant.foreign.document import Document, Element, read_markup
from pliant.language.source import Source
from pliant.parts.geometry import so3
from pliant.parts.joint.coordinate import Orientation

STATES = 10
WELL_DETERMINED = 1e7
"""Condition of the equations up to which accelerations are determined to the digits that are compared."""


def pinocchio_error(file: Path, states: int = STATES) -> tuple[float, int, int]:
    """The largest difference of mass matrix, bias, accelerations and poses, each over its largest; bodies and rates."""
    import pinocchio as pin

    robot = pliant.load(file)
    eqs = pliant.derive(robot)
    theirs = _Theirs(pin, file, eqs)
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(states):
        q, v = theirs.state(rng)
        M, h, a, poses = theirs.answers(q, v)
        pairs = [(eqs.mass_matrix(q).toarray(), M), (eqs.bias(q, v), h)]
        pairs += [(M @ eqs.forward_dynamics(q, v)[0], M @ a)] if a is not None else []
        frames = eqs.frames(q)
        pairs += [(frames[name].position, place) for name, (_, place) in poses.items()]
        pairs += [(frames[name].rotation, turn) for name, (turn, _) in poses.items()]
        worst = max(worst, *(relative(x, y) for x, y in pairs))
    return worst, len(robot.bodies), len(eqs.rates)


def relative(x: Any, y: Any) -> float:
    """The largest difference over the largest entry, or over one thousandth where all are smaller."""
    return float(np.abs(np.asarray(x) - y).max() / max(np.abs(y).max(), 1e-3)) if np.size(y) else 0.0


class _Theirs:
    """Pinocchio's model with joints in our order: rates are related by `v_pin = N(q) v`."""

    def __init__(self, pin: Any, file: Path, eqs: Any) -> None:
        self.pin, self.eqs = pin, eqs
        self.coordinates = {entry.name: entry for entry in eqs.model.coordinates}
        self.model = pin.buildModelFromUrdf(str(file))
        self.data = self.model.createData()
        root = read_markup(file.read_bytes(), file.name)
        self.links = dict(zip(_names(root, "link"), [link.get("name") for link in root.all("link")], strict=True))
        moving = [joint for joint in root.all("joint") if joint.get("type") != "fixed"]
        taken = _names(root, "joint")
        self.joints = dict(zip(taken, moving, strict=True))

    def state(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Positions within the ranges of the joints, and rates; tied ones as they are tied."""
        eqs = self.eqs
        q, v = np.array(eqs.initial_state().q, dtype=float), rng.normal(size=len(eqs.rates))
        for entry in eqs.model.coordinates:
            spec = entry.spec
            if isinstance(spec, Orientation):
                w = rng.normal(size=4)
                q[entry.q_at : entry.q_at + 4] = w / np.linalg.norm(w)
                continue
            q[entry.q_at] = rng.uniform(-1, 1)
            if spec.limits is not None:
                ends = [spec.limits.minimum, spec.limits.maximum]
                low, high = (
                    eqs.model.environment.value(x) if x is not None else s for x, s in zip(ends, (-1, 1), strict=True)
                )
                q[entry.q_at] = rng.uniform(low, high)
        for _ in range(3):  # ties of ties
            for entry in eqs.model.coordinates:
                tie = getattr(entry.spec, "equal_to", None)
                if tie is not None:
                    other = self.coordinates[tie.coordinate]
                    ratio, offset = (eqs.model.environment.value(x) for x in (tie.ratio, tie.offset))
                    q[entry.q_at] = ratio * q[other.q_at] + offset
                    v[entry.v_at] = ratio * v[other.v_at]
        return q, v

    def answers(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, dict[str, Any]]:
        """Mass matrix, bias and accelerations in our rates, and the poses of all links."""
        pin, model, data = self.pin, self.model, self.data
        theirs_q, N, rate = self.carried(q, v)
        theirs_v = N @ v
        full = np.triu(pin.crba(model, data, theirs_q))
        full = full + np.triu(full, 1).T
        M = N.T @ full @ N
        h = N.T @ (pin.rnea(model, data, theirs_q, theirs_v, np.zeros(model.nv)) + full @ rate)
        h = h + self.losses(v)
        J = self.ties()
        a = _constrained(M, h, J)
        pin.framesForwardKinematics(model, data, theirs_q)
        poses = {}
        for mine, name in self.links.items():
            if model.existFrame(name, pin.FrameType.BODY):
                pose = data.oMf[model.getFrameId(name, pin.FrameType.BODY)]
                poses[mine] = (pose.rotation.copy(), pose.translation.copy())
        return M, h, a, {name: pose for name, pose in poses.items() if name in self.eqs.frame_names}

    def losses(self, v: np.ndarray) -> np.ndarray:
        """Damping and friction of the file, which `rnea` does not include."""
        found = np.zeros(len(v))
        for mine, joint in self.joints.items():
            dynamics, entry = joint.first("dynamics"), self.coordinates.get(mine)
            if dynamics is not None and entry is not None:
                rate = v[entry.v_at]
                slip = 1e-3 if joint.get("type") == "prismatic" else 0.01
                found[entry.v_at] += float(dynamics.get("damping", "0")) * rate
                found[entry.v_at] += float(dynamics.get("friction", "0")) * np.tanh(rate / slip)
        return found

    def ties(self) -> np.ndarray:
        """Rows of mimic joints, by the file."""
        rows = []
        ours = {joint.get("name"): mine for mine, joint in self.joints.items()}
        for mine, joint in self.joints.items():
            mimic = joint.first("mimic")
            if mimic is not None:
                row = np.zeros(len(self.eqs.rates))
                row[self.coordinates[mine].v_at] = 1.0
                other = self.coordinates[ours[mimic.get("joint")]]
                row[other.v_at] -= float(mimic.get("multiplier", "1"))
                rows.append(row)
        return np.array(rows).reshape(len(rows), len(self.eqs.rates))

    def carried(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pinocchio's positions, N, and dN/dt v."""
        model, coordinates = self.model, self.coordinates
        theirs, N, rate = self.pin.neutral(model), np.zeros((model.nv, len(v))), np.zeros(model.nv)
        for mine, element in self.joints.items():
            joint = model.joints[model.getJointId(element.get("name"))]
            at, to = joint.idx_q, joint.idx_v
            kind = element.get("type")
            if kind in ("revolute", "continuous", "prismatic"):
                entry = coordinates[mine]
                value = q[entry.q_at]
                theirs[at : at + joint.nq] = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
                N[to, entry.v_at] = 1.0
            elif kind == "planar":
                x, y, turn = (coordinates[f"{mine}.{label}"] for label in ("x", "y", "angle"))
                c, s = np.cos(q[turn.q_at]), np.sin(q[turn.q_at])
                theirs[at : at + 4] = [q[x.q_at], q[y.q_at], c, s]
                inverse = np.array([[c, s], [-s, c]])
                N[to : to + 2, [x.v_at, y.v_at]], N[to + 2, turn.v_at] = inverse, 1.0
                moved = inverse @ v[[x.v_at, y.v_at]]
                rate[to : to + 2] = v[turn.v_at] * np.array([moved[1], -moved[0]])
            elif kind == "floating":
                x, turn = coordinates[f"{mine}.x"], coordinates[f"{mine}.orientation"]
                w, *xyz = q[turn.q_at : turn.q_at + 4]
                theirs[at : at + 7] = [*q[x.q_at : x.q_at + 3], *xyz, w]
                R = np.array(so3.quaternion_matrix(ca.DM([w, *xyz])))
                N[to : to + 3, x.v_at : x.v_at + 3], N[to + 3 : to + 6, turn.v_at : turn.v_at + 3] = R.T, np.eye(3)
                spin = v[turn.v_at : turn.v_at + 3]
                rate[to : to + 3] = -np.cross(spin, R.T @ v[x.v_at : x.v_at + 3])
            else:
                raise ValueError(f"joints of type {kind} are not compared")
        return theirs, N, rate


def _constrained(M: np.ndarray, h: np.ndarray, J: np.ndarray) -> np.ndarray | None:
    """Accelerations with `J a = 0`; None if the mass matrix does not determine them."""
    n, m = len(h), len(J)
    whole = np.block([[M, J.T], [J, np.zeros((m, m))]])
    if not n or np.linalg.cond(whole) > WELL_DETERMINED:
        return None
    return np.linalg.solve(whole, np.concatenate([-h, np.zeros(m)]))[:n]


def _names(root: Element, tag: str) -> list[str]:
    """Names of links, or of joints that move, as the import gives them."""
    document = Document(Source("names"))
    elements = root.all("link")
    held = {child.get("link"): joint for joint in root.all("joint") if (child := joint.first("child"))}
    found = []
    for link in elements:
        is_world = link.get("name") == "world" and link.get("name") not in held and not link.first("inertial")
        found.append("world" if is_world else document.name("things", link.get("name"), kind="link"))
    if tag == "link":
        return found
    for link, name in zip(elements, found, strict=True):
        joint = held.get(link.get("name"))
        if name != "world" and (joint is None or joint.get("type") == "fixed"):
            document.name("joints", name)
    moving = [joint for joint in root.all("joint") if joint.get("type") != "fixed"]
    return [document.name("joints", joint.get("name"), kind="joint") for joint in moving]
