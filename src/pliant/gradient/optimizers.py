"""Optimizers: gradient-based (SciPy, IPOPT), and sampling (Optuna)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import scipy

from pliant.gradient.problem import HOLDS, Problem
from pliant.language.arguments import ArgumentError
from pliant.solve.status import AnalysisFailed

TOLERANCE = 1e-8
"""Tolerance of the objective, relative to its size at the start, at which a gradient-based search ends."""


def by_slsqp(problem: Problem, start: np.ndarray, most: int, seed: int) -> str:
    """SciPy's sequential quadratic programming. Returns the reason if it has not converged."""
    size = abs(problem.look(start).objective) or 1.0
    equal = problem.equal
    rows = [("ineq", ~equal, -1.0), ("eq", equal, 1.0)]
    conditions = [
        {
            "type": kind,
            "fun": lambda x, r=r, s=s: s * problem.look(x).conditions[r],
            "jac": lambda x, r=r, s=s: s * problem.look(x).jacobian[r],
        }
        for kind, r, s in rows
        if np.any(r)
    ]
    found = scipy.optimize.minimize(
        lambda x: problem.look(x).objective / size, start, jac=lambda x: problem.look(x).gradient / size,
        bounds=[(0.0, 1.0)] * len(start), constraints=conditions, method="SLSQP",
        options={"maxiter": most, "ftol": TOLERANCE},
    )  # fmt: skip
    return "" if found.success else str(found.message)


def by_ipopt(problem: Problem, start: np.ndarray, most: int, seed: int) -> str:
    """IPOPT's interior-point method, as bundled with CasADi, with a quasi-Newton matrix."""
    first = problem.look(start)
    size, n, m = abs(first.objective) or 1.0, len(start), len(first.conditions)

    class Rows(ca.Callback):
        """Objective and conditions, or with `slopes` their derivatives."""

        def __init__(self, slopes: bool) -> None:
            ca.Callback.__init__(self)
            self.slopes = slopes
            self.construct("slopes" if slopes else "rows", {})

        def get_n_in(self) -> int:
            return 2 if self.slopes else 1

        def get_sparsity_in(self, i: int) -> Any:
            return ca.Sparsity.dense(n, 1) if i == 0 else ca.Sparsity(1 + m, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return ca.Sparsity.dense(1 + m, n if self.slopes else 1)

        def eval(self, given: Any) -> Any:
            look = problem.look(np.asarray(given[0], dtype=float).ravel())
            if self.slopes:
                return [np.vstack([look.gradient / size, look.jacobian])]
            return [np.concatenate([[look.objective / size], look.conditions])]

        def has_jacobian(self, *_: Any) -> bool:
            return not self.slopes

        def get_jacobian(self, *_: Any) -> Any:
            kept.append(Rows(slopes=True))
            return kept[-1]

    kept: list[Any] = []  # CasADi does not keep them alive
    rows, x = Rows(slopes=False), ca.MX.sym("x", n)
    both = rows(x)
    options: Any = {
        "print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.max_iter": most, "ipopt.tol": TOLERANCE,
        "ipopt.hessian_approximation": "limited-memory", "ipopt.constr_viol_tol": 0.1 * HOLDS,
    }  # fmt: skip
    program: Any = {"x": x, "f": both[0], "g": both[1:]}
    solver = ca.nlpsol("search", "ipopt", program, options)
    solver(x0=start, lbx=0, ubx=1, lbg=np.where(problem.equal, 0.0, -np.inf), ubg=np.zeros(m))
    status = solver.stats()
    return "" if status["success"] else str(status["return_status"]).replace("_", " ").lower()


def by_optuna(problem: Problem, start: np.ndarray, most: int, seed: int) -> str:
    """Samples of Optuna's tree-structured Parzen estimators: no derivatives; failed samples are skipped."""
    try:
        import optuna
    except ImportError as reason:
        raise ModuleNotFoundError("optuna is not installed: pip install 'pliant[optuna]'", name="optuna") from reason
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def conditions(trial: Any) -> list[float]:
        return list(trial.user_attrs.get("rows", [1.0]))

    def objective(trial: Any) -> float:
        x = np.array([trial.suggest_float(name, 0.0, 1.0) for name in problem.bounds])
        try:
            value, rows = problem.try_out(x)
        except (AnalysisFailed, ArgumentError) as reason:
            raise optuna.TrialPruned(str(reason)) from None
        beyond = np.where(problem.equal, np.abs(rows) - HOLDS, rows)
        trial.set_user_attr("rows", [float(r) for r in beyond])
        return value

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", FutureWarning
        )  # newer versions have another interface for conditions, older ones only this
        sampler = optuna.samplers.TPESampler(seed=seed, constraints_func=conditions if problem.conditions else None)
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial(dict(zip(problem.bounds, map(float, start), strict=True)))
    study.optimize(objective, n_trials=most)
    return ""


SEARCHES: dict[str, Callable[[Problem, np.ndarray, int, int], str]] = {
    "slsqp": by_slsqp,
    "ipopt": by_ipopt,
    "optuna": by_optuna,
}
