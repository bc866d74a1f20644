"""Which tables a query names, found in its text: only datasets that it reads are opened, fetched and proved.

Names stand behind FROM, JOIN and the commas after them, or are what ``to_table`` is given. What is overlooked here is
not found when the query runs; this is no wall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from opendatafabric.errors import InvalidQuery
from pipeline.sql_text import Dialect, Token, TokenKind, line_and_column, tokens

STATE_FUNCTION: Final = "to_table"
"""The table function that gives the state of a dataset, called as in the reference."""

_ENDS_FROM: Final = frozenset(
    {
        "where",
        "group",
        "order",
        "having",
        "limit",
        "window",
        "qualify",
        "union",
        "intersect",
        "except",
        "offset",
        "fetch",
    }
)
_NO_NAMES: Final = frozenset({"lateral", "select", "with", "only", "table"})
_END: Final = Token(TokenKind.MARK, "", -1)


@dataclass(frozen=True, slots=True)
class TableName:
    """A name as the engine understands it; ``state`` if it was given to ``to_table``. ``start`` is its place."""

    name: str
    start: int
    state: bool = False


@dataclass(slots=True)
class _Level:
    """What goes on between two brackets."""

    selects: bool = False
    names_follow: bool = False
    in_from: bool = False


def table_names(sql: str) -> list[TableName]:
    """Each table that the query reads once, in order; names that it gives to parts of itself are left out.

    Raises:
        InvalidQuery: a name in parts, which no dataset has.
    """
    pieces = list(tokens(sql, Dialect.STANDARD))
    own = _own_names(pieces)
    found: dict[tuple[str, bool], TableName] = {}
    levels = [_Level()]
    for index, token in enumerate(pieces):
        name = _next_name(sql, pieces, index, levels)
        if name is not None and (name.state or name.name not in own):
            found.setdefault((name.name, name.state), name)
        _step(token, pieces[index - 1] if index else _END, levels)
    return list(found.values())


def _next_name(sql: str, pieces: list[Token], index: int, levels: list[_Level]) -> TableName | None:
    token, after = pieces[index], _at(pieces, index + 1)
    if token.text.lower() == STATE_FUNCTION and after.text == "(":
        argument = _at(pieces, index + 2)
        return TableName(_text(argument), argument.start, True) if argument.kind is TokenKind.STRING else None
    is_word = token.kind is TokenKind.WORD and not token.text[0].isdigit()
    is_name = token.kind is TokenKind.QUOTED or (is_word and token.text.lower() not in {*_NO_NAMES, "values"})
    if not levels[-1].names_follow or not is_name or after.text == "(":
        return None
    if after.text == ".":
        raise InvalidQuery(
            f"the query reads a table whose name has several parts (line {line_and_column(sql, token.start)})",
            hint='write the whole name in double quotes: "account/dataset"',
        )
    return TableName(_text(token), token.start)


def _step(token: Token, before: Token, levels: list[_Level]) -> None:
    """What ``token`` means for those that follow."""
    here, word = levels[-1], token.text.lower()
    if word == "(":
        levels.append(_Level(names_follow=here.names_follow, in_from=here.names_follow))
        here.names_follow = False
    elif word == ")":
        if len(levels) > 1:
            levels.pop()
    elif word == ",":
        here.names_follow = here.in_from
    elif word in {"from", "join"}:
        starts = (here.selects or here.in_from) and before.text.lower() != "distinct"
        here.in_from = here.names_follow = starts or here.in_from
    elif word in {"select", "values"}:
        levels[-1] = _Level(selects=word == "select")
    elif word == "describe" and before is _END:
        here.names_follow = True
    elif word in _ENDS_FROM:
        here.in_from = here.names_follow = False
    elif word not in _NO_NAMES:
        here.names_follow = False


def _own_names(pieces: list[Token]) -> set[str]:
    """Names before ``AS (``, or before their columns and ``AS (``."""
    found = set()
    for index in range(len(pieces)):
        words = [_at(pieces, index + each).text.lower() for each in range(4)]
        if words[0] == "as" and "(" in words[1:] and not set(words[1 : words.index("(")]) - {"not", "materialized"}:
            named = _before_brackets(pieces, index - 1)
            if named is not None:
                found.add(_text(named))
    return found


def _before_brackets(pieces: list[Token], index: int) -> Token | None:
    if index >= 0 and pieces[index].text == ")":
        while index >= 0 and pieces[index].text != "(":
            index -= 1
        index -= 1
    return pieces[index] if index >= 0 else None


def _at(pieces: list[Token], index: int) -> Token:
    return pieces[index] if index < len(pieces) else _END


def _text(token: Token) -> str:
    """As the engine reads it: without quotes, or in small letters."""
    if token.kind is TokenKind.WORD:
        return token.text.lower()
    quote = token.text[:1]
    return token.text[1:-1].replace(quote * 2, quote)
