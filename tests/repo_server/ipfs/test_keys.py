"""Keys of IPNS names: made once, kept from others, the same for every server that reads the same file."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opendatafabric.errors import AccessDenied, MalformedInput, StorageError
from opendatafabric.instant import Instant
from opendatafabric.ipfs.ipns import IpnsRecord, verify_record
from repo_server.ipfs.keys import IpnsKeys
from tests.storage.chains import dataset_id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".ipns-key"


def test_the_file_is_made_for_its_owner_alone(path: Path) -> None:
    IpnsKeys.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == [".ipns-key"]


def test_the_same_file_gives_the_same_names(path: Path) -> None:
    first, again = IpnsKeys.open(path), IpnsKeys.open(path)
    assert first.name_of(dataset_id()) == again.name_of(dataset_id())
    assert first.peer_id == again.peer_id


def test_servers_that_start_at_once_agree(path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(IpnsKeys.open, [path] * 8))
    assert len({keys.peer_id for keys in opened}) == 1


def test_every_dataset_and_every_secret_has_its_own_name() -> None:
    keys = IpnsKeys(bytes(32))
    names = {str(keys.name_of(dataset_id(number))) for number in range(10)}
    assert len(names | {keys.peer_id, str(IpnsKeys(b"x" * 32).name_of(dataset_id(0)))}) == 12


def test_what_is_signed_is_of_the_name() -> None:
    keys = IpnsKeys(bytes(32))
    record = IpnsRecord("/ipfs/bafkqaaa", 1, Instant.from_datetime(datetime(2030, 1, 1, tzinfo=UTC)), 60)
    signed = keys.sign(dataset_id(), record)
    assert verify_record(keys.name_of(dataset_id()), signed, now=datetime(2029, 1, 1, tzinfo=UTC)) == record


def test_a_file_that_others_may_read_is_refused(path: Path) -> None:
    IpnsKeys.open(path)
    path.chmod(0o640)
    with pytest.raises(AccessDenied, match="others may read") as refused:
        IpnsKeys.open(path)
    assert refused.value.hint == f"chmod 600 {path}"


@pytest.mark.parametrize("content", [b"", b"00" * 31, b"secret, not hex", b"\xff" * 64])
def test_a_file_that_holds_no_key_is_refused_without_showing_it(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(MalformedInput) as refused:
        IpnsKeys.open(path)
    assert "secret, not hex" not in str(refused.value.as_dict())


def test_a_folder_that_is_not_there_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        IpnsKeys.open(tmp_path / "absent" / ".ipns-key")
