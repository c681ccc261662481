"""Closed figures, and a browser."""

import sys

import pytest
from page_browser import browser

__all__ = ["browser"]


@pytest.fixture(autouse=True)
def closed_figures():
    """Closes the figures of a test: pyplot keeps them, and warns of many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
