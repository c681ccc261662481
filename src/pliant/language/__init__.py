"""The model language: values, units, expressions, names, faults and text. It knows no robot."""
