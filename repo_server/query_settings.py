"""Settings of queries and looks at records."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings


class QuerySettings(BaseSettings):
    """How much those who ask may take."""

    queries_at_once: int = Field(4, gt=0, description="queries that run; as many wait, and more are answered 503")
    query_s_max: float = Field(60, gt=0, description="longest time that a query may take, in seconds")
    query_memory_bytes_max: int = Field(1_073_741_824, gt=0, description="memory that a query may take, in bytes")
    query_rows_max: int = Field(1_000_000, gt=0, description="most rows that may be asked for by a limit")
    query_answer_bytes_max: int = Field(268_435_456, gt=0, description="longest answer to a query, in bytes")
    query_fetch_bytes_max: int = Field(
        10_737_418_240, gt=0, description="most bytes of slices fetched for a query where they lie in S3 or elsewhere"
    )
    query_processes: int = Field(
        1,
        ge=0,
        description="processes that wait for queries, from the first query on: copies of one that takes about 150 MB",
    )
    query_folder: Path | None = Field(
        None, description="folder for slices and answers of queries under way; beside the datasets by default"
    )
    downloads_at_once: int = Field(2, gt=0, description="files for downloads that are made at once; others wait")
    download_s_max: float = Field(1_800, gt=0, description="longest time that making a file may take, in seconds")
    downloads_bytes_max: int = Field(
        10_737_418_240, gt=0, description="room on disk for files made for downloads, and the length of the longest"
    )
    query_unsandboxed: bool = Field(
        False, description="let queries and looks at records run where the kernel offers no sandbox"
    )
