"""Analyses of equations: equilibria, modes, linear systems, motions and paths, and their results."""
