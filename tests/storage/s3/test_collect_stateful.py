"""Pushes and collections interleaved at every call, in a bucket: what is stored is looked up on the server's disk."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from opendatafabric.layout import REFS
from opendatafabric.multihash import Multihash
from storage.keys import ADDRESSED_FOLDERS
from storage.s3.cells import GONE
from storage.s3.leases import LEASES_FOLDER
from storage.s3.location import parse_s3_address
from storage.s3.presign import S3PresigningStore
from storage.s3.refs import S3RefStore
from tests.storage.gates import with_gates
from tests.storage.s3.servers import BUCKET, S3Server, versitygw
from tests.storage.test_collect_stateful import Collecting

pytestmark = pytest.mark.slow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the server keeps its bucket."""
    return tmp_path / "buckets"


@pytest.fixture
def server(root: Path) -> Iterator[S3Server]:
    with versitygw(root) as running:
        yield running


def files_in(folder: Path) -> dict[str, bytes]:
    """By name; what vanishes meanwhile is not there."""
    found = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            found[path.name] = path.read_bytes()
        except FileNotFoundError:
            continue
    return found


class CollectingInS3(Collecting):
    def __init__(self, server: S3Server, bucket: Path) -> None:
        self.name = uuid.uuid4().hex
        self.address, self.folder = f"{server.address}{self.name}", bucket / self.name
        super().__init__()

    def make_stores(self) -> tuple[Any, Any]:
        place = parse_s3_address(self.address)
        return with_gates(S3PresigningStore(place), S3RefStore(place), self.gates)

    def heads(self) -> Iterable[Multihash]:
        texts = files_in(self.folder / REFS).values()
        return [Multihash.from_text(text.decode()) for text in texts if text != GONE]

    def stored(self) -> Mapping[str, bytes]:
        folders = {name: files_in(self.folder / name) for name in ADDRESSED_FOLDERS}
        return {f"{folder}/{name}": data for folder, files in folders.items() for name, data in files.items()}

    def notes(self) -> Collection[object]:
        return files_in(self.folder / LEASES_FOLDER)


def test_no_published_object_ever_disappears_and_orphans_do(keys: None, server: S3Server, root: Path) -> None:
    run_state_machine_as_test(
        lambda: CollectingInS3(server, root / BUCKET),
        settings=settings(max_examples=12, stateful_step_count=20, deadline=None),
    )
