"""Methods of "Mining of Massive Datasets", chapter 3, as runnable examples that no job uses.

permutations
    Minhash signatures by permutations and by universal hashing, every value shown. Section 3.3.
indexes
    Prefix, position and suffix-length indexes for sets of high similarity. Section 3.9.
halving
    Hamming LSH: OR-ing rows of a 0/1 matrix until its columns are dense enough to hash. From the course slides that
    accompany the chapter; a relative of bit sampling for Hamming distance, section 3.7.
"""
