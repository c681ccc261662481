"""Inputs: how an input parameter varies in time."""
