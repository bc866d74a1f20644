"""Every setting of the server, with its default; the only reader of the environment (``ODF_…``)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode, SettingsConfigDict

from catalog.sqlite_files import sqlite_path, sqlite_url
from catalog.visibility import Visibility
from opendatafabric.errors import MalformedInput
from opendatafabric.limits import INGEST_BYTES_MAX, OBJECT_BYTES_MAX
from pipeline.cluster import LOCAL_MASTER, check_master
from pipeline.engine_contract.elsewhere import EnginesElsewhere, parse_engine_place
from pipeline.worker_place import WorkerOptions
from repo_server.account_settings import AccountSettings
from repo_server.event_settings import EventSettings
from repo_server.lifecycle_settings import LifecycleSettings
from repo_server.limit_settings import LimitSettings
from repo_server.login_settings import LoginSettings
from repo_server.page_settings import PageSettings
from repo_server.query_settings import QuerySettings
from repo_server.setting_values import engine_places, place, versions_of_spark, words
from storage.ipfs.access import IpfsAccess
from storage.ipfs.node_place import NodePlace
from storage.s3.location import S3Location


class Tenancy(Enum):
    """Whether datasets lie under accounts: ``/account/name`` or ``/name``."""

    SINGLE = "single"
    MULTI = "multi"


class MetricsAccess(Enum):
    """Who may read ``/metrics``."""

    ADMIN = "admin"
    PUBLIC = "public"


Place = Annotated[Path | S3Location | NodePlace, NoDecode, BeforeValidator(place)]


class Settings(
    AccountSettings, LoginSettings, LimitSettings, LifecycleSettings, QuerySettings, PageSettings, EventSettings
):
    """Settings by name; each may be given as ``ODF_<NAME>`` in the environment."""

    model_config = SettingsConfigDict(env_prefix="ODF_", frozen=True, extra="ignore")

    repo: Place = Field(
        Path("repository"), description="folder of the repository, or an address in S3 or at an IPFS node"
    )
    catalog_url: str | None = Field(None, description="SQLAlchemy URL; an SQLite file beside the datasets by default")
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8080, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s?#]+$",
        description="what clients call this server; needed behind a proxy and when listening on every address",
    )
    tenancy: Tenancy = Field(Tenancy.MULTI, description="multi: /account/name; single: /name")
    default_account: str = Field("default", description="owner of datasets that say no other; an account as any")
    default_visibility: Visibility = Field(Visibility.PRIVATE, description="of datasets found in the folder")
    anonymous_access: bool = Field(True, description="whether public datasets are served without a token")
    object_bytes_max: int = Field(OBJECT_BYTES_MAX, gt=0, description="largest object taken, in bytes")
    signed_urls: bool = Field(True, description="whether clients move objects straight to and from a store in S3")
    signed_url_s: int = Field(3_600, gt=0, le=604_800, description="how long such an address is good, in seconds")
    upload_lease_s: float = Field(86_400, gt=0, description="how long an unfinished upload is kept, in seconds")
    pending_lease_s: float = Field(86_400, gt=0, description="how long an unfinished new dataset is kept, in seconds")
    gc_interval_s: float = Field(21_600, ge=0, description="how often garbage is collected, in seconds; 0 is never")
    gc_grace_s: float = Field(86_400, ge=0, description="how long what nobody needs is kept, in seconds")
    share_objects: bool = Field(
        True, description="whether equal objects of several datasets are stored once, as hard links, after a collection"
    )
    scrub_interval_s: float = Field(
        2_592_000, ge=0, description="how long after a scrub the next one begins, in seconds; 0 is never"
    )
    scrub_bytes_per_s: float = Field(
        10_485_760, gt=0, description="how fast everything is read again in a scrub, in bytes a second"
    )
    scrub_sources: Annotated[tuple[str, ...], NoDecode, BeforeValidator(words)] = Field(
        (), description="sound copies to heal from besides the mirrors, parted by blanks; {alias} stands for a name"
    )
    reports_kept: int = Field(
        100, gt=0, description="verification reports kept of a dataset, besides those in which the verdict changed"
    )
    requests_at_once: int = Field(2_000, gt=0, description="requests served at once; more are answered 503")
    pulls_at_once: int = Field(64, gt=0, description="pull conversations at once; more are answered 503")
    pushes_at_once: int = Field(8, gt=0, description="push conversations at once; each may hold 64 MiB")
    pull_silence_s: float = Field(
        21_600, gt=0, description="longest silence in a pull, in seconds; objects are fetched meanwhile"
    )
    push_silence_s: float = Field(
        600, gt=0, description="longest silence in a push, in seconds; while objects are sent, clients tell how it goes"
    )
    stall_s: float = Field(30, gt=0, description="longest silence of an uploading client, in seconds")
    idle_s: float = Field(15, gt=0, description="how long a silent connection is kept, in seconds")
    stop_s: float = Field(30, ge=0, description="how long running requests may go on when the server stops, in seconds")
    packs_bytes_max: int = Field(
        1_073_741_824, ge=0, description="room on disk for finished answers to long pulls; 0 keeps none"
    )
    cache_folder: Path | None = Field(
        None,
        description="where they are kept, and for S3 what of chains was read; beside the datasets by default, or beside"
        " the SQLite file of the catalog",
    )
    block_cache_bytes_max: int = Field(
        67_108_864, ge=0, description="room in memory for blocks read from an IPFS node; 0 keeps none"
    )
    reuse_port: bool = Field(False, description="let several server processes share the port")
    access_log: bool = Field(True, description="one line per request")
    connections_max: int = Field(2_000, gt=0, description="open connections; further ones are closed at once")
    connections_per_address_max: int = Field(
        512, gt=0, description="open connections of one address; behind a proxy all have the same"
    )
    body_bytes_per_s_min: int = Field(
        1_024, gt=0, description="slowest average rate of a body, in bytes a second; slower peers are cut off"
    )
    ipfs_gateway: str | None = Field(
        None, description="how ipfs:// and ipns:// are read: a gateway (http://…) or the RPC of a node (kubo+http://…)"
    )
    ipfs_trustless: bool = Field(False, description="prove every block that an IPFS gateway gives, the head included")
    ipfs_token: SecretStr | None = Field(None, description="bearer token for the IPFS gateway or node")
    ipfs_provider: bool = Field(False, description="whether public datasets are served to IPFS, under /ipfs and /ipns")
    ipfs_key_file: Path | None = Field(
        None, description="secret behind the IPNS names; made beside the datasets by default"
    )
    attestation_key_file: Path | None = Field(
        None, description="secret that verdicts are signed with; made beside the datasets by default"
    )
    metrics_access: MetricsAccess = Field(
        MetricsAccess.ADMIN, description="who may read /metrics: admin, or public for everybody who reaches the server"
    )
    upstream: str | None = Field(
        None,
        pattern=r"^(odf\+)?https?://[^\s?#@]+$",
        description="a repository whose datasets are fetched and kept when they are asked for here and do not lie here",
    )
    upstream_token: SecretStr | None = Field(
        None, description="token for it; what it gives is public here without one, else as ODF_DEFAULT_VISIBILITY says"
    )
    upstream_fresh_s: float = Field(60, ge=0, description="how old a head of it may be, in seconds, before it is asked")
    upstream_cache: Path | None = Field(None, description="folder for what is kept; beside the datasets by default")
    upstream_cache_bytes_max: int = Field(
        10_737_418_240, gt=0, description="room for it; what was used longest ago goes first"
    )
    run_mirrors: bool = Field(True, description="whether this server runs the mirrors of its catalog")
    run_worker: bool = Field(True, description="whether this server starts a worker for what is scheduled")
    verify_pushed: bool = Field(
        False, description="whether datasets that are pushed for the first time are verified, then and at every change"
    )
    job_s_max: float = Field(21_600, gt=0, description="longest time that a job of a worker may take, in seconds")
    job_lease_s: float = Field(60, ge=1, description="a worker that died is replaced after so long, in seconds")
    java_home: str | None = Field(
        None,
        validation_alias=AliasChoices("ODF_JAVA_HOME", "JAVA_HOME"),
        description="a Java 17 or newer for Spark; JAVA_HOME means the same; else the one on PATH or in .venv is taken",
    )
    spark_place: Path | None = Field(
        None, description="folder of the Spark worker, for its owner only; ~/.cache/odf/spark by default"
    )
    spark_master: Annotated[str, AfterValidator(check_master)] = Field(
        LOCAL_MASTER, description="where Spark computes: local, spark://HOST:PORT or k8s://https://HOST:PORT"
    )
    spark_settings: Path | None = Field(
        None, description="file of settings that a cluster needs, one a line, such as spark.driver.host NAME"
    )
    spark_cores: int = Field(2, gt=0, description="threads of Spark; they change no result")
    spark_heap_bytes: int = Field(2_147_483_648, ge=536_870_912, description="largest heap of Spark's Java, in bytes")
    spark_memory_bytes_max: int = Field(
        4_294_967_296, gt=0, description="memory of all processes of the engine; a job that takes more is ended"
    )
    spark_jobs_per_engine: int = Field(1_000, gt=0, description="jobs after which the engine is started anew")
    spark_idle_s: float = Field(900, gt=0, description="a Spark worker that nobody needed for so long ends, in seconds")
    ingest_bytes_max: int = Field(INGEST_BYTES_MAX, gt=0, description="largest file taken to be ingested, in bytes")
    account_uploads_bytes_max: int = Field(
        68_719_476_736, gt=0, description="room for the files that one account has sent and not ingested, in bytes"
    )
    ingests_at_once: int = Field(
        16, gt=0, description="ingests that wait for the Spark worker or run; more are answered 503"
    )
    ingest_s_max: float = Field(
        3_600, gt=0, description="longest time that an ingest may take the Spark worker, in seconds"
    )
    ingest_key_s: float = Field(
        604_800, gt=0, description="how long an idempotency key is known after its ingest, in seconds"
    )
    incoming_folder: Path | None = Field(
        None,
        description="where files wait to be ingested; beside the datasets by default, or beside the SQLite file of the"
        " catalog, else with the Spark worker",
    )
    spark_unsandboxed_foreign_queries: bool = Field(
        False, description="let queries of strangers run where the kernel offers no sandbox"
    )
    spark_environments: Annotated[dict[str, str], AfterValidator(versions_of_spark)] = Field(
        default_factory=dict,
        description='environments of Python with other versions of Spark, for replays, as JSON: {"3.5.0": "/opt/…"}',
    )
    engines: Annotated[dict[str, str], AfterValidator(engine_places)] = Field(
        default_factory=dict, description='engines that run elsewhere, by name, as JSON: {"flink": "grpc://…:2884"}'
    )
    ethereum_nodes: dict[int, SecretStr] = Field(
        default_factory=dict,
        description='nodes of chains whose sources name none, as JSON: {"1": "https://…"}; addresses may hold keys',
    )
    ethereum_confirmations: int = Field(
        0, ge=0, description="newest blocks of a chain that are left alone, for they may be replaced"
    )
    container_runtime: str | None = Field(
        None, description="program that runs images of sources and engines; podman or docker by default, if on PATH"
    )
    engine_network: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:,=-]*$",
        description="network of containers of engines; one without a way out keeps their queries from going anywhere",
    )
    pipes: bool = Field(False, description="run the commands (Pipe) of one's own sources, walled in by the kernel")
    source_variables: Annotated[tuple[str, ...], NoDecode, BeforeValidator(words)] = Field(
        (), description="names of variables that sources polled by the worker may use, parted by blanks"
    )
    tracing: bool = Field(
        False, description="trace requests by OpenTelemetry; its own variables (OTEL_…) say where spans go"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="what is logged")

    @property
    def multi_tenant(self) -> bool:
        return self.tenancy is Tenancy.MULTI

    @property
    def ipfs_access(self) -> IpfsAccess | None:
        """How sources in IPFS are read; ``None`` when neither a gateway nor a node is named."""
        if self.ipfs_gateway is None:
            return None
        token = None if self.ipfs_token is None else self.ipfs_token.get_secret_value()
        return IpfsAccess(self.ipfs_gateway, token, self.ipfs_trustless)

    @property
    def spark_worker_place(self) -> Path:
        """Where the Spark worker lives that the commands of this user share."""
        return self.spark_place or Path.home() / ".cache" / "odf" / "spark"

    @property
    def spark_worker_options(self) -> WorkerOptions:
        """How it runs."""
        return WorkerOptions(
            java_home=self.java_home,
            master=self.spark_master,
            cluster_settings=None if self.spark_settings is None else str(self.spark_settings.absolute()),
            cores=self.spark_cores,
            heap_bytes=self.spark_heap_bytes,
            memory_bytes_max=self.spark_memory_bytes_max,
            jobs_per_engine=self.spark_jobs_per_engine,
            idle_s=self.spark_idle_s,
            unsandboxed_foreign_queries=self.spark_unsandboxed_foreign_queries,
        )

    @property
    def engines_elsewhere(self) -> EnginesElsewhere:
        """Engines that are asked by the contract."""
        places = {name: parse_engine_place(place) for name, place in self.engines.items()}
        return EnginesElsewhere(places, self.container_runtime, self.engine_network)

    @property
    def ipfs_key_path(self) -> Path:
        """Where the secret of the IPNS names lies."""
        return self.ipfs_key_file or self._beside_the_datasets("ipfs_key_file") / ".ipns-key"

    @property
    def attestation_key_path(self) -> Path | None:
        """Where the secret lies that verdicts are signed with; ``None`` when no place is known, and none is signed."""
        return self.attestation_key_file or self._folder_beside(".attestation-key")

    @property
    def upstream_cache_path(self) -> Path | None:
        """Where what an upstream gave is kept; nowhere when the repository is no folder and no other is named."""
        return self.upstream_cache or (self.repo / ".upstream" if isinstance(self.repo, Path) else None)

    @property
    def packs_path(self) -> Path | None:
        """Where finished answers to long pulls are kept; ``None`` when no folder is known."""
        return self.cache_folder or self._folder_beside(".packs")

    @property
    def query_path(self) -> Path:
        """Where slices and answers of queries under way lie."""
        return self.query_folder or self._folder_beside(".queries") or self.spark_worker_place / "queries"

    @property
    def incoming_path(self) -> Path:
        """Where files wait to be ingested."""
        return self.incoming_folder or self._folder_beside(".incoming") or self.spark_worker_place / "incoming"

    @property
    def database_url(self) -> str:
        """Where the catalog lies."""
        return self.catalog_url or sqlite_url(self._beside_the_datasets("catalog_url") / ".catalog.sqlite")

    def _folder_beside(self, name: str) -> Path | None:
        """A place beside the datasets, or else beside the catalog; ``None`` if both are elsewhere."""
        if isinstance(self.repo, Path):
            return self.repo / name
        catalog = sqlite_path(self.database_url)
        return None if catalog is None else catalog.with_name(name)

    def _beside_the_datasets(self, setting: str) -> Path:
        if isinstance(self.repo, Path):
            return self.repo
        raise MalformedInput(
            f"setting {setting} is needed when the repository is no folder", hint=f"set ODF_{setting.upper()}"
        )


def environment_of(settings: Settings) -> dict[str, str]:
    """Our environment for a child process, with what was set in other ways besides."""
    given = {name: _as_text(getattr(settings, name)) for name in settings.model_fields_set}
    return {**os.environ, **{f"ODF_{name.upper()}": text for name, text in given.items() if text is not None}}


def _as_text(value: object) -> str | None:
    """A setting as a variable says it."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return json.dumps({str(key): _as_text(each) for key, each in value.items()})
    return None if value is None else str(value)


def allowed_variables(names: Iterable[str]) -> dict[str, str]:
    """Those variables of the environment, if they are set: what sources may use besides settings."""
    return {name: os.environ[name] for name in names if name in os.environ}
