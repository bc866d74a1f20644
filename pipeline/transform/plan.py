"""What a derivative dataset has not seen of its inputs yet, and what is said of that in its next block.

Nothing here reads or computes: from where the derivative stands and what came to its inputs follows the next step
(spec: Derivative Transformations, Watermarks). All new blocks of all inputs go into one step, unless they
have very many records (``batches``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from opendatafabric.chain.rules.add_data import checkpoint_hash
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.did import DatasetId
from opendatafabric.errors import ChainsDiverged, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import (
    DataEvent,
    DatasetKind,
    ExecuteTransform,
    ExecuteTransformInput,
    SetDataSchema,
    SetTransform,
    known_event,
)
from opendatafabric.metadata.slices import Checkpoint, DataSlice, OffsetInterval
from opendatafabric.metadata.transform import TransformInput
from opendatafabric.multihash import Multihash
from pipeline.commit import Position
from pipeline.transform.batches import Arrival
from pipeline.transform.input_block import InputBlock, input_blocks


@dataclass(frozen=True, slots=True)
class InputNews:
    """Where an input stands, its blocks of data since the last step, oldest first, and its watermark before them.

    ``arrivals`` are when and with which blocks these came.
    """

    position: Position
    events: tuple[DataEvent, ...] = ()
    watermark_before: Instant | None = None
    arrivals: tuple[Arrival, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedInput:
    """One input of a step. ``interval`` are its new records; ``watermarks`` are those its new ``blocks`` say."""

    alias: str
    event: ExecuteTransformInput
    slices: tuple[DataSlice, ...]
    watermarks: tuple[Instant, ...]
    last_watermark: Instant | None
    schema: SetDataSchema | None
    vocabulary: DatasetVocabulary
    blocks: tuple[InputBlock, ...]

    @property
    def interval(self) -> OffsetInterval | None:
        """Of the new records."""
        if self.event.new_offset is None:
            return None
        before = self.event.prev_offset
        return OffsetInterval(0 if before is None else before + 1, self.event.new_offset)


@dataclass(frozen=True, slots=True)
class TransformPlan:
    """The next step of a derivative at ``position``; with ``is_cut`` there will be more to do after it."""

    position: Position
    transform: SetTransform
    inputs: tuple[PlannedInput, ...]
    is_cut: bool = False

    @property
    def engine(self) -> str:
        """The name of the engine that is to compute it, in lower case."""
        return self.transform.transform.engine.lower()

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Inputs that nothing is known of: they have no schema yet."""
        return tuple(each.alias for each in self.inputs if each.schema is None)

    @property
    def is_due(self) -> bool:
        """Whether there is anything to do."""
        has_news = any(each.slices or each.watermarks for each in self.inputs)
        return not self.waits_for and (has_news or self.position.schema is None)

    @property
    def watermark(self) -> Instant | None:
        """After the step: no input is behind it. It does not go back, also when an input came that has none yet."""
        before, reached = self.position.state.watermark, [each.last_watermark for each in self.inputs]
        known = [each for each in reached if each is not None]
        if len(known) < len(reached):
            return before
        return max(min(known), before) if before is not None else min(known)

    @property
    def last_checkpoint(self) -> Multihash | None:
        """What the engine of the last step left for the next one."""
        before = execute_transform_of(self.position)
        return None if before is None else checkpoint_hash(before.new_checkpoint)

    def event(self, new_data: DataSlice | None, checkpoint: Checkpoint | None = None) -> ExecuteTransform | None:
        """What the block says; ``None`` where there is nothing that a block may say."""
        return self.event_of(new_data, self.watermark, checkpoint)

    def event_of(
        self, new_data: DataSlice | None, watermark: Instant | None, checkpoint: Checkpoint | None
    ) -> ExecuteTransform | None:
        """The same of an engine that says the watermark itself."""
        advances = watermark is not None and any(each.event.new_block_hash is not None for each in self.inputs)
        remembers = checkpoint is not None and checkpoint.physical_hash != self.last_checkpoint
        if new_data is None and not advances and not remembers:
            return None
        return ExecuteTransform(
            query_inputs=tuple(each.event for each in self.inputs),
            prev_checkpoint=self.last_checkpoint,
            prev_offset=self.position.state.last_offset,
            new_data=new_data,
            new_checkpoint=checkpoint,
            new_watermark=watermark,
        )


def transform_of(position: Position) -> SetTransform:
    """The transform in force.

    Raises:
        UnsupportedOperation: the dataset has none.
        UnsupportedVersion: it is of a newer version.
    """
    if position.seed.dataset_kind is not DatasetKind.DERIVATIVE:
        raise UnsupportedOperation("the dataset is not derived from others", hint="data enter it: odf ingest")
    if position.state.transform is None:
        raise UnsupportedOperation("the dataset has no transform", hint="add a SetTransform to it")
    return known_event(position.state.transform, SetTransform)


def execute_transform_of(position: Position) -> ExecuteTransform | None:
    """The last step."""
    last = position.state.execute_transform
    return None if last is None else known_event(last, ExecuteTransform)


def inputs_before(position: Position) -> list[tuple[TransformInput, ExecuteTransformInput | None]]:
    """Each input of the transform, and where the last step left it; errors as ``transform_of``, and:

    Raises:
        UnsupportedOperation: the transform was changed, and its inputs are not those of the last step any more. The
            chain can only say that inputs came at the end, or went from there.
    """
    inputs, last = transform_of(position).inputs, execute_transform_of(position)
    seen = () if last is None else last.query_inputs[: len(inputs)]
    paired = list(zip_longest(inputs, seen))
    for now, before in paired:
        if before is not None and now.dataset_ref != before.dataset_id:
            raise UnsupportedOperation(
                f"input '{now.alias}' of the transform was another dataset in the step before",
                expected=before.dataset_id,
                found=now.dataset_ref,
                hint="add inputs at the end, or derive a new dataset from the others",
            )
    return paired


def block_left(before: ExecuteTransformInput | None) -> Multihash | None:
    """The block of an input where the last step ended."""
    return None if before is None else before.new_block_hash or before.prev_block_hash


def input_was_replaced(dataset_id: DatasetId, block: Multihash) -> ChainsDiverged:
    """The chain of an input does not lead to where the last step ended."""
    return ChainsDiverged(
        f"input {dataset_id} no longer has the block that was processed last: its history was replaced",
        expected=block,
        hint="delete the derivative, add it again and pull it: it is computed anew from the new history",
    )


def plan_transform(position: Position, news: Sequence[InputNews]) -> TransformPlan:
    """The next step; ``news`` are those of the inputs in their order. Errors as ``inputs_before``."""
    planned = [_planned(now, before, came) for (now, before), came in zip(inputs_before(position), news, strict=True)]
    return TransformPlan(position, transform_of(position), tuple(planned))


def _planned(now: TransformInput, before: ExecuteTransformInput | None, came: InputNews) -> PlannedInput:
    said = [event.new_watermark for event in came.events]
    watermarks = tuple(each for each in said if each is not None)
    slices = [event.new_data for event in came.events]
    blocks = input_blocks(came.events, last_offset=_offset_left(before), watermark=came.watermark_before)
    return PlannedInput(
        alias=now.alias or str(now.dataset_ref),
        event=_advanced(came.position, before),
        slices=tuple(each for each in slices if each is not None),
        watermarks=watermarks,
        last_watermark=max(watermarks, default=came.position.state.watermark),
        schema=came.position.schema,
        vocabulary=came.position.vocabulary,
        blocks=tuple(blocks),
    )


def _advanced(now: Position, before: ExecuteTransformInput | None) -> ExecuteTransformInput:
    left, offset = block_left(before), _offset_left(before)
    last_offset = now.state.last_offset
    return ExecuteTransformInput(
        dataset_id=now.seed.dataset_id,
        prev_block_hash=left,
        new_block_hash=None if now.head == left else now.head,
        prev_offset=offset,
        new_offset=None if last_offset == offset else last_offset,
    )


def _offset_left(before: ExecuteTransformInput | None) -> int | None:
    if before is None:
        return None
    return before.prev_offset if before.new_offset is None else before.new_offset
