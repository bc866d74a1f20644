"""Where a dataset or a repository is, from what people type, and who asks for it there."""

from __future__ import annotations

from dataclasses import dataclass, field

import aiohttp
from yarl import URL

from opendatafabric.errors import UnsupportedOperation
from storage.open import Connection, scheme_of
from sync.credentials import token_for
from sync.remote import RemoteLocation, parse_remote
from sync.smart.connect import token_headers

_SMART = "odf+"


@dataclass(frozen=True, slots=True)
class Address:
    """``text`` as it was typed. A token is shown to nobody but the server that it is for."""

    text: str
    token: str | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """Without what stands before ``http``."""
        return self.text.removeprefix(_SMART)

    @property
    def shown(self) -> str:
        """As people may see it."""
        return str(URL(self.url).with_user(None).with_query(None)) if self.is_web else self.url

    @property
    def is_web(self) -> bool:
        """Whether a server is there."""
        return scheme_of(self.url) in {"http", "https"}

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""
        return scheme_of(self.text) in {"", "file"}

    @property
    def says_how(self) -> bool:
        """Whether only conversations of the smart protocol will do."""
        return self.text.startswith(_SMART)

    @property
    def bearer(self) -> str | None:
        """The token that was given, or that ``odf login`` keeps for the server."""
        return self.token if self.token is not None or not self.is_web else token_for(self.url)

    @property
    def headers(self) -> dict[str, str]:
        """What requests say of the caller."""
        return token_headers(self.bearer)

    def below(self, path: str) -> Address:
        """What lies below."""
        return Address(f"{self.text.rstrip('/')}/{path}", self.token)

    def as_walked(self) -> RemoteLocation:
        """For the simple protocol."""
        return parse_remote(self.url)

    def as_asked(self) -> RemoteLocation:
        """For the smart protocol; ``UnsupportedOperation`` where there is no server."""
        if not self.is_web:
            raise UnsupportedOperation(f"{self.shown} is no server", expected="http(s)://…")
        return parse_remote(_SMART + self.url)

    def connection(self, session: aiohttp.ClientSession) -> Connection:
        """How its stores are opened."""
        return Connection(session, self.headers)
