"""Kernels are compiled before their first use, without optimizing: most serve a few evaluations, and optimized ones give the same
bits (`tests/engine/test_libraries.py`)."""

from __future__ import annotations

import os

os.environ["PLIANT_COMPILE"] = os.environ.get("PLIANT_COMPILE") or "quick"
