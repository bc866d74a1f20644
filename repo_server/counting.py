"""Requests and logins against their budgets: who asks, from where, and what it counts as."""

from __future__ import annotations

from aiohttp import web

from catalog.accounts import Account
from opendatafabric.names import AccountName
from repo_server.addresses import one_customer
from repo_server.auditing import address_of
from repo_server.identity import ANONYMOUS
from repo_server.rate_limits import LOGINS_OF_NAME, STANDING, Limited
from repo_server.services import SERVICES, Services


async def count(request: web.Request, kind: Limited, *, asked: bool = True) -> None:
    """Count a request before anything is done for it; by its address unless who calls is ``asked``.

    Raises:
        TooManyRequests: the budget of whoever asks is used up.
        Refused: a malformed header.
    """
    if kind is Limited.NOT:
        return
    services, address = request.app[SERVICES], one_customer(address_of(request))
    caller = await services.identities.caller_of(request) if asked else ANONYMOUS
    if caller.reason is not None:
        services.rates.take(Limited.GUESSES, address)
    standing = services.rates.take(kind, address if caller.account is None else str(caller.account.id))
    if standing is not None:
        request[STANDING] = standing


async def checked_password(services: Services, login: str, password: str, *, address: str) -> Account:
    """The account, if the password is its own.

    Raises:
        AuthenticationRequired: it is not.
        MalformedIdentifier: no name of an account.
        TooManyRequests: too many such attempts failed, from this address or under this name.
    """
    rates, name = services.rates, AccountName(login)
    async with rates.attempt(one_customer(address)), rates.attempt(name.folded, LOGINS_OF_NAME):
        return await services.catalog.accounts.check_password(name, password)
