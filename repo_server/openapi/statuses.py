"""Which refusals follow from what a route needs, from how it is called, and from the limits of the server."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from catalog.permissions import Access
from repo_server.needs import Needs, OfDataset, OfNode, Who

_OF_NODE: Final = {
    Who.UNASKED: (),
    Who.SIGNING_IN: (HTTPStatus.BAD_REQUEST,),
    Who.ANYONE: (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED),
    Who.ACCOUNT: (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN),
    Who.ADMIN: (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN),
}
_OF_BODY: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
SAID: Final = {
    HTTPStatus.BAD_REQUEST: "a header, name, parameter or body that is not what it should be",
    HTTPStatus.UNAUTHORIZED: "no token where one is needed, or one that is no good",
    HTTPStatus.FORBIDDEN: "the token is good, and not for this",
    HTTPStatus.NOT_FOUND: "it is not there, or not for this caller",
    HTTPStatus.NOT_ACCEPTABLE: "in none of the forms that were asked for",
    HTTPStatus.REQUEST_TIMEOUT: "the body came too slowly",
    HTTPStatus.CONFLICT: "the world is not what the caller believed",
    HTTPStatus.GONE: "the dataset was deleted, renamed or given away, and the caller may know that",
    HTTPStatus.PRECONDITION_FAILED: "the head in `If-Match` is not the one that is there",
    HTTPStatus.PRECONDITION_REQUIRED: "`If-Match` is missing",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "beyond a limit, which is named",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "a body in a form that is not taken",
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE: "the range lies outside",
    HTTPStatus.UNPROCESSABLE_ENTITY: "a body that can be read and does not say what it should",
    HTTPStatus.TOO_MANY_REQUESTS: "more requests than are taken in a while",
    HTTPStatus.NOT_IMPLEMENTED: "this dataset or store cannot do that by its nature",
    HTTPStatus.BAD_GATEWAY: "another repository did not answer",
    HTTPStatus.SERVICE_UNAVAILABLE: "as much goes on as may at once, or a part is missing: try again",
    HTTPStatus.INSUFFICIENT_STORAGE: "no space is left",
}
"""What a refusal says, where a route says nothing else."""


def statuses_of(needs: Needs, *, with_body: bool) -> Iterator[HTTPStatus]:
    """The refusals that any route with these needs may give."""
    yield HTTPStatus.SERVICE_UNAVAILABLE
    if with_body:
        yield from _OF_BODY
    if isinstance(needs, OfNode):
        yield from _OF_NODE[needs.who]
        return
    yield from (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
    asked = needs if isinstance(needs, OfDataset) else OfDataset(needs)
    if asked.access > Access.READ or asked.more is not None:
        yield HTTPStatus.FORBIDDEN


def may_be_anonymous(needs: Needs) -> bool:
    """Whether some callers without a token are let through."""
    if isinstance(needs, OfNode):
        return needs.who not in {Who.ACCOUNT, Who.ADMIN} or needs.unless is not None
    return (needs if isinstance(needs, Access) else needs.access) <= Access.READ


def looks_at_tokens(needs: Needs) -> bool:
    """Whether the header with the token is looked at."""
    return not (isinstance(needs, OfNode) and needs.who is Who.UNASKED)
