"""Interactions: forces and constraints between frames, and forces on coordinates, as formulas.

Each type defines its physics; wrenches, Jacobians and tangents are derived by differentiation
(`pliant.equations.kernel`). The types are defined next to their schema in `link/`, `external_load/`, `constraint/` and others.
"""
