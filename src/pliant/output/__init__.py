"""Outputs: named quantities that an analysis records."""
