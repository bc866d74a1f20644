"""The pages of reports: everything that a report says is there, as text, and nothing can be run or loaded."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from dataclasses import replace

import pytest

from catalog.reports import KeptReport, history
from opendatafabric.multihash import physical_hash
from repo_server.pages.frame import ALONE_POLICY, Frame
from repo_server.pages.report_pages import report_list_page, report_page
from tests.repo_server.pages.seen import Seen
from tests.verify.reports import BLOCK, BY_ANOTHER, DAMAGE, DATASET, HEAD, INPUT, OF_NO_BLOCK, SOUND, WRONG, record
from tests.verify.test_environment import ENGINE
from verify.environment import environment
from verify.report import Finding, Verdict
from verify.report_record import ReportRecord

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=y>"
NAME = physical_hash(b"report")


def shown(made: ReportRecord) -> Seen:
    return Seen(report_page(NAME, made))


def kept(verdict: str, at: float) -> KeptReport:
    return KeptReport(DATASET, physical_hash(str(at).encode()), HEAD, verdict, replayed=True, ended_at=at)


def test_a_report_is_shown_whole() -> None:
    made = record(DAMAGE, OF_NO_BLOCK, steps=[WRONG, SOUND], inputs={INPUT: (Verdict.VALID, BLOCK)}, omitted=7)
    text = shown(made).texts
    for part in ("alice/large", "object-damaged", "data/f1620aa", "ref-dangling", "Kyiv", "Lviv", "mismatch"):
        assert part in text
    for part in (str(DATASET), str(HEAD), str(INPUT), str(BLOCK), "3.13.0", "1,500 ms", "no room for 7 findings"):
        assert part in text


def test_the_version_that_agreed_is_shown() -> None:
    assert "valid by spark 3.5.8" in shown(record(steps=[BY_ANOTHER])).texts


def test_a_sound_report_says_that_nothing_was_found() -> None:
    assert "Nothing was found" in shown(record()).texts


def test_what_spark_computed_with_is_shown() -> None:
    text = shown(record().model_copy(update={"environment": environment(ENGINE)})).texts
    assert "pyspark 4.1.0, in a sandbox" in text


@pytest.mark.parametrize("field", ["code", "message", "object_key", "expected", "found", "hint"])
def test_nothing_that_a_publisher_wrote_becomes_part_of_the_page(field: str) -> None:
    finding: Finding = replace(DAMAGE, **{field: HOSTILE})  # type: ignore[arg-type]
    seen = shown(record(finding))
    assert {"script", "img"} & set(seen.names) == set()
    assert HOSTILE in seen.texts


def test_a_hostile_name_stays_a_name() -> None:
    made = record().model_copy(update={"alias": HOSTILE})
    assert "img" not in shown(made).names
    assert "img" not in Seen(report_list_page(HOSTILE, [], [])).names


@pytest.mark.parametrize("page", [report_page(NAME, record(DAMAGE)), report_list_page("a", [], [])])
def test_a_page_in_a_file_loads_and_runs_nothing_and_its_style_is_the_one_allowed(page: str) -> None:
    seen = Seen(page)
    assert not {"script", "link", "iframe", "form", "img", "object"} & set(seen.names)
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name in {"src", "style"}]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    allowed = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{allowed}'" in ALONE_POLICY
    assert "default-src 'none'" in ALONE_POLICY
    assert ALONE_POLICY in [html.unescape(value or "") for value in seen.values("content")]


@pytest.mark.parametrize("root", ["", "/data"])
def test_a_page_from_a_server_loads_what_lies_below_its_root_alone(root: str) -> None:
    seen = Seen(report_page(NAME, record(DAMAGE), Frame(root)))
    loaded = [*seen.values("src"), *(value for value in seen.values("href") if value and not value.startswith("#"))]
    assert loaded
    assert all(value and value.startswith(f"{root}/") for value in loaded)
    assert "style" not in seen.names


def test_pages_fit_a_phone_and_the_dark_and_say_their_language() -> None:
    page = report_page(NAME, record())
    assert '<html lang="en">' in page
    assert "width=device-width" in page
    assert "light-dark(" in page


def test_the_list_shows_the_history_and_leads_to_every_report() -> None:
    reports = [kept("invalid", 300), kept("valid", 200), kept("valid", 100)]
    seen = Seen(report_list_page("alice/large", reports, history(reports)))
    assert seen.values("href") == [f"reports/{each.hash}" for each in reports]
    assert "1970-01-01T00:01:40Z" in seen.values("datetime")


def test_a_dataset_that_was_never_verified_says_so() -> None:
    assert "No verification has been made here yet" in report_list_page("a", [], [])
