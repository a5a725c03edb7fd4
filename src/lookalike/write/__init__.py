"""The write room."""
