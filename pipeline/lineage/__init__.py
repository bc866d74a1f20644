"""Of what single records were made: ``origin`` is what is known, ``read_origin`` finds it out.

Damage and inputs that are not here are part of the answer, for these questions are asked most where something is wrong.
Which datasets are made of which is in the catalog.
"""
