"""Column definitions of a read step (``schema: [city STRING NOT NULL, ...]``) as an Arrow schema.

The dialect is what the reference reads: the columns of a CREATE TABLE in DataFusion's SQL. Names keep their case;
quoted ones may hold anything. Columns may be null unless they say NOT NULL, timestamps are in UTC. Spec: Read Step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import pyarrow as pa

from opendatafabric.errors import MalformedData
from opendatafabric.limits import DDL_CHARACTERS_MAX, DDL_DEPTH_MAX

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<quoted>"(?:[^"]|"")+"|`(?:[^`]|``)+`)|(?P<word>[^\W\d]\w*)|(?P<number>\d+)|(?P<sign>[(),<>\[\]:]))""",
)
_JOINT: Final = ", "


def read_ddl(definitions: Sequence[str]) -> pa.Schema:
    """The schema that ``definitions`` describe; one text may hold several columns parted by commas.

    Raises:
        MalformedData: not such definitions, an unknown type, a name twice; names the definition and the character.
        LimitExceeded: longer or nested deeper than ``limits.py`` allows.
    """
    columns = _Parser(definitions)
    fields = [columns.column()]
    while columns.take(","):
        fields.append(columns.column())
    columns.expect_end()
    return pa.schema(fields)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """In capitals; a quoted name is no word."""
        return self.text.upper() if self.kind in {"word", "sign"} else ""


class _Parser:
    """One token after the other; knows where each stands."""

    def __init__(self, definitions: Sequence[str]) -> None:
        self._definitions = definitions
        self._text = _JOINT.join(definitions)
        if len(self._text) > DDL_CHARACTERS_MAX:
            raise MalformedData("the schema is too long", expected=f"at most {DDL_CHARACTERS_MAX} characters")
        self._tokens = self._read_tokens()
        self._index = 0
        self._names: set[str] = set()
        self._depth = 0

    def column(self) -> pa.Field:
        """``name TYPE [NOT NULL]``."""
        start = self._next.start
        field = self._named_type()
        if field.name in self._names:
            raise self.wrong(f"column '{field.name}' is there twice", at=start)
        self._names.add(field.name)
        return field

    def take(self, word: str) -> bool:
        """Whether the next token is ``word``, which is then passed."""
        found = self._next.word == word
        self._index += found
        return found

    def expect(self, word: str) -> None:
        """Pass ``word``, or fail."""
        if not self.take(word):
            raise self.wrong(f"expected {word}")

    def expect_end(self) -> None:
        """Nothing may be left."""
        if self._next.kind != "end":
            raise self.wrong("expected a comma or NOT NULL after the type")

    def wrong(self, message: str, *, at: int | None = None) -> MalformedData:
        """The error of the next token, or of the character ``at``."""
        start = self._next.start if at is None else at
        number, character = self._place(start)
        found = self._next.text or "the end"
        return MalformedData(
            f"column definition {number}, character {character}: {message}",
            found=None if at is not None else found,
            hint="write for example: id BIGINT NOT NULL",
        )

    def number(self) -> int:
        """A number in parentheses or between them."""
        if self._next.kind != "number" or len(self._next.text) > 6:
            raise self.wrong("expected a small number")
        self._index += 1
        return int(self._tokens[self._index - 1].text)

    def numbers(self) -> tuple[int, ...]:
        """``(n, …)``, or nothing."""
        if not self.take("("):
            return ()
        found = [self.number()]
        while self.take(","):
            found.append(self.number())
        self.expect(")")
        return tuple(found)

    def data_type(self) -> pa.DataType:
        """A type with all that follows it: sizes, UNSIGNED, []."""
        self._depth += 1
        if self._depth > DDL_DEPTH_MAX:
            raise self.wrong("types are nested too deep")
        start = self._next.start
        build = _TYPES.get(self._next.word)
        if build is None:
            raise self.wrong("expected a type")
        self._index += 1
        try:
            found = build(self)
        except (ValueError, pa.ArrowException) as error:
            raise self.wrong(f"no such type: {error}", at=start) from None
        while self.take("["):
            self.expect("]")
            found = pa.list_(found)
        self._depth -= 1
        return found

    def struct(self) -> pa.DataType:
        """``<name TYPE, …>``."""
        self.expect("<")
        fields = [self._named_type()]
        while self.take(","):
            fields.append(self._named_type())
        self.expect(">")
        return pa.struct(fields)

    def array(self) -> pa.DataType:
        """``<TYPE>``."""
        self.expect("<")
        item = self.data_type()
        self.expect(">")
        return pa.list_(item)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._index]

    def _named_type(self) -> pa.Field:
        name = self._name()
        self.take(":")
        data_type = self.data_type()
        if self.take("NOT"):
            self.expect("NULL")
            return pa.field(name, data_type, nullable=False)
        self.take("NULL")
        return pa.field(name, data_type)

    def _name(self) -> str:
        token = self._next
        if token.kind not in {"word", "quoted"}:
            raise self.wrong("expected the name of a column")
        self._index += 1
        if token.kind == "word":
            return token.text
        quote = token.text[0]
        return token.text[1:-1].replace(quote * 2, quote)

    def _read_tokens(self) -> list[_Token]:
        text, position, tokens = self._text.rstrip(), 0, list[_Token]()
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                start = len(text) - len(text[position:].lstrip())
                number, character = self._place(start)
                raise MalformedData(
                    f"column definition {number}, character {character}: this is no part of a definition",
                    found=text[start : start + 20],
                    hint='names with other characters than letters, digits and _ are written in "quotes"',
                )
            kind = str(found.lastgroup)
            tokens.append(_Token(kind, found[kind], found.start(kind)))
            position = found.end()
        return [*tokens, _Token("end", "", len(text))]

    def _place(self, start: int) -> tuple[int, int]:
        """The definition and the character in it, both from 1."""
        ends = list(accumulate(len(each) + len(_JOINT) for each in self._definitions))
        number = next((index for index, end in enumerate(ends) if start < end), max(0, len(ends) - 1))
        return number + 1, start - (ends[number - 1] if number else 0) + 1


def _plain(data_type: pa.DataType) -> Callable[[_Parser], pa.DataType]:
    return lambda _: data_type


def _integer(signed: pa.DataType, unsigned: pa.DataType) -> Callable[[_Parser], pa.DataType]:
    def build(parser: _Parser) -> pa.DataType:
        parser.numbers()
        return unsigned if parser.take("UNSIGNED") else signed

    return build


def _text(parser: _Parser) -> pa.DataType:
    parser.take("VARYING")
    parser.numbers()
    return pa.string()


def _double(parser: _Parser) -> pa.DataType:
    parser.take("PRECISION")
    return pa.float64()


def _decimal(parser: _Parser) -> pa.DataType:
    sizes = parser.numbers() or (38, 10)
    precision, scale = sizes if len(sizes) == 2 else (sizes[0], 0)
    if scale > precision:
        raise ValueError(f"a scale of {scale} does not fit a precision of {precision}")
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _timestamp(parser: _Parser) -> pa.DataType:
    sizes = parser.numbers() or (9,)
    unit = {0: "s", 3: "ms", 6: "us", 9: "ns"}.get(sizes[0])
    if unit is None or len(sizes) != 1:
        raise ValueError(f"timestamps have 0, 3, 6 or 9 digits of a second, not {sizes[0]}")
    if parser.take("WITH") or parser.take("WITHOUT"):
        parser.expect("TIME")
        parser.expect("ZONE")
    return pa.timestamp(unit, "UTC")


_TINY, _SMALL = _integer(pa.int8(), pa.uint8()), _integer(pa.int16(), pa.uint16())
_INT, _BIG = _integer(pa.int32(), pa.uint32()), _integer(pa.int64(), pa.uint64())

_TYPES: Final[dict[str, Callable[[_Parser], pa.DataType]]] = {
    **dict.fromkeys(("BOOLEAN", "BOOL"), _plain(pa.bool_())),
    "TINYINT": _TINY,
    **dict.fromkeys(("SMALLINT", "INT2"), _SMALL),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), _INT),
    **dict.fromkeys(("BIGINT", "INT8"), _BIG),
    **dict.fromkeys(("FLOAT", "REAL", "FLOAT4"), _plain(pa.float32())),
    **dict.fromkeys(("DOUBLE", "FLOAT8"), _double),
    **dict.fromkeys(("STRING", "TEXT", "VARCHAR", "CHAR", "CHARACTER"), _text),
    **dict.fromkeys(("BYTEA", "BINARY", "VARBINARY"), _plain(pa.binary())),
    **dict.fromkeys(("DECIMAL", "NUMERIC", "DEC"), _decimal),
    "DATE": _plain(pa.date32()),
    "TIME": _plain(pa.time64("ns")),
    "TIMESTAMP": _timestamp,
    "TIMESTAMPTZ": _timestamp,
    "STRUCT": _Parser.struct,
    "ARRAY": _Parser.array,
}
