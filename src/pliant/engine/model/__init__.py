"""From a flat, checked robot to a `Model`: its mechanical system, and names for everything in it."""
