"""The candidates room."""
