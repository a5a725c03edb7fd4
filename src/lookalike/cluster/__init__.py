"""Clusters: which of several similar items is kept."""
