"""Sums over contacts for outputs: of one contact of the model, or between two of its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.engine.differences import central, moved
from pliant.engine.program import check
from pliant.parts.assembly.contact_shapes import ContactSystem
from pliant.parts.output.base import CONTACT_SUMS, ContactQuery

if TYPE_CHECKING:
    from pliant.engine.binding import Binding
    from pliant.engine.contacts import Contacts
    from pliant.engine.model.model import Model

SIZE = sum(size for _, size in CONTACT_SUMS.values())
"""Size of the result of a query: `PL_SUM_SIZE` in `runtime/contact.h`."""


@dataclass(frozen=True)
class ContactQueries:
    """Queries by index, as read by the runtime: the law of each, the side of each shape (1, 2 or both), and whether the gap is
    requested."""

    law: np.ndarray
    side: np.ndarray
    with_gap: np.ndarray

    def __len__(self) -> int:
        return len(self.law)


def contact_questions(model: Model) -> tuple[ContactQuery, ...]:
    """The requests of outputs for contacts, in the order of `output_function`."""
    return model.once("contact_questions", lambda: _contact_questions(model))


def _contact_questions(model: Model) -> tuple[ContactQuery, ...]:
    return tuple(sorted({x for spec in model.spec.outputs.values() for x in spec.touching(model)}))


def indexed_questions(system: ContactSystem, questions: Sequence[ContactQuery]) -> ContactQueries:
    """Queries with the indices of their laws and shapes."""
    names = [law.name for law in system.laws]
    law = np.array([names.index(x.contact) for x in questions], dtype=np.int32)
    side = np.zeros((len(questions), len(system.shapes)), dtype=np.int32)
    for k, question in enumerate(questions):
        for i, shape in enumerate(system.shapes):
            sides = system.laws[law[k]].first, system.laws[law[k]].second
            there = [shape.name == name for name in question.of] if question.of else [i in members for members in sides]
            side[k, i] = there[0] + 2 * there[1]
    return ContactQueries(law, side, np.array([x.gap for x in questions], dtype=np.int32))


def contact_sums(
    binding: Binding, questions: ContactQueries, time: Any, q: Any, v: Any, contacts: Contacts | None = None
) -> np.ndarray:
    """Results in states of a motion, n x queries x SIZE; contacts: recorded ones, otherwise from the memory of the binding."""
    given = [np.ascontiguousarray(x, dtype=float) for x in (time, q, v)]
    out = np.zeros((len(given[0]), len(questions), SIZE))
    if len(questions):
        w = binding.program.workspace(binding)
        remembered = [None, None] if contacts is None else [contacts.begins.ctypes.data, contacts.rows.ctypes.data]
        asked = (questions.law, questions.side, questions.with_gap)
        states = [x.ctypes.data for x in given]
        wanted = (len(questions), *(x.ctypes.data for x in asked))
        check(w.library.pl_batch_contact_sums(w.address, len(out), *states, *remembered, *wanted, out.ctypes.data))
    return out


def model_sums(
    model: Model, binding: Binding, time: Any, q: Any, v: Any, contacts: Contacts | None = None
) -> np.ndarray:
    """The sums required by the outputs of a model, n x numbers."""
    asked = model.once("indexed_questions", lambda: indexed_questions(model.system.contacts, contact_questions(model)))
    return contact_sums(binding, asked, time, q, v, contacts).reshape(len(time), SIZE * len(asked))


STEP = 1e-8
"""Increments of positions and rates for differences of sums of contacts [m, rad, m/s or rad/s]."""


def sums_by_state(
    model: Model, binding: Binding, t: float, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of `model_sums` with respect to increments of q and to v, numbers x nv. Sticking friction is included if the
    binding has a memory of contacts."""
    return _by_state(binding, t, q, v, lambda *states: model_sums(model, binding, *states))


def carried_by_state(
    binding: Binding, nodes: Sequence[int], t: float, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the contribution of contacts to the transmitted wrenches of nodes, with respect to increments of q and to v,
    6 nodes x nv."""
    without = binding.without_contacts()

    def added(time: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        rest = np.zeros_like(v), np.zeros((len(time), binding.m))
        touching, alone = (x.carried(time, q, v, *rest, nodes) for x in (binding, without))
        return (touching - alone).reshape(len(time), -1)

    return _by_state(binding, t, q, v, added)


def _by_state(
    binding: Binding, t: float, q: np.ndarray, v: np.ndarray, evaluate: Callable[..., np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Central differences of `evaluate(times, q, v)`, n x numbers, with respect to increments of q and to v."""
    nv = binding.nv
    if not (nv and binding.system.contacts.laws):
        empty = np.zeros((evaluate(np.array([t]), q[None], v[None]).shape[1], nv))
        return empty, empty
    times = np.full(2 * nv, t)
    return (
        central(lambda x: evaluate(times, moved(binding, q, x), np.tile(v, (2 * nv, 1))), nv, STEP),
        central(lambda x: evaluate(times, np.tile(q, (2 * nv, 1)), v + x), nv, STEP),
    )
