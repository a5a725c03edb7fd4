"""The verify room."""
