"""A repository, for programs and notebooks: what is in it, and questions about it."""

from __future__ import annotations

import io
import os
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urljoin

from odf_client.address import Address
from odf_client.answers import Answer, read_answer
from odf_client.bars import Shown
from odf_client.cache import Cache
from odf_client.chosen import Time, text_of
from odf_client.dataset import Dataset
from odf_client.listening import Event, events_at
from odf_client.waiting import each, wait
from opendatafabric.dataset_ref import DatasetRef, parse_dataset_ref
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, MalformedInput, NotFound, UnsupportedOperation
from storage.open import open_repository
from sync.server_calls import asked
from sync.server_queries import JSON, ROWS_MAX, answer_into, check_at_server


@dataclass(frozen=True, slots=True)
class Listed:
    """A dataset in a list; what is not known is ``None``."""

    name: str
    id: str
    kind: str | None = None
    description: str | None = None
    records: int | None = None
    bytes: int | None = None
    updated_at: str | None = None


class Repository:
    """The repository of a server, in a folder, or in S3 (the extra ``s3``).

    Without a ``token`` the one is taken that ``odf login`` keeps for the server.

    >>> repository = Repository("https://data.example")
    >>> [found.name for found in repository.search("weather")]
    """

    def __init__(self, place: str | os.PathLike[str], *, token: str | None = None, cache: Cache | None = None) -> None:
        self._address = Address(os.fspath(place).rstrip("/"), token)
        self._cache = cache or Cache()

    def __repr__(self) -> str:
        return f"<Repository {self.url}>"

    @property
    def url(self) -> str:
        """Where it is."""
        return self._address.shown

    def open(self, ref: str, *, replace: bool = False, progress: Shown = None) -> Dataset:
        """A dataset of it, by ``ACCOUNT/NAME``, name or DID.

        Raises:
            DatasetNotFound: there is none, or not for this token.
            OdfError: as ``odf_client.open``.
        """
        parsed = parse_dataset_ref(ref)
        address = wait(self._on_server(parsed) if self._address.is_web else self._in_folder(parsed))
        return Dataset(address, self._cache, replace=replace, progress=progress)

    def datasets(self, account: str | None = None) -> Iterator[Listed]:
        """What is in it, as far as the caller may see it: all, or that of one account."""
        if not self._address.is_web:
            return each(self._entries(account))
        return each(self._listed(account or ""))

    def search(self, words: str, **filters: str) -> Iterator[Listed]:
        """Datasets that hold each of the words, as the server finds them; ``filters`` are those of its API.

        Raises:
            UnsupportedOperation: no server.
        """
        self._require_server("searched")
        return each(self._listed(f"?{urlencode({'q': words, **filters})}"))

    def query(
        self,
        sql: str,
        *,
        limit: int = ROWS_MAX,
        as_at: Time | None = None,
        as_of: Time | None = None,
        projected: bool = False,
    ) -> Answer:
        """What the server answers to ``sql``, checked against the signature that comes with it.

        >>> answer = repository.query('SELECT count(*) AS n FROM "examples/us.faa.airports"')
        >>> answer.table, answer.signer, answer.datasets

        Raises:
            InvalidQuery and what else the server tells.
            HashMismatch, InvalidSignature: the answer is not what was signed.
        """
        self._require_server("asked")
        moments = {"asAt": as_at, "asOf": as_of}
        given = {name: text_of(moment) for name, moment in moments.items() if moment is not None}
        form = {"dataFormat": "JsonAoA", "include": ["Proof", "Schema"], "schemaFormat": "OdfJson"}
        return wait(self._answer({"query": sql, "limit": limit, "state": projected, **form, **given}))

    def verify(self, answer: Answer | bytes) -> str:
        """The key that signed ``answer``, if it is one of this server's and the server answers so again.

        Raises:
            InvalidSignature: it is none of its keys, or did not sign this.
            HashMismatch: the answer was changed, or is another now.
        """
        self._require_server("asked")
        raw = answer if isinstance(answer, bytes) else answer.raw
        signer = read_answer(raw).signer
        wait(check_at_server(self._address.url, raw, signer, self._address.headers))
        return signer

    def subscribe(self, since: str | None = None) -> Iterator[Event]:
        """What happens to all datasets that the caller may see; as ``Dataset.subscribe``."""
        return each(events_at(self._address, since))

    def _require_server(self, what: str) -> None:
        if not self._address.is_web:
            raise UnsupportedOperation(f"{self.url} is no server that could be {what}", expected="http(s)://…")

    async def _get(self, path: str) -> dict[str, Any]:
        return await asked("GET", urljoin(f"{self._address.url}/", path), headers=self._address.headers)

    async def _on_server(self, ref: DatasetRef) -> Address:
        if not isinstance(ref, DatasetId):
            return self._address.below(str(ref))
        try:
            told = await self._get(f"datasets/{ref}")
        except NotFound:
            raise DatasetNotFound(f"{self.url} has no dataset {ref}, or not for this token") from None
        under_account = (await self._get("info"))["isMultiTenant"]
        account, name = told["owner"]["accountName"], told["datasetName"]
        return self._address.below(f"{account}/{name}" if under_account else name)

    async def _in_folder(self, ref: DatasetRef) -> Address:
        repository = await open_repository(self._address.text)
        return Address(repository.address_of(await repository.find(ref)))

    async def _entries(self, account: str | None) -> AsyncGenerator[Listed, None]:
        repository = await open_repository(self._address.text)
        async for entry in repository.iterate():
            if account is None or entry.alias.account == account:
                yield Listed(str(entry.alias), str(entry.id))

    async def _listed(self, path: str | None) -> AsyncGenerator[Listed, None]:
        while path is not None:
            told = await self._get(path)
            for row in told["datasets"]:
                yield Listed(
                    row["alias"],
                    row["id"],
                    row["kind"],
                    row["description"],
                    row["records"],
                    row["bytes"],
                    row["updatedAt"],
                )
            path = told["next"] and _on_same_server(told["next"])

    async def _answer(self, question: dict[str, Any]) -> Answer:
        with io.BytesIO() as sink:
            await answer_into(sink, self._address.url, question, accept=JSON, headers=self._address.headers)
            return read_answer(sink.getvalue())


def _on_same_server(path: Any) -> str:
    """A path that goes on with a list: whatever else it is, the token is not sent there."""
    if not isinstance(path, str) or not path.startswith("/") or path.startswith("//"):
        raise MalformedInput("the server goes on with its list elsewhere", found=str(path)[:100])
    return path
