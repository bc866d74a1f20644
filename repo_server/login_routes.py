"""The part of the table of routes by which one shows who one is."""

from __future__ import annotations

from typing import Final

from repo_server.auditing import Audited
from repo_server.handlers import browser_login, device, login, oidc, publishers
from repo_server.needs import SIGNING_IN, UNASKED, OfNode, Who
from repo_server.oidc.external_login import CALLBACK_PATH
from repo_server.rate_limits import Limited
from repo_server.route import Route

LOGIN_ROUTES: Final = (
    Route("GET", "/accounts/me", login.get_me, "whose token that is", OfNode(Who.ACCOUNT, told="Unauthenticated")),
    Route("GET", "/platform/token/validate", login.get_validate, "whether the token counts", SIGNING_IN),
    Route("POST", "/platform/login", login.post_login, "a token for a name and a password", SIGNING_IN),
    Route("POST", device.BEGIN_PATH, device.post_authorization, "begin a login in the browser", SIGNING_IN),
    Route(
        "POST",
        device.TOKEN_PATH,
        device.post_token,
        "the token, once somebody allowed it there",
        SIGNING_IN,
        Audited.NOT,  # clients ask every few seconds; the handler writes down what they get in the end
        limited=Limited.POLLS,
    ),
    Route("POST", publishers.EXCHANGE_PATH, publishers.post_exchange, "a token for the run of a CI system", SIGNING_IN),
    Route("GET", device.RUNTIME_PATH, device.get_runtime_config, "where the API is, for the stock client", UNASKED),
    Route("GET", "/ui-config", device.get_ui_config, "where the API is, and how one logs in", UNASKED),
    Route("GET", "/v/login", browser_login.get_login, "the page to log in, and to allow programs in", UNASKED),
    Route("POST", "/v/login", browser_login.post_login, "log a browser in", UNASKED),
    Route("POST", "/v/logout", browser_login.post_logout, "log it out", UNASKED),
    Route("GET", "/v/oidc/login", oidc.get_login, "log a browser in at the issuer that is set", UNASKED),
    Route("GET", CALLBACK_PATH, oidc.get_callback, "come back from there", UNASKED),
    Route("POST", "/v/device", browser_login.post_device, "allow a program in, or deny it", UNASKED),
)
