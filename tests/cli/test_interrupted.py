"""Ctrl-C ends the program without a traceback, also while it is imported."""

from __future__ import annotations

import subprocess
import sys

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
    "module", ["pliant.cli", "pliant.cli.common", "typer", "pliant.cli.models", "pliant.spec.reader"]
)
def test_an_interrupt_during_imports_has_no_traceback(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT.format(module=module)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "pliant: interrupted"
