"""Attachments of a dataset: files small enough to live in the chain (readme and the like)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from opendatafabric.metadata.wire_types import UnionOf


@dataclass(frozen=True, slots=True)
class AttachmentEmbedded:
    path: str
    content: str


@dataclass(frozen=True, slots=True)
class AttachmentsEmbedded:
    items: tuple[AttachmentEmbedded, ...]


Attachments = Annotated[AttachmentsEmbedded, UnionOf("Attachments")]
"""A union of one member, id 1; more may come."""
