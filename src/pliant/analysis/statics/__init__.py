"""Equilibria, their stability, and how they change with a parameter."""
