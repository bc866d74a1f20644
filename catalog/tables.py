"""The tables of the catalog. Times are seconds since 1970; ids are canonical texts."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, String, Table

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

accounts: Final = Table(
    "accounts",
    METADATA,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("name_folded", String, nullable=False, unique=True),
    Column("password_hash", String),
    Column("is_admin", Integer, nullable=False, default=0),
    Column("created_at", Float, nullable=False),
    Column("kind", String, nullable=False, server_default="user"),
    Column("disabled_at", Float),
)

tokens: Final = Table(
    "tokens",
    METADATA,
    Column("id", String, primary_key=True),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("scopes", String, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("revoked_at", Float),
    Column("last_used_at", Float),
    Column("datasets", String),
)

datasets: Final = Table(
    "datasets",
    METADATA,
    Column("id", String, primary_key=True),
    Column("alias", String, nullable=False),
    Column("alias_folded", String, nullable=False, index=True),
    Column("owner_id", String, ForeignKey("accounts.id"), nullable=False, index=True),
    Column("visibility", String, nullable=False),
    Column("created_at", Float, nullable=False),
)

reflog: Final = Table(
    "reflog",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("dataset_id", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("account_id", String),
    Column("expected_head", String),
    Column("new_head", String),
    Index("ix_reflog_dataset_at", "dataset_id", "at"),
)

mirrors: Final = Table(
    "mirrors",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("direction", String, nullable=False),
    Column("target", String, nullable=False),
    Column("pattern", String, nullable=False),
    Column("schedule", String, nullable=False),
    Column("token", String),
    Column("created_at", Float, nullable=False),
    Column("next_run_at", Float, nullable=False),
    Column("last_run_at", Float),
    Column("last_success_at", Float),
    Column("last_error", String),
    Column("failures", Integer, nullable=False),
    Column("lease_owner", String),
    Column("lease_until", Float),
)

mirrored_datasets: Final = Table(
    "mirrored_datasets",
    METADATA,
    Column("mirror_id", Integer, ForeignKey("mirrors.id", ondelete="CASCADE"), primary_key=True),
    Column("dataset", String, primary_key=True),
    Column("head", String),
    Column("behind_since", Float),
    Column("error", String),
    Column("state", String, nullable=False),
)

ipfs_files: Final = Table(
    "ipfs_files",
    METADATA,
    Column("physical_hash", LargeBinary, primary_key=True),
    Column("profile", String, primary_key=True),
    Column("cid", LargeBinary, nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("tsize", BigInteger, nullable=False),
)

ipfs_file_blocks: Final = Table(
    "ipfs_file_blocks",
    METADATA,
    Column("cid", LargeBinary, primary_key=True),
    Column("physical_hash", LargeBinary, primary_key=True),
    Column("offset", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("node", LargeBinary),
)

ipfs_trees: Final = Table(
    "ipfs_trees",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("dataset_id", String, nullable=False),
    Column("head", LargeBinary, nullable=False),
    Column("profile", String, nullable=False),
    Column("root", LargeBinary, nullable=False),
    Column("tsize", BigInteger, nullable=False),
    Column("published_at", Float, nullable=False),
    Index("ix_ipfs_trees_dataset_id", "dataset_id", "id"),
)

ipfs_contents: Final = Table(
    "ipfs_contents",
    METADATA,
    Column("dataset_id", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("physical_hash", LargeBinary, nullable=False, index=True),
)

ipfs_nodes: Final = Table(
    "ipfs_nodes",
    METADATA,
    Column("cid", LargeBinary, primary_key=True),
    Column("dataset_id", String, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("replaced_by", Integer),
    Index("ix_ipfs_nodes_dataset_id", "dataset_id", "replaced_by"),
)

ipns_records: Final = Table(
    "ipns_records",
    METADATA,
    Column("dataset_id", String, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("value", String, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("valid_until", Float, nullable=False),
    Column("record", LargeBinary, nullable=False),
)

named_files: Final = Table(
    "named_files",
    METADATA,
    Column("place", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("cid", LargeBinary, nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("modified_at", Float, nullable=False),
)

held_files: Final = Table(
    "held_files",
    METADATA,
    Column("token", String, primary_key=True),
    Column("cid", LargeBinary, nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("held_at", Float, nullable=False),
    Column("place", String, nullable=False, server_default=""),
)

released_files: Final = Table("released_files", METADATA, Column("cid", LargeBinary, primary_key=True))

stored_places: Final = Table(
    "stored_places",
    METADATA,
    Column("place", String, primary_key=True),
    Column("made_at", Float, nullable=False),
)

stored_datasets: Final = Table(
    "stored_datasets",
    METADATA,
    Column("place", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("alias", String, nullable=False),
    Column("alias_folded", String, nullable=False),
    Column("created_at", Float, nullable=False),
    Index("ix_stored_datasets_alias_folded", "place", "alias_folded", unique=True),
)

stored_leases: Final = Table(
    "stored_leases",
    METADATA,
    Column("token", String, primary_key=True),
    Column("place", String, nullable=False, index=True),
    Column("kind", String, nullable=False),
    Column("contents", LargeBinary, nullable=False),
    Column("placed_at", Float, nullable=False),
    Column("signed_at", Float, nullable=False),
)

stored_refs: Final = Table(
    "stored_refs",
    METADATA,
    Column("place", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("head", String, nullable=False),
)

scrubs: Final = Table(
    "scrubs",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("dataset", String, nullable=False),
    Column("after", String, nullable=False),
    Column("next_run_at", Float, nullable=False),
    Column("last_end_at", Float),
    Column("lease_owner", String),
    Column("lease_until", Float),
)

ingest_plans: Final = Table(
    "ingest_plans",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("dataset_id", String, nullable=False),
    Column("account_id", String, nullable=False),
    Column("key", String, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("new_head", String, nullable=False),
    Column("answer", String, nullable=False),
    Column("planned_at", Float, nullable=False, index=True),
    Index("ix_ingest_plans_key", "dataset_id", "account_id", "key"),
)

jobs: Final = Table(
    "jobs",
    METADATA,
    Column("kind", String, primary_key=True),
    Column("dataset_id", String, primary_key=True),
    Column("due_at", Float, index=True),
    Column("made_up_until", Float, nullable=False),
    Column("began_at", Float),
    Column("ended_at", Float),
    Column("succeeded_at", Float),
    Column("failures", Integer, nullable=False),
    Column("error", String),
    Column("outcome", String),
    Column("lease_owner", String),
    Column("lease_until", Float),
    Column("asked_at", Float),
    Column("runs_ended", Integer, nullable=False, server_default="0"),
    Column("progress", String),
    Column("foreign", Integer, nullable=False, server_default="0"),
    Column("account_id", String),
    Column("wished", Integer, nullable=False, server_default="0"),
    Column("runs_failed", Integer, nullable=False, server_default="0"),
    Column("busy_s", Float, nullable=False, server_default="0"),
)

schedules: Final = Table(
    "schedules",
    METADATA,
    Column("kind", String, primary_key=True),
    Column("dataset_id", String, primary_key=True),
    Column("cron", String),
    Column("timezone", String, nullable=False),
    Column("jitter_s", Float, nullable=False),
    Column("foreign", Integer, nullable=False),
    Column("paused_at", Float),
    Column("on_change", Integer, nullable=False, server_default="0"),
    Column("account_id", String),
    Column("said", String),
)

watches: Final = Table(
    "watches",
    METADATA,
    Column("kind", String, primary_key=True),
    Column("dataset_id", String, primary_key=True),
    Column("watched_id", String, primary_key=True, index=True),
    Column("seen_head", String),
)

reports: Final = Table(
    "reports",
    METADATA,
    Column("dataset_id", String, primary_key=True),
    Column("hash", String, primary_key=True),
    Column("head", String),
    Column("verdict", String, nullable=False),
    Column("replayed", Integer, nullable=False),
    Column("ended_at", Float, nullable=False, index=True),
)
