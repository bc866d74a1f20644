"""What a source of logs asks a node for: conditions in SQL, as far as a node can be asked (``eth_getLogs``).

Conditions on ``block_number``, ``address`` and ``topic0`` to ``topic3`` are joined by AND; several values of a column
by OR or IN. Everything else belongs into the preprocess query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from opendatafabric.errors import InvalidQuery
from opendatafabric.limits import QUERY_CHARS_MAX
from pipeline.fetch.ethereum.event_signature import parse_event

Values = frozenset[bytes] | None
"""Those allowed; ``None`` is all."""

_COLUMNS: Final = ("address", "topic0", "topic1", "topic2", "topic3")
_COLUMN_BYTES: Final[Mapping[str, int]] = {"address": 20, "topic0": 32, "topic1": 32, "topic2": 32, "topic3": 32}
_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<bytes>[xX]'[0-9a-fA-F]*'|0[xX][0-9a-fA-F]+)
    | (?P<number>\d{1,20})
    | (?P<text>'(?:[^']|'')*')
    | (?P<name>[A-Za-z_][A-Za-z_0-9.]*|"[^"]+")
    | (?P<sign><=|>=|<>|!=|=|<|>|\(|\)|,)
    )""",
    re.VERBOSE,
)
_WORDS: Final = frozenset({"and", "or", "in", "between"})
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_DEPTH_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class LogFilter:
    """``last`` is the newest block unless given; ``values`` are those of the address and the four topics."""

    first: int = 0
    last: int | None = None
    values: tuple[Values, ...] = (None,) * len(_COLUMNS)

    @staticmethod
    def of_column(column: str, values: frozenset[bytes]) -> LogFilter:
        """One column has one of these."""
        return LogFilter(values=tuple(values if each == column else None for each in _COLUMNS))

    def __and__(self, other: LogFilter) -> LogFilter:
        ends = [end for end in (self.last, other.last) if end is not None]
        values = tuple(map(_common, self.values, other.values))
        return LogFilter(max(self.first, other.first), min(ends) if ends else None, values)

    def __or__(self, other: LogFilter) -> LogFilter:
        """Of conditions on the same column and nothing else.

        Raises:
            InvalidQuery: they are others.
        """
        columns = {self.column, other.column}
        if len(columns) != 1 or None in columns:
            raise _not_for_a_node("OR of several columns, or of block numbers")
        return LogFilter(
            values=tuple(
                a | b if a is not None and b is not None else None
                for a, b in zip(self.values, other.values, strict=True)
            )
        )

    @property
    def column(self) -> str | None:
        """The one column that is restricted."""
        restricted = [name for name, values in zip(_COLUMNS, self.values, strict=True) if values is not None]
        return restricted[0] if len(restricted) == 1 and (self.first, self.last) == (0, None) else None

    @property
    def matches_nothing(self) -> bool:
        """Whether no log could ever match."""
        return frozenset() in self.values or (self.last is not None and self.last < self.first)

    def takes(self, address: bytes, topics: list[bytes]) -> bool:
        """Whether a log matches, its block aside."""
        given = [address, *topics, *[None] * (4 - len(topics))]
        return all(wanted is None or value in wanted for wanted, value in zip(self.values, given, strict=True))

    def request(self, first: int, last: int) -> dict[str, object]:
        """The filter object of the node's interface, for those blocks."""
        addresses, *topics = map(_hexes, self.values)
        while topics and topics[-1] is None:
            topics.pop()
        found: dict[str, object] = {"fromBlock": hex(first), "toBlock": hex(last)}
        if addresses is not None:
            found["address"] = addresses
        return {**found, "topics": topics} if topics else found


def parse_filter(text: str) -> LogFilter:
    """The filter that the conditions are.

    Raises:
        InvalidQuery: they are none, or not for a node.
    """
    parser = _Parser(_tokens(text))
    found = parser.alternatives(0)
    parser.end()
    return found


def _common(one: Values, other: Values) -> Values:
    return other if one is None else one if other is None else one & other


def _hexes(values: Values) -> list[str] | None:
    return None if values is None else sorted(f"0x{value.hex()}" for value in values)


def _tokens(text: str) -> list[tuple[str, str]]:
    if len(text) > QUERY_CHARS_MAX:
        raise InvalidQuery("the filter is too long", expected=f"at most {QUERY_CHARS_MAX} characters")
    tokens, at = [], 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise InvalidQuery(f"the filter is no condition from character {at} on", found=text[at : at + 20])
        kind, value, at = found.lastgroup, found[found.lastgroup], found.end()
        is_word = kind == "name" and value.lower() in _WORDS
        tokens.append(("word", value.lower()) if is_word else (kind, value))
    return tokens


def _column_is(column: str, sign: str, value: int | bytes) -> LogFilter:
    if column == "block_number" and isinstance(value, int):
        ranges: dict[str, Callable[[int], LogFilter]] = {
            "=": lambda number: LogFilter(number, number),
            ">": lambda number: LogFilter(number + 1),
            ">=": LogFilter,
            "<": lambda number: LogFilter(last=number - 1),
            "<=": lambda number: LogFilter(last=number),
        }
        if sign in ranges:
            return ranges[sign](value)
    if sign == "=" and column in _COLUMN_BYTES and isinstance(value, bytes):
        return _is_one_of(column, frozenset({value}))
    raise _not_for_a_node(f"{column} {sign} …")


def _is_one_of(column: str, values: frozenset[bytes]) -> LogFilter:
    wrong = [value for value in values if len(value) != _COLUMN_BYTES[column]]
    if wrong:
        raise InvalidQuery(
            f"a value of {column} has {len(wrong[0])} bytes", expected=f"{_COLUMN_BYTES[column]} bytes, as X'00ff…'"
        )
    return LogFilter.of_column(column, values)


def _not_for_a_node(what: str) -> InvalidQuery:
    return InvalidQuery(f"a node cannot be asked for '{what}'", hint="put such conditions into the preprocess query")


class _Parser:
    """By recursive descent: alternatives of conjunctions of conditions."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens, self._at = tokens, 0

    def alternatives(self, depth: int) -> LogFilter:
        """``… OR …``"""
        found = self._conjunction(depth)
        while self._takes("word", "or"):
            found |= self._conjunction(depth)
        return found

    def end(self) -> None:
        """Nothing follows."""
        if self._at < len(self._tokens):
            raise InvalidQuery("the filter goes on where it should end", found=self._tokens[self._at][1])

    def _conjunction(self, depth: int) -> LogFilter:
        found = self._condition(depth)
        while self._takes("word", "and"):
            found &= self._condition(depth)
        return found

    def _condition(self, depth: int) -> LogFilter:
        if depth > _DEPTH_MAX:
            raise InvalidQuery("the filter is nested too deeply", expected=f"at most {_DEPTH_MAX}")
        if self._takes("sign", "("):
            found = self.alternatives(depth + 1)
            self._expect("sign", ")")
            return found
        if self._peek()[0] == "name" and not self._is_call():
            return self._about(self._next()[1].strip('"').lower())
        value, sign = self._value(), self._next()[1]
        if sign not in _MIRRORED:
            raise _not_for_a_node(sign)
        return _column_is(self._expect("name").strip('"').lower(), _MIRRORED[sign], value)

    def _about(self, column: str) -> LogFilter:
        if self._takes("word", "between"):
            low = self._value()
            self._expect("word", "and")
            return _column_is(column, ">=", low) & _column_is(column, "<=", self._value())
        if self._takes("word", "in"):
            return self._one_of(column)
        return _column_is(column, self._expect("sign"), self._value())

    def _one_of(self, column: str) -> LogFilter:
        self._expect("sign", "(")
        found = _column_is(column, "=", self._value())
        while self._takes("sign", ","):
            found |= _column_is(column, "=", self._value())
        self._expect("sign", ")")
        return found

    def _value(self) -> int | bytes:
        kind, text = self._next()
        if kind == "number":
            return int(text)
        if kind == "bytes":
            digits = text[2:].rstrip("'")
            return bytes.fromhex(digits) if len(digits) % 2 == 0 else b""
        if (kind, text.lower()) == ("name", "eth_event_selector"):
            self._expect("sign", "(")
            signature = self._expect("text")[1:-1].replace("''", "'")
            self._expect("sign", ")")
            return parse_event(signature).selector
        raise _not_for_a_node(text)

    def _is_call(self) -> bool:
        return self._tokens[self._at + 1 : self._at + 2] == [("sign", "(")]

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _next(self) -> tuple[str, str]:
        found = self._peek()
        if found[0] == "end":
            raise InvalidQuery("the filter ends in the middle of a condition")
        self._at += 1
        return found

    def _takes(self, kind: str, value: str) -> bool:
        taken = self._peek() == (kind, value)
        self._at += taken
        return taken

    def _expect(self, kind: str, value: str | None = None) -> str:
        found = self._next()
        if found[0] != kind or (value is not None and found[1] != value):
            raise InvalidQuery("the filter is no condition", expected=value or kind, found=found[1])
        return found[1]
