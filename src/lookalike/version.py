"""The version of the package, on its own so that nothing heavy is imported to read it."""

__version__ = "0.2.0"
