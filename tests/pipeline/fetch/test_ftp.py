"""Files on a real FTP server on this machine, and on ones that break the rules."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.ioloop import IOLoop
from pyftpdlib.servers import FTPServer

from opendatafabric.errors import AccessDenied, LimitExceeded, MalformedManifest, NotFound, PeerUnavailable
from opendatafabric.instant import Instant
from opendatafabric.metadata.sources import EventTimeSourceFromMetadata, FetchStepUrl, ReadStepCsv
from pipeline.fetch import FetchOptions, fetch, sink
from pipeline.fetch.fetched import LAST_MODIFIED, state_of
from tests.pipeline.polling import poller

OPTIONS = FetchOptions({"PASSWORD": "top secret@/"})
USER = "reader:${{ env.PASSWORD }}@"


@dataclass
class Served:
    """A folder, where it is served, and the commands that its server does not know."""

    folder: Path
    port: int
    handler: type[FTPHandler]

    def step(self, name: str, user: str = "reader:top%20secret%40%2F@", **fields: object) -> FetchStepUrl:
        """One of its files."""
        return FetchStepUrl(f"ftp://{user}127.0.0.1:{self.port}/{name}", **fields)  # type: ignore[arg-type]

    def put(self, name: str, data: bytes, changed: int) -> None:
        """As of that second."""
        (self.folder / name).write_bytes(data)
        os.utime(self.folder / name, (changed, changed))

    def forget(self, *commands: str) -> None:
        """Be an older server."""
        self.handler.proto_cmds = {name: told for name, told in FTPHandler.proto_cmds.items() if name not in commands}


@pytest.fixture
def ftp(tmp_path: Path) -> Iterator[Served]:
    """A server of one folder for one user."""
    logging.getLogger("pyftpdlib").setLevel(logging.WARNING)
    folder = tmp_path / "served"
    folder.mkdir()
    loop = IOLoop()
    authorizer = DummyAuthorizer()
    authorizer.add_user("reader", "top secret@/", str(folder))
    handler = type("Handler", (FTPHandler,), {"authorizer": authorizer, "auth_failed_timeout": 0})
    server = FTPServer(("127.0.0.1", 0), handler, ioloop=loop)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            server.serve_forever(timeout=0.01, blocking=False, handle_exit=False)
        server.close_all()

    thread = threading.Thread(target=serve)
    thread.start()
    yield Served(folder, server.address[1], handler)
    ended.set()
    thread.join()


async def test_a_file_is_new_when_its_time_of_change_is(ftp: Served, tmp_path: Path) -> None:
    ftp.put("a b.csv", b"a,1\r\n", 1_600_000_000)
    found = await fetch(ftp.step("a%20b.csv"), None, tmp_path, OPTIONS)
    assert found is not None
    assert found.file.read_bytes() == b"a,1\r\n"
    assert found.state == state_of(LAST_MODIFIED, "2020-09-13T12:26:40Z")
    assert found.event_time is None
    assert await fetch(ftp.step("a%20b.csv"), found.state, tmp_path, OPTIONS) is None


async def test_the_time_of_change_may_be_the_event_time(ftp: Served, tmp_path: Path) -> None:
    ftp.put("a.csv", b"a", 1_600_000_000)
    found = await fetch(ftp.step("a.csv", event_time=EventTimeSourceFromMetadata()), None, tmp_path, OPTIONS)
    assert found is not None
    assert found.event_time == Instant.from_rfc3339("2020-09-13T12:26:40Z")


async def test_a_server_that_tells_no_times_leaves_no_state(ftp: Served, tmp_path: Path) -> None:
    ftp.put("a.csv", b"a", 1_600_000_000)
    ftp.forget("MDTM", "SIZE")
    found = await fetch(ftp.step("a.csv"), None, tmp_path, OPTIONS)
    assert found is not None
    assert found.state is None


async def test_a_file_that_is_not_there_is_said_to_be_so(ftp: Served, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        await fetch(ftp.step("nowhere"), None, tmp_path, OPTIONS)


async def test_a_wrong_password_is_refused_and_not_told(ftp: Served, tmp_path: Path) -> None:
    with pytest.raises(AccessDenied) as caught:
        await fetch(ftp.step("a.csv", "reader:wrong@"), None, tmp_path, OPTIONS)
    assert "wrong" not in str(caught.value.as_dict())


@pytest.mark.parametrize("name", ["a%0d%0aDELE%20b", "a%0aDELE%20b"])
async def test_a_path_is_no_way_to_another_command(ftp: Served, name: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedManifest):
        await fetch(ftp.step(name), None, tmp_path, OPTIONS)


async def test_a_source_that_gives_too_much_is_stopped(
    ftp: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ftp.put("a.csv", b"12345", 1)
    monkeypatch.setattr(sink, "FETCH_BYTES_MAX", 4)
    with pytest.raises(LimitExceeded, match="too much"):
        await fetch(ftp.step("a.csv"), None, tmp_path, OPTIONS)


async def test_strangers_reach_no_server_of_this_network(ftp: Served, tmp_path: Path) -> None:
    with pytest.raises(AccessDenied, match="network"):
        await fetch(ftp.step("a.csv"), None, tmp_path, FetchOptions(private_places=False))


async def test_a_polled_file_from_its_first_day_to_its_last(ftp: Served, tmp_path: Path) -> None:
    step = ftp.step("a.csv")
    polled = await poller(tmp_path, step, ReadStepCsv(schema=("n INT",)))
    ftp.put("a.csv", b"1\n", 1_600_000_000)
    assert len(await polled.poll()) == 1
    head = await polled.head()
    assert (await polled.poll(), await polled.head()) == ([], head)
    ftp.put("a.csv", b"2\n", 1_700_000_000)
    await polled.die_in_the_middle()
    assert await polled.head() == head
    assert len(await polled.poll()) == 1
    assert await polled.records("n") == [(1,), (2,)]
    (ftp.folder / "a.csv").unlink()
    with pytest.raises(NotFound):
        await polled.poll()


class TestServersThatFail:
    """Servers that say the given things, one for each command, then close the connection."""

    @pytest.fixture
    def say(self, tmp_path: Path) -> Iterator[Callable[..., FetchStepUrl]]:
        """A file there."""
        listener = socket.create_server(("127.0.0.1", 0))
        threads = []

        def serve(answers: tuple[bytes, ...]) -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as commands:
                for answer in answers:
                    connection.sendall(answer)
                    if not commands.readline():
                        return

        def begin(*answers: bytes) -> FetchStepUrl:
            threads.append(threading.Thread(target=serve, args=(answers,)))
            threads[0].start()
            return FetchStepUrl(f"ftp://127.0.0.1:{listener.getsockname()[1]}/a")

        yield begin
        for thread in threads:
            thread.join()
        listener.close()

    @pytest.mark.parametrize(
        "answers",
        [
            (),
            (b"nonsense\r\n",),
            (b"220 hello\r\n", b"230 in\r\n"),
            (b"220 hello\r\n", b"230 in\r\n", b"200 ok\r\n", b"213 20200101000000\r\n", b"213 9\r\n", b"451 no\r\n"),
            (b"220 hello\r\n", b"230 in\r\n", b"200 ok\r\n", b"213 never\r\n", b"213 many\r\n", b"451 no\r\n"),
            (b"220-hello\r\n" * 2_000,),
            (b"220 \xff\xfe\r\n",),
            (b"220 " + b"x" * 10_000 + b"\r\n",),
        ],
    )
    async def test_what_they_say_is_no_data(
        self, say: Callable[..., FetchStepUrl], answers: tuple[bytes, ...], tmp_path: Path
    ) -> None:
        with pytest.raises(PeerUnavailable):
            await fetch(say(*answers), None, tmp_path, OPTIONS)


async def test_a_file_that_is_shorter_than_announced_is_no_data(ftp: Served, tmp_path: Path) -> None:
    ftp.put("a.csv", b"12345", 1)

    def lie(handler: FTPHandler, _: str) -> None:
        handler.respond("213 100")

    ftp.handler.ftp_SIZE = lie
    with pytest.raises(PeerUnavailable, match="EOFError"):
        await fetch(ftp.step("a.csv"), None, tmp_path, OPTIONS)


async def test_nobody_listening_is_worth_another_try(unused_tcp_port: int, tmp_path: Path) -> None:
    with pytest.raises(PeerUnavailable) as caught:
        await fetch(FetchStepUrl(f"ftp://127.0.0.1:{unused_tcp_port}/x"), None, tmp_path, OPTIONS)
    assert caught.value.retryable
