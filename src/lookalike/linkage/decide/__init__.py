"""From scored pairs to links and clusters."""
