"""Conditions on claims, and names of accounts."""

from __future__ import annotations

from typing import Any

import pytest

from opendatafabric.errors import AccessDenied
from repo_server.oidc.claims import account_name, check_domain, meets


@pytest.mark.parametrize(
    ("claims", "conditions"),
    [
        ({}, {}),
        ({"repository": "alice/weather"}, {"repository": "alice/weather"}),
        ({"ref": "refs/tags/v1.2"}, {"ref": "refs/tags/v*"}),
        ({"groups": ["staff", "odf"]}, {"groups": "odf"}),
        ({"a": "[x]?"}, {"a": "[x]?"}),
    ],
)
def test_claims_that_are_like_their_patterns_meet_them(claims: dict[str, Any], conditions: dict[str, str]) -> None:
    assert meets(claims, conditions)


@pytest.mark.parametrize(
    ("claims", "conditions"),
    [
        ({}, {"repository": "*"}),
        ({"repository": None}, {"repository": "*"}),
        ({"repository": True}, {"repository": "*"}),
        ({"repository": {"x": "alice"}}, {"repository": "*"}),
        ({"repository": "alice/weather-2"}, {"repository": "alice/weather"}),
        ({"repository": "evil/alice/weather"}, {"repository": "alice/weather"}),
        ({"repository": "Alice/weather"}, {"repository": "alice/weather"}),
        ({"repository": "alice/weather\n"}, {"repository": "alice/weather"}),
        ({"ref": "refs/heads/main"}, {"ref": "refs/heads/?ain"}),
        ({"ref": "a"}, {"ref": "[a-z]"}),
        ({"a": "x", "b": "y"}, {"a": "x", "b": "z"}),
    ],
)
def test_others_do_not(claims: dict[str, Any], conditions: dict[str, str]) -> None:
    assert not meets(claims, conditions)


def test_only_verified_addresses_of_the_domains_are_let_in() -> None:
    check_domain({}, ())
    check_domain({"email": "carol@Example.org", "email_verified": True}, ("example.ORG",))
    for claims in (
        {},
        {"email": "carol@example.org"},
        {"email": "carol@example.org", "email_verified": "true"},
        {"email": "carol@example.org.evil.example", "email_verified": True},
        {"email": "carol@sub.example.org", "email_verified": True},
    ):
        with pytest.raises(AccessDenied):
            check_domain(claims, ("example.org",))


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"preferred_username": "Carol.K"}, "carol-k"),
        ({"preferred_username": "  carol__k@x "}, "carol-k-x"),
        ({"nickname": "carol"}, "carol"),
        ({"email": "carol@example.org"}, "carol"),
        ({"preferred_username": "../admin"}, "admin"),
        ({"preferred_username": "c" * 500}, "c" * 60),
    ],
)
def test_an_account_is_called_as_the_claim_says(claims: dict[str, Any], name: str) -> None:
    assert str(account_name(claims, "preferred_username")) == name


def test_an_identity_without_a_name_is_not_let_in() -> None:
    for claims in ({}, {"preferred_username": "…"}, {"preferred_username": "名"}):
        with pytest.raises(AccessDenied):
            account_name(claims, "preferred_username")
