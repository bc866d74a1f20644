"""Signing verdicts by the key of a node; how they are written and checked is in ``opendatafabric/attestation``."""
