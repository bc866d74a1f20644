"""Who signs verdicts: the key of a repository, and where it lies."""

from __future__ import annotations

from catalog.catalog import Catalog
from opendatafabric.errors import MalformedInput
from repo_server.config import Settings
from verify.attestation.signing import Attester


def attester_of(settings: Settings, catalog: Catalog) -> Attester | None:
    """Who signs for that repository; nobody where no place for the key is known."""
    path = settings.attestation_key_path
    return None if path is None else Attester(path, catalog.attestation_keys, catalog.attestations)


def required_attester(settings: Settings, catalog: Catalog) -> Attester:
    """As ``attester_of``.

    Raises:
        MalformedInput: nobody.
    """
    attester = attester_of(settings, catalog)
    if attester is None:
        raise MalformedInput("no place for the key is known", hint="set ODF_ATTESTATION_KEY_FILE")
    return attester
