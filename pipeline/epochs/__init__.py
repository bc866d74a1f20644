"""The dialect ``odf-epoch/1`` of the engine ``spark``: results that do not depend on how steps were cut.

What a derivative has is a function of the records of its inputs and of the blocks that brought them, never of when it
was brought up to date. ``classify`` says which queries can be computed so, ``run`` computes them.
"""
