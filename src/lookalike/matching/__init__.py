"""Candidates -> verified pairs or decisions, batch by batch."""
