"""Plots of results: `pliant.plot.energy(run)` and the like, each of which returns matplotlib axes."""

from pliant.show.plot import *  # noqa: F403
from pliant.show.plot import __all__  # noqa: F401
