"""CasADi functions of a robot's equations, in terms of its inputs and parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca

from pliant.engine.model.model import Model
from pliant.engine.symbolic import SymbolicSystem, symbolic_system
from pliant.engine.workspace import EvaluationError
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import describe

WITH_FORCES = ("forward_dynamics", "inverse_dynamics", "energy")
"""Functions that would lack the forces of contacts."""
NAMES = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "constraints", "energy", "rates", "frame:NAME")


def casadi_function(model: Model, name: str) -> ca.Function:
    """The function of that name; see `Equations.casadi`."""
    if not isinstance(name, str):
        raise ArgumentError(f"the name of a CasADi function cannot be {describe(name)}", f"known: {', '.join(NAMES)}")
    if model.system.contacts.laws and name in WITH_FORCES:
        raise EvaluationError(
            f"CasADi's {name} does not include the contacts of this robot, which only the compiled equations detect."
            " Use the methods of Equations instead, or load the model without its contacts."
        )
    x = symbolic_system(model.system)
    X = type(x.q)
    t, u = X.sym("t"), X.sym("u", len(model.input_names))
    p = X.sym("p", len(model.parameter_names))
    bind = _binding(model, x, t, u, p)
    if name == "inverse_dynamics":
        return ca.Function(name, [t, x.q, x.v, x.a, u, p], bind([x.residual]), list("tqvaup"), ["residual"])
    if name == "forward_dynamics":
        return _forward(name, x, bind, [t, x.q, x.v, u, p])
    if name == "mass_matrix":
        return ca.Function(name, [x.q, p], bind([ca.jacobian(x.residual, x.a)]), ["q", "p"], ["M"])
    if name == "constraints":
        return ca.Function(name, [t, x.q, x.v, u, p], bind([x.phi, x.phi_rate]), list("tqvup"), ["value", "rate"])
    if name == "energy":
        energies = bind([x.kinetic, x.potential])
        return ca.Function(name, [t, x.q, x.v, u, p], energies, list("tqvup"), ["kinetic", "potential"])
    if name == "rates":
        return ca.Function(name, [x.q, x.v], [x.rate_matrix @ x.v], ["q", "v"], ["q_dot"])
    if name.startswith("frame:") and name[6:] in model.frames:
        entry = model.frames[name[6:]]
        R, position = x.poses[entry.node]
        at = entry.constants
        placement = ca.reshape(x.constants[at : at + 9], 3, 3), x.constants[at + 9 : at + 12]
        outputs = bind([R @ placement[0], position + R @ placement[1]])
        return ca.Function("frame", [x.q, p], outputs, ["q", "p"], ["rotation", "position"])
    known = ", ".join(NAMES)
    raise ArgumentError(f"no CasADi function '{name}'; there are {known} (NAME one of {', '.join(model.frames)})")


def _binding(model: Model, x: SymbolicSystem, t: Any, u: Any, p: Any) -> Callable[[list[Any]], list[Any]]:
    """Replaces constants and signals by their expressions of time, inputs and parameters."""
    constants = model.system.constants.expression(p)
    signals: list[Any] = []
    if model.plan.signals is not None:
        # inputs are constant here: optimization varies them
        zero = ca.DM.zeros(len(model.plan.kinds))
        held = ca.vertcat(u, ca.DM.zeros(len(model.plan.kinds) - u.numel()))
        signals = list(model.plan.signals(t, held, zero, zero, p))

    def bind(expressions: list[Any]) -> list[Any]:
        old, new = [x.constants], [type(p)(constants)]
        if signals:
            old += [x.signals, x.signal_rates, x.signal_accelerations]
            new += signals
        if isinstance(p, ca.SX):
            return list(ca.substitute([ca.SX(e) for e in expressions], old, [ca.SX(n) for n in new]))
        return list(ca.graph_substitute([ca.MX(e) for e in expressions], old, new))

    return bind


def _forward(name: str, x: SymbolicSystem, bind: Any, inputs: list[Any]) -> ca.Function:
    """Accelerations by one linear solve, which remains a node of an MX graph for any kind of terms."""
    n, m = x.v.numel(), x.phi.numel()
    J = ca.jacobian(x.phi_rate, x.v)
    M = ca.jacobian(x.residual, x.a)
    terms = bind([M, x.residual, J, x.phi_acceleration])
    zero = type(x.a)(ca.DM.zeros(n))
    if isinstance(x.a, ca.SX):
        terms = ca.substitute(terms, [x.a], [zero])
    else:
        terms = ca.graph_substitute(terms, [x.a], [zero])
    evaluate = ca.Function("terms", inputs, [ca.densify(e) for e in terms])
    outer = [ca.MX.sym(label, *symbol.shape) for label, symbol in zip("tqvup", inputs, strict=True)]
    M, h, J, gamma = evaluate(*outer)
    if not m:
        return ca.Function(name, outer, [ca.solve(M, -h)], list("tqvup"), ["a"])
    kkt = ca.vertcat(ca.horzcat(M, -J.T), ca.horzcat(J, ca.MX(m, m)))
    solution = ca.solve(ca.densify(kkt), ca.vertcat(-h, -gamma))
    return ca.Function(name, outer, [solution[:n], solution[n:]], list("tqvup"), ["a", "multipliers"])
