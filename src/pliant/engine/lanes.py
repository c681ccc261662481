"""C code of kernels that evaluate several instances at once: CasADi's code, with `pl_lanes` (lanes.h) in place of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import casadi as ca

HEADER = "lanes.h"

_BODIES = re.compile(r"^static int casadi_f(\d+)\(.*?^}\n", re.DOTALL | re.MULTILINE)
_HEAD = re.compile(r"static int casadi_f(\d+)\([^)]*\)")
_ARGUMENT = re.compile(r"arg\[(\d+)\]\? (arg\[\1\]\[\d+\]) : 0;")
_CONSTANT = re.compile(r"(a\d+)=(-?(?:[\d.][\d.e+-]*|NAN|INFINITY));")
_PICK = re.compile(r"=\((a\d+)\?(a\d+):0\);")
_NOT = re.compile(r"=\(!(a\d+)\);")
_COMPARISON = re.compile(r"=\((a\d+|[\d.][\d.e+-]*)(<=|<|==|!=|&&|\|\|)(a\d+|[\d.][\d.e+-]*)\);")
_CALL = re.compile(r"=(?:casadi_)?([a-z]\w*)\(([^;]*)\);")
_WORDS = {"<=": "le", "<": "lt", "==": "eq", "!=": "ne", "&&": "and", "||": "or"}


@cache
def lanes_header() -> str:
    """Text of lanes.h."""
    return (Path(__file__).parent / "runtime" / HEADER).read_text(encoding="utf-8")


def lane_source(functions: Sequence[ca.Function]) -> str:
    """C code of functions on lanes, each exported under its own name, for a file beside lanes.h."""
    return f'#include "{HEADER}"\n\n{lane_bodies(functions, "")}'


def lane_bodies(functions: Sequence[ca.Function], storage: str) -> str:
    """The functions alone, with a storage class (`static `) for the exported ones."""
    generator = ca.CodeGenerator("kernels", {"with_header": False, "cpp": False, "verbose": False})
    for function in functions:
        generator.add(function)
    bodies = [match.group(0) for match in _BODIES.finditer(str(generator.dump()))]
    if len(bodies) != len(functions):
        raise ValueError(f"the kernels {[f.name() for f in functions]} are not plain ones")
    parts = []
    for function, body in zip(functions, bodies, strict=True):
        words = {"storage": storage, "name": function.name()}
        parts += [_on_lanes(body, f"{function.name()}_lanes"), _ENTRY.format(**words)]
    return "\n".join(parts)


_ENTRY = """\
{storage}int {name}(const double **arg, double **res, long long *iw, double *w, int number) {{
  (void)iw, (void)w, (void)number;
  return {name}_lanes((const pl_lanes **)arg, (pl_lanes **)res);
}}
"""


def _on_lanes(body: str, name: str) -> str:
    """One function with lanes in place of numbers."""
    text = body.split("{\n", 1)[1]
    text = _ARGUMENT.sub(r"\2;", text).replace("casadi_real ", "pl_lanes ")
    text = text.replace("casadi_nan", "NAN").replace("casadi_inf", "INFINITY")
    text = _CONSTANT.sub(r"\1=pl_lanes_of(\2);", text)
    text = _PICK.sub(r"=lanes_pick(\1,\2);", text)
    text = _NOT.sub(r"=lanes_not(\1);", text)
    text = _COMPARISON.sub(lambda m: f"=lanes_{_WORDS[m[2]]}({_lanes(m[1])},{_lanes(m[3])});", text)
    text = _CALL.sub(_call, text)
    unused = "" if "arg[" in text else "  (void)arg;\n"  # results are constant
    return f"static int {name}(const pl_lanes **arg, pl_lanes **res) {{\n{unused}{text}"


def _lanes(word: str) -> str:
    return word if word.startswith("a") else f"pl_lanes_of({word})"


def _call(match: re.Match[str]) -> str:
    name, arguments = match[1], match[2]
    if name.startswith(("lanes_", "pl_lanes")):
        return match[0]
    return f"=lanes_{name}({','.join(_lanes(word) for word in arguments.split(','))});"
