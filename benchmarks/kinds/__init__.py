"""Cases of record linkage of many kinds, and what a version of lookalike makes of them."""
