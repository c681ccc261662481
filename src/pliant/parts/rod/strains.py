"""The free strains of a rod: single strains by name, and keywords for common sets of them."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import casadi as ca
from pydantic import BeforeValidator

from pliant.language.base import OneOrList, fault
from pliant.language.message_text import describe, nearest

LABELS = ("shear_x", "shear_y", "stretch", "bend_x", "bend_y", "twist")
"""The six strains in order; the rod's tangent is its z axis."""

Free: TypeAlias = tuple[int, ...]
"""The free strains, as indices in `LABELS`, in order."""

Plane = Literal["xz", "yz"]

ALL: Free = (0, 1, 2, 3, 4, 5)
IN_PLANE: dict[Plane, Free] = {"xz": (0, 2, 4), "yz": (1, 2, 3)}
"""Strains of a rod that moves in a plane of its base's axes."""

SETS: dict[str, Free] = {
    "planar": IN_PLANE["xz"],
    "planar_xz": IN_PLANE["xz"],
    "planar_yz": IN_PLANE["yz"],
    "unshearable": (2, 3, 4, 5),
    "inextensible": (0, 1, 3, 4, 5),
    "kirchhoff": (3, 4, 5),
}
"""Keywords for sets of strains."""


def _known(word: Any) -> Any:
    known = (*LABELS, *SETS)
    if isinstance(word, str) and word in known:
        return word
    match = nearest(word, known) if isinstance(word, str) else None
    hint = f"did you mean '{match}'?" if match else f"known: {', '.join(known)}"
    raise fault("unknown_strain", f"unknown strain {describe(word)}", hint=hint)


Word: TypeAlias = Annotated[
    Literal[
        "shear_x", "shear_y", "stretch", "bend_x", "bend_y", "twist",
        "planar", "planar_xz", "planar_yz", "unshearable", "inextensible", "kirchhoff",
    ],
    BeforeValidator(_known),
]  # fmt: skip

Strains: TypeAlias = Annotated[tuple[Word, ...], OneOrList()]
"""Strains and keywords for sets of them; a single one may be given without the list."""


def free_strains(words: Sequence[str] | None) -> Free:
    """The free strains of a list: those in every named set, and among its single strains if there are any."""
    if words is None:
        return ALL
    single = {LABELS.index(word) for word in words if word in LABELS}
    sets = [set(SETS[word]) for word in words if word in SETS] + ([single] if single else [])
    return tuple(sorted(set.intersection(*sets))) if sets else ()


def held_strains(free: Free) -> Free:
    """The fixed strains."""
    return tuple(k for k in ALL if k not in free)


def plane_of(free: Free) -> Plane | None:
    """The plane of all the strains; None if they are in neither plane, or if none of them is a bend."""
    return next((plane for plane, inside in IN_PLANE.items() if set(free) <= set(inside)), None)


def named(strains: Iterable[int]) -> str:
    """Names of strains for a message."""
    names = [LABELS[k] for k in strains]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else "none"


def is_zero(value: Any) -> bool:
    """Whether a strain is zero for all parameters."""
    return isinstance(value, int | float) and value == 0


def all_six(free: Free, q: Any, held: Any) -> Any:
    """The six strains from the free ones and the fixed ones (None: zero)."""
    six, others = [], held_strains(free)
    for k in ALL:
        if k in free:
            six.append(q[free.index(k)])
        else:
            six.append(held[others.index(k)] if held.numel() else ca.SX(0))
    return ca.vertcat(*six)


def spelled(free: Free) -> str:
    """A set of strains as part of the name of a type; empty for all six."""
    return "" if free == ALL else "_" + "".join(map(str, free))
