"""The rows of the table of routes that are about webhooks: those of accounts, and those of datasets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from catalog.permissions import Access
from catalog.scopes import Scope
from repo_server.handlers import webhook_pages, webhooks
from repo_server.needs import UNASKED, Needs, OfNode, Who
from repo_server.repeating import Repeats
from repo_server.route import Route

_OWN: Final = OfNode(Who.ACCOUNT, Scope.ACCOUNTS_MANAGE)


def _routes(start: str, needs: Needs) -> Iterator[Route]:
    one = f"{start}/{{webhook}}"
    log = f"{one}/deliveries"
    yield Route("GET", start, webhooks.get_webhooks, "who is told what happens", needs)
    yield Route("POST", start, webhooks.post_webhook, "tell another address", needs, repeats=Repeats.SECRET)
    yield Route("GET", one, webhooks.get_webhook, "one of them, and how it stands", needs)
    yield Route("PATCH", one, webhooks.patch_webhook, "change, pause or resume it", needs)
    yield Route("DELETE", one, webhooks.delete_webhook, "tell it nothing more", needs)
    yield Route("GET", log, webhooks.get_deliveries, "how telling it went", needs)
    yield Route("POST", f"{one}/test", webhooks.post_test, "send it a test", needs)
    yield Route("POST", f"{log}/{{delivery}}", webhooks.post_delivery, "send that event again", needs)


_PAGE: Final = webhook_pages.WEBHOOKS_PATH

ACCOUNT_WEBHOOK_ROUTES: Final = (
    *_routes("/accounts/me/webhooks", _OWN),
    Route("GET", _PAGE, webhook_pages.get_webhooks, "the webhooks of whoever is logged in", UNASKED),
    Route("POST", _PAGE, webhook_pages.post_webhook, "make one", UNASKED),
    Route("GET", f"{_PAGE}/{{webhook}}", webhook_pages.get_webhook, "how telling one went", UNASKED),
    Route("POST", f"{_PAGE}/{{webhook}}", webhook_pages.post_deed, "try, pause, resume or remove it", UNASKED),
)
DATASET_WEBHOOK_ROUTES: Final = tuple(_routes("/webhooks", Access.MAINTAIN))
