"""Bytes and text of the metadata: one set of tables drives every encoding."""
