"""Derivatives of motions and of equilibria."""
