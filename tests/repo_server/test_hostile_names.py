"""Names in paths are anybody's bytes: what is no name is refused, and nothing is made, read or written elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.names import AccountName, DatasetName
from repo_server.gate import Refused
from repo_server.gate import _alias_of as alias_of
from tests.repo_server.hosted import Answer, Hosted
from tests.storage.chains import ChainBuilder

pytestmark = pytest.mark.slow

HOSTILE: Final = (
    "..",
    "...",
    ".",
    "%2e%2e",
    "..%2f..%2fetc%2fpasswd",
    "..%5c..%5cwindows",
    "open%2f..%2fsecret",
    "%2fetc%2fpasswd",
    "%00",
    "open%00",
    "open%00.png",
    "open.",
    ".open",
    "-open",
    "open%20",
    "%20open",
    "open%0a",
    "open%0d%0aX-Injected:%201",
    "%e2%80%aeopen",  # right-to-left override
    "%d0%bepen",  # Cyrillic o
    "%ef%bd%8fpen",  # full-width o
    "o%cc%81pen",  # o with a combining accent
    "open%ef%bb%bf",  # byte order mark
    "%c0%ae%c0%ae",  # overlong dots
    "%ff%fe",
    "%ed%a0%80",  # half a surrogate pair
    "a" * 65,
    "a" * 5_000,
    "open~1",
    "C:",
    "open::$DATA",
    "{name}",
    "$(id)",
    "open';--",
    "<script>",
    "*",
    "%3f",
)
"""Parts of paths, as they are sent."""

_REFUSED: Final = {400, 404, 405}


def files_below(folder: Path) -> set[str]:
    """All that lies there, but the database and its log, where refused requests are written down."""
    return {path for path in _walk(folder) if "catalog" not in path}


def _walk(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        yield from (os.path.join(place, name) for name in (*folders, *files))


async def ask_exactly(server: Hosted, method: str, path: str) -> Answer:
    """A request whose path is sent as it stands."""
    url = URL(server.url + path, encoded=True)
    async with server.session.request(method, url, headers=server.as_("root"), data=None) as response:
        return Answer(response.status, response.headers, await response.read())


@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_a_hostile_name_is_refused_in_every_place_without_a_trace(
    server: Hosted, chain: ChainBuilder, tmp_path: Path, method: str
) -> None:
    await server.ask("GET", "/platform/file/upload/e30=")  # makes the folder for files to come
    before = files_below(tmp_path)
    hash_ = str(chain.head)
    for name in HOSTILE:
        prefix = "/alice" if server.settings.multi_tenant else ""
        places = [f"{prefix}/{name}/refs/head", f"{prefix}/{name}/data/{hash_}", f"{prefix}/{name}/push"]
        places += [f"{server.path('open')}/{folder}/{name}" for folder in ("refs", "data", "blocks", "uploads/data")]
        places += [f"/datasets/{name}", f"/system/errors/{name}", f"/static/{name}", f"/platform/file/upload/{name}"]
        if server.settings.multi_tenant:
            places += [f"/{name}/open/refs/head", f"/{name}/{name}/data/{hash_}"]
        for place in places:
            answer = await ask_exactly(server, method, place)
            assert answer.status in _REFUSED, (method, place)
            assert "X-Injected" not in answer.headers
    assert files_below(tmp_path) == before


async def test_a_name_is_the_same_in_whatever_case_and_only_that(server: Hosted, chain: ChainBuilder) -> None:
    for name, status in (("OPEN", 200), ("oPeN", 200), ("%6fpen", 200), ("op%C3%89n", 400), ("open%CC%81", 400)):
        prefix = "/ALICE" if server.settings.multi_tenant else ""
        assert (await ask_exactly(server, "GET", f"{prefix}/{name}/refs/head")).status == status, name


async def test_a_hidden_dataset_is_hidden_in_whatever_spelling(server: Hosted, chain: ChainBuilder) -> None:
    prefix = "/alice" if server.settings.multi_tenant else ""
    for name in ("SECRET", "%73ecret", "secre%74"):
        url = URL(f"{server.url}{prefix}/{name}/refs/head", encoded=True)
        async with server.session.get(url, headers=server.as_("bob")) as response:
            assert response.status == 404


@given(account=st.text(max_size=80), name=st.text(max_size=80))
def test_what_is_taken_for_a_name_cannot_leave_its_folder(account: str, name: str) -> None:
    request = make_mocked_request("GET", "/", match_info={"account": account, "name": name})
    try:
        alias = alias_of(request)
    except Refused:
        return
    for part in (str(alias.account), str(alias.name)):
        assert part.isascii()
        assert part not in {"", ".", ".."}
        assert not set(part) & set("/\\\0\r\n %:")
        assert os.path.normpath(part) == part


@given(text=st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=100))
def test_names_of_accounts_and_datasets_have_one_spelling_in_a_path(text: str) -> None:
    for kind in (AccountName, DatasetName):
        try:
            name = kind(text)
        except MalformedIdentifier:
            continue
        assert quote(str(name), safe="") == str(name)
