"""The tuning room."""
