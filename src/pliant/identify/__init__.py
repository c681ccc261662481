"""Comparison of rod models, recordings, and identification of parameters."""
