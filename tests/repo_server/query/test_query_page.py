"""The page to ask in SQL, without a script."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from yarl import URL

from catalog.visibility import Visibility
from repo_server.config import Tenancy
from tests.pipeline.reading.histories import A
from tests.repo_server.hosted import Answer, Hosted, hosted
from tests.repo_server.query.cities import add_cities

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    folder = tmp_path_factory.mktemp("asked")
    async with hosted(folder, Tenancy.MULTI) as server:
        await add_cities(server, folder, past={2: [(A, 1, "<b>kyiv</b>", 3), (A, 1, "l" * 500, 2)]})
        await add_cities(server, folder, name="towns")
        await add_cities(server, folder, name="secret", visibility=Visibility.PRIVATE)
        await until_listed(server, "towns", "secret", "cities")
        yield server


async def until_listed(server: Hosted, *names: str) -> None:
    async with asyncio.timeout(60):
        for name in names:
            while (await server.ask("GET", server.path(name), who="alice")).status != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def page(server: Hosted, who: str | None = None, **parameters: str) -> Answer:
    path = str(URL("/query").with_query(parameters))
    return await server.ask("GET", path, who=who, headers=BROWSER)


async def test_a_browser_is_given_a_form(asked: Hosted) -> None:
    answer = await page(asked)
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert '<textarea id="query" name="query"' in answer.text
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


async def test_the_columns_of_a_dataset_help_to_ask(asked: Hosted) -> None:
    text = (await page(asked, dataset="alice/cities")).text
    assert "Columns of alice/cities" in text
    assert text.index("Columns of alice/cities") < text.index("Columns of alice/towns")
    assert "SELECT * FROM &#34;alice/cities&#34; LIMIT 10" in text
    assert 'data-insert="population"' in text


async def test_rows_are_shown_escaped_and_cut(asked: Hosted) -> None:
    answer = await page(asked, query='select city, population from "alice/cities" order by 2 desc')
    assert answer.status == 200
    assert '<td>&lt;b&gt;kyiv&lt;/b&gt;</td><td class="number">3</td>' in answer.text
    assert "l" * 300 + "…" in answer.text
    assert "l" * 301 not in answer.text
    assert "Computed at alice/cities" in answer.text


async def test_what_is_wrong_stands_above_the_query(asked: Hosted) -> None:
    answer = await page(asked, query="select city from nothere")
    assert answer.status == 400
    assert 'role="alert"' in answer.text
    assert "select city from nothere</textarea>" in answer.text
    assert (await page(asked, query="select 1", limit="many")).status == 400


async def test_every_dataset_that_may_be_read_is_offered_and_no_other(asked: Hosted) -> None:
    assert "alice/secret" not in (await page(asked)).text
    for_alice = (await page(asked, "alice")).text
    for name in ("cities", "towns", "secret"):
        assert f'href="/query?dataset=alice/{name}"' in for_alice


async def test_the_place_of_a_mistake_is_shown(asked: Hosted) -> None:
    text = (await page(asked, query="select 1\nfrom nothere where x")).text
    assert 'data-line="2" data-column="6"' in text
    assert "<code>from nothere where x\n     ^</code>" in text


async def test_what_was_known_at_another_time_is_asked(asked: Hosted) -> None:
    query = 'select count(*) as n from "alice/cities"'
    assert '<td class="number">0</td>' in (await page(asked, query=query, asAt="2000-01-01T00:00:00Z")).text
    wrong = await page(asked, query=query, asAt="yesterday")
    assert (wrong.status, 'role="alert"' in wrong.text) == (400, True)


def proof_in(text: str) -> str:
    found = re.search(r'name="check" value="([^"]+)"', text)
    assert found is not None
    return html.unescape(found[1])


async def test_an_answer_has_a_proof_that_is_checked_by_a_link(asked: Hosted) -> None:
    proof = proof_in((await page(asked, query='select city from "alice/towns" order by 1')).text)
    checked = await page(asked, check=proof)
    assert checked.status == 200
    assert "The proof holds" in checked.text
    assert "alice/towns" in checked.text


async def test_a_proof_that_was_changed_does_not_hold(asked: Hosted) -> None:
    proof = proof_in((await page(asked, query='select city from "alice/towns" order by 1')).text)
    checked = await page(asked, check=proof.replace("order by 1", "order by 1 desc"))
    assert (checked.status, "The proof does not hold" in checked.text) == (200, True)
    assert (await page(asked, check="nonsense")).status == 400


async def test_a_proof_over_a_private_dataset_is_checked_for_its_readers_alone(asked: Hosted) -> None:
    proof = proof_in((await page(asked, "alice", query='select city from "alice/secret"')).text)
    assert "The proof holds" in (await page(asked, "alice", check=proof)).text
    assert "The proof holds" not in (await page(asked, check=proof)).text


async def test_private_datasets_are_not_on_the_page_of_others(asked: Hosted) -> None:
    answers = [await page(asked, dataset=f"alice/{name}") for name in ("secret", "absent")]
    assert [answer.status for answer in answers] == [400, 400]
    assert answers[0].text.replace("secret", "") == answers[1].text.replace("absent", "")
    assert (await page(asked, "alice", dataset="alice/secret")).status == 200


@pytest.mark.parametrize(
    ("word", "start"),
    [("csv", b"n\n1\n"), ("json", b'{"output":{"data":[{"n":1}]'), ("parquet", b"PAR1"), ("ndjson", b'{"n":1}')],
)
async def test_a_form_takes_the_rows_away_as_a_file(asked: Hosted, word: str, start: bytes) -> None:
    answer = await page(asked, **{"query": "select 1 as n", "limit": "100", "as": word})
    assert answer.body.startswith(start)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="answer.{word}"'


async def test_another_file_is_refused(asked: Hosted) -> None:
    assert (await page(asked, **{"query": "select 1 as n", "as": "exe"})).status == 400
