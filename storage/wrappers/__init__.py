"""Stores around stores: each adds one behaviour and keeps the contract. They may be put around each other."""
