"""What leaves the program and comes back: exported C, results as files."""
