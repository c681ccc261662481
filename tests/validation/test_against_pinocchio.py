"""Random trees with every joint type against Pinocchio: kinematics, dynamics, energies and derivatives.

Where Pinocchio's rates differ from ours (`free` has a linear velocity in base axes, `rotation_vector` has rates of the
rotation vector) they are related by `v_pin = N(q) v`; forces, mass matrix and derivatives are carried over by the
exact derivatives of that map.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import pytest

from pliant import derive, load, simulate
from pliant.engine.binding import Binding
from pliant.engine.model.inputs import InputPlan
from pliant.engine.program import Program
from pliant.parts.assembly.system import SystemBuilder
from pliant.parts.geometry import so3
from pliant.parts.motion import FREE, ROTATION, ROTATION_VECTOR, SCREW, TRANSLATION, Motion
from pliant.parts.output import ReactionOutput

pin = pytest.importorskip("pinocchio")

KINDS = (
    "revolute",
    "prismatic",
    "helical",
    "translation",
    "rotation",
    "rotation_vector",
    "free",
    "universal",
    "cylindrical",
    "planar",
)
MOTION = {"translation": TRANSLATION, "rotation": ROTATION, "rotation_vector": ROTATION_VECTOR, "free": FREE}
RELATIVE = 1e-10
GRAVITY = np.array([1.2, -0.7, -9.81])


@dataclass(frozen=True)
class Joint:
    """A joint of the random tree; `parent` is an earlier joint or -1."""

    kind: str
    parent: int
    placement: Any
    axes: tuple[np.ndarray, ...]
    inertias: tuple[tuple[Any, Any], ...]

    def steps(self) -> list[tuple[Motion, list[float]]]:
        """Our elementary motions with their constants."""
        if self.kind in MOTION:
            return [(MOTION[self.kind], [])]
        zero, x, y, z = np.zeros(3), *np.eye(3)
        screws = {
            "revolute": [(zero, self.axes[0])],
            "prismatic": [(self.axes[0], zero)],
            "helical": [(0.2 * self.axes[0], self.axes[0])],
            "universal": [(zero, self.axes[0]), (zero, self.axes[1])],
            "cylindrical": [(zero, self.axes[0]), (self.axes[0], zero)],
            "planar": [(x, zero), (y, zero), (zero, z)],
        }[self.kind]
        return [(SCREW, [*linear, *angular]) for linear, angular in screws]

    def theirs(self) -> list[Any]:
        """Pinocchio's joints, one after the other."""
        if self.kind in MOTION:
            model = {
                "translation": pin.JointModelTranslation,
                "rotation": pin.JointModelSpherical,
                "rotation_vector": pin.JointModelSpherical,
                "free": pin.JointModelFreeFlyer,
            }[self.kind]
            return [model()]
        if self.kind == "helical":
            return [pin.JointModelHelicalUnaligned(self.axes[0], 0.2)]
        turn, slide = pin.JointModelRevoluteUnaligned, pin.JointModelPrismaticUnaligned
        first, second = self.axes
        return {
            "revolute": [turn(first)],
            "prismatic": [slide(first)],
            "universal": [turn(first), turn(second)],
            "cylindrical": [turn(first), slide(first)],
            "planar": [pin.JointModelPX(), pin.JointModelPY(), pin.JointModelRZ()],
        }[self.kind]

    def rate_map(self, q: Any, size: int) -> Any:
        """N with Pinocchio's rates = N(q) our rates."""
        if self.kind == "free":
            return ca.diagcat(so3.quaternion_matrix(q[3:7]).T, ca.DM.eye(3))
        if self.kind == "rotation_vector":
            return so3.left_jacobian(-q)
        return ca.DM.eye(size)

    def position(self, q: np.ndarray) -> np.ndarray:
        """Our q as Pinocchio's: quaternions with the scalar last, rotation vectors as quaternions."""
        if self.kind == "rotation":
            return q[[1, 2, 3, 0]]
        if self.kind == "free":
            return q[[0, 1, 2, 4, 5, 6, 3]]
        if self.kind == "rotation_vector":
            return np.array(so3.quaternion_exp(ca.DM(q))).ravel()[[1, 2, 3, 0]]
        return q


def random_tree(kinds: list[str], seed: int, *, chain: bool) -> list[Joint]:
    """Joints in depth-first order, as Pinocchio wants them."""
    rng = np.random.default_rng(seed)
    joints: list[Joint] = []
    branch: list[int] = []  # path from the root to the last joint
    for index, kind in enumerate(kinds):
        if branch and not chain:
            branch = branch[: rng.integers(max(0, len(branch) - 2), len(branch) + 1)]
        axes = rng.normal(size=(2, 3))
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        inertias = tuple((_inertia(rng), _placement(rng)) for _ in range(rng.integers(1, 3)))
        joints.append(Joint(kind, branch[-1] if branch else -1, _placement(rng), tuple(axes), inertias))
        branch.append(index)
    return joints


def _placement(rng: np.random.Generator) -> Any:
    return pin.SE3(pin.exp3(rng.normal(size=3)), 0.4 * rng.normal(size=3))


def _inertia(rng: np.random.Generator) -> Any:
    A = rng.normal(size=(3, 3))
    return pin.Inertia(rng.uniform(0.5, 2), 0.2 * rng.normal(size=3), 0.05 * A @ A.T + 0.02 * np.eye(3))


def _ours(joints: list[Joint], seed: int) -> tuple[Binding, list[int], list[int], list[np.ndarray], list[int]]:
    """The equations, built in a random order that only keeps bases first; where each joint's q and v stand; nodes."""
    rng = np.random.default_rng(seed + 1000)
    builder = SystemBuilder()
    builder.gravity(list(GRAVITY))
    node: dict[int, int] = {-1: 0}
    q_at, v_at = [0] * len(joints), [np.zeros(0, int)] * len(joints)
    q_end = [0] * len(joints)
    waiting = list(range(len(joints)))
    while waiting:
        ready = [i for i in waiting if joints[i].parent in node]
        i = ready[rng.integers(len(ready))]
        waiting.remove(i)
        joint = joints[i]
        base, placement = (node[joint.parent], (ca.DM(joint.placement.rotation), ca.DM(joint.placement.translation)))
        q_at[i], first = builder.q_size, builder.v_size
        for motion, constants in joint.steps():
            builder.element(base, [(motion, placement, constants)])
            base, placement = builder.last_node(), (ca.DM.eye(3), ca.DM.zeros(3))
        node[i], q_end[i] = base, builder.q_size
        v_at[i] = np.arange(first, builder.v_size)
        for inertia, place in joint.inertias:
            frame = (ca.DM(place.rotation), ca.DM(place.translation))
            builder.mass(base, inertia.mass, ca.DM(inertia.lever), ca.DM(inertia.inertia), frame)
    system = builder.build()
    return Binding.of(Program(system, InputPlan())), q_at, q_end, v_at, [node[i] for i in range(len(joints))]


class Pair:
    """One random tree in both libraries at one random state, with the map between their coordinates.

    Joints of several steps are consecutive joints in Pinocchio, or one `composite`, whose derivatives it lacks.
    """

    def __init__(self, kinds: list[str], seed: int, *, chain: bool = False, composite: bool = False) -> None:
        self.joints = random_tree(kinds, seed, chain=chain)
        self.ours, q_at, q_end, v_at, self.nodes = _ours(self.joints, seed)
        self.model = pin.Model()
        self.model.gravity.linear = GRAVITY
        self.ids: list[int] = []
        self.rows: list[np.ndarray] = []
        for i, joint in enumerate(self.joints):
            number, placement, first = (
                self.ids[joint.parent] if joint.parent >= 0 else 0,
                joint.placement,
                self.model.nv,
            )
            steps = _composed(joint.theirs()) if composite else joint.theirs()
            for k, step in enumerate(steps):
                number = self.model.addJoint(number, step, placement, f"joint{i}_{k}")
                placement = pin.SE3.Identity()
            self.ids.append(number)
            self.rows.append(np.arange(first, self.model.nv))
            for inertia, place in joint.inertias:
                self.model.appendBodyToJoint(number, inertia, place)
        self.data = self.model.createData()
        rng = np.random.default_rng(seed + 5000)
        self.q = rng.normal(size=self.ours.nq)
        for at, _ in self.ours.system.quaternions():
            self.q[at : at + 4] /= np.linalg.norm(self.q[at : at + 4])
        self.v, self.a = rng.normal(size=self.ours.nv), rng.normal(size=self.ours.nv)
        self._where = q_at, q_end, v_at
        self._map()

    def at_acceleration(self, a: np.ndarray) -> Pair:
        """The same state with another acceleration."""
        other = copy.copy(self)
        other.a = a
        other._map()
        return other

    def _map(self) -> None:
        q_at, q_end, v_at = self._where
        n, model = self.ours.nv, self.model
        self.q_pin, self.v_pin, self.a_pin = np.zeros(model.nq), np.zeros(n), np.zeros(n)
        # columns: our rates; rows: Pinocchio's
        self.N, self.Vq, self.Aq, self.Av = (np.zeros((n, n)) for _ in range(4))
        self.rate_forms: list[tuple[np.ndarray, np.ndarray, Any, np.ndarray]] = []
        at = 0
        for joint, rows, start, end, rates in zip(self.joints, self.rows, q_at, q_end, v_at, strict=True):
            q = self.q[start:end]
            position = joint.position(q)
            self.q_pin[at : at + len(position)] = position
            at += len(position)
            values = _rate_map_values(joint, q, self.v[rates], self.a[rates])
            self.v_pin[rows], self.a_pin[rows] = values["v"].ravel(), values["a"].ravel()
            block = np.ix_(rows, rates)
            self.N[block], self.Vq[block], self.Aq[block], self.Av[block] = (values[x] for x in ("N", "vq", "aq", "av"))
            self.rate_forms.append((rows, rates, values["force_form"], q))

    def rotated_force(self, tau: np.ndarray) -> np.ndarray:
        """d(N' tau)/dq at a fixed tau, in our increments."""
        out = np.zeros((self.ours.nv, self.ours.nv))
        for rows, rates, form, q in self.rate_forms:
            out[np.ix_(rates, rates)] = np.array(form(q, tau[rows]))
        return out

    def tangents(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Stiffness, damping and mass from Pinocchio's inverse-dynamics derivatives."""
        data = self.data
        tau = pin.rnea(self.model, data, self.q_pin, self.v_pin, self.a_pin).copy()
        pin.computeRNEADerivatives(self.model, data, self.q_pin, self.v_pin, self.a_pin)
        M, N = full(data.M), self.N
        K = N.T @ (data.dtau_dq @ N + data.dtau_dv @ self.Vq + M @ self.Aq) + self.rotated_force(tau)
        C = N.T @ (data.dtau_dv @ N + M @ self.Av)
        return K, C, N.T @ M @ N


def _composed(joints: list[Any]) -> list[Any]:
    if len(joints) == 1:
        return joints
    out = pin.JointModelComposite()
    for joint in joints:
        out.addJoint(joint)
    return [out]


def _rate_map_values(joint: Joint, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, Any]:
    """Pinocchio's rates and accelerations of one joint with their derivatives by our q (increments) and v."""
    x, xd, xdd, f = (ca.SX.sym(n, len(y)) for n, y in (("q", q), ("v", v), ("a", a), ("f", v)))
    parts = [part for motion, _ in joint.steps() for part in motion.parts]
    carrier = Motion("carrier", tuple(parts), 0, lambda q, c: (ca.DM.eye(3), ca.DM.zeros(3)))
    rate = carrier.rate_matrix(x)
    N = ca.SX(joint.rate_map(x, len(v)))
    v_pin = N @ xd
    a_pin = N @ xdd + ca.jtimes(v_pin, x, rate @ xd)
    expressions = {
        "N": N,
        "v": v_pin,
        "a": a_pin,
        "vq": ca.jacobian(v_pin, x) @ rate,
        "aq": ca.jacobian(a_pin, x) @ rate,
        "av": ca.jacobian(a_pin, xd),
    }
    function = ca.Function("map", [x, xd, xdd], [ca.densify(e) for e in expressions.values()])
    values: dict[str, Any] = dict(zip(expressions, map(np.array, function(q, v, a)), strict=True))
    values["force_form"] = ca.Function("f", [x, f], [ca.densify(ca.jacobian(N.T @ f, x) @ rate)])
    return values


def full(M: np.ndarray) -> np.ndarray:
    """The symmetric matrix whose upper triangle is M's."""
    return np.triu(M) + np.triu(M, 1).T


def close(ours: Any, theirs: Any) -> None:
    """Equal to 1e-10 of the largest entry (of one, where all entries vanish)."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    scale = np.abs(theirs).max()
    scale = scale if scale > 1e-6 else 1.0
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=RELATIVE * scale)


CASES = {
    **{f"{kind} alone": [kind] for kind in KINDS},
    **{f"{kind} below and above": ["revolute", kind, "revolute", kind] for kind in KINDS},
    "every kind": list(KINDS),
    "every kind twice": [*KINDS, *reversed(KINDS)],
    "shuffled": ["free", "revolute", "rotation_vector", "planar", "rotation", "helical", "universal", "free"],
    "chain of every kind": list(KINDS),
}


@pytest.fixture(scope="module", params=CASES)
def pair(request: pytest.FixtureRequest) -> Pair:
    name = request.param
    return Pair(CASES[name], seed=list(CASES).index(name), chain="chain" in name)


def test_the_trees_branch() -> None:
    joints = random_tree(CASES["every kind twice"], seed=list(CASES).index("every kind twice"), chain=False)
    parents = [joint.parent for joint in joints]
    assert max(parents.count(p) for p in parents) > 1


def test_poses_and_twists(pair: Pair) -> None:
    pin.forwardKinematics(pair.model, pair.data, pair.q_pin, pair.v_pin)
    R, p = pair.ours.node_poses(pair.q)
    V = pair.ours.node_twists(pair.q, pair.v)
    for node, number in zip(pair.nodes, pair.ids, strict=True):
        np.testing.assert_allclose(R[node], pair.data.oMi[number].rotation, atol=1e-12)
        np.testing.assert_allclose(p[node], pair.data.oMi[number].translation, atol=1e-12)
        expected = pin.getVelocity(pair.model, pair.data, number, pin.ReferenceFrame.WORLD).vector
        np.testing.assert_allclose(V[node], expected, atol=1e-10 * max(1, np.abs(expected).max()))


def test_accelerations_of_nodes(pair: Pair) -> None:
    pin.forwardKinematics(pair.model, pair.data, pair.q_pin, pair.v_pin, pair.a_pin)
    A = pair.ours.node_accelerations(0.0, pair.q, pair.v, pair.a)
    for node, number in zip(pair.nodes, pair.ids, strict=True):
        expected = pin.getAcceleration(pair.model, pair.data, number, pin.ReferenceFrame.WORLD).vector
        np.testing.assert_allclose(A[node], expected, atol=1e-10 * max(1, np.abs(expected).max()))


def test_mass_matrix(pair: Pair) -> None:
    M = full(pin.crba(pair.model, pair.data, pair.q_pin))
    close(pair.ours.mass_matrix(pair.q).toarray(), pair.N.T @ M @ pair.N)


def test_bias_and_gravity(pair: Pair) -> None:
    zero = np.zeros(pair.ours.nv)
    # accelerations of Pinocchio's rates that go with none of ours
    drift = pair.a_pin - pair.N @ pair.a
    bias = pin.rnea(pair.model, pair.data, pair.q_pin, pair.v_pin, drift)
    close(pair.ours.inverse(0.0, pair.q, pair.v, zero), pair.N.T @ bias)
    gravity = pin.computeGeneralizedGravity(pair.model, pair.data, pair.q_pin)
    close(pair.ours.inverse(0.0, pair.q, zero, zero), pair.N.T @ gravity)
    close(-pair.ours.force_by_source(0.0, pair.q, pair.v)["gravity"], pair.N.T @ gravity)


def test_inverse_dynamics(pair: Pair) -> None:
    tau = pin.rnea(pair.model, pair.data, pair.q_pin, pair.v_pin, pair.a_pin)
    close(pair.ours.inverse(0.0, pair.q, pair.v, pair.a), pair.N.T @ tau)


def test_forward_dynamics(pair: Pair) -> None:
    a_pin = pin.aba(pair.model, pair.data, pair.q_pin, pair.v_pin, np.zeros(pair.ours.nv))
    drift = pair.a_pin - pair.N @ pair.a
    a, multipliers = pair.ours.forward(0.0, pair.q, pair.v)
    close(a, np.linalg.solve(pair.N, a_pin - drift))
    assert multipliers.shape == (0,)


def test_energies(pair: Pair) -> None:
    kinetic = pin.computeKineticEnergy(pair.model, pair.data, pair.q_pin, pair.v_pin)
    potential = pin.computePotentialEnergy(pair.model, pair.data, pair.q_pin)
    ours = pair.ours.energies(0.0, pair.q, pair.v)
    assert ours[0] == pytest.approx(kinetic, rel=RELATIVE)
    assert ours[1] == pytest.approx(potential, rel=1e-9, abs=1e-9)
    np.testing.assert_array_equal(ours[2:], 0)


def test_derivatives_of_inverse_dynamics(pair: Pair) -> None:
    K, C, M = pair.tangents()
    ours = pair.ours.linearized(0.0, pair.q, pair.v, pair.a, np.zeros(0))
    close(ours.stiffness.toarray(), K)
    close(ours.mass.toarray(), M)
    close(ours.damping.toarray(), C)
    close(ours.residual, pair.N.T @ pin.rnea(pair.model, pair.data, pair.q_pin, pair.v_pin, pair.a_pin))


def test_derivatives_of_forward_dynamics(pair: Pair) -> None:
    a, da_dq, da_dv = pair.ours.forward_derivatives(0.0, pair.q, pair.v)
    close(a, pair.ours.forward(0.0, pair.q, pair.v)[0])
    # Pinocchio's tangents at the accelerations that solve the equations
    K, C, M = pair.at_acceleration(a).tangents()
    close(da_dq, -np.linalg.solve(M, K))
    close(da_dv, -np.linalg.solve(M, C))


@pytest.mark.parametrize("seed", range(3))
def test_forward_derivatives_are_pinocchios(seed: int) -> None:
    """Trees whose rates are the same in both engines need no map: the matrices themselves agree."""
    kinds = ["rotation", "revolute", "prismatic", "translation", "universal", "helical", "cylindrical", "planar"]
    pair = Pair(kinds, seed)
    pin.computeABADerivatives(pair.model, pair.data, pair.q_pin, pair.v_pin, np.zeros(pair.ours.nv))
    _, da_dq, da_dv = pair.ours.forward_derivatives(0.0, pair.q, pair.v)
    # rows and columns in Pinocchio's order of joints
    close(pair.N @ da_dq @ pair.N.T, pair.data.ddq_dq)
    close(pair.N @ da_dv @ pair.N.T, pair.data.ddq_dv)


@pytest.mark.parametrize("seed", range(3))
def test_composite_joints(seed: int) -> None:
    """Universal, cylindrical and planar joints as single joints of Pinocchio."""
    pair = Pair(["universal", "cylindrical", "planar", "universal", "planar"], seed, composite=True)
    for check in (test_poses_and_twists, test_mass_matrix, test_inverse_dynamics, test_forward_dynamics):
        check(pair)


def test_joint_reactions_of_a_closed_loop_in_motion():
    """`four_bar` cut open at its pin: with the pin's force as an external one, recursive Newton-Euler gives the same wrenches."""
    names = ("pivot1", "elbow", "pivot3")
    outputs = {name: {"reaction": name, "quantity": "wrench"} for name in names}
    outputs["pull"] = {"reaction": "pin", "expressed_in": "world"}
    robot = load("four_bar")
    eqs = derive(robot.model_copy(update={"outputs": {k: ReactionOutput(**x) for k, x in outputs.items()}}))
    run = simulate(eqs, 1.0, save_every=0.05)

    model = pin.Model()
    model.gravity = pin.Motion(np.array([0, -9.81, 0]), np.zeros(3))
    lengths, parents = (0.12, 0.50, 0.19), (0, 1, 0)
    places = ([0.15, 0, 0], [0.12, 0, 0], [0, 0.40, 0])
    for length, parent, place in zip(lengths, parents, places, strict=True):
        joint = model.addJoint(parent, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array(place)), str(length))
        slender = np.diag([0, length**2 / 12, length**2 / 12])
        model.appendBodyToJoint(joint, pin.Inertia(1.0, np.array([length / 2, 0, 0]), slender), pin.SE3.Identity())
    data = model.createData()
    accelerations = run.dataset["a"].values
    largest = 0.0
    for k in range(len(run.time)):
        pin.forwardKinematics(model, data, run.q[k])
        outside = pin.StdVec_Force([pin.Force.Zero() for _ in range(4)])
        for joint, length, sign in ((2, 0.50, -1), (3, 0.19, 1)):
            force = data.oMi[joint].rotation.T @ (sign * run["pull"].values[k])
            outside[joint] = pin.Force(force, np.cross([length, 0, 0], force))
        torques = pin.rnea(model, data, run.q[k], run.v[k], accelerations[k], outside)
        assert np.abs(torques).max() < 1e-9
        for joint, name in enumerate(names, start=1):
            np.testing.assert_allclose(run[name].values[k], data.f[joint].vector, atol=1e-9)
            largest = max(largest, float(np.abs(data.f[joint].linear).max()))
    assert largest > 50
