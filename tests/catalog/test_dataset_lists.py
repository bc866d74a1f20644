"""Lists of datasets: who sees what, in which order, and which of them hold some words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.dataset_filters import Filters
from catalog.dataset_lists import EVERYTHING, Counts
from catalog.dataset_order import Order, Place
from catalog.datasets import DatasetRecord
from catalog.facts_of_blocks import ColumnFacts, Facts, LicenseFacts
from catalog.reports import KeptReport
from catalog.roles import Role
from catalog.standings import Standing
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.multihash import Multihash, physical_hash
from opendatafabric.names import AccountName

HEAD = physical_hash(b"head")
NUMBERS: Mapping[str, int] = {"open": 1, "hidden": 2, "unlisted": 3}


def id_of(name: str) -> DatasetId:
    return new_dataset_id(name.encode().ljust(32, b"."))


async def put(
    catalog: Catalog, owner: Account, name: str, visibility: Visibility = Visibility.PUBLIC, **facts: object
) -> None:
    record = DatasetRecord(id_of(name), DatasetAlias.from_text(f"alice/{name}"), owner.id, visibility)
    await catalog.datasets.put(record)
    made = Facts(HEAD, **{"kind": "root", "updated_at": 1.0, **facts})  # type: ignore[arg-type]
    assert await catalog.dataset_facts.advance(record.id, made, [], expected_head=None)


@pytest.fixture
async def root(catalog: Catalog) -> Account:
    return await catalog.accounts.create(AccountName("root"), is_admin=True)


@pytest.fixture
async def three(catalog: Catalog, alice: Account) -> None:
    """One of each visibility."""
    await put(catalog, alice, "open")
    await put(catalog, alice, "hidden", Visibility.PRIVATE)
    await put(catalog, alice, "unlisted", Visibility.UNLISTED)


async def names(
    catalog: Catalog,
    reader: Account | None,
    filters: Filters = EVERYTHING,
    *,
    order: Order = Order.NEWEST,
    count: int = 100,
    after: Place | None = None,
) -> list[str]:
    found = await catalog.dataset_lists.list(reader, filters=filters, order=order, count=count, after=after)
    return [str(each.alias.name) for each in found]


async def verify(catalog: Catalog, name: str, verdict: str, at: float = 1.0, head: Multihash = HEAD) -> None:
    report = physical_hash(f"{name}{at}".encode())
    await catalog.reports.add(KeptReport(id_of(name), report, head, verdict, replayed=False, ended_at=at))


@pytest.mark.usefixtures("three")
async def test_strangers_see_what_is_public_and_nothing_that_is_unlisted(catalog: Catalog, bob: Account) -> None:
    assert await names(catalog, None) == ["open"]
    assert await names(catalog, bob) == ["open"]


@pytest.mark.usefixtures("three")
async def test_owners_and_administrators_see_all(catalog: Catalog, alice: Account, root: Account) -> None:
    assert set(await names(catalog, alice)) == set(NUMBERS)
    assert set(await names(catalog, root)) == set(NUMBERS)


@pytest.mark.usefixtures("three")
async def test_a_role_in_a_dataset_or_an_account_shows_what_it_is_for(
    catalog: Catalog, alice: Account, bob: Account
) -> None:
    await catalog.roles.grant(id_of("hidden"), bob, Role.READER)
    assert set(await names(catalog, bob)) == {"open", "hidden"}
    await catalog.roles.grant(alice.id, bob, Role.READER)
    assert set(await names(catalog, bob)) == set(NUMBERS)
    assert await names(catalog, None) == ["open"]


async def test_what_was_not_looked_at_yet_is_not_listed(catalog: Catalog, alice: Account) -> None:
    record = DatasetRecord(id_of("new"), DatasetAlias.from_text("alice/new"), alice.id, Visibility.PUBLIC)
    await catalog.datasets.put(record)
    assert await names(catalog, None) == []


async def test_orders(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "b", updated_at=3.0, bytes=1)
    await put(catalog, alice, "a", updated_at=1.0, bytes=2)
    await put(catalog, alice, "c", updated_at=2.0, bytes=9)
    assert await names(catalog, None, order=Order.NEWEST) == ["b", "c", "a"]
    assert await names(catalog, None, order=Order.SIZE) == ["c", "a", "b"]
    assert await names(catalog, None, order=Order.NAME) == ["a", "b", "c"]
    assert await names(catalog, None, order=Order.RELEVANCE) == ["b", "c", "a"]


@pytest.mark.parametrize("order", Order)
async def test_a_list_goes_on_where_it_ended_whatever_came_meanwhile(
    catalog: Catalog, alice: Account, order: Order
) -> None:
    for number in range(8):
        await put(catalog, alice, f"d{number}", description="rain " * (number % 3), updated_at=float(number % 4))
    filters = Filters(words="rain") if order is Order.RELEVANCE else Filters()
    whole = await names(catalog, None, filters, order=order)
    shown, after = [], None
    for number in range(9):
        page = await catalog.dataset_lists.list(None, filters=filters, order=order, count=1, after=after)
        if not page:
            break
        shown.append(str(page[0].alias.name))
        after = page[0].place
        await put(catalog, alice, f"late{number}", description="snow", updated_at=99.0, bytes=99)
    assert [name for name in shown if not name.startswith("late")] == whole


async def test_a_list_goes_on_even_where_its_last_dataset_is_gone(catalog: Catalog, alice: Account) -> None:
    for number in range(3):
        await put(catalog, alice, f"rain{number}", description="rain " * number)
    rain = Filters(words="rain*")
    first = await catalog.dataset_lists.list(None, filters=rain, order=Order.RELEVANCE, count=1)
    left = set((await names(catalog, None, rain, order=Order.RELEVANCE))[1:])
    await catalog.datasets.forget(first[0].id)
    assert set(await names(catalog, None, rain, order=Order.RELEVANCE, after=first[0].place)) <= left


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("RAIN", True),
        ("rain kyiv", True),
        ("rain snow", False),
        ("temp_max", True),
        ("max_temp", False),
        ("%", False),
        ("rain %", True),
        ("weath", True),
        ("weath rain", False),
        ("ather", False),
        ("alice/wea", True),
        ("cafe", True),
        ("CAFÉ", True),
        ("select", True),
        ("Creative cc-by", True),
    ],
)
async def test_every_word_must_be_somewhere_and_the_last_may_go_on(
    catalog: Catalog, alice: Account, words: str, *, found: bool
) -> None:
    await put(
        catalog,
        alice,
        "weather",
        description="Rain of a day at the café",
        keywords=("Kyiv",),
        columns=(ColumnFacts("temp_max", ""),),
        sql="SELECT 1 FROM x",
        license=LicenseFacts("CC-BY", "Creative Commons", "CC-BY-4.0", ""),
    )
    assert await names(catalog, None, Filters(words=words)) == (["weather"] if found else [])


async def test_what_is_called_so_stands_before_what_mentions_it(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "a", description="rain rain rain", updated_at=9.0)
    await put(catalog, alice, "rain", description="of a day and of many other days", updated_at=1.0)
    await put(catalog, alice, "b", keywords=("rain",), updated_at=5.0)
    found = await names(catalog, None, Filters(words="rain"), order=Order.RELEVANCE)
    assert (found[0], set(found)) == ("rain", {"rain", "a", "b"})


HOSTILE = ['"', "'", '""', "z OR", "NEAR(z b)", "name:x", "^z", "z*", "(", "-z", "{z b}:c", "\0", "z\0b", "\ud800"]


@pytest.mark.parametrize("words", [*HOSTILE, "x" * 10_000])
async def test_no_words_are_an_error(catalog: Catalog, alice: Account, words: str) -> None:
    await put(catalog, alice, "open")
    assert await names(catalog, None, Filters(words=words), order=Order.RELEVANCE) == []


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.UNLISTED])
async def test_what_somebody_may_not_see_is_neither_found_nor_counted(
    catalog: Catalog, alice: Account, bob: Account, visibility: Visibility
) -> None:
    await put(catalog, alice, "hidden", visibility, description="rain")
    rain = Filters(words="rain")
    for reader in (None, bob):
        assert await names(catalog, reader, rain) == []
        assert await catalog.dataset_lists.counted(reader, rain) == Counts(0)
    assert await names(catalog, alice, rain) == ["hidden"]
    assert (await catalog.dataset_lists.counted(alice, rain)).total == 1


async def test_what_a_dataset_is_called_now_is_found(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "before")
    record = DatasetRecord(id_of("before"), DatasetAlias.from_text("alice/after"), alice.id, Visibility.PUBLIC)
    await catalog.datasets.put(record)
    assert await names(catalog, None, Filters(words="before")) == []
    assert await names(catalog, None, Filters(words="after")) == ["after"]


async def test_what_was_known_before_its_name_is_found_by_it(catalog: Catalog, alice: Account) -> None:
    assert await catalog.dataset_facts.advance(id_of("late"), Facts(HEAD, "root"), [], expected_head=None)
    await catalog.datasets.put(
        DatasetRecord(id_of("late"), DatasetAlias.from_text("alice/late"), alice.id, Visibility.PUBLIC)
    )
    assert await names(catalog, None, Filters(words="late")) == ["late"]


async def test_what_is_forgotten_is_not_found(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "rain")
    await catalog.datasets.forget(id_of("rain"))
    await put(catalog, alice, "snow")
    assert await names(catalog, None, Filters(words="rain")) == []
    assert await names(catalog, None, Filters(words="snow")) == ["snow"]


async def test_texts_that_changed_are_found_and_those_before_are_not(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "weather", description="rain")
    after = Facts(physical_hash(b"next"), "root", description="snow")
    assert await catalog.dataset_facts.advance(id_of("weather"), after, [], expected_head=HEAD)
    assert await names(catalog, None, Filters(words="rain")) == []
    assert await names(catalog, None, Filters(words="snow")) == ["weather"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(kind="root"), {"old", "new"}),
        (Filters(kind="derivative"), {"made"}),
        (Filters(kind="derivative", words="made"), {"made"}),
        (Filters(kind="root", words="made"), set()),
        (Filters(standing=Standing.VERIFIED), {"old"}),
        (Filters(standing=Standing.STALE), {"new"}),
        (Filters(standing=Standing.FAILING), set()),
        (Filters(standing=Standing.UNKNOWN), {"made"}),
        (Filters(license="cc-by-4.0"), {"old"}),
        (Filters(license="own"), {"new"}),
        (Filters(keyword="RAIN"), {"old"}),
        (Filters(keyword="rai"), set()),
        (Filters(updated_since=2.0), {"new", "made"}),
        (Filters(updated_before=2.0), {"old"}),
        (Filters(updated_since=2.0, updated_before=3.0), {"new"}),
    ],
)
async def test_filters(catalog: Catalog, alice: Account, filters: Filters, expected: set[str]) -> None:
    spdx, own = LicenseFacts("CC-BY", "", "CC-BY-4.0", ""), LicenseFacts("Own", "", None, "")
    await put(catalog, alice, "old", updated_at=1.0, license=spdx, keywords=("Rain", "snow"))
    await put(catalog, alice, "new", updated_at=2.0, license=own)
    await put(catalog, alice, "made", updated_at=3.0, kind="derivative")
    await verify(catalog, "old", "invalid", 1.0)
    await verify(catalog, "old", "valid", 2.0)
    await verify(catalog, "new", "valid", 1.0, physical_hash(b"another head"))
    await verify(catalog, "made", "error")
    assert set(await names(catalog, None, filters)) == expected
    assert (await catalog.dataset_lists.counted(None, filters)).total == len(expected)


async def test_as_many_are_counted_as_there_would_be_if_that_was_chosen_instead(
    catalog: Catalog, alice: Account
) -> None:
    spdx = LicenseFacts("CC-BY", "", "CC-BY-4.0", "")
    await put(catalog, alice, "a", license=spdx)
    await put(catalog, alice, "b")
    await put(catalog, alice, "c", kind="derivative", license=spdx)
    await verify(catalog, "a", "valid")
    counts = await catalog.dataset_lists.counted(None, Filters(kind="root", license="cc-by-4.0"))
    assert counts == Counts(1, {"root": 1, "derivative": 1}, {"verified": 1}, {"CC-BY-4.0": 1})


async def test_of_very_many_nothing_is_counted(
    catalog: Catalog, alice: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catalog.dataset_lists.COUNTED_DATASETS_MAX", 1)
    await put(catalog, alice, "a")
    assert (await catalog.dataset_lists.counted(None)).total == 1
    await put(catalog, alice, "b")
    assert await catalog.dataset_lists.counted(None) == Counts()


async def test_an_account_is_listed_alone(catalog: Catalog, alice: Account, bob: Account) -> None:
    await put(catalog, alice, "a")
    await put(catalog, bob, "b")
    assert await names(catalog, None, Filters(owner=bob.id)) == ["b"]


async def test_what_was_found_valid_last_stands_first_and_once(catalog: Catalog, alice: Account) -> None:
    for name in ("a", "b", "c", "hidden"):
        await put(catalog, alice, name, Visibility.PRIVATE if name == "hidden" else Visibility.PUBLIC)
    told = [
        ("a", 1.0, "valid"),
        ("b", 2.0, "valid"),
        ("a", 3.0, "valid"),
        ("c", 4.0, "invalid"),
        ("hidden", 5.0, "valid"),
    ]
    for name, at, verdict in told:
        await verify(catalog, name, verdict, at)
    found = await catalog.dataset_lists.verified(None, count=9)
    assert [(str(each.dataset.alias.name), each.verified_at) for each in found] == [("a", 3.0), ("b", 2.0)]
    await verify(catalog, "a", "invalid", 9.0)
    found = await catalog.dataset_lists.verified(None, count=9)
    assert [str(each.dataset.alias.name) for each in found] == ["b"]
