"""The analyses: each is one class in one module of this folder (see `base`)."""
