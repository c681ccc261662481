"""The integer tables of a System that control the compiled runtime.

Their contents are listed in `layout.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from typing import Any

import casadi as ca
import numpy as np
import scipy

from pliant.engine.kernel import (
    Kernels,
    constraint_kernels,
    coordinate_force_kernels,
    frame_force_kernels,
    has_constant_subspace,
    inertia_kernels,
    motion_kernels,
    relative_force_kernels,
    route_kernels,
    shared_inertia_kernels,
)
from pliant.engine.layout import ELEMENT_FORMS, INTEGERS, MOTION_FORMS, SHAPE_FORMS
from pliant.engine.model.inputs import InputPlan
from pliant.language.arrays import distinct, others
from pliant.parts.assembly.contact_shapes import contact_tables
from pliant.parts.assembly.system import Element, InertiaInstance, RouteInstance, System
from pliant.parts.formula.base import Inertia
from pliant.parts.formula.relative import ENDS, RelativeForce

# Systems up to this size, or at least this dense, are factorized as dense matrices.
DENSE_UP_TO = 24
DENSE_FROM_FILL = 0.4

SMALL_GRAPH = 1000
"""Number of nodes of a graph up to which the import of SciPy's sparse matrices, which takes as long as all other steps of
deriving a small robot, is not worthwhile. For large meshes SuperLU's order saves up to a fifth of the work."""


@dataclass(frozen=True)
class Pattern:
    """The possibly nonzero entries of a square matrix, by columns, rows ascending (as in a SciPy CSC matrix)."""

    size: int
    indptr: np.ndarray
    indices: np.ndarray

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.indices)

    @property
    def columns(self) -> np.ndarray:
        """Column of each entry."""
        return np.repeat(np.arange(self.size), np.diff(self.indptr))

    def full(self, values: np.ndarray) -> np.ndarray:
        """The dense matrix with these values at its entries."""
        matrix = np.zeros((self.size, self.size))
        matrix[self.indices, self.columns] = values
        return matrix


def entries_pattern(size: int, rows: np.ndarray, columns: np.ndarray) -> tuple[Pattern, np.ndarray]:
    """The pattern of these entries, which may contain duplicates, and the position of each in it."""
    keys, where = np.unique(columns.astype(np.int64) * size + rows, return_inverse=True)
    column, row = np.divmod(keys, size) if size else (keys, keys)
    indptr = np.searchsorted(column, np.arange(size + 1))
    return Pattern(size, indptr.astype(np.int32), row.astype(np.int32)), where.astype(np.int32)


def element_path(system: System, node: int) -> list[int]:
    return [system.element_of(n) for n in system.path(node)]


def system_pattern(system: System) -> Pattern:
    """Sparsity of K, C and M together: blocks of elements on a common path, or coupled."""
    count = len(system.elements)
    if not count:
        return Pattern(0, np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32))
    linked: list[tuple[tuple[int, ...], tuple[int, ...]]] = [(f.nodes, ()) for f in system.frame_forces]
    linked += [(c.nodes, ()) for c in system.constraints]
    linked += [(i.nodes, i.elements) for i in system.inertias]
    free_pairs = [nodes for nodes, own in linked if not own and is_free_pair(system, nodes)]
    groups = [
        {e for node in nodes for e in element_path(system, node)} | set(own)
        for nodes, own in linked
        if own or not is_free_pair(system, nodes)
    ]
    pairs: set[int] = set()  # row * count + column: numbers are much faster than pairs for long chains
    for index, element in enumerate(system.elements):
        above = element_path(system, element.base) if element.base else []
        pairs.update([index * count + other for other in above])
        pairs.update([other * count + index for other in above])
    for group in (*groups, *_coupled_groups(system)):
        members = list(group)
        for a in members:
            pairs.update([a * count + b for b in members])
    entries = [np.arange(count) * (count + 1), np.fromiter(pairs, dtype=np.int64, count=len(pairs))]
    if free_pairs:
        a, b = system.node_elements[np.array(free_pairs)].T
        entries += [a * count + b, b * count + a]
    rows, columns = np.divmod(distinct(np.concatenate(entries)), count)
    return _with_full_blocks(system, rows, columns)


def is_free_pair(system: System, nodes: Sequence[int]) -> bool:
    """Whether these are two nodes on the ground with one element each, as those of meshes."""
    return len(nodes) == 2 and bool(system.depths[nodes[0]] == 1 == system.depths[nodes[1]])


def _with_full_blocks(system: System, rows: np.ndarray, columns: np.ndarray) -> Pattern:
    """The pattern of coordinates in which elements `rows` and `columns` have a dense block, assembled column by column."""
    order = np.lexsort((rows, columns))
    rows, columns = rows[order], columns[order]
    begins = np.searchsorted(columns, np.arange(len(system.elements) + 1))
    own = [np.arange(e.v_at, e.v_at + e.v_size, dtype=np.int32) for e in system.elements]
    indices, lengths = [np.zeros(0, dtype=np.int32)], [0]
    # rates are numbered from element to element
    for element, begin, end in zip(system.elements, begins[:-1], begins[1:], strict=True):
        entries = np.concatenate([own[k] for k in rows[begin:end]])
        indices += [entries] * element.v_size
        lengths += [len(entries)] * element.v_size
    return Pattern(system.v_size, np.cumsum(lengths, dtype=np.int32), np.concatenate(indices))


def _coupled_groups(system: System) -> Iterator[Iterable[int]]:
    """Groups of elements coupled by routed lines, and by forces that depend on coordinates."""
    for route in system.routes:
        yield from _coupled_by(system, route)
    starts_at = [element.v_at for element in system.elements]
    for force in system.coordinate_forces:
        first, last = (bisect_right(starts_at, at) - 1 for at in (force.v_at, force.v_at + force.size - 1))
        yield range(first, last + 1)


def _coupled_by(system: System, route: RouteInstance) -> list[set[int]]:
    """Groups of elements coupled by a routed line: those between the ends of each span; all of them, if a single tension couples
    them.

    Elements below both ends of a span move them together and do not change it.
    """
    if route.coupled:
        return [{system.element_of(node) for node in changing_nodes(system, route.nodes)}]
    return [{system.element_of(n) for n in changing_nodes(system, ends)} for ends in pairwise(route.nodes)]


def changing_nodes(system: System, nodes: Sequence[int]) -> list[int]:
    """Nodes on the path to the ground from some of these but not from all, the outermost first."""
    carried = Counter(above for node in nodes for above in system.path(node))
    return sorted((node for node, count in carried.items() if count < len(nodes)), reverse=True)


class BlockPositions:
    """Finds the position of the block of two elements in the values of the pattern."""

    def __init__(self, system: System, pattern: Pattern, element_of: dict[int, int]) -> None:
        self._system, self.pattern = system, pattern
        self._cache: dict[int, dict[int, int]] = {}
        self.element_of = element_of
        self._begins = np.full(system.v_size, -1)
        for index, element in enumerate(system.elements):
            if element.v_size:
                self._begins[element.v_at] = index

    def block(self, row_element: int, column_element: int) -> tuple[int, int]:
        """(first position, stride between columns) of a block; arbitrary for a block without entries."""
        if not (self._system.elements[row_element].v_size and self._system.elements[column_element].v_size):
            return 0, 0
        column = self._system.elements[column_element].v_at
        start, end = self.pattern.indptr[column], self.pattern.indptr[column + 1]
        if column_element not in self._cache:
            begun = self._begins[self.pattern.indices[start:end]]
            at = np.flatnonzero(begun >= 0)
            self._cache[column_element] = dict(zip(begun[at].tolist(), (start + at).tolist(), strict=True))
        return self._cache[column_element][row_element], int(end - start)

    @cached_property
    def _first_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """For all blocks, by column element and row element: column * number of elements + row, and the first position."""
        begins, columns = self._begins[self.pattern.indices], self._begins[self.pattern.columns]
        at = np.flatnonzero((begins >= 0) & (columns >= 0))
        return columns[at] * len(self._system.elements) + begins[at], at

    def blocks(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """First positions of many blocks, by the indices of their elements; arbitrary for those without entries."""
        keys, positions = self._first_entries
        wanted = columns * len(self._system.elements) + rows
        size = np.array([element.v_size for element in self._system.elements], dtype=int)
        filled = (size[rows] > 0) & (size[columns] > 0)
        place = np.searchsorted(keys, wanted[filled])
        assert np.array_equal(keys[place], wanted[filled]), "every pair of elements has a block in the pattern"
        out = np.zeros(len(wanted), dtype=int)
        out[filled] = positions[place]
        return out

    def entry(self, row: int, column: int) -> int:
        """Position of one entry, by the indices of two rates."""
        elements = self._system.elements
        row_element, column_element = self.element_of[row], self.element_of[column]
        position, stride = self.block(row_element, column_element)
        return position + stride * (column - elements[column_element].v_at) + row - elements[row_element].v_at


def saddle_pattern(
    system: System, pattern: Pattern, jacobian: tuple[list[int], list[int]], integers: dict[str, Any]
) -> Pattern:
    """Pattern of [system, J'; J, diagonal], the position of each value, and a column order with little fill-in."""
    n, m = system.v_size, system.rows
    if m == 0:
        none = np.zeros(0, dtype=np.int32)
        integers["kkt_of"] = np.arange(pattern.nnz, dtype=np.int32)
        integers["kkt_of_j"] = integers["kkt_of_jt"] = integers["kkt_of_diagonal"] = none
        integers["kkt_colptr"], integers["kkt_row"] = pattern.indptr, pattern.indices
        integers["kkt_order"] = elimination_order(system, pattern, jacobian)
        return pattern
    rows_j, columns_j = np.array(jacobian[0], dtype=int), np.array(jacobian[1], dtype=int)
    diagonal = n + np.arange(m)
    rows = np.concatenate([pattern.indices, n + rows_j, columns_j, diagonal])
    columns = np.concatenate([pattern.columns, columns_j, n + rows_j, diagonal])
    matrix, where = entries_pattern(n + m, rows, columns)
    nnz, nnz_j = pattern.nnz, len(rows_j)
    integers["kkt_of"] = where[:nnz]
    integers["kkt_of_j"] = where[nnz : nnz + nnz_j]
    integers["kkt_of_jt"] = where[nnz + nnz_j : nnz + 2 * nnz_j]
    integers["kkt_of_diagonal"] = where[nnz + 2 * nnz_j :]
    integers["kkt_colptr"], integers["kkt_row"] = matrix.indptr, matrix.indices
    integers["kkt_order"] = elimination_order(system, matrix, jacobian)
    return matrix


def elimination_order(system: System, matrix: Pattern, jacobian: tuple[list[int], list[int]]) -> list[int]:
    """Column order of the saddle matrix with little fill-in: element by element, with multipliers in between.

    Elements are ordered by minimum degree on their graph, which is much smaller than that of the matrix. The multipliers of a
    constraint follow as soon as elements with as many coordinates as it has rows are eliminated: before that their pivots are
    zero, and later they would couple everything that the constraint acts on.
    """
    size, n = matrix.size, system.v_size
    if size <= DENSE_UP_TO:
        return list(range(size))
    sizes = np.array([e.v_size for e in system.elements])
    owner = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.empty(len(sizes), dtype=int)
    order = minimum_degree(_element_graph(system, matrix))
    rank[order] = np.arange(len(order))
    # sort keys of all columns: coordinates have the place of their element, multipliers the place after one
    key = np.empty((size, 2))
    key[:n, 0], key[:n, 1] = rank[owner], 0
    key[n:, 1] = 1
    rows = np.array(jacobian[0], dtype=int)
    by_row = np.argsort(rows, kind="stable")
    rows, columns = rows[by_row], np.array(jacobian[1], dtype=int)[by_row]
    for first, count in [(c.row, c.kind.size) for c in system.constraints] + [
        (c.row, 1) for c in system.linear_constraints
    ]:
        begin, end = np.searchsorted(rows, [first, first + count])
        touched = distinct(rank[owner[columns[begin:end]]])
        enough = np.searchsorted(np.cumsum(sizes[order[touched]]), count)
        key[n + first : n + first + count, 0] = (
            touched[min(int(enough), len(touched) - 1)] if len(touched) else len(rank)
        )
    return [int(k) for k in np.lexsort((np.arange(size), key[:, 1], key[:, 0]))]


def _element_graph(system: System, matrix: Pattern) -> Pattern:
    """Graph of elements with common blocks: blocks are dense, so their first coordinates are sufficient."""
    element = np.full(matrix.size, -1)
    for index, e in enumerate(system.elements):
        if e.v_size:
            element[e.v_at] = index
    rows, columns = element[matrix.indices], element[matrix.columns]
    both = (rows >= 0) & (columns >= 0)
    return entries_pattern(len(system.elements), rows[both], columns[both])[0]


def minimum_degree(graph: Pattern) -> np.ndarray:
    """Order of the nodes of a graph with little fill-in: approximate minimum degree (Amestoy et al. 1996), from CasADi; for large
    graphs multiple minimum degree (Liu 1985), from SuperLU."""
    if graph.size <= SMALL_GRAPH:
        sparsity = ca.Sparsity(graph.size, graph.size, graph.indptr.tolist(), graph.indices.tolist())
        return np.array(sparsity.amd(), dtype=int)
    size = graph.size
    shape, diagonal = (size, size), scipy.sparse.diags(np.full(size, 10.0 * size))
    # a diagonally dominant matrix of the same pattern, so that SuperLU keeps its order
    stand_in = scipy.sparse.csc_matrix((np.ones(graph.nnz), graph.indices, graph.indptr), shape=shape) + diagonal
    factors = scipy.sparse.linalg.splu(
        stand_in.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
        options={"SymmetricMode": True, "Equil": False},
    )  # fmt: skip
    # perm_c[i] is the new place of column i
    return np.argsort(factors.perm_c)


PURPOSES = {"motion": ("kinematics", "tangent"), "shared": ("value", "tangent", "mass")}
"""Functions of each type, in order, if they are not `value` and `tangent`."""


@dataclass(frozen=True)
class Tables:
    """Filled tables: counts (except `kernel_w` and `kernel_iw`, which depend on the code of the kernels), integer arrays, and the
    names of the functions in each kernel slot."""

    counts: dict[str, int]
    integers: dict[str, np.ndarray]
    kernels: dict[str, tuple[str, ...]]
    libraries: tuple[Kernels, ...]
    pattern: Pattern
    jacobian_rows: np.ndarray
    jacobian_columns: np.ndarray


class _Kinds:
    """Numbers the types in use, in order of first use."""

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
    # by the prefix of their tables; in the order of the libraries
    kinds = {
        "motion": _Kinds(motion_kernels),
        "cforce": _Kinds(coordinate_force_kernels),
        "fforce": _Kinds(frame_force_kernels),
        "rel": _Kinds(relative_force_kernels),
        "route": _Kinds(route_kernels),
        "con": _Kinds(constraint_kernels),
        "inertia": _Kinds(inertia_kernels),
        "shared": _Kinds(shared_inertia_kernels),
    }
    element_of = _elements(system, integers)
    _nodes(system, integers, kinds["motion"])
    pattern = system_pattern(system)
    positions = BlockPositions(system, pattern, element_of)
    _tree_positions(system, integers, positions)
    _coordinate_forces(system, positions, integers, kinds["cforce"])
    _frame_forces(system, positions, integers, kinds["fforce"])
    _relative_forces(system, positions, integers, kinds["rel"])
    fill_inertias(system, positions, integers, kinds["inertia"].number)
    _shared_inertias(system, positions, integers, kinds["shared"])
    fill_route_tables(system, positions, integers, [kinds["route"].number(r.kind) for r in system.routes])
    jacobian_rows, jacobian_columns = _constraints(system, positions, integers, kinds["con"])
    kkt = saddle_pattern(system, pattern, (jacobian_rows, jacobian_columns), integers)
    # indices of unit quaternions in q and v, and of all other coordinates
    pairs = system.quaternions()
    q, v = np.array(pairs, dtype=int).reshape(-1, 2).T
    integers["quat_q"], integers["quat_v"] = q, v
    integers["plain_q"] = others(system.q_size, q[:, None] + np.arange(4))
    integers["plain_v"] = others(system.v_size, v[:, None] + np.arange(3))
    contact_counts, contact_integers = contact_tables(system.contacts, SHAPE_FORMS)
    integers.update(contact_integers)
    kernels = _kernels(kinds, plan)
    libraries = [library for kind in kinds.values() for library in kind.kernels] + _input_libraries(plan)
    return Tables(
        {**_counts(system, plan, integers, pattern, kkt), **contact_counts},
        # copies: returned matrices share the arrays of the pattern
        {name: np.array(values, dtype=np.int32, order="C") for name, values in integers.items()},
        kernels,
        tuple(libraries),
        pattern,
        np.array(jacobian_rows, dtype=int),
        np.array(jacobian_columns, dtype=int),
    )


def _input_libraries(plan: InputPlan) -> list[Kernels]:
    named = (("inputs", plan.inputs), ("signals", plan.signals), ("round_off", plan.round_off))
    return [Kernels.of(name, function) for name, function in named if function is not None]


def _kernels(kinds: dict[str, _Kinds], plan: InputPlan) -> dict[str, tuple[str, ...]]:
    """The functions of each kernel slot, one for each type in use."""
    slots: dict[str, tuple[str, ...]] = {
        "input_kernel": () if plan.inputs is None else (plan.inputs.name(),),
        "signal_kernel": () if plan.signals is None else (plan.signals.name(),),
        "round_off_kernel": () if plan.round_off is None else (plan.round_off.name(),),
    }
    for prefix, numbered in kinds.items():
        purposes = PURPOSES.get(prefix, ("value", "tangent"))
        for place, purpose in enumerate(purposes):
            slots[f"{prefix}_{purpose}"] = tuple(library.function_names[place] for library in numbered.kernels)
    return slots


def _counts(
    system: System, plan: InputPlan, integers: dict[str, Any], pattern: Pattern, kkt: Pattern
) -> dict[str, int]:
    """All sizes and counts."""
    fill = kkt.nnz / max(1, kkt.size) ** 2
    return {
        "n_node": len(system.nodes),
        "n_elem": len(system.elements),
        "nq": system.q_size,
        "nv": system.v_size,
        "m": system.rows,
        "n_theta": len(system.constants.numbers),
        "n_s": integers["node_s"][-1] + 6 * system.elements[-1].v_size if system.elements else 0,
        "n_d": sum(e.v_size**2 for e in system.elements),
        "n_cforce": len(system.coordinate_forces),
        "n_fforce": len(integers["fforce_kind"]),
        "n_rel": len(integers["rel_force"]),
        "n_rel_kind": len(integers["rel_placed"]),
        "n_route": len(system.routes),
        "n_route_point": len(integers["route_nodes"]),
        "n_con": len(system.constraints),
        "n_linear": len(system.linear_constraints),
        "n_quat": len(integers["quat_q"]),
        "n_plain": len(integers["plain_q"]),
        "n_signal": system.signal_count,
        "n_input": len(plan.kinds),
        "n_parameter": plan.parameter_count,
        "has_input_kernel": int(plan.inputs is not None),
        "has_round_off_kernel": int(plan.round_off is not None),
        "nnz": pattern.nnz,
        "nnz_j": len(integers["j_row"]),
        "nnz_kkt": kkt.nnz,
        "kkt_dense": int(kkt.size <= DENSE_UP_TO or fill >= DENSE_FROM_FILL),
        "by_tree": int(is_solved_by_tree(system)),
        "n_inertia": len(integers["inertia_kind"]),
        "n_inertia_run": len(integers["inertia_run"]) - 1,
        "n_weightless": sum(integers["inertia_weightless"]),
        "n_shared_kind": len(integers["shared_constants"]),
        "n_motion": len(integers["motion_constants"]),
        "n_coupled": sum(not is_articulated(system, inert) for inert in system.inertias),
        "inertia_columns": max(
            (_columns(system, inert) for inert in system.inertias if not inert.is_shared), default=0
        ),
        **_largest(system),
    }


def _largest(system: System) -> dict[str, int]:
    """Sizes of the largest element of each type, for the runtime's temporary arrays."""
    rates = [e.v_size for e in system.elements] + [f.size for f in system.coordinate_forces]
    frames = [len(f.nodes) for f in system.frame_forces] + [len(c.nodes) for c in system.constraints]
    signals = [f.kind.signals for f in system.frame_forces] + [f.kind.signals for f in system.coordinate_forces]
    signals += [r.kind.signals for r in system.routes]
    sizes = {
        "max_k": rates,
        "max_frames": frames,
        "max_rows": [c.kind.size for c in system.constraints],
        "max_signals": signals,
        "max_inertia": [inert.kind.size for inert in system.inertias if not inert.is_shared],
        "max_points": [len(r.nodes) for r in system.routes],
        "max_friction": [len(r.nodes) for r in system.routes if r.has_friction],
        "max_lane_numbers": [f.kind.constants + f.kind.signals for f in system.frame_forces]
        + [inert.kind.constants + inert.kind.q_size for inert in system.inertias]
        + [m.constants + m.q_size + 2 * m.v_size for m in {node.motion for node in system.nodes if node is not None}],
    }
    return {name: max([1, *values]) for name, values in sizes.items()}


def _columns(system: System, inert: InertiaInstance) -> int:
    """Coordinates that move an inertia."""
    return sum(system.elements[e].v_size for e in inertia_elements(system, inert))


def _elements(system: System, integers: dict[str, list[int]]) -> dict[int, int]:
    """Element tables; returns the element of each rate."""
    elements = system.elements
    owned = {e for inert in system.inertias for e in inert.elements}
    forms = ["general" if k in owned else _element_form(system, element) for k, element in enumerate(elements)]
    sizes = [element.v_size for element in elements]
    # there may be tens of thousands: entire columns at once
    add_rows(
        integers, "elem", form=[ELEMENT_FORMS.index(form) for form in forms], base=[element.base for element in elements],
        q=[element.q_at for element in elements], v=[element.v_at for element in elements], k=sizes,
        d=_begins(size**2 for size in sizes), node=[element.nodes[0] for element in elements],
        nodes=[len(element.nodes) for element in elements],
    )  # fmt: skip
    return dict(enumerate(k for k, size in enumerate(sizes) for _ in range(size)))


def _begins(sizes: Iterable[int]) -> list[int]:
    """First indices of consecutive parts of these sizes."""
    return list(accumulate(sizes, initial=0))[:-1]


def _element_form(system: System, element: Element) -> str:
    """Treatment of an element without inertia in the articulated-body recursion (`ELEMENT_FORMS`)."""
    if len(element.nodes) > 1:
        return "general"
    if element.v_size == 1:
        return "single"
    node = system.nodes[element.nodes[0]]
    return node.motion.form if node is not None and node.motion.form in ELEMENT_FORMS else "general"


def _nodes(system: System, integers: dict[str, list[int]], motions: _Kinds) -> None:
    """Node tables; the world is a node without motion."""
    masses = [system.masses.get(number, -1) for number in range(len(system.nodes))]
    add_row(integers, "node", elem=0, form=0, kind=0, theta=0, s=0, constant=1, mass=masses[0])
    moved = [node for node in system.nodes if node is not None]
    known: dict[int, tuple[int, int, int]] = {}  # form, kind and whether the subspace is constant, by the motion's id
    for node in moved:
        if id(node.motion) not in known:
            form = MOTION_FORMS.index(node.motion.form)
            number = 0 if form else motions.number(node.motion)
            known[id(node.motion)] = form, number, int(has_constant_subspace(node.motion))
    of_motions, owners = [known[id(node.motion)] for node in moved], [node.element for node in moved]
    add_rows(
        integers, "node", elem=owners, form=[form for form, _, _ in of_motions], kind=[number for _, number, _ in of_motions],
        theta=[node.constants for node in moved], s=_begins(6 * system.elements[owner].v_size for owner in owners),
        constant=[constant for _, _, constant in of_motions], mass=masses[1:],
    )  # fmt: skip
    _moved_nodes(system, integers, motions)


def _moved_nodes(system: System, integers: dict[str, list[int]], motions: _Kinds) -> None:
    """Nodes moved by kernels, sorted by type: those of one type are evaluated together."""
    members: dict[Any, list[int]] = {motion: [] for motion in motions.index}
    for number, node in enumerate(system.nodes):
        if node is not None and node.motion in members:
            members[node.motion].append(number)
    for motion, nodes in members.items():
        add_row(integers, "motion", begin=len(integers["motion_node"]), constants=motion.constants)
        integers["motion_node"] += nodes
    integers["motion_begin"].append(len(integers["motion_node"]))


def _coordinate_forces(
    system: System, positions: BlockPositions, integers: dict[str, list[int]], kinds: _Kinds
) -> None:
    for force in system.coordinate_forces:
        add_row(
            integers, "cforce", kind=kinds.number(force.kind), q=force.q_at, v=force.v_at, k=force.size,
            theta=force.constants, signal=force.signals, signals=force.kind.signals,
            begin=len(integers["cforce_column"]),
        )  # fmt: skip
        # rates are numbered consecutively, so each column's entries of the block are contiguous
        integers["cforce_column"] += [positions.entry(force.v_at, force.v_at + j) for j in range(force.size)]


def _frame_forces(system: System, positions: BlockPositions, integers: dict[str, list[int]], kinds: _Kinds) -> None:
    for index, force in enumerate(system.frame_forces):
        if isinstance(force.kind, RelativeForce):
            continue
        add_row(
            integers, "fforce", kind=kinds.number(force.kind), index=index, begin=len(integers["fforce_nodes"]),
            theta=force.constants, signal=force.signals, signals=force.kind.signals,
        )  # fmt: skip
        integers["fforce_nodes"].extend(force.nodes)
    integers["fforce_begin"].append(len(integers["fforce_nodes"]))
    others = [force.nodes for force in system.frame_forces if not isinstance(force.kind, RelativeForce)]
    _pairs(system, positions, others, integers, "fpair")


def _relative_forces(system: System, positions: BlockPositions, integers: dict[str, list[int]], kinds: _Kinds) -> None:
    """Forces by relative motion, sorted by type: instances of one type are evaluated together."""
    members: dict[RelativeForce, list[int]] = {}
    for index, force in enumerate(system.frame_forces):
        if isinstance(force.kind, RelativeForce):
            members.setdefault(force.kind, []).append(index)
    for kind, indices in members.items():
        kinds.number(kind)
        add_row(
            integers, "rel", begin=len(integers["rel_force"]), placed=int(kind.placed), signals=kind.signals,
            constants=kind.constants - ENDS.size * kind.placed,
        )  # fmt: skip
        forces = [system.frame_forces[index] for index in indices]
        nodes = np.array([force.nodes for force in forces])
        integers["rel_force"] += indices
        integers["rel_theta"] += [force.constants for force in forces]
        integers["rel_signal"] += [force.signals for force in forces]
        integers["rel_plain"] += (system.depths[nodes] < 2).all(axis=1).astype(int).tolist()
        integers["rel_nodes"] += nodes.ravel().tolist()
    integers["rel_begin"].append(len(integers["rel_force"]))
    _pairs(system, positions, [system.frame_forces[k].nodes for k in integers["rel_force"]], integers, "relpair")


def _shared_inertias(system: System, positions: BlockPositions, integers: dict[str, list[int]], kinds: _Kinds) -> None:
    """Inertia between two frames, sorted by type: instances of one type are evaluated together."""
    members: dict[Inertia, list[InertiaInstance]] = {}
    for inert in system.inertias:
        if inert.is_shared:
            members.setdefault(inert.kind, []).append(inert)
    for kind, instances in members.items():
        kinds.number(kind)
        add_row(
            integers,
            "shared",
            begin=len(integers["shared_theta"]),
            constants=kind.constants,
            weightless=int(kind.weightless),
        )
        for inert in instances:
            plain = all(len(system.path(node)) < 2 for node in inert.nodes)
            add_row(integers, "shared", theta=inert.constants, plain=int(plain))
            integers["shared_nodes"] += inert.nodes
    integers["shared_begin"].append(len(integers["shared_theta"]))
    ordered = [inert.nodes for instances in members.values() for inert in instances]
    _pairs(system, positions, ordered, integers, "sharedpair")


def _tree_positions(system: System, integers: dict[str, Any], positions: BlockPositions) -> None:
    integers["colptr"], integers["row"] = positions.pattern.indptr, positions.pattern.indices
    every = np.arange(len(system.elements))
    integers["elem_pos"] = positions.blocks(every, every)
    heights = np.append(np.diff(positions.pattern.indptr), 0)
    integers["elem_stride"] = [int(heights[e.v_at]) if e.v_size else 0 for e in system.elements]
    for index, element in enumerate(system.elements):
        integers["path_begin"].append(len(integers["path_node"]))
        for node in system.path(element.base):
            above = system.element_of(node)
            if not system.elements[above].v_size:
                continue  # no element moves it
            integers["path_node"].append(node)
            integers["path_lower"].append(positions.block(index, above)[0])
            integers["path_upper"].append(positions.block(above, index)[0])
    integers["path_begin"].append(len(integers["path_node"]))


def _pairs(
    system: System, positions: BlockPositions, groups: Sequence[tuple[int, ...]], integers: dict[str, Any], name: str
) -> None:
    """For groups of frames, for every pair of frames and every pair of nodes on their paths: the block to which the pair
    contributes."""
    begins = [0]
    found = [np.zeros((0, 4), dtype=int)]
    for free, members in groupby(groups, lambda nodes: is_free_pair(system, nodes)):  # those of a mesh are consecutive
        if free:
            first, second = np.array(list(members)).T
            a, b = np.zeros(len(first), dtype=int), np.ones(len(first), dtype=int)
            blocks = [(a, a, first, first), (a, b, first, second), (b, a, second, first), (b, b, second, second)]
            found.append(np.array(blocks).transpose(2, 0, 1).reshape(-1, 4))
            begins += (begins[-1] + 4 * np.arange(1, len(first) + 1)).tolist()
            continue
        for nodes in members:
            paths = [(frame, system.path(node)) for frame, node in enumerate(nodes)]
            pairs = [(a, b, i, j) for a, rows in paths for b, columns in paths for i in rows for j in columns]
            found.append(np.array(pairs, dtype=int).reshape(-1, 4))
            begins.append(begins[-1] + len(pairs))
    integers[f"{name}_begin"] = begins
    table = np.concatenate(found)
    for column, values in zip(("a", "b", "row", "col"), table.T, strict=True):
        integers[f"{name}_{column}"] = values
    element = system.node_elements
    integers[f"{name}_pos"] = positions.blocks(element[table[:, 2]], element[table[:, 3]])


def _constraints(
    system: System, positions: BlockPositions, integers: dict[str, list[int]], kinds: _Kinds
) -> tuple[list[int], list[int]]:
    """Constraint tables; returns rows and columns of the Jacobian's entries."""
    rows: list[int] = []
    columns: list[int] = []
    for c in system.constraints:
        add_row(
            integers, "con", kind=kinds.number(c.kind), begin=len(integers["con_nodes"]), theta=c.constants,
            size=c.kind.size, row=c.row,
        )  # fmt: skip
        integers["con_nodes"].extend(c.nodes)
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
                add_row(integers, "conj", frame=f, node=above, pos=block_of[element_index])
    integers["con_begin"].append(len(integers["con_nodes"]))
    integers["conj_begin"].append(len(integers["conj_node"]))
    _pairs(system, positions, [c.nodes for c in system.constraints], integers, "cpair")
    element_of = {e.v_at + j: k for k, e in enumerate(system.elements) for j in range(e.v_size)}
    for line in system.linear_constraints:
        add_row(integers, "linear", row=line.row, theta=line.offset, begin=len(integers["linear_q"]))
        for (q, v), coefficient in zip(line.coordinates, line.coefficients, strict=True):
            add_row(integers, "linear", q=q, v=v, elem=element_of[v], coefficient=coefficient, pos=len(rows))
            rows.append(line.row)
            columns.append(v)
    integers["linear_begin"].append(len(integers["linear_q"]))
    integers["row_signal"] = system.row_signals()
    integers["j_row"], integers["j_col"] = rows, columns
    return rows, columns


# -- rows of tables ----------------------------------------------------------------------------------------------------


def add_row(integers: dict[str, list[int]], prefix: str, **entries: int) -> None:
    """Append a row: each entry to the column `prefix_name`."""
    for name, value in entries.items():
        integers[f"{prefix}_{name}"].append(value)


def add_rows(integers: dict[str, list[int]], prefix: str, **columns: Sequence[int]) -> None:
    """Append many rows: each column to the column `prefix_name`."""
    for name, values in columns.items():
        integers[f"{prefix}_{name}"].extend(values)


# -- routed lines; see `runtime/route.c` -------------------------------------------------------------------------------

# Which end of a span a coordinate moves.
FIRST, SECOND, BOTH = 0, 1, 2


def fill_route_tables(
    system: System, positions: BlockPositions, integers: dict[str, list[int]], kinds: Sequence[int]
) -> None:
    """Add all lines to the tables; `kinds` are the numbers of their laws."""
    for route, kind in zip(system.routes, kinds, strict=True):
        changing = changing_nodes(system, route.nodes)
        add_row(
            integers, "route", kind=kind, begin=len(integers["route_nodes"]), theta=route.constants,
            law=route.law_constants, signal=route.signals, signals=route.kind.signals,
            friction=route.friction_constants if route.has_friction else -1, stretches=int(route.kind.coupled),
        )  # fmt: skip
        integers["rtouch_begin"].append(len(integers["rtouch_node"]))
        integers["relem_begin"].append(len(integers["relem"]))
        integers["rblock_begin"].append(len(integers["rblock_pos"]))
        _spans(system, positions, integers, route)
        known = set(changing)
        bases = [system.base(node) for node in changing]
        integers["route_nodes"].extend(route.nodes)
        # contributions of nodes that do not change the length are discarded: index 0, the world
        integers["route_slot"].extend(node if node in known else 0 for node in route.nodes)
        integers["rtouch_node"].extend(changing)
        integers["rtouch_base"].extend(base if base in known else 0 for base in bases)
        elements = sorted({system.element_of(node) for node in changing})
        integers["relem"].extend(elements)
        if route.coupled:
            integers["rblock_pos"].extend(positions.block(a, b)[0] for a in elements for b in elements)
    for name, counted in (
        ("route_begin", "route_nodes"),
        ("rcol_begin", "rcol_node"),
        ("rrow_begin", "rrow_node"),
        ("rtouch_begin", "rtouch_node"),
        ("relem_begin", "relem"),
        ("rblock_begin", "rblock_pos"),
    ):
        integers[name].append(len(integers[counted]))


def _spans(system: System, positions: BlockPositions, integers: dict[str, list[int]], route: RouteInstance) -> None:
    """For the span after each point: the nodes that change it (columns), and for each all affected nodes (rows)."""
    paths = [system.path(node) for node in route.nodes]
    for here, beyond in zip(paths, [*paths[1:], None], strict=True):
        integers["rcol_begin"].append(len(integers["rcol_node"]))
        if beyond is None:  # there is no span after the last point
            continue
        first, second = set(here), set(beyond)
        for column in sorted(first ^ second):
            add_row(integers, "rcol", node=column, sign=1 if column in first else -1)
            integers["rrow_begin"].append(len(integers["rrow_node"]))
            for row in sorted(first | second):
                side = BOTH if row in first and row in second else FIRST if row in first else SECOND
                block = positions.block(system.element_of(row), system.element_of(column))[0]
                add_row(integers, "rrow", node=row, case=side, pos=block)


# -- inertia that is not rigid -----------------------------------------------------------------------------------------


def inertia_elements(system: System, inert: InertiaInstance) -> list[int]:
    """Elements whose coordinates move the inertia: its own first, in the order of its kind, then those on the paths."""
    out = list(inert.elements)
    for node in inert.nodes:
        out += [e for e in (system.element_of(n) for n in system.path(node)) if e not in out]
    return out


def is_articulated(system: System, inert: InertiaInstance) -> bool:
    """Whether the articulated-body recursion supports it: one frame, and coordinates of at most one element based on its node."""
    if len(inert.nodes) > 1 or len(inert.elements) > 1:
        return False
    return all(system.elements[e].base == inert.nodes[0] for e in inert.elements)


def fill_inertias(
    system: System, positions: BlockPositions, integers: dict[str, list[int]], number: Callable[[Inertia], int]
) -> None:
    """For every inertia of one frame its type, constants and storage; for every element that moves it the node by which it does
    (0 for
    none) and the first of the element's rates (-1 for none); for every pair of those the block. Successive inertias of one type
    form a run, which is evaluated for several at once.
    """
    for inert in system.inertias:
        if inert.is_shared:
            continue
        path = {system.element_of(n): n for n in system.path(inert.nodes[0])}
        elements = inertia_elements(system, inert)
        if number(inert.kind) not in integers["inertia_kind"][-1:]:
            integers["inertia_run"].append(len(integers["inertia_kind"]))
        add_row(
            integers, "inertia", kind=number(inert.kind), constants=inert.kind.constants, node=inert.nodes[0],
            k=inert.kind.v_size, theta=inert.constants, owned=len(inert.elements),
            weightless=int(inert.kind.weightless), begin=len(integers["mover_elem"]),
            pair=len(integers["mover_pos"]),
        )  # fmt: skip
        own = 0
        for index, element in enumerate(elements):
            first = own if index < len(inert.elements) else -1
            add_row(integers, "mover", elem=element, own=first, node=path.get(element, 0))
            integers["mover_pos"] += [positions.block(row, element)[0] for row in elements]
            own += system.elements[element].v_size
    integers["inertia_begin"].append(len(integers["mover_elem"]))
    integers["inertia_run"].append(len(integers["inertia_kind"]))


# -- systems solved by recursions over the tree (`runtime/tree_matrix.c`) ----------------------------------------------


@dataclass(frozen=True)
class TreeChoice:
    """When recursions are faster than assembled matrices."""

    from_rates: float = 18
    """Average number of rates on the path from an element to the ground, at least."""
    most_beside: float = 0.6
    """Other unknowns, per rate on this path, at most."""


TREE = TreeChoice()


def is_solved_by_tree(system: System) -> bool:
    """Whether recursions are possible and faster: each coordinate of a chain is coupled with all others on its path to the
    ground, and assembled matrices contain every pair. Forces between moving frames require a solution for each of their unknowns,
    so these must be few."""
    if not system.v_size or not _has_tree_form(system):
        return False
    # rates on the path from an element to the ground, including its own, averaged over all rates
    way = [0] * len(system.nodes)
    total = 0
    for element in system.elements:
        rates = way[element.base] + element.v_size
        total += element.v_size * rates
        for node in element.nodes:
            way[node] = rates
    average = total / system.v_size
    return average >= TREE.from_rates and unknowns_beside(system) <= TREE.most_beside * average


def unknowns_beside(system: System) -> int:
    """Number of multipliers, plus six unknowns for every frame of a force or constraint between several moving nodes."""
    interactions = [f.nodes for f in system.frame_forces] + [c.nodes for c in system.constraints]
    return system.rows + sum(6 * len(nodes) for nodes in interactions if len(set(nodes) - {0}) > 1)


def _has_tree_form(system: System) -> bool:
    """Whether the recursions support the system: not with lines through many nodes, forces that couple elements, or inertia
    between frames."""
    starts = [element.v_at for element in system.elements]
    joined = any(
        bisect_right(starts, force.v_at) != bisect_right(starts, force.v_at + force.size - 1)
        for force in system.coordinate_forces
    )
    return not joined and not system.routes and all(is_articulated(system, inert) for inert in system.inertias)
