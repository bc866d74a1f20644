"""The first blocks of a dataset from the DatasetSnapshot that people write (spec: Dataset Layout, Metadata Format).

A snapshot may say things shorter than a chain does: one ``query`` instead of ``queries``, inputs by alias. Here they
are brought into normal form, then the rules of the chain are applied as to any other block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from opendatafabric.chain.rules import check_block
from opendatafabric.chain.rules.strict import KIND_OF_EVENT
from opendatafabric.chain.state import ChainState
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.dataset_ref import DatasetRef
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, InvalidSnapshot
from opendatafabric.instant import Instant
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.events import (
    AddData,
    AddPushSource,
    DatasetKind,
    DisablePollingSource,
    DisablePushSource,
    ExecuteTransform,
    MetadataEvent,
    Seed,
    SetPollingSource,
    SetTransform,
)
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.metadata.transform import SqlQueryStep, Transform, TransformInput

ResolveInput = Callable[[DatasetRef], DatasetId | None]
"""Finds the id behind what a snapshot calls an input; ``None`` when there is no such dataset."""

_NEVER_IN_SNAPSHOTS = (Seed, AddData, ExecuteTransform, DisablePollingSource, DisablePushSource)


def blocks_from_snapshot(
    snapshot: DatasetSnapshot, *, dataset_id: DatasetId, system_time: Instant, resolve_input: ResolveInput
) -> list[HashedBlock]:
    """Seed and one block per event, oldest first, all of one ``system_time``.

    Raises:
        InvalidSnapshot: an event not made for snapshots of that kind, or a transform without a normal form.
        DatasetNotFound: inputs that could not be resolved, all of them named.
        ChainError: an event that breaks a rule of the chain.
    """
    for event in snapshot.metadata:
        _check_kind(event, snapshot.kind)
    ids = _resolved(_references(snapshot.metadata), resolve_input)
    events = [_normal_form(event, ids) for event in snapshot.metadata]
    return _chained([Seed(dataset_id, snapshot.kind), *events], system_time)


def transform_in(snapshot: DatasetSnapshot, resolve_input: ResolveInput) -> SetTransform:
    """The transform of a snapshot, in normal form; errors as ``blocks_from_snapshot``, and:

    Raises:
        InvalidSnapshot: it has none, or several.
    """
    found = [event for event in snapshot.metadata if isinstance(event, SetTransform)]
    if len(found) != 1:
        raise InvalidSnapshot("the snapshot has not one transform", expected="one SetTransform", found=len(found))
    event = _normal_form(found[0], _resolved(_references(found), resolve_input))
    assert isinstance(event, SetTransform)
    return event


def _check_kind(event: MetadataEvent, kind: DatasetKind) -> None:
    name = type(event).__name__
    if isinstance(event, _NEVER_IN_SNAPSHOTS):
        raise InvalidSnapshot(
            f"{name} does not belong into a snapshot", hint="such blocks are made by running the dataset"
        )
    needed = KIND_OF_EVENT.get(type(event), kind)
    if needed is not kind:
        raise InvalidSnapshot(
            f"{name} does not belong into a {kind.name.lower()} dataset",
            expected=f"kind: {needed.name.capitalize()}",
            found=f"kind: {kind.name.capitalize()}",
        )


def _references(events: Iterable[MetadataEvent]) -> list[DatasetRef]:
    return [each.dataset_ref for event in events if isinstance(event, SetTransform) for each in event.inputs]


def _resolved(references: Iterable[DatasetRef], resolve_input: ResolveInput) -> dict[DatasetRef, DatasetId]:
    found = {reference: resolve_input(reference) for reference in references}
    missing = sorted(str(reference) for reference, dataset_id in found.items() if dataset_id is None)
    if missing:
        raise DatasetNotFound(
            f"inputs of the dataset were not found: {', '.join(missing)}",
            found=", ".join(missing),
            hint="add the inputs first, or name them by id",
        )
    return {reference: dataset_id for reference, dataset_id in found.items() if dataset_id is not None}


def _normal_form(event: MetadataEvent, ids: dict[DatasetRef, DatasetId]) -> MetadataEvent:
    if isinstance(event, SetTransform):
        inputs = tuple(_normal_input(each, ids) for each in event.inputs)
        return SetTransform(inputs, _normal_transform(event.transform))
    if isinstance(event, AddPushSource | SetPollingSource) and event.preprocess is not None:
        return replace(event, preprocess=_normal_transform(event.preprocess))
    return event


def _normal_input(given: TransformInput, ids: dict[DatasetRef, DatasetId]) -> TransformInput:
    return TransformInput(ids[given.dataset_ref], str(given.dataset_ref) if given.alias is None else given.alias)


def _normal_transform(transform: Transform) -> Transform:
    """``query: Q`` as a single step; several steps as they are (the rules of the chain look at their aliases)."""
    if (transform.query is None) == (transform.queries is None):
        raise InvalidSnapshot("a transform has either query or queries", hint="give one of the two")
    if transform.query is None:
        return transform
    return replace(transform, query=None, queries=(SqlQueryStep(query=transform.query),))


def _chained(events: Iterable[MetadataEvent], system_time: Instant) -> list[HashedBlock]:
    state, blocks = ChainState.empty(), list[HashedBlock]()
    for event in events:
        block = encode_block(MetadataBlock(system_time, state.head, state.sequence_number + 1, event))
        check_block(state, block)
        state = state.apply(block)
        blocks.append(block)
    return blocks
