"""Sound copies that ``--from`` names: what ``odf scrub`` and ``odf fsck --repair`` heal from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import aiohttp
import typer

from opendatafabric.dataset_ref import DatasetAlias
from storage.open import Connection, open_objects
from storage.protocols import ObjectReader
from sync.credentials import headers_for
from sync.remote import parse_remote

ALIAS: Final = "{alias}"
CopiesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from", metavar="DIR|URL", help="A sound copy; {alias} stands for the name of the dataset. Repeatable."
    ),
]


def open_copies(session: aiohttp.ClientSession, addresses: Sequence[str], alias: DatasetAlias) -> list[ObjectReader]:
    """The copies of that dataset."""
    opened = []
    for address in addresses:
        place = parse_remote(address.replace(ALIAS, str(alias))).url
        opened.append(open_objects(place, Connection(session, headers_for(place))))
    return opened
