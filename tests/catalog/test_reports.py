"""The list of reports: by dataset and by name, how the verdict changed, and which reports may go."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from catalog.catalog import Catalog
from catalog.reports import KeptReport, VerdictSpan, expendable, history
from opendatafabric.did import new_dataset_id
from opendatafabric.multihash import physical_hash

MINE, OTHER = new_dataset_id(bytes(32)), new_dataset_id(bytes([1] * 32))


def report(at: float, verdict: str = "valid", dataset_id: object = MINE) -> KeptReport:
    name = physical_hash(f"{at} {dataset_id}".encode())
    return KeptReport(dataset_id, name, None, verdict, replayed=False, ended_at=at)  # type: ignore[arg-type]


def rows(verdicts: Sequence[str]) -> list[KeptReport]:
    """The first one is the newest."""
    return [report(100.0 - number, verdict) for number, verdict in enumerate(verdicts)]


async def test_reports_of_a_dataset_come_back_newest_first(catalog: Catalog) -> None:
    for each in (report(2), report(3, "invalid"), report(1), report(9, dataset_id=OTHER)):
        await catalog.reports.add(each)
    assert await catalog.reports.of(MINE) == [report(3, "invalid"), report(2), report(1)]
    assert await catalog.reports.last(MINE) == report(3, "invalid")


async def test_a_dataset_without_reports_has_no_last_one(catalog: Catalog) -> None:
    assert await catalog.reports.of(MINE) == []
    assert await catalog.reports.last(MINE) is None


async def test_a_report_is_found_by_its_name(catalog: Catalog) -> None:
    await catalog.reports.add(report(1))
    assert await catalog.reports.find(report(1).hash) == report(1)
    assert await catalog.reports.find(report(2).hash) is None


async def test_a_report_that_is_known_stays_as_it_is(catalog: Catalog) -> None:
    await catalog.reports.add(report(1))
    await catalog.reports.add(report(1))
    assert await catalog.reports.of(MINE) == [report(1)]


async def test_what_is_forgotten_is_not_listed(catalog: Catalog) -> None:
    for each in (report(1), report(2), report(1, dataset_id=OTHER)):
        await catalog.reports.add(each)
    await catalog.reports.forget(MINE, [report(1).hash])
    assert await catalog.reports.of(MINE) == [report(2)]
    assert await catalog.reports.of(OTHER) == [report(1, dataset_id=OTHER)]


def test_the_history_tells_since_when_and_until_when_a_verdict_was_seen() -> None:
    assert history(rows(["valid", "valid", "invalid", "valid"])) == [
        VerdictSpan("valid", 99.0, 100.0, 2),
        VerdictSpan("invalid", 98.0, 98.0, 1),
        VerdictSpan("valid", 97.0, 97.0, 1),
    ]


def test_of_equal_verdicts_in_a_row_those_between_the_first_and_the_last_may_go() -> None:
    kept = rows(["valid"] * 5)
    assert expendable(kept, keep_last=2) == kept[2:4]


verdicts = st.lists(st.sampled_from(["valid", "invalid", "error"]), max_size=12)


@given(verdicts, st.integers(1, 6))
def test_letting_reports_go_changes_no_history(found: list[str], keep_last: int) -> None:
    before = rows(found)
    gone = expendable(before, keep_last=keep_last)
    left = [each for each in before if each not in gone]
    assert left[:keep_last] == before[:keep_last]
    spans = [[(each.verdict, each.first_seen, each.last_seen) for each in history(some)] for some in (before, left)]
    assert spans[0] == spans[1]


@given(verdicts, st.integers(1, 6))
def test_no_more_is_kept_than_the_last_and_two_for_each_verdict(found: list[str], keep_last: int) -> None:
    before = rows(found)
    left = len(before) - len(expendable(before, keep_last=keep_last))
    assert left <= keep_last + 2 * len(history(before))


async def test_the_last_report_of_each_dataset_is_found_at_once(catalog: Catalog) -> None:
    for each in (report(5), report(7), report(6, dataset_id=OTHER)):
        await catalog.reports.add(each)
    found = await catalog.reports.last_of_each([MINE, OTHER, new_dataset_id(bytes([2] * 32))])
    assert {each: found[each].ended_at for each in found} == {MINE: 7, OTHER: 6}
    assert set(await catalog.reports.last_of_each([OTHER])) == {OTHER}
