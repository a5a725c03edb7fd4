"""The report of `lookalike pairs`."""
