"""A group of permutations, signs and scales: its elements, how they act, and what it takes to try them."""
