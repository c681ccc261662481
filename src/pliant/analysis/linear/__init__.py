"""Small motions about a state: modes and linear systems."""
