"""The page of a dataset: everything is told, and nothing that a publisher wrote is more than text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.facts_of_blocks import BlockFacts, ColumnFacts, Facts, LicenseFacts
from catalog.reports import KeptReport
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.metadata.annotations import AttachmentEmbedded
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput
from opendatafabric.multihash import physical_hash
from repo_server.pages.citations import bibtex, citation
from repo_server.pages.dataset_page import SeenDataset, block_rows, dataset_page, growth, web_address
from repo_server.pages.frame import Frame
from repo_server.pages.in_force import InForce, Source
from tests.repo_server.pages.seen import Seen
from tests.repo_server.pages.test_templates import HOSTILE
from tests.storage.chains import dataset_id
from verify.standing import Standing

HEAD = physical_hash(b"head")
ALIAS = DatasetAlias.from_text("alice/weather")
INPUT = dataset_id(7)
FACTS = Facts(
    HEAD,
    "derivative",
    blocks=3,
    records=1_500,
    bytes=2_048,
    updated_at=1_700_000_000.0,
    watermark="2026-01-01T00:00:00Z",
    description="Rain",
    keywords=("wet", "a&b"),
    license=LicenseFacts("CC0", "Creative Commons Zero", "CC0-1.0", "https://example.org/cc0"),
    columns=(ColumnFacts("offset", "Int64"), ColumnFacts("mm", "Float64?")),
)


def block(number: int, records: int) -> BlockFacts:
    name = physical_hash(str(number).encode())
    return BlockFacts(number, name, 1_700_000_000.0 + number, "AddData", records, records * 2)


CHAIN = [block(2, 1_500), block(1, 500), block(0, 0)]
TRANSFORM = Source(
    "Transform", engine="datafusion", queries=[SqlQueryStep(None, "select 1")], inputs=[TransformInput(INPUT, "rain")]
)
SEEN = SeenDataset(
    alias=ALIAS,
    id=dataset_id(),
    visibility="public",
    facts=FACTS,
    current=True,
    points=CHAIN[::-1],
    recent=CHAIN,
    reports=[KeptReport(dataset_id(), HEAD, HEAD, "valid", replayed=True, ended_at=1_700_000_500.0)],
    signers=["did:key:z6MkSigner"],
    standing=Standing.VERIFIED,
    in_force=InForce(
        [TRANSFORM],
        [AttachmentEmbedded("README.md", "# Hello"), AttachmentEmbedded("notes.txt", "more")],
    ),
    inputs={},
    base_url="http://repo.example.org",
)  # fmt: skip


def shown(**changes: object) -> Seen:
    return Seen(dataset_page(replace(SEEN, **changes), Frame()))  # type: ignore[arg-type]


def test_everything_is_told() -> None:
    text = " ".join(shown().texts.split())
    for part in (
        "weather",
        "Rain",
        "1,500",
        "2 KiB",
        "derivative",
        "CC0",
        "Creative Commons Zero",
        "Float64",
        "select 1",
    ):
        assert part in text
    for part in (
        str(dataset_id()),
        str(HEAD),
        "verified",
        "odf pull odf+http://repo.example.org/alice/weather",
        "notes.txt",
    ):
        assert part in text
    assert "New blocks are being read" not in text


def test_a_page_that_is_behind_says_so() -> None:
    assert "New blocks are being read" in shown(current=False).texts


def test_an_input_that_the_caller_may_see_is_a_link_and_others_are_names() -> None:
    assert "/bob/rain" in shown(inputs={str(INPUT): "bob/rain"}).values("href")
    assert "rain" in shown().texts
    assert "/bob/rain" not in shown().values("href")


def test_a_dataset_that_nobody_verified_says_so() -> None:
    assert "Nobody verified it here yet" in shown(reports=[], standing=Standing.UNKNOWN).texts


HOSTILE_FACTS = replace(
    FACTS,
    description=HOSTILE,
    keywords=(HOSTILE,),
    watermark=HOSTILE,
    license=LicenseFacts(HOSTILE, HOSTILE, HOSTILE, "javascript:alert(1)"),
    columns=(ColumnFacts(HOSTILE, HOSTILE),),
)
HOSTILE_PARTS = InForce(
    [
        Source(HOSTILE, yaml=HOSTILE),
        replace(
            TRANSFORM, engine=HOSTILE, queries=[SqlQueryStep(HOSTILE, HOSTILE)], inputs=[TransformInput(INPUT, HOSTILE)]
        ),
    ],
    [AttachmentEmbedded("README.md", HOSTILE), AttachmentEmbedded(HOSTILE, HOSTILE)],
)  # fmt: skip


def test_nothing_that_a_publisher_wrote_becomes_part_of_the_page() -> None:
    plain = shown()
    seen = shown(facts=HOSTILE_FACTS, in_force=HOSTILE_PARTS, signers=[HOSTILE])
    assert seen.names.count("script") == plain.names.count("script")
    assert "img" not in seen.names
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name == "style"]
    assert not [url for url in seen.values("href") if str(url).lower().startswith("javascript")]
    assert seen.texts.count("<script>alert(1)</script>") >= 9


@pytest.mark.parametrize(
    ("text", "followed"),
    [
        ("https://example.org/cc0", True),
        ("http://example.org", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("//example.org", False),
        ("http://[::1", False),
        ("", False),
    ],
)
def test_only_addresses_of_the_web_are_followed(text: str, *, followed: bool) -> None:
    assert (web_address(text) is not None) == followed


def test_blocks_tell_what_they_added() -> None:
    assert [row.added for row in block_rows(CHAIN)] == [1_000, 500, 0]
    assert [row.added for row in block_rows(CHAIN[:2])] == [1_000, 0]
    assert block_rows([]) == []


def test_growth_is_drawn_and_told() -> None:
    assert [(each.title, each.last) for each in growth(SEEN.points)] == [("Records", "1,500"), ("Bytes", "2.93 KiB")]
    assert growth([]) == []


def test_times_that_go_back_are_drawn_in_their_order() -> None:
    back = [replace(block(0, 1), system_time=9.0), replace(block(1, 2), system_time=5.0)]
    assert growth(back)[0].since == 5.0


def test_a_citation_names_dataset_version_and_place() -> None:
    text = citation(ALIAS, dataset_id(), FACTS, "http://repo.example.org")
    assert text.startswith("alice: weather (2023). Version f16")
    assert text.endswith(f"{dataset_id()}. http://repo.example.org/alice/weather")


def test_bibtex_has_a_field_a_line_and_closes_its_braces() -> None:
    text = bibtex(ALIAS, dataset_id(), FACTS, "http://repo.example.org")
    assert text.startswith("@misc{alice:weather,\n  title = {weather},\n  author = {{alice}},")
    assert text.count("{") == text.count("}")
    assert "author" not in bibtex(DatasetAlias(None, ALIAS.name), dataset_id(), FACTS, "")
