"""Fields that act on every part with the property that they act on: a fluid on volumes and outlines, magnetic fields on magnets."""
