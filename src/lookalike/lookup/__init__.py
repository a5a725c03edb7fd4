"""Faces and fingerprints: find one among many."""
