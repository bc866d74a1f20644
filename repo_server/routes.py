"""The whole API as a table: method, path, handler, purpose. In which order callers are checked is in the gate.

``docs/reference/http-api.md`` has a row for each. Datasets lie under ``/{account}/{name}`` or ``/{name}``.
"""

from __future__ import annotations

from typing import Final

from aiohttp import hdrs, web

from catalog.permissions import Access
from catalog.scopes import Scope
from opendatafabric.attestation.document import KEYS_PATH
from repo_server.account_routes import ACCOUNT_ROUTES
from repo_server.auditing import AUDITED_AS, Audited, usual
from repo_server.config import Tenancy
from repo_server.cors import PAGE_HANDLERS, is_page
from repo_server.counting import count
from repo_server.error_table import TYPES_PATH
from repo_server.gate import admit
from repo_server.handlers import (
    alerts,
    attestations,
    badges,
    datasets,
    errors,
    events,
    files,
    gates,
    graphql,
    head_history,
    health,
    ingest,
    ipfs,
    lifecycle,
    mirrors,
    openapi,
    publishers,
    reports,
    routing,
    schedules,
    signatures,
    simple,
    smart,
    static,
    uploads,
    verification,
)
from repo_server.harvest_routes import DESCRIPTION_ROUTES, HARVEST_ROUTES
from repo_server.login_routes import LOGIN_ROUTES
from repo_server.needs import ADMIN, ANYONE, UNASKED, OfDataset, OfNode, Who
from repo_server.page_routes import ACCOUNT_PAGE_ROUTES, DATASET_PAGE_ROUTES, HOME_ROUTES
from repo_server.query_routes import LOOK_ROUTES, QUERY_ROUTES
from repo_server.rate_limits import Limited
from repo_server.reference_routes import REFERENCE_HANDLERS
from repo_server.repeating import Repeats, once
from repo_server.role_routes import ROLE_ROUTES
from repo_server.route import SERVED, Handler, Served
from repo_server.route import Route as Route  # noqa: PLC0414  with the table it is asked for
from repo_server.webhook_routes import ACCOUNT_WEBHOOK_ROUTES, DATASET_WEBHOOK_ROUTES

_SENDING: Final = OfDataset(Access.WRITE, pending=True)
_SENDING_FILES: Final = OfNode(Who.ACCOUNT, Scope.DATASETS_PUSH)
_MANAGING: Final = OfNode(Who.ACCOUNT, Scope.DATASETS_MANAGE)
PREFIXES: Final = {Tenancy.MULTI: "/{account}/{name}", Tenancy.SINGLE: "/{name}"}

NODE_ROUTES: Final = (
    *HOME_ROUTES,
    *LOGIN_ROUTES,
    Route("GET", "/info", datasets.get_info, "whether datasets lie under accounts", ANYONE),
    *ACCOUNT_WEBHOOK_ROUTES,
    *ACCOUNT_ROUTES,
    Route("GET", "/datasets/{did}", datasets.get_dataset, "name and owner of a dataset by its id", ANYONE),
    *QUERY_ROUTES,
    *HARVEST_ROUTES,
    Route(
        "POST",
        "/platform/file/upload/prepare",
        files.prepare,
        "where to send a file, and a token to ingest it by",
        _SENDING_FILES,
    ),
    Route("POST", "/platform/file/upload/{token}", files.post_form, "send the file as a form", _SENDING_FILES),
    Route("GET", "/platform/file/upload/{token}", files.get, "the file, or how far it came", ANYONE),
    Route(
        "PATCH", "/platform/file/upload/{token}", files.append, "send more of the file", _SENDING_FILES, Audited.COUNTED
    ),
    Route("DELETE", "/platform/file/upload/{token}", files.cancel, "give the file up", _SENDING_FILES),
    Route("GET", "/events", events.get_events, "what happens to all datasets, as it does (SSE)", ANYONE),
    Route("GET", "/system/health", health.get_health, "that the process answers", UNASKED, limited=Limited.NOT),
    Route(
        "GET", "/system/ready", health.get_ready, "that datasets and catalog can be used", UNASKED, limited=Limited.NOT
    ),
    Route("GET", "/system/mirrors", mirrors.get_mirrors, "how the mirrors are, for administrators", ADMIN),
    Route("GET", "/system/transfers", lifecycle.get_offers, "datasets offered to or by the caller", _MANAGING),
    Route(
        "POST",
        "/system/transfers/{did}",
        lifecycle.take_offer,
        "take a dataset that is offered",
        _MANAGING,
        repeats=Repeats.KEPT,
    ),
    Route("DELETE", "/system/transfers/{did}", lifecycle.decline_offer, "decline it", _MANAGING),
    Route("GET", "/system/deleted", lifecycle.get_deleted, "deleted datasets that may come back", _MANAGING),
    Route(
        "POST",
        "/system/deleted/{did}",
        lifecycle.undelete_dataset,
        "bring a deleted dataset back",
        _MANAGING,
        repeats=Repeats.KEPT,
    ),
    Route("DELETE", "/system/deleted/{did}", lifecycle.purge_dataset, "give it up for good", _MANAGING),
    Route("GET", "/system/schemas/{schema}", reports.get_schema, "the JSON Schema of verification reports", UNASKED),
    Route(
        "GET",
        "/metrics",
        health.get_metrics,
        "metrics for Prometheus",
        OfNode(Who.ADMIN, Scope.ADMIN, unless=health.metrics_are_public),
    ),
    Route("GET", "/asyncapi.json", openapi.get_asyncapi_json, "conversations and events (AsyncAPI)", UNASKED),
    Route("GET", "/openapi", openapi.get_openapi_page, "the page of the API", UNASKED),
    Route(
        "POST",
        "/graphql",
        graphql.post_graphql,
        "the search of clients of the reference",
        ANYONE,
        Audited.NOT,
        Limited.READS,
    ),
    Route("GET", "/openapi.json", openapi.get_openapi_json, "this description of the API (OpenAPI)", UNASKED),
    Route("GET", f"{TYPES_PATH}{{code}}", errors.get_error, "what an error means", UNASKED),
    Route("GET", KEYS_PATH, attestations.get_keys, "the keys that verdicts are signed with here", UNASKED),
    Route("GET", "/static/{name}", static.get_static, "the style and the scripts of pages", UNASKED),
    Route("GET", "/system/info", health.get_system_info, "what runs here", UNASKED),
)
IPFS_ROUTES: Final = (
    Route("GET", "/ipfs/{cid}", ipfs.get_ipfs, "a block, an archive or a file by CID", ANYONE),
    Route("GET", "/ipfs/{cid}/{path:.*}", ipfs.get_ipfs, "the same below a folder", ANYONE),
    Route("GET", "/ipns/{name}", ipfs.get_ipns, "the record of a name, or what it points to", ANYONE),
    Route("GET", "/ipns/{name}/{path:.*}", ipfs.get_ipns, "the same below a folder", ANYONE),
    Route("GET", "/routing/v1/providers/{cid}", routing.get_providers, "who has a CID: this server, or nobody", ANYONE),
    Route("GET", "/routing/v1/ipns/{name}", routing.get_ipns_record, "the record of a name", ANYONE),
)
"""Routes of a server that provides for IPFS. Accounts, or in single tenancy datasets, called like them are hidden."""

# What is asked for most stands first: they are tried one after another.
DATASET_ROUTES: Final = (
    Route("GET", "/blocks/{hash}", simple.get_block, "a metadata block, byte for byte", Access.READ),
    Route(
        "GET", "/refs/{ref}", simple.get_ref, "where a head points", OfDataset(Access.READ, more=simple.access_to_ref)
    ),
    Route("GET", "/data/{hash}", simple.get_data, "a data slice", OfDataset(Access.READ, pending=True)),
    Route("PUT", "/data/{hash}", simple.put_data, "send a data slice", _SENDING, Audited.COUNTED),
    Route("GET", "/checkpoints/{hash}", simple.get_checkpoint, "a checkpoint", OfDataset(Access.READ, pending=True)),
    Route("PUT", "/checkpoints/{hash}", simple.put_checkpoint, "send a checkpoint", _SENDING, Audited.COUNTED),
    *LOOK_ROUTES,
    *DATASET_PAGE_ROUTES,
    *DESCRIPTION_ROUTES,
    Route("GET", "/reports", reports.get_reports, "what verifications found, and how the verdict changed", Access.READ),
    Route("GET", "/reports/{hash}", reports.get_report, "one verification report", Access.READ),
    Route("GET", "/schedule", schedules.get_schedule, "when the dataset is polled, and how it went", Access.READ),
    Route("PUT", "/schedule", schedules.put_schedule, "poll the dataset by a schedule", Access.MAINTAIN),
    Route("DELETE", "/schedule", schedules.delete_schedule, "poll it no longer", Access.MAINTAIN),
    Route("GET", "/badge.svg", badges.get_svg, "a badge that says how the dataset stands", Access.READ),
    Route("GET", "/badge.json", badges.get_json, "the same for shields.io", Access.READ),
    Route("GET", "/attestations", attestations.get_attestations, "signed verdicts on the dataset", Access.READ),
    Route(
        "GET", "/gate", gates.get_gate, "whether pushes are verified first, and how the last one fared", Access.WRITE
    ),
    Route("PUT", "/gate", gates.put_gate, "verify pushes before they count", Access.MAINTAIN),
    Route("DELETE", "/gate", gates.delete_gate, "let pushes count at once", Access.MAINTAIN),
    Route("POST", "/gate", gates.post_gate, "verify what is staged once more", Access.WRITE, repeats=Repeats.KEPT),
    Route("GET", "/alert", alerts.get_alert, "who is told when the verdict changes", Access.MAINTAIN),
    Route("PUT", "/alert", alerts.put_alert, "tell that address when it changes", Access.MAINTAIN),
    Route("DELETE", "/alert", alerts.delete_alert, "tell nobody", Access.MAINTAIN),
    *DATASET_WEBHOOK_ROUTES,
    Route(
        "POST", "/verify", verification.post_verify, "have the dataset verified now", Access.WRITE, repeats=Repeats.KEPT
    ),
    Route("GET", "/verify", verification.get_verify, "how its verification stands", Access.READ),
    Route("GET", "/verify/{run}", verification.get_run, "how that run stands", Access.READ),
    Route("GET", "/verify/{run}/events", verification.get_events, "the same as it goes on (SSE)", Access.READ),
    Route("GET", "/publishers", publishers.get_publishers, "runs of CI systems that may push", Access.OWN),
    Route(
        "POST",
        "/publishers",
        publishers.post_publisher,
        "trust runs of a CI system to push",
        Access.OWN,
        repeats=Repeats.KEPT,
    ),
    Route("DELETE", "/publishers/{publisher}", publishers.delete_publisher, "trust them no longer", Access.OWN),
    Route("GET", "/events", events.get_dataset_events, "what happens to the dataset (SSE)", Access.READ),
    Route("GET", "/ipfs", ipfs.get_published, "root CID and IPNS name of the dataset", Access.READ),
    Route("GET", "/reflog", head_history.get_reflog, "how the head moved, and who moved it", Access.WRITE),
    Route(
        "POST",
        "/undo",
        head_history.post_undo,
        "put the head back to where it was",
        Access.MAINTAIN,
        repeats=Repeats.KEPT,
    ),
    Route("GET", "/policy", head_history.get_policy, "how the head may move", Access.READ),
    Route("PUT", "/policy", head_history.put_policy, "let it move so alone", Access.MAINTAIN),
    Route(
        "POST",
        "/policy/hand-over",
        signatures.post_hand_over,
        "let another key sign heads",
        Access.MAINTAIN,
        repeats=Repeats.KEPT,
    ),
    Route("GET", "/signatures", signatures.get_signatures, "who signed which head", Access.READ),
    Route("PUT", "/signatures/{hash}", signatures.put_signature, "sign a head", Access.WRITE),
    *ROLE_ROUTES,
    Route("DELETE", "", lifecycle.delete_dataset, "delete the dataset, or say what depends on it", Access.OWN),
    Route("PATCH", "", lifecycle.rename_dataset, "give the dataset another name", Access.OWN),
    Route(
        "POST",
        "/transfer",
        lifecycle.offer_dataset,
        "offer the dataset to another account",
        Access.OWN,
        repeats=Repeats.KEPT,
    ),
    Route("DELETE", "/transfer", lifecycle.withdraw_offer, "offer it no longer", Access.OWN),
    Route("GET", "/pull", smart.pull, "pull by the smart protocol (WebSocket)", Access.READ),
    Route(
        "GET",
        "/push",
        smart.push,
        "push by the smart protocol (WebSocket)",
        OfDataset(Access.WRITE, new=True),
        Audited.EACH,
    ),
    Route("POST", "/ingest", ingest.post_ingest, "add data by the push source of the dataset", Access.WRITE),
    Route(
        "POST",
        "/uploads/{kind}/{hash}",
        uploads.begin,
        "begin a resumable upload of an object",
        _SENDING,
        Audited.COUNTED,
    ),
    Route("GET", "/uploads/{upload}", uploads.look, "how far a resumable upload came", _SENDING),
    Route(
        "PATCH",
        "/uploads/{upload}",
        uploads.append,
        "continue a resumable upload; the last bytes publish it",
        _SENDING,
        Audited.COUNTED,
    ),
    Route("DELETE", "/uploads/{upload}", uploads.cancel, "give a resumable upload up", _SENDING),
)


EVERY_ROUTE: Final = NODE_ROUTES + ACCOUNT_PAGE_ROUTES + IPFS_ROUTES + DATASET_ROUTES


def served(tenancy: Tenancy, *, with_ipfs: bool = False) -> tuple[Served, ...]:
    """Every route with its whole path; those of the node come first."""
    of_node = NODE_ROUTES + (IPFS_ROUTES if with_ipfs else ())
    of_node += ACCOUNT_PAGE_ROUTES if tenancy is Tenancy.MULTI else ()
    prefix = PREFIXES[tenancy]
    return (
        *(Served(route, route.path) for route in of_node),
        *(Served(route, prefix + route.path) for route in DATASET_ROUTES),
    )


def add_routes(application: web.Application, tenancy: Tenancy, *, with_ipfs: bool = False) -> None:
    """Put every route of the table into ``application``."""
    application[SERVED] = served(tenancy, with_ipfs=with_ipfs)
    application[REFERENCE_HANDLERS] = set()
    application[PAGE_HANDLERS] = set()
    application[AUDITED_AS] = {}
    for each in application[SERVED]:
        _add(application, each.route, each.path)


def _add(application: web.Application, route: Route, path: str) -> None:
    # aiohttp joins the methods of equal paths that are added one after another, so that 405 names them all.
    handler = _admitting(route)
    if route.of_reference:
        application[REFERENCE_HANDLERS].add(handler)
    if is_page(route):
        application[PAGE_HANDLERS].add(handler)
    if route.method == hdrs.METH_GET:
        added = application.router.add_get(path, handler)
    else:
        added = application.router.add_route(route.method, path, handler)
    application[AUDITED_AS][added] = f"{route.method} {route.path}", route.audited or usual(route.method)


def _admitting(route: Route) -> Handler:
    async def admitted(request: web.Request) -> web.StreamResponse:
        await count(request, route.counts_as, asked=route.needs != UNASKED)
        await admit(request, route.needs)
        return await (route.handler(request) if route.repeats is None else once(request, route.repeats, route.handler))

    return admitted
