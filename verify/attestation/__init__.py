"""Verdicts that others can check: in-toto statements in DSSE envelopes, signed by the key of a node."""
