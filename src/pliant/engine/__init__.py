"""The equations of motion: kernels, tables, the compiled runtime and the symbolic equations; `Equations` is the user interface."""
