"""The records of a dataset: which count at a moment, the state they lead to, and reading them from proved slices.

Nothing here needs an engine: queries, ``odf tail``, downloads and clients are made of these pieces.
"""
