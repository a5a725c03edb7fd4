"""Candidates: which items share a bucket or a rare element."""
