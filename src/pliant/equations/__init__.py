"""The equations of motion: kernels, tables, the compiled runtime and its symbolic twin; `Equations` is what users call."""
