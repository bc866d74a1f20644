"""Which objects a block names: data slices and checkpoints, with what the block says of their size.

Only what the block *adds* counts (``newData``, ``newCheckpoint``); objects of earlier blocks are named there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from opendatafabric.errors import LimitExceeded
from opendatafabric.limits import OBJECT_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.events import AddData, ExecuteTransform
from opendatafabric.multihash import Multihash


class ObjectKind(Enum):
    """The two kinds of object; the value is the folder they lie in."""

    DATA_SLICE = "data"
    CHECKPOINT = "checkpoints"


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """An object as a block names it; ``size`` in bytes is a claim until the object has been seen."""

    kind: ObjectKind
    physical_hash: Multihash
    size: int


def objects_of(block: HashedBlock | MetadataBlock) -> tuple[ObjectFile, ...]:
    """The objects that ``block`` adds to its dataset, the slice first. Events of unknown kinds name none.

    Raises:
        LimitExceeded: a declared size beyond ``OBJECT_BYTES_MAX``.
    """
    event = block.event
    if not isinstance(event, AddData | ExecuteTransform):
        return ()
    files = []
    if event.new_data is not None:
        files.append(object_file(ObjectKind.DATA_SLICE, event.new_data.physical_hash, event.new_data.size))
    if event.new_checkpoint is not None:
        files.append(object_file(ObjectKind.CHECKPOINT, event.new_checkpoint.physical_hash, event.new_checkpoint.size))
    return tuple(files)


def object_file(kind: ObjectKind, physical_hash: Multihash, size: int) -> ObjectFile:
    """The object, if it is no larger than any may be; ``LimitExceeded`` otherwise."""
    if size > OBJECT_BYTES_MAX:
        raise LimitExceeded(
            f"{kind.value}/{physical_hash} is declared larger than any object may be",
            expected=f"at most {OBJECT_BYTES_MAX} bytes",
            found=f"{size} bytes",
        )
    return ObjectFile(kind, physical_hash, size)
