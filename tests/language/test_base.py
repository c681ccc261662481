"""Parts of the language are abstract or final, never both."""

import inspect
from collections.abc import Iterator

import pytest

import pliant.parts
from pliant.cli.export import targets
from pliant.language.base import Part


def below(part: type[Part]) -> Iterator[type[Part]]:
    for child in part.__subclasses__():
        yield child
        yield from below(child)


PUBLIC = [*(getattr(pliant.parts, name) for name in pliant.parts.__all__), *targets()]
PARTS = sorted({part for part in below(Part) if part.__module__.startswith("pliant.")}, key=lambda part: part.__name__)


def test_what_a_user_can_name_is_final() -> None:
    assert not [part.__name__ for part in PUBLIC if inspect.isabstract(part)]


@pytest.mark.parametrize("part", [part for part in PARTS if inspect.isabstract(part)], ids=lambda part: part.__name__)
def test_what_lacks_a_method_cannot_be_made(part: type[Part]) -> None:
    assert any(issubclass(final, part) for final in PUBLIC)
    with pytest.raises(TypeError, match="abstract"):
        part()
