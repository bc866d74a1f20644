"""The simple protocol over real sockets: bodies, headers and statuses of every route."""

from __future__ import annotations

import pytest

from tests.repo_server.hosted import LARGE, SMALL, Hosted, a_chain, hash_of
from tests.storage.chains import ChainBuilder

ABSENT = "f1620" + "00" * 32


@pytest.fixture
def server(shared: Hosted) -> Hosted:
    return shared


@pytest.fixture
def chain(shared_chain: ChainBuilder) -> ChainBuilder:
    return shared_chain


async def test_the_head_is_69_bytes_of_text(server: Hosted, chain: ChainBuilder) -> None:
    answer = await server.ask("GET", server.path("open") + "/refs/head")
    assert (answer.status, answer.text) == (200, str(chain.head))
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["Content-Length"] == "69"


async def test_names_are_taken_in_any_case(server: Hosted, chain: ChainBuilder) -> None:
    answer = await server.ask("GET", server.path("OPEN", "ALICE") + "/refs/head")
    assert answer.text == str(chain.head)


async def test_every_block_is_served_byte_for_byte(server: Hosted, chain: ChainBuilder) -> None:
    for block in chain.blocks:
        answer = await server.ask("GET", f"{server.path('open')}/blocks/{block.hash}")
        assert answer.body == block.raw
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["ETag"] == f'"{block.hash}"'


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
async def test_every_object_is_served_byte_for_byte(server: Hosted, chain: ChainBuilder, content: bytes) -> None:
    answer = await server.ask("GET", f"{server.path('open')}/data/{hash_of(content, chain)}")
    assert answer.body == content
    assert answer.headers["Content-Length"] == str(len(content))
    assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
async def test_asking_for_the_headers_gives_the_size_alone(server: Hosted, chain: ChainBuilder, content: bytes) -> None:
    answer = await server.ask("HEAD", f"{server.path('open')}/data/{hash_of(content, chain)}")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Length"] == str(len(content))


@pytest.mark.parametrize(
    ("asked", "status", "start", "end"),
    [
        ("bytes=0-0", 206, 0, 1),
        ("bytes=5-", 206, 5, None),
        ("bytes=-7", 206, -7, None),
        ("bytes=3-99999999", 206, 3, None),
        ("bytes=0-1,3-4", 200, 0, None),
        ("lines=0-1", 200, 0, None),
        ("bytes=4-2", 200, 0, None),
        ("bytes=", 200, 0, None),
        ("bytes=" + "9" * 5_000 + "-", 200, 0, None),
    ],
)
@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
async def test_a_range_gives_those_bytes(
    server: Hosted, chain: ChainBuilder, content: bytes, asked: str, status: int, start: int, end: int | None
) -> None:
    path = f"{server.path('open')}/data/{hash_of(content, chain)}"
    answer = await server.ask("GET", path, headers={"Range": asked})
    assert (answer.status, answer.body) == (status, content[start:end])
    if status == 206:
        first = start % len(content)
        expected = f"bytes {first}-{first + len(answer.body) - 1}/{len(content)}"
        assert answer.headers["Content-Range"] == expected


async def test_a_range_beyond_the_end_is_told_the_size(server: Hosted, chain: ChainBuilder) -> None:
    path = f"{server.path('open')}/data/{hash_of(SMALL, chain)}"
    answer = await server.ask("GET", path, headers={"Range": "bytes=1000-"})
    assert (answer.status, answer.headers["Content-Range"]) == (416, f"bytes */{len(SMALL)}")


@pytest.mark.parametrize(("condition", "status"), [("right", 206), ("wrong", 200), ("weak", 200)])
async def test_a_range_counts_only_for_the_same_bytes(
    server: Hosted, chain: ChainBuilder, condition: str, status: int
) -> None:
    name = hash_of(SMALL, chain)
    tag = {"right": f'"{name}"', "wrong": '"other"', "weak": f'W/"{name}"'}[condition]
    headers = {"Range": "bytes=0-1", "If-Range": tag}
    assert (await server.ask("GET", f"{server.path('open')}/data/{name}", headers=headers)).status == status


async def test_what_the_client_has_is_not_sent_again(server: Hosted, chain: ChainBuilder) -> None:
    name = hash_of(SMALL, chain)
    headers = {"If-None-Match": f'"x", W/"{name}"'}
    answer = await server.ask("GET", f"{server.path('open')}/data/{name}", headers=headers)
    assert (answer.status, answer.body) == (304, b"")


async def test_an_object_that_is_not_here_is_not_taken_for_unchanged(server: Hosted, chain: ChainBuilder) -> None:
    headers = {"If-None-Match": f'"{ABSENT}"'}
    answer = await server.ask("GET", f"{server.path('open')}/data/{ABSENT}", headers=headers)
    assert answer.status == 404


@pytest.mark.parametrize("folder", ["blocks", "data", "checkpoints"])
async def test_what_is_not_here_is_404_with_a_message(server: Hosted, chain: ChainBuilder, folder: str) -> None:
    answer = await server.ask("GET", f"{server.path('open')}/{folder}/{ABSENT}")
    assert answer.status == 404
    assert answer.headers["Content-Type"].startswith("application/json")
    assert '"message"' in answer.text


@pytest.mark.parametrize("folder", ["blocks", "data", "checkpoints"])
@pytest.mark.parametrize("text", ["x", "f1620", ABSENT + "00", ABSENT + "%0a", "..%2f..%2fsecret", "%00", "z"])
async def test_what_is_no_hash_is_400_as_text(server: Hosted, chain: ChainBuilder, folder: str, text: str) -> None:
    answer = await server.ask("GET", f"{server.path('open')}/{folder}/{text}")
    assert answer.status == 400
    assert answer.headers["Content-Type"].startswith("text/plain")


async def test_a_hash_in_another_base_names_the_same_object(server: Hosted, chain: ChainBuilder) -> None:
    name = str(hash_of(SMALL, chain))
    answer = await server.ask("GET", f"{server.path('open')}/data/F{name[1:].upper()}")
    assert answer.body == SMALL


async def test_another_ref_is_404_with_a_message(server: Hosted, chain: ChainBuilder) -> None:
    for ref in ("main", "..", "head%0a", "HEAD"):
        answer = await server.ask("GET", f"{server.path('open')}/refs/{ref}")
        assert answer.status == 404, ref


@pytest.mark.parametrize(
    "tail", ["/", "/refs", "/refs/", "/refs/head/", "/info/alias", "/info/config", "/blocks", "/.pending-0"]
)
async def test_other_paths_are_404_as_text(server: Hosted, chain: ChainBuilder, tail: str) -> None:
    answer = await server.ask("GET", server.path("open") + tail)
    assert (answer.status, answer.text) == (404, "Not Found")


@pytest.mark.parametrize(
    ("method", "tail", "allowed"),
    [
        ("PUT", "/refs/head", "GET,HEAD"),
        ("DELETE", "/refs/head", "GET,HEAD"),
        ("PUT", f"/blocks/{ABSENT}", "GET,HEAD"),
        ("POST", f"/data/{ABSENT}", "GET,HEAD,PUT"),
        ("DELETE", f"/checkpoints/{ABSENT}", "GET,HEAD,PUT"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(
    server: Hosted, chain: ChainBuilder, method: str, tail: str, allowed: str
) -> None:
    answer = await server.ask(method, server.path("open") + tail, who="alice")
    assert (answer.status, answer.body, answer.headers["Allow"]) == (405, b"", allowed)


@pytest.mark.parametrize("path", ["/a_b", "/a..b", "/a%2fb", "/%00", "/-x", "/did:odf:fed01"])
async def test_names_outside_the_grammar_are_400_and_empty(server: Hosted, path: str) -> None:
    prefix = "/alice" if server.settings.multi_tenant else ""
    answer = await server.ask("GET", f"{prefix}{path}/refs/head")
    assert (answer.status, answer.body) == (400, b"")


async def test_an_address_of_the_other_tenancy_is_404(server: Hosted, chain: ChainBuilder) -> None:
    path = "/open" if server.settings.multi_tenant else "/alice/open"
    assert (await server.ask("GET", path + "/refs/head")).status == 404


async def test_pages_of_other_origins_may_read(server: Hosted, chain: ChainBuilder) -> None:
    answer = await server.ask("GET", server.path("open") + "/refs/head", headers={"Origin": "https://example.org"})
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    asked = {"Origin": "https://example.org", "Access-Control-Request-Method": "GET"}
    answer = await server.ask("OPTIONS", server.path("open") + "/refs/head", headers=asked)
    assert (answer.status, answer.headers["Access-Control-Allow-Methods"]) == (200, "GET,HEAD")


async def test_a_symbolic_link_in_a_dataset_is_not_followed(server: Hosted, chain: ChainBuilder) -> None:
    entry = await server.repository.find(server.alias("open"))
    (entry.path / "data" / ABSENT).symlink_to("/etc/passwd")
    assert (await server.ask("GET", f"{server.path('open')}/data/{ABSENT}")).status == 404


async def test_a_dataset_put_on_the_disk_is_served_by_the_defaults(server: Hosted) -> None:
    chain = a_chain(3)
    entry = await server.repository.create(server.alias("found"), chain.id)
    for name, content in chain.slices.items():
        await entry.dataset.writable_objects().put(f"data/{name}", content)
    await entry.dataset.append(chain.blocks, expected_head=None)
    path = server.path("found") + "/refs/head"
    assert (await server.ask("GET", path)).status == 404
    assert (await server.ask("GET", path, who="root")).text == str(chain.head)
