"""The exported C of a robot as a single source text for GPU compilers: headers first, then every file with unique names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath

NOT_NEEDED = (
    "main.c", "whole_run.c", "tape.c", "sensitivity.c", "adjoint.c", "adjoint_pairing.c", "adjoint_steps.c", "fastest_rate.c",
    "parameter_change.c",
)  # fmt: skip
"""Files that are not needed by programs which only take steps."""
LEFT_OUT = {
    "pl_tape_free": "(x) ((void)(x))",
    "pl_tape_refreshed": "(x) ((void)(x))",
    "pl_tape_add": "(x, h) PL_OK",
    "pl_run_unfollow": "(x) ((void)(x))",
    "pl_sensitivity_step": "(x, h) PL_OK",
}
"""Functions of those files that are called by others, as macros."""
SEVERAL_TIMES = "front_numbers.h"
"""A header without include guard: one text for each precision."""

_LOCAL = re.compile(r'^#include "([^"]+)"[^\n]*\n', re.MULTILINE)
_SYSTEM = re.compile(r"^\s*#\s*include <[^>]+>[^\n]*\n", re.MULTILINE)
_MACRO = re.compile(r"^\s*#\s*define (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_PRIVATE = (
    re.compile(r"^(?:PL_NOINLINE )?(?:static |PL_INLINE )[^=;{}()]*?\b(\w+)\(", re.MULTILINE),
    re.compile(r"^static (?:const )?[\w ]+?[ *](\w+)(?:\[[^\]]*\])* =", re.MULTILINE),
    re.compile(r"^typedef (?:struct|enum|union) (\w+) \{", re.MULTILINE),
    re.compile(r"^\} (\w+);", re.MULTILINE),
    re.compile(r"^typedef (?:const )?[\w ]+?[ *](\w+)(?: __attribute__.*)?;", re.MULTILINE),
)
_FUNCTION = re.compile(
    r"^(?=(?:static (?!inline\b|const\b)|(?!static|typedef|else|return)[a-z])[\w *]*\b\w+\([^;{}]*\) \{)", re.MULTILINE
)
_ENUMERATION = re.compile(r"^(?:typedef )?enum(?: \w+)? \{(.*?)\}", re.MULTILINE | re.DOTALL)


def one_source(files: Mapping[str, str]) -> str:
    """The C files, by path, as one text without includes.

    Functions that are not declared inline are marked with `NOT_INLINED`: otherwise GPU compilers inline all of them, which takes
    minutes.
    """
    by_name = {PurePosixPath(path).name: text for path, text in files.items()}
    known: set[str] = set()

    def expanded(text: str) -> str:
        return _LOCAL.sub(lambda m: header(PurePosixPath(m[1]).name), _SYSTEM.sub("", text))

    def header(name: str) -> str:
        if name in known and name != SEVERAL_TIMES:
            return ""
        known.add(name)
        return expanded(by_name[name])

    headers = [header(name) for name in by_name if name.endswith(".h") and name != SEVERAL_TIMES]
    sources = {name: expanded(text) for name, text in by_name.items() if name.endswith(".c") and name not in NOT_NEEDED}
    shared = Counter(name for text in (*sources.values(), "".join(headers)) for name in _private_names(text))
    parts = [*headers, *(f"#undef {name}\n#define {name}{body}" for name, body in LEFT_OUT.items())]
    for file, text in sources.items():
        names = {name for name in _private_names(text) if shared[name] > 1}
        own = _FUNCTION.sub("NOT_INLINED ", _renamed(text, names, file.removesuffix(".c")))
        parts += [f"/* {file} */\n{own}", *(f"#undef {name}" for name in sorted(set(_MACRO.findall(own))))]
    return "\n".join(parts)


def _private_names(text: str) -> set[str]:
    """Names that are private to a file: functions, types, constants and tables."""
    found = {name for pattern in _PRIVATE for name in pattern.findall(text)}
    for body in _ENUMERATION.findall(text):
        words = _COMMENT.sub("", body).split(",")
        found |= {word.partition("=")[0].strip() for word in words if word.strip()}
    return found - set(_MACRO.findall(text))


def _renamed(text: str, names: set[str], prefix: str) -> str:
    """The text with the file's name as a prefix of these names, except members of structures."""
    if not names:
        return text
    words = "|".join(sorted(names, key=len, reverse=True))
    return re.sub(rf'(?<![\w.>"])({words})\b', lambda m: f"{prefix}_{m[1]}", text)
