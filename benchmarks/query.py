"""What does it cost to ask a dataset of ten million records, behind walls in a process of its own? (Q1, Q2, Q5 to Q7)

The tail reads the last row groups alone, in a process that waited; next to it one that had to be started, and pyarrow
reading the whole file in this process. Queries are compared with DataFusion in this process, with no walls around it;
what the walls and the process cost by themselves is seen where there is little to compute.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
from datafusion import SessionContext

from benchmarks.harness import Goal, Question, Way, cpu_with_copies, main
from benchmarks.records import made_records
from opendatafabric.did import new_dataset_id
from pipeline.query.answer_form import AnswerForm, JsonShape
from pipeline.query.prepare import Asked
from repo_server.config import Settings
from repo_server.query.looks import Looks
from repo_server.query.running import Queries
from storage.dataset import Dataset

SQL = "SELECT city, count(*) AS n, sum(population) FROM records GROUP BY city ORDER BY n DESC LIMIT 10"
COUNTED = "SELECT count(*) FROM records"
FIRST = "SELECT * FROM records WHERE population > 5000000 LIMIT 100"
SMALL_ROWS = 1_000
"""Fields of ``/proc/<pid>/stat``, counted behind the name of the program."""
AOS = AnswerForm(JsonShape.AOS)


def plainly_read(folder: Path) -> int:
    """What one would write first."""
    return sum(len(pq.read_table(path).slice(0, 100)) for path in folder.glob("**/data/*"))


def plainly_asked(folder: Path, sql: str) -> Callable[[], object]:
    """DataFusion alone."""

    def answer() -> int:
        context = SessionContext()
        (slices,) = folder.glob("**/data")
        context.register_listing_table("records", str(slices), file_extension="")
        return len(context.sql(sql).collect())

    return answer


def tail(dataset: Dataset, queries: Queries) -> Callable[[], object]:
    """The newest hundred, as JSON."""
    return lambda: asyncio.run(Looks(queries).newest(new_dataset_id(bytes(32)), dataset, skip=0, limit=100, form=AOS))


def asked(dataset: Dataset, queries: Queries, sql: str) -> Callable[[], object]:
    """The query, as JSON."""

    async def answer() -> int:
        async def catalogue(_: str) -> Dataset:
            return dataset

        async with queries.prepared(sql, catalogue, Asked()) as request, queries.answered(request) as found:
            return len(found.read())

    return lambda: asyncio.run(answer())


def ask(quick: bool) -> Question:
    rows = 1_000_000 if quick else 10_000_000
    (dataset, root), (small, _) = made_records(1, rows), made_records(1, SMALL_ROWS)
    waiting, started = (
        Queries(Settings(query_folder=Path(tempfile.mkdtemp(dir=root)), query_processes=count)) for count in (4, 0)
    )
    return Question(
        f"Asking a dataset of {rows:,} records in one slice",
        "answer",
        [
            Way("plain, the whole file", lambda: plainly_read(root)),
            Way("tail, process waits", tail(dataset, waiting), cpu=cpu_with_copies),
            Way("tail, process started", tail(dataset, started)),
            Way("0.3 s", lambda: time.sleep(0.3)),
            Way("DataFusion alone", plainly_asked(root, SQL)),
            Way("query, process waits", asked(dataset, waiting, SQL), cpu=cpu_with_copies),
            Way("count, DataFusion alone", plainly_asked(root, COUNTED)),
            Way("count, process waits", asked(dataset, waiting, COUNTED), cpu=cpu_with_copies),
            Way("limit, DataFusion alone", plainly_asked(root, FIRST)),
            Way("limit, process waits", asked(dataset, waiting, FIRST), cpu=cpu_with_copies),
            Way("small, process waits", asked(small, waiting, SQL), cpu=cpu_with_copies),
            Way("0.1 s", lambda: time.sleep(0.1)),
        ],
        [
            Goal("Q1", "tail, to 0.3 s", "tail, process waits", "0.3 s", 1.0, at_least=False, measure="wall"),
            Goal("Q2", "query, to DataFusion", "query, process waits", "DataFusion alone", 2.0, False, "wall"),
            Goal("Q5", "a query of few records, to 0.1 s", "small, process waits", "0.1 s", 1.0, False, "wall"),
            Goal("Q6", "count, to DataFusion", "count, process waits", "count, DataFusion alone", 20.0, False, "wall"),
            Goal("Q7", "limit, to DataFusion", "limit, process waits", "limit, DataFusion alone", 3.0, False, "wall"),
        ],
    )


if __name__ == "__main__":
    main(ask)
