"""Who is answered how, written by hand: what the matrix test expects of every route. The routes know nothing of it.

A cell says what comes back: ``ok`` when the caller is let through, and then what the probe of the route gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

OK: Final = "ok"

_CELLS = """
                      public               unlisted             private              absent
                      read wri  mai  own   read wri  mai  own   read wri  mai  own   any
anonymous             ok   403  403  403   ok   403  403  403   404  404  404  404   404
other                 ok   403  403  403   ok   403  403  403   404  404  404  404   404
reader                ok   403  403  403   ok   403  403  403   ok   403  403  403   404
writer                ok   ok   403  403   ok   ok   403  403   ok   ok   403  403   404
maintainer            ok   ok   ok   403   ok   ok   ok   403   ok   ok   ok   403   404
co-owner              ok   ok   ok   ok    ok   ok   ok   ok    ok   ok   ok   ok    404
team-in-account       ok   ok   403  403   ok   ok   403  403   ok   ok   403  403   404
owner                 ok   ok   ok   ok    ok   ok   ok   ok    ok   ok   ok   ok    404
admin                 ok   ok   ok   ok    ok   ok   ok   ok    ok   ok   ok   ok    404
owner:datasets:read   ok   403  403  403   ok   403  403  403   ok   403  403  403   404
owner:datasets:push   ok   ok   403  403   ok   ok   403  403   ok   ok   403  403   404
owner:accounts:manage ok   403  403  403   ok   403  403  403   404  404  404  404   404
owner:elsewhere       ok   403  403  403   ok   403  403  403   404  404  404  404   404
revoked               401  401  401  401   401  401  401  401   401  401  401  401   401
expired               401  401  401  401   401  401  401  401   401  401  401  401   401
"""

_PUSHES = """
                      public  unlisted  private  absent
anonymous             403     403       401      401
other                 403     403       403      403
reader                403     403       403      403
writer                ok      ok        ok       403
maintainer            ok      ok        ok       403
co-owner              ok      ok        ok       403
team-in-account       ok      ok        ok       ok
owner                 ok      ok        ok       ok
admin                 ok      ok        ok       ok
owner:datasets:read   403     403       403      403
owner:datasets:push   ok      ok        ok       ok
owner:accounts:manage 403     403       403      403
owner:elsewhere       403     403       403      403
revoked               401     401       401      401
expired               401     401       401      401
"""
"""A push to what may not be seen is answered as one to a place that is not one's own."""

_PUSHES_WITHOUT_ACCOUNTS: Final = {
    # Names are everybody's there: one that is taken cannot be made, whoever may see it.
    "other": (403, 403, 404, OK),
    "reader": (403, 403, 403, OK),
    "writer": (OK, OK, OK, OK),
    "maintainer": (OK, OK, OK, OK),
    "co-owner": (OK, OK, OK, OK),
    "owner:accounts:manage": (403, 403, 404, 403),
    "owner:elsewhere": (403, 403, 404, 403),
}

_NODE = """
                      asked-nothing anyone account pushing deciding managing admin
anonymous             ok            ok     401     401     401      401      401
other                 ok            ok     ok      ok      ok       ok       403
owner                 ok            ok     ok      ok      ok       ok       403
admin                 ok            ok     ok      ok      ok       ok       ok
owner:datasets:read   ok            ok     ok      403     403      403      403
owner:datasets:push   ok            ok     ok      ok      403      403      403
owner:accounts:manage ok            ok     ok      403     403      ok       403
owner:elsewhere       ok            ok     ok      ok      ok       ok       403
admin:datasets:manage ok            ok     ok      ok      ok       403      403
revoked               ok            ok     401     401     401      401      401
expired               ok            ok     401     401     401      401      401
"""

VISIBILITIES: Final = ("public", "unlisted", "private", "absent")
LEVELS: Final = ("read", "write", "maintain", "own")
PUSH: Final = "push"


@dataclass(frozen=True)
class Probe:
    """A request that tells whether it was let through and leaves things as they are: what it ``needs``, what it gives,
    and, where that is 404 too, what it ``says``. ``{hash}`` is that of an object that lies in every dataset."""

    needs: str
    gives: int
    path: str | None = None
    """Where the route's own path has no such request."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    says: str = ""


_JSON: Final = {"Content-Type": "application/json"}
_WRONG: Final = b'{"nonsense": 1}'
"""A body that is refused after the caller was let through."""

DATASET_PROBES: Final[Mapping[str, Probe]] = {
    "GET /blocks/{hash}": Probe("read", 404, says="is not here"),
    "GET /refs/{ref}": Probe("read", 200, "/refs/head"),
    "GET /data/{hash}": Probe("read", 200),
    "PUT /data/{hash}": Probe("write", 400, body=b"other bytes"),
    "GET /checkpoints/{hash}": Probe("read", 404, says="is not here"),
    "PUT /checkpoints/{hash}": Probe("write", 400, body=b"other bytes"),
    "GET /reports": Probe("read", 200),
    "GET /reports/{hash}": Probe("read", 404, says="is not here"),
    "GET /schedule": Probe("read", 404, says="schedule"),
    "PUT /schedule": Probe("maintain", 400, headers=_JSON, body=_WRONG),
    "DELETE /schedule": Probe("maintain", 400, "/schedule?job=nonsense"),
    "GET /badge.svg": Probe("read", 200),
    "GET /badge.json": Probe("read", 200),
    "GET /attestations": Probe("read", 200),
    "GET /gate": Probe("write", 200),
    "PUT /gate": Probe("maintain", 400, headers=_JSON, body=_WRONG),
    "DELETE /gate": Probe("maintain", 204),
    "POST /gate": Probe("write", 404, says="nothing is staged"),
    "GET /alert": Probe("maintain", 404, says="nobody is told"),
    "PUT /alert": Probe("maintain", 400, headers=_JSON, body=_WRONG),
    "DELETE /alert": Probe("maintain", 204),
    "GET /webhooks": Probe("maintain", 200),
    "POST /webhooks": Probe("maintain", 400, headers=_JSON, body=_WRONG),
    "GET /webhooks/{webhook}": Probe("maintain", 404, "/webhooks/none", says="webhook"),
    "PATCH /webhooks/{webhook}": Probe("maintain", 404, "/webhooks/none", headers=_JSON, body=_WRONG, says="webhook"),
    "DELETE /webhooks/{webhook}": Probe("maintain", 404, "/webhooks/none", says="webhook"),
    "GET /webhooks/{webhook}/deliveries": Probe("maintain", 404, "/webhooks/none/deliveries", says="webhook"),
    "POST /webhooks/{webhook}/test": Probe("maintain", 404, "/webhooks/none/test", says="webhook"),
    "POST /webhooks/{webhook}/deliveries/{delivery}": Probe(
        "maintain", 404, "/webhooks/none/deliveries/1", says="webhook"
    ),
    "POST /verify": Probe("write", 202),
    "GET /verify": Probe("read", 200),
    "GET /verify/{run}": Probe("read", 404, "/verify/x", says="called by its number"),
    "GET /verify/{run}/events": Probe("read", 404, "/verify/x/events", says="called by its number"),
    "GET /tail": Probe("read", 400, "/tail?nonsense=1"),
    **{
        f"GET /data.{kind}": Probe("read", 400, f"/data.{kind}?nonsense=1")
        for kind in ("csv", "ndjson", "arrow", "parquet")
    },
    "GET /metadata": Probe("read", 400, "/metadata?nonsense=1"),
    "GET /ipfs": Probe("read", 404, says="not published"),
    "DELETE ": Probe("own", 200, "?dryRun=true"),
    "PATCH ": Probe("own", 400, headers=_JSON, body=_WRONG),
    "POST /transfer": Probe("own", 400, headers=_JSON, body=_WRONG),
    "DELETE /transfer": Probe("own", 404, says="offered"),
    "GET ": Probe("read", 200),
    "GET /lineage": Probe("read", 200),
    "GET /lineage.svg": Probe("read", 200),
    "GET /lineage/openlineage": Probe("read", 200),
    "GET /log": Probe("read", 200),
    "GET /croissant.json": Probe("read", 400, "/croissant.json?nonsense=1"),
    "GET /log/{hash}": Probe("read", 400, "/log/nonsense"),
    "GET /events": Probe("read", 400, headers={"Last-Event-ID": "nonsense"}),
    "GET /reflog": Probe("write", 200),
    "POST /undo": Probe("maintain", 400, headers=_JSON, body=_WRONG),
    "GET /policy": Probe("read", 200),
    "PUT /policy": Probe("maintain", 400, headers=_JSON, body=_WRONG),
    "POST /policy/hand-over": Probe("maintain", 400, headers=_JSON, body=_WRONG),
    "GET /signatures": Probe("read", 200),
    "PUT /signatures/{hash}": Probe("write", 400, headers=_JSON, body=_WRONG),
    "GET /roles": Probe("maintain", 200),
    "PUT /roles/{holder}": Probe("maintain", 400, "/roles/bob", headers=_JSON, body=_WRONG),
    "DELETE /roles/{holder}": Probe("maintain", 404, "/roles/nobody", says="nobody"),
    "GET /visibility": Probe("read", 200),
    "PUT /visibility": Probe("own", 400, headers=_JSON, body=_WRONG),
    "GET /publishers": Probe("own", 200),
    "POST /publishers": Probe("own", 400, headers=_JSON, body=_WRONG),
    "DELETE /publishers/{publisher}": Probe("own", 404, "/publishers/none", says="publisher"),
    "GET /pull": Probe("read", 101),
    "GET /push": Probe(PUSH, 101),
    "POST /ingest": Probe("write", 415, headers={"Content-Type": "text/nonsense"}, body=b"x"),
    "POST /uploads/{kind}/{hash}": Probe("write", 400, "/uploads/data/{hash}"),
    "GET /uploads/{upload}": Probe("write", 404, "/uploads/nothing", says="upload"),
    "PATCH /uploads/{upload}": Probe("write", 400, "/uploads/nothing"),
    "DELETE /uploads/{upload}": Probe("write", 404, "/uploads/nothing", says="upload"),
}
STAGING: Final = Probe("write", 404, "/refs/staging")
"""The same route as for the head needs more for this name. Nothing is staged, so it is 403 or 404."""

_FILE: Final = "/platform/file/upload/nothing"
_DID: Final = f"did:odf:fed01{'7' * 64}"
_CID: Final = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
_IPNS: Final = "k51qzi5uqu5dlvj2baxnqndepeb86cbk3ng7n3i46uzyxzyqj2xjonzllnv0v8"
NODE_PROBES: Final[Mapping[str, Probe]] = {
    "GET /info": Probe("anyone", 200),
    "GET /accounts/me": Probe("account", 200),
    "PUT /accounts/me/password": Probe("managing", 400, headers=_JSON, body=_WRONG),
    "DELETE /accounts/me": Probe("managing", 400),
    "GET /accounts/me/tokens": Probe("managing", 200),
    "POST /accounts/me/tokens": Probe("managing", 400, headers=_JSON, body=_WRONG),
    "DELETE /accounts/me/tokens/{token_id}": Probe("managing", 404, "/accounts/me/tokens/none"),
    "GET /accounts/me/webhooks": Probe("managing", 200),
    "POST /accounts/me/webhooks": Probe("managing", 400, headers=_JSON, body=_WRONG),
    "GET /accounts/me/webhooks/{webhook}": Probe("managing", 404, "/accounts/me/webhooks/none"),
    "PATCH /accounts/me/webhooks/{webhook}": Probe("managing", 404, "/accounts/me/webhooks/none"),
    "DELETE /accounts/me/webhooks/{webhook}": Probe("managing", 404, "/accounts/me/webhooks/none"),
    "GET /accounts/me/webhooks/{webhook}/deliveries": Probe("managing", 404, "/accounts/me/webhooks/none/deliveries"),
    "POST /accounts/me/webhooks/{webhook}/test": Probe("managing", 404, "/accounts/me/webhooks/none/test"),
    "POST /accounts/me/webhooks/{webhook}/deliveries/{delivery}": Probe(
        "managing", 404, "/accounts/me/webhooks/none/deliveries/1"
    ),
    "GET /accounts": Probe("admin", 200),
    "POST /accounts": Probe("admin", 400, headers=_JSON, body=_WRONG),
    "GET /accounts/{account}": Probe("admin", 404, "/accounts/nobody"),
    "PATCH /accounts/{account}": Probe("admin", 404, "/accounts/nobody", headers=_JSON, body=b"{}"),
    "DELETE /accounts/{account}": Probe("admin", 404, "/accounts/nobody"),
    "GET /accounts/{account}/tokens": Probe("admin", 404, "/accounts/nobody/tokens"),
    "DELETE /accounts/{account}/tokens/{token_id}": Probe("admin", 404, "/accounts/nobody/tokens/none"),
    "GET /accounts/me/usage": Probe("account", 200),
    "GET /accounts/{account}/usage": Probe("admin", 404, "/accounts/nobody/usage"),
    "PUT /accounts/{account}/quota": Probe("admin", 404, "/accounts/nobody/quota", headers=_JSON, body=b"{}"),
    "GET /accounts/{account}/members": Probe("managing", 404, "/accounts/nobody/members"),
    "PUT /accounts/{account}/members/{member}": Probe("managing", 404, "/accounts/nobody/members/bob"),
    "DELETE /accounts/{account}/members/{member}": Probe("managing", 404, "/accounts/nobody/members/bob"),
    "GET /datasets/{did}": Probe("anyone", 404, f"/datasets/{_DID}"),
    "GET /platform/token/validate": Probe("account", 200),
    "POST /platform/login": Probe("anyone", 422, headers=_JSON, body=_WRONG),
    "POST /platform/token/device/authorization": Probe("anyone", 415),
    "POST /platform/token/device": Probe("anyone", 415),
    "GET /": Probe("anyone", 200),
    "GET /v/tokens": Probe("asked-nothing", 200),
    "POST /v/tokens": Probe("asked-nothing", 403),
    "POST /v/tokens/revoke": Probe("asked-nothing", 403),
    "GET /v/webhooks": Probe("asked-nothing", 200),
    "POST /v/webhooks": Probe("asked-nothing", 403),
    "GET /v/webhooks/{webhook}": Probe("asked-nothing", 200, "/v/webhooks/none"),
    "POST /v/webhooks/{webhook}": Probe("asked-nothing", 403, "/v/webhooks/none"),
    "GET /v/admin": Probe("admin", 200),
    "GET /events": Probe("anyone", 400, headers={"Last-Event-ID": "nonsense"}),
    "POST /platform/token/exchange": Probe("anyone", 415),
    "POST /graphql": Probe("anyone", 422, headers=_JSON, body=_WRONG),
    "GET /assets/runtime-config.json": Probe("asked-nothing", 200),
    "GET /ui-config": Probe("asked-nothing", 200),
    "GET /v/login": Probe("asked-nothing", 200),
    "POST /v/login": Probe("asked-nothing", 403),
    "POST /v/logout": Probe("asked-nothing", 403),
    "POST /v/device": Probe("asked-nothing", 403),
    "GET /v/oidc/login": Probe("asked-nothing", 501),
    "GET /v/oidc/callback": Probe("asked-nothing", 401),
    "POST /platform/file/upload/prepare": Probe("pushing", 400),
    "POST /platform/file/upload/{token}": Probe("pushing", 400, _FILE),
    "GET /platform/file/upload/{token}": Probe("anyone", 400, _FILE),
    "PATCH /platform/file/upload/{token}": Probe("pushing", 400, _FILE),
    "DELETE /platform/file/upload/{token}": Probe("pushing", 400, _FILE),
    "GET /system/transfers": Probe("deciding", 200),
    "POST /system/transfers/{did}": Probe("deciding", 404, f"/system/transfers/{_DID}"),
    "DELETE /system/transfers/{did}": Probe("deciding", 404, f"/system/transfers/{_DID}"),
    "GET /system/deleted": Probe("deciding", 200),
    "POST /system/deleted/{did}": Probe("deciding", 404, f"/system/deleted/{_DID}"),
    "DELETE /system/deleted/{did}": Probe("deciding", 404, f"/system/deleted/{_DID}"),
    "GET /system/health": Probe("asked-nothing", 200),
    "GET /system/ready": Probe("asked-nothing", 200),
    "GET /system/mirrors": Probe("admin", 200),
    "GET /system/schemas/{schema}": Probe("asked-nothing", 404, "/system/schemas/none"),
    "GET /metrics": Probe("admin", 200),
    "GET /query": Probe("anyone", 400, "/query?nonsense=1"),
    "POST /query": Probe("anyone", 422, headers=_JSON, body=_WRONG),
    "POST /verify": Probe("anyone", 422, headers=_JSON, body=_WRONG),
    "GET /catalog.jsonld": Probe("anyone", 200),
    "GET /sitemap.xml": Probe("anyone", 200),
    "GET /robots.txt": Probe("asked-nothing", 200),
    "GET /asyncapi.json": Probe("asked-nothing", 200),
    "GET /openapi": Probe("asked-nothing", 200),
    "GET /openapi.json": Probe("asked-nothing", 200),
    "GET /system/errors/{code}": Probe("asked-nothing", 200, "/system/errors/not-found"),
    "GET /.well-known/odf-attestation-keys": Probe("asked-nothing", 200),
    "GET /static/{name}": Probe("asked-nothing", 404, "/static/nothing.css"),
    "GET /system/info": Probe("asked-nothing", 200),
    "GET /ipfs/{cid}": Probe("anyone", 404, f"/ipfs/{_CID}"),
    "GET /ipfs/{cid}/{path:.*}": Probe("anyone", 404, f"/ipfs/{_CID}/a"),
    "GET /ipns/{name}": Probe("anyone", 404, f"/ipns/{_IPNS}"),
    "GET /ipns/{name}/{path:.*}": Probe("anyone", 404, f"/ipns/{_IPNS}/a"),
    "GET /routing/v1/providers/{cid}": Probe("anyone", 404, f"/routing/v1/providers/{_CID}"),
    "GET /routing/v1/ipns/{name}": Probe("anyone", 404, f"/routing/v1/ipns/{_IPNS}"),
}


def _rows(text: str, headings: int) -> dict[str, tuple[int | str, ...]]:
    lines = [line.split() for line in text.strip("\n").splitlines()][headings:]
    return {name: tuple(OK if cell == OK else int(cell) for cell in cells) for name, *cells in lines}


_DATASET_ROWS: Final = _rows(_CELLS, 2)
_PUSH_ROWS: Final = _rows(_PUSHES, 1)
_NODE_ROWS: Final = _rows(_NODE, 1)
_NODE_COLUMNS: Final = ("asked-nothing", "anyone", "account", "pushing", "deciding", "managing", "admin")
DATASET_CALLERS: Final = tuple(_DATASET_ROWS)
NODE_CALLERS: Final = tuple(_NODE_ROWS)


@dataclass(frozen=True)
class Expected:
    """What a cell says: the status, and whether the caller was let through to the handler."""

    status: int
    let_through: bool


def expected(probe: Probe, caller: str, visibility: str, *, accounts: bool) -> Expected:
    """What ``caller`` gets at a dataset of that visibility."""
    column = VISIBILITIES.index(visibility)
    if probe.needs == PUSH:
        row = _PUSH_ROWS[caller] if accounts else _PUSHES_WITHOUT_ACCOUNTS.get(caller, _PUSH_ROWS[caller])
        return _of_cell(row[column], probe)
    level = 0 if visibility == "absent" else LEVELS.index(probe.needs)
    return _of_cell(_DATASET_ROWS[caller][column * len(LEVELS) + level], probe)


def expected_at_node(probe: Probe, caller: str) -> Expected:
    """What ``caller`` gets at a route that is about no dataset."""
    return _of_cell(_NODE_ROWS[caller][_NODE_COLUMNS.index(probe.needs)], probe)


def _of_cell(cell: int | str, probe: Probe) -> Expected:
    return Expected(probe.gives, True) if isinstance(cell, str) else Expected(cell, False)
