"""Which slots of a nested column count as null, by the rule that existing hashes were made with.

Structs have no hasher of their own; their leaves do. One would expect a leaf to be null where it or any struct above
it is. The scheme instead joins the *validity* of a struct and its field by "or" when both have nulls in the same batch
(and takes the one that has nulls otherwise), so a leaf that is null under a valid struct is hashed as a value: as
whatever lies in memory under the null. This makes such hashes depend on batches and on the reader's buffers; what the
reference's Parquet reader leaves there is made up in ``decoded_nulls.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from opendatafabric.data.arrow_storage import storage_array
from opendatafabric.data.column_bytes import Mask, own_mask


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column of values in one batch.

    ``valid`` says which slots are hashed as values, ``present`` which have one: those that are null neither themselves
    nor by a struct above them. ``None`` means all.
    """

    array: pa.Array
    valid: Mask | None
    present: Mask | None


def leaves(batch: pa.RecordBatch) -> list[Leaf]:
    """The leaf columns of a batch, depth first, in the order of ``type_codes.leaf_columns``."""
    return [leaf for column in batch.columns for leaf in _leaves(column, None, None)]


def _leaves(array: pa.Array, parent: Mask | None, parent_present: Mask | None) -> Iterator[Leaf]:
    array = storage_array(array)
    own = own_mask(array)
    valid = join_masks(parent, own)
    present = own if parent_present is None else parent_present if own is None else own & parent_present
    if not pa.types.is_struct(array.type):
        yield Leaf(array, valid, present)
        return
    for index in range(array.type.num_fields):
        yield from _leaves(array.field(index), valid, present)


def join_masks(parent: Mask | None, own: Mask | None) -> Mask | None:
    """What counts as valid below: the one mask there is, or where either is valid.

    ``own`` has nulls if it is there at all; ``parent`` may have lost its last null in an earlier join, and then, by the
    scheme, hides the nulls of the field as well.
    """
    if parent is None:
        return own
    if parent.all():
        return None
    return parent if own is None else parent | own


def depends_on_buffers(schema: pa.Schema) -> bool:
    """Whether a hash of such records may depend on batches: a nullable struct holds something nullable."""
    return any(_hides_nulls(schema.field(index), under_nullable=False) for index in range(len(schema)))


def _hides_nulls(field: pa.Field, *, under_nullable: bool) -> bool:
    if under_nullable and field.nullable:
        return True
    if not pa.types.is_struct(field.type):
        return False
    return any(_hides_nulls(child, under_nullable=under_nullable or field.nullable) for child in field.type)
