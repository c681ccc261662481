"""Random damage to texts and bytes, for fuzzing: the kinds of slips people make, and the malice of strangers."""

from __future__ import annotations

import random
import re
import struct

CHARACTERS = list(" \t\n:-{}[],=&*#!|>'\"%@`.~/\\()+^<>_0123456789aeimtxyzNE°µ²é\0\x1b\u2028😀")

TOKENS = [
    "", "~", "null", "true", "on", "nan", ".inf", "-1", "0", "1e400", "1e-400", "9" * 40, "=1/0", "=0/0", "=t", "=i",
    "=count", "=length", "=2*length", "=sqrt(-1)", "=9^9^9^9", "=__import__('os')", "=exec('x')", "=(((", "={}", "=",
    "50 mm", "3 kg", "5 parsec", "1 m^99", "30 deg", "rod", "rod.tip", "rod[1]", "rod[0].tip", "rod[i-1]", "world",
    "free", "[]", "{}", "[1, 2]", "[0, 0, 0]", "[free, free, free]", "{each: [1, 2]}", "{each: []}", "{}: {}", "&a *a",
    "*missing", "!!python/object:os.system x", "{<<: *a}", "'unclosed", '"unclosed', "- -", "? :", "% TAG",
    "as at start",
    "../../etc/passwd", "/etc/passwd", "$(reboot)", 'x"); system("ls', "a" * 300, "{axis: x, angle: 1}",
    "{quaternion: [0, 0, 0, 0]}", "{step: {at: 1, after: 2}}", "{series: {file: /dev/zero, column: a}}",
    "{piecewise: []}", "{model: pendulum}", "{model: nothing.yaml}", "1000000000", "=number*1e9", "revolute", "chain",
    "spherical", "weld", "axial", "beam", "position", "all", "quaternion", "count: 100000", "count: =number",
    "2026-01-01", "0o17", "0b1", "1_0", "12:30:45", "!!binary aGVsbG8=", "!!set {a}", "!!float x", "!!int '7'", "!x y",
    "? [a]", "{[a]: b}", "{1: 2}", "{true: 1}", "{~: 1}", "<b>", "[key]", "<<", "=rod", "=pi", "=min(1)", "=if(t, 1, 2)",
    "[" * 200, "{a: " * 200, "- " * 200, "'" * 3, "|", ">-", "\\x00", '"\\0"', '"\\ud800"', "\ufeff", "\u202e",
    "=1e200*1e200", "=-1e308*10", "1e-320", "=0*length/0", "=length^1e9", "=(-1)^0.5", "=1 m + 1 s", "-0", "=i/0",
]  # fmt: skip

LINES = [
    "pliant: 2", "include: [model.yaml]", "include: nothing.yaml", "attach: {a: {model: pendulum}}",
    "attach: {a: {model: model.yaml}}", "variants: {a: {bodies: null}}", "variants: {a: {a: {a: a}}}",
    "defaults: {bodies: {mass: 1 s}}", "defaults: {joints: {axis: [0, 0, 0]}}", "inputs: {length: 3}",
    "links: {k: {type: axial, between: [world, world]}}", "bodies: null", "joints: []", "parameters: {e: 1}",
    "constraints: {c: {between: [world, rod], components: all, position: [1, 2]}}",
    "loads: {l: {frame: nowhere, force: [=t, =1/t, 0]}}", "outputs: {o: {energy: dark}}", "analyses: [{}]",
    "a: &a [1, 1]", "b: &b [*a, *a, *a]", "---", "...", "{", "]", "\t", "? x", ": y",
]  # fmt: skip


def mutate(text: str, chance: random.Random) -> str:
    """The text with one to four random changes."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 4))):
        text = chance.choice(CHANGES)(text, chance)
    return text


def mutate_numbers(text: str, chance: random.Random) -> str:
    """The text with one to four other numbers: it is mostly still valid."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        text = _number(text, chance)
    return text


def mutate_bytes(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one to eight random changes: other bytes, pieces removed, doubled or moved, ends cut."""
    for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
        at = chance.randrange(len(data) + 1)
        run = data[at : at + chance.choice((1, 1, 2, 4, 8, 64, 512))]
        rest = data[at + len(run) :]
        kind = chance.randrange(7)
        if kind == 0:
            data = data[:at] + bytes(x ^ (1 << chance.randrange(8)) for x in run[:1]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at] + chance.randbytes(len(run)) + rest
        elif kind == 2:
            data = data[:at] + chance.choice((b"\0", b"\xff", b"\x7f")) * len(run) + rest
        elif kind == 3:
            data = data[:at] + chance.choice((b"", run * 2)) + rest
        elif kind == 4:
            to = chance.randrange(len(data) + 1)
            data = data[:to] + run + data[to + len(run) :]
        elif kind == 5:
            data = data[:at] + struct.pack(chance.choice("<>") + "q", chance.choice(SIZES))[: len(run)] + rest
        elif chance.random() < 0.3:
            data = data[:at]
    return data


SIZES = (0, 1, -1, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**62, -(2**63))
"""Numbers that sizes and places in files have when they are wrong."""


def _character(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(("", chance.choice(CHARACTERS))) + text[at + chance.choice((0, 1)) :]


def _token(text: str, chance: random.Random) -> str:
    """Another word or value in place of one."""
    words = list(re.finditer(r"[^\s:,\[\]{}#]+", text))
    if not words:
        return text
    word = chance.choice(words)
    other = chance.choice(TOKENS) if chance.random() < 0.6 else chance.choice(words).group()
    return text[: word.start()] + other + text[word.end() :]


def _number(text: str, chance: random.Random) -> str:
    numbers = list(re.finditer(r"[0-9.]+", text))
    if not numbers:
        return text
    number = chance.choice(numbers)
    other = chance.choice(("0", "-1", "1e9", "-1e-9", "1e308", "00", "1.2.3", "1_000", "0x10", str(chance.random())))
    return text[: number.start()] + other + text[number.end() :]


def _line(text: str, chance: random.Random) -> str:
    """A line removed, doubled, moved, indented or added."""
    lines = text.split("\n")
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    kind = chance.randrange(5)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(to, lines[at])
    elif kind == 2:
        lines[at], lines[to] = lines[to], lines[at]
    elif kind == 3:
        lines[at] = " " * chance.choice((0, 1, 2, 3, 4, 8)) + lines[at].lstrip()
    else:
        lines.insert(at, " " * chance.choice((0, 0, 0, 2, 4)) + chance.choice(LINES))
    return "\n".join(lines)


def _lines(text: str, chance: random.Random) -> str:
    """A run of lines removed or doubled."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    run = lines[at : at + chance.randrange(1, 8)]
    return "\n".join(lines[:at] + run * chance.choice((0, 2)) + lines[at + len(run) :])


def _block(text: str, chance: random.Random) -> str:
    """A line with all that is indented below it: removed, doubled, put elsewhere at another depth, or in place of another."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    end = _end_of_block(lines, at)
    block = lines[at:end]
    kind = chance.randrange(4)
    if kind == 0:
        return "\n".join(lines[:at] + lines[end:])
    if kind == 1:
        return "\n".join(lines[:end] + block + lines[end:])
    to = chance.randrange(len(lines))
    deeper = _depth(lines[to]) - _depth(lines[at])
    moved = [" " * max(0, _depth(line) + deeper) + line.lstrip(" ") for line in block]
    return "\n".join(lines[:to] + moved + lines[_end_of_block(lines, to) if kind == 3 else to :])


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _end_of_block(lines: list[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and (not lines[end].strip() or _depth(lines[end]) > _depth(lines[at])):
        end += 1
    return end


def _encoding(text: str, chance: random.Random) -> str:
    """Another way to write line ends or the start of a file."""
    kind = chance.randrange(4)
    if kind == 0:
        return text.replace("\n", "\r\n")
    if kind == 1:
        return text.replace("\n", "\r")
    return ("\ufeff" if kind == 2 else "%YAML 1.1\n---\n") + text


def _cut(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text) + 1)] if chance.random() < 0.3 else text


CHANGES = (_character, _token, _token, _token, _line, _line, _lines, _number, _cut, _block, _block, _encoding)
