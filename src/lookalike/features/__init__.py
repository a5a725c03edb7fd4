"""From items to features: folded tokens, shingles, stop words, vectors. Knows no files and no similarity."""
