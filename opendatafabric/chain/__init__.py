"""Rules that make a sequence of blocks a chain, and what a chain establishes."""
