"""A dataset and its blocks over HTTP: as JSON and as pages, for those alone who may read it."""

from __future__ import annotations

import re

import orjson
import pytest

from catalog.visibility import Visibility
from tests.repo_server.hosted import Hosted, a_chain
from tests.storage.chains import ChainBuilder, chain, dataset_id

pytestmark = pytest.mark.slow

INSTANCE = re.compile(r'"instance":"[^"]*",')
"""What differs between two answers to the same."""
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


async def test_a_dataset_is_told_as_json(server: Hosted, chain: ChainBuilder) -> None:
    told = orjson.loads((await server.ask("GET", server.path("open"))).body)
    assert (told["id"], told["head"], told["kind"]) == (str(chain.id), str(chain.head), "root")
    assert (told["blocks"], told["records"], told["description"]) == (5, 20, "for tests")
    assert told["columns"] == [{"name": "offset", "type": "Int64"}]


@pytest.mark.usefixtures("chain")
async def test_browsers_get_pages_with_all_that_protects_them(server: Hosted) -> None:
    for path in ("", "/log"):
        answer = await server.ask("GET", server.path("open") + path, headers=BROWSER)
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/html")
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert {"Accept", "Authorization", "Cookie"} <= set(answer.headers["Vary"].split(", "))
        assert "private" in answer.headers["Cache-Control"]


async def test_bytes_of_a_block_are_bytes_for_browsers_too(server: Hosted, chain: ChainBuilder) -> None:
    answer = await server.ask("GET", f"{server.path('open')}/blocks/{chain.head}", headers=BROWSER)
    assert answer.body == chain.blocks[-1].raw


@pytest.mark.parametrize("path", ["", "/log", "/log/HEAD"])
async def test_a_private_dataset_is_not_told_from_none(server: Hosted, chain: ChainBuilder, path: str) -> None:
    path = path.replace("HEAD", str(chain.head))
    for headers in ({}, BROWSER):
        hidden = await server.ask("GET", server.path("secret") + path, headers=headers)
        nothing = await server.ask("GET", server.path("nothing") + path, headers=headers)
        assert hidden.status == nothing.status == 404
        assert INSTANCE.sub("", hidden.text).replace("secret", "nothing") == INSTANCE.sub("", nothing.text)
    assert (await server.ask("GET", server.path("secret"), who="alice")).status == 200


async def test_a_block_is_read(server: Hosted, chain: ChainBuilder) -> None:
    block = chain.blocks[3]
    told = orjson.loads((await server.ask("GET", f"{server.path('open')}/log/{block.hash}")).body)
    assert (told["hash"], told["size"], told["block"]["sequenceNumber"]) == (str(block.hash), len(block.raw), 3)
    assert [each.partition("/")[0] for each in told["objects"]] == ["data"]
    page = (await server.ask("GET", f"{server.path('open')}/log/{block.hash}", headers=BROWSER)).text
    for part in (chain.blocks[2].hash, chain.blocks[4].hash, told["objects"][0], "kind: AddData"):
        assert str(part) in page


async def test_a_block_that_is_not_here_is_404_and_no_hash_400(server: Hosted, chain: ChainBuilder) -> None:
    path = f"{server.path('open')}/log"
    assert (await server.ask("GET", f"{path}/{str(chain.head)[:-4]}0000")).status == 404
    assert (await server.ask("GET", f"{path}/nonsense")).status == 400


async def test_a_block_of_a_chain_that_was_replaced_says_so(multi: Hosted) -> None:
    old = chain(["a", "b"], number=9)
    entry = await multi.add("open", old)
    new = old.fork(2)
    new.info("other")
    await entry.dataset.append(new.blocks[2:], expected_head=old.head, force=True)
    page = (await multi.ask("GET", f"{multi.path('open')}/log/{old.head}", headers=BROWSER)).text
    assert "no longer on the chain" in page
    page = (await multi.ask("GET", f"{multi.path('open')}/log/{new.head}", headers=BROWSER)).text
    assert "no longer on the chain" not in page


async def test_blocks_come_in_pages(multi: Hosted) -> None:
    await multi.add("long", chain([str(number) for number in range(119)], number=9))
    path = f"{multi.path('long')}/log"
    first = orjson.loads((await multi.ask("GET", path)).body)
    numbers = [each["sequenceNumber"] for each in first["blocks"]]
    assert (first["total"], numbers) == (120, list(range(119, 69, -1)))
    page = (await multi.ask("GET", f"{path}?before=70", headers=BROWSER)).text
    assert f'href="{path}?before=20"' in page
    assert f'href="{path}?before=120"' in page


@pytest.mark.parametrize("before", ["x", "-1", "9" * 40, "%C2%B2"])
async def test_a_number_that_is_none_is_refused(multi: Hosted, before: str) -> None:
    await multi.add("open", a_chain())
    assert (await multi.ask("GET", f"{multi.path('open')}/log?before={before}")).status == 400


async def test_hostile_texts_stay_texts(multi: Hosted) -> None:
    made = ChainBuilder(dataset_id(3))
    made.info("<script>alert(1)</script>")
    await multi.add("evil", made)
    for path in (multi.path("evil"), f"{multi.path('evil')}/log/{made.head}", "/"):
        page = (await multi.ask("GET", path, headers=BROWSER)).text
        assert "<script>alert" not in page


async def test_what_is_appended_is_seen_at_once(multi: Hosted) -> None:
    made = chain(["before"], number=9)
    entry = await multi.add("open", made)
    assert "before" in (await multi.ask("GET", multi.path("open"), headers=BROWSER)).text
    expected = made.head
    await entry.dataset.append([made.info("afterwards")], expected_head=expected)
    assert "afterwards" in (await multi.ask("GET", multi.path("open"), headers=BROWSER)).text


async def test_an_unlisted_dataset_has_a_page_for_those_who_know_its_name(multi: Hosted) -> None:
    await multi.add("quiet", a_chain(4), Visibility.UNLISTED)
    assert (await multi.ask("GET", multi.path("quiet"), headers=BROWSER)).status == 200
