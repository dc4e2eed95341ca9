"""Finding permutations, signs and scales in a program, and checking them."""
