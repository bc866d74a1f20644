"""Open Data Fabric datasets for programs and notebooks: found, read and checked, pushed and listened to.

>>> import odf_client
>>> airports = odf_client.open("odf+http://127.0.0.1:8080/examples/us.faa.airports")
>>> airports.to_pandas(["iata", "city"], projected=True)
"""

from odf_client.answers import Answer
from odf_client.cache import Cache
from odf_client.chosen import Chosen
from odf_client.creating import create
from odf_client.dataset import Block, Dataset
from odf_client.listening import Event
from odf_client.opening import open_dataset as open
from odf_client.repository import Listed, Repository
from odf_client.sending import Ingested
from odf_client.vouching import Vouched
from opendatafabric import errors

__all__ = [
    "Answer",
    "Block",
    "Cache",
    "Chosen",
    "Dataset",
    "Event",
    "Ingested",
    "Listed",
    "Repository",
    "Vouched",
    "create",
    "errors",
    "open",
]
