"""Armature: inertia that rotates with a coordinate but not with a body, such as that of geared rotors."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca

from pliant.formula.inertia import Inertia
from pliant.motion.base import Part

NAME = "armature"


def is_armature(inertia: Inertia) -> bool:
    """Whether it is an inertia of this module."""
    return inertia.name.split("_")[0] == NAME


@cache
def armature(parts: tuple[Part, ...]) -> Inertia:
    """Inertia that acts on the rates of an element's coordinates only, with one constant per rate [kg or kg m^2]."""
    rates = sum(part.v_size for part in parts)

    def mass(pose: Any, q: Any, c: Any) -> Any:
        return ca.horzcat(ca.SX(rates, 6), ca.SX.eye(rates)), ca.diag(c)

    name = "_".join([NAME, *(f"{part.q_size}{part.v_size}" for part in parts)])
    return Inertia(name, 1, parts, rates, mass)
