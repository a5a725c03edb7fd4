"""The sketch room."""
