"""Keys of a dataset: one for every object, and no other text is one."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric import layout
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.layout import block_key, checkpoint_key, data_key, parse_key, ref_key, report_key
from opendatafabric.multihash import Multihash, physical_hash
from tests.opendatafabric.test_multihash import multihashes

HASH = physical_hash(b"hello")
KEYS = {"blocks": block_key, "data": data_key, "checkpoints": checkpoint_key, "reports": report_key}
every_folder = pytest.mark.parametrize("folder", KEYS)


@every_folder
@given(name=multihashes)
def test_a_key_gives_its_folder_and_hash_back(folder: str, name: Multihash) -> None:
    assert parse_key(KEYS[folder](name)) == (folder, name)


@every_folder
def test_a_key_is_the_folder_and_the_canonical_text_of_the_hash(folder: str) -> None:
    assert KEYS[folder](HASH) == f"{folder}/f16203338be694f50c5f338814986cdf0686453a888b84f424d792af4b9202398f392"


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/",
        "blocks",
        "blocks/",
        f"{HASH}",
        f"/blocks/{HASH}",
        f"./blocks/{HASH}",
        f"blocks//{HASH}",
        f"blocks/../data/{HASH}",
        f"blocks/{HASH}/",
        f"blocks/{HASH}\n",
        f"blocks/{HASH}\0",
        f"blocks/{HASH}.tmp",
        f"blocks/.{HASH}",
        f"Blocks/{HASH}",
        f"blobs/{HASH}",
        f"blocks\\{HASH}",
        f"blocks/{str(HASH).upper()}",
        f"blocks/F{str(HASH)[1:]}",
        f"blocks/{str(HASH)[:-1]}",
        f"blocks/{HASH}00",
        f"blocks/{str(HASH)[:-1]}２",
        "blocks/f9600203338be694f50c5f338814986cdf0686453a888b84f424d792af4b9202398f392",
        "blocks/zW1ctwD3op6gyZiVmXspKyxXuC8W31JZja9jopMYWQZF545",
        "refs/head",
        "info/alias",
        "blocks/" + "f" * 5_000_000,
    ],
    ids=lambda key: f"{ascii(key)[:24]}-{len(key)}",
)
def test_no_other_text_is_a_key_of_an_object(key: str) -> None:
    with pytest.raises(MalformedIdentifier) as refused:
        parse_key(key)
    assert len(refused.value.message) < 1_000


@given(st.text(alphabet="blocksdatf/.0123456789\n\0\\F", max_size=90))
def test_whatever_parses_is_the_key_of_what_it_parses_to(key: str) -> None:
    try:
        folder, name = parse_key(key)
    except MalformedIdentifier:
        return
    assert KEYS[folder](name) == key


def test_the_key_of_a_ref_takes_only_names_of_refs() -> None:
    assert ref_key("head") == "refs/head"
    with pytest.raises(MalformedIdentifier):
        ref_key("../head")


def test_every_folder_is_drawn_in_the_tree() -> None:
    drawing = layout.__doc__ or ""
    for folder in layout.ALL_FOLDERS:
        assert f" {folder}/" in drawing
    for key in layout.INFO_FILES:
        assert PurePosixPath(key).parent.name == layout.INFO
        assert PurePosixPath(key).name in drawing
