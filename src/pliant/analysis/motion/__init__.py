"""Motion in time: simulations with events, controllers and saved states."""
