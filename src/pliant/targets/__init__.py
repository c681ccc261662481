"""Formats that robots are written in: one class in one file each, listed among the public names (`export_*`)."""
