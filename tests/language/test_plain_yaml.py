"""Plain YAML is read as ruamel.yaml reads it, lines included; everything else is left to it."""

from __future__ import annotations

import random

import pytest

from pliant.language.faults import SpecError
from pliant.language.source import MODEL_FOLDER
from pliant.language.tree import Builder, Tree, parse_yaml
from pliant.language.yaml_reader import NotPlain, read_full, read_plain

TEXT = """# a model
pliant: 1
name: "in quotes: yes"   # a comment
notes: >-
  two lines
  of text # no comment
lines: |
  one
  two
empty:
numbers: [1, -2.5, 1e6, .5, 'a, b', {a: b c, d: [x]}]  # end
long: {a: 1 mm,
  b: "=c*2",  # here
  list: [1,
    2]
  }
base: &base {x: 1, y: it's}
own: &own
  k: v
again: *base
bodies:
  one: {mass: 1 kg}
  two:
    at: [0, 0, =L]
    text: a - b, c
list:
- a
- *own
- key: value
  other: -x
-   - 1
    - 2
deep:
    - b: {c: d}
      e:
        - f
    - [g, h]
on: yes
"""
PIECES = [*"\n \t:-#,[]{}'\"&*>|?!%@`=b1~", "  ", ": ", " #", "- ", "\n  ", "\n- ", "{}", "&a ",
          "*base", "---\n", "<<: ", "\u2028", "\r\n", "\\n"]  # fmt: skip


def plain(text: str) -> Tree | None:
    builder = Builder("x")
    try:
        read_plain(text, builder)
    except (NotPlain, SpecError):
        return None
    return builder.root


def full(text: str) -> Tree | str | None:
    builder = Builder("x")
    try:
        read_full(text, "x", builder)
    except SpecError as error:
        return str(error)
    return builder.root


def test_every_plain_form_is_read_with_its_lines() -> None:
    found = plain(TEXT)
    assert found is not None
    assert found == full(TEXT)
    value = found.plain()
    assert value["notes"] == "two lines of text # no comment"
    assert value["numbers"] == [1, -2.5, 1e6, 0.5, "a, b", {"a": "b c", "d": ["x"]}]
    assert value["again"] == {"x": 1, "y": "it's"}
    assert found.find(("deep", 0, "e", 0))[1].line == TEXT[: TEXT.index("- f")].count("\n") + 1  # type: ignore[union-attr]
    assert plain(TEXT.replace("\n", "\r\n")) == found


@pytest.mark.parametrize("file", sorted(MODEL_FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_bundled_robots_are_plain(file) -> None:
    text = file.read_text(encoding="utf-8")
    assert plain(text) is not None
    assert plain(text) == full(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: b\n  c\n", "a: b: c\n", "a: [1,]\n", "a: {b}\n", "a: [b: c]\n", "a:\tb\n", "? a\n: b\n", "a: !tag b\n", "--- \na: b\n",
        "a: 'it''s'\n", 'a: "\\n"\n', "a: |+\n  b\n\n", "a: >-\n  b\n\n  c\n", "a: >-\n   b\n  c\n", "a: |\n  b",
        "a: [b\nc: d\n", "-\n  a\n",
        "a: 1\na: 2\n", "a: *b\n", "a: &b *c\n", "", "# nothing\n", "just text\n", "a: b\n c: d\n", "- a\nb: c\n",
        "a: %b\n", "a: {b:c}\n",
    ],
)  # fmt: skip
def test_the_rest_is_left_to_the_full_reader(text: str) -> None:
    assert plain(text) is None


def test_a_text_that_is_not_plain_is_read_all_the_same() -> None:
    assert parse_yaml("a: b\n  c\nd: 'it''s'\n", "x").plain() == {"a": "b c", "d": "it's"}
    with pytest.raises(SpecError, match="occurs twice"):
        parse_yaml("a: 1\na: 2\n", "x")


def test_changed_texts_mean_the_same_to_both_readers() -> None:
    chance = random.Random(1)
    agreed = 0
    for _ in range(1200):
        lines = TEXT.split("\n")
        first = chance.randrange(len(lines))
        text = "\n".join(lines[first : first + chance.randrange(2, 9)])
        for _ in range(chance.choice((1, 1, 2, 3))):
            at = chance.randrange(len(text) + 1)
            piece, cut = (chance.choice(PIECES), 0) if chance.random() < 0.6 else ("", chance.choice((1, 2, 5)))
            text = text[:at] + piece + text[at + cut :]
        found = plain(text)
        if found is not None:
            assert found == full(text), text
            agreed += 1
    assert agreed > 80
