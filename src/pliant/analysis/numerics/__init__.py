"""Numerical methods and tables that several analyses share."""
