"""Tokens in the catalog: what is kept, when they count, how they end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog import tokens
from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.scopes import Scope, covers, parse_patterns, with_included
from catalog.token_text import parse_token
from catalog.tokens import Authenticated, TokenExpired
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId, new_dataset_id
from opendatafabric.errors import AccessDenied, AuthenticationRequired, LimitExceeded, NotFound
from opendatafabric.names import AccountName
from opendatafabric.server_limits import ENDED_TOKENS_KEPT_S
from tests.catalog.conftest import Clock, bytes_under

ROOT = Account(AccountId.from_text(str(new_dataset_id(bytes(32)))), AccountName("root"), is_admin=True)
NAME = st.text("xy", min_size=1, max_size=3)
PATTERN = st.builds("{}{}{}".format, st.sampled_from(["", "a/", "b/"]), NAME, st.sampled_from(["", "*", "*x"]))


async def test_a_token_speaks_for_its_account(catalog: Catalog, alice: Account) -> None:
    token = await catalog.tokens.create(alice)
    authenticated = await catalog.tokens.authenticate(token)
    assert authenticated.account.id == alice.id
    assert authenticated.scopes == {Scope.DATASETS_READ, Scope.DATASETS_PUSH}


async def test_a_token_is_taken_in_lower_case_too(catalog: Catalog, alice: Account) -> None:
    token = await catalog.tokens.create(alice)
    assert (await catalog.tokens.authenticate(token.lower())).account.id == alice.id


async def test_what_lies_in_the_database_opens_nothing(catalog: Catalog, alice: Account, tmp_path: Path) -> None:
    token = await catalog.tokens.create(alice)
    stored = bytes_under(tmp_path)
    secret = parse_token(token).secret
    assert token.encode() not in stored
    assert secret not in stored
    assert secret.hex().encode() not in stored


async def test_a_token_is_good_for_what_its_scopes_include(catalog: Catalog, alice: Account) -> None:
    token = await catalog.tokens.create(alice, [Scope.DATASETS_MANAGE])
    granted = (await catalog.tokens.authenticate(token)).scopes
    assert granted == {Scope.DATASETS_READ, Scope.DATASETS_PUSH, Scope.DATASETS_MANAGE}


async def test_a_token_is_good_for_the_datasets_that_it_names(catalog: Catalog, alice: Account) -> None:
    token = await catalog.tokens.create(alice, datasets=parse_patterns(["alice/net.*", "bob/x"]))
    known = await catalog.tokens.authenticate(token)
    assert allowed(known, "alice/net.weather", "BOB/X", "alice/weather", "bob/net.weather") == [
        True,
        True,
        False,
        False,
    ]
    [info] = await catalog.tokens.list(alice)
    assert [str(pattern) for pattern in info.datasets] == ["alice/net.%", "bob/x"]


def allowed(known: Authenticated, *aliases: str) -> list[bool]:
    return [known.allows(Scope.DATASETS_PUSH, DatasetAlias.from_text(alias)) for alias in aliases]


async def test_a_token_counts_until_the_second_it_expires(catalog: Catalog, alice: Account, clock: Clock) -> None:
    token = await catalog.tokens.create(alice, expires_at=clock.now + 60)
    clock.now += 59.9
    assert (await catalog.tokens.authenticate(token)).account.id == alice.id
    clock.now += 0.1
    with pytest.raises(TokenExpired, match="Authentication token expired"):
        await catalog.tokens.authenticate(token)


async def test_a_revoked_token_is_as_good_as_an_unknown_one(catalog: Catalog, alice: Account) -> None:
    token = await catalog.tokens.create(alice)
    [info] = await catalog.tokens.list(alice)
    await catalog.tokens.revoke(info.id)
    with pytest.raises(AuthenticationRequired, match="Authentication token invalid"):
        await catalog.tokens.authenticate(token)


async def test_a_token_is_revoked_for_every_other_process_at_once(url: str, catalog: Catalog, alice: Account) -> None:
    token = await catalog.tokens.create(alice)
    async with open_catalog(url) as other:
        assert (await other.tokens.authenticate(token)).account.id == alice.id
        [info] = await catalog.tokens.list(alice)
        await catalog.tokens.revoke(info.id)
        with pytest.raises(AuthenticationRequired):
            await other.tokens.authenticate(token)


async def test_a_token_of_a_disabled_account_is_as_good_as_an_unknown_one_for_every_process(
    url: str, catalog: Catalog, alice: Account
) -> None:
    token = await catalog.tokens.create(alice)
    async with open_catalog(url) as other:
        await catalog.accounts.disable(alice.name)
        with pytest.raises(AuthenticationRequired, match="Authentication token invalid"):
            await other.tokens.authenticate(token)
        await catalog.accounts.enable(alice.name)
        assert (await other.tokens.authenticate(token)).account == alice


@pytest.mark.parametrize("token_id", ["", "00000000-0000-0000-0000-000000000000", "' OR 1=1 --", "x" * 10_000])
async def test_revoking_what_is_not_there_is_told(catalog: Catalog, alice: Account, token_id: str) -> None:
    await catalog.tokens.create(alice)
    with pytest.raises(NotFound):
        await catalog.tokens.revoke(token_id)
    [info] = await catalog.tokens.list()
    assert info.revoked_at is None


async def test_revoking_twice_is_told(catalog: Catalog, alice: Account) -> None:
    await catalog.tokens.create(alice)
    [info] = await catalog.tokens.list()
    await catalog.tokens.revoke(info.id)
    with pytest.raises(NotFound):
        await catalog.tokens.revoke(info.id)


async def test_the_right_id_with_another_secret_is_refused(catalog: Catalog, alice: Account) -> None:
    first, second = await catalog.tokens.create(alice), await catalog.tokens.create(alice)
    with pytest.raises(AuthenticationRequired, match="invalid"):
        await catalog.tokens.authenticate(first[:20] + second[20:])


@pytest.mark.parametrize("text", ["", "ka_", "eyJhbGciOiJIUzM4NCJ9.e30.x", "' OR 1=1 --", "\x00", "ka_" + "Z" * 58])
async def test_foreign_texts_are_refused(catalog: Catalog, text: str) -> None:
    with pytest.raises(AuthenticationRequired, match="Authentication token invalid"):
        await catalog.tokens.authenticate(text)


async def test_tokens_are_listed_per_account_and_without_secrets(
    catalog: Catalog, alice: Account, bob: Account, clock: Clock
) -> None:
    token = await catalog.tokens.create(alice, [Scope.DATASETS_READ], expires_at=clock.now + 5)
    await catalog.tokens.create(bob)
    [info] = await catalog.tokens.list(alice)
    assert info.account == AccountName("alice")
    assert info.scopes == {Scope.DATASETS_READ}
    assert (info.created_at, info.expires_at) == (clock.now, clock.now + 5)
    assert token not in repr(info)
    assert len(await catalog.tokens.list()) == 2


def known(account: Account, scopes: list[Scope], *patterns: str) -> Authenticated:
    return Authenticated(account, with_included(scopes), parse_patterns(patterns))


def gives(own: Authenticated, scopes: list[Scope], *patterns: str) -> bool:
    try:
        own.check_may_give(scopes, parse_patterns(patterns))
    except AccessDenied:
        return False
    return True


@given(st.sets(st.sampled_from(Scope)), st.sets(st.sampled_from(Scope)))
def test_a_token_never_gives_a_scope_that_it_has_not(held: set[Scope], wanted: set[Scope]) -> None:
    own = known(ROOT, list(held))
    assert gives(own, list(wanted)) is (with_included(wanted) <= own.scopes)


def test_the_scope_admin_is_given_by_administrators_alone(alice: Account) -> None:
    assert gives(known(ROOT, [Scope.ADMIN]), [Scope.ADMIN])
    assert not gives(known(alice, [Scope.ADMIN]), [Scope.ADMIN])


@given(st.lists(PATTERN, min_size=1, max_size=3), st.lists(PATTERN, max_size=3), NAME)
def test_what_a_bound_token_gives_covers_nothing_that_it_does_not(
    held: list[str], wanted: list[str], name: str
) -> None:
    own = known(ROOT, [Scope.DATASETS_READ], *held)
    alias = DatasetAlias.from_text(f"a/{name}")
    if gives(own, [Scope.DATASETS_READ], *wanted) and covers(parse_patterns(wanted), alias):
        assert covers(own.datasets, alias)


async def test_tokens_that_ended_long_ago_are_forgotten(catalog: Catalog, alice: Account, clock: Clock) -> None:
    await catalog.tokens.create(alice, expires_at=clock.now + 1)
    await catalog.tokens.create(alice)
    [_, endless] = await catalog.tokens.list()
    await catalog.tokens.create(alice)
    await catalog.tokens.revoke((await catalog.tokens.list())[-1].id)
    clock.now += ENDED_TOKENS_KEPT_S
    await catalog.tokens.create(alice)
    assert len(await catalog.tokens.list()) == 4
    clock.now += 2
    await catalog.tokens.create(alice)
    left = await catalog.tokens.list()
    assert len(left) == 3
    assert endless.id in {info.id for info in left}


async def test_an_account_has_so_many_tokens_and_no_more(
    catalog: Catalog, alice: Account, bob: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "ACCOUNT_TOKENS_MAX", 2)
    await catalog.tokens.create(alice)
    await catalog.tokens.create(alice)
    with pytest.raises(LimitExceeded, match="too many tokens"):
        await catalog.tokens.create(alice)
    await catalog.tokens.create(bob)


async def test_a_token_of_another_account_is_not_revoked_as_ones_own(
    catalog: Catalog, alice: Account, bob: Account
) -> None:
    await catalog.tokens.create(alice)
    [info] = await catalog.tokens.list()
    with pytest.raises(NotFound):
        await catalog.tokens.revoke(info.id, of=bob)
    await catalog.tokens.revoke(info.id, of=alice)


async def test_many_are_looked_at_at_once_and_none_that_does_not_count(catalog: Catalog, clock: Clock) -> None:
    alice = await catalog.accounts.create(AccountName("alice"))
    good = [await catalog.tokens.create(alice, {Scope.DATASETS_READ}) for _ in range(3)]
    over = await catalog.tokens.create(alice, expires_at=clock.now - 1)
    found = await catalog.tokens.authenticate_all([*good, over, "nonsense", good[0].replace(good[0][5], "!")])
    assert found == {text: Authenticated(alice, frozenset({Scope.DATASETS_READ})) for text in good}
    assert {info.last_used_at for info in await catalog.tokens.list()} == {None}
