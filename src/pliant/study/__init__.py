"""Studies: many runs of one robot, with values that differ from case to case."""
