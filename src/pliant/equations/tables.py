"""From a System to the integer tables that drive the compiled runtime.

`COUNTS`, `INTEGERS`, `NUMBERS` and `KERNELS` are the only list of what the tables hold: they make the C header, the ctypes
structure and the initializers of exported code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sp

from pliant.equations.inertia_kernel import inertia_kernels
from pliant.equations.inertia_tables import fill_inertias, inertia_elements, is_articulated
from pliant.equations.kernel import (
    Kernels,
    constraint_kernels,
    coordinate_force_kernels,
    frame_force_kernels,
    has_constant_subspace,
    motion_kernels,
    route_kernels,
)
from pliant.equations.pattern import (
    DENSE_FROM_FILL,
    DENSE_UP_TO,
    BlockPositions,
    saddle_pattern,
    system_pattern,
)
from pliant.equations.route_tables import fill_route_tables
from pliant.model.inputs import InputPlan
from pliant.model.system import Inert, System

COUNTS = (
    "n_node n_elem nq nv m n_theta n_s n_d n_cforce n_fforce n_con n_linear n_quat n_plain n_signal n_input "
    "n_parameter has_input_kernel nnz nnz_j nnz_kkt kkt_dense kernel_w kernel_iw "
    "n_inertia n_coupled inertia_columns n_route n_route_point"
).split()
INTEGERS = (
    "elem_base elem_q elem_v elem_k elem_d elem_node elem_nodes elem_pos elem_stride "
    "node_elem node_kind node_theta node_s node_constant node_mass "
    "path_begin path_node path_lower path_upper colptr row "
    "cforce_kind cforce_q cforce_v cforce_k cforce_theta cforce_signal cforce_signals cforce_begin cforce_column "
    "fforce_kind fforce_begin fforce_nodes fforce_theta fforce_signal fforce_signals "
    "fpair_begin fpair_a fpair_b fpair_row fpair_col fpair_pos "
    "route_kind route_begin route_nodes route_slot route_theta route_law route_signal route_signals "
    "rcol_begin rcol_node rcol_sign rrow_begin rrow_node rrow_case rrow_pos "
    "rtouch_begin rtouch_node rtouch_base relem_begin relem rblock_begin rblock_pos "
    "con_kind con_begin con_nodes con_theta con_size con_row conj_begin conj_frame conj_node conj_pos "
    "cpair_begin cpair_a cpair_b cpair_row cpair_col cpair_pos "
    "linear_row linear_theta linear_begin linear_q linear_v linear_coefficient linear_pos row_signal "
    "j_row j_col kkt_colptr kkt_row kkt_order kkt_of kkt_of_j kkt_of_jt kkt_of_diagonal "
    "quat_q quat_v plain_q plain_v input_kind input_series series_begin "
    "inertia_kind inertia_frames inertia_node inertia_second inertia_k inertia_theta inertia_owned "
    "inertia_articulated inertia_begin inertia_pair mover_elem mover_own mover_node mover_pos"
).split()
NUMBERS = "series_time series_poly".split()
KERNELS = (
    "motion_kinematics motion_tangent motion_own cforce_value cforce_tangent fforce_value fforce_tangent "
    "con_value con_tangent input_kernel signal_kernel inertia_value inertia_tangent route_value route_tangent"
).split()


def header(maxima: dict[str, int]) -> str:
    """The C header `pl_tables.h` for robots within the given maxima."""
    lines = ["/* Generated: sizes and tables of a robot. */", "#ifndef PL_TABLES_H", "#define PL_TABLES_H"]
    lines += [f"#define {name} {value}" for name, value in maxima.items()]
    lines += ["typedef struct pl_tables {"]
    lines += [f"  int {name};" for name in COUNTS]
    lines += [f"  const int *{name};" for name in INTEGERS]
    lines += [f"  const double *{name};" for name in NUMBERS]
    lines += [f"  int (**{name})(const double **, double **, long long *, double *, int);" for name in KERNELS]
    lines += ["} pl_tables;", "#endif", ""]
    return "\n".join(lines)


class TablesStruct(ctypes.Structure):
    """`pl_tables` as ctypes sees it."""

    _fields_ = (
        [(name, ctypes.c_int) for name in COUNTS]
        + [(name, ctypes.c_void_p) for name in INTEGERS]
        + [(name, ctypes.c_void_p) for name in NUMBERS]
        + [(name, ctypes.c_void_p) for name in KERNELS]
    )


@dataclass(frozen=True)
class Tables:
    """Filled tables: counts, integer and float arrays, and per kernel slot the functions in use."""

    counts: dict[str, int]
    integers: dict[str, np.ndarray]
    numbers: dict[str, np.ndarray]
    kernels: dict[str, tuple[ca.Function, ...]]
    libraries: tuple[Kernels, ...]
    maxima: dict[str, int]
    pattern: sp.csc_matrix
    jacobian_rows: np.ndarray
    jacobian_columns: np.ndarray


class _Kinds:
    """Numbers the kinds in use, in order of first use."""

    def __init__(self, make: Callable[[Any], Kernels]) -> None:
        self.make = make
        self.index: dict[Any, int] = {}
        self.kernels: list[Kernels] = []

    def number(self, kind: Any) -> int:
        if kind not in self.index:
            self.index[kind] = len(self.kernels)
            self.kernels.append(self.make(kind))
        return int(self.index[kind])


def build_tables(system: System, plan: InputPlan) -> Tables:
    """All tables of a system."""
    integers: dict[str, Any] = {name: [] for name in INTEGERS}
    motions, cforces, fforces, routes, constraints = (
        _Kinds(motion_kernels),
        _Kinds(coordinate_force_kernels),
        _Kinds(frame_force_kernels),
        _Kinds(route_kernels),
        _Kinds(constraint_kernels),
    )
    element_of = _elements(system, integers, motions)
    pattern = system_pattern(system)
    positions = BlockPositions(system, pattern, element_of)
    _tree_positions(system, integers, positions)
    for f in system.coordinate_forces:
        for name, value in (
            ("kind", cforces.number(f.kind)),
            ("q", f.q_at),
            ("v", f.v_at),
            ("k", f.size),
            ("theta", f.constants),
            ("signal", f.signals),
            ("signals", f.kind.signals),
            ("begin", len(integers["cforce_column"])),
        ):
            integers[f"cforce_{name}"].append(value)
        # rates are numbered in a row, so each column's entries of the block stand in a row too
        integers["cforce_column"] += [positions.entry(f.v_at, f.v_at + j) for j in range(f.size)]
    for applied in system.frame_forces:
        integers["fforce_kind"].append(fforces.number(applied.kind))
        integers["fforce_begin"].append(len(integers["fforce_nodes"]))
        integers["fforce_nodes"].extend(applied.nodes)
        integers["fforce_theta"].append(applied.constants)
        integers["fforce_signal"].append(applied.signals)
        integers["fforce_signals"].append(applied.kind.signals)
        _pairs(system, positions, applied.nodes, integers, "fpair")
    integers["fforce_begin"].append(len(integers["fforce_nodes"]))
    integers["fpair_begin"].append(len(integers["fpair_a"]))
    inertias = _Kinds(inertia_kernels)
    fill_inertias(system, positions, integers, inertias.number)
    fill_route_tables(system, positions, integers, [routes.number(r.kind) for r in system.routes])
    jacobian = _constraints(system, positions, integers, constraints)
    kkt = saddle_pattern(system, pattern, jacobian, integers)
    quaternions = system.quaternions()
    plain_q = np.setdiff1d(np.arange(system.q_size), [q + k for q, _ in quaternions for k in range(4)])
    plain_v = np.setdiff1d(np.arange(system.v_size), [v + k for _, v in quaternions for k in range(3)])
    integers["quat_q"], integers["quat_v"] = [q for q, _ in quaternions], [v for _, v in quaternions]
    integers["plain_q"], integers["plain_v"] = plain_q.tolist(), plain_v.tolist()
    integers["input_kind"], integers["input_series"] = list(plan.kinds), list(plan.series)
    integers["series_begin"] = np.cumsum([0] + [len(s.time) for s in plan.table]).tolist()
    libraries = [
        *motions.kernels,
        *cforces.kernels,
        *fforces.kernels,
        *routes.kernels,
        *constraints.kernels,
        *inertias.kernels,
    ]
    if plan.inputs is not None:
        libraries.append(Kernels("inputs", (plan.inputs,)))
    if plan.signals is not None:
        libraries.append(Kernels("signals", (plan.signals,)))
    slots: dict[str, tuple[ca.Function, ...]] = {
        "motion_kinematics": tuple(k.functions[0] for k in motions.kernels),
        "motion_tangent": tuple(k.functions[1] for k in motions.kernels),
        "motion_own": tuple(k.functions[2] for k in motions.kernels),
        "cforce_value": tuple(k.functions[0] for k in cforces.kernels),
        "cforce_tangent": tuple(k.functions[1] for k in cforces.kernels),
        "fforce_value": tuple(k.functions[0] for k in fforces.kernels),
        "fforce_tangent": tuple(k.functions[1] for k in fforces.kernels),
        "route_value": tuple(k.functions[0] for k in routes.kernels),
        "route_tangent": tuple(k.functions[1] for k in routes.kernels),
        "con_value": tuple(k.functions[0] for k in constraints.kernels),
        "con_tangent": tuple(k.functions[1] for k in constraints.kernels),
        "inertia_value": tuple(k.functions[0] for k in inertias.kernels),
        "inertia_tangent": tuple(k.functions[1] for k in inertias.kernels),
        "input_kernel": (plan.inputs,) if plan.inputs is not None else (),
        "signal_kernel": (plan.signals,) if plan.signals is not None else (),
    }
    functions = [f for k in libraries for f in k.functions]
    fill = kkt.nnz / max(1, kkt.shape[0]) ** 2
    counts = {
        "n_node": len(system.nodes),
        "n_elem": len(system.elements),
        "nq": system.q_size,
        "nv": system.v_size,
        "m": system.rows,
        "n_theta": len(system.constants.numbers),
        "n_s": integers["node_s"][-1] + 6 * system.elements[-1].v_size if system.elements else 0,
        "n_d": sum(e.v_size**2 for e in system.elements),
        "n_cforce": len(system.coordinate_forces),
        "n_fforce": len(system.frame_forces),
        "n_route": len(system.routes),
        "n_route_point": len(integers["route_nodes"]),
        "n_con": len(system.constraints),
        "n_linear": len(system.linear_constraints),
        "n_quat": len(quaternions),
        "n_plain": len(plain_q),
        "n_signal": system.signal_count,
        "n_input": len(plan.kinds),
        "n_parameter": plan.parameter_count,
        "has_input_kernel": int(plan.inputs is not None),
        "nnz": pattern.nnz,
        "nnz_j": len(jacobian[0]),
        "nnz_kkt": kkt.nnz,
        "kkt_dense": int(kkt.shape[0] <= DENSE_UP_TO or fill >= DENSE_FROM_FILL),
        "kernel_w": max((f.sz_w() for f in functions), default=0),
        "kernel_iw": max((f.sz_iw() for f in functions), default=0),
        "n_inertia": len(system.inertias),
        "n_coupled": sum(not is_articulated(system, inert) for inert in system.inertias),
        "inertia_columns": max((_columns(system, inert) for inert in system.inertias), default=0),
    }
    numbers = {
        "series_time": np.concatenate([s.time for s in plan.table]) if plan.table else np.zeros(0),
        "series_poly": np.concatenate([s.poly.ravel() for s in plan.table]) if plan.table else np.zeros(0),
    }
    return Tables(
        counts,
        # copies: matrices that are handed out share the pattern's own arrays
        {name: np.array(values, dtype=np.int32, order="C") for name, values in integers.items()},
        {name: np.ascontiguousarray(values, dtype=float) for name, values in numbers.items()},
        slots,
        tuple(libraries),
        _maxima(system),
        pattern,
        np.array(jacobian[0], dtype=int),
        np.array(jacobian[1], dtype=int),
    )


def _maxima(system: System) -> dict[str, int]:
    """Bounds for arrays on the C stack, rounded up so that few variants of the runtime are ever compiled."""

    def up(value: int, least: int) -> int:
        size = least
        while size < value:
            size *= 2
        return size

    rates = [e.v_size for e in system.elements] + [f.size for f in system.coordinate_forces]
    frames = [len(f.nodes) for f in system.frame_forces] + [len(c.nodes) for c in system.constraints]
    signals = [f.kind.signals for f in system.frame_forces] + [f.kind.signals for f in system.coordinate_forces]
    signals += [r.kind.signals for r in system.routes]
    return {
        "PL_MAX_K": up(max(rates, default=1), 6),
        "PL_MAX_FRAMES": up(max(frames, default=1), 3),
        "PL_MAX_ROWS": up(max((c.kind.size for c in system.constraints), default=1), 6),
        "PL_MAX_SIGNALS": up(max(signals, default=1), 6),
        "PL_MAX_INERTIA": up(max((inert.kind.size for inert in system.inertias), default=1), 12),
    }


def _columns(system: System, inert: Inert) -> int:
    """Coordinates that move an inertia."""
    return sum(system.elements[e].v_size for e in inertia_elements(system, inert))


def _elements(system: System, integers: dict[str, list[int]], motions: _Kinds) -> dict[int, int]:
    """Element and node tables; returns which element owns each rate."""
    element_of = {}
    at_d = 0
    for index, element in enumerate(system.elements):
        for name, value in (
            ("base", element.base),
            ("q", element.q_at),
            ("v", element.v_at),
            ("k", element.v_size),
            ("d", at_d),
            ("node", element.nodes[0]),
            ("nodes", len(element.nodes)),
        ):
            integers[f"elem_{name}"].append(value)
        at_d += element.v_size**2
        for v in range(element.v_at, element.v_at + element.v_size):
            element_of[v] = index
    at_s = 0
    constant: dict[Any, bool] = {}
    for number, node in enumerate(system.nodes):
        if node is None:
            row = (0, 0, 0, 0, 1)
        else:
            if node.motion not in constant:
                constant[node.motion] = has_constant_subspace(node.motion)
            row = (
                node.element,
                motions.number(node.motion),
                node.constants,
                at_s,
                int(constant[node.motion]),
            )
            at_s += 6 * system.elements[node.element].v_size
        for name, value in zip(("elem", "kind", "theta", "s", "constant"), row, strict=True):
            integers[f"node_{name}"].append(value)
        integers["node_mass"].append(system.masses.get(number, -1))
    return element_of


def _tree_positions(system: System, integers: dict[str, Any], positions: BlockPositions) -> None:
    integers["colptr"], integers["row"] = positions.pattern.indptr, positions.pattern.indices
    for index, element in enumerate(system.elements):
        position, stride = positions.block(index, index)
        integers["elem_pos"].append(position)
        integers["elem_stride"].append(stride)
        integers["path_begin"].append(len(integers["path_node"]))
        for node in system.path(element.base):
            above = system.element_of(node)
            integers["path_node"].append(node)
            integers["path_lower"].append(positions.block(index, above)[0])
            integers["path_upper"].append(positions.block(above, index)[0])
    integers["path_begin"].append(len(integers["path_node"]))


def _pairs(
    system: System, positions: BlockPositions, nodes: tuple[int, ...], integers: dict[str, list[int]], name: str
) -> None:
    """For every pair of frames and every pair of nodes on their paths: the block that the pair adds to."""
    integers[f"{name}_begin"].append(len(integers[f"{name}_a"]))
    paths = [system.path(node) for node in nodes]
    for a, path_a in enumerate(paths):
        for b, path_b in enumerate(paths):
            for row in path_a:
                for column in path_b:
                    block = positions.block(
                        system.element_of(row),
                        system.element_of(column),
                    )
                    for key, value in zip("a b row col pos".split(), (a, b, row, column, block[0]), strict=True):
                        integers[f"{name}_{key}"].append(value)


def _constraints(
    system: System, positions: BlockPositions, integers: dict[str, list[int]], kinds: _Kinds
) -> tuple[list[int], list[int]]:
    """Constraint tables; returns rows and columns of the Jacobian's entries."""
    rows: list[int] = []
    columns: list[int] = []
    for c in system.constraints:
        integers["con_kind"].append(kinds.number(c.kind))
        integers["con_begin"].append(len(integers["con_nodes"]))
        integers["con_nodes"].extend(c.nodes)
        integers["con_theta"].append(c.constants)
        integers["con_size"].append(c.kind.size)
        integers["con_row"].append(c.row)
        integers["conj_begin"].append(len(integers["conj_node"]))
        block_of: dict[int, int] = {}
        for f, node in enumerate(c.nodes):
            for above in system.path(node):
                element_index = system.element_of(above)
                if element_index not in block_of:
                    block_of[element_index] = len(rows)
                    element = system.elements[element_index]
                    for j in range(element.v_size):
                        rows.extend(range(c.row, c.row + c.kind.size))
                        columns.extend([element.v_at + j] * c.kind.size)
                integers["conj_frame"].append(f)
                integers["conj_node"].append(above)
                integers["conj_pos"].append(block_of[element_index])
        _pairs(system, positions, c.nodes, integers, "cpair")
    integers["con_begin"].append(len(integers["con_nodes"]))
    integers["conj_begin"].append(len(integers["conj_node"]))
    integers["cpair_begin"].append(len(integers["cpair_a"]))
    for line in system.linear_constraints:
        integers["linear_row"].append(line.row)
        integers["linear_theta"].append(line.offset)
        integers["linear_begin"].append(len(integers["linear_q"]))
        for (q, v), coefficient in zip(line.coordinates, line.coefficients, strict=True):
            integers["linear_q"].append(q)
            integers["linear_v"].append(v)
            integers["linear_coefficient"].append(coefficient)
            integers["linear_pos"].append(len(rows))
            rows.append(line.row)
            columns.append(v)
    integers["linear_begin"].append(len(integers["linear_q"]))
    integers["row_signal"] = system.row_signals()
    integers["j_row"], integers["j_col"] = rows, columns
    return rows, columns
