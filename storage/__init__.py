"""Bytes at rest: objects and refs in stores, datasets and repositories over them."""
