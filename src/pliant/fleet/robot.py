"""One robot as CasADi functions in which all values that a fleet does not vary are numbers: the same kernels, partially evaluated.

Arguments: time t [s], positions q, rates v, accelerations a, the external inputs u, and the constants c that
differ between the robots of a fleet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from pliant.engine.equations import Equations
from pliant.engine.model.inputs import EXPRESSION, HELD
from pliant.engine.symbolic import SymbolicSystem, symbolic_system
from pliant.language.arguments import ArgumentError
from pliant.language.time_series import TimeSeries
from pliant.parts.geometry import so3
from pliant.parts.motion import Quaternion

ON_THE_CPU = "use pliant.simulate, or pliant.simulate_many for many robots"


@dataclass(frozen=True)
class Rotation:
    """Indices of a unit quaternion in q and of its angular velocity in v."""

    q_at: int
    v_at: int


class Robot:
    """Functions of a robot's equations for a fleet.

    eqs: the equations with the current values; commanded: external inputs; varied: parameters that differ; rows:
    active constraint rows, by index; sizes: reference sizes of their values (`Binding.constraint_sizes`).
    """

    def __init__(
        self,
        eqs: Equations,
        commanded: Sequence[str],
        varied: Sequence[str],
        rows: Sequence[int] = (),
        sizes: Sequence[float] = (),
    ) -> None:
        self.eqs, self.commanded, self.varied = eqs, tuple(commanded), tuple(varied)
        self.rows, self.sizes, self.m = list(rows), list(sizes), len(rows)
        model = eqs.model
        self.nq, self.nv, self.nu = len(model.q_names), len(model.v_names), len(self.commanded)
        found = []
        for element in eqs.model.system.elements:
            q_at, v_at = element.q_at, element.v_at
            for part in element.parts:
                if isinstance(part, Quaternion):
                    found.append(Rotation(q_at, v_at))
                q_at, v_at = q_at + part.q_size, v_at + part.v_size
        self.rotations = tuple(found)
        self.varied_constants = self._varied_constants()
        self.nc = len(self.varied_constants) + len(self.varied)
        self.t, self.q, self.v, self.a = (
            ca.SX.sym(name, n) for name, n in (("t", 1), ("q", self.nq), ("v", self.nv), ("a", self.nv))
        )
        self.u, self.c = ca.SX.sym("u", self.nu), ca.SX.sym("c", self.nc)

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self.eqs, self.commanded, self.varied, self.rows, self.sizes)  # expressions are created again

    def _varied_constants(self) -> np.ndarray:
        """Constants of the elements that depend on varied parameters, by index."""
        constants = self.eqs.model.system.constants
        if constants.symbolic is None or not self.varied:
            return np.zeros(0, dtype=int)
        at = self.eqs.model.parameter_defaults[1]
        pattern = ca.DM(constants.symbolic.jac_sparsity(0, 0), 1).full()[:, [at[name] for name in self.varied]]
        depends = pattern.any(axis=1)[constants.symbolic_which]
        return np.asarray(constants.symbolic_at)[depends]

    def constant_rows(self, parameters: np.ndarray) -> np.ndarray:
        """The numbers c of several robots (robots x nc) from all parameters (robots x parameters)."""
        at = self.eqs.model.parameter_defaults[1]
        table = self.eqs.model.system.constants.of_cases(parameters)[:, self.varied_constants]
        return np.hstack([table, parameters[:, [at[name] for name in self.varied]]])

    # -- expressions ----------------------------------------------------------------------------------------------------------

    @cached_property
    def symbols(self) -> SymbolicSystem:
        """The equations of the system in its own symbols."""
        return symbolic_system(self.eqs.model.system, inline=True)

    @cached_property
    def constants(self) -> Any:
        """All constants of the elements: numbers, and entries of c."""
        found = ca.SX(ca.DM(self.eqs.binding.constants))
        for k, index in enumerate(self.varied_constants.tolist()):
            found[index] = self.c[k]
        return found

    @cached_property
    def parameters(self) -> Any:
        """All parameters: numbers, and entries of c."""
        found = ca.SX(ca.DM(self.eqs.binding.parameters))
        at = self.eqs.model.parameter_defaults[1]
        for k, name in enumerate(self.varied):
            found[at[name]] = self.c[len(self.varied_constants) + k]
        return found

    @cached_property
    def signals(self) -> tuple[Any, Any, Any]:
        """Signals, their rates and accelerations, by time, inputs and parameters."""
        model, binding = self.eqs.model, self.eqs.binding
        empty = ca.SX(0, 1)
        if model.plan.signals is None:
            return empty, empty, empty
        u, rate, acceleration = (ca.SX.zeros(len(model.plan.kinds)) for _ in range(3))
        timed = model.plan.inputs(self.t, self.parameters) if model.plan.inputs is not None else None
        for k in range(len(model.plan.kinds)):
            name = model.input_names[k] if k < len(model.input_names) else ""
            if name in self.commanded:
                u[k] = self.u[self.commanded.index(name)]
            elif binding.input_kind[k] == HELD:
                u[k] = float(binding.held[k])
            elif binding.input_kind[k] == EXPRESSION and timed is not None:
                u[k], rate[k], acceleration[k] = (x[k] for x in timed)
            else:
                raise ArgumentError(
                    f"the input '{name}' follows a recording, which fleets do not support",
                    f"set it at each step: Fleet(..., inputs=['{name}'])",
                )
        found = model.plan.signals(self.t, u, rate, acceleration, self.parameters)
        return found[0], found[1], found[2]

    def bound(self, expressions: Sequence[Any], *, a: Any = None) -> list[Any]:
        """Expressions of the system in terms of t, q, v, u and c; accelerations are given, or a symbol."""
        x, (s, sd, sdd) = self.symbols, self.signals
        old = [x.q, x.v, x.a, x.constants, x.signals, x.signal_rates, x.signal_accelerations]
        new = [self.q, self.v, self.a if a is None else a, self.constants, s, sd, sdd]
        return list(ca.substitute([ca.SX(e) for e in expressions], old, [ca.SX(n) for n in new]))

    @cached_property
    def equations(self) -> tuple[Any, Any]:
        """Mass matrix M and forces h, with M a + h = 0."""
        x = self.symbols
        M, h = self.bound([ca.jacobian(x.residual, x.a), x.residual], a=ca.SX.zeros(self.nv))
        return M, h

    @cached_property
    def constraints(self) -> tuple[Any, Any, Any, Any]:
        """Values of the active constraint rows, their Jacobian J, convective accelerations gamma (their accelerations are J a +
        gamma), and the accelerations of their prescribed signals."""
        x = self.symbols
        jacobian = ca.jacobian(x.phi_rate, x.v)
        found = self.bound([x.phi, jacobian, x.phi_acceleration], a=ca.SX.zeros(self.nv))
        phi, J, gamma = (self.in_force(each) for each in found)
        followed = self.eqs.model.system.row_signals()
        ahead = [self.signals[2][followed[row]] if followed[row] >= 0 else ca.SX(0) for row in self.rows]
        return phi, J, gamma, ca.vertcat(*ahead) if ahead else ca.SX(0, 1)

    def in_force(self, rows: Any) -> Any:
        """The signals of all active constraint rows."""
        return rows[self.rows, :] if self.rows else ca.SX(0, rows.size2())

    @cached_property
    def rate_matrix(self) -> Any:
        """N with dq/dt = N v."""
        return self.bound([self.symbols.rate_matrix])[0]

    # -- the group of positions -----------------------------------------------------------------------------------------------

    def increment(self, q: Any, x: Any) -> Any:
        """Positions with an increment x (nv) applied; rotations are turned."""
        out: list[Any] = [None] * self.nq
        for i, j in self.plain:
            out[i] = q[i] + x[j]
        for r in self.rotations:
            turned = so3.quaternion_product(q[r.q_at : r.q_at + 4], so3.quaternion_exp(x[r.v_at : r.v_at + 3]))
            for k in range(4):
                out[r.q_at + k] = turned[k]
        return self.normalized(ca.vertcat(*out)) if out else q

    def normalized(self, q: Any) -> Any:
        """Positions with quaternions of length one."""
        out = ca.SX(q)
        for r in self.rotations:
            Q = q[r.q_at : r.q_at + 4]
            out[r.q_at : r.q_at + 4] = Q / ca.sqrt(ca.sumsqr(Q))
        return out

    def increment_rate(self, x: Any, v: Any) -> Any:
        """Rate of the local increments x at rates v: `v + x x v / 2 + c x x (x x v)` of rotations."""
        out = ca.SX(v)
        for r in self.rotations:
            p, w = x[r.v_at : r.v_at + 3], v[r.v_at : r.v_at + 3]
            angle2 = ca.sumsqr(p)
            near = angle2 < 0.09
            half = 0.5 * ca.sqrt(ca.if_else(near, 1.0, angle2))
            series = 1 / 12 + angle2 * (1 / 720 + angle2 * (1 / 30240 + angle2 * (1 / 1209600 + angle2 / 47900160)))
            c = ca.if_else(near, series, (1 - half * ca.cos(half) / ca.sin(half)) / ca.if_else(near, 1.0, angle2))
            y = ca.cross(p, w)
            out[r.v_at : r.v_at + 3] = w + 0.5 * y + c * ca.cross(p, y)
        return out

    @cached_property
    def plain(self) -> list[tuple[int, int]]:
        """Indices of plain coordinates in q and in v."""
        in_q = {r.q_at + k for r in self.rotations for k in range(4)}
        in_v = {r.v_at + k for r in self.rotations for k in range(3)}
        rest_q = [i for i in range(self.nq) if i not in in_q]
        rest_v = [i for i in range(self.nv) if i not in in_v]
        return list(zip(rest_q, rest_v, strict=True))


def commanded_inputs(eqs: Equations, names: Sequence[str] | None) -> tuple[str, ...]:
    """The external inputs: those named, or all constant inputs that may jump."""
    smooth = eqs.model.motion_inputs | eqs.model.smooth_inputs
    if names is not None:
        for name in names:
            if name in smooth:
                raise ArgumentError(
                    f"the input '{name}' prescribes a motion, which cannot jump from one value to the next",
                    f"drive that motion by a force, or {ON_THE_CPU}",
                )
        return tuple(names)
    given, kinds = eqs.given_inputs, eqs.binding.input_kind
    return tuple(
        name
        for name, kind in zip(eqs.inputs, kinds, strict=False)
        if kind == HELD and name not in smooth and not isinstance(given.get(name), TimeSeries)
    )


def refuse(eqs: Equations) -> None:
    """Reject robots that fleets do not support."""
    if eqs.model.followed:
        raise ArgumentError(
            "fleets do not support prescribed rates or accelerations, and this robot has some", ON_THE_CPU
        )
