"""C source text: identifiers, strings, arrays, and templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from pliant.engine.c_code import literal

LINE = 110
TEMPLATES = Path(__file__).parent / "templates"

# Headers of C and of common systems: a file of the same name in the search path would hide them.
_HEADERS = """
    aio alloca assert complex cpio ctype dirent dlfcn elf endian errno execinfo fcntl features fenv float fnmatch
    getopt glob grp iconv inttypes iso646 langinfo libgen limits link locale malloc math memory monetary mqueue ndbm
    netdb nl_types paths poll pthread pwd regex sched search semaphore setjmp signal spawn stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string strings stropts syslog tar termios tgmath threads time trace
    uchar ucontext ulimit unistd utime utmpx values wait wchar wctype wordexp windows io process direct
"""
# Targets defined by CMake or its generators, libraries known to every linker, and our own file.
_BUILD = (
    "all c clean default depend edit_cache help install m main package package_source preinstall rebuild_cache test"
)
_RESERVED = frozenset(f"{_HEADERS} {_BUILD}".split())
MAX_NAME = 40


class ExportError(RuntimeError):
    """A robot that cannot be exported, or a folder that cannot be written to; `hint` suggests a fix."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message, self.hint = message, hint


def filled(template: str, words: Mapping[str, str]) -> str:
    """A template with its placeholders replaced and the robot's prefix on all names."""
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    name = words["name"]
    text = text.replace("robot_", f"{name}_").replace("ROBOT_", f"{name.upper()}_")
    # after the names, so that titles and names cannot be mistaken for placeholders
    parts = text.split("@")
    return "".join(words[part] if k % 2 else part for k, part in enumerate(parts))


def robot_identifier(title: str) -> str:
    """Base name of the functions, files and build targets of a robot: lower case, without conflicts with other names."""
    name = _word(title).lower()[:MAX_NAME].strip("_")
    if not name:
        return "robot"
    if not name[0].isalpha() or name == "pl" or name.startswith("pl_"):
        return f"robot_{name}"
    return f"{name}_robot" if name in _RESERVED else name


def identifiers(names: Sequence[str]) -> list[str]:
    """A unique C identifier (to be prefixed) for each name; names that are valid identifiers are kept."""
    taken = {name for name in names if _word(name) == name}
    out = []
    for name in names:
        word = _word(name) or "unnamed"
        if word != name:
            word = next(w for w in _numbered(word) if w not in taken)
            taken.add(word)
        out.append(word)
    return out


def _word(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")


def _numbered(word: str) -> Iterable[str]:
    yield word
    number = 2
    while True:
        yield f"{word}_{number}"
        number += 1


def comment(text: str) -> str:
    """Text that is safe inside a C comment: one line, ASCII."""
    plain = " ".join(text.split()).encode("ascii", "replace").decode("ascii")
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def string(text: str) -> str:
    """A C string literal with the text's UTF-8 bytes."""
    safe = {ord(c) for c in map(chr, range(32, 127)) if c not in '"\\?'}
    # an escape has at most three octal digits, so the following text cannot extend it
    return '"' + "".join(chr(b) if b in safe else f"\\{b:03o}" for b in text.encode()) + '"'


def array(declaration: str, items: Iterable[str]) -> str:
    """`declaration[] = {items};`; an empty list becomes one zero, because C has no empty arrays."""
    lines, line = [], " "
    for item in [*items] or ["0"]:
        if len(line) + len(item) + 2 > LINE:
            lines.append(line)
            line = " "
        line += f" {item},"
    return "\n".join([f"{declaration}[] = {{", *lines, line, "};"])


def integers(declaration: str, values: Iterable[int]) -> str:
    """An array of integers."""
    return array(declaration, (str(int(x)) for x in values))


def numbers(declaration: str, values: np.ndarray) -> str:
    """An array of doubles."""
    return array(declaration, map(literal, values))


def names_list(declaration: str, names: Iterable[str]) -> str:
    """A list of strings ended by a null pointer."""
    return array(declaration, [*map(string, names), "0"])


def enumeration(prefix: str, names: Sequence[str], what: str) -> str:
    """An enumeration of names with a prefix, or nothing without names."""
    if not names:
        return ""
    lines = [f"/* {what} */", "enum {"]
    for word, name in zip(identifiers(names), names, strict=True):
        lines.append(f"  {prefix}{word}," + ("" if word == name else f" /* {comment(name)} */"))
    return "\n".join([*lines, "};", ""])
