"""The contract of ObjectReader and ObjectStore as classes: subclass, give a fixture, run.

``ObjectReaderSuite`` needs a ``store`` fixture and a ``plant`` method that puts bytes there behind the store's back.
``ObjectStoreSuite`` adds writing. A store that cannot do something by its nature overrides nothing: the suite asks its
capabilities and expects the right error.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from opendatafabric.errors import (
    Conflict,
    LimitExceeded,
    MalformedIdentifier,
    ObjectNotFound,
    UnsupportedOperation,
)
from opendatafabric.layout import block_key, checkpoint_key, data_key, report_key
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.multihash import physical_hash
from storage.protocols import ObjectReader, ObjectStore
from storage.values import ByteRange, Quarantined, WriteMode

HOSTILE_KEYS = [
    "",
    "/",
    "..",
    "blocks",
    "blocks/",
    "blocks/../refs/head",
    "../blocks/f1620" + "0" * 64,
    "/blocks/f1620" + "0" * 64,
    "blocks//f1620" + "0" * 64,
    "blocks/f1620" + "0" * 63,
    "blocks/f1620" + "0" * 65,
    "blocks/f1620" + "A" * 64,
    "blocks/F1620" + "0" * 64,
    "blocks/f1620" + "0" * 64 + "\n",
    "blocks/f1620" + "0" * 64 + "\0",
    "blocks/f1620" + "0" * 64 + "/x",
    "blocks/.pending-0000000000000000",
    "blocks\\f1620" + "0" * 64,
    "data/f1220" + "0" * 64,
    "data/%2e%2e",
    "refs/head",
    "secrets/f1620" + "0" * 64,
    "blocks/f1620" + "٠" * 64,
]

SIZES = [0, 1, READ_CHUNK_BYTES - 1, READ_CHUNK_BYTES, READ_CHUNK_BYTES + 1, 2 * READ_CHUNK_BYTES + 17]


def key_of(data: bytes) -> str:
    return data_key(physical_hash(data))


async def pieces_of(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def read_all(store: ObjectReader, key: str, byte_range: ByteRange | None = None) -> bytes:
    return b"".join([piece async for piece in store.stream(key, byte_range)])


async def keys_in(store: ObjectReader, prefix: str = "") -> set[str]:
    return {info.key async for info in store.list(prefix)}


class ObjectReaderSuite:
    def plant(self, store: ObjectReader, key: str, data: bytes) -> None:
        """Put ``data`` behind the store's back."""
        raise NotImplementedError

    def planted(self, store: ObjectReader, data: bytes) -> str:
        key = key_of(data)
        self.plant(store, key, data)
        return key

    async def test_an_absent_object_is_not_found_by_any_question(self, store: ObjectReader) -> None:
        key = key_of(b"absent")
        with pytest.raises(ObjectNotFound, match="data/"):
            await store.stat(key)
        with pytest.raises(ObjectNotFound):
            await store.read(key)
        with pytest.raises(ObjectNotFound):
            await read_all(store, key)
        with pytest.raises(ObjectNotFound):
            await store.follow(key, lambda _: None, count_max=3)

    async def test_stat_tells_key_and_size(self, store: ObjectReader) -> None:
        key = self.planted(store, b"five!")
        info = await store.stat(key)
        assert (info.key, info.size) == (key, 5)

    @pytest.mark.parametrize("size", SIZES)
    async def test_the_stored_bytes_come_back(self, store: ObjectReader, size: int) -> None:
        data = os.urandom(size)
        key = self.planted(store, data)
        assert await store.read(key) == data
        assert await read_all(store, key) == data

    async def test_equal_hashes_in_different_folders_are_different_objects(self, store: ObjectReader) -> None:
        name = physical_hash(b"same")
        self.plant(store, data_key(name), b"data")
        self.plant(store, checkpoint_key(name), b"state")
        assert await store.read(data_key(name)) == b"data"
        assert await store.read(checkpoint_key(name)) == b"state"

    async def test_a_report_is_stored_beside_the_chain(self, store: ObjectReader) -> None:
        key = report_key(physical_hash(b"report"))
        self.plant(store, key, b"report")
        assert await store.read(key) == b"report"
        if store.capabilities.listable:
            assert await keys_in(store, "reports/") == {key}

    async def test_read_takes_exactly_as_much_as_allowed(self, store: ObjectReader) -> None:
        key = self.planted(store, b"12345")
        assert await store.read(key, size_max=5) == b"12345"
        with pytest.raises(LimitExceeded):
            await store.read(key, size_max=4)

    @pytest.mark.parametrize(
        ("byte_range", "expected"),
        [
            (ByteRange(0, 4), b"0123"),
            (ByteRange(3, 4), b"3"),
            (ByteRange(4), b"456789"),
            (ByteRange(8, 99), b"89"),
            (ByteRange(10), b""),
            (ByteRange(11, 12), b""),
            (ByteRange(5, 5), b""),
            (ByteRange(0), b"0123456789"),
        ],
        ids=str,
    )
    async def test_a_range_yields_what_there_is(
        self, store: ObjectReader, byte_range: ByteRange, expected: bytes
    ) -> None:
        assert await read_all(store, self.planted(store, b"0123456789"), byte_range) == expected

    async def test_a_range_may_begin_in_a_later_piece(self, store: ObjectReader) -> None:
        data = os.urandom(3 * READ_CHUNK_BYTES)
        start, end = READ_CHUNK_BYTES + 5, 2 * READ_CHUNK_BYTES + 9
        assert await read_all(store, self.planted(store, data), ByteRange(start, end)) == data[start:end]

    async def test_follow_goes_from_key_to_key(self, store: ObjectReader) -> None:
        keys = [key_of(bytes([i])) for i in range(4)]
        for i, key in enumerate(keys):
            self.plant(store, key, keys[i + 1].encode() if i < 3 else b"end")
        found = await store.follow(keys[0], lambda data: None if data == b"end" else data.decode(), count_max=99)
        assert [key for key, _ in found] == keys
        assert found[-1][1] == b"end"

    async def test_follow_stops_at_the_count(self, store: ObjectReader) -> None:
        key = key_of(b"self")
        self.plant(store, key, b"again")
        assert len(await store.follow(key, lambda _: key, count_max=5)) == 5

    async def test_follow_passes_on_what_its_function_raises(self, store: ObjectReader) -> None:
        def refuse(_: bytes) -> str | None:
            raise LimitExceeded("enough")

        with pytest.raises(LimitExceeded, match="enough"):
            await store.follow(self.planted(store, b"x"), refuse, count_max=2)

    async def test_follow_checks_every_key(self, store: ObjectReader) -> None:
        with pytest.raises(MalformedIdentifier):
            await store.follow(self.planted(store, b"x"), lambda _: "../../etc/passwd", count_max=2)

    @pytest.mark.parametrize("key", HOSTILE_KEYS)
    async def test_what_is_no_key_is_refused_by_every_question(self, store: ObjectReader, key: str) -> None:
        with pytest.raises(MalformedIdentifier):
            await store.stat(key)
        with pytest.raises(MalformedIdentifier):
            await store.read(key)
        with pytest.raises(MalformedIdentifier):
            await read_all(store, key)
        with pytest.raises(MalformedIdentifier):
            store.local_path(key)

    async def test_a_local_path_leads_to_the_bytes_where_the_store_has_one(self, store: ObjectReader) -> None:
        path = store.local_path(self.planted(store, b"here"))
        assert (path is not None) == store.capabilities.sendfile
        assert path is None or path.read_bytes() == b"here"

    async def test_a_local_path_says_nothing_about_existence(self, store: ObjectReader) -> None:
        path = store.local_path(key_of(b"absent"))
        assert path is None or not path.exists()

    async def test_listing_works_or_is_refused(self, store: ObjectReader) -> None:
        key = self.planted(store, b"listed")
        if store.capabilities.listable:
            assert await keys_in(store) == {key}
        else:
            with pytest.raises(UnsupportedOperation):
                await keys_in(store)

    async def test_many_readers_at_once_get_the_same_bytes(self, store: ObjectReader) -> None:
        data = os.urandom(READ_CHUNK_BYTES + 1)
        key = self.planted(store, data)
        assert await asyncio.gather(*(read_all(store, key) for _ in range(8))) == [data] * 8


class ObjectStoreSuite(ObjectReaderSuite):
    async def test_a_new_store_is_empty(self, store: ObjectStore) -> None:
        assert await keys_in(store) == set()

    async def test_a_store_of_this_suite_says_that_it_is_writable(self, store: ObjectStore) -> None:
        assert store.capabilities.writable

    async def test_what_was_put_is_there(self, store: ObjectStore) -> None:
        await store.put(key_of(b"new"), b"new")
        assert await store.read(key_of(b"new")) == b"new"

    async def test_an_empty_object_can_be_put(self, store: ObjectStore) -> None:
        await store.put(key_of(b""), b"")
        assert (await store.stat(key_of(b""))).size == 0

    async def test_create_refuses_what_exists(self, store: ObjectStore) -> None:
        await store.put(key_of(b"x"), b"x", WriteMode.CREATE)
        with pytest.raises(Conflict):
            await store.put(key_of(b"x"), b"x", WriteMode.CREATE)
        assert await store.read(key_of(b"x")) == b"x"

    async def test_replace_replaces(self, store: ObjectStore) -> None:
        await store.put("info/alias", b"old", WriteMode.REPLACE)
        await store.put("info/alias", b"new", WriteMode.REPLACE)
        assert await store.read("info/alias") == b"new"

    async def test_keep_leaves_a_file_with_a_plain_name_alone(self, store: ObjectStore) -> None:
        await store.put("info/alias", b"first")
        await store.put("info/alias", b"second")
        assert await store.read("info/alias") == b"first"

    @pytest.mark.parametrize("damage", [b"", b"rihgt", b"right and more"])
    async def test_keep_heals_a_damaged_object(self, store: ObjectStore, damage: bytes) -> None:
        self.plant(store, key_of(b"right"), damage)
        await store.put(key_of(b"right"), b"right")
        assert await store.read(key_of(b"right")) == b"right"

    async def test_of_many_creators_one_wins(self, store: ObjectStore) -> None:
        results = await asyncio.gather(
            *(store.put("info/alias", bytes([i]), WriteMode.CREATE) for i in range(8)), return_exceptions=True
        )
        assert [result for result in results if not isinstance(result, Conflict)] == [None]

    @pytest.mark.parametrize("count", [0, 1, 3, 4, 50])
    async def test_put_many_puts_all(self, store: ObjectStore, count: int) -> None:
        objects = {key_of(b"%d" % i): b"%d" % i for i in range(count)}
        await store.put_many(objects)
        assert await keys_in(store) == set(objects)
        for key, data in objects.items():
            assert await store.read(key) == data

    async def test_put_many_goes_into_several_folders(self, store: ObjectStore) -> None:
        name = physical_hash(b"x")
        objects = {block_key(name): b"x", data_key(name): b"x", checkpoint_key(name): b"x"}
        await store.put_many(objects)
        assert await keys_in(store) == set(objects)

    async def test_put_many_may_be_repeated(self, store: ObjectStore) -> None:
        objects = {key_of(b"%d" % i): b"%d" % i for i in range(10)}
        await store.put_many(dict(list(objects.items())[:6]))
        await store.put_many(objects)
        assert await keys_in(store) == set(objects)

    async def test_put_many_heals_damaged_objects(self, store: ObjectStore) -> None:
        objects = {key_of(b"%d" % i): b"%d" % i for i in range(5)}
        self.plant(store, key_of(b"3"), b"?")
        await store.put_many(objects)
        assert await store.read(key_of(b"3")) == b"3"

    @pytest.mark.parametrize("key", HOSTILE_KEYS)
    async def test_nothing_is_written_under_what_is_no_key(self, store: ObjectStore, key: str) -> None:
        with pytest.raises(MalformedIdentifier):
            await store.put(key, b"x", WriteMode.REPLACE)
        with pytest.raises(MalformedIdentifier):
            await store.put_many({key_of(b"fine"): b"fine", key: b"x"})
        with pytest.raises(MalformedIdentifier):
            await store.delete(key)
        quarantined = await store.quarantine(pieces_of(b"x"), size_max=9)
        with pytest.raises(MalformedIdentifier):
            await store.publish(quarantined, key)
        await store.discard(quarantined)
        assert await keys_in(store) == set()

    @pytest.mark.parametrize("size", SIZES)
    async def test_quarantine_hashes_and_counts(self, store: ObjectStore, size: int) -> None:
        data = os.urandom(size)
        quarantined = await store.quarantine(pieces_of(data[:5], data[5:]), size_max=size)
        assert (quarantined.hash, quarantined.size) == (physical_hash(data), size)

    async def test_quarantined_bytes_are_invisible_until_published(self, store: ObjectStore) -> None:
        quarantined = await store.quarantine(pieces_of(b"hidden"), size_max=100)
        assert await keys_in(store) == set()
        await store.publish(quarantined, data_key(quarantined.hash))
        assert await keys_in(store) == {key_of(b"hidden")}
        assert await store.read(key_of(b"hidden")) == b"hidden"

    async def test_quarantined_bytes_may_become_a_checkpoint(self, store: ObjectStore) -> None:
        quarantined = await store.quarantine(pieces_of(b"state"), size_max=100)
        await store.publish(quarantined, checkpoint_key(quarantined.hash))
        assert await store.read(checkpoint_key(physical_hash(b"state"))) == b"state"

    async def test_publishing_twice_is_refused(self, store: ObjectStore) -> None:
        quarantined = await store.quarantine(pieces_of(b"once"), size_max=100)
        await store.publish(quarantined, key_of(b"once"))
        with pytest.raises(ObjectNotFound):
            await store.publish(quarantined, key_of(b"once"))

    async def test_publishing_what_was_discarded_is_refused(self, store: ObjectStore) -> None:
        quarantined = await store.quarantine(pieces_of(b"gone"), size_max=100)
        await store.discard(quarantined)
        await store.discard(quarantined)
        with pytest.raises(ObjectNotFound):
            await store.publish(quarantined, key_of(b"gone"))

    @pytest.mark.parametrize("token", ["", "x", "../refs/head", ".pending-", ".pending-../../../etc/passwd"])
    async def test_an_invented_token_is_refused(self, store: ObjectStore, token: str) -> None:
        invented = Quarantined(token, physical_hash(b""), 0)
        await store.discard(invented)
        with pytest.raises(ObjectNotFound):
            await store.publish(invented, key_of(b""))

    async def test_publishing_over_an_equal_object_keeps_it(self, store: ObjectStore) -> None:
        self.plant(store, key_of(b"same"), b"same")
        await store.publish(await store.quarantine(pieces_of(b"same"), size_max=9), key_of(b"same"))
        assert await store.read(key_of(b"same")) == b"same"

    @pytest.mark.parametrize("damage", [b"", b"rihgt", b"right and more"])
    async def test_publishing_over_a_damaged_object_heals_it(self, store: ObjectStore, damage: bytes) -> None:
        self.plant(store, key_of(b"right"), damage)
        await store.publish(await store.quarantine(pieces_of(b"right"), size_max=9), key_of(b"right"))
        assert await store.read(key_of(b"right")) == b"right"

    async def test_the_same_object_may_arrive_many_times_at_once(self, store: ObjectStore) -> None:
        data = os.urandom(READ_CHUNK_BYTES + 3)

        async def upload() -> None:
            await store.publish(await store.quarantine(pieces_of(data), size_max=len(data)), key_of(data))

        await asyncio.gather(*(upload() for _ in range(8)))
        assert await keys_in(store) == {key_of(data)}
        assert await store.read(key_of(data)) == data

    async def test_more_than_allowed_is_not_taken_in(self, store: ObjectStore) -> None:
        with pytest.raises(LimitExceeded):
            await store.quarantine(pieces_of(b"12345", b"6"), size_max=5)
        assert await keys_in(store) == set()

    async def test_an_endless_stream_ends_at_the_limit(self, store: ObjectStore) -> None:
        async def endless() -> AsyncIterator[bytes]:
            while True:
                yield bytes(READ_CHUNK_BYTES)

        with pytest.raises(LimitExceeded):
            await store.quarantine(endless(), size_max=4 * READ_CHUNK_BYTES)

    async def test_a_stream_that_fails_passes_its_error_on(self, store: ObjectStore) -> None:
        async def broken() -> AsyncIterator[bytes]:
            yield bytes(2 * READ_CHUNK_BYTES)
            raise ConnectionResetError("the client vanished")

        with pytest.raises(ConnectionResetError, match="vanished"):
            await store.quarantine(broken(), size_max=100 * READ_CHUNK_BYTES)
        assert await keys_in(store) == set()

    async def test_a_cancelled_upload_leaves_nothing(self, store: ObjectStore) -> None:
        started = asyncio.Event()

        async def stalling() -> AsyncIterator[bytes]:
            yield bytes(2 * READ_CHUNK_BYTES)
            started.set()
            await asyncio.Event().wait()

        upload = asyncio.create_task(store.quarantine(stalling(), size_max=100 * READ_CHUNK_BYTES))
        await started.wait()
        upload.cancel()
        with pytest.raises(asyncio.CancelledError):
            await upload
        assert await keys_in(store) == set()

    async def test_a_deleted_object_is_gone(self, store: ObjectStore) -> None:
        await store.put(key_of(b"x"), b"x")
        await store.delete(key_of(b"x"))
        with pytest.raises(ObjectNotFound):
            await store.stat(key_of(b"x"))

    async def test_deleting_what_is_absent_is_no_error(self, store: ObjectStore) -> None:
        await store.delete(key_of(b"absent"))

    @pytest.mark.parametrize("prefix", ["", "blocks/", "data/", "data/f1620", "dat", "checkpoints/", "nothing"])
    async def test_listing_gives_what_begins_with_the_prefix(self, store: ObjectStore, prefix: str) -> None:
        objects = {block_key(physical_hash(b"b")): b"b", key_of(b"1"): b"1", key_of(b"2"): b"2", "info/alias": b"a"}
        await store.put_many(objects)
        assert await keys_in(store, prefix) == {key for key in objects if key.startswith(prefix)}

    async def test_a_reader_sees_the_old_or_the_new_bytes_whole(self, store: ObjectStore) -> None:
        old, new = b"o" * 300_000, b"n" * 400_000
        await store.put("info/config", old, WriteMode.REPLACE)

        async def replace_often() -> None:
            for i in range(20):
                await store.put("info/config", new if i % 2 else old, WriteMode.REPLACE)

        writing = asyncio.create_task(replace_often())
        while not writing.done():
            assert await store.read("info/config") in {old, new}
            await asyncio.sleep(0)
        await writing
