"""Which records are worth comparing."""
