"""The compiled loops. They work on NumPy arrays and scalars only, release the GIL, and keep no state.

`compile` defines how they are written; `pack` builds, stores and loads their machine code.
"""
