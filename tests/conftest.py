"""Kernels are compiled before their first use: tests neither run slow ones nor leave compilers at work behind them."""

from __future__ import annotations

import os

os.environ["PLIANT_COMPILE"] = os.environ.get("PLIANT_COMPILE") or "wait"
