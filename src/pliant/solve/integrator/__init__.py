"""Integration methods, one per file, and the time loops that drive them.

The loop runs in C on a compiled engine and in Python on any engine; a method is the same object for both.
"""

from __future__ import annotations

import difflib
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from pliant.solve.integrator.base import Method
from pliant.solve.integrator.driver import PythonRun
from pliant.solve.integrator.explicit_runge_kutta import ExplicitRungeKutta
from pliant.solve.integrator.generalized_alpha import GeneralizedAlpha
from pliant.solve.integrator.newmark import Newmark
from pliant.solve.integrator.rosenbrock import Rosenbrock
from pliant.solve.integrator.semi_implicit import SemiImplicit
from pliant.solve.integrator.status import Status

if TYPE_CHECKING:
    from pliant.equations.compiled_run import CompiledRun
    from pliant.equations.equations import Engine

__all__ = [
    "METHODS",
    "ExplicitRungeKutta",
    "GeneralizedAlpha",
    "Method",
    "Newmark",
    "PythonRun",
    "Rosenbrock",
    "SemiImplicit",
    "Status",
    "make_run",
    "method_by_name",
]

METHODS: dict[str, type[Method]] = {
    method.name: method for method in (ExplicitRungeKutta, Rosenbrock, GeneralizedAlpha, Newmark, SemiImplicit)
}
"""Methods by the name they have on the command line and in model files."""


def method_by_name(name: str, **options: Any) -> Method:
    """The method of that name with those options; options that are None keep their default.

    Raises ValueError for an unknown name, an option the method does not have, or one it needs.
    """
    if name not in METHODS:
        raise ValueError(f"unknown method '{name}'{_hint(name, tuple(METHODS))}; the methods are {', '.join(METHODS)}")
    chosen = METHODS[name]
    given = {option: value for option, value in options.items() if value is not None}
    known = {field.name: field for field in fields(chosen)}  # type: ignore[arg-type]
    for option in given:
        if option not in known:
            raise ValueError(
                f"the method '{name}' has no option '{option}'{_hint(option, tuple(known))}; it has {', '.join(known)}"
            )
    missing = [option for option, field in known.items() if field.default is MISSING and option not in given]
    if missing:
        raise ValueError(f"the method '{name}' needs the option '{missing[0]}'")
    return chosen(**given)


def _hint(word: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" (did you mean '{near[0]}'?)" if near else ""


def make_run(engine: Engine, method: Method) -> CompiledRun | PythonRun:
    """A run of the engine by the method: in C where the engine is compiled, in Python otherwise."""
    from pliant.equations.compiled import CompiledEngine
    from pliant.equations.compiled_run import CompiledRun

    if isinstance(engine, CompiledEngine):
        return CompiledRun(engine, method.code, method.coefficients)
    return PythonRun(engine, method)
