"""What follows when a head moved here, by a push or an ingest: the dataset is looked at anew, and it is noted."""

from __future__ import annotations

from aiohttp import web

from opendatafabric.did import DatasetId
from opendatafabric.multihash import Multihash
from repo_server.auditing import write_now
from repo_server.gate import Visit


async def note_move(
    found: Visit, dataset_id: DatasetId, *, expected_head: Multihash | None, new_head: Multihash
) -> None:
    """Whoever waits for news of the dataset hears of it."""
    services = found.services
    services.directory.forget(found.alias)
    services.indexing.wake(dataset_id)
    if services.mirrors is not None:
        services.mirrors.wake()
    if services.publisher is not None:
        services.publisher.wake(dataset_id)
    await services.catalog.datasets.log_move(
        dataset_id, found.caller.account, expected_head=expected_head, new_head=new_head
    )
    await services.catalog.watches.moved(dataset_id, new_head)


async def note_deed(
    request: web.Request,
    dataset_id: DatasetId,
    expected_head: Multihash | None,
    new_head: Multihash,
    *,
    staged: bool | None = None,
) -> None:
    """It is in the audit log, before the client hears of it."""
    old = None if expected_head is None else str(expected_head)
    await write_now(request, dataset_id=str(dataset_id), old_head=old, new_head=str(new_head), staged=staged)
