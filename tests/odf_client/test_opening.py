"""Datasets are opened by address, name and DID, on servers and here; everything that comes in is proved."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import odf_client
from catalog.visibility import Visibility
from odf_client import Cache
from opendatafabric.errors import (
    ChainsDiverged,
    DatasetNotFound,
    HashMismatch,
    MalformedIdentifier,
    PeerUnavailable,
    StorageError,
)
from tests.odf_client.conftest import Cities
from tests.repo_server.query.cities import add_cities
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples" / "datasets"
CITIES = ["kyiv", "lviv", "kyiv", "kyiv", "odesa", "lviv"]


def cached(cache: Cache) -> list[Path]:
    return list(cache.folder.glob("*/data/f1620*"))


@pytest.mark.parametrize("manner", ["odf+", ""])
def test_a_dataset_of_a_server_is_read_by_its_address(cities: Cities, cache: Cache, manner: str) -> None:
    dataset = odf_client.open(manner + cities.url, cache=cache)
    assert dataset.to_arrow()["city"].to_pylist() == CITIES
    assert dataset.to_arrow(["city"], projected=True)["city"].to_pylist() == ["kyiv", "odesa"]


def test_a_server_is_asked_by_name_and_by_did(cities: Cities, cache: Cache) -> None:
    repository = odf_client.Repository(cities.server.url, cache=cache)
    by_name = repository.open(str(cities.server.alias("cities")))
    by_did = odf_client.open(by_name.id, repository=cities.server.url, cache=cache)
    assert (by_did.head, by_did.url) == (by_name.head, by_name.url) == (by_name.head, cities.url)


def test_names_and_ids_that_a_server_has_not_are_told(multi: Cities, cache: Cache) -> None:
    repository = odf_client.Repository(multi.server.url, cache=cache)
    for ref in ("alice/nothing", "did:odf:fed01" + "0" * 64):
        with pytest.raises(DatasetNotFound):
            repository.open(ref)


def test_folders_are_opened_as_they_are(cache: Cache) -> None:
    folder = EXAMPLES / "us.faa.airports"
    assert odf_client.open(folder, cache=cache).count == 884
    assert odf_client.open(folder.as_uri(), cache=cache).count == 884
    assert odf_client.open("us.faa.airports", repository=EXAMPLES, cache=cache).count == 884
    assert not cache.folder.exists()


def test_what_is_neither_address_nor_folder_is_refused() -> None:
    with pytest.raises(MalformedIdentifier, match="airports"):
        odf_client.open("us.faa.airports")


def test_a_server_that_is_not_there_is_told(cache: Cache) -> None:
    with pytest.raises((PeerUnavailable, StorageError), match=r"127\.0\.0\.1"):
        odf_client.open("http://127.0.0.1:1/alice/cities", cache=cache)


def test_what_is_private_is_read_with_a_token_which_nothing_shows(multi: Cities, cache: Cache) -> None:
    multi.beside.run(add_cities(multi.server, multi.folder, name="secret", visibility=Visibility.PRIVATE))
    url, token = multi.server.url + "/alice/secret", multi.server.tokens["alice"]
    with pytest.raises(DatasetNotFound):
        odf_client.open(url, cache=cache)
    dataset = odf_client.open(url, token=token, cache=cache)
    assert dataset.to_arrow()["city"].to_pylist() == CITIES
    held = dataset._held
    assert token not in f"{dataset!r} {held.address!r} {vars(dataset)} {odf_client.Repository(url, token=token)!r}"


def test_a_flipped_byte_in_a_slice_is_refused_and_nothing_of_it_is_kept(own: Cities, cache: Cache) -> None:
    path = next((own.stored / "data").glob("f1620*"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    dataset = odf_client.open(own.url, cache=cache)
    with pytest.raises(HashMismatch):
        dataset.to_arrow()
    assert path.name not in {found.name for found in cached(cache)}


def test_a_flipped_byte_in_a_block_is_refused(own: Cities, cache: Cache) -> None:
    for path in (own.stored / "blocks").glob("f1620*"):
        path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises((HashMismatch, StorageError, PeerUnavailable)):
        odf_client.open(own.url, cache=cache)


def test_what_was_damaged_in_the_cache_is_fetched_anew(multi: Cities, cache: Cache) -> None:
    odf_client.open(multi.url, cache=cache).to_arrow()
    for path in cached(cache):
        path.write_bytes(b"x" * path.stat().st_size)
    assert odf_client.open(multi.url, cache=cache).to_arrow()["city"].to_pylist() == CITIES


def test_a_damaged_folder_is_told(own: Cities, cache: Cache) -> None:
    for path in (own.stored / "data").glob("f1620*"):
        path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(HashMismatch, match="damaged"):
        odf_client.open(own.stored, cache=cache).to_arrow()


def test_what_is_kept_is_nobody_elses_business(multi: Cities, cache: Cache) -> None:
    odf_client.open(multi.url, cache=cache)
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700


def test_a_dataset_stays_where_it_was_until_it_is_refreshed(own: Cities, cache: Cache) -> None:
    ours = odf_client.open(own.url, cache=cache)
    head = ours.head
    push_one_more(own)
    assert (ours.head, ours.to_arrow().num_rows) == (head, 6)
    assert ours.refresh().to_arrow().num_rows == 7
    assert odf_client.open(own.url, cache=cache).to_arrow(since_block=head)["city"].to_pylist() == ["kharkiv"]


def push_one_more(cities: Cities) -> None:
    from tests.pipeline.reading.histories import A, add  # noqa: PLC0415

    async def push() -> None:
        entry = await cities.server.repository.find(cities.server.alias("cities"))
        await add(entry.dataset, cities.folder, [(A, 6, "kharkiv", 1)], on=6)

    cities.beside.run(push())


def test_another_chain_at_the_address_is_taken_only_when_that_is_said(own: Cities, cache: Cache) -> None:
    before = odf_client.open(own.url, cache=cache)
    (second,) = [block for block in before.blocks() if block.sequence_number == 3]
    (own.stored / "refs" / "head").write_text(second.hash)
    with pytest.raises(ChainsDiverged) as raised:
        odf_client.open(own.url, cache=cache)
    assert "replace=True" in str(raised.value.hint)
    assert odf_client.open(own.url, cache=cache, replace=True).head == second.hash
