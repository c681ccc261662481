"""The model language: values, units, expressions, names, faults and text. Independent of robots."""
