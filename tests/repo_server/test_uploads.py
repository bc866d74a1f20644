"""Taking in objects: in one piece or resumed; what is not what it says leaves no trace."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from opendatafabric.multihash import physical_hash
from repo_server.config import Tenancy
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.storage.chains import ChainBuilder

pytestmark = pytest.mark.slow

CONTENT = b"the content of a slice" * 1_000
NAME = physical_hash(CONTENT)


async def files_of(server: Hosted) -> set[str]:
    """Every file among the objects, hidden ones too."""
    entry = await server.repository.find(server.alias("open"))
    paths = await asyncio.to_thread(lambda: [*entry.path.glob("data/*"), *entry.path.glob("checkpoints/*")])
    return {path.name for path in paths}


@pytest.mark.parametrize("folder", ["data", "checkpoints"])
async def test_an_object_that_was_put_is_served(server: Hosted, chain: ChainBuilder, folder: str) -> None:
    path = f"{server.path('open')}/{folder}/{NAME}"
    answer = await server.ask("PUT", path, who="alice", data=CONTENT)
    assert (answer.status, answer.body) == (200, b"")
    assert (await server.ask("GET", path)).body == CONTENT


async def test_putting_again_succeeds_and_changes_nothing(server: Hosted, chain: ChainBuilder) -> None:
    path = f"{server.path('open')}/data/{NAME}"
    for _ in range(2):
        assert (await server.ask("PUT", path, who="alice", data=CONTENT)).status == 200
    assert (await server.ask("GET", path)).body == CONTENT


async def test_a_damaged_object_is_healed_by_sending_it_again(server: Hosted, chain: ChainBuilder) -> None:
    path = f"{server.path('open')}/data/{NAME}"
    await server.ask("PUT", path, who="alice", data=CONTENT)
    entry = await server.repository.find(server.alias("open"))
    (entry.path / "data" / str(NAME)).write_bytes(bytes(len(CONTENT)))
    assert (await server.ask("PUT", path, who="alice", data=bytes(len(CONTENT)))).status == 400
    assert (await server.ask("PUT", path, who="alice", data=CONTENT)).status == 200
    assert (await server.ask("GET", path)).body == CONTENT


async def test_many_who_put_the_same_object_all_succeed(server: Hosted, chain: ChainBuilder) -> None:
    path = f"{server.path('open')}/data/{NAME}"
    answers = await asyncio.gather(*(server.ask("PUT", path, who="alice", data=CONTENT) for _ in range(8)))
    assert {answer.status for answer in answers} == {200}
    assert (await server.ask("GET", path)).body == CONTENT


async def test_other_bytes_than_promised_leave_nothing(server: Hosted, chain: ChainBuilder) -> None:
    before = await files_of(server)
    answer = await server.ask("PUT", f"{server.path('open')}/data/{NAME}", who="alice", data=CONTENT[:-1] + b"x")
    assert answer.status == 400
    assert '"hash-mismatch"' in answer.text
    assert await files_of(server) == before


async def test_a_body_of_unknown_length_is_refused(shared: Hosted, shared_chain: ChainBuilder) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield CONTENT

    url = f"{shared.url}{shared.path('open')}/data/{NAME}"
    async with shared.session.put(url, data=chunks(), headers=shared.as_("alice")) as response:
        assert response.status == 400
        assert response.content_type == "text/plain"


async def test_a_packed_body_is_refused_and_not_unpacked(shared: Hosted, shared_chain: ChainBuilder) -> None:
    path, headers = f"{shared.path('open')}/data/{NAME}", {"Content-Encoding": "gzip"}
    answer = await shared.ask("PUT", path, who="alice", data=gzip.compress(CONTENT), headers=headers)
    assert answer.status == 415
    assert str(NAME) not in await files_of(shared)


@pytest.mark.parametrize(("size_max", "status"), [(len(CONTENT), 200), (len(CONTENT) - 1, 413)])
async def test_the_limit_of_size_holds_on_both_sides(tmp_path: Path, size_max: int, status: int) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE, object_bytes_max=size_max) as server:
        await server.add("open", a_chain())
        answer = await server.ask("PUT", f"/open/data/{NAME}", who="alice", data=CONTENT)
        assert answer.status == status


async def raw_put(server: Hosted, body: bytes, announced: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a request by hand and leave the connection open."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = (
        f"PUT {server.path('open')}/data/{NAME} HTTP/1.1\r\nHost: {host}\r\n"
        f"Authorization: Bearer {server.tokens['alice']}\r\nContent-Length: {announced}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    return reader, writer


async def test_a_client_that_falls_silent_is_cut_off(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE, stall_s=0.2) as server:
        await server.add("open", a_chain())
        before = await files_of(server)
        reader, writer = await raw_put(server, CONTENT[:100], len(CONTENT))
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert await files_of(server) == before


async def test_a_client_that_leaves_in_the_middle_leaves_nothing(server: Hosted, chain: ChainBuilder) -> None:
    before = await files_of(server)
    _, writer = await raw_put(server, CONTENT[:100], len(CONTENT))
    writer.close()
    async with asyncio.timeout(10):
        while await files_of(server) != before:  # noqa: ASYNC110  the server tells nobody when it has cleaned up
            await asyncio.sleep(0.01)


async def begin(server: Hosted, content: bytes = CONTENT) -> str:
    path = f"{server.path('open')}/uploads/data/{NAME}"
    answer = await server.ask("POST", path, who="alice", headers={"Upload-Length": str(len(content))})
    assert answer.status == 201
    assert answer.headers["Upload-Offset"] == "0"
    return answer.headers["Location"]


async def test_an_upload_continues_where_it_was_cut(server: Hosted, chain: ChainBuilder) -> None:
    place = await begin(server)
    first = await server.ask("PATCH", place, who="alice", data=CONTENT[:7_000], headers={"Upload-Offset": "0"})
    assert (first.status, first.headers["Upload-Offset"]) == (204, "7000")
    asked = await server.ask("HEAD", place, who="alice")
    assert asked.headers["Upload-Offset"] == "7000"
    assert asked.headers["Upload-Length"] == str(len(CONTENT))
    last = await server.ask("PATCH", place, who="alice", data=CONTENT[7_000:], headers={"Upload-Offset": "7000"})
    assert (last.status, last.headers["Upload-Complete"]) == (200, "?1")
    assert (await server.ask("GET", f"{server.path('open')}/data/{NAME}")).body == CONTENT


async def test_an_upload_of_what_is_here_is_complete_at_once(server: Hosted, chain: ChainBuilder) -> None:
    await server.ask("PUT", f"{server.path('open')}/data/{NAME}", who="alice", data=CONTENT)
    path, headers = f"{server.path('open')}/uploads/data/{NAME}", {"Upload-Length": str(len(CONTENT))}
    answer = await server.ask("POST", path, who="alice", headers=headers)
    assert (answer.status, answer.headers["Upload-Complete"]) == (200, "?1")


async def test_a_wrong_offset_is_told_the_right_one(server: Hosted, chain: ChainBuilder) -> None:
    place = await begin(server)
    answer = await server.ask("PATCH", place, who="alice", data=b"x", headers={"Upload-Offset": "5"})
    assert answer.status == 409
    assert (await server.ask("HEAD", place, who="alice")).headers["Upload-Offset"] == "0"


async def test_a_resumed_upload_of_other_bytes_leaves_nothing(server: Hosted, chain: ChainBuilder) -> None:
    before = await files_of(server)
    place = await begin(server)
    answer = await server.ask("PATCH", place, who="alice", data=b"x" * len(CONTENT), headers={"Upload-Offset": "0"})
    assert answer.status == 400
    assert (await server.ask("HEAD", place, who="alice")).status in {400, 404}
    assert str(NAME) not in await files_of(server)
    await server.ask("DELETE", place, who="alice")
    assert await files_of(server) == before


async def test_an_upload_that_is_given_up_is_gone(server: Hosted, chain: ChainBuilder) -> None:
    place = await begin(server)
    assert (await server.ask("DELETE", place, who="alice")).status == 204
    assert (await server.ask("HEAD", place, who="alice")).status == 404


@pytest.mark.parametrize("who", [None, "bob"])
async def test_only_writers_may_upload(shared: Hosted, shared_chain: ChainBuilder, who: str | None) -> None:
    place = await begin(shared)
    path, headers = f"{shared.path('open')}/uploads/data/{NAME}", {"Upload-Length": "1"}
    assert (await shared.ask("POST", path, who=who, headers=headers)).status == 403
    for method in ("HEAD", "PATCH", "DELETE"):
        assert (await shared.ask(method, place, who=who, headers={"Upload-Offset": "0"})).status == 403


@pytest.mark.parametrize("length", ["", "-1", "x", "1e3", "9" * 30, "\u0661"])
async def test_a_length_that_is_none_is_refused(shared: Hosted, shared_chain: ChainBuilder, length: str) -> None:
    path = f"{shared.path('open')}/uploads/data/{NAME}"
    assert (await shared.ask("POST", path, who="alice", headers={"Upload-Length": length})).status == 400


@pytest.mark.parametrize("upload", ["x", "..", "0" * 16, ".pending-0", "%2e%2e%2frefs%2fhead"])
async def test_an_upload_that_does_not_exist_is_404(shared: Hosted, shared_chain: ChainBuilder, upload: str) -> None:
    answer = await shared.ask("GET", f"{shared.path('open')}/uploads/{upload}", who="alice")
    assert answer.status in {404, 405}
