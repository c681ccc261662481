"""Sparsity: the possibly nonzero entries of the system's matrices, their storage, and the elimination order."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import scipy

from pliant.language.arrays import distinct
from pliant.parts.assembly.system import RouteInstance, System

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
    for first, count in _groups(system):
        begin, end = np.searchsorted(rows, [first, first + count])
        touched = distinct(rank[owner[columns[begin:end]]])
        enough = np.searchsorted(np.cumsum(sizes[order[touched]]), count)
        key[n + first : n + first + count, 0] = (
            touched[min(int(enough), len(touched) - 1)] if len(touched) else len(rank)
        )
    return [int(k) for k in np.lexsort((np.arange(size), key[:, 1], key[:, 0]))]


def _groups(system: System) -> list[tuple[int, int]]:
    """First row and number of rows of every constraint."""
    return [(c.row, c.kind.size) for c in system.constraints] + [(c.row, 1) for c in system.linear_constraints]


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
