"""Pieces of C source text: identifiers, strings, arrays, and the formulas that CasADi writes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import casadi as ca
import numpy as np

from pliant.equations.kernel_sources import kernel_source

LINE = 110
TEMPLATES = Path(__file__).parent / "templates"
KERNEL_ARGUMENTS = "const double **, double **, long long *, double *, int"

# Headers of C and of common systems: a file of the same name in the search path would hide them.
_HEADERS = """
    aio alloca assert complex cpio ctype dirent dlfcn elf endian errno execinfo fcntl features fenv float fnmatch
    getopt glob grp iconv inttypes iso646 langinfo libgen limits link locale malloc math memory monetary mqueue ndbm
    netdb nl_types paths poll pthread pwd regex sched search semaphore setjmp signal spawn stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string strings stropts syslog tar termios tgmath threads time trace
    uchar ucontext ulimit unistd utime utmpx values wait wchar wctype wordexp windows io process direct
"""
# Targets that CMake or its generators define, libraries that a linker always knows, and our own file.
_BUILD = (
    "all c clean default depend edit_cache help install m main package package_source preinstall rebuild_cache test"
)
_RESERVED = frozenset(f"{_HEADERS} {_BUILD}".split())
MAX_NAME = 40


class ExportError(RuntimeError):
    """A robot that cannot be exported, or a folder that cannot be written to; `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message, self.hint = message, hint


def filled(template: str, words: Mapping[str, str]) -> str:
    """A template with its words put in and the robot's own prefix on all names."""
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    name = words["name"]
    text = re.sub(r"\b(robot|ROBOT)_", lambda m: f"{name if m[1] == 'robot' else name.upper()}_", text)
    # last, so that nothing in a title or a name is taken for the template's own
    return re.sub(r"@(\w+)@", lambda m: words[m[1]], text)


def robot_identifier(title: str) -> str:
    """What the functions, files and build targets of a robot are called: lower case, never in another's way."""
    name = _word(title).lower()[:MAX_NAME].strip("_")
    if not name:
        return "robot"
    if not name[0].isalpha() or name == "pl" or name.startswith("pl_"):
        return f"robot_{name}"
    return f"{name}_robot" if name in _RESERVED else name


def identifiers(names: Sequence[str]) -> list[str]:
    """A different C identifier (to be prefixed) for each name; names that are identifiers already keep theirs."""
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
    # three octal digits end an escape by themselves, so what follows cannot run into it
    return '"' + "".join(chr(b) if b in safe else f"\\{b:03o}" for b in text.encode()) + '"'


def number(value: float) -> str:
    """A double that reads back exactly."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


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
    return array(declaration, (number(x) for x in values))


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


_FUNCTION = re.compile(
    r"^/\* (?P<name>\w+):.*?\*/\nstatic int (?P<symbol>casadi_f\d+)\((?P<arguments>[^)]*)\) \{\n(?P<body>.*?)^\}\n",
    re.MULTILINE | re.DOTALL,
)
_VISIBILITY = re.compile(r"^/\* Symbol visibility in DLLs \*/\n#ifndef.*?^#endif\n", re.MULTILINE | re.DOTALL)
_AFTER_HELPERS = re.compile(
    r"^(/\* Configuration this file|CASADI_SYMBOL_EXPORT|static const casadi_int|/\* \w+:\()", re.MULTILINE
)
_UNUSED = "  (void)arg, (void)res, (void)iw, (void)w, (void)mem;\n"


def formulas(functions: Sequence[ca.Function], prefix: str) -> tuple[str, Mapping[str, str]]:
    """C of CasADi functions with all symbols private to the file; and the C name of each function by its name.

    The code generator also writes functions that describe each function (sparsities, names): nothing calls them here,
    and as public symbols they would clash when two robots are linked together, so only the formulas are kept.
    """
    text = kernel_source(functions, prefix)
    found = {match["name"]: match for match in _FUNCTION.finditer(text)}
    missing = [f.name() for f in functions if f.name() not in found]
    if missing:
        raise RuntimeError(f"CasADi's C code has an unexpected form: no body found for {', '.join(missing)}")
    end = _AFTER_HELPERS.search(_VISIBILITY.sub("", text))
    assert end is not None
    head = _VISIBILITY.sub("", text)[: end.start()]
    head = re.sub(r"^#define casadi_s\d+ .*\n", "", head, flags=re.MULTILINE)
    head = re.sub(r"^casadi_real casadi_", "static casadi_real casadi_", head, flags=re.MULTILINE)
    bodies = [
        f"/* {name} */\nstatic int {m['symbol']}({m['arguments']}) {{\n{_UNUSED}{m['body']}}}\n"
        for name, m in found.items()
    ]
    return "\n".join([head.strip(), "", *bodies]), {name: m["symbol"] for name, m in found.items()}
