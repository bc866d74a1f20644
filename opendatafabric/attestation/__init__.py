"""Verdicts that others can check: in-toto statements in DSSE envelopes, and whose word on them counts."""
