"""``If-Match``: a caller says which head it believes in, so that nothing is done to a dataset that has moved on."""

from __future__ import annotations

from aiohttp import hdrs, web

from opendatafabric.multihash import Multihash
from repo_server.http_errors import PreconditionFailed, PreconditionRequired


def require_match(request: web.Request, head: Multihash | None, *, needed: bool = False) -> None:
    """Return if the request names ``head``, or, unless it is ``needed``, names none.

    Raises:
        PreconditionRequired: it has to.
        PreconditionFailed: it names another.
    """
    given = request.headers.get(hdrs.IF_MATCH)
    if given is None and needed:
        raise PreconditionRequired("say which head this is for", hint='If-Match: "HEAD", as GET refs/head answers')
    if given is not None and f'"{head}"' not in {part.strip() for part in given.split(",")}:
        raise PreconditionFailed("the head is another one", expected=given[:200], found=head)
