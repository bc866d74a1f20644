"""Two ways in which Arrow dresses values that make no difference here.

Extension types are names that Arrow gives to other types; they are always taken for what they store: hashes and schemas
know nothing of them, and a file must not choose which code of ours reads it. Views are a layout of text and bytes that
the reference writes and that Arrow's own kernels hardly know.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def storage_type(data_type: pa.DataType) -> Any:
    """The type that is stored, whatever it is called."""
    while isinstance(data_type, pa.BaseExtensionType):
        data_type = data_type.storage_type
    return data_type


def storage_array(array: pa.Array) -> Any:
    """The array of what is stored."""
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array


def without_views(records: pa.Table) -> pa.Table:
    """The same records with plain text and bytes where there were views, inside structs and lists too."""
    fields = [field.with_type(_plain(field.type)) for field in records.schema]
    return records.cast(pa.schema(fields, records.schema.metadata))


def _plain(data_type: Any) -> pa.DataType:
    types = pa.types
    if types.is_string_view(data_type) or types.is_binary_view(data_type):
        return pa.large_string() if types.is_string_view(data_type) else pa.large_binary()
    if types.is_struct(data_type):
        return pa.struct([field.with_type(_plain(field.type)) for field in data_type])
    if types.is_list(data_type) or types.is_large_list(data_type):
        item = data_type.value_field
        return (pa.list_ if types.is_list(data_type) else pa.large_list)(item.with_type(_plain(item.type)))
    return data_type
