"""Checks of arguments: messages with the error, its location and a fix."""

import functools
import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pliant.language.message_text import describe, suggestion, word_of_others

Called = TypeVar("Called", bound=Callable[..., Any])


class ArgumentError(ValueError):
    """An invalid argument; `hint` suggests a fix."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.message, self.hint = message, hint


def is_number(value: object) -> bool:
    """Whether a value is a finite number (and not a boolean)."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return False
    return math.isfinite(value)


def number(
    where: str, value: Any, *, above: float | None = None, at_least: float | None = None,
    at_most: float | None = None, hint: str = "",
) -> float:  # fmt: skip
    """A finite number within limits; NumPy numbers and arrays of one number are accepted."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if not (
        is_number(value)
        and (above is None or value > above)
        and (at_least is None or value >= at_least)
        and (at_most is None or value <= at_most)
    ):
        raise ArgumentError(f"{where} must be {_wanted(above, at_least, at_most)}, not {describe(value)}", hint)
    return float(value)


def _wanted(above: float | None, at_least: float | None, at_most: float | None) -> str:
    if at_least is not None and at_most is not None:
        return f"a number between {at_least:g} and {at_most:g}"
    if above == 0 and at_most is None:
        return "a positive number"
    limits = (("above", above), ("at least", at_least), ("at most", at_most))
    words = " and ".join(f"{word} {limit:g}" for word, limit in limits if limit is not None)
    return f"a number {words}" if words else "a finite number"


def positive(where: str, value: Any, hint: str = "") -> float:
    """A finite number above zero."""
    return number(where, value, above=0.0, hint=hint)


def whole(where: str, value: Any, *, least: int, most: int | None = None, hint: str = "") -> int:
    """An integer of at least `least`, and at most `most`."""
    if not is_number(value) or value != int(value) or value < least:
        raise ArgumentError(f"{where} must be an integer of at least {least}, not {describe(value)}", hint)
    if most is not None and value > most:
        raise ArgumentError(f"{where} must be an integer of at most {most}, not {describe(value)}", hint)
    return int(value)


def choice(what: str, value: Any, known: Iterable[str]) -> str:
    """Check that a value is one of several keywords."""
    words = tuple(known)
    if isinstance(value, str) and value in words:
        return value
    message = (
        f"unknown {what} {describe(value)}" if isinstance(value, str) else f"the {what} cannot be {describe(value)}"
    )
    near = suggestion(value, words)
    raise ArgumentError(message, f"{near}{' ' if near else ''}known: {', '.join(words)}")


def mapping(where: str, value: Any) -> dict[str, Any]:
    """A mapping from names to values; None gives an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentError(
            f"{where} must map names to numbers, not {describe(value)}", f"write {where}={{'name': 1.0}}"
        )
    for name in value:
        if not isinstance(name, str):
            raise ArgumentError(f"{where} must map names to numbers; {describe(name)} is not a name")
    return dict(value)


def real(where: str, value: Any, wanted: str = "numbers") -> np.ndarray:
    """An array of real numbers of any shape, finite or not."""
    try:
        found = np.asarray(value)
        # NumPy would drop imaginary parts, and read None as NaN
        if np.iscomplexobj(found) or (found.dtype == object and any(x is None for x in found.flat)):
            raise TypeError
        return found.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{where} must be {wanted}, not {describe(value)}") from None


def array(where: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An array of finite numbers with this shape."""
    size = " x ".join(map(str, shape))
    found = real(where, value, f"an array of {size} numbers")
    if found.shape != shape:
        raise ArgumentError(f"{where} must be an array of {size} numbers; it has shape {found.shape}")
    if not np.isfinite(found).all():
        raise ArgumentError(f"{where} has a number that is not finite")
    return found


def numbers(where: str, value: Any) -> np.ndarray:
    """Finite numbers in one dimension, such as times."""
    found = real(where, value, "a list of numbers")
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ArgumentError(f"{where} must be a list of numbers, not {describe(value)}")
    return found


def vector(where: str, value: Any, size: int) -> np.ndarray:
    """An array of `size` finite numbers."""
    try:
        array = real(where, value)
    except ArgumentError:
        raise ArgumentError(f"{where} must have {size} entries in one dimension, not be {describe(value)}") from None
    if array.shape != (size,):
        raise ArgumentError(f"{where} must have {size} entries in one dimension; it has shape {array.shape}")
    if not np.isfinite(array).all():
        index = int(np.argmin(np.isfinite(array)))
        raise ArgumentError(f"{where} has a number that is not finite at index {index}")
    return array


def matrix(where: str, value: Any, hint: str = "") -> np.ndarray:
    """A matrix of finite numbers."""
    found = real(where, value, "a matrix")
    if found.ndim != 2 or not np.isfinite(found).all():
        raise ArgumentError(f"{where} must be a matrix of finite numbers", hint)
    return found


def listed(value: Any) -> tuple[Any, ...]:
    """The entries of an iterable; anything else, such as an array without dimensions, is an entry by itself."""
    return tuple(value) if np.iterable(value) else (value,)


def name_tuple(value: Any, where: str = "names") -> tuple[str, ...] | None:
    """Names as a tuple; a single name is accepted, and None is returned unchanged."""
    if value is None:
        return None
    given = (value,) if isinstance(value, str) else listed(value)
    for name in given:
        if not isinstance(name, str) or isinstance(value, Mapping):
            raise ArgumentError(f"{where} must be a name or a list of names, not {describe(value)}")
    return tuple(map(str, given))


def flag(where: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{where} must be True or False, not {describe(value)}")
    return bool(value)


def known_keywords(called: Called) -> Called:
    """Decorator of a function that rejects unknown keywords, with the nearest known one as the hint."""
    known = tuple(inspect.signature(called).parameters)

    @functools.wraps(called)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                hint = word_of_others(name, known) or suggestion(name, known, f"known: {', '.join(known)}")
                raise ArgumentError(f"{called.__name__} has no argument '{name}'", hint)
        return called(*arguments, **keywords)

    return call  # type: ignore[return-value]


def file_name(where: str, value: Any) -> Path:
    """A path from a text or a path object."""
    if not isinstance(value, (str, os.PathLike)) or not str(value) or "\0" in str(value):
        shown = "empty" if isinstance(value, str) and not value else describe(value)
        raise ArgumentError(f"{where} must be the name of a file, not {shown}")
    return Path(value)


def function(where: str, value: Any) -> None:
    """Reject what can not be called; None is accepted."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{where} must be a function, not {describe(value)}")


def pair(where: str, value: Any, *, example: str) -> tuple[float, float]:
    """Two numbers, which may be infinite."""
    try:
        first, second = (float(x) for x in value)
    except (TypeError, ValueError, OverflowError):
        first = second = math.nan
    if math.isnan(first) or math.isnan(second):
        raise ArgumentError(f"{where} must be two numbers, not {describe(value)}", f"write {example}")
    return first, second


def folder_list(value: Any) -> tuple[Path, ...]:
    """Paths of the argument `folders`; a single folder is accepted, and None gives none."""
    given = () if value is None else (value,) if isinstance(value, (str, bytes, os.PathLike)) else listed(value)
    return tuple(file_name("a folder", folder) for folder in given)


def of_type(where: str, value: Any, kind: type, hint: str) -> None:
    """Reject what is not of this type."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{where} must be {article(kind.__name__)} {kind.__name__}, not {describe(value)}", hint)


def article(word: str) -> str:
    """The indefinite article of a word."""
    return "an" if word[:1].lower() in "aeiou" else "a"
