"""Every scalar of a model's text, damaged one at a time. The walk is generic, so that it covers new kinds too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from make_reference import PAGE, examples
from pliant.analysis.derivation.check import check_source
from pliant.language.faults import ExpressionError, Fault, Place
from pliant.language.message_text import KeyPath
from pliant.language.source import MODEL_FOLDER, Source, bundled, read_source, with_variant
from pliant.language.syntax import parse
from pliant.language.tree import Tree, parse_yaml

LINE = 1_000_000
"""The damaged scalar is put on a separate line, so that a fault can be attributed to it."""

DAMAGES: dict[str, tuple[float | str, ...]] = {
    "an unknown name": ("=no_such_name",),
    "a wrong unit": ("3 A^5*K^3",),
    "no finite number": (float("nan"), "=0/0", "=1e200*1e200"),
}


@dataclass(frozen=True)
class Scalar:
    """A number or expression in a model's text."""

    model: str
    source: Source
    path: KeyPath

    def __str__(self) -> str:
        return f"{self.model}: {'.'.join(map(str, self.path))}"

    @property
    def inner(self) -> KeyPath:
        """The path in the robot that it belongs to, whether it is in a variant, in a model within the text, or in neither."""
        path = self.path[2:] if self.path[0] == "variants" else self.path
        return path[2:] if path[0] == "models" else path

    @property
    def kind(self) -> tuple[str, ...]:
        """What says which check it goes through: the kind of its entry and the keys that lead to it, without names and numbers."""
        keys = [str(step) for step in self.inner if isinstance(step, str)]
        entry = self.source.tree
        kinds = [self.path[0] if self.path[0] in ("variants", "defaults") else ""]
        for step in self.path:
            entry = entry.child(step) if entry else None
            for key in ("type", "kind", "shape"):
                word = entry.child(key) if entry and isinstance(entry.value, dict) else None
                if word is not None and isinstance(word.value, str):
                    kinds.append(word.value)
        return (*kinds, keys[0], *keys[2:])

    def takes_any_unit(self) -> bool:
        """Whether any unit is right here: the dimension of a parameter is that of its value, and a bare one has bounds of any."""
        if self.inner[0] != "parameters":
            return False
        if self.inner[-1] not in ("minimum", "maximum"):
            return True
        assert self.source.tree is not None
        entry: Tree | None = self.source.tree
        for step in (*self.path[:-1], "value"):
            entry = entry.child(step) if entry else None
        return entry is None or not isinstance(entry.value, str)

    def damaged(self, value: float | str) -> list[Fault]:
        """The faults of the model, or of its variant, with another value here."""
        assert self.source.tree is not None
        tree = _put(self.source.tree, self.path, Tree(value, Place(self.source.file, LINE)))
        source = replace(self.source, tree=tree)
        if self.path[0] == "variants":
            return check_source(with_variant(source, str(self.path[1])))
        return check_source(replace(source, tree=Tree({k: v for k, v in tree.value.items() if k != "variants"})))


def _put(tree: Tree, path: KeyPath, new: Tree) -> Tree:
    if not path:
        return new
    child = tree.child(path[0])
    assert child is not None
    inner = _put(child, path[1:], new)
    if isinstance(tree.value, dict):
        return Tree({**tree.value, path[0]: inner}, tree.place)
    return Tree([inner if index == path[0] else entry for index, entry in enumerate(tree.value)], tree.place)


def scalars() -> Iterator[Scalar]:
    """Every number and expression of the bundled robots and of the examples of the reference, small models first."""
    sources = {name: read_source(MODEL_FOLDER / f"{name}.yaml") for name in bundled()}
    for number, text in enumerate(examples(PAGE.read_text(encoding="utf-8"))):
        file = f"example {number}"
        source = Source(file, parse_yaml(text, file), MODEL_FOLDER)
        if not check_source(source):  # some show a part only, or need a file
            sources[file] = source
    found = {name: list(_walk(name, source, source.tree, ())) for name, source in sources.items() if source.tree}
    for name in sorted(found, key=lambda name: len(found[name])):
        yield from found[name]


def _walk(model: str, source: Source, tree: Tree, path: KeyPath) -> Iterator[Scalar]:
    if isinstance(tree.value, dict):
        for key, child in tree.value.items():
            yield from _walk(model, source, child, (*path, key))
    elif isinstance(tree.value, list):
        for index, child in enumerate(tree.value):
            yield from _walk(model, source, child, (*path, index))
    elif _is_value(tree.value):
        yield Scalar(model, source, path)


def _is_value(value: object) -> bool:
    if isinstance(value, str):
        try:
            parse(value)
        except ExpressionError:
            return False
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)
