"""Queries over datasets, read only, by DataFusion in a process of their own.

``prepare`` turns SQL and a catalogue of datasets into a request whose slices are proved; ``process`` runs it in a child
(``child``) that is walled in, and gives the records as they come. The SQL may be anybody's: it sees the tables it was
given and nothing else. Nothing here needs Spark. Submodules are imported by name: the child must not load more.
"""
