"""What a dataset has led to so far, kept beside it: derived from its slices, and made from them again where it is lost.

``keys.py`` says which keys are equal, ``runs.py`` is the file, ``projection.py`` what is asked of the files, and
``kept.py`` the folder in which the client of an engine keeps them between two ingests. The engine opens and writes
runs; which blocks they stand for is the client's business.
"""
