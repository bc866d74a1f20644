"""A browser as far as tests need one: it keeps cookies, fills in forms and says where they come from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import aiohttp

from tests.repo_server.hosted import Answer

PASSWORD = "correct horse battery"


@dataclass
class Browser:
    """``url`` is the server whose pages it shows."""

    url: str
    session: aiohttp.ClientSession

    @property
    def cookies(self) -> dict[str, str]:
        return {cookie.key: cookie.value for cookie in self.session.cookie_jar}

    async def get(self, path: str) -> Answer:
        async with self.session.get(self.url + path, allow_redirects=False) as response:
            return Answer(response.status, response.headers, await response.read())

    async def post(self, path: str, fields: Mapping[str, str], origin: str | None = None) -> Answer:
        headers = {"Origin": self.url if origin is None else origin}
        posting = self.session.post(self.url + path, data=fields, headers=headers, allow_redirects=False)
        async with posting as response:
            return Answer(response.status, response.headers, await response.read())

    async def submit(self, page: Answer, **fields: str) -> Answer:
        """Send the form of a page with what is filled in besides."""
        form = FormReader.read(page.text)
        return await self.post(form.action.removeprefix(self.url), {**form.hidden, **fields})

    async def follow(self, answer: Answer) -> Answer:
        """The page that an answer sends us on to."""
        assert answer.status == 303
        return await self.get(answer.headers["Location"].removeprefix(self.url))

    async def log_in(self, name: str = "alice", password: str = PASSWORD) -> Answer:
        return await self.submit(await self.get("/v/login"), login=name, password=password)


@dataclass
class FormReader(HTMLParser):
    """The last form of a page: where it goes, and its hidden fields."""

    action: str = ""
    hidden: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    @classmethod
    def read(cls, page: str) -> FormReader:
        reader = cls()
        reader.feed(page)
        return reader

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.action, self.hidden = given["action"], {}
        if tag == "input" and given.get("type") == "hidden":
            self.hidden[given["name"]] = given["value"]


@asynccontextmanager
async def browsing(url: str) -> AsyncIterator[Browser]:
    """A browser without any cookies."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield Browser(url, session)
