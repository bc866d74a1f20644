"""A repository is searched and asked; answers come with a signature that holds, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest

import odf_client
from odf_client import Answer, Cache, Repository
from odf_client.answers import read_answer
from odf_client.repository import _on_same_server
from opendatafabric.errors import HashMismatch, InvalidQuery, InvalidSignature, MalformedInput, UnsupportedOperation
from tests.odf_client.conftest import Cities, add_listed
from tests.source_tree import ROOT

EXAMPLES = ROOT / "examples" / "datasets"
MANY_TYPES = """
    select 1 as n, 2.5 as x, 'a' as t, true as b, null::int as nothing, timestamp '2024-01-02T03:04:05.678' as at,
        date '2024-01-02' as d, x'00ff' as bytes, cast(1.25 as decimal(10, 2)) as money, [1, 2] as numbers
"""


@pytest.fixture
def repository(multi: Cities, cache: Cache) -> Repository:
    return Repository(multi.server.url, cache=cache)


@pytest.mark.slow
def test_what_is_there_is_listed_page_by_page(own: Cities, cache: Cache) -> None:
    names = [f"cities-{number}" for number in range(21)]
    for name in names:
        own.beside.run(add_listed(own, name=name, past={}))
    repository = Repository(own.server.url, cache=cache, token=own.server.tokens["alice"])
    listed = list(repository.datasets("alice"))
    assert {found.name for found in listed} == {"alice/cities", *(f"alice/{name}" for name in names)}
    assert {found.name for found in repository.datasets()} == {found.name for found in listed}


def test_a_search_finds_what_holds_the_words(repository: Repository) -> None:
    (found,) = repository.search("cities")
    assert (found.name, found.kind, found.records) == ("alice/cities", "root", 6)
    assert list(repository.search("nothing")) == []


def test_a_folder_is_listed_and_not_searched() -> None:
    repository = Repository(EXAMPLES)
    assert "us.faa.airports" in {found.name for found in repository.datasets()}
    for ask in (repository.search, repository.query, lambda _: repository.verify(b"")):
        with pytest.raises(UnsupportedOperation, match="no server"):
            ask("cities")


def test_an_answer_is_arrow_with_the_blocks_it_was_computed_at(repository: Repository) -> None:
    answer = repository.query('select city, population from "alice/cities" order by "offset"')
    assert answer.table.schema == pa.schema([("city", pa.string()), ("population", pa.int64())])
    assert answer.table["city"].to_pylist() == ["kyiv", "lviv", "kyiv", "kyiv", "odesa", "lviv"]
    assert answer.datasets == {"alice/cities": repository.open("alice/cities").head}
    assert answer.signer.startswith("did:key:")
    assert len(answer.to_pandas()) == 6


@pytest.mark.slow
def test_moments_and_states_may_be_asked_for(repository: Repository) -> None:
    query = 'select count(*) as n from "alice/cities"'
    assert repository.query(query, projected=True).table["n"].to_pylist() == [2]
    assert repository.query(query, as_at="2024-01-02T00:00:00Z").table["n"].to_pylist() == [2]
    assert repository.query('select city from "alice/cities"', limit=1).table.num_rows == 1


def test_values_keep_their_types(repository: Repository) -> None:
    (row,) = repository.query(MANY_TYPES).table.to_pylist()
    assert (row["n"], row["x"], row["t"], row["b"], row["nothing"]) == (1, 2.5, "a", True, None)
    assert (row["at"].isoformat(), row["d"].isoformat()) == ("2024-01-02T03:04:05.678000", "2024-01-02")
    assert (row["bytes"], str(row["money"]), row["numbers"]) == (b"\x00\xff", "1.25", [1, 2])


def test_an_answer_may_have_no_rows(repository: Repository) -> None:
    table = repository.query('select city from "alice/cities" where false').table
    assert (table.num_rows, table.column_names) == (0, ["city"])


def test_what_the_server_refuses_is_told(repository: Repository) -> None:
    with pytest.raises(InvalidQuery):
        repository.query("selec 1")


def test_an_answer_is_checked_again_later(repository: Repository) -> None:
    answer = repository.query('select count(*) as n from "alice/cities"')
    assert repository.verify(answer) == repository.verify(answer.raw) == answer.signer


@pytest.mark.parametrize("part", ["output", "input"])
def test_an_answer_that_was_changed_is_refused(repository: Repository, part: str) -> None:
    told = orjson.loads(repository.query("select 1 as n").raw)
    told[part]["dataFormat"] = "JsonAoS"
    with pytest.raises(HashMismatch):
        read_answer(orjson.dumps(told))


def test_an_answer_of_another_server_is_refused(repository: Repository, tmp_path: Path) -> None:
    told = orjson.loads(repository.query("select 1 as n").raw)
    told["proof"]["verificationMethod"] = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
    with pytest.raises(InvalidSignature):
        repository.verify(Answer(pa.table({}), "", {}, orjson.dumps(told)))


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]"])
def test_what_is_no_answer_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedInput):
        read_answer(raw)


@pytest.mark.parametrize("path", ["//evil.example/", "https://evil.example/", "x", 7, None])
def test_a_list_goes_on_at_the_same_server_alone(path: Any) -> None:
    with pytest.raises(MalformedInput, match="elsewhere"):
        _on_same_server(path)


def test_what_is_exported_is_there() -> None:
    assert all(hasattr(odf_client, name) for name in odf_client.__all__)
