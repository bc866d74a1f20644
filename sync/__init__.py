"""Bytes in motion: what has to move, and the two protocols that move it."""
