"""Logging in as a run of a CI system: its token is given for one of the server, good for a while and for pushes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from yarl import URL

from opendatafabric.errors import AuthenticationRequired, ProtocolViolation
from repo_server.config import allowed_variables
from sync.server_calls import asked

ID_TOKEN: Final = "ODF_ID_TOKEN"
"""Where a run keeps its token, on systems that put it into a variable of the job's choice."""

_GITHUB_URL: Final = "ACTIONS_ID_TOKEN_REQUEST_URL"
_GITHUB_TOKEN: Final = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
_EXCHANGE: Final = "platform/token/exchange"
_FORM: Final = {
    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
}


async def token_of_run(origin: str, variables: Mapping[str, str] | None = None, dataset: str | None = None) -> str:
    """A token of the server at ``origin`` for the run that we are part of.

    Raises:
        AuthenticationRequired: this is no run that has a token, or the server does not take it.
        AccessDenied: no dataset there trusts the run.
        PeerUnavailable: the server, or the CI system, does not answer.
    """
    known = allowed_variables((ID_TOKEN, _GITHUB_URL, _GITHUB_TOKEN)) if variables is None else variables
    form = {**_FORM, "subject_token": await _own_token(origin, known)}
    if dataset is not None:
        form["dataset"] = dataset
    return _text(await asked("POST", f"{origin}/{_EXCHANGE}", form=form), "access_token", origin)


async def _own_token(origin: str, variables: Mapping[str, str]) -> str:
    given = variables.get(ID_TOKEN)
    if given:
        return given.strip()
    url, token = variables.get(_GITHUB_URL), variables.get(_GITHUB_TOKEN)
    if not url or not token:
        raise AuthenticationRequired(
            "this run has no token of its own",
            hint=f"GitHub: permissions: id-token: write; elsewhere put it into {ID_TOKEN}",
        )
    asking = str(URL(url).update_query(audience=origin))
    return _text(await asked("GET", asking, headers={"Authorization": f"Bearer {token}"}), "value", "the CI system")


def _text(told: Mapping[str, Any], name: str, who: str) -> str:
    value = told.get(name)
    if not isinstance(value, str):
        raise ProtocolViolation(f"{who} gave no token")
    return value
