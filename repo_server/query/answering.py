"""From a question to its answer: datasets found, the query run, and the parts that the reference's API gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final

import orjson

from opendatafabric.errors import DatasetNotFound, InvalidQuery, LimitExceeded, UnsupportedOperation
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.multihash import Hasher, Multihash
from opendatafabric.query_proof import commitment_to, prove
from pipeline.query.answer_form import AnswerForm, FileKind
from pipeline.query.prepare import Asked
from pipeline.query.request import QueryRequest
from pipeline.query.waiting import size_of
from repo_server.identity import Caller
from repo_server.query.datasets import ReadableDatasets
from repo_server.query.question import Dialect, Include, NamedDataset, Question
from repo_server.services import Services
from verify.attestation.node_key import node_key

_SUB_QUERIES: Final = b',"subQueries":[]'


@dataclass(frozen=True, slots=True)
class Answered:
    """The ``output`` in a file, and the datasets and blocks that it was computed from."""

    question: Question
    datasets: list[NamedDataset]
    output: BinaryIO

    @property
    def echoed(self) -> dict[str, Any]:
        """The question as it is given back."""
        return self.question.echoed(self.datasets)


@asynccontextmanager
async def answered(
    services: Services, caller: Caller, question: Question, kind: FileKind | None = None
) -> AsyncIterator[Answered]:
    """The answer inside: canonical JSON, or a file of that ``kind``. Who is cancelled ends the query.

    Raises:
        InvalidQuery: it is no query, does not hold, or reads what is not there or not for this caller.
        DatasetNotFound, BlockNotFound: one of its ``datasets``.
        LimitExceeded, EngineUnavailable, MalformedData and others: as ``prepare_query`` and ``QueryProcess.wait``.
    """
    _check(question, services)
    datasets = ReadableDatasets(services, caller)
    asked = Asked((), question.as_at, question.wanted, await datasets.take(question))
    try:
        async with services.queries.prepared(question.query, datasets.find, asked) as request:
            used = await datasets.used(request)
            async with services.queries.answered(_in_form(request, question, kind)) as output:
                yield Answered(question, used, output)
    except DatasetNotFound as error:  # a name in the text is part of what has to hold
        raise InvalidQuery(error.message, hint=error.hint) from None


async def answer_parts(services: Services, answer: Answered) -> tuple[bytes, bytes]:
    """What stands before and after the output in the JSON of an answer: the input, the commitment and the proof.

    Raises:
        UnsupportedOperation: a proof is asked for, and this server has no key.
    """
    includes, echoed = answer.question.includes, answer.echoed
    head = b'{"output":'
    if Include.INPUT in includes:
        head = b'{"input":' + orjson.dumps(echoed) + b',"output":'
    if Include.PROOF not in includes:
        return head, b"}"
    commitment = commitment_to(echoed, await output_hash(answer.output))
    proof = prove(commitment, await node_key(signing_key_path(services), services.catalog.attestation_keys))
    parts = orjson.dumps({"commitment": commitment.as_plain(), "proof": proof.as_plain()})
    return head, _SUB_QUERIES + b"," + parts[1:]


def signing_key_path(services: Services) -> Any:
    """Where the key lies; ``UnsupportedOperation`` where there is none."""
    path = services.settings.attestation_key_path
    if path is None:
        raise UnsupportedOperation("this server has no key to sign answers with", hint="set ODF_ATTESTATION_KEY_FILE")
    return path


async def output_hash(output: BinaryIO) -> Multihash:
    """The hash of the canonical output, which is left at its start."""
    return await asyncio.to_thread(_hash, output)


async def pieces_of_answer(head: bytes, output: BinaryIO, end: bytes) -> AsyncIterator[bytes]:
    """The whole body piece by piece."""
    yield head
    while piece := await asyncio.to_thread(output.read, READ_CHUNK_BYTES):
        yield piece
    yield end


def length_of_answer(head: bytes, output: BinaryIO, end: bytes) -> int:
    """How long it is."""
    return len(head) + size_of(output) + len(end)


def _hash(output: BinaryIO) -> Multihash:
    hasher = Hasher()
    while piece := output.read(READ_CHUNK_BYTES):
        hasher.update(piece)
    output.seek(0)
    return hasher.finish()


def _in_form(request: QueryRequest, question: Question, kind: FileKind | None) -> QueryRequest:
    form = AnswerForm(kind or question.shape, None if kind else question.schema_wanted, canonical=kind is None)
    return replace(request, form=form, skip=question.skip, limits=replace(request.limits, rows=question.limit))


def _check(question: Question, services: Services) -> None:
    if question.dialect is not Dialect.DATAFUSION:
        raise InvalidQuery(f"queries in {question.dialect.value} are not run here", expected=Dialect.DATAFUSION.value)
    most = services.settings.query_rows_max
    if question.limit > most:
        raise LimitExceeded("the limit is beyond what may be asked for", expected=most, found=question.limit)
    if Include.PROOF in question.include:
        signing_key_path(services)
