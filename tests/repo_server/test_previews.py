"""Previews: read once for each head, shortened, and never a reason for a page to fail or to wait for long."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from opendatafabric.errors import MalformedData, OdfError, TransientStorageError
from opendatafabric.multihash import physical_hash
from repo_server.previews import Previews
from storage.dataset import Dataset
from tests.storage.chains import dataset_id

HEAD, NEXT = physical_hash(b"head"), physical_hash(b"next")
ID = dataset_id()


class Reading:
    """Stands for the process that reads records; ``found`` is what it gives, or raises."""

    def __init__(self, found: Any) -> None:
        self.found, self.asked, self.ended = found, 0, 0
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def preview(self, *_: object) -> dict[str, Any]:
        self.asked += 1
        try:
            await self.go_on.wait()
        finally:
            self.ended += 1
        if isinstance(self.found, OdfError):
            raise self.found
        return {"schema": {"fields": [{"name": name} for name in self.found[0]]}, "data": self.found[1]}


def made(found: Any, *, records: int = 5, patience_s: float = 30.0) -> tuple[Reading, Previews]:
    process = Reading(found)
    return process, Previews(process, records=records, patience_s=patience_s)  # type: ignore[arg-type]


async def ask(found: Previews, head: Any = HEAD) -> Any:
    dataset: Dataset = None  # type: ignore[assignment]
    return await found.of(ID, dataset, head)


async def test_records_are_texts() -> None:
    _, found = made((["a", "b"], [[1, None], ["x", {"y": [1.5]}], [True, "z" * 1_000]]))
    shown = await ask(found)
    assert (shown.columns, shown.rows[:2]) == (["a", "b"], [["1", ""], ["x", orjson.dumps({"y": [1.5]}).decode()]])
    assert (shown.rows[2][0], len(shown.rows[2][1])) == ("true", 201)


async def test_a_head_is_read_once_and_the_next_one_anew() -> None:
    process, found = made((["a"], [[1]]))
    await asyncio.gather(*(ask(found) for _ in range(5)))
    await ask(found)
    assert process.asked == 1
    await ask(found, NEXT)
    assert process.asked == 2


async def test_who_looks_first_waits_a_little_and_who_looks_next_sees_it() -> None:
    process, found = made((["a"], [[1]]), patience_s=0.01)
    process.go_on.clear()
    assert await ask(found) is None
    process.go_on.set()
    async with asyncio.timeout(30):
        while await ask(found) is None:
            pass
    assert process.asked == 1


async def test_what_cannot_be_read_is_not_tried_for_ever() -> None:
    process, found = made(MalformedData("no Parquet"))
    assert [await ask(found), await ask(found)] == [None, None]
    assert process.asked == 1


async def test_what_may_work_later_is_tried_again() -> None:
    process, found = made(TransientStorageError("busy"))
    assert [await ask(found), await ask(found)] == [None, None]
    assert process.asked == 2


async def test_where_none_are_wanted_none_are_read() -> None:
    process, found = made((["a"], [[1]]), records=0)
    assert await ask(found) is None
    assert process.asked == 0


async def test_what_is_being_read_ends_with_the_server() -> None:
    process, found = made((["a"], [[1]]), patience_s=0.01)
    process.go_on.clear()
    await ask(found)
    await found.settle()
    assert (process.asked, process.ended) == (1, 1)
