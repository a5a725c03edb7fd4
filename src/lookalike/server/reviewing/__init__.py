"""Reviewing a finished run: its groups, and the decisions about them."""
