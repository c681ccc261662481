"""Remarks on results: what a user has to know to read the numbers of a result correctly.

A remark is a function of the equations and the result of an analysis. It runs when remarks are first accessed, never in a
solver. The analyses that may need it list it in `Analysis.remarks`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Words: TypeAlias = str | None
Rule: TypeAlias = Callable[[Any, Any], Words]
"""Equations and the result of an analysis -> the text of the remark, or None where there is nothing to say."""


class Remark(str):
    """The text of a remark; `name` is that of its function."""

    name: str
    __slots__ = ("name",)

    def __new__(cls, text: str, name: str = "") -> Remark:
        made = super().__new__(cls, text)
        made.name = name
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Remark, (str(self), self.name)


@dataclass(frozen=True)
class RemarkRule:
    """A function that makes a remark, with its threshold and where that comes from, for the documentation.

    threshold: when the remark appears. reason: where this limit comes from.
    """

    function: Rule
    threshold: str
    reason: str

    @property
    def name(self) -> str:
        """Name of the remark."""
        return self.function.__name__

    @property
    def about(self) -> str:
        """What the remark says: the first paragraph of its documentation."""
        return " ".join((inspect.getdoc(self.function) or "").split("\n\n")[0].split())

    def __call__(self, equations: Any, result: Any) -> Remark | None:
        text = self.function(equations, result)
        return Remark(text, self.name) if text else None


RULES: dict[str, RemarkRule] = {}
"""All remarks by name, as far as their modules are imported."""


def remark(threshold: str, reason: str) -> Callable[[Rule], RemarkRule]:
    """Decorator of a function that makes a remark. threshold: when it appears; reason: where this limit comes from."""

    def decorate(function: Rule) -> RemarkRule:
        rule = RemarkRule(function, threshold, reason)
        assert RULES.get(rule.name, rule).function.__module__ == function.__module__, (
            f"two remarks are named {rule.name}"
        )
        RULES[rule.name] = rule
        return rule

    return decorate


def joined(texts: Iterable[str]) -> Words:
    """Several texts as one remark."""
    return "; ".join(texts) or None


def remarks_on(rules: Iterable[RemarkRule], equations: Any, result: Any) -> tuple[Remark, ...]:
    """The remarks of these rules on a result, each once."""
    made = (rule(equations, result) for rule in rules)
    return tuple(dict.fromkeys(x for x in made if x is not None))


def listed(rules: Mapping[str, RemarkRule]) -> list[tuple[str, str, str, str]]:
    """Name, text, threshold and reason of remarks, for a table."""
    return [(name, rule.about, rule.threshold, rule.reason) for name, rule in sorted(rules.items())]
