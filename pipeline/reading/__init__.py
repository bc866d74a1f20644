"""Reading datasets back: which records count at a moment, the state they lead to, and the records themselves.

``DatasetReader`` is the part for programs; queries (``pipeline/query``) and ``odf tail`` are made of the same pieces.
Nothing here needs Spark.
"""

from pipeline.reading.reader import DatasetReader
from storage.records.moment import NOW, Moment

__all__ = ["NOW", "DatasetReader", "Moment"]
