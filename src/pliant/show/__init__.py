"""Pictures of robots. Matplotlib is imported only when something is drawn."""
