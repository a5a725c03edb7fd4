"""Find similar items."""
