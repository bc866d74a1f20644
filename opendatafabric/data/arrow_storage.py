"""Extension types are names that Arrow gives to other types: here they are always taken for what they store.

Hashes and schemas know nothing of them, and a file must not choose which code of ours reads it.
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
