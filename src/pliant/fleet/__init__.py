"""Fleets: thousands of robots of one kind at once, on all cores or a GPU."""
