"""Pictures of robots. Matplotlib is imported when something is drawn, not before."""
