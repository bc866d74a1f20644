"""Rules beyond the reference's: it does not check these on append, and never makes a chain that breaks them."""

from __future__ import annotations

from opendatafabric.chain.rules.rule import Broken, Candidate
from opendatafabric.metadata.events import (
    AddData,
    AddPushSource,
    DataEvent,
    DatasetKind,
    ExecuteTransform,
    Seed,
    SetDataSchema,
    SetPollingSource,
    SetTransform,
)

KIND_OF_EVENT = {
    AddData: DatasetKind.ROOT,
    SetPollingSource: DatasetKind.ROOT,
    AddPushSource: DatasetKind.ROOT,
    SetTransform: DatasetKind.DERIVATIVE,
    ExecuteTransform: DatasetKind.DERIVATIVE,
}
"""Events that belong to one kind of dataset only."""

EventOfOneKind = AddData | SetPollingSource | AddPushSource | SetTransform | ExecuteTransform


def event_fits_kind_of_dataset(at: Candidate[EventOfOneKind]) -> Broken | None:
    """Sources and AddData belong to root datasets, SetTransform and ExecuteTransform to derivative ones."""
    seed, needed = at.state.seed, KIND_OF_EVENT[type(at.event)]
    if not isinstance(seed, Seed) or seed.dataset_kind is needed:
        return None
    found = f"{seed.dataset_kind.name.lower()} dataset"
    return Broken(f"{type(at.event).__name__} in a {found}", expected=f"{needed.name.lower()} dataset", found=found)


def schema_has_one_form(at: Candidate[SetDataSchema]) -> Broken | None:
    """SetDataSchema has one of ``schema`` and ``rawArrowSchema``, not both and not neither."""
    event = at.event
    if (event.schema is None) != (event.raw_arrow_schema is None):
        return None
    return Broken(
        "SetDataSchema must have one form of the schema",
        expected="schema or rawArrowSchema",
        found="neither" if event.schema is None else "both",
    )


def first_data_start_at_zero(at: Candidate[DataEvent]) -> Broken | None:
    """The first data block of a chain has no ``prevOffset``."""
    if at.state.data is not None or at.event.prev_offset is None:
        return None
    return Broken("the first data block claims records before it", expected="none", found=at.event.prev_offset)
