"""Environments for learning on fleets of robots."""
