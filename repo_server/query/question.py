"""A question as it comes in a body or in the query string of an address, and as it is echoed in the answer.

Beside the fields of the reference there are ``asAt``, ``asOf`` and ``state``; they are echoed only where they were
given, so that questions without them look as there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedInput
from opendatafabric.instant import Instant
from opendatafabric.limits import QUERY_CHARS_MAX
from opendatafabric.multihash import Multihash
from opendatafabric.query_limits import QUERY_DATASETS_MAX
from pipeline.query.answer_form import JsonShape, SchemaFormat
from repo_server.query.words import named, only_known, whole_number
from storage.records.state import Wanted

LIMIT: Final = 100
"""Rows of an answer unless the question says otherwise."""

_COUNT_MAX: Final = 2**62


class Dialect(StrEnum):
    """In what a query may be written, as far as the reference knows; here only the first is run."""

    DATAFUSION = "SqlDataFusion"
    FLINK = "SqlFlink"
    RISING_WAVE = "SqlRisingWave"
    SPARK = "SqlSpark"


class Include(StrEnum):
    """What an answer may have besides the output."""

    INPUT = "Input"
    PROOF = "Proof"
    SCHEMA = "Schema"


@dataclass(frozen=True, slots=True)
class NamedDataset:
    """What the query calls ``alias``; ``block_hash`` says up to which block it counts."""

    dataset_id: DatasetId
    alias: str
    block_hash: Multihash | None = None

    def as_plain(self) -> dict[str, str]:
        """JSON values."""
        block = {} if self.block_hash is None else {"blockHash": str(self.block_hash)}
        return {"id": str(self.dataset_id), "alias": self.alias, **block}


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that is asked; what it ``includes`` follows from itself too."""

    query: str
    dialect: Dialect = Dialect.DATAFUSION
    shape: JsonShape = JsonShape.AOS
    include: frozenset[Include] = frozenset()
    schema_format: SchemaFormat | None = None
    datasets: tuple[NamedDataset, ...] = ()
    skip: int = 0
    limit: int = LIMIT
    as_at: Instant | None = None
    as_of: Instant | None = None
    state: bool = False

    @property
    def includes(self) -> frozenset[Include]:
        """A proof needs the input, a format of schemas means the schema."""
        implied = {Include.INPUT} if Include.PROOF in self.include else set()
        return self.include | implied | ({Include.SCHEMA} if self.schema_format is not None else set())

    @property
    def schema_wanted(self) -> SchemaFormat | None:
        """How the schema is written, if there is one in the answer."""
        return (self.schema_format or SchemaFormat.ARROW_JSON) if Include.SCHEMA in self.includes else None

    @property
    def wanted(self) -> Wanted:
        """Changelogs or states."""
        return Wanted(self.state, self.as_of)

    def echoed(self, datasets: Iterable[NamedDataset]) -> dict[str, Any]:
        """The question with all its defaults, and the datasets and blocks that it was about."""
        schema, moments = self.schema_wanted, {"asAt": self.as_at, "asOf": self.as_of}
        return {
            "query": self.query,
            "queryDialect": self.dialect.value,
            "dataFormat": self.shape.value,
            "include": sorted(self.includes),
            **({} if schema is None else {"schemaFormat": schema.value}),
            "datasets": [each.as_plain() for each in datasets],
            "skip": self.skip,
            "limit": self.limit,
            **{name: str(given) for name, given in moments.items() if given is not None},
            **({"state": True} if self.state else {}),
        }


def question_from_body(body: Mapping[str, Any]) -> Question:
    """From the JSON object of a request.

    Raises:
        MalformedInput: a field that is unknown, missing, or of another kind.
    """
    given = {_FIELDS[name][0]: _read(name, value) for name, value in body.items() if _known(name)}
    if "query" not in given:
        raise MalformedInput("missing field 'query'")
    return Question(**given)


def question_from_address(parameters: Mapping[str, str]) -> Question:
    """From a query string; errors as in ``question_from_body``."""
    renamed = {"dataFormat" if name == "format" else name: text for name, text in parameters.items()}
    only_known(renamed, [name for name in _FIELDS if name != "datasets"])
    return question_from_body({name: _from_text(name, text) for name, text in renamed.items()})


def _from_text(name: str, text: str) -> Any:
    if name in {"skip", "limit"}:
        return whole_number(text, name, most=_COUNT_MAX)
    if name == "include":
        return [named(Include, word.strip(), "include").value for word in text.split(",") if word.strip()]
    return text.lower() in {"true", "1", "on"} if name == "state" else text


def _known(name: str) -> bool:
    only_known([name], _FIELDS)
    return True


def _read(name: str, value: Any) -> Any:
    kind, read = _FIELDS[name][1:]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise MalformedInput(f"field '{name}' is of another type", expected=kind.__name__)
    return read(value)


def _query(text: str) -> str:
    if len(text) > QUERY_CHARS_MAX:
        raise MalformedInput("the query is too long", expected=f"at most {QUERY_CHARS_MAX} characters")
    return text


def _include(words: list[Any]) -> frozenset[Include]:
    return frozenset(_one_of(Include, word) for word in words)


def _one_of(kind: type[Include], word: Any) -> Include:
    found = next((each for each in kind if word in {each.value, each.value.lower()}), None)
    if found is None:
        raise MalformedInput("unknown item of 'include'", expected=", ".join(kind), found=str(word)[:100])
    return found


def _count(number: int) -> int:
    if not 0 <= number <= _COUNT_MAX:
        raise MalformedInput("a count is out of range", expected=f"0 to {_COUNT_MAX}", found=number)
    return number


def _datasets(items: list[Any]) -> tuple[NamedDataset, ...]:
    if len(items) > QUERY_DATASETS_MAX:
        raise MalformedInput("too many datasets", expected=f"at most {QUERY_DATASETS_MAX}", found=len(items))
    return tuple(map(_dataset, items))


def _dataset(item: Any) -> NamedDataset:
    if not isinstance(item, dict) or not all(isinstance(value, str) for value in item.values()):
        raise MalformedInput("a dataset is an object of texts", expected="id, alias and, if wanted, blockHash")
    only_known(item, ("id", "alias", "blockHash"))
    if not {"id", "alias"} <= set(item):
        raise MalformedInput("a dataset lacks its id or its alias")
    block = item.get("blockHash")
    identity = DatasetId.from_text(item["id"])
    return NamedDataset(identity, item["alias"], None if block is None else Multihash.from_text(block))


_FIELDS: Final[dict[str, tuple[str, type, Callable[[Any], Any]]]] = {
    "query": ("query", str, _query),
    "queryDialect": ("dialect", str, lambda text: named(Dialect, text, "queryDialect")),
    "dataFormat": ("shape", str, lambda text: named(JsonShape, text, "dataFormat")),
    "include": ("include", list, _include),
    "schemaFormat": ("schema_format", str, lambda text: named(SchemaFormat, text, "schemaFormat")),
    "datasets": ("datasets", list, _datasets),
    "skip": ("skip", int, _count),
    "limit": ("limit", int, _count),
    "asAt": ("as_at", str, Instant.from_rfc3339),
    "asOf": ("as_of", str, Instant.from_rfc3339),
    "state": ("state", bool, bool),
}
"""What a field is called inside, its type, and how it is read."""
