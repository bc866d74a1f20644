"""``/query`` and ``/verify`` on a running server, in the shapes of the reference."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytest_asyncio

from catalog.visibility import Visibility
from opendatafabric.attestation.keys import SigningKey
from opendatafabric.canonical_json import canonical_json, read_json_tokens
from opendatafabric.errors import UnsupportedOperation
from opendatafabric.multihash import physical_hash
from opendatafabric.query_proof import Commitment, check_signature, hash_json, prove, read_commitment, read_proof
from repo_server.config import Tenancy
from repo_server.query.answering import signing_key_path
from repo_server.services import Services
from storage.dataset import Dataset
from tests.pipeline.datasets import blocks_of
from tests.pipeline.reading.histories import A, source
from tests.repo_server.hosted import Answer, Hosted, hosted
from tests.repo_server.query.cities import add_cities, number_of, plain
from tests.storage.chains import dataset_id

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
CITIES = 'select city, population from "alice/cities" order by "offset"'
EVERY = [
    ["kyiv", 3],
    ["lviv", 2],
    ["kyiv", 3],
    ["kyiv", 4],
    ["odesa", 5],
    ["lviv", 2],
]
IDENTITY = str(dataset_id(number_of("cities")))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    folder = tmp_path_factory.mktemp("asked")
    async with hosted(folder, Tenancy.MULTI, query_rows_max=1_000) as server:
        await add_cities(server, folder, source())
        await add_cities(server, folder, name="secret", visibility=Visibility.PRIVATE)
        yield server


async def dataset_of(server: Hosted, name: str = "cities") -> Dataset:
    return (await server.repository.find(server.alias(name))).dataset


async def ask(server: Hosted, *, who: str | None = None, accept: str = "*/*", **question: Any) -> Answer:
    headers = {"Content-Type": "application/json", "Accept": accept, "X-Request-Id": "a-number"}
    return await server.ask("POST", "/query", who=who, data=orjson.dumps(question), headers=headers)


async def check(server: Hosted, proof: dict[str, Any], who: str | None = None) -> Answer:
    headers = {"Content-Type": "application/json"}
    return await server.ask("POST", "/verify", who=who, data=orjson.dumps(proof), headers=headers)


async def test_an_answer_is_the_output_alone_unless_more_is_asked_for(asked: Hosted) -> None:
    found = plain(await ask(asked, query=CITIES, dataFormat="JsonAoA"))
    assert found == {"output": {"data": EVERY, "dataFormat": "JsonAoA"}}


async def test_keys_of_rows_are_sorted(asked: Hosted) -> None:
    answer = await ask(asked, query="select 1 as b, 2.5 as a")
    assert answer.text == '{"output":{"data":[{"a":2.5,"b":1}],"dataFormat":"JsonAoS"}}'


@pytest.mark.parametrize(("skip", "limit"), [(0, 2), (4, 100), (3, 0), (9, 1)])
async def test_rows_are_skipped_and_limited(asked: Hosted, skip: int, limit: int) -> None:
    found = plain(await ask(asked, query=CITIES, dataFormat="JsonAoA", skip=skip, limit=limit))
    assert found["output"]["data"] == EVERY[skip : skip + limit]


async def test_the_input_names_the_blocks_that_the_answer_was_computed_at(asked: Hosted) -> None:
    head = (await asked.ask("GET", asked.path("cities") + "/refs/head")).text
    answer = await ask(asked, query=CITIES, include=["Input"])
    dataset = {"id": IDENTITY, "alias": "alice/cities", "blockHash": head}
    assert plain(answer)["input"]["datasets"] == [dataset]
    assert plain(answer)["input"]["include"] == ["Input"]
    assert orjson.loads(answer.headers["ODF-Datasets"]) == [dataset]


async def test_datasets_are_read_by_id_too(asked: Hosted) -> None:
    found = plain(await ask(asked, query=f'select count(*) as n from "{IDENTITY}"'))
    assert found["output"]["data"] == [{"n": 6}]


async def test_a_dataset_is_read_under_the_alias_and_up_to_the_block_that_are_given(asked: Hosted) -> None:
    block = str((await blocks_of(await dataset_of(asked)))[3].hash)
    given = {"id": IDENTITY, "alias": "mine", "blockHash": block}
    found = plain(await ask(asked, query="select count(*) as n from mine", datasets=[given], include=["Input"]))
    assert found["output"]["data"] == [{"n": 2}]
    assert found["input"]["datasets"] == [given]


@pytest.mark.parametrize(
    ("moment", "rows"),
    [
        ({}, 6),
        ({"asAt": "2024-01-02T00:00:00Z"}, 2),
        ({"state": True}, 2),
        ({"state": True, "asAt": "2024-01-03T00:00:00Z"}, 3),
        ({"asOf": "2024-01-02T00:00:00Z"}, 0),
    ],
)
async def test_datasets_are_read_at_the_moment_that_is_asked_for(
    asked: Hosted, moment: dict[str, Any], rows: int
) -> None:
    found = plain(await ask(asked, query=CITIES, include=["input"], **moment))
    assert len(found["output"]["data"]) == rows
    assert {name: found["input"][name] for name in moment} == moment


async def test_the_function_of_the_reference_gives_states(asked: Hosted) -> None:
    found = plain(await ask(asked, query="select city from to_table('alice/cities') order by 1", dataFormat="JsonAoA"))
    assert found["output"]["data"] == [["kyiv"], ["odesa"]]


async def test_an_address_may_ask(asked: Hosted) -> None:
    found = plain(await asked.ask("GET", "/query?query=select%201%20as%20n&format=json-aoa&include=SCHEMA"))
    assert found["output"]["data"] == [[1]]
    assert found["output"]["schemaFormat"] == "ArrowJson"
    assert (await asked.ask("GET", "/query?query=select%201&foo=1")).status == 400


async def test_answers_are_files_for_those_who_accept_them(asked: Hosted) -> None:
    csv = await ask(asked, query=CITIES, accept="text/csv")
    assert csv.text.splitlines()[:2] == ["city,population", "kyiv,3"]
    assert csv.headers["Content-Type"] == "text/csv; charset=utf-8"
    arrow = await ask(asked, query=CITIES, accept="application/vnd.apache.arrow.stream")
    assert pa.ipc.open_stream(arrow.body).read_all().num_rows == 6
    parquet = await ask(asked, query=CITIES, accept="application/vnd.apache.parquet", limit=4)
    assert pq.read_table(io.BytesIO(parquet.body)).num_rows == 4


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ({"query": "selec 1"}, 400),
        ({"query": "select * from nothere"}, 400),
        ({"query": 'select * from "alice/secret"'}, 400),
        ({"query": "select * from a.b"}, 400),
        ({"query": "select 1", "queryDialect": "SqlSpark"}, 400),
        ({"query": "select 1", "limit": 1_001}, 413),
        ({"query": "select 1", "foo": 1}, 422),
        ({}, 422),
        ({"query": "select 1", "datasets": [{"id": str(dataset_id(7)), "alias": "x"}]}, 404),
        ({"query": "select 1", "datasets": [{"id": str(dataset_id(number_of("secret"))), "alias": "x"}]}, 404),
        (
            {"query": "select 1", "datasets": [{"id": IDENTITY, "alias": "x", "blockHash": str(physical_hash(b""))}]},
            404,
        ),
    ],
)
async def test_what_cannot_be_answered_is_refused(asked: Hosted, question: dict[str, Any], status: int) -> None:
    assert (await ask(asked, **question)).status == status


async def test_a_body_that_is_no_json_is_refused(asked: Hosted) -> None:
    assert (await asked.ask("POST", "/query", data=b"{", headers={"Content-Type": "application/json"})).status == 400
    assert (await asked.ask("POST", "/query", data=b"{}", headers={"Content-Type": "text/plain"})).status == 415


async def test_a_private_dataset_is_not_told_from_one_that_is_not_there(asked: Hosted) -> None:
    answers = [await ask(asked, query=f'select * from "alice/{name}"') for name in ("secret", "absent")]
    (private, absent) = [answer.text.replace("secret", "absent") for answer in answers]
    assert private == absent
    assert "information_schema" not in private
    ids = [dataset_id(number_of("secret")), dataset_id(7)]
    by_id = [await ask(asked, query="select 1", datasets=[{"id": str(each), "alias": "x"}]) for each in ids]
    assert by_id[0].text.replace(str(ids[0]), "") == by_id[1].text.replace(str(ids[1]), "")


async def test_who_may_read_a_private_dataset_may_ask_it(asked: Hosted) -> None:
    query = 'select count(*) as n from "alice/secret"'
    assert plain(await ask(asked, query=query, who="alice"))["output"]["data"] == [{"n": 6}]
    assert (await ask(asked, query=query, who="bob")).status == 400


async def proved(server: Hosted, **question: Any) -> dict[str, Any]:
    answer: dict[str, Any] = plain(await ask(server, **{"query": CITIES, "include": ["Proof"], **question}))
    return answer


async def test_a_proof_is_over_what_stands_in_the_answer(asked: Hosted) -> None:
    text = (await ask(asked, query=CITIES, include=["Proof"], schemaFormat="OdfJson")).text
    answer = read_json_tokens(text)
    commitment = read_commitment(answer["commitment"])
    assert list(answer) == ["input", "output", "subQueries", "commitment", "proof"]
    assert physical_hash(canonical_json(answer["input"])) == commitment.input_hash
    assert physical_hash(canonical_json(answer["output"])) == commitment.output_hash
    assert answer["subQueries"] == []
    assert answer["input"]["include"] == ["Input", "Proof", "Schema"]
    published = await asked.ask("GET", "/.well-known/odf-attestation-keys")
    assert check_signature(commitment, read_proof(answer["proof"])).did in published.text


@pytest.mark.parametrize("more", [{}, {"schemaFormat": "Parquet"}, {"state": True, "dataFormat": "JsonSoA", "skip": 1}])
async def test_a_proof_that_holds_is_confirmed(asked: Hosted, more: dict[str, Any]) -> None:
    answer = await proved(asked, **more)
    del answer["output"]
    assert plain(await check(asked, answer)) == {"ok": True}


async def test_a_proof_holds_after_the_dataset_went_on(asked: Hosted, tmp_path: Path) -> None:
    dataset = await add_cities(asked, tmp_path, name="growing", past={2: [(A, 1, "kyiv", 3)]})
    answer = await proved(asked, query='select count(*) from "alice/growing"')
    del answer["output"]
    from tests.pipeline.reading.histories import add  # noqa: PLC0415

    await add(dataset, tmp_path, [(A, 1, "lviv", 2)], on=3)
    assert plain(await check(asked, answer)) == {"ok": True}


def signed(proof: dict[str, Any], **hashes: Any) -> dict[str, Any]:
    """The proof, with other hashes, signed by somebody."""
    key, old = SigningKey(b"\x01" * 32), read_commitment(proof["commitment"])
    made = Commitment(
        hashes.get("input_hash", old.input_hash), hashes.get("output_hash", old.output_hash), old.sub_queries_hash
    )
    return {**proof, "commitment": made.as_plain(), "proof": prove(made, key).as_plain()}


async def faulty(server: Hosted, proof: dict[str, Any]) -> dict[str, Any]:
    answer = await check(server, proof)
    assert answer.status == 400
    told = orjson.loads(answer.body)
    assert told["ok"] is False
    found: dict[str, Any] = told["error"]
    return found


async def test_every_fault_of_a_proof_is_told_by_its_kind(asked: Hosted) -> None:
    proof = await proved(asked)
    del proof["output"]
    changed = {**proof["input"], "limit": 7}
    assert (await faulty(asked, {**proof, "input": changed}))["kind"] == "InvalidRequest::InputHash"
    assert (await faulty(asked, {**proof, "subQueries": [1]}))["kind"] == "InvalidRequest::SubQueriesHash"
    other = {**proof["proof"], "proofValue": "uAAAA"}
    assert (await faulty(asked, {**proof, "proof": other}))["kind"] == "InvalidRequest::BadSignature"
    wrong = physical_hash(b"wrong")
    assert await faulty(asked, signed(proof, output_hash=wrong)) == {
        "kind": "VerificationFailed::OutputMismatch",
        "message": "the question is answered otherwise now",
        "expected_hash": str(wrong),
        "actual_hash": proof["commitment"]["outputHash"],
    }


async def test_datasets_and_blocks_that_are_not_here_are_told(asked: Hosted) -> None:
    proof = await proved(asked)
    del proof["output"]
    (dataset,) = proof["input"]["datasets"]
    absent, block = str(dataset_id(7)), str(physical_hash(b"absent"))
    without = {**proof["input"], "datasets": [{**dataset, "id": absent}]}
    told = await faulty(asked, signed({**proof, "input": without}, input_hash=hash_json(without)))
    assert (told["kind"], told["dataset_id"]) == ("VerificationFailed::DatasetNotFound", absent)
    cut = {**proof["input"], "datasets": [{**dataset, "blockHash": block}]}
    told = await faulty(asked, signed({**proof, "input": cut}, input_hash=hash_json(cut)))
    assert (told["kind"], told["dataset_id"], told["block_hash"]) == (
        "VerificationFailed::DatasetBlockNotFound",
        IDENTITY,
        block,
    )


@pytest.mark.parametrize("part", ["output", "more"])
async def test_parts_that_have_no_place_in_a_proof_are_refused(asked: Hosted, part: str) -> None:
    proof = await proved(asked)
    del proof["output"]
    assert (await check(asked, {**proof, part: {}})).status == 422
    del proof["commitment"]
    assert (await check(asked, proof)).status == 422


async def test_the_verification_of_a_dataset_is_another_route(asked: Hosted) -> None:
    assert (await asked.ask("POST", asked.path("cities") + "/verify")).status == 403
    assert (await asked.ask("GET", asked.path("cities") + "/verify")).status == 404


async def test_a_server_without_a_key_proves_nothing(asked: Hosted) -> None:
    settings = asked.settings.model_copy(
        update={"repo": object(), "catalog_url": "postgresql://x", "attestation_key_file": None}
    )
    services = Services.__new__(Services)
    services.settings = settings
    with pytest.raises(UnsupportedOperation, match="no key"):
        signing_key_path(services)
