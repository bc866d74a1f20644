"""Stores in a folder of the local file system, laid out as ``opendatafabric/layout.py`` draws it."""
