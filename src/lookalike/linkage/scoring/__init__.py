"""From agreement to weights and probabilities, without labels."""
