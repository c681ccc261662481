"""Ctrl-C ends the program without a traceback, also while it is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPT = """
import sys
import pliant.__main__

class Interrupt:
    def find_spec(self, name, *rest):
        if name == "{module}":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
sys.argv = ["pliant", "check", "pendulum"]
pliant.__main__.main()
"""


@pytest.mark.parametrize(
    "module", ["pliant.cli", "pliant.cli.common", "typer", "pliant.cli.models", "pliant.robot.reader"]
)
def test_an_interrupt_during_imports_has_no_traceback(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT.format(module=module)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "pliant: interrupted"


SAVED = """
import sys
import pliant

def progress(t, until, steps):
    assert "h5netcdf" in sys.modules

assert "h5netcdf" not in sys.modules
pliant.simulate(pliant.derive("pendulum"), 1.0, out=sys.argv[1], progress=progress)
"""


@pytest.mark.slow
def test_what_saves_a_run_is_imported_before_it(tmp_path: Path) -> None:
    """An interrupt ends the run and not the import of the package that saves it, which would be unusable."""
    done = subprocess.run(
        [sys.executable, "-c", SAVED, tmp_path / "run.nc"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
