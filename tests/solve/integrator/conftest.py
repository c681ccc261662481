"""Lets the tests of integrators import their systems."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
