"""How fast are records made into files for downloads, next to DataFusion's own writers? (goals Q3, Q4)

Ours read the slices behind walls in a process of their own; a file that was made once, and Parquet of one slice, are
sent like objects, which ``serve_objects`` measures.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from datafusion import SessionContext

from benchmarks.harness import Goal, Question, Way, cpu_with_copies, main
from benchmarks.records import made_records
from pipeline.query.answer_form import FileKind
from repo_server.config import Settings
from repo_server.query.downloads import Download, Downloads
from repo_server.query.running import Queries
from storage.dataset import Dataset
from storage.local.large_derived import LargeDerivedFiles


def made(dataset: Dataset, root: Path, kind: FileKind) -> Callable[[], object]:
    """The file, as the server makes it the first time."""
    folder = Path(tempfile.mkdtemp(dir=root))
    queries = Queries(Settings(query_folder=folder))

    async def run() -> int:
        files = LargeDerivedFiles(Path(tempfile.mkdtemp(dir=folder)), bytes_max=1 << 40)
        downloads = Downloads(queries, files)
        path = await downloads.file(await downloads.prepared(dataset, Download(kind)))
        size = path.stat().st_size
        path.unlink()
        return size

    return lambda: asyncio.run(run())


def copied(root: Path, kind: str) -> Callable[[], object]:
    """``COPY … TO`` of DataFusion, into one file."""
    target = root / f"copied.{kind}"
    (slices,) = root.glob("repository/**/data")

    def run() -> None:
        context = SessionContext()
        context.register_listing_table("records", str(slices), file_extension="")
        context.sql(f"COPY (SELECT * FROM records) TO '{target}' STORED AS {kind}").collect()
        target.unlink()

    return run


def ask(quick: bool) -> Question:
    rows = 200_000 if quick else 1_000_000
    dataset, root = made_records(4, rows)
    units = 4 * rows / 1e6
    return Question(
        f"Making {4 * rows:,} records of four slices into one file",
        "M records",
        [
            Way("DataFusion, csv", copied(root, "csv"), units),
            Way("ours, csv", made(dataset, root, FileKind.CSV), units, cpu=cpu_with_copies),
            Way("DataFusion, parquet", copied(root, "parquet"), units),
            Way("ours, parquet", made(dataset, root, FileKind.PARQUET), units, cpu=cpu_with_copies),
            Way("ours, ndjson", made(dataset, root, FileKind.NDJSON), units, cpu=cpu_with_copies),
        ],
        [
            Goal("Q3", "csv, to DataFusion", "ours, csv", "DataFusion, csv", 0.5),
            Goal("Q4", "parquet, to DataFusion", "ours, parquet", "DataFusion, parquet", 0.5),
        ],
    )


if __name__ == "__main__":
    main(ask)
