"""The page that `link` writes."""
