"""Fields: fluids, magnets and loads of the state."""
