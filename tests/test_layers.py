"""The order of the folders: imports at the top of modules, and contracts that notice a cycle."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pliant

ROOT = Path(__file__).parents[1]
SOURCE = Path(pliant.__file__).parent

OPTIONAL = {
    "IPython",
    "PIL",
    "control",
    "cupy",
    "cycler",
    "dask",
    "distributed",
    "ezdxf",
    "fmpy",
    "jax",
    "matplotlib",
    "meshio",
    "mujoco",
    "optuna",
    "pandas",
    "pinocchio",
    "sympy",
    "torch",
}
OPTIONAL |= {"collada", "msgspec", "resource", "trimesh", "viser", "websockets"}
"""Packages that need not be there, or not on every system: they are imported where they are used."""
SLOW = {
    "parts/mesh/formats/volume.py": "h5py",
    "io/results.py": "h5py",
    "cli/common.py": "rich",
    "foreign/mjcf_child.py": "numpy",
    "language/yaml_reader.py": "ruamel",
    "analysis/numerics/netcdf_files.py": "xarray",
    "analysis/numerics/labelled_arrays.py": "xarray",
    "__main__.py": "pliant",  # where Ctrl-C can be answered
}
"""Packages that would make every start wait for what few calls need."""


def late_imports(tree):
    """Packages that functions import, with the line."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom):
                    yield (node.module or "pliant").partition(".")[0], node.lineno
                elif isinstance(node, ast.Import):
                    yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)


@pytest.mark.slow
def test_functions_import_optional_packages_only():
    found = {
        f"{file}:{line} imports {package}"
        for path in SOURCE.rglob("*.py")
        for file in [path.relative_to(SOURCE).as_posix()]
        for package, line in late_imports(ast.parse(path.read_text(encoding="utf-8")))
        if package not in OPTIONAL and SLOW.get(file) != package
    }
    assert found == set()


def contracts_hold(folder):
    """What `make layers` says of the package in a folder."""
    command = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        ("parts/geometry/se3.py", "", "3 kept, 0 broken"),
        (
            "language/message_text.py",
            "def late():\n    from pliant.show import tables\n",
            "pliant.language is not allowed to import",
        ),
        ("parts/tendon.py", "import pliant.parts.contact\n", "3 kept, 0 broken"),
        ("parts/joint/types.py", "import pliant.parts.tendon\n", "modules of a folder BROKEN"),
        ("analysis/numerics/state.py", "import pliant.analysis.statics.relaxation\n", "modules of a folder BROKEN"),
    ],
)
def test_a_cycle_is_noticed(tmp_path, file, line, said):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignored = shutil.ignore_patterns("__pycache__", "*.yaml", "*.c", "*.h")
    shutil.copytree(SOURCE, tmp_path / "pliant", ignore=ignored)
    with open(tmp_path / "pliant" / file, "a", encoding="utf-8") as source:
        source.write(line)
    holds, words = contracts_hold(tmp_path)
    assert said in words
    assert holds == ("0 broken" in said)
