"""Interactions: forces and constraints between frames, and forces on coordinates, as formulas.

Each type defines its physics; wrenches, Jacobians and tangents are derived by differentiation
(`pliant.engine.kernel`). The types are defined next to their schema in the other folders of parts.
"""
