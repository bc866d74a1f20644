"""Checking a proof: that its hashes and signature hold, and that the question is still answered so."""

from __future__ import annotations

from typing import Any

import orjson

from opendatafabric.canonical_json import read_json_tokens
from opendatafabric.errors import BlockNotFound, DatasetNotFound, InvalidSignature, MalformedInput
from opendatafabric.query_proof import Commitment, Proof, check_signature, hash_json, read_commitment, read_proof
from repo_server.identity import Caller
from repo_server.query.answering import answered, output_hash
from repo_server.query.question import Question, question_from_body
from repo_server.services import Services

_PARTS = ("input", "subQueries", "commitment", "proof")


class ProofToCheck:
    """What a caller sends: parts of an answer, without its output.

    Raises:
        MalformedInput: parts that are missing, unknown, or of another kind.
    """

    def __init__(self, body: bytes) -> None:
        tokens = read_json_tokens(body)
        if not isinstance(tokens, dict) or set(tokens) != set(_PARTS):
            raise MalformedInput("that is no proof to be checked", expected=", ".join(_PARTS))
        if not isinstance(tokens["input"], dict) or not isinstance(tokens["subQueries"], list):
            raise MalformedInput("input is an object, subQueries is a list")
        self.input, self.sub_queries = tokens["input"], tokens["subQueries"]
        self.commitment: Commitment = read_commitment(tokens["commitment"])
        self.proof: Proof = read_proof(tokens["proof"])
        self.question: Question = question_from_body(orjson.loads(body)["input"])


async def fault_of(services: Services, caller: Caller, proof: ProofToCheck) -> dict[str, Any] | None:
    """What is wrong with ``proof`` in the words of the reference's API, or ``None``.

    Raises:
        InvalidQuery, LimitExceeded, EngineUnavailable and others: the question cannot be answered any more.
    """
    return _fault_of_request(proof) or await _fault_of_answer(services, caller, proof)


def _fault_of_request(proof: ProofToCheck) -> dict[str, Any] | None:
    commitment = proof.commitment
    if hash_json(proof.input) != commitment.input_hash:
        return _fault("InvalidRequest::InputHash", "the input is not the one that was committed to")
    if hash_json(proof.sub_queries) != commitment.sub_queries_hash:
        return _fault("InvalidRequest::SubQueriesHash", "the sub-queries are not those that were committed to")
    try:
        check_signature(commitment, proof.proof)
    except InvalidSignature as error:
        return _fault("InvalidRequest::BadSignature", error.message)
    return None


async def _fault_of_answer(services: Services, caller: Caller, proof: ProofToCheck) -> dict[str, Any] | None:
    expected = proof.commitment.output_hash
    try:
        async with answered(services, caller, proof.question) as answer:
            found = await output_hash(answer.output)
    except DatasetNotFound as error:
        return _fault("VerificationFailed::DatasetNotFound", error.message, dataset_id=error.found)
    except BlockNotFound as error:
        told = {"dataset_id": error.expected, "block_hash": error.found}
        return _fault("VerificationFailed::DatasetBlockNotFound", error.message, **told)
    if found == expected:
        return None
    hashes = {"expected_hash": str(expected), "actual_hash": str(found)}
    return _fault("VerificationFailed::OutputMismatch", "the question is answered otherwise now", **hashes)


def _fault(kind: str, message: str, **more: str | None) -> dict[str, Any]:
    return {"kind": kind, "message": message, **more}
