"""Questions in SQL over datasets, and the check of their proofs."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final, NotRequired

import orjson
from aiohttp import web
from typing_extensions import TypedDict

from opendatafabric.errors import MalformedInput
from opendatafabric.query_limits import QUESTION_BYTES_MAX
from pipeline.query.answer_form import FileKind, JsonShape, SchemaFormat
from repo_server.accepted import accepted
from repo_server.body import read_json, read_json_text
from repo_server.gate import CALLER, Refused
from repo_server.handlers.looks import DATA_FORMAT, SCHEMA_FORMAT, Records
from repo_server.handlers.query_page import send_query_page
from repo_server.html_response import wants_html
from repo_server.openapi.described import HTML, JSON, STRING, TEXT, Answer, Body, Parameter, Tag, describes, json
from repo_server.piece_response import send_pieces
from repo_server.problems import PROBLEM, json_response, worded
from repo_server.query.answering import Answered, answer_parts, answered, length_of_answer, pieces_of_answer
from repo_server.query.checking import ProofToCheck, fault_of
from repo_server.query.file_types import FILE_TYPES
from repo_server.query.question import Dialect, Include, Question, question_from_address, question_from_body
from repo_server.services import SERVICES

_TIME: Final = {"type": "string", "format": "date-time"}
_TIMES: Final = {"asAt": "as datasets were known then", "asOf": "the state of what had happened by then"}


class NamedDatasetBody(TypedDict):
    """What the query calls by an alias, and up to which block it counts."""

    id: str
    alias: str
    blockHash: NotRequired[str]


class QuestionBody(TypedDict):
    """A question; only the query is needed."""

    query: str
    queryDialect: NotRequired[Dialect]
    dataFormat: NotRequired[JsonShape]
    include: NotRequired[list[Include]]
    schemaFormat: NotRequired[SchemaFormat]
    datasets: NotRequired[list[NamedDatasetBody]]
    skip: NotRequired[int]
    limit: NotRequired[int]
    asAt: NotRequired[str]
    asOf: NotRequired[str]
    state: NotRequired[bool]


class ProofBody(TypedDict):
    """Parts of an answer, without its output."""

    input: QuestionBody
    subQueries: list[Any]
    commitment: dict[str, str]
    proof: dict[str, str]


class QueryAnswer(TypedDict):
    """The output, and what else was asked for."""

    input: NotRequired[QuestionBody]
    output: Records
    subQueries: NotRequired[list[Any]]
    commitment: NotRequired[dict[str, str]]
    proof: NotRequired[dict[str, str]]


class Fault(TypedDict):
    """What is wrong with a proof."""

    kind: str
    message: str
    expected_hash: NotRequired[str]
    actual_hash: NotRequired[str]
    dataset_id: NotRequired[str]
    block_hash: NotRequired[str]


class Checked(TypedDict):
    """Whether a proof holds."""

    ok: bool
    error: NotRequired[Fault]


_FILES: Final = {told.partition(";")[0]: STRING for told in FILE_TYPES.values()}
_ANSWER: Final = Answer({JSON: QueryAnswer, **_FILES}, says="the answer, in the form that `Accept` says")
_ANSWER_OR_PAGE: Final = Answer({**_ANSWER.content, HTML: STRING}, says="the same, or a page for browsers")
_PROBLEM: Final = {PROBLEM: {"$ref": "#/components/schemas/Problem"}}
_FAULT: Final = Answer({JSON: Checked, **_PROBLEM}, HTTPStatus.BAD_REQUEST, "the proof does not hold, or the query")
_REFUSES: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.NOT_IMPLEMENTED)
_FILE_WORDS: Final[dict[str, FileKind | None]] = {"json": None, **{kind.value: kind for kind in FileKind}}
DATASETS_HEADER: Final = "ODF-Datasets"
_HEADER_CHARS_MAX: Final = 6_000


@describes(
    Tag.QUERY,
    _ANSWER_OR_PAGE,
    Answer({**_PROBLEM, TEXT: STRING, HTML: STRING}, HTTPStatus.BAD_REQUEST, "why the query does not hold"),
    Answer({**_PROBLEM, HTML: STRING}, HTTPStatus.SERVICE_UNAVAILABLE, "too many ask, or it took too long"),
    refuses=_REFUSES,
    parameters=(
        Parameter("query", "the SQL", required=True, value="select 1 as one"),
        Parameter("queryDialect", "what it is written in", {"enum": list(Dialect)}),
        DATA_FORMAT,
        Parameter("format", "the same as dataFormat"),
        Parameter("include", f"comma-separated: {', '.join(Include)}"),
        SCHEMA_FORMAT,
        Parameter("skip", "how many rows are left out", {"type": "integer", "minimum": 0}),
        Parameter("limit", "at most so many rows", {"type": "integer", "minimum": 0}),
        *(Parameter(name, says, _TIME) for name, says in _TIMES.items()),
        Parameter("as", "a file instead of what `Accept` says", {"enum": list(_FILE_WORDS)}),
        Parameter("state", "read states instead of changelogs", {"type": "boolean"}),
    ),
    shown=True,
)
async def get_query(request: web.Request) -> web.StreamResponse:
    """``GET /query?query=…``; a page for browsers, unless they say ``as`` which file they would have."""
    if wants_html(request) and "as" not in request.query:
        return await send_query_page(request)
    given = dict(request.query)
    wanted = given.pop("as", None)
    try:
        question = question_from_address(given)
        kind = _accepted(request) if wanted is None else _FILE_WORDS[wanted]
    except MalformedInput as error:
        raise Refused(worded(error, HTTPStatus.BAD_REQUEST)) from None
    except KeyError:
        unknown = MalformedInput("there is no such file", expected=", ".join(_FILE_WORDS), found=str(wanted)[:100])
        raise Refused(worded(unknown, HTTPStatus.BAD_REQUEST)) from None
    return await _answer(request, question, kind, file=wanted)


@describes(
    Tag.QUERY, _ANSWER, refuses=_REFUSES, body=Body({JSON: QuestionBody}, {"query": "select 1 as one"}), shown=True
)
async def post_query(request: web.Request) -> web.StreamResponse:
    """``POST /query``."""
    body = await read_json(request, request.app[SERVICES].settings, size_max=QUESTION_BYTES_MAX)
    try:
        question = question_from_body(body)
    except MalformedInput as error:
        raise Refused(worded(error, HTTPStatus.UNPROCESSABLE_ENTITY)) from None
    return await _answer(request, question, _accepted(request))


@describes(Tag.QUERY, json(Checked), _FAULT, refuses=_REFUSES, body=Body({JSON: ProofBody}))
async def post_verify(request: web.Request) -> web.StreamResponse:
    """``POST /verify``."""
    services = request.app[SERVICES]
    text = await read_json_text(request, services.settings, size_max=QUESTION_BYTES_MAX)
    try:
        proof = ProofToCheck(text)
    except MalformedInput as error:
        raise Refused(worded(error, HTTPStatus.UNPROCESSABLE_ENTITY)) from None
    fault = await fault_of(services, request[CALLER], proof)
    if fault is None:
        return json_response({"ok": True})
    return json_response({"ok": False, "error": fault}, status=HTTPStatus.BAD_REQUEST)


def _accepted(request: web.Request) -> FileKind | None:
    return accepted(request, {JSON: None} | {told.partition(";")[0]: kind for kind, told in FILE_TYPES.items()})


async def _answer(
    request: web.Request, question: Question, kind: FileKind | None, *, file: str | None = None
) -> web.StreamResponse:
    """``file`` is the suffix under which a browser keeps the answer."""
    services = request.app[SERVICES]
    async with answered(services, request[CALLER], question, kind) as answer:
        head, end = (b"", b"") if kind is not None else await answer_parts(services, answer)
        headers = {"Content-Type": JSON if kind is None else FILE_TYPES[kind]}
        if file is not None:
            headers["Content-Disposition"] = f'attachment; filename="answer.{file}"'
        return await _send(request, answer, head, end, headers)


async def _send(
    request: web.Request, answer: Answered, head: bytes, end: bytes, headers: dict[str, str]
) -> web.StreamResponse:
    headers |= {"Vary": "Accept, Authorization", "Cache-Control": "no-store"}
    datasets = orjson.dumps([each.as_plain() for each in answer.datasets]).decode()
    if len(datasets) <= _HEADER_CHARS_MAX and datasets.isascii():
        headers[DATASETS_HEADER] = datasets
    pieces = pieces_of_answer(head, answer.output, end)
    return await send_pieces(request, pieces, headers, size=length_of_answer(head, answer.output, end))
