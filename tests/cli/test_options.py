"""Options of commands, generated from the options of analyses."""

import inspect
import subprocess
import sys
from typing import get_args

import pytest

from pliant.cli import path
from pliant.cli.analysis import command_of

WITHOUT = {
    "--help": {"numpy", "casadi", "pydantic", "pliant.robot.robot", "scipy", "xarray"},
    "models": {"scipy.sparse", "scipy.linalg", "xarray", "pandas", "matplotlib", "control", "pliant.show.report"},
    "simulate four_bar": {
        *("scipy.sparse", "scipy.linalg", "scipy.optimize", "scipy.spatial", "xarray", "pandas", "pint", "h5netcdf"),
        *("matplotlib", "control", "sympy", "IPython", "viser", "pliant.show", "pliant.identify"),
    },
}
"""Packages that commands must not import: it would take longer than the commands themselves."""


@pytest.mark.parametrize("words", WITHOUT)
def test_a_command_imports_what_it_needs(words):
    code = f"""
import sys
from pliant.cli import run
code = run({words.split()})
print("imported", *sorted(set({sorted(WITHOUT[words])}) & set(sys.modules)))
sys.exit(code)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "imported"


@pytest.mark.parametrize(
    ("function", "option", "kind", "least"),
    [
        (command_of("modes"), "count", int | None, 1),
        (path.path, "branch", int | None, None),
        (path.path, "max_points", int, 2),
        (path.path, "max_step", float, None),
        (command_of("simulate"), "until", float, None),
        (command_of("simulate"), "method", str | None, None),
        (command_of("simulate"), "save_at", str | None, None),
    ],
)
def test_an_option_has_the_type_of_its_field(function, option, kind, least):
    found, info = get_args(inspect.signature(function.complete(function)).parameters[option].annotation)
    assert (found, info.min) == (kind, least)
