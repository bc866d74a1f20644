"""Files sent before they are ingested: as a form or piece by piece, ingested by token, gone afterwards."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from catalog.scopes import Scope
from opendatafabric.metadata.events import AddData
from repo_server.config import Tenancy
from repo_server.handlers import files
from repo_server.incoming import Incoming
from tests.pipeline.datasets import blocks_of
from tests.repo_server.hosted import Answer, Hosted, hosted
from tests.repo_server.ingested import CSV, add_root, engine_without_spark

pytestmark = pytest.mark.slow

ROUTE = "/platform/file/upload"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI, engine=engine_without_spark(tmp_path / "engine")) as running_server:
        yield running_server


async def prepared(server: Hosted, query: str = f"fileName=cities.csv&contentLength={len(CSV)}") -> dict[str, Any]:
    answer = await server.ask("POST", f"{ROUTE}/prepare?{query}", who="alice")
    assert answer.status == 200, answer.text
    told: dict[str, Any] = json.loads(answer.body)
    return told


async def token_for(server: Hosted) -> str:
    return str((await prepared(server))["uploadToken"])


async def patch(server: Hosted, token: str, data: bytes, offset: int, who: str = "alice") -> Answer:
    return await server.ask("PATCH", f"{ROUTE}/{token}", who=who, data=data, headers={"Upload-Offset": str(offset)})


async def uploaded(server: Hosted) -> str:
    token = await token_for(server)
    assert (await patch(server, token, CSV, 0)).status == 200
    return token


async def ingest(server: Hosted, token: str, name: str = "cities", who: str = "alice", more: str = "") -> Answer:
    return await server.ask("POST", f"{server.path(name)}/ingest?uploadToken={token}{more}", who=who)


def form(data: bytes = CSV, name: str = "file") -> aiohttp.FormData:
    filled = aiohttp.FormData()
    filled.add_field(name, data, filename="cities.csv", content_type="text/csv")
    return filled


async def post(server: Hosted, told: dict[str, Any], data: aiohttp.FormData) -> int:
    async with server.session.post(told["uploadUrl"], data=data, headers=dict(told["headers"])) as response:
        return response.status


class TestAsTheReference:
    async def test_what_is_told_is_enough_to_send_the_file_and_ingest_it(self, server: Hosted) -> None:
        dataset = await add_root(server)
        told = await prepared(server)
        assert (told["method"], told["useMultipart"], told["fields"]) == ("POST", True, [])
        assert await post(server, told, form()) == 200
        answer = await ingest(server, told["uploadToken"])
        assert json.loads(answer.body)["rows"]["appended"] == 2
        assert isinstance((await blocks_of(dataset))[-1].event, AddData)

    async def test_the_token_says_what_it_says_there(self, server: Hosted) -> None:
        told = await prepared(server, "fileName=a&contentLength=7&contentType=text/csv")
        said = json.loads(urlsafe_b64decode(told["uploadToken"]))
        assert said.pop("upload_id")
        owner = str(server.accounts["alice"].id).removeprefix("did:odf:")
        assert said == {"file_name": "a", "owner_account_id": owner, "content_length": 7, "content_type": "text/csv"}

    async def test_who_knows_the_token_may_read_the_file_back(self, server: Hosted) -> None:
        answer = await server.ask("GET", f"{ROUTE}/{await uploaded(server)}")
        assert (answer.status, answer.body) == (200, CSV)
        assert answer.headers["Content-Disposition"] == "attachment"

    @pytest.mark.parametrize("data", [CSV + b"x", CSV[:-1]], ids=["longer", "shorter"])
    async def test_a_form_with_another_length_is_400(self, server: Hosted, data: bytes) -> None:
        assert await post(server, await prepared(server), form(data)) == 400

    async def test_a_body_that_is_no_such_form_is_400(self, server: Hosted) -> None:
        told = await prepared(server)
        assert await post(server, told, form(name="other")) == 400
        answer = await server.ask("POST", f"{ROUTE}/{told['uploadToken']}", who="alice", data=CSV)
        assert answer.status == 400

    @pytest.mark.parametrize(
        "query",
        ["", "fileName=a", "contentLength=1", "fileName=a&contentLength=-1", f"fileName=a&contentLength={2**62}"],
    )
    async def test_what_cannot_come_is_400(self, server: Hosted, query: str) -> None:
        assert (await server.ask("POST", f"{ROUTE}/prepare?{query}", who="alice")).status == 400

    @pytest.mark.parametrize("name", ["a" * 256, "a%0Ab", "%F0%9F%98%80" * 64], ids=["long", "two lines", "wide"])
    async def test_names_that_are_none_are_400(self, server: Hosted, name: str) -> None:
        answer = await server.ask("POST", f"{ROUTE}/prepare?fileName={name}&contentLength=1", who="alice")
        assert answer.status == 400

    async def test_one_account_has_room_for_so_many_bytes_and_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "FILE_UPLOADS_MAX", 2)
        async with hosted(tmp_path, Tenancy.MULTI, account_uploads_bytes_max=10) as server:
            path = f"{ROUTE}/prepare?fileName=a&contentLength="
            asked = [("alice", 6, 200), ("alice", 5, 413), ("bob", 10, 200), ("alice", 4, 200), ("alice", 0, 413)]
            answers = [await server.ask("POST", f"{path}{size}", who=who) for who, size, _ in asked]
            assert [answer.status for answer in answers] == [status for _, _, status in asked]
            await server.ask("DELETE", f"{ROUTE}/{json.loads(answers[0].body)['uploadToken']}", who="alice")
            assert (await server.ask("POST", f"{path}6", who="alice")).status == 200

    async def test_only_who_may_write_somewhere_may_send_files(self, server: Hosted) -> None:
        path = f"{ROUTE}/prepare?fileName=a&contentLength=1"
        assert (await server.ask("POST", path)).status == 401
        assert (await server.ask("POST", path, who=await server.token("alice", Scope.DATASETS_READ))).status == 403


class TestPieceByPiece:
    async def test_a_file_goes_on_where_it_was_cut(self, server: Hosted) -> None:
        await add_root(server)
        token = await token_for(server)
        assert (await patch(server, token, CSV[:10], 0)).status == 204
        told = await server.ask("HEAD", f"{ROUTE}/{token}")
        assert (told.status, told.headers["Upload-Offset"]) == (204, "10")
        assert (await patch(server, token, CSV[10:], 10)).status == 200
        assert (await ingest(server, token)).status == 200

    async def test_another_offset_is_409_and_too_many_bytes_are_refused(self, server: Hosted) -> None:
        token = await token_for(server)
        assert (await patch(server, token, CSV, 1)).status == 409
        assert (await patch(server, token, CSV + b"x", 0)).status == 413

    async def test_one_that_was_given_up_is_gone(self, server: Hosted) -> None:
        token = await token_for(server)
        assert (await server.ask("DELETE", f"{ROUTE}/{token}", who="alice")).status == 204
        assert (await patch(server, token, CSV, 0)).status == 404

    async def test_those_of_others_are_403_and_tokens_that_were_changed_400(self, server: Hosted) -> None:
        token = await token_for(server)
        changed = urlsafe_b64encode(urlsafe_b64decode(token).replace(b"cities", b"others")).decode()
        assert (await patch(server, token, CSV, 0, who="bob")).status == 403
        for wrong in (changed, "x", "%00", urlsafe_b64encode(b"[]").decode(), "A" * 5_000):
            assert (await patch(server, wrong, CSV, 0)).status == 400
        nobodys = urlsafe_b64encode(b'{"upload_id": "0123456789abcdef"}').decode()
        assert (await patch(server, nobodys, CSV, 0)).status == 404


class TestIngested:
    async def test_it_enters_once_however_often_it_is_asked_and_is_gone(self, server: Hosted) -> None:
        dataset = await add_root(server)
        token = await uploaded(server)
        first, again = await ingest(server, token), await ingest(server, token)
        assert first.body == again.body
        assert sum(isinstance(block.event, AddData) for block in await blocks_of(dataset)) == 1
        assert (await server.ask("GET", f"{ROUTE}/{token}")).status == 404
        assert [path for path in server.settings.incoming_path.rglob("*") if path.is_file()] == []

    async def test_it_stays_until_it_enters(self, server: Hosted) -> None:
        await add_root(server)
        token = await uploaded(server)
        assert (await ingest(server, token, more="&sourceName=wrong")).status == 400
        assert (await ingest(server, token)).status == 200

    async def test_what_is_missing_incomplete_or_anothers_is_told(self, server: Hosted) -> None:
        dataset = await add_root(server)
        token = await token_for(server)
        assert (await ingest(server, token)).status == 400
        assert (await ingest(server, token, who="root")).status == 403
        await server.ask("DELETE", f"{ROUTE}/{token}", who="alice")
        assert (await ingest(server, token)).status == 404
        assert not [block for block in await blocks_of(dataset) if isinstance(block.event, AddData)]

    async def test_the_media_type_wins_over_the_name_and_may_be_unknown(self, server: Hosted) -> None:
        await add_root(server)
        query = f"fileName=cities.json&contentLength={len(CSV)}&contentType="
        for media_type, status in (("image/png", 415), ("text/csv", 200)):
            token = (await prepared(server, query + media_type))["uploadToken"]
            await patch(server, token, CSV, 0)
            assert (await ingest(server, token)).status == status


async def test_what_nobody_continues_or_ingests_is_swept(server: Hosted) -> None:
    settings = server.settings
    token = await uploaded(server)
    incoming = Incoming(settings.incoming_path, bytes_max=1, lease_s=settings.upload_lease_s)
    (settings.incoming_path / "data" / ".pending-00000000000000ff").write_bytes(b"what a crash left")
    await incoming.sweep(now=time.time())
    assert (await server.ask("HEAD", f"{ROUTE}/{token}")).status == 200
    await incoming.sweep(now=time.time() + settings.upload_lease_s + 60)
    assert [path for path in settings.incoming_path.rglob("*") if path.is_file()] == []
