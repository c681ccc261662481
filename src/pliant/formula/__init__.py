"""Interactions: forces and constraints between frames, and forces on coordinates, as formulas.

Each kind states its physics once; wrenches, Jacobians and tangents follow by differentiation
(`pliant.equations.kernel`). The kinds themselves live beside their schema in `link/`, `load/`, `constraint/`, ....
"""
