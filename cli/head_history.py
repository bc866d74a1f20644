"""How heads moved and may move: where the repository lies, or by the server whose dataset it is."""

from __future__ import annotations

import time
from typing import Any

from catalog.datasets import HeadMove
from catalog.undoing import head_to_put_back
from cli.datasets import Located, connected
from cli.lifecycles import Place, place_at, server_path
from cli.server_deeds import done_by_server
from cli.server_reports import located_on_server
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import DatasetNotFound, NotFound
from opendatafabric.head_signature import NOBODY
from opendatafabric.multihash import Multihash
from repo_server.moments import moment
from storage.dataset import Dataset
from storage.head_policy import HeadPolicy, read_policy, write_policy
from storage.put_back import put_back

Told = dict[str, Any]


async def moves_of(ref: str, repository: str) -> list[Told]:
    """How the head moved, newest first."""
    there = await located_on_server(ref, repository)
    if there is not None:
        return list((await done_by_server("GET", f"{server_path(there)}/reflog"))["moves"])
    async with place_at(repository) as place:
        entry = await place.find(ref)
        return [await _told(place, move) for move in await place.catalog.datasets.moves(entry.id)]


async def undone(ref: str, repository: str, *, to: str | None) -> Told:
    """Where the head was, and where it is now."""
    wanted = None if to is None else Multihash.from_text(to)
    there = await located_on_server(ref, repository)
    if there is not None:
        return await _undone_by_server(there, wanted)
    async with place_at(repository) as place:
        entry = await place.find(ref)
        head = await _head_of(entry.dataset, ref)
        moves = await place.catalog.datasets.moves(entry.id)
        since = time.time() - place.settings.reflog_kept_s
        new_head = head_to_put_back(moves, head, since=since, wanted=wanted)
        await put_back(entry.dataset, expected_head=head, new_head=new_head)
        await place.catalog.datasets.log_move(entry.id, None, expected_head=head, new_head=new_head)
        await place.catalog.watches.moved(entry.id, new_head)
        return {"oldHead": str(head), "newHead": str(new_head)}


async def policy_of(ref: str, repository: str, **wanted: object) -> Told:
    """The policy of a dataset, once what is wanted of it (``appendOnly``, ``allowForce``, ``signedBy``) was set."""
    given = {name: value for name, value in wanted.items() if value is not None}
    there = await located_on_server(ref, repository)
    if there is not None:
        known = await done_by_server("GET", f"{server_path(there)}/policy")
        return await done_by_server("PUT", f"{server_path(there)}/policy", {**known, **given}) if given else known
    async with place_at(repository) as place:
        dataset = (await place.find(ref)).dataset
        told = {**_plain(await read_policy(dataset.objects)), **given}
        if given:
            await write_policy(dataset.writable_objects(), _policy_in(told))
        return told


async def _undone_by_server(there: Located, wanted: Multihash | None) -> Told:
    async with connected(there) as dataset:
        head = await _head_of(dataset, there.name)
    body = None if wanted is None else {"to": str(wanted)}
    return await done_by_server("POST", f"{server_path(there)}/undo", body, headers={"If-Match": f'"{head}"'})


async def _head_of(dataset: Dataset, name: str) -> Multihash:
    head = await dataset.head()
    if head is None:
        raise DatasetNotFound(f"there is no dataset {name} with a head")
    return head


async def _told(place: Place, move: HeadMove) -> Told:
    return {
        "at": moment(move.at),
        "account": await _name_of(place, move.account_id),
        "expectedHead": move.expected_head,
        "newHead": move.new_head,
    }


async def _name_of(place: Place, account_id: str | None) -> str | None:
    try:
        found = None if account_id is None else await place.catalog.accounts.find_by_id(AccountId(account_id))
    except NotFound:
        return None
    return None if found is None else str(found.name)


def _plain(policy: HeadPolicy) -> Told:
    key = None if policy.signed_by is None else policy.signed_by.did_key
    return {"appendOnly": policy.append_only, "allowForce": policy.allow_force, "signedBy": key}


def _policy_in(told: Told) -> HeadPolicy:
    key = told["signedBy"]
    signed_by = None if key in (None, NOBODY) else DatasetId.from_did_key(str(key))
    return HeadPolicy(bool(told["appendOnly"]), bool(told["allowForce"]), signed_by)
