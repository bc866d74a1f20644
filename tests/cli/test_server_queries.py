"""``odf sql`` asks a server, keeps what it signed, and checks it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import orjson
import pyarrow.parquet as pq
import pytest

from opendatafabric.attestation.keys import SigningKey
from opendatafabric.canonical_json import canonical_json
from opendatafabric.errors import HashMismatch, InvalidSignature, MalformedInput, PeerUnavailable
from opendatafabric.multihash import physical_hash
from opendatafabric.query_proof import check_answer, commitment_to, prove
from sync.server_queries import check_at_server
from tests.cli.runner import odf
from tests.conftest import ExampleServer

COUNT = 'SELECT count(*) AS n FROM "examples/us.faa.airports"'


def signed_answer(number: int = 1) -> dict[str, object]:
    """An answer that somebody signed."""
    question, output = {"query": "select 1 as n"}, {"data": [{"n": number}], "dataFormat": "JsonAoS"}
    commitment = commitment_to(question, physical_hash(canonical_json(output)))
    proof = prove(commitment, SigningKey(b"\x01" * 32))
    parts = {"commitment": commitment.as_plain(), "proof": proof.as_plain()}
    return {"input": question, "output": output, "subQueries": [], **parts}


def test_an_answer_that_holds_tells_who_signed_it() -> None:
    assert check_answer(orjson.dumps(signed_answer())) == SigningKey(b"\x01" * 32).public.did


@pytest.mark.parametrize("part", ["input", "output", "subQueries"])
def test_an_answer_that_was_changed_is_found(part: str) -> None:
    changed = {**signed_answer(), part: {"query": "select 2"} if part != "subQueries" else [1]}
    with pytest.raises(HashMismatch, match=part):
        check_answer(orjson.dumps(changed))


def test_an_answer_that_was_signed_by_another_key_is_found() -> None:
    other = signed_answer(2)["proof"]
    with pytest.raises(InvalidSignature):
        check_answer(orjson.dumps({**signed_answer(), "proof": other}))


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b'{"commitment": 1}'])
def test_what_is_no_answer_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedInput):
        check_answer(raw)


class _Answers(BaseHTTPRequestHandler):
    body: ClassVar[bytes] = b'{"keys": []}'

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server_without_keys() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_key_that_the_server_does_not_publish_is_refused(server_without_keys: str) -> None:
    with pytest.raises(InvalidSignature, match="none of this server"):
        asyncio.run(check_at_server(server_without_keys, orjson.dumps(signed_answer()), "did:key:z6Mk", {}))


def test_a_server_that_does_not_answer_is_told() -> None:
    with pytest.raises(PeerUnavailable):
        asyncio.run(check_at_server("http://127.0.0.1:1", orjson.dumps(signed_answer()), "did:key:z6Mk", {}))


@pytest.mark.slow
def test_a_server_answers_a_query(example_server: ExampleServer, tmp_path: Path) -> None:
    url = example_server.address
    assert odf("sql", "--repo", url, COUNT, "--json").json() == [{"n": 884}]
    assert odf("sql", "--repo", url, COUNT, "--state", "-f", "csv").lines == ["n", "500"]
    assert odf("sql", "--repo", url, COUNT, "--as-of", "2020-01-01T00:00:00Z", "--json").json() == [{"n": 0}]
    query = 'SELECT iata, latitude FROM "examples/us.faa.airports"'
    ran = odf("sql", "--repo", url, query, "--limit", 7, "--output", tmp_path / "x.parquet")
    assert (ran.code, pq.read_table(tmp_path / "x.parquet").num_rows) == (0, 7)


@pytest.mark.slow
def test_what_a_server_refuses_is_told_in_its_words(example_server: ExampleServer, tmp_path: Path) -> None:
    ran = odf("sql", "--repo", example_server.address, "selec 1", "--output", tmp_path / "x.csv")
    assert ran.code == 3
    assert "no SQL" in ran.stderr
    assert list(tmp_path.iterdir()) == []
    assert "no dataset" in odf("sql", "--repo", example_server.address, "SELECT * FROM nothere").stderr


@pytest.mark.slow
def test_a_signed_answer_is_kept_and_checked(example_server: ExampleServer, tmp_path: Path) -> None:
    url, file = example_server.address, tmp_path / "answer.json"
    assert odf("sql", "--repo", url, COUNT, "--proof", file, "--json").json() == [{"n": 884}]
    signer = orjson.loads(file.read_bytes())["proof"]["verificationMethod"]
    assert signer in odf("sql", "--check", file).lines[0]
    assert odf("sql", "--check", file, "--repo", url, "--json").json() == {"signer": signer, "askedAgain": True}
    file.write_bytes(file.read_bytes().replace(b"884", b"885"))
    assert odf("sql", "--check", file, "--repo", url).code == 3


@pytest.mark.slow
def test_a_query_may_be_computed_here_over_what_a_server_has(example_server: ExampleServer) -> None:
    assert odf("sql", "--repo", example_server.address, "--here", COUNT, "--json").json() == [{"n": 884}]


def test_blocks_and_proofs_have_their_place(tmp_path: Path) -> None:
    at_block = odf("sql", "--repo", "http://127.0.0.1:1", COUNT, "--at-block", "f1620" + "0" * 64)
    assert "--here" in at_block.stderr
    proof = odf("sql", "--repo", tmp_path, COUNT, "--proof", tmp_path / "x.json")
    assert "signed by servers" in proof.stderr
