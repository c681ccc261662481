"""Remarks on contacts in equilibria, in small motions and in motions."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.analysis.numerics.saddle import balancing_multipliers
from pliant.analysis.remark import Words, remark
from pliant.engine.binding import Binding
from pliant.engine.contacts import Contacts
from pliant.engine.equations import Equations
from pliant.language.message_text import enumeration
from pliant.parts.assembly.contact_shapes import ContactShape
from pliant.parts.contact import LawNumbers

USED = 1e-6
"""Friction below this fraction of the normal forces is treated as zero."""
SHOWN = 3
"""Number of parts that a remark names."""
NEEDED = 1e-3
"""An equilibrium depends on friction if more than this fraction of its forces is unbalanced without it."""


@remark(
    f"more than {NEEDED:g} of its forces is unbalanced without friction", "other poses nearby may be equilibria too"
)
def friction_supports(eqs: Equations, result: Any) -> Words:
    """Friction supports the pose."""
    contacts = result.contacts
    if not result.balanced or contacts is None or not len(contacts):
        return None
    bound, t, q = result.examined.pose
    pressing = float(np.abs(contacts.normal_force).max())
    rubs = np.linalg.norm(contacts.friction_force, axis=1) > USED * pressing
    if not rubs.any() or not _rests_by_friction(bound, t, q):
        return None
    return (
        f"friction supports the pose: {friction_words(bound, contacts, rubs)}; without friction it would not be in equilibrium. "
        "Other poses nearby, with other forces, may be equilibria too: `simulate` or `continuation` (pliant path) finds the one"
        " that slow loading leads to"
    )


def friction_words(bound: Binding, contacts: Contacts | None, which: np.ndarray | None = None) -> str:
    """Where contacts (those selected by booleans, or all) stick and slide, and the largest part of friction in use; empty without
    any."""
    if contacts is None or not len(contacts):
        return ""
    used, parts = _used(bound, contacts), []
    for name in dict.fromkeys(contacts.name):
        ours = np.array([x == name for x in contacts.name]) & (True if which is None else which)
        for sticks, verb in ((True, "sticks"), (False, "slides")):
            those = ours & (contacts.sticks == sticks)
            if those.any():
                most = np.max(used[those])
                share = f" with up to {100 * most:.3g} % of its friction" if sticks and np.isfinite(most) else ""
                parts.append(f"'{name}' {verb} {_places(int(those.sum()))}{share}")
    return ", ".join(parts)


def sliding_words(contacts: Contacts | None) -> str:
    """Remark on the contacts that slide in a pose that is not an equilibrium; empty if there are none."""
    if contacts is None or not len(contacts) or np.all(contacts.sticks):
        return ""
    forces = np.linalg.norm(contacts.friction_force, axis=1)
    sums: dict[tuple[str, tuple[str, str]], float] = {}
    for name, pair, sticks, force in zip(contacts.name, contacts.pairs, contacts.sticks, forces, strict=True):
        if not sticks:
            sums[name, pair] = sums.get((name, pair), 0.0) + float(force)
    parts = [f"{first} on {second} ('{name}', {force:.3g} N)" for (name, (first, second)), force in sums.items()]
    return f"friction does not hold it: {enumeration(parts, 3)} keep{'s' if len(parts) == 1 else ''} sliding"


@remark("a surface enters another one by more than its thickness", "parts may then pass through each other")
def contacts_that_are_too_soft(eqs: Equations, result: Any) -> Words:
    """Surfaces have entered each other by more than the thickness of one of them."""
    record = result.record
    if record.steps is None:
        return None
    bound, deepest = record.history[-1].bound, record.steps.deepest_contacts
    worst: dict[str, tuple[float, float]] = {}
    for shape, depth in zip(bound.system.contacts.shapes, deepest, strict=True):
        thickness = _thickness(bound, shape)
        if depth > thickness > 0 and depth / thickness > np.divide(*worst.get(shape.name, (0.0, 1.0))):
            worst[shape.name] = (float(depth), thickness)
    parts = [f"'{name}' by {depth:.2g} m (it is {thick:.2g} m thick)" for name, (depth, thick) in worst.items()]
    if not parts:
        return None
    return (
        f"surfaces enter {enumeration(parts, SHOWN)}: the contact is too soft for this motion, and may let parts pass "
        "through each other; use a higher stiffness of the contact, or lower speeds and forces"
    )


def _thickness(bound: Binding, shape: ContactShape) -> float:
    """Smallest extent of a rigid shape [m]: its radius, or the smallest side of the box around a solid. Infinite for half spaces,
    and for rods and fabrics, which yield themselves."""
    if shape.form == "plane" or shape.node < 0:
        return np.inf
    vertices = np.array([bound.constants[x.constants : x.constants + 4] for x in shape.vertices])
    radius = float(vertices[:, 3].min())
    if shape.form != "faces":
        return radius if radius > 0 else np.inf
    if not shape.closed:
        return np.inf
    return float(np.ptp(vertices[:, :3], axis=0).min()) + 2 * radius


@remark("surfaces touch", "contact acts as springs for small motions, and friction has no small motion")
def contacts_linearized(eqs: Equations, result: Any) -> Words:
    """How contacts act on small motions."""
    contacts = result.state.contacts
    if contacts is None:
        return None
    here, sticks = np.array(contacts.name), contacts.sticks
    parts = []
    for name in contacts.names:
        ours = here == name if len(here) else np.zeros(0, dtype=bool)
        held, slid = int(np.sum(ours & sticks)), int(np.sum(ours & ~sticks))
        if held:
            parts.append(f"'{name}' sticks {_places(held)}, as springs along and across the surfaces")
        if slid:
            parts.append(f"'{name}' slides {_places(slid)}, with friction that follows the normal force")
        if not held and not slid:
            parts.append(f"'{name}' is open and has no effect")
    return f"contacts in small motions: {', '.join(parts)}"


def _places(count: int) -> str:
    return "at one place" if count == 1 else f"at {count} places"


def _rests_by_friction(bound: Binding, t: float, q: np.ndarray) -> bool:
    """Whether forces are unbalanced without friction."""
    zero, none = np.zeros(bound.nv), np.zeros(bound.m)
    constants = bound.constants.copy()
    for law in bound.system.contacts.laws:
        for number in ("along", "across"):
            constants[law.constants + LawNumbers.place(number)] = 0.0
    smooth = bound.with_constants(constants)
    with_friction, without = (x.inverse(t, q, zero, zero) for x in (bound, smooth))
    if bound.m:
        at = smooth.linearized(t, q, zero, zero, none)
        without = without - at.jacobian.T @ balancing_multipliers(at, without, bound.active_rows)
    sizes = bound.sizes(q)[1]
    return bool(np.abs(sizes * without).max() > NEEDED * np.abs(sizes * (without - with_friction)).max() > 0)


def _used(bound: Binding, contacts: Contacts) -> np.ndarray:
    """Friction of each contact divided by its maximum [-]; NaN where the maximum depends on the direction."""
    laws = bound.system.contacts.laws
    at = np.array([laws[contacts.names.index(name)].constants for name in contacts.name], dtype=int)
    along, across, still = (bound.constants[at + LawNumbers.place(x)] for x in ("along", "across", "at_rest"))
    most = np.where(along == across, along * still, np.nan) * contacts.normal_force
    forces = np.linalg.norm(contacts.friction_force, axis=1)
    return np.divide(forces, most, out=np.full(len(forces), np.nan), where=most > 0)
