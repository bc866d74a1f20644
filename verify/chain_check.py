"""The blocks of one chain, oldest first: their bytes, their encoding, the rules between them, and what they name.

A block that cannot be trusted leaves a gap: the next sound one is judged by what does not depend on what was lost.
Runs in worker threads, batch by batch; no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from opendatafabric.chain.objects import ObjectKind, objects_of
from opendatafabric.chain.rules import check_block, warnings_of
from opendatafabric.chain.state import ChainState
from opendatafabric.codec.block_codec import decode_block, is_canonical
from opendatafabric.did import DatasetId
from opendatafabric.errors import ChainError, LimitExceeded, NotFound, OdfError, UnsupportedVersion
from opendatafabric.instant import Instant
from opendatafabric.layout import block_key
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import AddData, ExecuteTransform, Seed, SetTransform, SetVocab, UnknownEvent
from opendatafabric.multihash import Multihash, physical_hash
from storage.dataset import object_key
from verify.chain_reading import StoredBlock
from verify.logical import SliceClaims
from verify.objects import ObjectTask
from verify.report import Check, Finding, Severity

_RESTORE = "fetch it again from a mirror or a backup"


@dataclass(slots=True)
class ChainOutcome:
    """What came out of a batch of blocks."""

    findings: list[Finding] = field(default_factory=list)
    tasks: list[ObjectTask] = field(default_factory=list)


class ChainCheck:
    """Goes along a chain from its first block; with ``complete`` off, from wherever it could be found. With ``since``
    only objects of the blocks after it are named."""

    def __init__(self, *, complete: bool, since: Multihash | None = None) -> None:
        self._state = ChainState.empty() if complete else None
        self._since = since
        self._data_time: Instant | None = None
        self.seed: Seed | None = None
        self.inputs: dict[DatasetId, Multihash] = {}
        """Of a derivative: the last block that was read of each input."""
        self.engines: set[str] = set()

    def check(self, batch: Iterable[StoredBlock]) -> ChainOutcome:
        """Check the next blocks."""
        outcome = ChainOutcome()
        for stored in batch:
            self._check_stored(stored, outcome)
            if self._since is not None:
                outcome.tasks.clear()
            if stored.hash == self._since:
                self._since = None
        return outcome

    @property
    def is_before(self) -> bool:
        """Whether the block ``since`` is still to come."""
        return self._since is not None

    def _check_stored(self, stored: StoredBlock, outcome: ChainOutcome) -> None:
        if stored.raw is None:
            self._state = None
            outcome.findings.append(_unread(stored))
            return
        found_hash = physical_hash(stored.raw)
        block, flaw = _decoded(stored)
        if found_hash != stored.hash:
            self._state = None
            outcome.findings.append(_damaged(stored, block, found_hash))
            outcome.tasks.extend(_tasks_by_name(stored, block))
        elif block is None:
            self._state = None
            outcome.findings.append(flaw)
        else:
            self._check_sound(block, outcome)

    def _check_sound(self, block: HashedBlock, outcome: ChainOutcome) -> None:
        state = _behind_a_gap(block) if self._state is None else self._state
        outcome.findings.extend(_flaws(state, block))
        try:
            outcome.tasks.extend(_tasks(state, block, self._data_time))
        except LimitExceeded as error:
            outcome.findings.append(_of_block(block, "object-too-large", error.message, error))
        self._note(block)
        self._state = state.apply(block)
        if isinstance(block.event, AddData | ExecuteTransform):
            self._data_time = block.block.system_time

    def _note(self, block: HashedBlock) -> None:
        match block.event:
            case Seed() if self.seed is None:
                self.seed = block.event
            case SetTransform(transform=transform):
                self.engines.add(transform.engine.lower())
            case ExecuteTransform(query_inputs=inputs):
                read = {each.dataset_id: each.new_block_hash or each.prev_block_hash for each in inputs}
                self.inputs.update({each: last for each, last in read.items() if last is not None})


def _decoded(stored: StoredBlock) -> tuple[HashedBlock | None, Finding]:
    """The block in the bytes, or the finding that there is none."""
    nothing = Finding(Check.BLOCKS, "block-unreadable", "the block cannot be read", block_hash=stored.hash)
    try:
        return decode_block(stored.raw or b""), nothing
    except OdfError as error:
        severity = Severity.UNCHECKED if isinstance(error, UnsupportedVersion) else Severity.DAMAGE
        message = f"the block cannot be read: {error.message}"
        return None, replace(nothing, message=message, severity=severity, object_key=block_key(stored.hash))


def _unread(stored: StoredBlock) -> Finding:
    key = block_key(stored.hash)
    if isinstance(stored.error, NotFound):
        return Finding(
            Check.BLOCKS,
            "block-missing",
            "the block is not stored",
            block_hash=stored.hash,
            object_key=key,
            hint=_RESTORE,
        )
    reason = "" if stored.error is None else f": {stored.error.message}"
    too_large = isinstance(stored.error, LimitExceeded)
    return Finding(
        Check.BLOCKS,
        "block-too-large" if too_large else "block-unreadable",
        f"the block cannot be read{reason}",
        Severity.DAMAGE if too_large else Severity.UNCHECKED,
        block_hash=stored.hash,
        object_key=key,
    )


def _damaged(stored: StoredBlock, block: HashedBlock | None, found_hash: Multihash) -> Finding:
    return Finding(
        Check.BLOCKS,
        "block-damaged",
        "the block has other bytes than its name says",
        sequence_number=None if block is None else block.sequence_number,
        block_hash=stored.hash,
        object_key=block_key(stored.hash),
        expected=str(stored.hash),
        found=str(found_hash),
        hint=_RESTORE,
    )


def _behind_a_gap(block: HashedBlock) -> ChainState:
    if block.prev_block_hash is None:
        return ChainState.empty()
    return ChainState.unread_up_to(block.prev_block_hash, block.sequence_number - 1)


def _flaws(state: ChainState, block: HashedBlock) -> Iterator[Finding]:
    if not isinstance(block.event, UnknownEvent) and not is_canonical(block):
        message = "the block is not encoded as the reference encodes it, which will therefore refuse it"
        warning = _of_block(block, "block-not-canonical", message)
        yield replace(warning, check=Check.BLOCKS, severity=Severity.WARNING)
    try:
        check_block(state, block)
    except ChainError as error:
        yield _of_block(block, f"rule-{error.rule.lower()}", error.message, error)
    for warning_error in warnings_of(state, block):
        warning = _of_block(block, f"rule-{warning_error.rule.lower()}", warning_error.message, warning_error)
        yield replace(warning, severity=Severity.WARNING)


def _of_block(block: HashedBlock, code: str, message: str, error: OdfError | None = None) -> Finding:
    return Finding(
        Check.CHAIN,
        code,
        message,
        sequence_number=block.sequence_number,
        block_hash=block.hash,
        object_key=block_key(block.hash),
        expected=None if error is None else error.expected,
        found=None if error is None else error.found,
        hint=None if error is None else error.hint,
    )


def _tasks(state: ChainState, block: HashedBlock, data_time: Instant | None) -> Iterator[ObjectTask]:
    for file in objects_of(block):
        task = ObjectTask(object_key(file), file.physical_hash, block.sequence_number, block.hash, file.size)
        yield replace(task, claims=_claims(state, block, data_time)) if file.kind is ObjectKind.DATA_SLICE else task


def _tasks_by_name(stored: StoredBlock, block: HashedBlock | None) -> list[ObjectTask]:
    """Of a damaged block only the names of its objects are of use: they say themselves what the bytes must be."""
    try:
        files = () if block is None else objects_of(block)
    except LimitExceeded:
        files = ()
    number = -1 if block is None else block.sequence_number
    return [ObjectTask(object_key(file), file.physical_hash, number, stored.hash) for file in files]


def _claims(state: ChainState, block: HashedBlock, data_time: Instant | None) -> SliceClaims | None:
    event = block.event
    if not isinstance(event, AddData | ExecuteTransform) or event.new_data is None:
        return None
    vocab = state.vocab if isinstance(state.vocab, SetVocab) else SetVocab()
    times = (state.watermark, block.block.system_time, data_time)
    return SliceClaims(event.new_data, event, state.data_schema, vocab, *times)
