"""Analyses of equations: rest, modes, linear systems, motions and paths, and their results."""
