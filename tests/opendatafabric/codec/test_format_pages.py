"""The pages on blocks and manifests show what is: their examples are read, written and hashed here."""

from __future__ import annotations

import re

import pytest

from opendatafabric import limits
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.codec.yaml_codec import MANIFEST_VERSIONS, read_block_manifest, read_snapshot, write_block_manifest
from opendatafabric.errors import MalformedManifest
from opendatafabric.metadata.events import MetadataEvent
from tests.source_tree import ROOT

BLOCKS_PAGE = (ROOT / "docs/formats/metadata-blocks.md").read_text(encoding="utf-8")
MANIFESTS_PAGE = (ROOT / "docs/reference/manifests.md").read_text(encoding="utf-8")


def fenced(page: str, language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_example_block_has_the_bytes_and_the_hash_that_are_shown() -> None:
    text = fenced(BLOCKS_PAGE, "yaml")
    rows = re.findall(r"^([0-9a-f]{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})", fenced(BLOCKS_PAGE, "text"), re.MULTILINE)

    block = encode_block(read_block_manifest(text))

    assert write_block_manifest(block.block) == text
    assert "".join(shown for _, shown in rows).replace(" ", "") == block.raw.hex()[: 2 * len(block.raw)]
    assert [int(address, 16) for address, _ in rows] == [
        sum(len(bytes.fromhex(shown)) for _, shown in rows[:index]) for index in range(len(rows))
    ]
    assert f"{len(block.raw)} bytes with the hash `{block.hash}`" in BLOCKS_PAGE


def test_every_event_is_listed_with_its_number() -> None:
    for number, event in enumerate(MetadataEvent.__args__, 1):
        assert re.search(rf"\b{number}\s+{event.__name__}\b", BLOCKS_PAGE), event.__name__


def test_the_example_snapshot_is_one() -> None:
    snapshot = read_snapshot(fenced(MANIFESTS_PAGE, "yaml"))

    assert str(snapshot.name) == "city.population"


def test_the_example_of_an_error_is_what_one_gets() -> None:
    text = fenced(MANIFESTS_PAGE, "yaml").replace("header: true", "header: yes")

    with pytest.raises(MalformedManifest) as caught:
        read_snapshot(text)

    assert f"`{caught.value.message}`" in MANIFESTS_PAGE


def test_every_kind_of_manifest_is_listed_with_its_version() -> None:
    for kind, version in MANIFEST_VERSIONS.items():
        assert f"| `{kind}` | {version} |" in MANIFESTS_PAGE


def test_the_limits_are_those_of_the_code() -> None:
    assert f"{limits.MANIFEST_BYTES_MAX // 1024 // 1024} Mi characters" in MANIFESTS_PAGE
    assert f"{limits.MANIFEST_DEPTH_MAX} levels" in MANIFESTS_PAGE
    assert f"{limits.MANIFEST_NODES_MAX:,} values" in MANIFESTS_PAGE
    assert f"more than {limits.BLOCK_DEPTH_MAX} deep" in BLOCKS_PAGE
    assert f"Over {limits.BLOCK_BYTES_MAX // 1024 // 1024} MiB" in BLOCKS_PAGE
