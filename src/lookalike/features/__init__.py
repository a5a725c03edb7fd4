"""The features room."""
