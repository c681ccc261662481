"""The linear form of a force on coordinates, and whether the force is linear everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

SAMPLES = 4
"""Number of states in addition to the start in which a force is compared with its linear form."""
NEARLY = 1e-9
"""Relative difference up to which a force is linear."""


@dataclass(frozen=True)
class LinearForm:
    """A force on coordinates about the positions `at`: `offset - stiffness (q - at) - damping v + gains s`.

    couples: whether stiffness or damping have entries off the diagonal; is_linear: whether the force has this form everywhere.
    """

    at: np.ndarray
    offset: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    gains: np.ndarray
    couples: bool
    is_linear: bool

    @classmethod
    def of(
        cls, effect: Callable[..., Any], constants: np.ndarray, signals: int, at: np.ndarray, values: np.ndarray
    ) -> LinearForm:
        """The linear form of an `effect` of a `CoordinateForce`, at rest with these values of its signals."""
        n = len(at)
        q, v, s = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("s", signals)
        force = ca.densify(ca.SX(effect(q, v, ca.DM(constants), s).force))
        by = [ca.densify(ca.jacobian(force, x)) for x in (q, v, s)]
        function = ca.Function("form", [q, v, s], [force, *by])
        found, k, c, b = (np.array(x) for x in function(at, np.zeros(n), values))
        offset = found.ravel() - b @ values
        random, is_linear = np.random.default_rng(0), True
        for size in 10.0 ** np.arange(SAMPLES):
            dq, dv, ds = (0.1 * size * random.standard_normal(m) for m in (n, n, signals))
            there = np.array(function(at + dq, dv, values + ds)[0]).ravel()
            parts = [offset, k @ dq, c @ dv, b @ (values + ds)]
            is_linear &= bool(np.abs(there - sum(parts)).max() <= NEARLY * np.abs(parts).max())
        couples = any(np.abs(x - np.diag(np.diag(x))).max() > NEARLY * np.abs(x).max() for x in (k, c))
        return cls(at, offset, -k, -c, b, couples, is_linear)
