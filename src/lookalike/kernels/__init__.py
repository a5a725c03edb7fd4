"""The kernels room."""
