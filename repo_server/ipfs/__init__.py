"""Serving to IPFS without a node: the keys of names, what is published, and who may read which block."""
