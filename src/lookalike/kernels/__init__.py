"""The compiled loops. They know NumPy arrays and scalars only, release the GIL, and keep no state.

`compile` says how they are written, `pack` how their machine code is made, kept and loaded.
"""
