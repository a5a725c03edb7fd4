"""Clusters: which item of several similar ones is kept."""
