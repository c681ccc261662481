"""From a robot to its equations: `derive`, what it needs to know of rods, and `check`, which tries it."""
