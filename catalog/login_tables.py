"""The tables of the catalog for logins that are under way in a browser. Secrets lie there as hashes only."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, ForeignKey, LargeBinary, String, Table

from catalog.tables import METADATA

browser_sessions: Final = Table(
    "browser_sessions",
    METADATA,
    Column("id_hash", LargeBinary, primary_key=True),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("began_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False, index=True),
)

device_logins: Final = Table(
    "device_logins",
    METADATA,
    Column("code_hash", LargeBinary, primary_key=True),
    Column("client_id", String, nullable=False),
    Column("address", String, nullable=False),
    Column("began_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False, index=True),
    Column("state", String, nullable=False),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE")),
    Column("polled_at", Float),
)

external_identities: Final = Table(
    "external_identities",
    METADATA,
    Column("issuer", String, primary_key=True),
    Column("subject", String, primary_key=True),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("linked_at", Float, nullable=False),
)

publishers: Final = Table(
    "publishers",
    METADATA,
    Column("id", String, primary_key=True),
    Column("dataset_id", String, ForeignKey("datasets.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("issuer", String, nullable=False, index=True),
    Column("audience", String),
    Column("claims", String, nullable=False),
    Column("created_at", Float, nullable=False),
)

used_identity_tokens: Final = Table(
    "used_identity_tokens",
    METADATA,
    Column("token_hash", LargeBinary, primary_key=True),
    Column("expires_at", Float, nullable=False, index=True),
)
