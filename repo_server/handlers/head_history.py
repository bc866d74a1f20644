"""How the head of a dataset moved and may move: its reflog, the undoing of a move, and the policy."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, NotRequired

from aiohttp import web
from typing_extensions import TypedDict

from catalog.undoing import head_to_put_back
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import AccessDenied, Conflict, MalformedInput, NotFound
from opendatafabric.multihash import Multihash
from repo_server.body import read_json
from repo_server.gate import VISIT, Visit
from repo_server.head_moves import note_deed, note_move
from repo_server.moments import moment
from repo_server.openapi.described import JSON, Body, Parameter, Tag, describes, json
from repo_server.preconditions import require_match
from repo_server.problems import json_response
from repo_server.services import Services
from storage.head_policy import HeadPolicy, read_policy, write_policy
from storage.put_back import put_back


class PlainMove(TypedDict):
    """One move of the head; ``account`` is absent where nobody called."""

    at: str
    account: str | None
    expectedHead: str | None
    newHead: str | None


class PlainMoves(TypedDict):
    """The newest first."""

    moves: list[PlainMove]


class WantedHead(TypedDict):
    """The head to put back; without it the one before the last move."""

    to: NotRequired[str]


class MovedHead(TypedDict):
    """Where the head was, and where it is."""

    oldHead: str
    newHead: str


class PlainPolicy(TypedDict):
    """How the head may move."""

    appendOnly: bool
    allowForce: bool
    signedBy: str | None


class WantedPolicy(TypedDict, total=False):
    """What is left out is as if nobody had set it."""

    appendOnly: bool
    allowForce: bool
    signedBy: str | None


_MATCH: Final = Parameter("If-Match", "the head that the caller believes in, in quotes", place="header")
_MOVES_SHOWN: Final = 1_000


@describes(Tag.REPOSITORY, json(PlainMoves), shown=True)
async def get_reflog(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/reflog``."""
    found = request[VISIT]
    services = found.services
    moves = (await services.catalog.datasets.moves(found.dataset.entry.id))[:_MOVES_SHOWN]
    names = {each: await _name_of(services, each) for each in {move.account_id for move in moves}}
    told: list[PlainMove] = [
        {
            "at": moment(move.at),
            "account": names[move.account_id],
            "expectedHead": move.expected_head,
            "newHead": move.new_head,
        }
        for move in moves
    ]
    return json_response({"moves": told})


@describes(
    Tag.REPOSITORY,
    json(MovedHead),
    refuses=(
        HTTPStatus.CONFLICT,
        HTTPStatus.PRECONDITION_FAILED,
        HTTPStatus.PRECONDITION_REQUIRED,
        HTTPStatus.NOT_IMPLEMENTED,
    ),
    parameters=(_MATCH,),
    body=Body({JSON: WantedHead}, required=False),
)
async def post_undo(request: web.Request) -> web.StreamResponse:
    """``POST /{dataset}/undo``: the head is what it was before; all that it leads to is there, or nothing happens."""
    found = request[VISIT].lying_here()
    services, entry = found.services, found.dataset.entry
    wanted = await _wanted_head(request, services)
    head = await entry.dataset.head()
    require_match(request, head, needed=True)
    if head is None:
        raise Conflict("the dataset has no head")
    since = services.now() - services.settings.reflog_kept_s
    new_head = head_to_put_back(await services.catalog.datasets.moves(entry.id), head, since=since, wanted=wanted)
    await put_back(entry.dataset, expected_head=head, new_head=new_head)
    await note_move(found, entry.id, expected_head=head, new_head=new_head)
    await note_deed(request, entry.id, head, new_head)
    return json_response({"oldHead": str(head), "newHead": str(new_head)})


@describes(Tag.REPOSITORY, json(PlainPolicy), shown=True)
async def get_policy(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/policy``."""
    return json_response(plain_policy(await read_policy(request[VISIT].dataset.entry.dataset.objects)))


@describes(
    Tag.REPOSITORY,
    json(PlainPolicy),
    refuses=(HTTPStatus.NOT_IMPLEMENTED,),
    body=Body({JSON: WantedPolicy}, {"appendOnly": True}),
    shown=True,
)
async def put_policy(request: web.Request) -> web.StreamResponse:
    """``PUT /{dataset}/policy``: on the answer nobody moves the head by another any more."""
    found = request[VISIT].lying_here()
    body = await read_json(request, found.services.settings)
    objects = found.dataset.entry.dataset.writable_objects()
    policy, known = _policy_in(body, found.dataset.entry.id), await read_policy(objects)
    if known.signed_by not in (None, policy.signed_by) and not _is_admin(found):
        raise AccessDenied(
            "the key that signs hands over itself", hint="odf sign --hand-over; administrators may set another"
        )
    await write_policy(objects, policy)
    return json_response(plain_policy(policy))


def _is_admin(found: Visit) -> bool:
    return found.caller.account is not None and found.caller.account.is_admin


async def _wanted_head(request: web.Request, services: Services) -> Multihash | None:
    body = await read_json(request, services.settings) if request.can_read_body else {}
    wanted = body.get("to")
    if set(body) - {"to"} or not isinstance(wanted, str | None):
        raise MalformedInput("the body has one field, to", expected='{"to": "f1620…"}')
    return None if wanted is None else Multihash.from_text(wanted)


def plain_policy(policy: HeadPolicy) -> PlainPolicy:
    """As plain values."""
    key = None if policy.signed_by is None else policy.signed_by.did_key
    return {"appendOnly": policy.append_only, "allowForce": policy.allow_force, "signedBy": key}


def _policy_in(body: dict[str, object], dataset_id: DatasetId) -> HeadPolicy:
    append_only, allow_force = body.get("appendOnly", False), body.get("allowForce", True)
    key = body.get("signedBy")
    is_right = isinstance(append_only, bool) and isinstance(allow_force, bool) and isinstance(key, str | None)
    if set(body) - {"appendOnly", "allowForce", "signedBy"} or not is_right:
        raise MalformedInput("a policy has three fields", expected='{"appendOnly": true, "signedBy": "did:key:…"}')
    signed_by = None if key is None else dataset_id if key == str(dataset_id) else DatasetId.from_did_key(str(key))
    return HeadPolicy(bool(append_only), bool(allow_force), signed_by)


async def _name_of(services: Services, account_id: str | None) -> str | None:
    try:
        found = None if account_id is None else await services.catalog.accounts.find_by_id(AccountId(account_id))
    except NotFound:
        return None
    return None if found is None else str(found.name)
