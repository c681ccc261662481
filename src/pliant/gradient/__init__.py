"""Derivatives of motions and of poses at rest."""
