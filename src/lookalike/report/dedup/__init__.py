"""The report of `lookalike dedup`."""
