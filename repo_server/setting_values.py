"""Settings that are more than a word, as they are given in texts."""

from __future__ import annotations

import re

from opendatafabric.errors import MalformedInput
from pipeline.engine_contract.elsewhere import parse_engine_place
from storage.ipfs.node_place import is_node_address, parse_node_place
from storage.open import scheme_of
from storage.s3.location import SCHEMES, parse_s3_address


def place(given: object) -> object:
    """Addresses in S3 and at IPFS nodes become locations; the rest are folders."""
    if isinstance(given, str) and scheme_of(given) in SCHEMES:
        return parse_s3_address(given)
    return parse_node_place(given) if isinstance(given, str) and is_node_address(scheme_of(given)) else given


def words(given: object) -> object:
    """Several addresses or names in one text."""
    return tuple(given.split()) if isinstance(given, str) else given


def engine_places(given: dict[str, str]) -> dict[str, str]:
    """Names in lower case, as they are compared."""
    for name, text in given.items():
        try:
            parse_engine_place(text)
        except MalformedInput as error:
            raise ValueError(f"engine {name}: {error.message}; expected: {error.expected}") from None
    return {name.lower(): text for name, text in given.items()}


def versions_of_spark(given: dict[str, str]) -> dict[str, str]:
    """Versions become names of folders."""
    for name in given:
        if re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,31}", name) is None:
            raise ValueError(f"'{name}' is no version of Spark; expected: such as 3.5.0")
    return given
