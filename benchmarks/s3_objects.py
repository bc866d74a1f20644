"""How fast do objects move to and from S3, next to boto3 and to a plain parallel download? (goals P13, P14)

All against one versitygw: 2,000 small and 4 large objects by our store and by boto3 (small ones with 32 threads, large
ones by its own transfer manager); then a dataset of 1,000 slices, cloned through a server by addresses that it signs,
against fetching the same addresses without asking what comes. CPU of the clone is that of the server alone.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp
import boto3
from botocore.config import Config
from yarl import URL

from benchmarks.harness import Goal, Question, Way, main
from benchmarks.processes import HOST, Server, free_port, scratch, start
from catalog.catalog import open_catalog
from catalog.datasets import DatasetRecord
from catalog.sqlite_files import sqlite_url
from catalog.visibility import Visibility
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.layout import data_key
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.data_schema import DataField, DataSchema, DataTypeInt64
from opendatafabric.metadata.events import AddData, DatasetKind, Seed, SetDataSchema
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import HashCodec, Multihash, physical_hash
from opendatafabric.names import AccountName
from storage.open import init_repository, open_dataset
from storage.s3.location import S3Location
from storage.s3.presign import S3PresigningStore
from sync.objects import in_parallel
from sync.pull import pull_dataset
from sync.remote import parse_remote
from sync.transfer import DatasetTarget

MIB = 1 << 20
BUCKET = "bench"
SMALL_BYTES, SLICE_BYTES, AT_ONCE = 4_096, 64 * 1024, 32
ALIAS = DatasetAlias.from_text("bench/slices")
KEYS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "only-for-benchmarks", "AWS_DEFAULT_REGION": "us-east-1"}
_NUMBERS = itertools.count()
_LOOP = asyncio.new_event_loop()


def run(work: Coroutine[Any, Any, object]) -> None:
    """In one loop for all: connections belong to it."""
    _LOOP.run_until_complete(work)


@cache
def store_server() -> Server:
    """One S3 for all questions."""
    program = next((Path(__file__).parents[1] / ".tools" / "bin").glob("versitygw-v*"), None)
    if program is None:
        raise SystemExit("versitygw is not here: run tools/s3_server.sh")
    os.environ.update(KEYS)
    folder, port = scratch("s3"), free_port()
    (folder / BUCKET).mkdir()
    keys = {"ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
    command = [str(program), "--port", f"{HOST}:{port}", "--quiet", "posix", str(folder)]
    return start(command, port=port, environment=keys)


def boto3_client() -> Any:
    config = Config(max_pool_connections=AT_ONCE, s3={"addressing_style": "path"})
    return boto3.client("s3", endpoint_url=store_server().url, config=config)


def our_store(place: str) -> S3PresigningStore:
    return S3PresigningStore(S3Location(BUCKET, place, store_server().url))


def fresh(count: int) -> dict[str, bytes]:
    """Small objects that were never stored before."""
    contents = (f"{next(_NUMBERS)} ".encode().ljust(SMALL_BYTES, b"x") for _ in range(count))
    return {data_key(physical_hash(content)): content for content in contents}


def in_threads(action: Callable[[Any], object], items: Mapping[Any, Any] | list[Any]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(action, items.items() if isinstance(items, Mapping) else items))


def small_put(quick: bool) -> Question:
    count, client, store = 200 if quick else 2_000, boto3_client(), our_store("small")

    def theirs() -> None:
        in_threads(lambda item: client.put_object(Bucket=BUCKET, Key=f"theirs/{item[0]}", Body=item[1]), fresh(count))

    return Question(
        f"Putting {count} objects of 4 KiB into S3",
        "1000 objects",
        [
            Way("boto3, 32 threads", theirs, count / 1000),
            Way("put_many", lambda: run(store.put_many(fresh(count))), count / 1000),
        ],
        [
            Goal("P13", "CPU of put, to boto3", "put_many", "boto3, 32 threads", 1.8),
            Goal("P13", "objects a second put, to boto3", "put_many", "boto3, 32 threads", 1.8, measure="wall_speed"),
        ],
    )


def small_get(quick: bool) -> Question:
    count, client, store = 200 if quick else 2_000, boto3_client(), our_store("small")
    objects = fresh(count)
    run(store.put_many(objects))

    async def read(key: str) -> None:
        assert len(await store.read(key)) == SMALL_BYTES

    def theirs() -> None:
        in_threads(lambda key: client.get_object(Bucket=BUCKET, Key=f"small/{key}")["Body"].read(), list(objects))

    return Question(
        f"Getting {count} objects of 4 KiB from S3",
        "1000 objects",
        [
            Way("boto3, 32 threads", theirs, count / 1000),
            Way("read", lambda: run(in_parallel(objects, read, AT_ONCE)), count / 1000),
        ],
        [
            Goal("P13", "CPU of get, to boto3", "read", "boto3, 32 threads", 3),
            Goal("P13", "objects a second got, to boto3", "read", "boto3, 32 threads", 3, measure="wall_speed"),
        ],
    )


def large(quick: bool) -> Question:
    size, count = (32 if quick else 256) * MIB, 4
    client, store, contents = boto3_client(), our_store("large"), os.urandom(size)
    units = count * size / 1024 / MIB

    async def pieces() -> AsyncIterator[bytes]:
        for start_at in range(0, size, MIB):
            yield contents[start_at : start_at + MIB]

    async def put(number: int) -> None:
        await store.publish(await store.quarantine(pieces(), size_max=size), data_key(physical_hash(b"%d" % number)))

    async def get(number: int) -> None:
        total = 0
        async for piece in store.stream(data_key(physical_hash(b"%d" % number))):
            total += len(piece)
        assert total == size

    def their_put() -> None:
        in_threads(lambda at: client.upload_fileobj(io.BytesIO(contents), BUCKET, f"theirs/{at}"), list(range(count)))

    def their_get() -> None:
        in_threads(lambda at: client.download_fileobj(BUCKET, f"theirs/{at}", _Nothing()), list(range(count)))

    return Question(
        f"Moving {count} objects of {size // MIB} MiB to and from S3; ours are hashed and published on the way",
        "GiB",
        [
            Way("boto3 puts", their_put, units),
            Way("quarantine and publish", lambda: run(in_parallel(range(count), put)), units),
            Way("boto3 gets", their_get, units),
            Way("stream", lambda: run(in_parallel(range(count), get)), units),
        ],
        [
            Goal("", "MiB/s put, to boto3", "quarantine and publish", "boto3 puts", 0.6, measure="wall_speed"),
            Goal("", "MiB/s got, to boto3", "stream", "boto3 gets", 0.8, measure="wall_speed"),
        ],
    )


class _Nothing(io.RawIOBase):
    """Where a download goes that nobody wants."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data)


def clone(quick: bool) -> Question:
    count, folder = 100 if quick else 1_000, scratch("clones")
    place, catalog_url = f"s3+{store_server().url}/{BUCKET}/datasets-{count}", sqlite_url(folder / "catalog.sqlite")
    keys: list[str] = []
    token: list[str] = []
    run(_fill(place, catalog_url, count, keys, token))
    server = _serve(place, catalog_url)
    source = parse_remote(f"odf+{server.url}/{ALIAS}")
    dataset_id = new_dataset_id(bytes(31) + b"\6")
    store = our_store(f"datasets-{count}/{dataset_id.multibase}")

    async def ours() -> None:
        target = DatasetTarget(open_dataset(str(_new_folder(folder))))
        async with aiohttp.ClientSession() as session:
            await pull_dataset(session, source, target, token=token[0])

    async def plain() -> None:
        place = _new_folder(folder)
        urls = await store.sign_downloads(keys, lifetime_s=600)
        async with aiohttp.ClientSession() as session:

            async def fetch(url: str) -> None:
                async with session.get(URL(url, encoded=True)) as answer:
                    (place / url.partition("?")[0].rpartition("/")[2]).write_bytes(await answer.read())

            await in_parallel(urls, fetch)

    units = count * SLICE_BYTES / 1024 / MIB
    return Question(
        f"Cloning {count} slices of 64 KiB from S3 through a server that signs their addresses; CPU is the server's",
        "GiB",
        [
            Way("plain parallel download", lambda: run(plain()), units, cpu=server.cpu),
            Way("clone", lambda: run(ours()), units, cpu=server.cpu),
        ],
        [
            Goal(
                "",
                "speed of a clone, to the download alone",
                "clone",
                "plain parallel download",
                0.3,
                measure="wall_speed",
            )
        ],
    )


async def _fill(place: str, catalog_url: str, count: int, keys: list[str], token: list[str]) -> None:
    """A dataset of ``count`` slices, and a token of its owner."""
    dataset_id = new_dataset_id(bytes(31) + b"\6")
    entry = await (await init_repository(place)).create(ALIAS, dataset_id)
    schema = SetDataSchema(schema=DataSchema((DataField("offset", DataTypeInt64()),)))
    blocks = [encode_block(MetadataBlock(Instant(2024, 1, 0), None, 0, Seed(dataset_id, DatasetKind.ROOT)))]
    blocks.append(encode_block(MetadataBlock(Instant(2024, 1, 1), blocks[0].hash, 1, schema)))
    objects = {}
    for number in range(count):
        content = f"slice {number} ".encode() + os.urandom(SLICE_BYTES - len(f"slice {number} "))
        name = physical_hash(content)
        objects[data_key(name)] = content
        new_data = DataSlice(
            Multihash(HashCodec.ARROW0_SHA3_256, name.digest),
            name,
            OffsetInterval(number * 10, number * 10 + 9),
            len(content),
        )
        event = AddData(prev_offset=number * 10 - 1 if number else None, new_data=new_data)
        block = MetadataBlock(Instant(2024, 1, 2 + number), blocks[-1].hash, len(blocks), event)
        blocks.append(encode_block(block))
    keys += objects
    await entry.dataset.writable_objects().put_many(objects)
    await entry.dataset.append(blocks, expected_head=None)
    async with open_catalog(catalog_url) as catalog:
        owner = await catalog.accounts.find_or_create(AccountName("bench"))
        await catalog.datasets.put(DatasetRecord(dataset_id, ALIAS, owner.id, Visibility.PRIVATE))
        token.append(await catalog.tokens.create(owner))


def _serve(place: str, catalog_url: str) -> Server:
    port = free_port()
    settings = {"ODF_CATALOG_URL": catalog_url, "ODF_ACCESS_LOG": "false"}
    command = [sys.executable, "-m", "cli.main", "serve", "--port", str(port), "--repo", place]
    return start(command, port=port, environment=settings)


def _new_folder(folder: Path) -> Path:
    made = folder / str(next(_NUMBERS))
    made.mkdir()
    return made


if __name__ == "__main__":
    main(small_put, small_get, large, clone)
