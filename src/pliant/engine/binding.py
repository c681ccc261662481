"""The equations with current values: constants, inputs, active constraint rows. Immutable; all evaluations are its methods."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy

from pliant.engine.contacts import Contacts, contact_tangents
from pliant.engine.layout import BINDING_NUMBERS, BindingStruct
from pliant.engine.libraries import extension_module
from pliant.engine.model.inputs import HELD, SERIES
from pliant.engine.program import EvaluationError, Program, check
from pliant.language.time_series import TimeSeries
from pliant.parts.assembly.system import System


@dataclass(frozen=True)
class LinearizedEquations:
    """First-order change of the equations at a state.

    `residual` = M a + h - J'lambda; `stiffness` = d/dq, `damping` = d/dv, `mass` = d/da of it (sparse, per local
    increment of q); `phi`, `jacobian`: constraint values [m or rad] and Jacobian. `rate_sizes` (nv) and `row_sizes` (m): reference
    sizes of increments of q and constraint values, see `Binding.sizes` and `Binding.constraint_sizes`.
    """

    residual: np.ndarray
    stiffness: scipy.sparse.csc_matrix
    damping: scipy.sparse.csc_matrix
    mass: scipy.sparse.csc_matrix
    phi: np.ndarray
    jacobian: scipy.sparse.csr_matrix
    rate_sizes: np.ndarray
    row_sizes: np.ndarray

    def in_sizes(self) -> LinearizedEquations:
        """The same in increments of q and constraint values relative to their sizes: forces are then work [J], and all entries of
        a matrix have the same dimension for any type of coordinates."""
        rates, rows = self.rate_sizes, 1 / self.row_sizes
        return LinearizedEquations(
            rates * self.residual, _scaled(self.stiffness, rates, rates), _scaled(self.damping, rates, rates),
            _scaled(self.mass, rates, rates), rows * self.phi, _scaled(self.jacobian, rows, rates),
            np.ones_like(self.rate_sizes), np.ones_like(self.row_sizes),
        )  # fmt: skip


def _scaled(matrix: Any, compressed: np.ndarray, others: np.ndarray) -> Any:
    """A sparse matrix with its columns (csc) or rows (csr) and the others scaled by factors; SciPy's products take far longer."""
    factors = np.repeat(compressed, np.diff(matrix.indptr)) * others[matrix.indices]
    return on_pattern(matrix, matrix.data * factors)


def on_pattern(pattern: Any, values: np.ndarray) -> Any:
    """A sparse matrix with other values on its pattern. SciPy's constructors would validate the whole pattern each time."""
    matrix = object.__new__(type(pattern))
    # nothing is shared with the pattern: users may change the matrix in place
    arrays = {"data": values, "indices": pattern.indices.copy(), "indptr": pattern.indptr.copy()}
    matrix.__dict__.update(pattern.__dict__, **arrays)
    return matrix


GRAVITY = slice(0, 3)
"""Index of the acceleration of gravity in the constants."""

ALL_LAWS, NO_LAW = -1, -2
"""Values of the active contact law in `pl_binding`: all laws, or none."""
NO_MEMORY, AS_NOW, SINCE = 0, 1, 2
"""Kinds of contact memory in `pl_binding`: none; the current friction springs; those in given poses."""

FORCES = ("coordinate_force_active", "frame_force_active", "route_active")
"""Names in `pl_binding` of the activity of forces, in the order of `Binding.force_active`."""


class Batch(NamedTuple):
    """Quantities along a motion, one row per state: energies (5, see `Binding.energies`), inputs, signals and their rates, and
    rotation (3 x 3), position (3) and world twist (6) of every node."""

    energies: np.ndarray
    inputs: np.ndarray
    signals: np.ndarray
    signal_rates: np.ndarray
    rotations: np.ndarray
    positions: np.ndarray
    twists: np.ndarray


@dataclass(frozen=True, eq=False)
class Binding:
    """A program with values for everything that may differ between two uses of the equations.

    Attributes:
        program: the equations.
        constants: constants of all elements, gravity first.
        parameters: values of the parameters.
        held: values of constant inputs.
        input_kind: per input, whether it is constant, an expression of time, or a series.
        input_series: per input, the index of its series in `series`, or -1.
        series: series that inputs follow.
        row_active: 1 for each active constraint row, 0 for redundant rows.
        force_active: 1 for each active coordinate force, frame force and routed line.
    """

    program: Program
    constants: np.ndarray
    parameters: np.ndarray
    held: np.ndarray
    input_kind: np.ndarray
    input_series: np.ndarray
    series: tuple[TimeSeries, ...]
    row_active: np.ndarray
    force_active: tuple[np.ndarray, np.ndarray, np.ndarray] = field(repr=False)

    nq: int = field(init=False, repr=False)
    nv: int = field(init=False, repr=False)
    m: int = field(init=False, repr=False)
    """Numbers in q, numbers in v, constraint rows."""
    address: int = field(init=False, repr=False)
    all_rows: bool = field(init=False, repr=False)
    """Whether all constraint rows are active."""
    _struct: BindingStruct = field(init=False, repr=False)
    _kept: dict[str, np.ndarray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        numbers = {"constants": self.constants, "parameters": self.parameters, "held": self.held}
        integers = {"input_kind": self.input_kind, "input_series": self.input_series, "row_active": self.row_active}
        forces = dict(zip(FORCES, self.force_active, strict=True))
        contacts = {
            "contact_records": np.zeros(0),
            "contact_poses": np.zeros(0),
            "contact_state": [NO_MEMORY, 0, ALL_LAWS],
        }
        program = self.program
        self.__dict__.update(nq=program.nq, nv=program.nv, m=program.m)
        self._put(BindingStruct(), {}, {**numbers, **integers, **forces, **contacts, **_in_a_row(self.series)})

    def _put(self, struct: BindingStruct, kept: dict[str, np.ndarray], arrays: Mapping[str, Any]) -> None:
        """Set these arrays in the structure of the runtime, by their names in `pl_binding`; `kept` are those that it has
        already."""
        own, address = self.__dict__, extension_module().address
        for name, values in arrays.items():
            kept[name] = array = frozen_array(values, float if name in BINDING_NUMBERS else np.int32)
            setattr(struct, name, address(array))
            if name in own:
                own[name] = array
        if "row_active" in arrays:
            own["all_rows"] = bool(kept["row_active"].all())
        own["force_active"] = tuple(kept[name] for name in FORCES)
        own["_struct"], own["_kept"], own["address"] = struct, kept, ctypes.addressof(struct)

    def _with(self, arrays: Mapping[str, Any], series: tuple[TimeSeries, ...] | None = None) -> Binding:
        """The same with other arrays, by their names in `pl_binding`. All others are shared."""
        other = object.__new__(Binding)
        other.__dict__.update(self.__dict__)
        if series is not None:
            other.__dict__["series"] = series
            arrays = {**arrays, **_in_a_row(series)}
        other._put(BindingStruct.from_buffer_copy(self._struct), dict(self._kept), arrays)
        return other

    @classmethod
    def of(
        cls, program: Program, *, constants: Any = None, parameters: Any = None, held: Any = None,
        input_kind: Any = None,
    ) -> Binding:  # fmt: skip
        """A binding with all rows and forces active; missing values are those of the system and its plan, or zero."""
        system, plan = program.system, program.plan
        forces = (system.coordinate_forces, system.frame_forces, system.routes)
        return cls(
            program,
            system.constants.numbers if constants is None else constants,
            np.zeros(plan.parameter_count) if parameters is None else parameters,
            np.zeros(len(plan.kinds)) if held is None else held,
            np.array(plan.kinds, dtype=np.int32) if input_kind is None else input_kind,
            np.array(plan.series, dtype=np.int32),
            plan.table,
            np.ones(system.rows, dtype=np.int32),
            tuple(np.ones(len(members), dtype=np.int32) for members in forces),  # type: ignore[arg-type]
        )

    # -- sizes ---------------------------------------------------------------------------------------------------------

    @property
    def system(self) -> System:
        """The mechanical system."""
        return self.program.system

    @property
    def active_rows(self) -> np.ndarray:
        """Whether each constraint row is active (booleans)."""
        return self.row_active.astype(bool)

    # -- other bindings ------------------------------------------------------------------------------------------------

    def with_rows(self, rows: np.ndarray) -> Binding:
        """The same with these active constraint rows (1 or 0 each)."""
        return self if np.array_equal(rows, self.row_active) else self._with({"row_active": rows})

    def with_held(self, values: Mapping[int, float]) -> Binding:
        """The same with inputs, by index, held constant at these values."""
        if not values:
            return self
        held, kinds = self.held.copy(), self.input_kind
        for index, value in values.items():
            held[index] = value
        held.flags.writeable = False
        arrays = {"held": held}
        if any(kinds[index] != HELD for index in values):
            arrays["input_kind"] = kinds = kinds.copy()
            kinds[list(values)] = HELD
            kinds.flags.writeable = False
        return self._with(arrays)

    def with_series(self, series: Mapping[int, TimeSeries]) -> Binding:
        """The same with inputs, by index, that follow series."""
        if not series:
            return self
        kinds, which, table = self.input_kind.copy(), self.input_series.copy(), list(self.series)
        for index, values in series.items():
            kinds[index], which[index] = SERIES, len(table)
            table.append(values)
        return self._with({"input_kind": kinds, "input_series": which}, tuple(table))

    def with_contacts(self, records: np.ndarray | None, since: np.ndarray | None = None) -> Binding:
        """The same with this contact memory: records of the current contacts or, with positions q `since`, of the contacts in
        that pose.
        None: without memory."""
        law = self._kept["contact_state"][2]
        if records is None:
            return self._with({"contact_state": [NO_MEMORY, 0, law]})
        arrays: dict[str, Any] = {"contact_records": records.ravel(), "contact_state": [AS_NOW, len(records), law]}
        if since is not None:
            rotations, positions = self.node_poses(since)
            poses = np.concatenate([rotations.transpose(0, 2, 1).ravel(), positions.ravel()])
            arrays |= {"contact_poses": poses, "contact_state": [SINCE, len(records), law]}
        return self._with(arrays)

    def with_memory_of(self, other: Binding) -> Binding:
        """The same with the contact memory of another binding."""
        return self._with({name: other._kept[name] for name in ("contact_records", "contact_poses", "contact_state")})

    def with_parameters(
        self, parameters: np.ndarray, constants: np.ndarray, held: Mapping[int, float] | None = None
    ) -> Binding:
        """The same with other values of the parameters, and the resulting constants; and with inputs, by index, held constant at
        other values."""
        arrays: dict[str, Any] = {"parameters": parameters, "constants": constants}
        if held:
            arrays["held"] = values = self.held.copy()
            for index, value in held.items():
                values[index] = value
            if any(self.input_kind[index] != HELD for index in held):
                arrays["input_kind"] = kinds = self.input_kind.copy()
                kinds[list(held)] = HELD
            values.flags.writeable = False
        return self._with(arrays)

    def with_constants(self, constants: np.ndarray) -> Binding:
        """The same with other constants of its elements."""
        return self._with({"constants": constants})

    def with_forces(self, active: Iterable[Iterable[bool]], *, gravity: bool, law: int = NO_LAW) -> Binding:
        """The same with only some of the forces: on coordinates, between frames, along routes; with or without gravity; and of
        contacts by one law, or none."""
        constants = self.constants.copy()
        if not gravity:
            constants[GRAVITY] = 0
        forces = (np.array(list(x), dtype=np.int32) for x in active)
        state = [*self._kept["contact_state"][:2], law]
        return self._with({"constants": constants, "contact_state": state, **dict(zip(FORCES, forces, strict=True))})

    def without_contacts(self) -> Binding:
        """The same without contacts."""
        return self._with({"contact_state": [*self._kept["contact_state"][:2], NO_LAW]})

    def same_values(self, other: Binding) -> bool:
        """Whether constants, parameters and inputs are equal to those of the other binding."""
        if self is other:
            return True
        names = ("constants", "parameters", "held", "input_kind", "input_series")
        equal = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
        return equal and len(self.series) == len(other.series) and all(
            a is b for a, b in zip(self.series, other.series, strict=True)
        )  # fmt: skip

    # -- evaluations ---------------------------------------------------------------------------------------------------

    def forward(self, t: float, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations [nv] and multipliers [m]."""
        return self.program.calls.forward(self, t, q, v)

    def fastest_rate(self, t: float, q: Any, v: Any) -> float:
        """Magnitude [1/s] of the fastest vibration or decay about a state, by power iteration; infinite if a rate has no mass."""
        return float(self.program.calls.fastest_rate(self, t, q, v)[0])

    def forward_derivatives(self, t: float, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accelerations and their exact derivatives with respect to increments of q and to v (unconstrained systems)."""
        if self.m:
            raise EvaluationError("derivatives of constrained accelerations: use linearized")
        return self.program.calls.forward_derivatives(self, t, q, v)

    def inverse(self, t: float, q: Any, v: Any, a: Any) -> np.ndarray:
        """M a + h [nv]."""
        return self.program.calls.inverse(self, t, q, v, a)

    def linearized(self, t: float, q: Any, v: Any, a: Any, multipliers: Any) -> LinearizedEquations:
        """Residual, constraints and exact tangents."""
        return self.linear(*self.program.calls.linearized(self, t, q, v, a, multipliers))

    def constraint_values(self, t: float, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Constraint values, rates and convective accelerations [m]."""
        value, rate, bias, _ = self.program.calls.constraints(self, t, q, v)
        return value, rate, bias

    def constraint_sizes(self, t: float, q: Any, v: Any) -> np.ndarray:
        """Reference sizes of constraint values: 1 for angles, the extent of the robot in this pose [m] for lengths, the largest
        of the coordinates' sizes for sums of coordinates."""
        return np.asarray(self.program.calls.constraint_sizes(self, t, q, v))

    def sizes(self, q: Any) -> tuple[float, np.ndarray]:
        """Size of the robot in a pose [m], and reference sizes of increments of q (nv): the increment that rotates a node by a
        radian, or moves it by the robot's size."""
        reach, rates = self.program.calls.sizes(self, q)
        return float(reach[0]), rates

    def constraint_jacobian(self, t: float, q: Any, v: Any) -> np.ndarray:
        """Jacobian of the constraints as a full matrix (m x nv)."""
        *_, values = self.program.calls.constraints(self, t, q, v)
        tables = self.program.tables
        full = np.zeros((self.m, self.nv))
        np.add.at(full, (tables.jacobian_rows, tables.jacobian_columns), values)
        return full

    def constraints(
        self, t: float, q: Any, v: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, scipy.sparse.csr_matrix]:
        """Constraint values, rates, convective accelerations [m] and Jacobian (m x nv)."""
        value, rate, bias, jacobian = self.program.calls.constraints(self, t, q, v)
        return value, rate, bias, self._jacobian(jacobian)

    def acceleration_tangent(self, t: float, q: Any, v: Any, a: Any) -> tuple[np.ndarray, np.ndarray]:
        """d(J a + gamma)/dq and /dv (m x nv) in a state."""
        by_q, by_v = self.program.calls.acceleration_tangent(self, t, q, v, a)
        return by_q.T, by_v.T

    def input_tangent(self, t: float, q: Any, v: Any) -> np.ndarray:
        """d(M a + h)/d(signal), nv x signals."""
        by_signal: np.ndarray = self.program.calls.input_tangent(self, t, q, v)
        return by_signal.T

    def mass_matrix(self, q: Any) -> scipy.sparse.csc_matrix:
        """M(q), sparse."""
        return self.matrix(self.program.calls.mass_matrix(self, q))

    def node_poses(self, q: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rotation matrices (nodes x 3 x 3) and positions (nodes x 3) of all nodes; node 0 is the world."""
        return self.program.calls.node_poses(self, q)

    def node_twists(self, q: Any, v: Any) -> np.ndarray:
        """World twists (linear velocity at the world's origin, angular) of all nodes, nodes x 6."""
        return self.program.calls.node_twists(self, q, v)

    def node_jacobian(self, q: Any, node: int) -> np.ndarray:
        """World twist of a node per rate, 6 x nv."""
        return self.program.calls.node_jacobian(self, q, np.array([[node, 0]], dtype=np.int32))

    def node_subspaces(self, q: Any, nodes: Iterable[int]) -> list[np.ndarray]:
        """World twists of nodes per rate of the element that moves each of them, 6 x the number of its rates."""
        subspaces, begins = self.program.calls.node_subspaces(self, q), self.program.tables.integers["node_s"]
        out = []
        for k in nodes:
            at, size = int(begins[k]), self.system.elements[self.system.element_of(k)].v_size
            out.append(subspaces[at : at + 6 * size].reshape(size, 6).T)
        return out

    def node_accelerations(self, t: float, q: Any, v: Any, a: Any) -> np.ndarray:
        """World spatial accelerations of all nodes (at the world's origin), nodes x 6."""
        return self.program.calls.node_accelerations(self, t, q, v, a)

    def energies(self, t: float, q: Any, v: Any) -> np.ndarray:
        """Kinetic, potential [J], dissipated power, supplied power [W], largest constraint error."""
        return self.program.calls.energies(self, t, q, v)

    def signals(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and signals at time t [s]."""
        inputs, signals, _, _ = self.program.calls.signals(self, t)
        return inputs, signals

    def signal_rates(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """First and second time derivatives of the signals at time t [s]."""
        _, _, rates, accelerations = self.program.calls.signals(self, t)
        return rates, accelerations

    def input_nodes(self, index: int, begin: float, end: float) -> np.ndarray:
        """Times from `begin` to `end` [s] between which an input, by index, is constant or a smooth curve: its first time, and the
        samples of a series."""
        if self.input_kind[index] != SERIES:
            return np.array([begin])
        times = self.series[self.input_series[index]].time
        return np.concatenate([[begin], times[(times > begin) & (times <= end)]])

    def input_motion(self, index: int, t: float) -> tuple[float, float, float]:
        """An input, by index, with its rate and acceleration at time t [s]."""
        if self.input_kind[index] == SERIES:
            return self.series[self.input_series[index]].at(t)
        if self.input_kind[index] == HELD:
            return float(self.held[index]), 0.0, 0.0
        function = self.program.plan.inputs
        assert function is not None, "there is an input that is an expression"
        value, rate, acceleration = (float(x[index]) for x in function(t, self.parameters))
        return value, rate, acceleration

    def project(self, t: float, q: Any, v: Any, tolerance: float = 1e-12) -> tuple[np.ndarray, np.ndarray]:
        """The closest state (in the mass metric) that satisfies the constraints."""
        return self.program.calls.project(self, t, q, v, tolerance)

    def increment(self, q: Any, x: Any) -> np.ndarray:
        """q with the increment x (nv) applied on the group."""
        return self.program.calls.increment(self, q, x)

    def bracket(self, v: np.ndarray) -> np.ndarray:
        """Gamma with d(increment)/dt = change of v - Gamma increment: hat(w) for the rates w of free rotations, zero for others."""
        gamma = np.zeros((self.nv, self.nv))
        for _, at in self.system.quaternions():
            w = v[at : at + 3]
            gamma[at : at + 3, at : at + 3] = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
        return gamma

    def coriolis_matrix(self, t: float, q: Any, v: Any) -> scipy.sparse.csc_matrix:
        """C(q, v), nv x nv; see `Equations.coriolis_matrix`.

        The velocity forces are quadratic in v: `h_i = G_ijk v_j v_k`. Half their derivative with respect to v is the matrix `G_ijk
        v_k` that is symmetric in j and k, the Christoffel symbols in plain coordinates. Rates of rotations are not
        derivatives of coordinates: the torsion-free connection also contains half of their bracket.
        """
        v, rest = np.asarray(v, dtype=float), np.zeros(self.nv)
        groups: tuple[Sequence[Any], ...] = (
            self.system.coordinate_forces,
            self.system.frame_forces,
            self.system.routes,
        )
        alone = self.with_forces([[False] * len(members) for members in groups], gravity=False)
        # evaluated at v and -v: contributions of prescribed motions are linear in v or independent of it
        there, back = (alone.linearized(t, q, sign * v, rest, np.zeros(self.m)) for sign in (1, -1))
        mass = there.mass @ scipy.sparse.csc_matrix(self.bracket(v))
        return scipy.sparse.csc_matrix((there.damping - back.damping) / 4 + mass / 2)

    def force_by_source(self, t: float, q: Any, v: Any) -> dict[str, np.ndarray]:
        """Generalized forces [nv] of gravity and of every interaction, summed by source."""
        rest = np.zeros(self.nv)
        system = self.system
        groups: tuple[Sequence[Any], ...] = (system.coordinate_forces, system.frame_forces, system.routes)
        none = [[False] * len(members) for members in groups]
        out = {"gravity": -self.with_forces(none, gravity=True).inverse(t, q, rest, rest)}
        inertial = self.with_forces(none, gravity=False).inverse(t, q, v, rest)
        for source in dict.fromkeys(member.source for members in groups for member in members):
            active = [[member.source == source for member in members] for members in groups]
            out[source] = inertial - self.with_forces(active, gravity=False).inverse(t, q, v, rest)
        for k, law in enumerate(system.contacts.laws):
            out[law.name] = inertial - self.with_forces(none, gravity=False, law=k).inverse(t, q, v, rest)
        return out

    def batch(
        self, time: Any, q: Any, v: Any, contacts: Contacts | None = None, *, with_energies: bool = True,
        with_poses: bool = True,
    ) -> Batch:  # fmt: skip
        """Quantities along a motion: time [n], q [n x nq], v [n x nv]; contacts: recorded ones, if known. Energies, which require
        forces, and poses and twists may be omitted."""
        given = [np.ascontiguousarray(x, dtype=float) for x in (time, q, v)]
        count, nodes, signals = len(given[0]), len(self.system.nodes) * with_poses, self.system.signal_count
        shapes = (
            (5 * with_energies,), (len(self.held),), (signals,), (signals,), (nodes, 3, 3), (nodes, 3), (nodes, 6),
        )  # fmt: skip
        found = [np.zeros((count, *shape)) for shape in shapes]
        w = self.program.workspace(self)
        address = extension_module().address
        remembered = [None, None] if contacts is None else [address(contacts.begins), address(contacts.rows)]
        states, out = ([address(x) for x in arrays] for arrays in (given, found))
        out[0] *= with_energies
        out[4] *= with_poses
        check(w.library.pl_batch(w.address, count, *states, *remembered, *out))
        found[4] = found[4].transpose(0, 1, 3, 2)  # column-major in the runtime
        return Batch(*found)

    def carried(
        self, time: Any, q: Any, v: Any, a: Any, multipliers: Any, nodes: Sequence[int],
        contacts: Contacts | None = None,
    ) -> np.ndarray:  # fmt: skip
        """World wrenches (force, moment about the world's origin) transmitted by nodes to their bases in states of a motion: the
        sum over everything fixed to them or supported by them, as exerted by the base on the node. n x nodes x 6."""
        given = [np.ascontiguousarray(x, dtype=float) for x in (time, q, v, a, multipliers)]
        out, wanted = np.zeros((len(given[0]), len(nodes), 6)), np.array(nodes, dtype=np.int32)
        w = self.program.workspace(self)
        addresses = (x.ctypes.data for x in given)
        remembered = [None, None] if contacts is None else [contacts.begins.ctypes.data, contacts.rows.ctypes.data]
        check(
            w.library.pl_batch_carried(
                w.address, len(out), *addresses, *remembered, len(nodes), wanted.ctypes.data, out.ctypes.data
            )
        )
        return out

    # -- matrices ------------------------------------------------------------------------------------------------------

    def linear(
        self, residual: np.ndarray, K: np.ndarray, C: np.ndarray, M: np.ndarray, phi: np.ndarray, J: np.ndarray,
        rate_sizes: np.ndarray, row_sizes: np.ndarray,
    ) -> LinearizedEquations:  # fmt: skip
        """The linearized equations from the values of its matrices."""
        stiffness, damping = self.matrix(K), self.matrix(C)
        touching = contact_tangents(self)
        if touching is not None:
            stiffness, damping = stiffness + touching[0], damping + touching[1]
        return LinearizedEquations(
            residual, stiffness, damping, self.matrix(M), phi, self._jacobian(J), rate_sizes, row_sizes
        )

    def matrix(self, values: np.ndarray) -> scipy.sparse.csc_matrix:
        """A matrix nv x nv with these values on the pattern of the mass matrix."""
        return on_pattern(self.program.matrix_pattern, values)

    def _jacobian(self, values: np.ndarray) -> scipy.sparse.csr_matrix:
        slots, pattern = self.program.jacobian_pattern
        return on_pattern(pattern, np.bincount(slots, weights=values, minlength=len(pattern.indices)))


def _in_a_row(series: Sequence[TimeSeries]) -> dict[str, np.ndarray]:
    """Times and coefficients of all series, concatenated, and the index at which each begins."""
    time = np.concatenate([s.time for s in series]) if series else np.zeros(0)
    poly = np.concatenate([s.poly.ravel() for s in series]) if series else np.zeros(0)
    begin = np.cumsum([0] + [len(s.time) for s in series])
    return {"series_time": time, "series_poly": poly, "series_begin": begin}


def frozen_array(values: Any, kind: Any) -> np.ndarray:
    """A read-only array of this type; the array itself if it already is one."""
    array = np.ascontiguousarray(values, dtype=kind)
    if array is values and not array.flags.writeable:
        return array
    if array is values or array.base is not None:
        array = array.copy()
    array.flags.writeable = False
    return array
