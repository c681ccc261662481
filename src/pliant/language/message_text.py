"""Text of messages: suggestions, descriptions of wrong values, safe printing.

This module has no slow imports, so that the command line can report errors without loading the schema.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pliant.language.dimension import Dimension

KeyPath: TypeAlias = tuple[str | int, ...]
"""A location in a model: keys and list positions from the top, or from a part."""


def nearest(word: object, choices: Iterable[str]) -> str | None:
    """The choice most similar to `word`, or None if nothing is similar; the first instance of a repeated part for its name."""
    known = list(choices)[:2000]
    found = difflib.get_close_matches(str(word)[:80], known, n=1, cutoff=0.6)
    return next((name for name in known if name.startswith(f"{word}[")), found[0] if found else None)


def suggestion(word: object, choices: Iterable[str], otherwise: str = "") -> str:
    """A hint with the choice most similar to `word`, or `otherwise` if nothing is similar."""
    match = nearest(word, choices)
    return f"did you mean '{match}'?" if match else otherwise


_KEYS: tuple[tuple[str, str, str], ...] = (
    # keys of other programs, a key that the part has, the hint (default: write that key)
    ("E young youngs elastic_modulus modulus", "youngs_modulus", ""),
    ("nu poisson", "poissons_ratio", ""),
    ("rho", "density", ""),
    ("G", "shear_modulus", ""),
    ("mu friction_coefficient", "friction", ""),
    ("r", "radius", ""),
    ("com", "center_of_mass", ""),
    ("stiffness k springref", "spring", ""),
    ("damping d c damper_coefficient", "damper", ""),
    ("force torque motor actuator actuation effort", "tension", ""),
    ("force torque motor actuator actuation effort", "input", ""),
    ("range", "limits", ""),
    ("q0 value start", "initial", ""),
    ("velocity speed", "rate", ""),
    ("dt timestep time_step max_step", "step", ""),
    ("t_end tf t_span duration end", "until", ""),
    ("t0", "begin", ""),
    ("x0 y0 q0 initial_state", "start", ""),
    ("t_eval saveat", "save_at", ""),
    ("integrator solver", "method", ""),
    ("tolerance tol", "rtol", ""),
    ("origin xyz translation pos", "position", ""),
    ("rpy quat euler orientation", "rotation", ""),
    ("base", "parent", ""),
    ("body link point", "frame", ""),
    ("bodies pair geoms things", "between", ""),
    ("points sites route path", "through", ""),
    ("gravity", "world", "it belongs to the world: `world: {gravity: [0, 0, -9.81 m/s^2]}`"),
    (
        "actuators motors",
        "inputs",
        "declare parameters with `input: true`, and use them as `input` of joints, or in loads and tendons",
    ),
    ("count", "child", "a joint is repeated with its child: give `count` to the body"),
    ("radius diameter", "section", "it belongs to the section: `sections: {wire: {shape: circle, radius: 1 mm}}`"),
    ("mass", "section", "the mass of a rod follows from its section and material"),
    (
        "E youngs_modulus poissons_ratio density rho nu",
        "section",
        "it belongs to the material: `materials: {steel: {...}}`",
    ),
    (
        "elements segments order discretization n",
        "model",
        "it belongs to the model: `model: {kind: pcs, elements: 10}`",
    ),
    ("size radius length type", "shape", "it belongs to the shape: `shape: {type: box, size: [...]}`"),
    ("density rho", "material", "it belongs to the material: `materials: {steel: {density: 7850 kg/m^3}}`"),
)
_TYPES = {
    "hinge": "revolute", "continuous": "revolute", "rotary": "revolute", "slide": "prismatic", "slider": "prismatic",
    "ball": "spherical", "fixed": "weld", "floating": "free", "cable": "tension", "capsule": "cylinder",
}  # fmt: skip


def own_word(key: object, known: Iterable[str]) -> str:
    """The known word for one that other programs use; empty for other words."""
    there = set(known)
    return next((own for words, own, _ in _KEYS if own in there and str(key) in words.split()), "")


def word_of_others(key: object, known: Iterable[str]) -> str:
    """A hint for a key that other programs use; empty for other keys."""
    there = set(known)
    for words, own, hint in _KEYS:
        if own in there and str(key) in words.split():
            return hint or f"write `{own}`"
    return ""


def type_of_others(name: object, known: Iterable[str]) -> str:
    """A hint for a type that has another name in other programs; empty for other names."""
    own = _TYPES.get(str(name), "")
    return f"write `{own}`" if own in set(known) else ""


def half_of_diameter(key: int | str, given: object, known: Container[str]) -> str:
    """A hint for a diameter where the language has the radius; empty for other keys."""
    radius = str(key).replace("diameter", "radius")
    if radius == key or radius not in known:
        return ""
    found = re.fullmatch(r"\s*([-+.\deE]+)\s*(.*)", str(given)) if isinstance(given, str | int | float) else None
    try:
        half = f"{float(found[1]) / 2:g} {found[2]}".strip() if found else "..."
    except ValueError:
        half = "..."
    return f"give the radius, which is half of it: `{radius}: {half}`"


def with_article(noun: str) -> str:
    """The noun with its indefinite article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def enumeration(items: Sequence[str], most: int = 6, what: str = "") -> str:
    """The first items with commas, and the number of the others: "a, b and 3 more pairs", where `what` is "pairs"."""
    rest = len(items) - most
    return ", ".join(items[:most]) + (f" and {rest} more {what}".rstrip() if rest > 0 else "")


def unit_text(dimension: Dimension | None, number: str = "") -> str:
    """The SI unit of a dimension (`N*m`): `number` for plain numbers and angles, empty if the dimension is unknown."""
    return "" if dimension is None else number if dimension.is_number else dimension.unit


def unit_after_value(dimension: Dimension | None) -> str:
    """The SI unit as it follows a value in a sentence: " N m"; empty for plain numbers and angles."""
    return f" {unit_text(dimension)}".replace("*", " ").rstrip()


def printable(text: str) -> str:
    """The text with control characters escaped, so that a message can neither move the cursor nor hide text."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def describe(value: object) -> str:
    """A short description of a wrong value, for messages."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    text = printable(str(value))
    short = text if len(text) <= 40 else text[:37] + "..."
    return f"'{short}'" if isinstance(value, str) else short


def merged_instances(texts: Sequence[str]) -> list[str]:
    """The texts in order, those that differ only in the number of an instance as one: that of `finger[1]` and of `finger[2]` is
    that of `finger[1..2]`."""
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        groups.setdefault(INSTANCE.sub("[]", text), []).append(text)
    return [merged for group in groups.values() for merged in _merged(group)]


INSTANCE = re.compile(r"\[(\d+)\]")
"""The number of an instance of a repeated part, in its name."""


def _merged(texts: list[str]) -> list[str]:
    """One text for all, if all changing numbers are the same in each."""
    numbers = [[int(x) for x in INSTANCE.findall(text)] for text in texts]
    columns = list(zip(*numbers, strict=True))
    changing = {column for column in columns if len(set(column)) > 1}
    if len(texts) == 1 or len(changing) != 1:
        return texts
    (column,) = changing
    found = sorted(column)
    whole = found == list(range(found[0], found[-1] + 1))
    words = f"{found[0]}..{found[-1]}" if whole else ",".join(map(str, found))
    each = iter(columns)
    return [INSTANCE.sub(lambda match: f"[{words}]" if next(each) == column else match[0], texts[0])]
