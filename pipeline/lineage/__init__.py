"""Where data come from: which datasets are derived from which, and of what single records were made.

``graph`` and ``origin`` are what is known, ``read_graph`` and ``read_origin`` find it out. Damage and inputs that are
not here are part of the answer, for these questions are asked most where something is wrong.
"""
