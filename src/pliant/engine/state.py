"""The state of a robot, from names or from a result."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from pliant.engine.contacts import Contacts
from pliant.engine.core import UnknownName
from pliant.engine.model.model import SI_HINT, Model
from pliant.language.arguments import ArgumentError, number, vector

# Accepted deviation of the length of a quaternion from one.
UNIT = 1e-6


@dataclass(frozen=True)
class SpecifiedValues:
    """Specified values of an initial state, by name; rates are called `d(NAME)/dt`.

    asked: by the caller; stated: by the model. While loops are closed, these are kept and the others are adapted, as far as
    possible.
    """

    asked: Mapping[str, float] = field(default_factory=dict)
    stated: Mapping[str, float] = field(default_factory=dict)

    def at_rest(self) -> SpecifiedValues:
        """Without the rates."""
        return SpecifiedValues(
            *({x: y for x, y in values.items() if not x.startswith("d(")} for values in (self.asked, self.stated))
        )


@dataclass(frozen=True)
class State:
    """Positions, rates and time [s]; `q, v = state` unpacks it. `multipliers`: constraint forces, if known; `given`:
    which of its values were given, if known; `contacts`: contacts with their friction memory, if known, so that
    sticking contacts continue to stick."""

    q: np.ndarray
    v: np.ndarray
    t: float = 0.0
    multipliers: np.ndarray = field(default_factory=lambda: np.zeros(0))
    given: SpecifiedValues = field(default_factory=SpecifiedValues)
    contacts: Contacts | None = None

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.q, self.v))

    def __getitem__(self, index: int) -> np.ndarray:
        return (self.q, self.v)[index]


class HasState(Protocol):
    """An object with a state: an Equilibrium, a point of a path."""

    @property
    def state(self) -> State: ...


class HasFinal(Protocol):
    """An object with a final state: a Result."""

    @property
    def final(self) -> State: ...


def state_of(given: Any) -> Any:
    """The state of an object: an Equilibrium or a point of a path has a `state`, a Result a `final` one. Others are
    returned unchanged."""
    for attribute in ("final", "state"):
        given = getattr(given, attribute, given)
    return given


def read_given(name: str, value: Any, size: int) -> np.ndarray:
    """Numbers given as q, v or similar: rejected unless finite and one-dimensional."""
    if isinstance(state_of(value), State):
        raise _has_rates()
    return np.ascontiguousarray(vector(name, value, size))


def _has_rates() -> ArgumentError:
    return ArgumentError("a State has its rates, but v is also given", "omit v; pass accelerations as a=...")


def read_state(model: Model, q: Any, v: Any = None, t: float | None = None, *, at_rest: bool = False) -> State:
    """The given state: a State or an object with one instead of q, or q and v; `at_rest`: v may be omitted."""
    given = state_of(q)
    if isinstance(given, State):
        if v is not None:
            raise _has_rates()
        q, v = given
        t = given.t if t is None else t
    rates = np.zeros(len(model.v_names)) if v is None and at_rest else vector("v", v, len(model.v_names))
    contacts = given.contacts if isinstance(given, State) else None
    return State(vector("q", q, len(model.q_names)), rates, 0.0 if t is None else number("t", t), contacts=contacts)


def taken_apart(q: Any, t: float | None) -> tuple[Any, Any, float | None]:
    """Positions, rates and time of a State or of an object with one; other arguments are returned unchanged, without rates."""
    given = q if isinstance(q, np.ndarray) else state_of(q)
    return (given.q, given.v, given.t if t is None else t) if isinstance(given, State) else (q, None, t)


def positions(q: Any) -> Any:
    """Positions of a State or of an object with one; other arguments are returned unchanged."""
    given = q if isinstance(q, np.ndarray) else state_of(q)
    return given.q if isinstance(given, State) else q


def with_names(model: Model, state: State, values: Mapping[str, Any]) -> State:
    """The state with coordinates and rates set by name; `d(NAME)/dt` is the rate of the coordinate NAME.

    For a free rotation either all four components of its quaternion are given, or none.
    """
    q, v = np.array(state.q, dtype=float), np.array(state.v, dtype=float)
    asked = dict(state.given.asked)
    rates = {f"d({name})/dt": i for i, name in enumerate(model.v_names)}
    rates |= {name: i for i, name in enumerate(model.v_names) if name not in model.q_names}
    turns = {c.name: c.q_names for c in model.coordinates if c.is_rotation}
    for name, value in values.items():
        if name in turns:
            raise ArgumentError(f"'{name}' is a free rotation, not one number", f"give {', '.join(turns[name])}")
        if name not in model.q_names and name not in rates:
            raise UnknownName("coordinate or rate", name, (*model.q_names, *rates))
        si_value = number(f"'{name}'", value, hint=SI_HINT)
        if name in rates:
            v[rates[name]] = si_value
            asked[rate_name(model.v_names[rates[name]])] = si_value
        else:
            q[model.q_names.index(name)] = si_value
            asked[name] = si_value
    for parts in turns.values():
        given = [name for name in parts if name in values]
        if given and len(given) < len(parts):
            raise ArgumentError(f"'{given[0]}' is a component of a quaternion", f"give all of {', '.join(parts)}")
        if given and abs(np.linalg.norm([values[name] for name in parts]) - 1) > UNIT:
            raise ArgumentError(f"{', '.join(parts)} must be a unit quaternion", "divide them by its length")
    return State(q, v, state.t, given=SpecifiedValues(asked, state.given.stated))


def rate_name(name: str) -> str:
    """Name of the rate of a coordinate."""
    return f"d({name})/dt"


def named(model: Model, names: Collection[str]) -> tuple[np.ndarray, np.ndarray]:
    """Booleans, nq and nv: positions and rates that are among these names."""
    q = np.array([name in names for name in model.q_names], dtype=bool)
    v = np.array([rate_name(name) in names for name in model.v_names], dtype=bool)
    return q, v


def initial_states(model: Model, parameters: np.ndarray) -> list[State]:
    """The initial states of a model in several cases (cases x parameters), at time 0."""
    found = [np.asarray(x, dtype=float).reshape(-1, len(parameters), order="F").T for x in model.initial(parameters.T)]
    return [_initial(model, np.array(q), np.array(v)) for q, v in zip(*found, strict=True)]


def _initial(model: Model, q: np.ndarray, v: np.ndarray) -> State:
    stated = {}
    if model.stated:
        stated = {name: float(x) for name, x in zip(model.q_names, q, strict=True) if name in model.stated}
        rates = ((rate_name(name), float(x)) for name, x in zip(model.v_names, v, strict=True))
        stated |= {name: x for name, x in rates if name in model.stated}
    return State(q, v, given=SpecifiedValues(stated=stated))
