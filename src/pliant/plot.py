"""Plots of results: `pliant.plot.energy(run)` and the like, each of which returns matplotlib axes."""

from pliant.view.plot import *  # noqa: F403
from pliant.view.plot import __all__  # noqa: F401
