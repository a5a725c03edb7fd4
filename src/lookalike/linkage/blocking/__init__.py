"""Candidate pairs: which records are worth comparing."""
