"""Run tests with the oldest versions of dependencies that `pyproject.toml` allows, or with the newest.

    python tools/test_versions.py oldest                    # each dependency at its lower bound
    python tools/test_versions.py newest --python python3.13
    python tools/test_versions.py oldest tests/analysis -k modes

Makes a virtual environment in a temporary folder (with `uv`, which is installed into another one if it is not there; both need
the network), prints what is in it, and runs the tests that are named, else those of the engine, results, studies and commands.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = (
    "tests/language", "tests/io/test_results.py", "tests/io/test_result_files.py", "tests/cli", "tests/engine/test_libraries.py",
    "tests/engine/test_equations.py", "tests/engine/test_calls.py", "tests/engine/test_pickling.py",
    "tests/study/test_sweep.py", "tests/show/test_sketch.py", "tests/show/test_tables.py", "tests/show/test_live_page.py",
)  # fmt: skip
NEEDED = ("pytest", "hypothesis", "jsonschema", "mpmath", "pint", "trimesh")
"""Packages that these tests need in addition to the package and its extra `all`, at any version."""


def run(*command: str | Path, **environment: str) -> int:
    """Run a command from the project's folder; its exit code."""
    print("$", *command, flush=True)
    return subprocess.run([str(word) for word in command], cwd=ROOT, env={**os.environ, **environment}).returncode


def main() -> int:
    """Make the environment and run the tests in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=("oldest", "newest"))
    parser.add_argument("--python", default=sys.executable, help="the interpreter, 3.11 and later")
    chosen, tests = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        uv = shutil.which("uv")
        if uv is None:
            tool = Path(folder, "tool")
            if run(sys.executable, "-m", "venv", tool) or run(tool / "bin" / "pip", "install", "--quiet", "uv"):
                return 1
            uv = str(tool / "bin" / "uv")
        python = Path(folder, "tested", "bin", "python")
        resolution = "lowest-direct" if chosen.which == "oldest" else "highest"
        install = (uv, "pip", "install", "--quiet", "--python", python, "--resolution", resolution)
        if (
            run(uv, "venv", "--quiet", "--python", chosen.python, python.parents[1])
            or run(*install, "--requirements", "pyproject.toml", "--extra", "all")
            or run(*install[:-1], "highest", *NEEDED)
            or run(uv, "pip", "list", "--python", python)
        ):
            return 1
        return run(
            python, "-m", "pytest", "-p", "no:cacheprovider", *(tests or (*TESTS, "-k", "not every_bundled")),
            PYTHONPATH=str(ROOT / "src"), PLIANT_CACHE=str(Path(folder, "cache")), PLIANT_COMPILE="quick", OPENBLAS_NUM_THREADS="1",
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
