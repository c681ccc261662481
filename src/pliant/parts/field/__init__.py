"""Fields: forces on all parts that have the property they act on."""
