"""Fleets: thousands of copies of a robot in parallel, on all cores or a GPU."""
