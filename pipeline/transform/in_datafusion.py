"""Transforms of the engine ``datafusion``, as the reference has it: all new records of each input in one partition.

Its queries have no gate but for functions that would give another result each time: their SQL reaches nothing but the
tables that were registered, and the process is walled in.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import pyarrow as pa

from opendatafabric.errors import InvalidQuery
from pipeline.datafusion_steps import collected, planned_steps, told_as_ours
from pipeline.sql_text import Dialect, Token, TokenKind, line_and_column, tokens
from pipeline.transform.records import new_records
from pipeline.transform.request import TransformRequest

_CHANGING: Final = frozenset(
    {"current_date", "current_time", "current_timestamp", "now", "random", "today", "uuid", "version"}
)
"""Functions that ask the clock, chance or the engine itself."""


def run_transform(request: TransformRequest) -> pa.Table:
    """The rows of the last step; errors as ``compute``."""
    for step in request.steps:
        check_repeatable(step.query)
    inputs = {each.alias: new_records(each) for each in request.inputs}
    with told_as_ours():
        return collected(planned_steps(inputs, request.steps))


def check_repeatable(sql: str) -> None:
    """That no function is called whose result is another on another day, or each time; ``InvalidQuery`` says which."""
    pieces = [*tokens(sql, Dialect.STANDARD), Token(TokenKind.MARK, "", len(sql))]
    for name, mark in pairwise(pieces):
        word = name.text.strip('"`').lower()
        is_called = mark.text == "(" or (name.kind is TokenKind.WORD and word.startswith("current_"))
        if name.kind is not TokenKind.STRING and word in _CHANGING and is_called:
            raise InvalidQuery(
                f"the query uses '{word}', which gives another result each time"
                f" (line {line_and_column(sql, name.start)})",
                hint="use event_time or system_time of the records; derive other values from them, e.g. by sha256",
            )
