"""A public dataset as it is described to harvesters, before it is put into one of their forms.

Nothing is claimed that is not known: a size or a hash of a file that is made when it is asked for stands nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from yarl import URL

from catalog.facts_of_blocks import LicenseFacts
from catalog.public_datasets import PublicDataset
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.metadata.slices import DataSlice
from pipeline.query.answer_form import FileKind
from repo_server.pages.addresses import web_address

_COLUMNS_NAMED: Final = 20
_SPDX_ID: Final = re.compile(r"[A-Za-z0-9.+-]+")
_SPDX: Final = "https://spdx.org/licenses/"


@dataclass(frozen=True, slots=True)
class Input:
    """What a derivative was computed from; ``url`` where it is public here too."""

    name: str
    id: str | None
    url: str | None


@dataclass(frozen=True, slots=True)
class Described:
    """``address`` is the path below ``base_url``; ``only_slice`` what ``data.parquet`` is byte for byte, if one is."""

    dataset: PublicDataset
    address: DatasetAlias
    base_url: str
    only_slice: DataSlice | None = None
    inputs: Sequence[Input] = ()

    @property
    def url(self) -> str:
        """Of its page."""
        return f"{self.base_url}/{self.address}"

    @property
    def owner_url(self) -> str | None:
        """Of the page of the account; there is none without accounts."""
        return None if self.address.account is None else f"{self.base_url}/{self.address.account}"

    @property
    def description(self) -> str:
        """What its publisher says, or else what can be seen."""
        facts = self.dataset.facts
        if facts.description:
            return facts.description
        names = [each.name for each in facts.columns[:_COLUMNS_NAMED]]
        more = ", …" if len(facts.columns) > len(names) else ""
        columns = f" with the columns {', '.join(names)}{more}" if names else ""
        return f"{self.address}: {facts.records:,} records{columns}. A {facts.kind} dataset of Open Data Fabric."

    def file_url(self, kind: FileKind) -> str:
        """Of all records as a file."""
        return f"{self.url}/data.{kind.value}"


def license_url(license_: LicenseFacts) -> str | None:
    """Where the licence can be read: where the publisher says, or else where the list of SPDX has it."""
    told = web_address(license_.website_url)
    if told is not None:
        return str(URL(told))
    spdx_id = license_.spdx_id or ""
    return f"{_SPDX}{spdx_id}.html" if _SPDX_ID.fullmatch(spdx_id) else None
