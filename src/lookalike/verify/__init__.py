"""Verification: the exact similarity of two items."""
