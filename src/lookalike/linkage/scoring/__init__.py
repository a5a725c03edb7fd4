"""From agreement to weights, scores and probabilities, without labels."""
