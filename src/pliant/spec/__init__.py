"""The model language: schema, reader, units, expressions, checks and writer."""
