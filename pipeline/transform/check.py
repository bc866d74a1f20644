"""Whether a transform can be computed, asked when it is set and before there is anything to compute.

An engine is given the queries over the inputs as they are, but without records: so it says itself what it would say
later, also of the columns that come out. While the schema of an input is not known, it looks at the text of the
queries alone (spec: Validate Query, Query Evolution). Transforms for other engines are not looked at.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from opendatafabric.did import DatasetId
from opendatafabric.errors import InvalidQuery, LimitExceeded, RefNotFound
from opendatafabric.instant import Instant
from opendatafabric.limits import QUERY_CHECK_S_MAX
from opendatafabric.metadata.events import SetTransform
from opendatafabric.metadata.transform import TransformInput
from pipeline.commit import Position, position_of
from pipeline.engine_contract.elsewhere import NONE_ELSEWHERE, EnginesElsewhere
from pipeline.ingest import Engine, folders_of
from pipeline.transform.input_chains import FindInput
from pipeline.transform.plan import inputs_before
from pipeline.transform.request import ENGINES, GivenInput, Memory, TransformRequest
from pipeline.transform.run import JOB

WORDS_JOB: Final = "check-queries"
_ANY_TIME: Final = Instant.from_rfc3339("2000-01-01T00:00:00Z")


async def check_transform(
    position: Position,
    transform: SetTransform,
    find: FindInput,
    engine: Engine,
    *,
    elsewhere: EnginesElsewhere = NONE_ELSEWHERE,
) -> None:
    """That ``transform`` can be computed in a derivative at ``position``, as far as that can be said now.

    Raises:
        InvalidQuery: a query does not hold, or names repeat.
        LimitExceeded: it is too long, or takes too long though there are no records.
        IncompatibleSchema: what comes out is no records, or not what the dataset has already.
        UnsupportedOperation, UnsupportedVersion: inputs that chains cannot change so, or a dialect that is not known.
        DatasetNotFound: an input is not here.
        EngineUnavailable, EngineDied: there is no engine, or it ended over this.
    """
    changed = Position(position.head, replace(position.state, transform=transform))
    inputs_before(changed)
    check_names(transform)
    given = [await _given(each, find) for each in transform.inputs]
    if transform.transform.engine.lower() not in ENGINES or elsewhere.place_of(transform.transform) is not None:
        return
    known = [each for each in given if each is not None]
    async with folders_of(engine) as folders:
        request = TransformRequest(
            transform=transform,
            inputs=tuple(known),
            made=folders.made / "slice",
            system_time=_ANY_TIME,
            vocabulary=position.vocabulary,
            schema=position.schema,
            next_offset=position.next_offset,
            memory=Memory(folders.made / "checkpoint"),
        )
        try:
            async with asyncio.timeout(QUERY_CHECK_S_MAX):
                await engine.run(JOB if len(known) == len(given) else WORDS_JOB, request.to_message())
        except TimeoutError:
            raise LimitExceeded(
                "the query takes too long even without records", expected=f"at most {QUERY_CHECK_S_MAX} s"
            ) from None


def check_names(transform: SetTransform) -> None:
    """That every input and every step has a name of its own, for queries do not tell upper from lower case.

    Raises:
        InvalidQuery: names that repeat.
    """
    steps = transform.transform.queries or ()
    _check_unique("inputs", (_alias_of(each) for each in transform.inputs))
    names = [*map(_alias_of, transform.inputs), *(each.alias for each in steps if each.alias is not None)]
    _check_unique("inputs and steps", names)


def _check_unique(what: str, names: Iterable[str]) -> None:
    given = list(names)
    counts = Counter(name.lower() for name in given)
    repeated = sorted({name for name in given if counts[name.lower()] > 1})
    if repeated:
        raise InvalidQuery(
            f"{what} of the transform have the same name: {', '.join(repeated)}", hint="give each an alias of its own"
        )


def _alias_of(given: TransformInput) -> str:
    return given.alias or str(given.dataset_ref)


async def _given(given: TransformInput, find: FindInput) -> GivenInput | None:
    """The input without any record; ``None`` while it has no schema."""
    assert isinstance(given.dataset_ref, DatasetId)  # a rule of the chain
    try:
        position = await position_of(await find(given.dataset_ref))
    except RefNotFound:
        return None
    if position.schema is None:
        return None
    return GivenInput(_alias_of(given), position.schema, position.vocabulary)
