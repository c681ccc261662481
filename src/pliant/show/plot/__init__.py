"""Plots for publications: functions that take results and return matplotlib axes.

Lines differ in colour, brightness and dashes, so that they are distinguishable in grey prints and for colour-blind
readers. Axes have units. Every function draws on `ax` if given, and otherwise creates a figure one column wide;
`save` writes it as .pdf, .svg or .png. Matplotlib is imported only when something is drawn.
"""

from pliant.show.plot.analyses import effects, eigenvalues, modes, parallel, path
from pliant.show.plot.identification import compare, fit, likelihood, likelihoods, search
from pliant.show.plot.motion import energy, inputs, profile, shape, spectrum, trajectory
from pliant.show.plot.style import save

__all__ = [
    "compare",
    "effects",
    "eigenvalues",
    "energy",
    "fit",
    "inputs",
    "likelihood",
    "likelihoods",
    "modes",
    "parallel",
    "path",
    "profile",
    "save",
    "search",
    "shape",
    "spectrum",
    "trajectory",
]
