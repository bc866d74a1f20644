"""What is asked of claims: conditions on their values, and names of accounts that follow from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import translate
from typing import Any

from opendatafabric.errors import AccessDenied, MalformedIdentifier
from opendatafabric.names import AccountName

_NAME_CHARS_MAX = 60


def meets(claims: Mapping[str, Any], conditions: Mapping[str, str]) -> bool:
    """Whether every condition holds: the claim is a text like the pattern, or a list with one; ``*`` is any text."""
    return all(_is_like(claims.get(name), pattern) for name, pattern in conditions.items())


def check_domain(claims: Mapping[str, Any], domains: tuple[str, ...]) -> None:
    """That the mail address is of one of ``domains``, if there are some, and known to be the person's own.

    Raises:
        AccessDenied: it is not.
    """
    _, _, domain = str(claims.get("email", "")).rpartition("@")
    is_known = claims.get("email_verified") is True and domain.lower() in {each.lower() for each in domains}
    if domains and not is_known:
        raise AccessDenied("this identity is not let in here: its mail address is of another domain, or not verified")


def account_name(claims: Mapping[str, Any], claim: str) -> AccountName:
    """What a new account is called: as the claim says, in the letters that names have.

    Raises:
        AccessDenied: nothing is left of it.
    """
    given = str(claims.get(claim) or claims.get("nickname") or str(claims.get("email", "")).partition("@")[0])
    plain = "-".join(re.findall(r"[a-z0-9]+", given.lower()))[:_NAME_CHARS_MAX].strip("-")
    try:
        return AccountName(plain)
    except MalformedIdentifier:
        raise AccessDenied(
            f"the issuer names nobody: claim '{claim}' is missing, or not of letters and digits"
        ) from None


def _is_like(value: object, pattern: str) -> bool:
    values = value if isinstance(value, list) else [value]
    like = re.compile(translate(pattern.replace("[", "[[]").replace("?", "[?]")))
    return any(
        isinstance(each, str | int) and not isinstance(each, bool) and like.fullmatch(str(each)) for each in values
    )
