"""Integration methods, one per file: the options of each. Their step functions are in the runtime."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from pliant.analysis.integrators.base import Method, make_run
from pliant.analysis.integrators.explicit_runge_kutta import ExplicitRungeKutta
from pliant.analysis.integrators.generalized_alpha import GeneralizedAlpha
from pliant.analysis.integrators.newmark import Newmark
from pliant.analysis.integrators.rosenbrock import Rosenbrock
from pliant.analysis.integrators.semi_implicit import SemiImplicit
from pliant.analysis.integrators.symplectic_euler import SymplecticEuler
from pliant.language.arguments import ArgumentError, choice
from pliant.language.message_text import describe, suggestion

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (ExplicitRungeKutta, Rosenbrock, GeneralizedAlpha, Newmark, SemiImplicit, SymplecticEuler)
}
"""Methods by the name they have on the command line and in model files."""


def method_by_name(name: str, **options: Any) -> Method:
    """The method of that name with those options; options that are None keep their default.

    Raises ArgumentError for an unknown name, an option the method does not have or does not use, or one it needs.
    """
    chosen = METHODS[choice("method", name, METHODS)]
    given = {option: value for option, value in options.items() if value is not None}
    known = {field.name: field for field in fields(chosen)}  # type: ignore[arg-type]
    for option in given:
        if option not in known:
            near = suggestion(option, known)
            hint = f"{near}{' ' if near else ''}it has {', '.join(known)}"
            raise ArgumentError(f"the method '{name}' has no option '{option}'", hint)
    missing = [option for option, field in known.items() if field.default is MISSING and option not in given]
    if missing:
        raise ArgumentError(
            f"the method '{name}' needs the option '{missing[0]}'",
            "a fixed step [s]: step=1e-3, or --step on the command line",
        )
    method = chosen(**given)
    for option in ("rtol", "atol"):
        if option in given and method.fixed:
            raise ArgumentError(f"{option} has no effect with a fixed step", f"omit {option} or the step")
    return method


def chosen_method(
    method: Method | str | None, *, step: float | None = None, rtol: float | None = None, atol: float | None = None
) -> Method | None:
    """The method chosen by the caller, by name or by its options, or None if it is chosen automatically.

    A fixed step without a method selects generalized-alpha. Raises ArgumentError if tolerances would be ignored.
    """
    if method is None and step is None:
        return None
    if method is None or isinstance(method, str):
        return method_by_name("generalized_alpha" if method is None else method, step=step, rtol=rtol, atol=atol)
    if not isinstance(method, Method):
        names = ", ".join(kind.__name__ for kind in METHODS.values())
        raise ArgumentError(
            f"the method cannot be {describe(method)}", f"give one of {names}, such as Rosenbrock(), or its name"
        )
    for option, value in (("step", step), ("rtol", rtol), ("atol", atol)):
        if value is not None:
            example = f"{type(method).__name__}({option}={value!r})"
            raise ArgumentError(f"both the method and {option} are given", f"write method={example}")
    return method
